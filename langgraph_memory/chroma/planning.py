"""A batch before it is carried out: checked, cleaned, sorted by what has to be done; its writes.

No I/O.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from langgraph_memory.chroma.calls import PAGE
from langgraph_memory.chroma.rows import ReplacedItem, Row, item_rows, row_id
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.models import Vectors
from langgraph_memory.store import (
    Address,
    ExtendedFilter,
    HybridOp,
    Namespace,
    NewestOp,
    StoredItem,
    check_filter,
    check_ttl,
    copy_json,
    encode_value,
)
from langgraph_memory.text import replace_surrogates


@dataclass(slots=True)
class Plan:
    """A batch sorted by what has to be done."""

    ops: list[Any]
    puts: dict[Address, PutOp] = field(default_factory=dict)
    documents: list[str] = field(default_factory=list)
    text_counts: list[int] = field(default_factory=list)
    """How many of `documents` each put has, in the order of `puts`."""
    queries: list[str] = field(default_factory=list)


def plan(ops: Iterable[Op | HybridOp | NewestOp], fields: Sequence[str]) -> Plan:
    """Check a batch and sort it.

    Args:
        ops: The operations.
        fields: What is indexed of items whose put does not say.

    Raises:
        ConfigurationError: If an operation cannot be carried out.
        InvalidNamespaceError: LangGraph's, for a namespace that it does not allow.
    """
    plan = Plan([_checked(op) for op in ops])
    for op in plan.ops:
        if isinstance(op, PutOp):
            plan.puts[op.namespace, op.key] = op
        elif isinstance(op, (SearchOp, HybridOp)) and op.query:
            plan.queries.append(op.query)
    plan.queries = list(dict.fromkeys(plan.queries))  # one text is embedded once
    for op in plan.puts.values():
        texts = _texts(op, fields)
        plan.documents += texts
        plan.text_counts.append(len(texts))
    return plan


def writes_of(plan: Plan, vectors: Vectors, now: datetime) -> dict[Namespace, Write]:
    """Return what the puts of a batch change, by namespace.

    Args:
        plan: The batch.
        vectors: Those of its documents, of shape `(documents, dimensions)`.
        now: When they are put.
    """
    writes: dict[Namespace, Write] = {}
    start = 0
    for op, count in zip(plan.puts.values(), plan.text_counts, strict=True):
        write = writes.setdefault(op.namespace, Write())
        if op.value is None:
            write.deleted.append(op.key)
            continue
        texts = tuple(plan.documents[start : start + count])
        own = vectors[start : start + count]
        start += count
        value = dict(op.value)
        item = StoredItem(op.namespace, op.key, value, now, now, texts, own, size=len(str(value)))
        if op.ttl is not None:
            item = replace(item, ttl=op.ttl, expires=now.timestamp() + op.ttl * 60)
        write.put.append(item)
    return writes


def labels(namespace: Iterable[str]) -> Namespace:
    """Return a namespace with what cannot be stored in a label replaced."""
    return tuple(replace_surrogates(label) for label in namespace)


def _texts(op: PutOp, fields: Sequence[str]) -> list[str]:
    if op.value is None or op.index is False:
        return []
    paths = fields if op.index is None else op.index
    texts = [text for path in paths for text in get_text_at_path(op.value, path)]
    return [text for text in texts if text.strip()]


@lru_cache(maxsize=4_096)
def _whole(namespace: Namespace) -> Namespace:
    """Return the namespace of an operation of ours, checked and cleaned; a recall has nine."""
    validate_op_namespace(GetOp(namespace, ""))
    return labels(namespace)


def _checked(op: Any) -> Any:
    """Return an operation as it is carried out.

    A value becomes what it will be when it is read back, and what cannot be stored in a key is
    replaced there.
    """
    namespace = getattr(op, "namespace", getattr(op, "namespace_prefix", ()))
    if isinstance(namespace, str):
        raise ConfigurationError(f"a namespace is a tuple, such as ({namespace!r},)")
    if isinstance(op, HybridOp):
        op = op._replace(namespaces=tuple(_whole(tuple(each)) for each in op.namespaces))
    elif isinstance(op, NewestOp):
        op = op._replace(namespace=_whole(tuple(op.namespace)))
    elif isinstance(op, (GetOp, PutOp, SearchOp, ListNamespacesOp)):
        validate_op_namespace(op)
    else:
        raise ConfigurationError(f"not an operation of a store: {op!r}")
    if getattr(op, "limit", 0) < 0 or getattr(op, "offset", 0) < 0:
        raise ConfigurationError("limit and offset cannot be negative")
    if (filter := getattr(op, "filter", None)) is not None:
        check_filter(filter)
        own = copy_json(filter)
        op = op._replace(filter=ExtendedFilter(own) if isinstance(filter, ExtendedFilter) else own)
    op = _cleaned(op)
    return _checked_put(op) if isinstance(op, PutOp) else op


def _cleaned(op: Any) -> Any:
    """Replace what cannot be stored in a namespace or key, in reads and writes alike."""
    if isinstance(op, (GetOp, PutOp)):
        return op._replace(namespace=labels(op.namespace), key=replace_surrogates(str(op.key)))
    if isinstance(op, SearchOp):
        return op._replace(namespace_prefix=labels(op.namespace_prefix))
    return op


def _checked_put(op: PutOp) -> PutOp:
    if not op.namespace:
        raise ConfigurationError("cannot put into the empty namespace")
    if op.ttl is not None:
        check_ttl(op.ttl)
    if op.value is None:
        return op
    if not isinstance(op.value, Mapping):
        raise ConfigurationError(f"a value is a dict, got {type(op.value).__name__}")
    return op._replace(value=json.loads(encode_value(dict(op.value))))


@dataclass(slots=True)
class Write:
    """What one batch changes in one namespace."""

    put: list[StoredItem] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        """The keys of all items that it touches."""
        return [*(item.key for item in self.put), *self.deleted]


Writes = Mapping[Namespace, Write]
Replaced = Mapping[str, ReplacedItem]
"""What the items that a write touches are before it, by the id of their row."""
Gone = Mapping[str, Namespace]
"""The rows that a write leaves behind, by their id."""


def touched_ids(writes: Writes) -> list[str]:
    """Return the ids of the rows of all items that a write touches."""
    return [row_id(namespace, key) for namespace, write in writes.items() for key in write.keys]


def put_rows(writes: Writes, dims: int) -> list[Row]:
    """Return the rows of all items that are put."""
    puts = (item for write in writes.values() for item in write.put)
    return [row for item in puts for row in item_rows(item, dims)]


def gone_ids(writes: Writes, before: Replaced) -> dict[str, Namespace]:
    """Return the rows that a write leaves behind: deleted items', and fields no longer indexed."""
    gone: dict[str, Namespace] = {}
    for namespace, write in writes.items():
        kept = [(key, 0) for key in write.deleted]
        kept += [(item.key, max(len(item.vectors), 1)) for item in write.put]
        for key, fields in kept:
            old = before.get(row_id(namespace, key))
            for field_number in range(fields, max(old.indexed, 1) if old else 0):
                gone[row_id(namespace, key, field_number)] = namespace
    return gone


def grown_by(namespace: Namespace, write: Write, before: Replaced) -> int:
    """Return how many more rows of items a namespace has after a write."""
    old = [before[id] for key in write.keys if (id := row_id(namespace, key)) in before]
    new = sum(max(len(item.vectors), 1) for item in write.put)
    return new - sum(max(item.indexed, 1) for item in old)


def deletions(items: Iterable[tuple[Address, int]]) -> Iterator[dict[Namespace, Write]]:
    """Yield writes that Chroma takes at once, to delete items with so many vectors each.

    A namespace counts as a row too: its own may go with its last item.
    """
    writes: dict[Namespace, Write] = {}
    total = 0
    for (namespace, key), vectors in items:
        rows = max(vectors, 1) + (namespace not in writes)
        if writes and total + rows > PAGE:
            yield writes
            writes, total, rows = {}, 0, max(vectors, 1) + 1
        writes.setdefault(namespace, Write()).deleted.append(key)
        total += rows
    if writes:
        yield writes
