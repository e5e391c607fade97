"""What a filter means, apart from any store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.sqlite import SqliteStore

from langgraph_memory.store.filters import ExtendedFilter, check_filter, matches

VALUE: dict[str, Any] = {
    "kind": "fact",
    "n": 3,
    "half": 0.5,
    "yes": True,
    "none": None,
    "at": "2026-01-02T10:00:00+00:00",
    "tags": ["x", "y"],
    "more": {"deep": {"n": 7}, "list": [1, [2, {"k": "v"}]], "none": None},
    "a.b": "dotted",
    "$odd": 1,
}


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        # equality
        ({}, True),
        ({"kind": "fact"}, True),
        ({"kind": "Fact"}, False),
        ({"kind": "fac"}, False),
        ({"n": 3}, True),
        ({"n": 3.0}, True),
        ({"n": "3"}, False),
        ({"yes": True}, True),
        ({"kind": "fact", "n": 3}, True),
        ({"kind": "fact", "n": 4}, False),
        ({"a.b": "dotted"}, True),
        ({"more.deep.n": 7}, True),
        ({"more.deep.n": {"$gt": 6}}, True),
        ({"more.deep": {"n": 8}}, False),
        ({"more.deep.missing": None}, True),
        ({"kind.deep": 1}, False),
        ({"more.deep.n.deeper": None}, True),
        ({"more": {"deep.n": 7}}, True),
        ({"a.b": {"$ne": "dotted"}}, False),
        ({"kind": {"$eq": "fact"}}, True),
        ({"kind": {"$ne": "fact"}}, False),
        # absent is None
        ({"none": None}, True),
        ({"missing": None}, True),
        ({"missing": {"$eq": None}}, True),
        ({"missing": {"$ne": None}}, False),
        ({"missing": {"$ne": 1}}, True),
        ({"n": None}, False),
        ({"n": {"$ne": None}}, True),
        ({"missing": {"$gt": 0}}, False),
        ({"missing": {"$lte": 0}}, False),
        ({"none": {"$gte": 0}}, False),
        # order
        ({"n": {"$gt": 2}}, True),
        ({"n": {"$gt": 3}}, False),
        ({"n": {"$gte": 3}}, True),
        ({"n": {"$lt": 3}}, False),
        ({"n": {"$lte": 3}}, True),
        ({"n": {"$gt": 2.5, "$lt": 3.5}}, True),
        ({"n": {"$gt": 2, "$ne": 3}}, False),
        ({"half": {"$lt": 1}}, True),
        ({"n": {"$gt": "2"}}, False),
        ({"kind": {"$gt": 2}}, False),
        ({"kind": {"$gt": "a", "$lt": "g"}}, True),
        ({"at": {"$gte": "2026-01-01T00:00:00+00:00", "$lt": "2026-01-03"}}, True),
        ({"n": {"$gt": 10}}, False),  # as a number: as text, "3" > "10"
        ({"tags": {"$gt": ["a"]}}, False),
        ({"more": {"$lt": {}}}, False),
        ({"n": {"$lt": float("nan")}}, False),
        ({"n": {"$lt": 10**400}}, True),
        ({"half": {"$lt": 10**400}}, True),
        ({"n": {"$lt": float("inf")}}, True),
        ({"kind": {"$lt": "\ud800"}}, True),
        # dicts and lists
        ({"more": {}}, True),
        ({"more": {"deep": {"n": 7}}}, True),
        ({"more": {"deep": {"n": 8}}}, False),
        ({"more": {"deep": {"n": {"$gt": 6}}}}, True),
        ({"more": {"missing": None}}, True),
        ({"more": {"missing": {"deeper": 1}}}, False),
        ({"kind": {}}, False),
        ({"missing": {}}, False),
        ({"tags": ["x", "y"]}, True),
        ({"tags": ("x", "y")}, True),
        ({"tags": ["y", "x"]}, False),
        ({"tags": ["x"]}, False),
        ({"tags": []}, False),
        ({"tags": "x"}, False),
        ({"kind": ["f", "a", "c", "t"]}, False),
        ({"tags": ["x", {"$gt": "a"}]}, True),
        ({"more": {"list": [1, [2, {"k": "v"}]]}}, True),
        ({"more": {"list": [1, [2, {"k": {"$ne": "v"}}]]}}, False),
        ({"tags": {"$eq": ["x", "y"]}}, True),
        ({"tags": {"$ne": ["x"]}}, True),
        ({"more": {"$eq": {"deep": {"n": 7}}}}, True),
    ],
)
def test_a_filter_means(filter: dict[str, Any], expected: bool) -> None:
    check_filter(filter)
    assert matches(VALUE, filter) is expected


@pytest.mark.parametrize(
    "filter",
    [
        {"n": {"$in": [3]}},
        {"n": {"$nin": []}},
        {"n": {"$exists": True}},
        {"n": {"$not": {"$gt": 1}}},
        {"n": {"$GT": 1}},
        {"n": {"$": 1}},
        {"n": {"$gt": 1, "other": 2}},
        {"n": {"$eq": 3, "$regex": "3"}},
        {"more": {"deep": {"n": {"$in": [7]}}}},
        {"tags": ["x", {"$in": ["y"]}]},
        {"more": {"list": [1, [2, {"k": {"$like": "v"}}]]}},
        {"more": {"$eq": {"deep": {"n": {"$in": [7]}}}}},
        {"tags": {"$ne": ["x", {"$in": ["y"]}]}},
    ],
    ids=repr,
)
def test_an_operator_that_langgraph_lacks_is_refused(filter: dict[str, Any]) -> None:
    """Before any item is looked at, too, or it would depend on the data whether it is noticed."""
    for check in (check_filter, lambda filter: matches(VALUE, filter)):
        with pytest.raises(ValueError, match=r"unsupported filter operator"):
            check(filter)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=True, width=16)
    | st.sampled_from(["", "a", "b", "a.b"])
)
KEYS = st.sampled_from(["a", "b", "a.b", "", "x y"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def with_operators(names: list[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(KEYS, inner, max_size=3)
            | st.dictionaries(st.sampled_from(names), inner, min_size=1, max_size=3)
        ),
        max_leaves=6,
    )


LANGGRAPHS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]


ORDERED: list[Any] = [str, (int, float)]


def meets(value: Any, condition: Any) -> bool:
    """Say plainly whether a value meets a condition: the filters' rules once more."""
    if isinstance(condition, dict) and any(key.startswith("$") for key in condition):
        for name, operand in condition.items():
            if name in ("$eq", "$ne"):
                holds = meets(value, operand) == (name == "$eq")
            elif any(isinstance(value, t) and isinstance(operand, t) for t in ORDERED):
                above, below, equal = value > operand, value < operand, value == operand
                holds = {"$gt": above, "$lt": below, "$gte": above or equal}.get(
                    name, below or equal
                )
            else:
                holds = False
            if not holds:
                return False
        return True
    if isinstance(condition, dict):
        if not isinstance(value, dict):
            return False
        return not any(not meets(value.get(key), part) for key, part in condition.items())
    if isinstance(condition, list):
        if not isinstance(value, list) or len(value) != len(condition):
            return False
        return [meets(*pair) for pair in zip(value, condition, strict=True)].count(False) == 0
    return not isinstance(value, (dict, list)) and bool(value == condition)


@settings(deadline=None, max_examples=300)
@given(
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.dictionaries(KEYS, with_operators(LANGGRAPHS), max_size=2),
)
def test_matching_agrees_with_a_plain_model(value: dict[str, Any], filter: dict[str, Any]) -> None:
    check_filter(filter)
    assert matches(value, filter) is meets(value, filter)


@settings(deadline=None, max_examples=300)
@given(
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.dictionaries(KEYS, with_operators([*LANGGRAPHS, "$in"]), max_size=2),
)
@example({"a": [1]}, {"a": [{"$in": 1}]})
@example({"a": {"b": 1}}, {"a": {"$eq": {"b": {"$eq": 1, "$in": 1}}}})
def test_what_the_check_lets_through_never_fails_on_a_value(
    value: dict[str, Any], filter: dict[str, Any]
) -> None:
    try:
        check_filter(filter)
    except ValueError:
        return
    assert matches(value, filter) in (True, False)


ODD: list[Any] = [
    b"bytes",
    {1, 2},
    object(),
    1 + 2j,
    datetime(2026, 1, 1, tzinfo=UTC),
    {1: "a"},
    {None: 1, "a": 2},
    [b"", object()],
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("value", [1, "a", [1], ["a", "b"], {"a": 2}, None])
def test_what_json_does_not_have_equals_nothing_and_raises_nothing(odd: Any, value: Any) -> None:
    for condition in (odd, [odd], *({name: odd} for name in LANGGRAPHS if name != "$ne")):
        check_filter({"x": condition})
        assert not matches({"x": value}, {"x": condition})
    assert matches({"x": value}, {"x": {"$ne": odd}})


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"kind": {"$in": ["fact", "decision"]}}, True),
        ({"kind": {"$in": ["decision"]}}, False),
        ({"kind": {"$in": []}}, False),
        ({"kind": {"$nin": ["fact"]}}, False),
        ({"kind": {"$nin": []}}, True),
        ({"missing": {"$in": [None]}}, True),
        ({"missing": {"$nin": ["x"]}}, True),
        ({"tags": {"$in": [["x", "y"], "z"]}}, True),
        ({"none": {"$exists": True}}, True),
        ({"missing": {"$exists": True}}, False),
        ({"missing": {"$exists": False}}, True),
        ({"n": {"$exists": False}}, False),
        ({"more": {"deep": {"$exists": True}, "gone": {"$exists": False}}}, True),
        ({"more": {"deep": {"n": {"$in": [6, 7]}}}}, True),
        ({"n": {"$in": [3, 4], "$gt": 3}}, False),
        ({"missing": None, "kind": "fact"}, True),
    ],
)
def test_an_extended_filter_has_three_more_operators(
    filter: dict[str, Any], expected: bool
) -> None:
    check_filter(ExtendedFilter(filter))
    assert matches(VALUE, ExtendedFilter(filter)) is expected


@pytest.mark.parametrize(
    "condition", [{"$in": [1]}, {"$nin": [1]}, {"$exists": True}], ids=["in", "nin", "exists"]
)
def test_a_plain_filter_does_not_have_them_and_says_who_has(condition: dict[str, Any]) -> None:
    for filter in ({"n": condition}, {"more": {"deep": condition}}):
        with pytest.raises(ValueError, match="ExtendedFilter"):
            check_filter(filter)
        with pytest.raises(ValueError, match="ExtendedFilter"):
            matches(VALUE, filter)


@pytest.mark.parametrize(
    "condition",
    [{"$in": "fact"}, {"$nin": None}, {"$exists": 1}, {"$or": []}],
    ids=["in-text", "nin-none", "exists-number", "or"],
)
def test_an_extended_filter_refuses_what_makes_no_sense(condition: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"takes|unsupported"):
        check_filter(ExtendedFilter(kind=condition))


LABELS = st.sampled_from(["a", "b", "c-1", "0"])
TREES = st.recursive(
    st.sampled_from(["x", "y", 1]), lambda inner: st.dictionaries(LABELS, inner, max_size=3)
)


@given(
    st.dictionaries(LABELS, TREES, max_size=3),
    st.lists(LABELS, min_size=1, max_size=3),
    st.sampled_from(["x", 1, None]),
)
def test_a_path_means_what_it_means_for_langgraphs_store_of_sqlite(
    value: dict[str, Any], path: list[str], wanted: str | int | None
) -> None:
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        store.put(("a",), "k", value)
        found = store.search(("a",), filter={".".join(path): wanted})
    assert matches(value, {".".join(path): wanted}) is bool(found)
