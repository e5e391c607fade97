"""Which items a search without a query covers."""

from __future__ import annotations

from typing import Any

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import same, same_set
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject


@rule(
    Capability.PREFIXES,
    cases={
        "same": (("a", "b"), ("a", "b"), True),
        "below": (("a",), ("a", "b", "c"), True),
        "longer-label": (("a",), ("ab",), False),
        "longer-label-below": (("a", "b"), ("a", "bc"), False),
        "above": (("a", "b"), ("a",), False),
        "not-the-start": (("b",), ("a", "b"), False),
        "other-case": (("a",), ("A",), False),
        "underscore": (("_",), ("a",), False),
        "percent": (("%",), ("a",), False),
        "percent-in-label": (("a%",), ("ab",), False),
        "star": (("*",), ("a",), False),
        "question-mark": (("?",), ("a",), False),
        "brackets": (("[ab]",), ("a",), False),
        "backslash": (("\\a",), ("a",), False),
        "special-labels": (("a_%*?[]\\'\"",), ("a_%*?[]\\'\"", "b"), True),
        "chinese": (("用户",), ("用户", "一"), True),
    },
)
async def a_prefix_is_whole_labels_taken_literally(store: Subject, case: Any) -> None:
    """A prefix covers its own namespace and those below; no character of a label is a wildcard."""
    prefix, namespace, covered = case
    await store.put(namespace, "k", {"n": 1})
    same(await store.keys(prefix), ["k"] if covered else [])


@rule(Capability.PREFIXES)
async def the_empty_prefix_covers_everything(store: Subject) -> None:
    """A search with the prefix `()` goes over the whole store."""
    await store.put(("a",), "x", {"n": 1})
    await store.put(("b", "c"), "y", {"n": 1})
    same_set(await store.keys(()), ["x", "y"])


@rule(Capability.PREFIXES)
async def found_items_say_where_they_are(store: Subject) -> None:
    """An item found below a prefix has its own namespace, not the prefix."""
    await store.put(("a", "b"), "k", {"n": 1})
    same([item.namespace for item in await store.search(("a",))], [("a", "b")])


@rule(Capability.PREFIXES)
async def an_item_is_found_once(store: Subject) -> None:
    """An item that was put several times is found once, with its last value."""
    for n in range(3):
        await store.put(("a",), "k", {"n": n})
    same([item.value for item in await store.search(("a",))], [{"n": 2}])


@rule(Capability.PREFIXES)
async def nothing_found_is_an_empty_list(store: Subject) -> None:
    """A search where there is nothing gives `[]`."""
    same(await store.search(("a",)), [])


@rule(Capability.PREFIXES)
async def a_prefix_and_a_filter_both_hold(store: Subject) -> None:
    """A filter looks at the items below the prefix only."""
    await store.put(("a",), "x", {"n": 1})
    await store.put(("a",), "y", {"n": 2})
    await store.put(("b",), "z", {"n": 1})
    same(await store.keys(("a",), filter={"n": 1}), ["x"])
