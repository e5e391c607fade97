"""Items that expire: lives are given in minutes, and reading may prolong them."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import TTLConfig

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import same, same_set
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)
REFRESH: TTLConfig = {"refresh_on_read": True}
KEEP: TTLConfig = {"refresh_on_read": False}
OMIT: TTLConfig = {"omit_expired": True, "refresh_on_read": False}
HOUR: TTLConfig = {"default_ttl": 60.0}
VALUE = {"n": 1}


async def _left(store: Subject) -> Any:
    await store.sweep()
    return sorted(await store.keys(NS, refresh_ttl=False))


@rule(Capability.TTL, ttl=KEEP)
async def what_has_expired_is_swept(store: Subject) -> None:
    """`sweep_ttl()` deletes an item whose time is over, and only such."""
    await store.put(NS, "short", VALUE, ttl=store.ttl)
    await store.put(NS, "long", VALUE, ttl=60)
    await store.put(NS, "forever", VALUE)
    same(await _left(store), ["forever", "long", "short"])
    await store.pass_time(1.5)
    same(await _left(store), ["forever", "long"])


@rule(Capability.TTL, ttl=KEEP)
async def a_sweep_says_how_many_it_deleted(store: Subject) -> None:
    """`sweep_ttl()` returns the number of items it deleted."""
    for key in ("x", "y"):
        await store.put(NS, key, VALUE, ttl=store.ttl)
    await store.put(NS, "z", VALUE)
    await store.pass_time(1.5)
    same(await store.sweep(), 2)
    same(await store.sweep(), 0)


@rule(Capability.TTL, ttl={**HOUR, **KEEP})
async def the_default_applies_to_puts_without_a_ttl(store: Subject) -> None:
    """`default_ttl` is the life of items put without a `ttl`; the item's own `ttl` goes first."""
    await store.put(NS, "default", VALUE)
    await store.put(NS, "own", VALUE, ttl=store.ttl)
    await store.pass_time(1.5)
    same(await _left(store), ["default"])


@rule(Capability.TTL, ttl={"default_ttl": 0.01, "refresh_on_read": False})
async def a_ttl_of_none_is_forever(store: Subject) -> None:
    """`ttl=None` is no expiry, also where there is a default."""
    await store.put(NS, "default", VALUE)
    await store.put(NS, "forever", VALUE, ttl=None)
    await store.pass_time(max(1.5, 1.5 * 0.01 / store.ttl))
    same(await _left(store), ["forever"])


@rule(Capability.TTL, ttl=REFRESH)
async def get_prolongs_a_life(store: Subject) -> None:
    """With `refresh_on_read`, the time starts anew when the item is read."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.pass_time(0.6)
    await store.get(NS, "k")
    await store.pass_time(0.6)
    same(await _left(store), ["k"])


@rule(Capability.TTL, ttl={})
async def reading_prolongs_by_default(store: Subject) -> None:
    """A TTL configuration that does not mention `refresh_on_read` means that it is on."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.pass_time(0.6)
    await store.get(NS, "k")
    await store.pass_time(0.6)
    same(await _left(store), ["k"])


@rule(Capability.TTL, ttl=REFRESH)
async def search_prolongs_the_lives_of_what_it_gives(store: Subject) -> None:
    """With `refresh_on_read`, a search prolongs the items it returns, not those it leaves out."""
    await store.put(NS, "found", {"n": 1}, ttl=store.ttl)
    await store.put(NS, "left out", {"n": 2}, ttl=store.ttl)
    await store.pass_time(0.6)
    await store.search(NS, filter={"n": 1})
    await store.pass_time(0.6)
    same(await _left(store), ["found"])


@rule(Capability.TTL, ttl=REFRESH)
async def a_life_that_was_prolonged_ends_as_well(store: Subject) -> None:
    """A read gives an item its full life once more, not for ever."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.get(NS, "k")
    await store.pass_time(1.5)
    same(await _left(store), [])


@rule(Capability.TTL, ttl=KEEP)
async def without_refresh_reading_prolongs_nothing(store: Subject) -> None:
    """With `refresh_on_read` off, reads leave the time alone."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.pass_time(0.6)
    await store.get(NS, "k")
    await store.search(NS)
    await store.pass_time(0.9)
    same(await _left(store), [])


@rule(Capability.TTL, ttl=REFRESH)
async def a_read_may_decline_to_prolong(store: Subject) -> None:
    """`refresh_ttl=False` of a read goes before the configuration."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.pass_time(0.6)
    await store.get(NS, "k", refresh_ttl=False)
    await store.search(NS, refresh_ttl=False)
    await store.pass_time(0.9)
    same(await _left(store), [])


@rule(Capability.TTL, ttl=KEEP)
async def a_read_may_ask_to_prolong(store: Subject) -> None:
    """`refresh_ttl=True` of a read goes before the configuration."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.pass_time(0.6)
    await store.get(NS, "k", refresh_ttl=True)
    await store.pass_time(0.6)
    same(await _left(store), ["k"])


@rule(Capability.TTL, ttl=KEEP)
async def a_put_starts_a_new_life(store: Subject) -> None:
    """A put of the key starts the time anew, with the `ttl` that it names."""
    for key in ("same", "none"):
        await store.put(NS, key, VALUE, ttl=store.ttl)
    await store.pass_time(0.6)
    await store.put(NS, "same", VALUE, ttl=store.ttl)
    await store.put(NS, "none", VALUE, ttl=None)
    await store.pass_time(0.6)
    same(await _left(store), ["none", "same"])


@rule(Capability.TTL, ttl=OMIT)
async def expired_items_are_omitted(store: Subject) -> None:
    """With `omit_expired`, an expired item is not read, found or listed, also before a sweep."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.put(("b",), "forever", VALUE)
    same(await store.value(NS, "k"), VALUE)
    await store.pass_time(1.5)
    same(await store.get(NS, "k"), None)
    same(await store.keys(()), ["forever"])
    same(await store.list_namespaces(), [("b",)])


@rule(Capability.TTL, ttl=OMIT)
async def an_expired_item_can_be_put_again(store: Subject) -> None:
    """A put over an expired item is there as any other."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.pass_time(1.5)
    await store.put(NS, "k", {"n": 2})
    same(await store.value(NS, "k"), {"n": 2})


@rule(Capability.TTL, ttl=KEEP)
async def a_swept_namespace_is_not_listed(store: Subject) -> None:
    """A namespace whose items were all swept is gone."""
    await store.put(NS, "k", VALUE, ttl=store.ttl)
    await store.put(("b",), "k", VALUE)
    await store.pass_time(1.5)
    await store.sweep()
    same(await store.list_namespaces(), [("b",)])


@rule(Capability.TTL, ttl=KEEP, fields=["text"])
async def a_swept_item_is_not_found_by_meaning(store: Subject) -> None:
    """A sweep takes the vectors along."""
    await store.put(NS, "k", {"text": "green apple"}, ttl=store.ttl)
    await store.put(NS, "far", {"text": "my old bicycle"})
    await store.pass_time(1.5)
    await store.sweep()
    same_set(await store.keys(NS, query="green apple"), ["far"])
