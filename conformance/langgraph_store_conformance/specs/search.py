"""Search by meaning: cosine similarity, over exactly what is indexed now."""

from __future__ import annotations

import json
from typing import Any

from langgraph.store.base import PutOp, SearchOp

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import check, close, same, same_set
from langgraph_store_conformance.embeddings import HashingEmbeddings
from langgraph_store_conformance.rules import WHOLE_VALUE, rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)
TEXT = ["text"]
APPLE, BIKE = "green apple pie", "my old bicycle"


def _cosine(one: str, other: str) -> float:
    a, b = HashingEmbeddings().embed_documents([one, other])
    return sum(x * y for x, y in zip(a, b, strict=True))


async def _no_trace(store: Subject, key: str, query: str) -> None:
    """Fail if an item still scores as if it held a text that it no longer holds."""
    score = (await store.scores(NS, query)).get(key)
    check(score is None or score < 0.5, score, "no score, or a low one")


@rule(Capability.SEARCH, fields=TEXT)
async def the_same_text_scores_one(store: Subject) -> None:
    """The score is cosine similarity: 1 for the text itself."""
    await store.put(NS, "k", {"text": APPLE})
    close((await store.scores(NS, APPLE)).get("k"), 1.0)


@rule(Capability.SEARCH, fields=TEXT)
async def scores_are_cosines(store: Subject) -> None:
    """Also for other texts the score is the cosine, higher for what is nearer."""
    texts = {"x": "green apple", "y": "green apple pie with cream", "z": BIKE}
    await store.batch([PutOp(NS, key, {"text": text}) for key, text in texts.items()])
    scores = await store.scores(NS, APPLE)
    for key, text in texts.items():
        close(scores.get(key), _cosine(APPLE, text))


@rule(Capability.SEARCH, fields=TEXT)
async def the_best_comes_first(store: Subject) -> None:
    """Hits are in the order of their scores, best first."""
    for key, text in {"x": BIKE, "y": "green apple", "z": APPLE}.items():
        await store.put(NS, key, {"text": text})
    same(await store.keys(NS, query=APPLE), ["z", "y", "x"])


@rule(Capability.SEARCH, fields=TEXT)
async def the_limit_keeps_the_best(store: Subject) -> None:
    """With a limit, the best of all come, not the best of some."""
    await store.batch([PutOp(NS, f"k{i}", {"text": f"{BIKE} {i}"}) for i in range(30)])
    await store.put(NS, "best", {"text": APPLE})
    same(await store.keys(NS, query=APPLE, limit=1), ["best"])


@rule(Capability.SEARCH, fields=TEXT, cases={"none": None, "empty": ""})
async def no_query_is_a_listing(store: Subject, query: str | None) -> None:
    """The query `None` or `""` lists the items without scores."""
    await store.put(NS, "x", {"text": APPLE})
    await store.put(NS, "y", {"text": BIKE}, index=False)
    found = await store.search(NS, query=query)
    same_set([(item.key, item.score) for item in found], [("x", None), ("y", None)])


@rule(Capability.SEARCH, fields=TEXT)
async def other_namespaces_never_come_up(store: Subject) -> None:
    """However near they are, items outside of the prefix are not found."""
    for namespace in [("b",), ("ab",), ("b", "a"), ("A",)]:
        await store.put(namespace, "near", {"text": APPLE})
    await store.put(NS, "far", {"text": BIKE})
    same(await store.keys(NS, query=APPLE), ["far"])


@rule(Capability.SEARCH, fields=TEXT)
async def many_nearer_items_elsewhere_do_not_matter(store: Subject) -> None:
    """The best of a namespace is found also where hundreds of nearer items are in another."""
    await store.batch([PutOp(("b",), f"k{i}", {"text": f"{APPLE} {i}"}) for i in range(300)])
    await store.put(NS, "far", {"text": BIKE})
    same(await store.keys(NS, query=APPLE, limit=1), ["far"])


@rule(Capability.SEARCH, fields=TEXT)
async def a_query_covers_all_namespaces_below(store: Subject) -> None:
    """A search by meaning ranks the items of all namespaces below its prefix together."""
    await store.put(("a", "b"), "x", {"text": "green apple"})
    await store.put(("a", "c"), "y", {"text": APPLE})
    await store.put(NS, "z", {"text": BIKE})
    same(await store.keys(NS, query=APPLE), ["y", "x", "z"])
    same(await store.keys((), query=APPLE, limit=1), ["y"])


@rule(Capability.SEARCH, fields=TEXT)
async def a_filter_applies_before_the_limit(store: Subject) -> None:
    """With a query and a filter, the best of what meets the filter come."""
    await store.batch([PutOp(NS, f"k{i}", {"text": f"{APPLE} {i}", "n": 1}) for i in range(30)])
    await store.put(NS, "far", {"text": BIKE, "n": 2})
    same(await store.keys(NS, query=APPLE, filter={"n": 2}, limit=1), ["far"])


@rule(Capability.SEARCH, fields=TEXT)
async def what_is_not_indexed_has_no_score(store: Subject) -> None:
    """An item put with `index=False` is not ranked by meaning; it can still be read and listed."""
    await store.put(NS, "k", {"text": APPLE}, index=False)
    same((await store.scores(NS, APPLE)).get("k"), None)
    same(await store.value(NS, "k"), {"text": APPLE})
    same(await store.keys(NS), ["k"])


@rule(Capability.SEARCH, fields=TEXT)
async def what_is_not_indexed_is_not_found_by_meaning(store: Subject) -> None:
    """A search by meaning gives only items that are indexed."""
    await store.put(NS, "k", {"text": APPLE}, index=False)
    await store.put(NS, "far", {"text": BIKE})
    same(await store.keys(NS, query=APPLE), ["far"])


@rule(Capability.SEARCH, fields=TEXT)
async def an_item_without_the_field_is_not_found_by_meaning(store: Subject) -> None:
    """An item that lacks the indexed fields is kept and not indexed."""
    await store.put(NS, "k", {"other": APPLE})
    await store.put(NS, "far", {"text": BIKE})
    same(await store.keys(NS, query=APPLE), ["far"])
    same(await store.value(NS, "k"), {"other": APPLE})


@rule(Capability.SEARCH, fields=TEXT)
async def a_changed_text_leaves_no_vector(store: Subject) -> None:
    """An item is found by the text that it has, not by one that it had."""
    await store.put(NS, "k", {"text": APPLE})
    await store.put(NS, "k", {"text": BIKE})
    await _no_trace(store, "k", APPLE)
    close((await store.scores(NS, BIKE)).get("k"), 1.0)


@rule(Capability.SEARCH, fields=TEXT)
async def index_false_over_an_indexed_item_leaves_no_vector(store: Subject) -> None:
    """A put with `index=False` takes an item that was indexed out of the index."""
    await store.put(NS, "k", {"text": APPLE})
    await store.put(NS, "k", {"text": BIKE}, index=False)
    await _no_trace(store, "k", APPLE)
    await _no_trace(store, "k", BIKE)


@rule(Capability.SEARCH, fields=TEXT)
async def a_removed_field_leaves_no_vector(store: Subject) -> None:
    """An item that no longer has the indexed field is no longer found by it."""
    await store.put(NS, "k", {"text": APPLE})
    await store.put(NS, "k", {"other": 1})
    await _no_trace(store, "k", APPLE)


@rule(Capability.SEARCH, fields=TEXT)
async def a_deleted_item_leaves_no_vector(store: Subject) -> None:
    """An item deleted, and put again without an index, is not found by its old text."""
    await store.put(NS, "k", {"text": APPLE})
    await store.delete(NS, "k")
    same(await store.keys(NS, query=APPLE), [])
    await store.put(NS, "k", {"text": BIKE}, index=False)
    await _no_trace(store, "k", APPLE)


@rule(Capability.SEARCH, fields=TEXT)
async def an_item_can_be_indexed_later(store: Subject) -> None:
    """An item put with `index=False` is found after it was put again without that."""
    await store.put(NS, "k", {"text": APPLE}, index=False)
    await store.put(NS, "k", {"text": APPLE})
    close((await store.scores(NS, APPLE)).get("k"), 1.0)


@rule(Capability.SEARCH, fields=TEXT)
async def a_put_may_name_its_fields(store: Subject) -> None:
    """`index=[...]` of a put replaces the fields of the store for this item."""
    await store.put(NS, "k", {"text": BIKE, "title": APPLE}, index=["title"])
    scores = await store.scores(NS, APPLE)
    close(scores.get("k"), 1.0)
    await _no_trace(store, "k", BIKE)


@rule(Capability.SEARCH, fields=["meta.title"])
async def a_field_may_be_nested(store: Subject) -> None:
    """A field is a path: `meta.title`."""
    await store.put(NS, "k", {"meta": {"title": APPLE}, "title": BIKE})
    close((await store.scores(NS, APPLE)).get("k"), 1.0)


@rule(Capability.SEARCH, fields=WHOLE_VALUE)
async def without_fields_the_whole_value_is_indexed(store: Subject) -> None:
    """An index that names no fields embeds the whole value as JSON with sorted keys."""
    value = {"text": APPLE, "kind": "recipe"}
    await store.put(NS, "k", value)
    close((await store.scores(NS, json.dumps(value, sort_keys=True))).get("k"), 1.0)


@rule(Capability.SEARCH, fields=TEXT)
async def a_batch_may_put_the_same_text_twice(store: Subject) -> None:
    """Two items of one batch with equal texts are both indexed."""
    await store.batch([PutOp(NS, key, {"text": APPLE}) for key in ("x", "y")])
    scores = await store.scores(NS, APPLE)
    close(scores.get("x"), 1.0)
    close(scores.get("y"), 1.0)


@rule(Capability.SEARCH, fields=TEXT)
async def a_batch_may_search_several_times(store: Subject) -> None:
    """Each search of a batch has its own query, or none."""
    await store.batch([PutOp(NS, "x", {"text": APPLE}), PutOp(NS, "y", {"text": BIKE})])
    results: list[Any] = await store.batch(
        [
            SearchOp(NS, query=BIKE, limit=1),
            SearchOp(NS, filter={"text": APPLE}),
            SearchOp(NS, query=APPLE, limit=1),
        ]
    )
    same([[item.key for item in result] for result in results], [["y"], ["x"], ["x"]])


@rule(Capability.SEARCH, fields=TEXT)
async def the_last_put_of_a_batch_is_the_one_indexed(store: Subject) -> None:
    """Of two puts of a key in one batch, the last is found by meaning, the first is not."""
    await store.batch([PutOp(NS, "k", {"text": APPLE}), PutOp(NS, "k", {"text": BIKE})])
    await _no_trace(store, "k", APPLE)
    close((await store.scores(NS, BIKE)).get("k"), 1.0)


@rule(Capability.SEARCH, fields=TEXT)
async def searching_an_empty_store_gives_nothing(store: Subject) -> None:
    """A search by meaning where there is nothing gives `[]`."""
    same(await store.keys(NS, query=APPLE), [])
