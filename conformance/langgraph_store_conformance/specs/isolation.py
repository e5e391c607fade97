"""What one caller holds is a copy, and what is in one namespace is in no other."""

from __future__ import annotations

from typing import Any

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import same
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

NS = ("a",)


@rule(Capability.ISOLATION, cases={"flat": [], "nested": ["inner"]})
async def changing_what_was_put_changes_nothing(store: Subject, path: list[str]) -> None:
    """A caller who changes the value after `put` changes only their own."""
    value: dict[str, Any] = {"n": 1, "inner": {"n": 1}}
    await store.put(NS, "k", value)
    _change(store, "value", value, path)
    same(await store.value(NS, "k"), {"n": 1, "inner": {"n": 1}})


@rule(Capability.ISOLATION, cases={"flat": [], "nested": ["inner"]})
async def changing_what_was_got_changes_nothing(store: Subject, path: list[str]) -> None:
    """A caller who changes the value of an item from `get` changes only their own."""
    await store.put(NS, "k", {"n": 1, "inner": {"n": 1}})
    item = await store.get(NS, "k")
    assert item is not None
    _change(store, "item.value", item.value, path)
    same(await store.value(NS, "k"), {"n": 1, "inner": {"n": 1}})


@rule(Capability.ISOLATION, cases={"flat": [], "nested": ["inner"]})
async def changing_what_was_found_changes_nothing(store: Subject, path: list[str]) -> None:
    """A caller who changes the value of an item from `search` changes only their own."""
    await store.put(NS, "k", {"n": 1, "inner": {"n": 1}})
    found = await store.search(NS)
    _change(store, "found[0].value", found[0].value, path)
    same(await store.value(NS, "k"), {"n": 1, "inner": {"n": 1}})


def _change(store: Subject, name: str, value: dict[str, Any], path: list[str]) -> None:
    for key in path:
        name, value = f"{name}[{key!r}]", value[key]
    store.example.called(f"{name}['n'] = 2")
    value["n"] = 2


@rule(Capability.ISOLATION)
async def an_item_keeps_the_value_it_was_read_with(store: Subject) -> None:
    """An item that was read is a snapshot: a later put does not change it."""
    await store.put(NS, "k", {"n": 1})
    item = await store.get(NS, "k")
    await store.put(NS, "k", {"n": 2})
    same(item and item.value, {"n": 1})


@rule(
    Capability.ISOLATION,
    cases={
        "deeper": (("a",), ("a", "b")),
        "longer-label": (("a",), ("ab",)),
        "other-case": (("a",), ("A",)),
        "joined-by-slash": (("a", "b"), ("a/b",)),
        "joined-by-colon": (("a", "b"), ("a:b",)),
        "joined-by-comma": (("a", "b"), ("a,b",)),
        "joined-by-nothing": (("a", "b"), ("ab",)),
        "order": (("a", "b"), ("b", "a")),
        "space": (("a",), ("a ",)),
        "percent": (("a",), ("%",)),
        "underscore": (("a",), ("_",)),
        "star": (("a",), ("*",)),
        "backslash": (("a", "b"), ("a\\", "b")),
        "accent": (("e\u0301",), ("\u00e9",)),
    },
)
async def namespaces_that_look_alike_do_not_mix(store: Subject, case: Any) -> None:
    """The same key in two namespaces is two items, whatever the labels look like."""
    one, other = case
    await store.put(one, "k", {"n": 1})
    same(await store.get(other, "k"), None)
    await store.put(other, "k", {"n": 2})
    same(await store.value(one, "k"), {"n": 1})
    same(await store.value(other, "k"), {"n": 2})
    await store.delete(other, "k")
    same(await store.value(one, "k"), {"n": 1})


@rule(
    Capability.ISOLATION,
    cases={
        "case": ("k", "K"),
        "space": ("k", "k "),
        "zero": ("1", "01"),
        "accent": ("e\u0301", "\u00e9"),
        "percent": ("k", "%"),
    },
)
async def keys_that_look_alike_do_not_mix(store: Subject, case: Any) -> None:
    """Two keys are two items, whatever they look like."""
    one, other = case
    await store.put(NS, one, {"n": 1})
    same(await store.get(NS, other), None)
    await store.put(NS, other, {"n": 2})
    same(await store.value(NS, one), {"n": 1})
