"""LangGraph's contract, beyond what the conformance tests ask of every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.records.clock import Clock
from langgraph_memory.testing import ManualClock
from tests.chroma.support import EMBED, Do, cosine, keys, open_store


def stored(store: ChromaStore) -> list[tuple[tuple[str, ...], str, dict[str, Any]]]:
    """Return everything that is in a store."""
    items = store.search((), limit=10_000)
    return sorted((item.namespace, item.key, item.value) for item in items)


# -- one batch ------------------------------------------------------------------------------------


async def test_reads_of_a_batch_see_the_state_before_it(store: ChromaStore, do: Do) -> None:
    store.put(("a",), "old", {"n": 1})
    results = await do(
        store,
        "batch",
        [
            PutOp(("a",), "old", None),
            PutOp(("b",), "new", {"n": 2}),
            GetOp(("a",), "old"),
            GetOp(("b",), "new"),
            SearchOp((), query="n"),
            SearchOp(()),
            ListNamespacesOp(),
        ],
    )
    assert results[:2] == [None, None]
    assert results[2].value == {"n": 1}
    assert results[3] is None
    assert [keys(found) for found in results[4:6]] == [["old"], ["old"]]
    assert results[6] == [("a",)]
    assert stored(store) == [(("b",), "new", {"n": 2})]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"n": 1}, {"n": 2}], {"n": 2}),
        ([{"n": 1}, None], None),
        ([None, {"n": 2}], {"n": 2}),
        ([{"n": 1}, None, {"n": 3}], {"n": 3}),
        ([None, {"n": 2}, None], None),
    ],
)
@pytest.mark.parametrize("before", [[], [{"n": 0}]], ids=["new", "existing"])
async def test_the_last_of_several_puts_to_one_key_wins(
    store: ChromaStore,
    do: Do,
    before: list[dict[str, int]],
    values: Sequence[dict[str, int] | None],
    expected: dict[str, int] | None,
) -> None:
    for value in before:
        store.put(("a",), "k", value)
    await do(store, "batch", [PutOp(("a",), "k", value) for value in values])
    item = await do(store, "get", ("a",), "k")
    assert (item and item.value) == expected
    assert [item.value for item in store.search(("a",))] == ([expected] if expected else [])


@pytest.mark.parametrize("cached", [False, True])
async def test_a_key_that_is_read_twice_in_a_batch_is_found_twice(
    store: ChromaStore, do: Do, cached: bool
) -> None:
    store.put(("a",), "k", {"n": 1})
    if cached:
        store.search(("a",))
    first, second = await do(store, "batch", [GetOp(("a",), "k"), GetOp(("a",), "k")])
    assert first == second
    assert first.value == {"n": 1}


async def test_equal_searches_in_a_batch_have_equal_results(store: ChromaStore, do: Do) -> None:
    store.put(("a",), "k", {"n": 1})
    first, second = await do(store, "batch", [SearchOp(("a",), query="n")] * 2)
    assert first == second
    assert keys(first) == ["k"]


async def test_operations_may_give_a_namespace_as_a_list(store: ChromaStore, do: Do) -> None:
    """As they come out of JSON."""
    namespace: Any = ["a", "b"]
    await do(store, "batch", [PutOp(namespace, "k", {"n": 1})])
    item, found = await do(store, "batch", [GetOp(namespace, "k"), SearchOp(namespace)])
    assert item.value == found[0].value == {"n": 1}
    assert item.namespace == found[0].namespace == ("a", "b")


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


BAD_VALUES: dict[str, Any] = {
    "an object": {"x": object()},
    "a set": {"x": {1, 2}},
    "bytes": {"x": b"bytes"},
    "an object deep inside": {"x": {"deep": [object()]}},
    "a tuple as key": {("tuple",): 1},
    "NaN": {"x": float("nan")},
    "infinity": {"x": [float("inf")]},
    "circular": circular(),
    "too deep": nested(100_000),
    "a list": ["a list"],
    "text": "text",
    "a number": 7,
}


@pytest.mark.parametrize("value", BAD_VALUES.values(), ids=BAD_VALUES)
async def test_a_value_that_is_not_json_is_refused_and_nothing_written(
    store: ChromaStore, do: Do, value: Any
) -> None:
    ops = [PutOp(("a",), "good", {"n": 1}), PutOp(("b",), "bad", value)]
    with pytest.raises(ValueError, match=r"JSON|dict"):
        await do(store, "batch", ops)
    assert stored(store) == []
    assert store.list_namespaces() == []


BAD_OPS: list[Any] = [
    PutOp(("with.period",), "k", {"n": 1}),
    PutOp(("a", ""), "k", {"n": 1}),
    PutOp(("a\0",), "k", {"n": 1}),
    PutOp((7,), "k", {"n": 1}),  # type: ignore[arg-type]
    PutOp((), "k", {"n": 1}),
    PutOp("ab", "k", {"n": 1}),  # type: ignore[arg-type]
    SearchOp("ab"),  # type: ignore[arg-type]
    PutOp(("with.period",), "k", None),
    GetOp(("with.period",), "k"),
    SearchOp(("with.period",)),
    ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("with.period",)),)),
    ListNamespacesOp(match_conditions=(MatchCondition("infix", ("a",)),)),  # type: ignore[arg-type]
    SearchOp(("a",), limit=-1),
    SearchOp(("a",), offset=-1),
    SearchOp(("a",), filter={"n": {"$in": [1]}}),
    SearchOp(("a",), filter={"n": {"deeper": {"$exists": True}}}),
    ("get", ("a",), "k"),
    None,
]


@pytest.mark.parametrize("op", BAD_OPS, ids=repr)
async def test_a_batch_with_a_bad_operation_writes_nothing(
    store: ChromaStore, do: Do, op: Any
) -> None:
    store.put(("a",), "old", {"n": 0})
    good = [PutOp(("a",), "new", {"n": 1}), PutOp(("a",), "old", None)]
    for ops in ([op, *good], [*good, op]):
        with pytest.raises(ValueError, match=r"\S"):
            await do(store, "batch", ops)
        assert stored(store) == [(("a",), "old", {"n": 0})]


# -- get, put, delete -----------------------------------------------------------------------------


@pytest.mark.parametrize("cached", [False, True])
async def test_an_update_keeps_created_at_and_moves_updated_at(
    store: ChromaStore, do: Do, cached: bool
) -> None:
    clock = ManualClock()
    with ChromaStore.in_memory(embed=EMBED, clock=clock) as store:
        first = clock()
        await do(store, "put", ("a",), "k", {"n": 1})
        if cached:
            store.search(("a",))
        second = clock.advance(hours=1)
        await do(store, "put", ("a",), "k", {"n": 2}, index=False)
        item = await do(store, "get", ("a",), "k")
        assert (item.created_at, item.updated_at) == (first, second)
        (found,) = await do(store, "search", ("a",))
        assert (found.created_at, found.updated_at) == (first, second)


async def test_times_survive_reopening_to_the_microsecond(tmp_path: Path, do: Do) -> None:
    clock = ManualClock()
    clock.advance(timedelta(microseconds=1))
    with open_store(tmp_path, clock=clock) as store:
        created = clock()
        await do(store, "put", ("a",), "k", {"n": 1})
    updated = clock.advance(timedelta(microseconds=1))
    with open_store(tmp_path, clock=clock) as store:
        await do(store, "put", ("a",), "k", {"n": 2})
    with open_store(tmp_path, clock=clock) as store:
        item = await do(store, "get", ("a",), "k")
        assert (item.created_at, item.updated_at) == (created, updated)


def change(value: dict[str, Any]) -> None:
    value["tags"].append("changed")
    value["more"]["deep"][0]["n"] = "changed"
    value["new"] = "changed"


def read_by_get(store: ChromaStore) -> dict[str, Any]:
    item = store.get(("a",), "k")
    assert item is not None
    return item.value


READERS: list[Callable[[ChromaStore], dict[str, Any]]] = [
    read_by_get,
    lambda store: store.search(("a",))[0].value,
    lambda store: store.search(("a",), query="red")[0].value,
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("cached", [False, True])
def test_changing_a_value_that_was_read_or_put_changes_nothing_stored(
    store: ChromaStore, read: Callable[[ChromaStore], dict[str, Any]], cached: bool
) -> None:
    def fresh() -> dict[str, Any]:
        return {"tags": ["red"], "more": {"deep": [{"n": 1}]}}

    given = fresh()
    store.put(("a",), "k", {"n": 1})
    if cached:
        store.search(("a",))
    store.put(("a",), "k", given)
    change(given)
    assert read(store) == fresh()
    change(read(store))
    assert read(store) == fresh()


# -- search ---------------------------------------------------------------------------------------


def test_a_prefix_matches_whole_labels_only(store: ChromaStore) -> None:
    namespaces = [
        ("a",),
        ("a", "b"),
        ("a", "b", "c"),
        ("ab",),
        ("A",),
        ("a_b",),
        ("a%",),
        ("axb",),
        ("user", "u1"),
        ("user", "u10"),
        ("user", "john_doe"),
        ("user", "johnXdoe"),
    ]
    for namespace in namespaces:
        store.put(namespace, "k", {"text": "moka"})
    for prefix in [(), ("a%",), ("user",), ("%",), ("_",), ("*",), *namespaces]:
        expected = {ns for ns in namespaces if ns[: len(prefix)] == prefix}
        for query in (None, "moka"):
            found = store.search(prefix, query=query, limit=100)
            assert {item.namespace for item in found} == expected, prefix
            assert len(found) == len(expected)


@pytest.mark.parametrize("query", [None, "moka pot"])
@pytest.mark.parametrize("size", [1, 3, 7, 50])
async def test_pages_put_together_are_the_whole_result(
    store: ChromaStore, do: Do, query: str | None, size: int
) -> None:
    words = ["moka", "pot", "tea", "green", "cup"]
    for i in range(20):
        text = " ".join([words[i % 5], words[i % 3], str(i)])
        store.put(("a", str(i % 2)), str(i), {"text": text})
    whole = await do(store, "search", ("a",), query=query, limit=1000)
    assert len(whole) == 20
    pages = [
        await do(store, "search", ("a",), query=query, limit=size, offset=offset)
        for offset in range(0, 25, size)
    ]
    assert [item for page in pages for item in page] == whole
    assert all(len(page) <= size for page in pages)


async def test_the_score_is_the_cosine_similarity_best_first(store: ChromaStore, do: Do) -> None:
    texts = ["moka pot", "green tea", "a moka cup", "摩卡壶", "bike"]
    for i, text in enumerate(texts):
        store.put(("n", str(i % 2)), text, {"text": text}, index=["text"])
    found = await do(store, "search", ("n",), query="moka cup")
    expected = {text: cosine(text, "moka cup") for text in texts}
    assert {item.key: item.score for item in found} == pytest.approx(expected, abs=1e-5)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert found[0].key == "a moka cup"


@pytest.mark.parametrize("query", [None, ""])
def test_without_a_query_the_last_updated_come_first_and_without_a_score(
    store: ChromaStore, query: str | None
) -> None:
    for key, namespace in (("k", "x"), ("l", "y"), ("m", "x"), ("k", "x")):
        store.put(("a", namespace), key, {"text": "moka"})
    found = store.search(("a",), query=query)
    assert keys(found) == ["k", "m", "l"]
    assert [item.score for item in found] == [None] * 3
    assert all(isinstance(item, SearchItem) for item in found)


@pytest.mark.parametrize("query", [None, "moka"])
@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({}, "klmn"),
        (None, "klmn"),
        ({"kind": "fact"}, "km"),
        ({"kind": "fact", "n": 1}, "k"),
        ({"n": {"$gt": 1}}, "mn"),
        ({"n": {"$gte": 1, "$lt": 7}}, "km"),
        ({"n": {"$ne": 1}}, "lmn"),
        ({"kind": None}, "n"),
        ({"tags": ["x", "y"]}, "l"),
        ({"more": {"deep": {"$lte": 2}}}, "m"),
        ({"kind": "no such"}, ""),
    ],
)
async def test_a_search_returns_the_items_that_meet_the_filter(
    store: ChromaStore,
    do: Do,
    query: str | None,
    filter: dict[str, Any] | None,
    expected: str,
) -> None:
    await do(
        store,
        "batch",
        [
            PutOp(("a",), "k", {"text": "moka", "kind": "fact", "n": 1}),
            PutOp(("a",), "l", {"text": "moka", "kind": "rule", "tags": ["x", "y"]}),
            PutOp(("b",), "m", {"text": "moka", "kind": "fact", "n": 2, "more": {"deep": 2}}),
            PutOp(("b",), "n", {"text": "moka", "n": 7.5}),
        ],
    )
    found = await do(store, "search", (), query=query, filter=filter)
    assert sorted(keys(found)) == list(expected)


@pytest.mark.parametrize("filter", [{"n": {"$in": [1]}}, {"n": {"$or": []}}, {"n": {"$": 1}}])
async def test_an_unknown_operator_is_refused_also_where_nothing_is_stored(
    store: ChromaStore, do: Do, filter: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"unsupported filter operator '\$.*\$eq, \$ne, \$gt"):
        await do(store, "search", ("a",), filter=filter)


def test_a_filter_that_its_caller_changes_later_still_means_what_it_said(
    store: ChromaStore,
) -> None:
    store.put(("a",), "k", {"kind": "fact"})
    filter = {"kind": "fact"}
    store.search(("a",), filter=filter)
    filter["kind"] = "rule"
    store.batch([PutOp(("a",), "l", {"kind": "fact"}), PutOp(("a",), "m", {"kind": "rule"})])
    assert sorted(keys(store.search(("a",), filter={"kind": "fact"}))) == ["k", "l"]
    assert sorted(keys(store.search(("a",), filter={"kind": "rule"}))) == ["m"]


@pytest.mark.parametrize(
    "filters",
    [
        [{"x": b"1"}, {"x": "b'1'"}],
        [{"x": {1: 2}}, {"x": {"1": 2}}],
    ],
)
def test_two_filters_that_look_alike_are_told_apart(
    store: ChromaStore, filters: list[dict[str, Any]]
) -> None:
    store.batch([PutOp(("a",), "k", {"x": "b'1'"}), PutOp(("a",), "l", {"x": {"1": 2}})])
    assert [len(store.search(("a",), filter=filter)) for filter in filters] == [0, 1]


@pytest.mark.parametrize(
    "operand",
    [b"bytes", {1, 2}, object(), 1 + 2j, float("nan"), 10**400, {1: "a", "b": 2}, {None: 1, 2: 3}],
    ids=lambda operand: type(operand).__name__,
)
def test_a_filter_of_odd_values_finds_nothing_and_raises_nothing(
    store: ChromaStore, operand: Any
) -> None:
    store.put(("a",), "k", {"x": 1})
    for condition in (operand, [operand], {"$gt": operand}, {"deep": operand}):
        assert store.search(("a",), filter={"x": condition}) == []
        assert store.search(("a",), query="x", filter={"x": condition}) == []


# -- namespaces -----------------------------------------------------------------------------------


@pytest.fixture
def tree() -> Iterator[ChromaStore]:
    with ChromaStore.in_memory(embed=EMBED) as store:
        for namespace in (
            ("docs", "public", "v1"),
            ("docs", "public", "v2"),
            ("docs", "private", "v1"),
            ("users", "u1", "notes"),
            ("users", "u10", "notes"),
            ("users",),
        ):
            store.put(namespace, "k", {"n": 1})
        yield store


ALL = [
    ("docs", "private", "v1"),
    ("docs", "public", "v1"),
    ("docs", "public", "v2"),
    ("users",),
    ("users", "u1", "notes"),
    ("users", "u10", "notes"),
]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ALL),
        ({"prefix": ("docs",)}, ALL[:3]),
        ({"prefix": ("doc",)}, []),
        ({"prefix": ("users", "u1")}, [ALL[4]]),
        ({"prefix": ("docs", "*", "v1")}, ALL[:2]),
        ({"prefix": ("*", "public")}, ALL[1:3]),
        ({"prefix": ("*", "*", "*", "*")}, []),
        ({"suffix": ("notes",)}, ALL[4:]),
        ({"suffix": ("*", "v1")}, ALL[:2]),
        ({"suffix": ("users",)}, [ALL[3]]),
        ({"prefix": ("docs",), "suffix": ("v2",)}, [ALL[2]]),
        ({"prefix": ("*",), "max_depth": 1}, [("docs",), ("users",)]),
        ({"max_depth": 2, "prefix": ("docs",)}, [("docs", "private"), ("docs", "public")]),
        ({"max_depth": 2, "suffix": ("v1",)}, [("docs", "private"), ("docs", "public")]),
        ({"max_depth": 9}, ALL),
        ({"limit": 2}, ALL[:2]),
        ({"limit": 2, "offset": 3}, ALL[3:5]),
        ({"offset": 6}, []),
        ({"max_depth": 1, "limit": 1, "offset": 1}, [("users",)]),
    ],
)
async def test_namespaces_are_listed_sorted_by_condition_depth_and_page(
    tree: ChromaStore, do: Do, arguments: dict[str, Any], expected: list[tuple[str, ...]]
) -> None:
    assert await do(tree, "list_namespaces", **arguments) == expected


async def test_a_namespace_is_listed_while_it_holds_an_item(store: ChromaStore, do: Do) -> None:
    for namespace, key in ((("a",), "k"), (("a",), "l"), (("a", "b"), "k"), (("c",), "k")):
        await do(store, "put", namespace, key, {"n": 1}, index=False)
    await do(store, "delete", ("a",), "k")
    await do(store, "delete", ("a", "b"), "missing")
    assert await do(store, "list_namespaces") == [("a",), ("a", "b"), ("c",)]
    await do(store, "delete", ("a",), "l")
    assert await do(store, "list_namespaces") == [("a", "b"), ("c",)]
    await do(store, "batch", [PutOp(("a", "b"), "k", None), PutOp(("c",), "k", None)])
    assert await do(store, "list_namespaces") == []
    assert await do(store, "search", ()) == []
    await do(store, "put", ("a",), "k", {"n": 2})
    assert await do(store, "list_namespaces") == [("a",)]


async def test_emptied_namespaces_stay_gone_after_reopening(tmp_path: Path, do: Do) -> None:
    with open_store(tmp_path) as store:
        for name in "abc":
            store.put((name,), "k", {"n": 1})
        await do(store, "batch", [PutOp(("a",), "k", None), PutOp(("b",), "l", {"n": 1})])
        await do(store, "delete", ("c",), "k")
    with open_store(tmp_path) as store:
        assert await do(store, "list_namespaces") == [("b",)]
        assert sorted(keys(await do(store, "search", ()))) == ["k", "l"]


# -- the order of results -------------------------------------------------------------------------


def still(clock: ManualClock) -> None:
    """Leave the clock where it is, as some systems' coarse clocks do."""


def backwards(clock: ManualClock) -> None:
    """Set the clock back, as a time server does."""
    clock.advance(seconds=-1)


@pytest.mark.parametrize("between", [still, backwards])
@pytest.mark.parametrize("together", [True, False], ids=["one batch", "one by one"])
def test_the_order_of_a_search_is_the_same_after_reopening(
    tmp_path: Path, between: Callable[[ManualClock], None], together: bool
) -> None:
    """Else a reader who goes from page to page would miss items, and see others twice."""
    clock = ManualClock()

    def put(store: ChromaStore, keys: str) -> None:
        for part in [keys] if together else keys:
            store.batch([PutOp(("a",), key, {"text": "moka"}) for key in part])
            between(clock)

    def orders() -> list[list[str]]:
        return [keys(store.search(("a",), query=query)) for query in (None, "moka")]

    with open_store(tmp_path, clock=clock) as store:
        put(store, "dbeac")
        store.search(("a",))  # from here on, it is in memory
        put(store, "abc")
        before = orders()
    with open_store(tmp_path, clock=clock) as store:
        assert orders() == before


@pytest.mark.parametrize("cached", [False, True])
def test_the_order_holds_although_the_system_clock_was_set_back_between_two_openings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    with open_store(tmp_path) as store:
        store.put(("a",), "k", {"n": 1})
    monkeypatch.setattr("time.time_ns", lambda: 1)
    with open_store(tmp_path) as store:
        if cached:
            store.search(("a",))
        store.put(("a",), "l", {"n": 2})
        assert keys(store.search(("a",))) == ["l", "k"]
    with open_store(tmp_path) as store:
        assert keys(store.search(("a",))) == ["l", "k"]


# -- what others rely on --------------------------------------------------------------------------


def test_the_index_config_and_the_embeddings_can_be_read(store: ChromaStore) -> None:
    """Libraries on top of LangGraph read these attributes."""
    assert store.embeddings is EMBED
    assert store.index_config["embed"] is EMBED
    assert store.index_config["fields"] == ["$"]
    assert store.supports_ttl is True
    assert store.ttl_config is None


def test_the_time_comes_from_the_clock() -> None:
    clock: Clock = ManualClock()
    with ChromaStore.in_memory(embed=EMBED, clock=clock) as store:
        store.put(("a",), "k", {"n": 1})
        (item,) = store.search(("a",))
        assert item.created_at == item.updated_at == clock()
