"""Items are put, read, replaced and deleted; batches do several of that at once."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from langgraph.store.base import GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import check, same, same_set
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)


@rule(Capability.BASE)
async def what_was_put_is_read(store: Subject) -> None:
    """`get` gives the item that was put."""
    await store.put(NS, "k", {"n": 1, "s": "x"})
    same(await store.value(NS, "k"), {"n": 1, "s": "x"})


@rule(Capability.BASE)
async def an_item_says_what_it_is(store: Subject) -> None:
    """`get` gives an `Item` with its namespace as a tuple, its key and its value."""
    await store.put(("a", "b"), "k", {"n": 1})
    item = await store.get(("a", "b"), "k")
    check(isinstance(item, Item), item, "an Item")
    assert item is not None
    same((item.namespace, item.key, item.value), (("a", "b"), "k", {"n": 1}))


@rule(Capability.BASE)
async def put_and_delete_give_nothing(store: Subject) -> None:
    """In the results of a batch, a put and a delete are `None`."""
    same(await store.batch([PutOp(NS, "k", {"n": 1}), PutOp(NS, "other", None)]), [None, None])


@rule(Capability.BASE)
async def a_key_that_is_not_there_gives_none(store: Subject) -> None:
    """`get` of a key that was never put gives `None`, not an error."""
    await store.put(NS, "other", {"n": 1})
    same(await store.get(NS, "k"), None)


@rule(Capability.BASE)
async def a_namespace_that_is_not_there_gives_none(store: Subject) -> None:
    """`get` in a namespace that holds nothing gives `None`."""
    same(await store.get(("nowhere", "at all"), "k"), None)


@rule(Capability.BASE)
async def a_put_replaces_the_whole_value(store: Subject) -> None:
    """A second put of a key leaves nothing of the first value."""
    await store.put(NS, "k", {"n": 1, "old": True})
    await store.put(NS, "k", {"n": 2})
    same(await store.value(NS, "k"), {"n": 2})
    same(await store.keys(NS), ["k"])


@rule(Capability.BASE)
async def a_deleted_item_is_gone(store: Subject) -> None:
    """After `delete`, neither `get` nor `search` gives the item; others stay."""
    await store.put(NS, "k", {"n": 1})
    await store.put(NS, "other", {"n": 2})
    await store.delete(NS, "k")
    same(await store.get(NS, "k"), None)
    same(await store.keys(NS), ["other"])


@rule(Capability.BASE)
async def deleting_what_is_not_there_is_fine(store: Subject) -> None:
    """`delete` of a key that is not there, and of one in no namespace, is no error."""
    await store.put(NS, "other", {"n": 1})
    await store.delete(NS, "k")
    await store.delete(("nowhere",), "k")
    same(await store.value(NS, "other"), {"n": 1})


@rule(Capability.BASE)
async def a_put_of_none_deletes(store: Subject) -> None:
    """A put operation without a value is a delete."""
    await store.put(NS, "k", {"n": 1})
    await store.batch([PutOp(NS, "k", None)])
    same(await store.get(NS, "k"), None)


@rule(Capability.BASE)
async def a_deleted_item_can_come_back(store: Subject) -> None:
    """A key can be put again after it was deleted."""
    await store.put(NS, "k", {"n": 1})
    await store.delete(NS, "k")
    await store.put(NS, "k", {"n": 2})
    same(await store.value(NS, "k"), {"n": 2})


@rule(Capability.BASE)
async def keys_are_text(store: Subject) -> None:
    """A key of another type is its text: put under `1`, an item is read under `"1"`."""
    key: Any = 1
    await store.put(NS, key, {"n": 1})
    item = await store.get(NS, "1")
    same(None if item is None else (item.key, item.value), ("1", {"n": 1}))


@rule(Capability.BASE)
async def an_empty_value_is_a_value(store: Subject) -> None:
    """An item with the value `{}` is there."""
    await store.put(NS, "k", {})
    same(await store.value(NS, "k"), {})
    same(await store.keys(NS), ["k"])


@rule(Capability.BASE)
async def a_value_may_be_any_mapping(store: Subject) -> None:
    """A value is a mapping, not necessarily a dict."""
    await store.put(NS, "k", MappingProxyType({"n": 1}))
    same(await store.value(NS, "k"), {"n": 1})


@rule(Capability.BASE)
async def a_search_gives_search_items(store: Subject) -> None:
    """`search` gives `SearchItem`s; without a query they have no score."""
    await store.put(NS, "k", {"n": 1})
    found = await store.search(NS)
    check(all(isinstance(item, SearchItem) for item in found), found, "SearchItems")
    same([(i.namespace, i.key, i.value, i.score) for i in found], [(NS, "k", {"n": 1}, None)])


@rule(Capability.BASE)
async def a_batch_of_nothing_gives_nothing(store: Subject) -> None:
    """An empty batch has no results."""
    same(await store.batch([]), [])


@rule(Capability.BASE)
async def a_batch_takes_any_iterable(store: Subject) -> None:
    """The operations of a batch may come from a generator, which is read once."""
    await store.batch(PutOp(NS, key, {"n": 1}) for key in ("x", "y"))
    same_set(await store.keys(NS), ["x", "y"])


@rule(Capability.BASE)
async def results_are_in_the_order_of_the_operations(store: Subject) -> None:
    """Whatever the kinds of a batch's operations, each result is in its operation's place."""
    await store.batch([PutOp(NS, "x", {"n": 1}), PutOp(("b",), "y", {"n": 2})])
    results: list[Any] = await store.batch(
        [
            SearchOp(("b",)),
            GetOp(NS, "x"),
            PutOp(NS, "z", {"n": 3}),
            ListNamespacesOp(),
            GetOp(NS, "absent"),
            GetOp(("b",), "y"),
            SearchOp(NS),
        ]
    )
    shown = [
        [getattr(each, "key", each) for each in result]
        if isinstance(result, list)
        else getattr(result, "key", None)
        for result in results
    ]
    same(shown, [["y"], "x", None, [("a",), ("b",)], None, "y", ["x"]])


@rule(Capability.BASE)
async def the_same_read_twice_gives_two_results(store: Subject) -> None:
    """A batch that asks the same twice answers twice."""
    await store.put(NS, "k", {"n": 1})
    results: list[Any] = await store.batch([GetOp(NS, "k"), GetOp(NS, "k")])
    same([result and result.key for result in results], ["k", "k"])


@rule(
    Capability.BASE,
    cases={"get": GetOp(NS, "k"), "search": SearchOp(NS), "list": ListNamespacesOp()},
)
async def reads_of_a_batch_come_before_its_writes(store: Subject, read: Any) -> None:
    """All reads of a batch see the state before the batch, also those that stand after a put."""
    before = await store.batch([read])
    after = await store.batch([PutOp(NS, "k", {"n": 1}), read])
    same(after[1], before[0])


@rule(Capability.BASE)
async def a_read_of_a_batch_sees_what_its_put_replaces(store: Subject) -> None:
    """A read beside a put of the same key gives the old value."""
    await store.put(NS, "k", {"n": 1})
    results: list[Any] = await store.batch([PutOp(NS, "k", {"n": 2}), GetOp(NS, "k")])
    same(results[1] and results[1].value, {"n": 1})
    same(await store.value(NS, "k"), {"n": 2})


@rule(
    Capability.BASE,
    cases={
        "put-put": ([{"n": 1}, {"n": 2}], {"n": 2}),
        "put-delete": ([{"n": 1}, None], None),
        "delete-put": ([None, {"n": 1}], {"n": 1}),
        "put-delete-put": ([{"n": 1}, None, {"n": 3}], {"n": 3}),
    },
)
async def the_last_put_of_a_key_wins(store: Subject, case: Any) -> None:
    """Of several puts of one key in a batch, the last one counts; a delete is one of them."""
    values, expected = case
    await store.batch([PutOp(NS, "k", value) for value in values])
    same(await store.value(NS, "k"), expected)
