"""What has to be refused: namespaces that no store may have, and what this store cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from langgraph_store_conformance.capabilities import Capability, Skipped
from langgraph_store_conformance.checks import refused, same
from langgraph_store_conformance.rules import rule
from langgraph_store_conformance.subject import Subject

BAD_LABELS: dict[str, Any] = {
    "period": "a.b",
    "empty": "",
    "NUL": "a\0b",
    "number": 7,
    "none": None,
}

RAW: dict[str, Callable[[Any], Op]] = {
    "get": lambda namespace: GetOp(namespace, "k"),
    "put": lambda namespace: PutOp(namespace, "k", {"n": 1}),
    "delete": lambda namespace: PutOp(namespace, "k", None),
    "search": lambda namespace: SearchOp(namespace),
    "list-prefix": lambda path: ListNamespacesOp((MatchCondition("prefix", path),)),
    "list-suffix": lambda path: ListNamespacesOp((MatchCondition("suffix", path),)),
}

METHODS: dict[str, Callable[[Subject, Any], Any]] = {
    "get": lambda store, namespace: store.get(namespace, "k"),
    "put": lambda store, namespace: store.put(namespace, "k", {"n": 1}),
    "delete": lambda store, namespace: store.delete(namespace, "k"),
    "search": lambda store, namespace: store.search(namespace),
    "list-prefix": lambda store, path: store.list_namespaces(prefix=path),
    "list-suffix": lambda store, path: store.list_namespaces(suffix=path),
}


@rule(Capability.VALIDATION, cases=METHODS)
async def methods_refuse_bad_labels(store: Subject, call: Callable[..., Any]) -> None:
    """A label that is no text, is empty, or has a period or NUL in it: InvalidNamespaceError."""
    for label in BAD_LABELS.values():
        await refused(call(store, ("a", label)), InvalidNamespaceError)


@rule(Capability.VALIDATION, cases=RAW)
async def raw_operations_are_checked(store: Subject, operation: Callable[[Any], Op]) -> None:
    """`batch` refuses the same labels, since raw operations bypass the checks of the methods."""
    for label in BAD_LABELS.values():
        await refused(store.batch([operation(("a", label))]), InvalidNamespaceError)


@rule(Capability.VALIDATION)
async def a_label_with_a_period_is_not_two_labels(store: Subject) -> None:
    """Whatever is done with it, the label `"a.b"` never addresses the namespace `("a", "b")`."""
    await store.put(("a", "b"), "k", {"n": 1})
    await refused(store.batch([PutOp(("a.b",), "k", None)]), InvalidNamespaceError)
    same(await store.value(("a", "b"), "k"), {"n": 1})


@rule(Capability.VALIDATION)
async def put_refuses_the_empty_namespace(store: Subject) -> None:
    """`put` needs at least one label."""
    await refused(store.put((), "k", {"n": 1}), InvalidNamespaceError)


@rule(Capability.VALIDATION)
async def put_refuses_the_root_langgraph(store: Subject) -> None:
    """The root label `langgraph` is LangGraph's own; further down it is a label like any other."""
    await refused(store.put(("langgraph", "x"), "k", {"n": 1}), InvalidNamespaceError)
    await store.put(("x", "langgraph"), "k", {"n": 1})
    same(await store.keys(("x", "langgraph")), ["k"])


@rule(Capability.VALIDATION)
async def reading_may_name_any_namespace(store: Subject) -> None:
    """Reads may name the root `langgraph`, and a search the empty prefix."""
    same(await store.get(("langgraph",), "k"), None)
    same(await store.search(("langgraph",)), [])
    same(await store.search(()), [])


@rule(Capability.VALIDATION)
async def a_refused_batch_writes_nothing(store: Subject) -> None:
    """A batch with an operation that is refused leaves the store as it was."""
    ops: list[Op] = [PutOp(("a",), "k", {"n": 1}), GetOp(("a.b",), "k")]
    await refused(store.batch(ops), InvalidNamespaceError)
    same(await store.get(("a",), "k"), None)


@rule(Capability.VALIDATION)
async def a_ttl_is_refused_where_there_is_none(store: Subject) -> None:
    """A store without TTL raises NotImplementedError for `put(ttl=...)`, and takes `ttl=None`."""
    if store.store.supports_ttl:
        raise Skipped("the store supports TTL")
    await store.put(("a",), "k", {"n": 1}, ttl=None)
    await refused(store.put(("a",), "k", {"n": 2}, ttl=1.0), NotImplementedError)
    same(await store.value(("a",), "k"), {"n": 1})
