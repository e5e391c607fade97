"""When an item was made, and when it was last changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from langgraph.store.base import Item

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import Deviation, check, same
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)
NO_TIME = timedelta()


async def _item(store: Subject) -> Item:
    item = await store.get(NS, "k")
    check(item is not None, item, "an item")
    assert item is not None
    return item


@rule(Capability.CREATED_AT)
async def times_are_aware(store: Subject) -> None:
    """`created_at` and `updated_at` are datetimes with a time zone."""
    await store.put(NS, "k", {"n": 1})
    item = await _item(store)
    for time in (item.created_at, item.updated_at):
        check(isinstance(time, datetime), time, "a datetime")
        if time.tzinfo is None:
            raise Deviation("one without", "a datetime with a time zone")


@rule(Capability.CREATED_AT)
async def times_are_now(store: Subject) -> None:
    """An item is created, and updated, when it is put."""
    await store.put(NS, "k", {"n": 1})
    item = await _item(store)
    now = store.now()
    for time in (item.created_at, item.updated_at):
        away = (time if time.tzinfo else time.replace(tzinfo=UTC)) - now
        check(abs(away) < timedelta(minutes=2), away, "a time within minutes of now")


@rule(Capability.CREATED_AT)
async def created_at_survives_an_update(store: Subject) -> None:
    """A second put of a key keeps `created_at`."""
    await store.put(NS, "k", {"n": 1})
    before = await _item(store)
    await store.tick()
    await store.put(NS, "k", {"n": 2})
    same((await _item(store)).created_at - before.created_at, NO_TIME)


@rule(Capability.CREATED_AT)
async def updated_at_moves_with_an_update(store: Subject) -> None:
    """A second put of a key moves `updated_at`, also when it puts the same value."""
    await store.put(NS, "k", {"n": 1})
    before = await _item(store)
    await store.tick()
    await store.put(NS, "k", {"n": 1})
    after = await _item(store)
    moved = after.updated_at - before.updated_at
    check(moved > NO_TIME, moved, "a later updated_at")


@rule(Capability.CREATED_AT)
async def reading_leaves_the_times_alone(store: Subject) -> None:
    """`get` and `search` do not move `updated_at`."""
    await store.put(NS, "k", {"n": 1})
    before = await _item(store)
    await store.tick()
    await store.search(NS)
    same((await _item(store)).updated_at - before.updated_at, NO_TIME)


@rule(Capability.CREATED_AT)
async def get_and_search_tell_the_same_times(store: Subject) -> None:
    """An item has the same times, however it was read."""
    await store.put(NS, "k", {"n": 1})
    await store.tick()
    await store.put(NS, "k", {"n": 2})
    item = await _item(store)
    found = (await store.search(NS))[0]
    same((found.created_at, found.updated_at), (item.created_at, item.updated_at))


@rule(Capability.CREATED_AT)
async def a_deleted_item_starts_anew(store: Subject) -> None:
    """An item that was deleted and put again has a new `created_at`."""
    await store.put(NS, "k", {"n": 1})
    before = await _item(store)
    await store.delete(NS, "k")
    await store.tick()
    await store.put(NS, "k", {"n": 2})
    after = await _item(store)
    moved = after.created_at - before.created_at
    check(moved > NO_TIME, moved, "a later created_at")


@rule(Capability.CREATED_AT)
async def other_items_keep_their_times(store: Subject) -> None:
    """A put changes the times of its own item only."""
    await store.put(NS, "k", {"n": 1})
    before = await _item(store)
    await store.tick()
    await store.put(NS, "other", {"n": 1})
    same((await _item(store)).updated_at - before.updated_at, NO_TIME)
