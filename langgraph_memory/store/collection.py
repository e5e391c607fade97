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
from typing import Any, TypeVar

import numpy as np

from langgraph_memory.embedding import (
    Fingerprint,
    fingerprint_from_metadata,
    fingerprint_to_metadata,
)
from langgraph_memory.errors import ConfigurationError, LangGraphMemoryError, StoreError
from langgraph_memory.store.expiry import Address, Prolonged
from langgraph_memory.store.large import LargeReader, Scope, ScopeName
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

logger = logging.getLogger(__name__)
T = TypeVar("T")
Pair = tuple[Partition, Snapshot]
Large = dict[ScopeName, LargeReader]

COLLECTION = "langgraph_memory"
SCHEMA = 1
"""Version of the layout of rows; stored with the collection."""

_PAGE = 5_000  # rows a call reads: Chroma fails above 32,766 with metadata
_INCLUDE: Any = ["metadatas", "documents", "embeddings"]


@dataclass(slots=True)
class Write:
    """What one batch changes in one namespace."""

    put: list[StoredItem] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)


class TooLargeError(Exception):
    """Some namespaces have more rows than are kept in memory; nobody outside sees it."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass(frozen=True, slots=True)
class _Before:
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
        partition_limit: int,
        on_close: Callable[[], None],
        order: int = 0,
    ) -> None:
        self._name = name
        self._on_close = on_close
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._cache = PartitionCache(cache_bytes)
        self._partition_limit = partition_limit
        self._large: dict[ScopeName, int] = {}  # scopes with more rows, and how many
        self.publishing = threading.Lock()
        """Held for the moment in which a batch becomes visible, and to look at several things."""
        self._prolonged = Prolonged(self.flush)
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
            with chroma_errors("storing the embedder's fingerprint"):
                self._rows.modify(
                    metadata={"schema": SCHEMA, **fingerprint_to_metadata(fingerprint)}
                )

    # -- reading --

    def read(
        self,
        addresses: Sequence[Address],
        scopes: Sequence[Scope],
        now: float | None = None,
    ) -> tuple[list[StoredItem | None], dict[Namespace, Pair], Large]:
        """Return items, and partitions with a snapshot of each, all as they are at one moment.

        Partitions that are not cached are loaded with one read; those of single items are not.
        What has expired by `now` (seconds since 1970) is left out.

        Returns:
            The items; the partitions of the scopes; and, by the name of the scope, a reader for
            each that is too large to be kept in memory, whose partitions may be missing.
        """
        wanted = list(dict.fromkeys(ns for scope in scopes for ns in scope.namespaces))
        with self.publishing:
            self._check_usable()
            cached = {ns: self._cache.get(ns) for ns in (*wanted, *(ns for ns, _ in addresses))}
            here = {ns: part for ns, part in cached.items() if part is not None}
            if len(here) == len(cached):
                pairs = {ns: (here[ns], here[ns].snapshot(now)) for ns in wanted}
                return [here[ns].get(key, now) for ns, key in addresses], pairs, {}
        with self._lock:  # no write comes between the reads
            self._check_usable()
            items = self._get(addresses, now)
            partitions = self._scopes(scopes)
            large = {
                scope.name: self._large_reader(scope, now)
                for scope in scopes
                if scope.name in self._large
            }
            return items, {p.namespace: (p, p.snapshot(now)) for p in partitions}, large

    def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """Return the namespaces under a prefix that hold an item, sorted."""
        self._check_usable()
        known = self._catalogue
        if known is None:
            with self._lock:
                known = self._known()
        start = bisect_left(known, prefix)
        under = itertools.takewhile(
            lambda namespace: namespace[: len(prefix)] == prefix,
            itertools.islice(known, start, None),
        )
        return list(under)

    def fetch(self, **arguments: Any) -> Any:
        """Chroma's `get`."""
        with chroma_errors("reading"):
            return self._rows.get(**arguments)

    def query(self, **arguments: Any) -> Any:
        """Chroma's `query`."""
        with chroma_errors("reading"):
            return self._rows.query(**arguments)

    def count(self) -> int:
        """Chroma's `count`: rows of all kinds."""
        with chroma_errors("reading"):
            return int(self._rows.count())

    def living_namespaces(self, now: float) -> list[Namespace]:
        """Return the namespaces that hold an item which has not expired by `now`, sorted."""
        with self._lock:
            ended = {namespace for namespace, _, _ in self._expired(now)}
            empty = {ns for ns in ended if not self._any_present(ns, now)}
            return [ns for ns in self.namespaces() if ns not in empty]

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
            gone = _gone_ids(writes, before)
            emptied = self._emptied(writes, gone)
            rows = self._new_rows(writes, dims)
            gone |= {row_id(ns): ns for ns in emptied}
            try:
                self._send(rows, gone, dims)
            except BaseException:
                for namespace in writes:
                    self._cache.drop(namespace)
                self._catalogue = None
                self._announced.clear()
                raise
            with self.publishing:
                for namespace, write in writes.items():
                    put = (item.key for item in write.put)
                    self._prolonged.discard((namespace, key) for key in (*put, *write.deleted))
                    self._cache.apply(namespace, write.put, write.deleted)
                    self._follow(namespace, write, namespace in emptied)
                    self._grow(namespace, write, before)

    def purge(self, prefix: Namespace) -> int:
        """Delete all items under a prefix; return how many.

        A namespace of more than 5,000 rows goes in pieces: if it fails half way, call it again.
        """
        with self._lock:
            self._check_usable()
            return sum(self._purge(namespace) for namespace in self.namespaces(prefix))

    # -- expiring --

    def prolong(self, ends: Mapping[Address, float]) -> None:
        """Let items end at other times (seconds since 1970); it is written a little later."""
        with self.publishing:
            for (namespace, key), end in ends.items():
                partition = self._cache.get(namespace)
                if partition is not None:
                    partition.prolong(key, end)
            self._prolonged.update(ends)

    def flush(self) -> None:
        """Write the ends of lives that reads have prolonged."""
        with self._lock:
            if self._closed:
                return
            ends = self._prolonged.take()
            try:
                for page in _pages(list(ends)):
                    with chroma_errors("writing"):
                        self._rows.update(
                            ids=[row_id(*address) for address in page],
                            metadatas=[{"expires": ends[address]} for address in page],
                        )
            except BaseException:
                self._prolonged.update(ends)
                raise

    def sweep(self, now: float) -> int:
        """Delete what has expired by `now`, in seconds since 1970; return how many items."""
        swept = 0
        with self._lock:
            self._check_usable()
            self.flush()
            for page in _pages_of_rows(self._expired(now)):
                writes: dict[Namespace, Write] = {}
                for namespace, key in page:
                    writes.setdefault(namespace, Write()).deleted.append(key)
                self.write(writes, dims=0)  # no rows are written
                swept += len(page)
        return swept

    # -- closing --

    def close(self) -> None:
        """Let go of the client; a forked child leaves its parent's alone."""
        if os.getpid() == self._process:
            self.writer.shutdown()
            with self._lock:
                try:
                    self.flush()
                except StoreError:
                    logger.warning("prolonged lives of items were not written", exc_info=True)
                self._prolonged.take()
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
        """Remove tombstones that a killed process left."""
        while ids := self._rows.get(where={"state": "tombstone"}, limit=_PAGE, include=[])["ids"]:
            self._rows.delete(ids=ids)

    def _read(self, where: dict[str, Any], include: Any) -> Iterator[Any]:
        offset = 0
        while True:
            page = self.fetch(where=where, limit=_PAGE, offset=offset, include=include)
            yield page
            if len(page["ids"]) < _PAGE:
                return
            offset += _PAGE

    def _get(self, addresses: Sequence[Address], now: float | None) -> list[StoredItem | None]:
        found: list[StoredItem | None] = []
        missing: dict[str, list[int]] = {}
        for i, (namespace, key) in enumerate(addresses):
            partition = self._cache.get(namespace)
            found.append(partition.get(key, now) if partition is not None else None)
            if partition is None:
                missing.setdefault(row_id(namespace, key), []).append(i)
        for page in _pages(list(missing)):
            rows = self.fetch(ids=page, include=_INCLUDE)
            for id, *row in zip(
                rows["ids"], rows["metadatas"], rows["documents"], rows["embeddings"], strict=True
            ):
                metadata, document, vector = row
                for item in items_from_rows([metadata], [document], np.asarray([vector])):
                    for i in missing[id]:
                        found[i] = self._present(item, now)
        return found

    def _present(self, item: StoredItem, now: float | None) -> StoredItem | None:
        """Return an item with its true end; `None` if it has expired by `now`."""
        item = self._with_its_end(item)
        return item if now is None or item.expires > now else None

    def _with_its_end(self, item: StoredItem) -> StoredItem:
        if item.ttl is None:
            return item
        end = self._prolonged.get((item.namespace, item.key), item.expires)
        return replace(item, expires=end)

    def _expired(self, now: float) -> list[tuple[Namespace, str, int]]:
        """Return where the items are that have expired, with the number of their rows."""
        expired = []
        for page in self._read({"expires": {"$lte": now}}, ["metadatas"]):
            for metadata in page["metadatas"]:
                envelope = read_envelope(metadata)
                address = namespace_of(metadata["part"]), metadata["key"]
                if self._prolonged.get(address, metadata["expires"]) <= now:
                    expired.append((*address, max(envelope["vectors"], 1)))
        return expired

    def _purge(self, namespace: Namespace) -> int:
        rows: dict[str | None, list[str]] = {}
        keys = []
        for page in self._read({"part": part_of(namespace)}, ["metadatas"]):
            for id, metadata in zip(page["ids"], page["metadatas"], strict=True):
                rows.setdefault(state := metadata.get("state"), []).append(id)
                if state in (None, "unindexed"):
                    keys.append(metadata["key"])
        # The row by which the namespace is known goes last: whoever fails half way can go on.
        last = rows.pop("namespace", [])
        try:
            for ids in _pages([*itertools.chain(*rows.values()), *last]):
                with chroma_errors("deleting"):
                    self._rows.delete(ids=ids)
        finally:
            self._prolonged.discard((namespace, key) for key in keys)
            self._cache.drop(namespace)
            self._large.clear()  # they are counted anew
        with self.publishing:
            self._follow(namespace, Write(), emptied=True)
        return len(keys)

    def _scopes(self, scopes: Sequence[Scope]) -> list[Partition]:
        """Return the partitions of scopes that can be kept in memory; note those that cannot."""
        asked = [scope for scope in scopes if scope.name not in self._large]
        try:
            # All that a batch needs comes with one read.
            return self._partitions([ns for scope in asked for ns in scope.namespaces])
        except TooLargeError as error:
            if len(asked) == 1:
                self._large[asked[0].name] = error.rows
                return []
        return [partition for scope in asked for partition in self._scopes([scope])]

    def _partitions(self, namespaces: Sequence[Namespace]) -> list[Partition]:
        cached = {ns: self._cache.get(ns) for ns in namespaces}
        found = {ns: part for ns, part in cached.items() if part is not None}
        for partition in self._load([ns for ns in cached if ns not in found]):
            self._cache.put(partition)
            found[partition.namespace] = partition
        return list(found.values())

    def _load(self, namespaces: Sequence[Namespace]) -> list[Partition]:
        if not namespaces:
            return []
        metadatas: list[Any] = []
        documents: list[Any] = []
        vectors: list[Any] = []
        counted = False
        for parts in _pages([part_of(namespace) for namespace in namespaces]):
            for page in self._read({"part": {"$in": parts}}, _INCLUDE):
                metadatas += page["metadatas"]
                is_full = len(page["ids"]) == _PAGE
                if (is_full and not counted) or len(metadatas) > self._partition_limit:
                    self._check_fits(namespaces)  # before much is read that cannot be kept
                    counted = True
                documents += page["documents"]
                if len(page["ids"]):
                    vectors.append(page["embeddings"])
        matrix = np.concatenate(vectors) if vectors else np.zeros((0, 0))
        items: dict[Namespace, list[StoredItem]] = {namespace: [] for namespace in namespaces}
        for item in items_from_rows(metadatas, documents, matrix):
            items[item.namespace].append(self._with_its_end(item))
            self._order = max(self._order, item.order)  # also if the clock was set back
        return [Partition.of(namespace, found) for namespace, found in items.items()]

    def _check_fits(self, namespaces: Sequence[Namespace]) -> None:
        parts = _pages([part_of(namespace) for namespace in namespaces])
        rows = sum(
            len(self.fetch(where={"part": {"$in": page}}, include=[])["ids"]) for page in parts
        )
        if rows > self._partition_limit:
            raise TooLargeError(rows)

    def _large_reader(self, scope: Scope, now: float | None) -> LargeReader:
        total = self._large[scope.name]
        return LargeReader(self, scope, total, lambda item: self._present(item, now))

    def _any_present(self, namespace: Namespace, now: float) -> bool:
        scope = Scope.of(namespace)
        _, pairs, large = self.read((), [scope], now)
        if scope.name in large:
            return next(large[scope.name].all(None), None) is not None
        return bool(pairs[namespace][1].alive.any())

    def _known(self) -> tuple[Namespace, ...]:
        if self._catalogue is None:
            found = (
                namespace_of(metadata["part"])
                for page in self._read({"state": "namespace"}, ["metadatas"])
                for metadata in page["metadatas"]
            )
            self._catalogue = tuple(sorted(found))
        return self._catalogue

    def _before(self, writes: Mapping[Namespace, Write]) -> dict[str, _Before]:
        """Return what the touched items are now, by the id of their row."""
        before: dict[str, _Before] = {}
        unknown: list[str] = []
        for namespace, write in writes.items():
            partition = self._cache.get(namespace)
            for key in (*(item.key for item in write.put), *write.deleted):
                id = row_id(namespace, key)
                if partition is None:
                    unknown.append(id)
                elif (item := partition.get(key)) is not None:
                    before[id] = _Before(item.created_at, len(item.vectors))
        for page in _pages(unknown):
            rows = self.fetch(ids=page, include=["metadatas"])
            for id, metadata in zip(rows["ids"], rows["metadatas"], strict=True):
                if metadata.get("state") != "tombstone":
                    envelope = read_envelope(metadata)
                    before[id] = _Before(envelope["created_at"], envelope["vectors"])
        return before

    def _stamped(self, namespace: Namespace, write: Write, before: Mapping[str, _Before]) -> Write:
        """Give the items their place in the order of writes, and the time they were created."""
        put = []
        for item in write.put:
            self._order = max(self._order + 1, time.time_ns())
            old = before.get(row_id(namespace, item.key))
            created_at = item.created_at if old is None else old.created_at
            put.append(replace(item, created_at=created_at, order=self._order))
        return Write(put, write.deleted)

    def _emptied(
        self, writes: Mapping[Namespace, Write], gone: Mapping[str, Namespace]
    ) -> set[Namespace]:
        """Return the namespaces that a write leaves without an item."""
        shrinking = [ns for ns, write in writes.items() if write.deleted and not write.put]
        return {ns for ns in shrinking if not self._left(ns, writes[ns].deleted, gone)}

    def _left(
        self, namespace: Namespace, deleted: Sequence[str], gone: Mapping[str, Namespace]
    ) -> bool:
        partition = self._cache.get(namespace)
        if partition is not None:
            return not len(partition) or bool(partition.keys - set(deleted))
        there = {"$and": [{"part": part_of(namespace)}, {"state": {"$ne": "tombstone"}}]}
        own = row_id(namespace)
        return any(
            id not in gone and id != own for page in self._read(there, []) for id in page["ids"]
        )

    def _new_rows(self, writes: Mapping[Namespace, Write], dims: int) -> list[Row]:
        rows = [
            row for write in writes.values() for item in write.put for row in item_rows(item, dims)
        ]
        fresh = [ns for ns, write in writes.items() if write.put and ns not in self._announced]
        return rows + [namespace_row(namespace, dims) for namespace in fresh]

    def _send(self, rows: Sequence[Row], gone: Mapping[str, Namespace], dims: int) -> None:
        if rows:
            # Deletions ride along as tombstones, so that the batch is one call.
            rows = [*rows, *(tombstone(id, namespace, dims) for id, namespace in gone.items())]
        if len(rows) > self._max_rows or len(gone) > self._max_rows:
            raise StoreError(
                f"a batch is written whole, and this one has {max(len(rows), len(gone)):,} rows; "
                f"Chroma takes {self._max_rows:,} at once: split it"
            )
        if rows:
            with chroma_errors("writing"):
                self._rows.upsert(
                    ids=[row.id for row in rows],
                    embeddings=np.stack([row.vector for row in rows]),
                    metadatas=[row.metadata for row in rows],
                    documents=[row.document for row in rows],
                )
        if gone:
            try:
                with chroma_errors("deleting"):
                    self._rows.delete(ids=list(gone))
            except StoreError:
                if not rows:
                    raise
                # The batch has landed: tombstones are passed over, and removed at the next opening.
                logger.warning("tombstones could not be removed yet", exc_info=True)

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

    def _grow(self, namespace: Namespace, write: Write, before: Mapping[str, _Before]) -> None:
        """Keep count of the rows of what is too large for memory."""
        partition = self._cache.get(namespace)
        if partition is not None and len(partition) > self._partition_limit:
            self._cache.drop(namespace)
        if not self._large:
            return
        keys = [*(item.key for item in write.put), *write.deleted]
        old = [before[id] for key in keys if (id := row_id(namespace, key)) in before]
        new = sum(max(len(item.vectors), 1) for item in write.put)
        grown = new - sum(max(item.indexed, 1) for item in old)
        for name, rows in list(self._large.items()):
            kind, label = name
            if label == namespace or (kind == "prefix" and label == namespace[: len(label)]):
                self._large[name] = rows + grown
                if rows + grown <= self._partition_limit:
                    del self._large[name]


def _gone_ids(
    writes: Mapping[Namespace, Write], before: Mapping[str, _Before]
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


def _pages(values: Sequence[T]) -> Iterator[list[T]]:
    return (list(values[i : i + _PAGE]) for i in range(0, len(values), _PAGE))


def _pages_of_rows(items: Iterable[tuple[Namespace, str, int]]) -> Iterator[list[Address]]:
    """Split items, given with how many rows each has, so that Chroma takes each part at once."""
    page: list[Address] = []
    total = 0
    for namespace, key, rows in items:
        if page and total + rows > _PAGE:
            yield page
            page, total = [], 0
        page.append((namespace, key))
        total += rows
    if page:
        yield page


@contextmanager
def chroma_errors(doing: str) -> Iterator[None]:
    """Turn what Chroma raises into a `StoreError`."""
    from chromadb.errors import ChromaError

    try:
        yield
    except LangGraphMemoryError:
        raise
    except AttributeError as error:
        if "bindings" not in str(error):
            raise
        raise StoreError(f"Chroma failed while {doing}: its client is closed") from error
    except (ChromaError, sqlite3.Error, OSError, RuntimeError, ValueError) as error:
        raise StoreError(f"Chroma failed while {doing}: {error}") from error
