"""A collection on a Chroma server, which other processes read and write at the same time.

Each call asks the rows of the namespaces for their clocks (`vector_clock`) and drops the partitions
that another process has written to. Each write raises this process's numbers in the call that
carries the items. Nothing is deleted while others may write: Chroma has no delete that asks first,
and one that comes after our tombstone would take what another process put there in between.
Tombstones stay, with neither text nor namespace, until their key is put again or the folder is
opened directly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from langgraph_memory.chroma.calls import ChromaRows, cut
from langgraph_memory.chroma.catalogue import under
from langgraph_memory.chroma.collection import BatchReads, Collection, Wanted
from langgraph_memory.chroma.index_search import Scope, ScopeName
from langgraph_memory.chroma.partition import Limits
from langgraph_memory.chroma.planning import Gone, Write, Writes, put_rows, touched_ids
from langgraph_memory.chroma.rows import ReplacedItem, Row, namespace_row, row_id, tombstone
from langgraph_memory.chroma.server import Server
from langgraph_memory.chroma.vector_clock import (
    Clocks,
    VectorClock,
    clock_of,
    covers,
    emptied_marks,
    new_writer,
    put_marks,
    surplus,
)
from langgraph_memory.models import Fingerprint
from langgraph_memory.store import Address, Namespace

T = TypeVar("T")


class ServerRows(ChromaRows):
    """The calls to a collection of a server, which wait while it is away."""

    def __init__(self, client: Any, name: str, server: Server) -> None:
        self._server = server
        super().__init__(client, name)

    @property
    def place(self) -> str:
        """The server, by its URL, tenant and database."""
        return f"{self._server.url} {self._server.tenant}/{self._server.database}"

    def look_again(self) -> None:
        """Read the collection's own metadata anew, which Chroma's client keeps as it was."""
        open = partial(self._client.get_collection, self._name, embedding_function=None)
        self._collection = self._call("reading the embedder's fingerprint", open)

    def _call(self, doing: str, call: Callable[[], T]) -> T:
        return self._server.call(doing, call)


class ServerCollection(Collection):
    """An open collection of a server."""

    _rows: ServerRows

    def __init__(self, rows: ServerRows, limits: Limits, on_close: Callable[[], object]) -> None:
        self._own = new_writer()
        self._number = 0
        super().__init__(rows, limits, on_close, elsewhere="a Chroma server")

    def confirm(self, fingerprint: Fingerprint) -> None:
        with self._lock:
            self.check_usable()
            self._rows.look_again()
            if self.fingerprint is None:
                super().confirm(fingerprint)
                self._rows.look_again()  # another process may have stored its own at the same time
            super().confirm(fingerprint)

    def read(self, wanted: Wanted) -> BatchReads:
        addresses, names, now, listing = wanted
        if listing is not None or any(kind == "prefix" for kind, _ in names):
            with self._lock:  # no write of this process comes between
                known = self.namespaces()
                scopes = [_scope(name, known) for name in names]
                self._drop_outdated(self._clocks(self._kept(addresses, scopes)))
                return self._loaded(wanted, scopes, under(known, listing or ()))
        self.check_usable()
        if not names:
            stored = self._stored_items((row_id(*address) for address in addresses), now)
            return BatchReads([stored.get(row_id(*address)) for address in addresses], {}, ())
        scopes = [_scope(name, ()) for name in names]
        clocks = self._clocks(self._kept(addresses, scopes))
        if all(self._is_current(namespace, clock) for namespace, clock in clocks.items()):
            return super().read(wanted)
        with self._lock:  # else a load that began before these clocks could end now
            self._drop_outdated(clocks)
            return self._loaded(wanted, scopes, ())

    def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        # Read at each use: whether one is empty can change without a word in any other row.
        self.check_usable()
        return under(self._rows.namespaces(), prefix)

    # -- parts of what the base does --

    def _kept(self, addresses: Sequence[Address], scopes: Sequence[Scope]) -> set[Namespace]:
        """Return the namespaces of which partitions in memory may be read."""
        small = [scope for scope in scopes if scope.name not in self._large]
        kept = {namespace for scope in small for namespace in scope.namespaces}
        return kept | {namespace for namespace, _ in addresses}

    def _clean_up(self) -> None:
        """Leave tombstones: another process may be putting their keys."""

    def _wipe(self, parts: Sequence[str], user: str) -> None:
        # Rows of namespaces stay, without a name: by their clocks others drop what they have of it.
        for page in cut(parts):
            where = {
                "$and": [{"part": {"$in": page}}, {"state": {"$in": ["emptied", "namespace"]}}]
            }
            for ids in cut(self._rows.ids(where)):
                self._rows.update(ids, [{"part": None}] * len(ids))
        super()._wipe(parts, user)

    def _write_ends(self, ends: Mapping[str, float]) -> None:
        # Another process may have put an item anew meanwhile, or let it live for longer.
        found = self._rows.get(ids=list(ends), include=["metadatas"])
        later = {
            id: ends[id]
            for id, metadata in zip(found["ids"], found["metadatas"], strict=True)
            if (before := metadata.get("expires")) is not None and before < ends[id]
        }
        if later:
            super()._write_ends(later)

    def _before(self, writes: Writes) -> dict[str, ReplacedItem]:
        return self._rows.replaced(touched_ids(writes))

    def _land(self, writes: Writes, emptied: Clocks, gone: Gone) -> None:
        dims = self._dims
        putting = {namespace for namespace, write in writes.items() if write.put}
        rows = put_rows(writes, dims) + [tombstone(id, dims) for id in gone]
        touched = sorted(putting | set(gone.values()))
        self._rows.check_size(len(rows) + len(touched))
        clocks = self._clocks(putting)
        removed = {namespace: surplus(self._own, clocks[namespace]) for namespace in putting}

        def attempt() -> list[Row]:
            # Each time with a new number: another process may have written since the last.
            self._number = max(self._number + 1, time.time_ns())
            return [*rows, *map(stamped, touched)]

        def stamped(namespace: Namespace) -> Row:
            row = namespace_row(namespace, dims)
            if namespace in putting:
                marks = put_marks(self._own, self._number, removed[namespace])
            elif namespace in emptied:
                marks = emptied_marks(self._own, self._number, emptied[namespace])
            else:
                marks = {self._own: self._number}
            return replace(row, metadata=row.metadata | marks)

        if rows:
            self._rows.upsert(attempt)
        for namespace, keys in removed.items():
            if keys:
                self._cache.drop(namespace)

    def _forget(self, namespaces: Iterable[Namespace]) -> None:
        super()._forget(namespaces)
        self._own = new_writer()  # what failed may land yet, and is then to be noticed as another's

    def _follow(self, namespace: Namespace, write: Write, emptied: bool) -> None:
        """Keep nothing in mind of the catalogue."""

    # -- clocks --

    def _clocks(self, namespaces: Iterable[Namespace]) -> dict[Namespace, VectorClock]:
        """Return what the rows of namespaces say now."""
        clocks: dict[Namespace, VectorClock] = {namespace: {} for namespace in namespaces}
        namespace_by_id = {row_id(namespace): namespace for namespace in clocks}
        for rows in self._rows.at(list(namespace_by_id), ["metadatas"]):
            for id, metadata in zip(rows["ids"], rows["metadatas"], strict=True):
                clocks[namespace_by_id[id]] = clock_of(metadata)
        return clocks

    def _is_current(self, namespace: Namespace, clock: VectorClock) -> bool:
        partition = self._cache.get(namespace)
        return partition is not None and covers(partition.clock, clock, self._own)


def _scope(name: ScopeName, known: Sequence[Namespace]) -> Scope:
    """Return the scope of a name: one namespace, or those of the known ones below a prefix."""
    kind, namespace = name
    return Scope(name, (namespace,) if kind == "namespace" else tuple(under(known, namespace)))
