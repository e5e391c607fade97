"""ModelStore: the contract as a store, as plain as it can be.

What the random tests compare with, and a store for tests that need nothing but the contract. It is
slow on purpose: every search looks at every item.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import RLock
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
    validate_op_namespace,
)

from langgraph_store_conformance.clock import Clock, utc_now
from langgraph_store_conformance.meaning import (
    Namespace,
    choose_namespaces,
    meets_filter,
)


@dataclass
class _Entry:
    namespace: Namespace
    key: str
    value: str
    """As JSON: whoever reads it gets a copy."""
    created_at: datetime
    updated_at: datetime
    vectors: list[list[float]]
    ttl: float | None
    """Minutes to live after it was last touched."""
    touched_at: datetime

    def expired(self, now: datetime) -> bool:
        return self.ttl is not None and now >= self.touched_at + timedelta(minutes=self.ttl)

    def item(self) -> Item:
        return Item(
            value=json.loads(self.value),
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def search_item(self, score: float | None) -> SearchItem:
        return SearchItem(
            self.namespace,
            self.key,
            json.loads(self.value),
            self.created_at,
            self.updated_at,
            score,
        )


class ModelStore(BaseStore):
    """A store in memory that does what the contract says, and nothing else.

    Args:
        index: LangGraph's index configuration; without one, queries are ignored.
        ttl: LangGraph's TTL configuration.
        clock: Gives the time.

    Example:
        >>> store = ModelStore()
        >>> store.put(("a",), "k", {"n": 9})
        >>> store.search(("a",), filter={"n": {"$lt": 10}})[0].key
        'k'
    """

    supports_ttl = True

    def __init__(
        self,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self.index_config = index
        self.ttl_config = ttl
        self.embeddings = ensure_embeddings(index.get("embed")) if index else None
        self._fields = (index or {}).get("fields") or ["$"]
        self._clock = clock
        self._entries: dict[tuple[Namespace, str], _Entry] = {}
        self._lock = RLock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads see the state before them, the last put of a key wins."""
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        with self._lock:
            results = [self._read(op) for op in ops]
            puts = {(tuple(op.namespace), op.key): op for op in ops if isinstance(op, PutOp)}
            # All are made before the first is kept: a batch that fails changes nothing.
            entries = {at: self._entry(op) for at, op in puts.items()}
            for at, entry in entries.items():
                if entry is None:
                    self._entries.pop(at, None)
                else:
                    self._entries[at] = entry
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Async form of `batch`."""
        return self.batch(ops)

    def sweep_ttl(self) -> int:
        """Delete what has expired; return how many items that were."""
        with self._lock:
            now = self._clock()
            expired = [at for at, entry in self._entries.items() if entry.expired(now)]
            for at in expired:
                del self._entries[at]
        return len(expired)

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return choose_namespaces({entry.namespace for entry in self._present()}, op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"not an operation of a store: {op!r}")

    def _present(self) -> list[_Entry]:
        entries = list(self._entries.values())
        if self.ttl_config and self.ttl_config.get("omit_expired"):
            now = self._clock()
            return [entry for entry in entries if not entry.expired(now)]
        return entries

    def _get(self, op: GetOp) -> Item | None:
        wanted = tuple(op.namespace), op.key
        for entry in self._present():
            if (entry.namespace, entry.key) == wanted:
                if op.refresh_ttl:
                    entry.touched_at = self._clock()
                return entry.item()
        return None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        meets_filter({}, op.filter)  # an unknown operator is refused also where there are no items
        found: list[tuple[float | None, _Entry]] = [
            (None, entry)
            for entry in self._present()
            if entry.namespace[: len(prefix)] == prefix
            and meets_filter(json.loads(entry.value), op.filter)
        ]
        if op.query and self.embeddings is not None:
            query = self.embeddings.embed_query(op.query)
            ranked: list[tuple[float, _Entry]] = [
                (max(_cosine(query, vector) for vector in entry.vectors), entry)
                for _, entry in found
                if entry.vectors
            ]
            found = [*sorted(ranked, key=lambda pair: -pair[0])]
        page = found[op.offset : op.offset + op.limit]
        for _, entry in page:
            if op.refresh_ttl:
                entry.touched_at = self._clock()
        return [entry.search_item(score) for score, entry in page]

    def _entry(self, op: PutOp) -> _Entry | None:
        if op.value is None:
            return None
        now = self._clock()
        namespace = tuple(op.namespace)
        before = self._entries.get((namespace, op.key))
        value = json.dumps(dict(op.value))
        return _Entry(
            namespace=namespace,
            key=op.key,
            value=value,
            created_at=before.created_at if before else now,
            updated_at=now,
            vectors=self._vectors(json.loads(value), op.index),
            ttl=op.ttl,
            touched_at=now,
        )

    def _vectors(self, value: dict[str, Any], index: Any) -> list[list[float]]:
        if self.embeddings is None or index is False:
            return []
        fields = self._fields if index is None else index
        texts = [text for field in fields for text in get_text_at_path(value, field)]
        return self.embeddings.embed_documents(texts) if texts else []


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    length = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / length if length else 0.0
