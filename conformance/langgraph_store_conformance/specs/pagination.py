"""Pages of a search: as many items as asked for, each item on one page."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import PutOp

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import same, same_set
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)
KEYS = [f"k{i}" for i in range(7)]
SEARCHES: dict[str, dict[str, Any]] = {"all": {}, "filter": {"filter": {"even": True}}}
QUERIES: dict[str, dict[str, Any]] = {
    "query": {"query": "tea"},
    "query-filter": {"query": "tea", "filter": {"even": True}},
}


async def _fill(store: Subject) -> None:
    words = ["tea", "tea pot", "green tea", "tea house", "tea time soon", "bike", "blue bike"]
    await store.batch(
        [
            PutOp(NS, key, {"text": word, "even": i % 2 == 0})
            for i, (key, word) in enumerate(zip(KEYS, words, strict=True))
        ]
    )


def _chosen(search: dict[str, Any]) -> list[str]:
    return KEYS[::2] if "filter" in search else KEYS


async def _pages(store: Subject, search: dict[str, Any], size: int) -> None:
    await _fill(store)
    expected = _chosen(search)
    pages = [
        await store.keys(NS, **search, limit=size, offset=offset)
        for offset in range(0, len(expected) + size, size)
    ]
    sizes = [len(page) for page in pages]
    full, rest = divmod(len(expected), size)
    same(sizes, [size] * full + [rest] * (rest > 0) + [0] * (len(pages) - full - (rest > 0)))
    same_set([key for page in pages for key in page], expected)


async def _sizes(store: Subject, search: dict[str, Any]) -> None:
    await _fill(store)
    total = len(_chosen(search))
    got = {
        (limit, offset): len(await store.keys(NS, **search, limit=limit, offset=offset))
        for limit, offset in [(2, 0), (2, total - 1), (100, 1), (2, total), (2, total + 5)]
    }
    same(list(got.values()), [2, 1, total - 1, 0, 0])


@rule(Capability.PAGINATION, cases=SEARCHES)
async def pages_are_exact(store: Subject, search: dict[str, Any]) -> None:
    """A page has `limit` items, as long as there are so many after `offset`."""
    await _sizes(store, search)


@rule(Capability.PAGINATION, cases=SEARCHES)
async def pages_are_disjoint_and_complete(store: Subject, search: dict[str, Any]) -> None:
    """Page after page, each item comes exactly once."""
    await _pages(store, search, 2)


@rule(Capability.PAGINATION, fields=["text"], cases=QUERIES)
async def pages_by_meaning_are_exact(store: Subject, search: dict[str, Any]) -> None:
    """A page of a search by meaning has `limit` items, as long as there are so many."""
    await _sizes(store, search)


@rule(Capability.PAGINATION, fields=["text"], cases=QUERIES)
async def pages_by_meaning_are_disjoint_and_complete(
    store: Subject, search: dict[str, Any]
) -> None:
    """Page after page of a search by meaning, each item comes exactly once."""
    await _pages(store, search, 2)


@rule(Capability.PAGINATION, fields=["text"])
async def pages_of_one_by_meaning(store: Subject) -> None:
    """Also with one item a page, the last item is reached."""
    await _pages(store, {"query": "tea"}, 1)


@rule(Capability.PAGINATION, fields=["text"])
async def pages_by_meaning_follow_one_order(store: Subject) -> None:
    """Pages put together are the ranking that one large page gives."""
    await _fill(store)
    whole = await store.search(NS, query="tea", limit=7)
    parts = [
        item
        for offset in range(0, 7, 3)
        for item in await store.search(NS, query="tea", limit=3, offset=offset)
    ]
    # Scores, not keys: items with the same score may stand in any order.
    same([_score(item) for item in parts], [_score(item) for item in whole])


def _score(item: Any) -> float | None:
    return None if item.score is None else round(item.score, 3)


@rule(Capability.PAGINATION)
async def the_default_limit_is_ten(store: Subject) -> None:
    """A search that names no limit gives ten items."""
    await store.batch([PutOp(NS, f"k{i}", {"n": i}) for i in range(12)])
    same(len(await store.keys(NS)), 10)


@rule(Capability.PAGINATION)
async def a_limit_of_zero_gives_nothing(store: Subject) -> None:
    """`limit=0` gives `[]`."""
    await _fill(store)
    same(await store.keys(NS, limit=0), [])


@rule(Capability.PAGINATION)
async def pages_go_over_namespaces(store: Subject) -> None:
    """Pages of a prefix go through the items of all namespaces below it."""
    await store.batch([PutOp(("a", label), "k", {"n": 1}) for label in "uvwxy"])
    found = [
        item.namespace[1]
        for offset in (0, 2, 4)
        for item in await store.search(NS, limit=2, offset=offset)
    ]
    same_set(found, list("uvwxy"))


@rule(Capability.PAGINATION)
async def the_order_is_the_same_each_time(store: Subject) -> None:
    """The same search gives the same order as long as nothing is written."""
    await _fill(store)
    same(await store.keys(NS), await store.keys(NS))
