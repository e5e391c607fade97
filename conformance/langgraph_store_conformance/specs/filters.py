"""What a filter finds."""

from __future__ import annotations

from typing import Any, NamedTuple

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import refused, same
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)
BIG = 2**53


class Case(NamedTuple):
    """Items, a filter, and which of the items it finds."""

    filter: dict[str, Any]
    found: list[dict[str, Any]]
    not_found: list[dict[str, Any]]


EQUALITY = {
    "text": Case({"s": "x"}, [{"s": "x"}], [{"s": "y"}, {"s": "xx"}, {"t": "x"}]),
    "text-has-case": Case({"s": "x"}, [{"s": "x"}], [{"s": "X"}]),
    "empty-text": Case({"s": ""}, [{"s": ""}], [{"s": " "}, {}]),
    "number": Case({"n": 1}, [{"n": 1}], [{"n": 2}, {"n": 11}]),
    "number-is-not-text": Case({"n": 1}, [{"n": 1}], [{"n": "1"}]),
    "text-is-not-number": Case({"n": "1"}, [{"n": "1"}], [{"n": 1}]),
    "int-is-float": Case({"n": 1}, [{"n": 1.0}], [{"n": 1.5}]),
    "float": Case({"n": 0.1}, [{"n": 0.1}], [{"n": 0.2}]),
    "zero": Case({"n": 0}, [{"n": 0}], [{"n": 1}, {}]),
    "big-int": Case({"n": BIG + 1}, [{"n": BIG + 1}], [{"n": BIG}]),
    "true": Case({"b": True}, [{"b": True}], [{"b": False}, {"b": "true"}, {}]),
    "false": Case({"b": False}, [{"b": False}], [{"b": True}, {"b": None}, {}]),
    "none": Case({"x": None}, [{"x": None}], [{"x": 0}, {"x": ""}, {"x": False}]),
    "none-is-missing": Case({"x": None}, [{"y": 1}], [{"x": 1}]),
    "several-keys": Case({"s": "x", "n": 1}, [{"s": "x", "n": 1}], [{"s": "x"}, {"n": 1}]),
    "no-condition": Case({}, [{"s": "x"}, {}], []),
}

KEYS = {
    # Whether it is a path into a value without such a key, stores do not agree upon.
    "dot": Case({"a.b": 1}, [{"a.b": 1}], [{"a.b": 2}, {}]),
    "quote": Case({"it's": 1}, [{"it's": 1}], [{"its": 1}]),
    "double-quote": Case({'say "x"': 1}, [{'say "x"': 1}], [{"say x": 1}]),
    "space": Case({"a b": 1}, [{"a b": 1}], [{"ab": 1}]),
    "chinese": Case({"城市": "北京"}, [{"城市": "北京"}], [{"城市": "上海"}]),
    "emoji": Case({"🙂": 1}, [{"🙂": 1}], [{"🙁": 1}]),
    "other-case": Case({"a": 1}, [{"a": 1}], [{"A": 1}]),
    "namespace": Case({"key": 1}, [{"key": 1}], [{"key": 2}]),
}

NESTED = {
    "dict-same": Case({"d": {"x": 1}}, [{"d": {"x": 1}}], [{"d": {"x": 2}}, {"d": {}}, {}]),
    "dict-contained": Case({"d": {"x": 1}}, [{"d": {"x": 1, "y": 2}}], [{"d": {"y": 2}}]),
    "dict-deeper": Case(
        {"d": {"e": {"x": 1}}},
        [{"d": {"e": {"x": 1, "y": 2}, "z": 3}}],
        [{"d": {"x": 1}}, {"d": {"e": {"x": 2}}}],
    ),
    "dict-is-no-text": Case({"d": {"x": 1}}, [{"d": {"x": 1}}], [{"d": "x"}, {"d": 1}, {"d": [1]}]),
    "dict-two-keys": Case(
        {"d": {"x": 1, "y": 2}}, [{"d": {"y": 2, "x": 1, "z": 3}}], [{"d": {"x": 1}}]
    ),
    "list-same": Case({"l": [1, 2]}, [{"l": [1, 2]}], [{"l": [1, 3]}, {}]),
    "list-exact-length": Case({"l": [1, 2]}, [{"l": [1, 2]}], [{"l": [1]}, {"l": [1, 2, 3]}]),
    "list-order": Case({"l": [1, 2]}, [{"l": [1, 2]}], [{"l": [2, 1]}]),
    "list-empty": Case({"l": []}, [{"l": []}], [{"l": [1]}, {}]),
    "list-is-no-member": Case({"l": "x"}, [{"l": "x"}], [{"l": ["x"]}]),
    "list-of-text": Case({"l": ["x", "é"]}, [{"l": ["x", "é"]}], [{"l": ["x"]}]),
    "list-of-dicts": Case({"l": [{"x": 1}]}, [{"l": [{"x": 1}]}], [{"l": [{"x": 2}]}]),
}

EQUALITY_OPERATORS = {
    "eq-text": Case({"s": {"$eq": "x"}}, [{"s": "x"}], [{"s": "y"}, {}]),
    "eq-number": Case({"n": {"$eq": 1}}, [{"n": 1}], [{"n": 2}, {"n": "1"}, {}]),
    "eq-true": Case({"b": {"$eq": True}}, [{"b": True}], [{"b": False}, {}]),
    "eq-none": Case({"x": {"$eq": None}}, [{"x": None}, {}], [{"x": 0}]),
    "eq-list": Case({"l": {"$eq": [1, 2]}}, [{"l": [1, 2]}], [{"l": [2, 1]}, {"l": [1]}]),
    "eq-dict": Case({"d": {"$eq": {"x": 1}}}, [{"d": {"x": 1}}], [{"d": {"x": 2}}, {}]),
    "ne-text": Case({"s": {"$ne": "x"}}, [{"s": "y"}], [{"s": "x"}]),
    "ne-number": Case({"n": {"$ne": 1}}, [{"n": 2}, {"n": "1"}], [{"n": 1}]),
    "ne-false": Case({"b": {"$ne": False}}, [{"b": True}], [{"b": False}]),
    "ne-none": Case({"x": {"$ne": None}}, [{"x": 0}], [{"x": None}, {}]),
    "ne-missing": Case({"x": {"$ne": 1}}, [{}, {"x": None}], [{"x": 1}]),
    "ne-list": Case({"l": {"$ne": [1, 2]}}, [{"l": [2, 1]}], [{"l": [1, 2]}]),
}

ORDER = {
    "gt": Case({"n": {"$gt": 1}}, [{"n": 2}], [{"n": 1}, {"n": 0}]),
    "gte": Case({"n": {"$gte": 1}}, [{"n": 2}, {"n": 1}], [{"n": 0}]),
    "lt": Case({"n": {"$lt": 1}}, [{"n": 0}], [{"n": 1}, {"n": 2}]),
    "lte": Case({"n": {"$lte": 1}}, [{"n": 0}, {"n": 1}], [{"n": 2}]),
    "nine-is-less-than-ten": Case({"n": {"$lt": 10}}, [{"n": 9}], [{"n": 10}]),
    "ten-is-more-than-nine": Case({"n": {"$gt": 9}}, [{"n": 10}], [{"n": 9}]),
    "negative": Case({"n": {"$lt": -1}}, [{"n": -10}], [{"n": -1}, {"n": 0}]),
    "float": Case({"n": {"$gte": 0.5}}, [{"n": 0.5}, {"n": 1}], [{"n": 0.49}]),
    "exponent": Case({"n": {"$gt": 1}}, [{"n": 1e20}], [{"n": 1e-7}]),
    "big-int": Case({"n": {"$gt": BIG}}, [{"n": BIG + 1}], [{"n": BIG}]),
    "date": Case({"t": {"$gt": "2026-01-31"}}, [{"t": "2026-02-01"}], [{"t": "2025-12-01"}]),
    "time": Case(
        {"t": {"$lte": "2026-01-31T10:00:00+00:00"}},
        [{"t": "2026-01-31T09:00:00+00:00"}],
        [{"t": "2026-01-31T11:00:00+00:00"}],
    ),
    "text": Case({"s": {"$gte": "b"}}, [{"s": "b"}, {"s": "c"}], [{"s": "a"}]),
    "text-that-looks-like-a-number": Case({"s": {"$gt": "10"}}, [{"s": "9"}], [{"s": "1"}]),
    "range": Case({"n": {"$gt": 1, "$lt": 5}}, [{"n": 3}], [{"n": 1}, {"n": 5}, {"n": 9}]),
    "with-equality": Case(
        {"n": {"$gt": 1}, "s": "x"}, [{"n": 2, "s": "x"}], [{"n": 2, "s": "y"}, {"n": 1, "s": "x"}]
    ),
}

_UNORDERED: dict[str, dict[str, Any]] = {
    "missing": {"other": 1},
    "none": {"n": None},
    "text": {"n": "abc"},
    "list": {"n": [5]},
    "dict": {"n": {"x": 5}},
}
NO_ORDER = {
    f"{operator}-{kind}": Case({"n": {f"${operator}": 1}}, [], [value])
    for operator in ("gt", "gte", "lt", "lte")
    for kind, value in _UNORDERED.items()
}


async def _find(store: Subject, case: Case) -> None:
    for keys, values in ((["k"], case.found), ([], case.not_found)):
        for value in values:
            store.example.again()
            await store.put(NS, "k", value)
            same(await store.keys(NS, filter=case.filter), keys)


@rule(Capability.FILTERS, cases=EQUALITY)
async def a_value_finds_what_is_equal(store: Subject, case: Case) -> None:
    """`{key: value}` finds equal values, as JSON compares them; a missing key is `None`."""
    await _find(store, case)


@rule(Capability.FILTERS, cases=KEYS)
async def a_filter_names_a_key_of_the_value(store: Subject, case: Case) -> None:
    """The keys of a filter are the keys of the value, whatever they consist of."""
    await _find(store, case)


@rule(Capability.FILTERS, cases=NESTED)
async def a_dict_is_contained_and_a_list_is_equal(store: Subject, case: Case) -> None:
    """A dict finds dicts that contain it; a list finds the list with the same elements."""
    await _find(store, case)


@rule(Capability.FILTERS, cases=EQUALITY_OPERATORS)
async def eq_and_ne_are_opposites(store: Subject, case: Case) -> None:
    """`$eq` is what the plain value means; `$ne` finds all the others, also missing keys."""
    await _find(store, case)


@rule(Capability.FILTERS, cases=ORDER)
async def order_compares_like_with_like(store: Subject, case: Case) -> None:
    """`$gt`, `$gte`, `$lt`, `$lte` order numbers as numbers and text (so ISO times) as text."""
    await _find(store, case)


@rule(Capability.FILTERS, cases=NO_ORDER)
async def what_has_no_order_is_not_found(store: Subject, case: Case) -> None:
    """A missing key, or one of another type, does not match an order, and is no error."""
    await _find(store, case)


@rule(Capability.FILTERS, cases={name: name for name in ("$in", "$nin", "$exists", "$regex", "$")})
async def an_unknown_operator_is_refused(store: Subject, operator: str) -> None:
    """An operator that LangGraph does not have is a ValueError."""
    await store.put(NS, "k", {"n": 1})
    await refused(store.search(NS, filter={"n": {operator: [1]}}), ValueError)
