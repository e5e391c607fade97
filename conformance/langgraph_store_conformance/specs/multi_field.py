"""Items with several indexed texts: one hit each, and no vector outlives its text."""

from __future__ import annotations

from langgraph.store.base import PutOp

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import check, close, same, same_set
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)
APPLE, BIKE, SEA = "green apple pie", "my old bicycle", "cold sea water"
TWO = ["one", "two"]
LIST = ["tags[*]"]


async def _scores(store: Subject, **expected: bool) -> None:
    """Fail unless `k` is found by exactly those of the three texts that are expected."""
    for text, is_there in {APPLE: "apple", BIKE: "bike", SEA: "sea"}.items():
        score = (await store.scores(NS, text)).get("k")
        if expected.get(is_there):
            close(score, 1.0)
        else:
            check(score is None or score < 0.5, score, "no score, or a low one")


@rule(Capability.MULTI_FIELD, fields=TWO)
async def an_item_is_one_hit_with_its_best_score(store: Subject) -> None:
    """An item with several fields comes once, with the score of the nearest field."""
    await store.put(NS, "k", {"one": APPLE, "two": BIKE})
    await _scores(store, apple=True, bike=True)
    same(await store.keys(NS, query=APPLE), ["k"])


@rule(Capability.MULTI_FIELD, fields=TWO)
async def the_best_field_decides_the_order(store: Subject) -> None:
    """Items are ranked by their nearest field."""
    await store.put(NS, "x", {"one": SEA, "two": APPLE})
    await store.put(NS, "y", {"one": "green apple", "two": "apple"})
    same(await store.keys(NS, query=APPLE), ["x", "y"])


@rule(Capability.MULTI_FIELD, fields=LIST)
async def each_element_of_a_list_is_indexed(store: Subject) -> None:
    """`tags[*]` embeds each element on its own."""
    await store.put(NS, "k", {"tags": [APPLE, BIKE, SEA]})
    await _scores(store, apple=True, bike=True, sea=True)


@rule(Capability.MULTI_FIELD, fields=["tags[0]", "tags[-1]"])
async def elements_are_chosen_by_place(store: Subject) -> None:
    """`tags[0]` and `tags[-1]` are the first and the last element."""
    await store.put(NS, "k", {"tags": [APPLE, BIKE, SEA]})
    await _scores(store, apple=True, sea=True)


@rule(Capability.MULTI_FIELD, fields=["notes[*].text"])
async def fields_of_elements_are_indexed(store: Subject) -> None:
    """`notes[*].text` embeds a field of each element."""
    await store.put(NS, "k", {"notes": [{"text": APPLE}, {"text": BIKE, "x": SEA}, {}]})
    await _scores(store, apple=True, bike=True)


@rule(Capability.MULTI_FIELD, fields=TWO)
async def one_field_missing_leaves_the_other(store: Subject) -> None:
    """An item that lacks one of the fields is found by the other."""
    await store.put(NS, "k", {"two": BIKE})
    await _scores(store, bike=True)


@rule(Capability.MULTI_FIELD, fields=TWO)
async def a_changed_field_leaves_no_vector(store: Subject) -> None:
    """When one field changes, its old text is no longer found; the other field still is."""
    await store.put(NS, "k", {"one": APPLE, "two": BIKE})
    await store.put(NS, "k", {"one": SEA, "two": BIKE})
    await _scores(store, bike=True, sea=True)


@rule(Capability.MULTI_FIELD, fields=TWO)
async def a_removed_field_leaves_no_vector_beside_others(store: Subject) -> None:
    """When one field goes, its text is no longer found; the other field still is."""
    await store.put(NS, "k", {"one": APPLE, "two": BIKE})
    await store.put(NS, "k", {"two": BIKE})
    await _scores(store, bike=True)


@rule(
    Capability.MULTI_FIELD,
    fields=LIST,
    cases={"to-two": [APPLE, BIKE], "to-one": [APPLE], "to-none": []},
)
async def a_shrunk_list_leaves_no_vector(store: Subject, left: list[str]) -> None:
    """When a list becomes shorter, what fell away is no longer found."""
    await store.put(NS, "k", {"tags": [APPLE, BIKE, SEA]})
    await store.put(NS, "k", {"tags": left})
    await _scores(store, apple=APPLE in left, bike=BIKE in left)


@rule(Capability.MULTI_FIELD, fields=LIST)
async def a_grown_list_is_indexed_whole(store: Subject) -> None:
    """When a list becomes longer, its new elements are found, too."""
    await store.put(NS, "k", {"tags": [APPLE]})
    await store.put(NS, "k", {"tags": [APPLE, BIKE, SEA]})
    await _scores(store, apple=True, bike=True, sea=True)


@rule(Capability.MULTI_FIELD, fields=TWO)
async def other_fields_of_a_put_replace_the_first(store: Subject) -> None:
    """A put with other `index=[...]` than the last leaves only the vectors of its own fields."""
    value = {"one": APPLE, "two": BIKE}
    await store.put(NS, "k", value, index=["one"])
    await store.put(NS, "k", value, index=["two"])
    await _scores(store, bike=True)


@rule(Capability.MULTI_FIELD, fields=TWO)
async def index_false_takes_all_vectors_away(store: Subject) -> None:
    """A put with `index=False` leaves none of several vectors."""
    await store.put(NS, "k", {"one": APPLE, "two": BIKE})
    await store.put(NS, "k", {"one": APPLE, "two": BIKE}, index=False)
    await _scores(store)


@rule(Capability.MULTI_FIELD, fields=LIST)
async def the_limit_counts_items(store: Subject) -> None:
    """A limit of three gives three items, however many vectors each of them has."""
    for key in ("x", "y"):
        await store.put(NS, key, {"tags": [f"{APPLE} {key} {i}" for i in range(6)]})
    await store.put(NS, "z", {"tags": [BIKE]})
    same_set(await store.keys(NS, query=APPLE, limit=3), ["x", "y", "z"])


@rule(Capability.MULTI_FIELD, fields=LIST)
async def pages_of_items_with_several_vectors(store: Subject) -> None:
    """Page after page, each item with several vectors comes exactly once."""
    keys = [f"k{i}" for i in range(5)]
    await store.batch(
        [PutOp(NS, key, {"tags": [f"{text} {key}" for text in (APPLE, BIKE)]}) for key in keys]
    )
    pages = [await store.keys(NS, query=APPLE, limit=2, offset=offset) for offset in (0, 2, 4)]
    same([len(page) for page in pages], [2, 2, 1])
    same_set([key for page in pages for key in page], keys)
