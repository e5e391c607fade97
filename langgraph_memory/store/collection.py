"""One open Chroma collection: its client, its lock, its partitions in memory.

All stores on one path in one process share it, so that each sees what the others write. Writes go
to Chroma first and then into the cached partitions; a partition whose write failed is dropped, not
patched. Writes and loads take turns under one lock (Chroma itself does one thing at a time), which
makes loads single-flight and lets no write slip by a load; reads of what is cached take none.
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from langgraph_memory.embedding import (
    Fingerprint,
    fingerprint_from_metadata,
    fingerprint_to_metadata,
)
from langgraph_memory.errors import ConfigurationError, LangGraphMemoryError, StoreError
from langgraph_memory.store.partition import Partition, PartitionCache, Snapshot
from langgraph_memory.store.rows import (
    Namespace,
    Row,
    StoredItem,
    item_rows,
    items_from_rows,
    namespace_of,
    namespace_row,
    part_of,
    read_envelope,
    row_id,
    tombstone,
)
from langgraph_memory.store.stamps import Clock, is_empty

logger = logging.getLogger(__name__)
T = TypeVar("T")
Pair = tuple[Partition, Snapshot]

COLLECTION = "langgraph_memory"
SCHEMA = 1
"""Version of the layout of rows; stored with the collection."""

PAGE = 5_000  # rows a call reads: Chroma fails above 32,766 with metadata
_INCLUDE: Any = ["metadatas", "documents", "embeddings"]


@dataclass(slots=True)
class Write:
    """What one batch changes in one namespace."""

    put: list[StoredItem] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Before:
    """What a write has to know of the item that it replaces."""

    created_at: Any
    indexed: int


class Collection:
    """An open collection, shared by the stores that use it and closed by the last of them."""

    def __init__(
        self,
        client: Any,
        name: str,
        cache_bytes: int,
        on_close: Callable[[], None],
        order: int = 0,
    ) -> None:
        self._name = name
        self._on_close = on_close
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._cache = PartitionCache(cache_bytes)
        self.publishing = threading.Lock()
        """Held for the moment in which a batch becomes visible, and to look at several things."""
        self._catalogue: tuple[Namespace, ...] | None = None  # replaced, never changed
        self._announced: set[Namespace] = set()
        self._order = order  # of the latest write; goes on from there if the clock is set back
        self._closed = False
        self.writer = ThreadPoolExecutor(1, "langgraph-memory-writer")
        self.users = 0
        with chroma_errors("opening the collection"):
            self._rows = client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"schema": SCHEMA},
                configuration={"hnsw": {"space": "cosine"}},
            )
            self._max_rows = int(client.get_max_batch_size())
            self._check_layout()
            self._clean_up()

    # -- the fingerprint --

    @property
    def fingerprint(self) -> Fingerprint | None:
        """By what the stored vectors were made; `None` while there are none."""
        return fingerprint_from_metadata(self._rows.metadata or {})

    def confirm(self, fingerprint: Fingerprint) -> None:
        """Check a whole fingerprint against the stored one, and store it if there is none.

        Raises:
            EmbedderMismatchError: If the stored vectors were made otherwise.
        """
        with self._lock:
            stored = self.fingerprint
            if stored is not None:
                fingerprint.check(stored)
                return
            metadata = {"schema": SCHEMA, **fingerprint_to_metadata(fingerprint)}
            self._call(
                "storing the embedder's fingerprint",
                partial(self._rows.modify, metadata=metadata),
            )

    # -- reading --

    def read(
        self, addresses: Sequence[tuple[Namespace, str]], namespaces: Iterable[Namespace]
    ) -> tuple[list[StoredItem | None], dict[Namespace, Pair]]:
        """Return items, and partitions with a snapshot of each, all as they are at one moment.

        Partitions that are not cached are loaded with one read; those of single items are not.
        """
        wanted = list(dict.fromkeys(namespaces))
        with self.publishing:
            self._check_usable()
            cached = {ns: self._cache.get(ns) for ns in (*wanted, *(ns for ns, _ in addresses))}
            here = {ns: part for ns, part in cached.items() if part is not None}
            if len(here) == len(cached):
                pairs = {ns: (here[ns], here[ns].snapshot()) for ns in wanted}
                return [here[ns].get(key) for ns, key in addresses], pairs
        with self._lock:  # no write comes between the reads
            self._check_usable()
            items = self._get(addresses)
            return items, {p.namespace: (p, p.snapshot()) for p in self._partitions(wanted)}

    def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """Return the namespaces under a prefix that hold an item, sorted."""
        self._check_usable()
        known = self._catalogue
        if known is None:
            with self._lock:
                known = self._known()
        return under(known, prefix)

    # -- writing --

    def write(self, writes: Mapping[Namespace, Write], dims: int) -> None:
        """Put and delete items, all of them or none.

        An item that replaces another keeps its `created_at`. A failed write leaves the cache
        without the partitions it touched.

        Args:
            writes: What changes, by namespace; an item is named once.
            dims: How many dimensions the collection's vectors have.

        Raises:
            StoreError: If Chroma fails, or the batch has more rows than it takes at once.
        """
        with self._lock:
            self._check_usable()
            before = self._before(writes)
            writes = {ns: self._stamped(ns, write, before) for ns, write in writes.items()}
            emptied = self._emptied(writes)
            try:
                self._land(writes, emptied, _gone_ids(writes, before), dims)
            except BaseException:
                self._forget(writes)
                raise
            with self.publishing:
                for namespace, write in writes.items():
                    self._cache.apply(namespace, write.put, write.deleted)
                    self._follow(namespace, write, namespace in emptied)

    # -- closing --

    def close(self) -> None:
        """Let go of the client; a forked child leaves its parent's alone."""
        if os.getpid() == self._process:
            self.writer.shutdown()
            with self._lock:
                self._closed = True
                self._cache.clear()
                self._on_close()

    @property
    def foreign(self) -> bool:
        """Whether it was opened before this process was forked."""
        return os.getpid() != self._process

    # -- parts of the above; the lock is held --

    def _check_usable(self) -> None:
        if self.foreign:
            raise StoreError(
                "this store was opened before the process forked, and Chroma hangs in the child: "
                "open the store after the fork"
            )
        if self._closed:
            raise ConfigurationError("this store is closed")

    def _check_layout(self) -> None:
        metadata = self._rows.metadata or {}
        space = (self._rows.configuration_json.get("hnsw") or {}).get("space")
        if metadata.get("schema") != SCHEMA or space != "cosine":
            raise ConfigurationError(
                f"the collection {self._name!r} was not written by this version: schema "
                f"{metadata.get('schema')!r} and distance {space!r}, expected {SCHEMA} and 'cosine'"
            )

    def _clean_up(self) -> None:
        """Remove tombstones that a killed process left, and what a server's users did."""
        gone = [
            id
            for page in self._read({"state": {"$in": ["tombstone", "emptied"]}}, ["metadatas"])
            for id, metadata in zip(page["ids"], page["metadatas"], strict=True)
            if metadata["state"] == "tombstone" or is_empty(metadata)
        ]
        for ids in pages(gone):
            self._call("deleting", partial(self._rows.delete, ids=ids))

    def _call(self, doing: str, call: Callable[[], T]) -> T:
        with chroma_errors(doing):
            return call()

    def _fetch(self, **arguments: Any) -> Any:
        return self._call("reading", partial(self._rows.get, **arguments))

    def _read(self, where: dict[str, Any], include: Any) -> Iterator[Any]:
        offset = 0
        while True:
            page = self._fetch(where=where, limit=PAGE, offset=offset, include=include)
            yield page
            if len(page["ids"]) < PAGE:
                return
            offset += PAGE

    def _get(self, addresses: Sequence[tuple[Namespace, str]]) -> list[StoredItem | None]:
        cached = {namespace: self._cache.get(namespace) for namespace, _ in addresses}
        ids = {address: row_id(*address) for address in addresses if cached[address[0]] is None}
        stored = self._stored_items(ids.values())
        return [
            stored.get(ids[ns, key]) if (part := cached[ns]) is None else part.get(key)
            for ns, key in addresses
        ]

    def _stored_items(self, ids: Iterable[str]) -> dict[str, StoredItem]:
        """Return the items that Chroma has now, by the id of their row."""
        stored = {}
        for page in pages(list(dict.fromkeys(ids))):
            rows = self._fetch(ids=page, include=_INCLUDE)
            for id, *row in zip(
                rows["ids"], rows["metadatas"], rows["documents"], rows["embeddings"], strict=True
            ):
                metadata, document, vector = row
                for item in items_from_rows([metadata], [document], np.asarray([vector])):
                    stored[id] = item
        return stored

    def _partitions(self, namespaces: Sequence[Namespace]) -> list[Partition]:
        cached = {ns: self._cache.get(ns) for ns in namespaces}
        found = {ns: part for ns, part in cached.items() if part is not None}
        for partition in self._load([ns for ns in namespaces if ns not in found]):
            self._cache.put(partition)
            found[partition.namespace] = partition
        return list(found.values())

    def _load(self, namespaces: Sequence[Namespace]) -> list[Partition]:
        if not namespaces:
            return []
        metadatas: list[Any] = []
        documents: list[Any] = []
        vectors: list[Any] = []
        for parts in pages([part_of(namespace) for namespace in namespaces]):
            for page in self._read({"part": {"$in": parts}}, _INCLUDE):
                metadatas += page["metadatas"]
                documents += page["documents"]
                if len(page["ids"]):
                    vectors.append(page["embeddings"])
        matrix = np.concatenate(vectors) if vectors else np.zeros((0, 0))
        items: dict[Namespace, list[StoredItem]] = {namespace: [] for namespace in namespaces}
        for item in items_from_rows(metadatas, documents, matrix):
            items[item.namespace].append(item)
            self._order = max(self._order, item.order)  # also if the clock was set back
        return [Partition.of(namespace, found) for namespace, found in items.items()]

    def _known(self) -> tuple[Namespace, ...]:
        if self._catalogue is None:
            self._catalogue = self._listed()
        return self._catalogue

    def _listed(self) -> tuple[Namespace, ...]:
        found = (
            namespace_of(metadata["part"])
            for page in self._read({"state": {"$in": ["namespace", "emptied"]}}, ["metadatas"])
            for metadata in page["metadatas"]
            if not is_empty(metadata)
        )
        return tuple(sorted(found))

    def _before(self, writes: Mapping[Namespace, Write]) -> dict[str, Before]:
        """Return what the touched items are now, by the id of their row."""
        before: dict[str, Before] = {}
        unknown: list[str] = []
        for namespace, write in writes.items():
            partition = self._cache.get(namespace)
            for key in (*(item.key for item in write.put), *write.deleted):
                id = row_id(namespace, key)
                if partition is None:
                    unknown.append(id)
                elif (item := partition.get(key)) is not None:
                    before[id] = Before(item.created_at, len(item.vectors))
        return before | self._stored_before(unknown)

    def _stored_before(self, ids: Sequence[str]) -> dict[str, Before]:
        before: dict[str, Before] = {}
        for page in pages(ids):
            rows = self._fetch(ids=page, include=["metadatas"])
            for id, metadata in zip(rows["ids"], rows["metadatas"], strict=True):
                if metadata.get("state") != "tombstone":
                    envelope = read_envelope(metadata)
                    before[id] = Before(envelope["created_at"], envelope["vectors"])
        return before

    def _stamped(self, namespace: Namespace, write: Write, before: Mapping[str, Before]) -> Write:
        """Give the items their place in the order of writes, and the time they were created."""
        put = []
        for item in write.put:
            self._order = max(self._order + 1, time.time_ns())
            old = before.get(row_id(namespace, item.key))
            created_at = item.created_at if old is None else old.created_at
            put.append(replace(item, created_at=created_at, order=self._order))
        return Write(put, write.deleted)

    def _emptied(self, writes: Mapping[Namespace, Write]) -> dict[Namespace, Clock]:
        """Return the namespaces that lose their last item, with what was known of their writers."""
        shrinking = [ns for ns, write in writes.items() if write.deleted and not write.put]
        return {
            partition.namespace: partition.clock
            for partition in self._partitions(shrinking)
            if len(partition) and not partition.keys - set(writes[partition.namespace].deleted)
        }

    def _land(
        self,
        writes: Mapping[Namespace, Write],
        emptied: Mapping[Namespace, Clock],
        gone: Mapping[str, Namespace],
        dims: int,
    ) -> None:
        fresh = [ns for ns, write in writes.items() if write.put and ns not in self._announced]
        rows = put_rows(writes, dims) + [namespace_row(namespace, dims) for namespace in fresh]
        self._send(rows, [*gone, *map(row_id, emptied)], dims)

    def _send(self, rows: Sequence[Row], gone: Sequence[str], dims: int) -> None:
        if rows:
            # Deletions ride along as tombstones, so that the batch is one call.
            rows = [*rows, *(tombstone(id, dims) for id in gone)]
        self._check_size(max(len(rows), len(gone)))
        if rows:
            self._call("writing", partial(self._upsert, rows))
        if gone:
            try:
                self._call("deleting", partial(self._rows.delete, ids=list(gone)))
            except StoreError:
                if not rows:
                    raise
                # The batch has landed: tombstones are passed over, and removed at the next opening.
                logger.warning("tombstones could not be removed yet", exc_info=True)

    def _check_size(self, rows: int) -> None:
        if rows > self._max_rows:
            raise StoreError(
                f"a batch is written whole, and this one has {rows:,} rows; "
                f"Chroma takes {self._max_rows:,} at once: split it"
            )

    def _upsert(self, rows: Sequence[Row]) -> None:
        self._rows.upsert(
            ids=[row.id for row in rows],
            embeddings=np.stack([row.vector for row in rows]),
            metadatas=[row.metadata for row in rows],
            documents=[row.document for row in rows],
        )

    def _forget(self, namespaces: Iterable[Namespace]) -> None:
        """Read anew what a failed write may have changed."""
        for namespace in namespaces:
            self._cache.drop(namespace)
        self._catalogue = None
        self._announced.clear()

    def _follow(self, namespace: Namespace, write: Write, emptied: bool) -> None:
        if emptied:
            self._announced.discard(namespace)
        elif write.put:
            self._announced.add(namespace)
        else:
            return
        if self._catalogue is not None:
            known = self._catalogue
            place = bisect_left(known, namespace)
            after = place + (known[place : place + 1] == (namespace,))
            here = (namespace,) if write.put else ()
            self._catalogue = (*known[:place], *here, *known[after:])


def _gone_ids(
    writes: Mapping[Namespace, Write], before: Mapping[str, Before]
) -> dict[str, Namespace]:
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


def put_rows(writes: Mapping[Namespace, Write], dims: int) -> list[Row]:
    """Return the rows of all items that are put."""
    puts = (item for write in writes.values() for item in write.put)
    return [row for item in puts for row in item_rows(item, dims)]


def under(known: Sequence[Namespace], prefix: Namespace) -> list[Namespace]:
    """Return those of the sorted namespaces that begin with a prefix."""
    return list(
        itertools.takewhile(
            lambda namespace: namespace[: len(prefix)] == prefix,
            itertools.islice(known, bisect_left(known, prefix), None),
        )
    )


def pages(values: Sequence[T]) -> Iterator[list[T]]:
    """Cut values into what one call reads."""
    return (list(values[i : i + PAGE]) for i in range(0, len(values), PAGE))


@contextmanager
def chroma_errors(doing: str) -> Iterator[None]:
    """Turn what Chroma raises into a `StoreError`."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except LangGraphMemoryError:
        raise
    except AttributeError as error:
        if "bindings" not in str(error):
            raise
        raise StoreError(f"Chroma failed while {doing}: its client is closed") from error
    except (
        ChromaError,
        httpx.HTTPError,
        sqlite3.Error,
        OSError,
        RuntimeError,
        ValueError,
    ) as error:
        raise StoreError(f"Chroma failed while {doing}: {error}") from error
    except Exception as error:
        if type(error) is not Exception:  # which Chroma raises for what it cannot read of a server
            raise
        raise StoreError(f"Chroma failed while {doing}: {str(error)[:200]}") from error
