"""What `list_namespaces` gives."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import same
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Namespace, Subject


async def _fill(store: Subject, *namespaces: Namespace) -> None:
    await store.batch([PutOp(namespace, "k", {"n": 1}) for namespace in namespaces])


@rule(Capability.NAMESPACES)
async def each_namespace_is_listed_once(store: Subject) -> None:
    """A namespace with several items is one namespace; one above it, without items, is none."""
    await store.put(("a", "b"), "x", {"n": 1})
    await store.put(("a", "b"), "y", {"n": 1})
    await store.put(("c",), "x", {"n": 1})
    same(await store.list_namespaces(), [("a", "b"), ("c",)])


@rule(Capability.NAMESPACES)
async def namespaces_are_tuples(store: Subject) -> None:
    """Namespaces are listed as tuples of their labels."""
    await _fill(store, ("a", "b"))
    same([type(namespace) for namespace in await store.list_namespaces()], [tuple])


@rule(
    Capability.NAMESPACES,
    cases={
        "by-label": [("a",), ("a", "b"), ("b",), ("b", "a")],
        "shorter-first": [("a", "z"), ("a-b",)],
        "capitals-first": [("B",), ("a",)],
    },
)
async def namespaces_are_sorted(store: Subject, expected: list[Namespace]) -> None:
    """Namespaces are in the order of tuples in Python: label by label, by code point."""
    await _fill(store, *reversed(expected))
    same(await store.list_namespaces(), expected)


ALL = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "c"), ("ab",), ("b", "b"), ("b", "c")]


@rule(
    Capability.NAMESPACES,
    cases={
        "prefix": ({"prefix": ("a", "b")}, [("a", "b"), ("a", "b", "c")]),
        "prefix-whole-labels": ({"prefix": ("ab",)}, [("ab",)]),
        "prefix-star": ({"prefix": ("*", "b")}, [("a", "b"), ("a", "b", "c"), ("b", "b")]),
        "prefix-star-last": ({"prefix": ("b", "*")}, [("b", "b"), ("b", "c")]),
        "prefix-too-long": ({"prefix": ("ab", "*")}, []),
        "suffix": ({"suffix": ("c",)}, [("a", "b", "c"), ("a", "c"), ("b", "c")]),
        "suffix-two-labels": ({"suffix": ("b", "c")}, [("a", "b", "c"), ("b", "c")]),
        "suffix-star": ({"suffix": ("a", "*")}, [("a", "b"), ("a", "c")]),
        "suffix-whole-labels": ({"suffix": ("b",)}, [("a", "b"), ("b", "b")]),
        "prefix-and-suffix": ({"prefix": ("a",), "suffix": ("c",)}, [("a", "b", "c"), ("a", "c")]),
        "prefix-and-suffix-overlap": ({"prefix": ("b", "c"), "suffix": ("b", "c")}, [("b", "c")]),
        "nothing": ({"prefix": ("x",)}, []),
    },
)
async def conditions_choose_namespaces(store: Subject, case: Any) -> None:
    """`prefix` and `suffix` match whole labels, `*` any one label; both must hold."""
    conditions, expected = case
    await _fill(store, *ALL)
    same(await store.list_namespaces(**conditions), expected)


@rule(
    Capability.NAMESPACES,
    cases={
        "one": ({"max_depth": 1}, [("a",), ("ab",), ("b",)]),
        "two": ({"max_depth": 2}, [n for n in ALL if len(n) < 3]),
        "with-prefix": ({"prefix": ("b",), "max_depth": 1}, [("b",)]),
        "with-suffix": ({"suffix": ("c",), "max_depth": 1}, [("a",), ("b",)]),
        "then-the-page": ({"max_depth": 1, "limit": 2, "offset": 1}, [("ab",), ("b",)]),
    },
)
async def max_depth_cuts_and_lists_once(store: Subject, case: Any) -> None:
    """Longer namespaces are cut after they were chosen; what is then equal is listed once."""
    arguments, expected = case
    await _fill(store, *ALL)
    same(await store.list_namespaces(**arguments), expected)


@rule(
    Capability.NAMESPACES,
    cases={
        "limit": ({"limit": 2}, ALL[:2]),
        "offset": ({"offset": 5}, ALL[5:]),
        "both": ({"limit": 2, "offset": 2}, ALL[2:4]),
        "zero": ({"limit": 0}, []),
        "beyond": ({"offset": 7}, []),
        "chosen": ({"prefix": ("a",), "limit": 1, "offset": 2}, [("a", "b", "c")]),
    },
)
async def a_page_of_namespaces(store: Subject, case: Any) -> None:
    """`offset` and `limit` cut a page out of the sorted list."""
    arguments, expected = case
    await _fill(store, *ALL)
    same(await store.list_namespaces(**arguments), expected)


@rule(
    Capability.NAMESPACES,
    cases={
        "none": None,
        "empty": (),
        "empty-prefix": (MatchCondition("prefix", ()),),
        "empty-suffix": (MatchCondition("suffix", ()),),
    },
)
async def no_condition_lists_all(store: Subject, conditions: Any) -> None:
    """An operation without conditions, or with an empty path, lists every namespace."""
    await _fill(store, ("a",), ("b", "c"))
    same(await store.batch([ListNamespacesOp(conditions)]), [[("a",), ("b", "c")]])


@rule(Capability.NAMESPACES)
async def several_conditions_of_a_kind_all_hold(store: Subject) -> None:
    """An operation may have several prefixes; each must hold."""
    await _fill(store, ("a", "b"), ("a", "c"))
    conditions = (MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("*", "c")))
    same(await store.batch([ListNamespacesOp(conditions)]), [[("a", "c")]])


@rule(
    Capability.NAMESPACES,
    cases={
        "underscore": ("_", "a"),
        "percent": ("%", "a"),
        "question-mark": ("?", "a"),
        "brackets": ("[ab]", "a"),
        "case": ("a", "A"),
    },
)
async def only_the_star_is_a_wildcard(store: Subject, case: Any) -> None:
    """Every other character of a condition stands for itself."""
    label, other = case
    await _fill(store, (label, "x"), (other, "x"))
    same(await store.list_namespaces(prefix=(label,)), [(label, "x")])
    same(await store.list_namespaces(suffix=(label, "x")), [(label, "x")])


@rule(Capability.NAMESPACES)
async def a_star_matches_exactly_one_label(store: Subject) -> None:
    """`*` stands for one label, not for none and not for several."""
    await _fill(store, ("a", "c"), ("a", "b", "c"), ("a", "b", "b", "c"))
    same(await store.list_namespaces(prefix=("a", "*", "c")), [("a", "b", "c")])


@rule(Capability.NAMESPACES, cases={"get": "get", "search": "search", "delete": "delete"})
async def touching_a_namespace_does_not_make_it(store: Subject, kind: str) -> None:
    """A read, or a delete, of what is not there leaves no namespace behind."""
    if kind == "get":
        await store.get(("a",), "k")
    elif kind == "search":
        await store.search(("a",))
    else:
        await store.delete(("a",), "k")
    same(await store.list_namespaces(), [])


@rule(Capability.NAMESPACES)
async def a_namespace_goes_with_its_last_item(store: Subject) -> None:
    """A namespace whose items were all deleted is not listed; nor was one put and deleted."""
    await _fill(store, ("a",), ("b",))
    await store.delete(("a",), "k")
    await store.batch([PutOp(("c",), "k", {"n": 1}), PutOp(("c",), "k", None)])
    same(await store.list_namespaces(), [("b",)])


@rule(Capability.NAMESPACES)
async def a_namespace_comes_back(store: Subject) -> None:
    """A namespace that was emptied is listed again when something is put there."""
    await _fill(store, ("a",))
    await store.delete(("a",), "k")
    await _fill(store, ("a",))
    same(await store.list_namespaces(), [("a",)])
