"""One open Chroma collection: its lock, its partitions in memory, its catalogue of namespaces.

All stores on one path in one process share it, so that each sees what the others write. Writes go
to Chroma first and then into the cached partitions; a partition whose write failed is dropped, not
patched. Writes and loads take turns under one lock (Chroma itself does one thing at a time), which
makes loads single-flight and lets no write slip by a load; reads of what is cached take none.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.chroma.calls import ChromaRows, TooLargeError, cut
from langgraph_memory.chroma.catalogue import Catalogue, under
from langgraph_memory.chroma.expiry import Prolonged
from langgraph_memory.chroma.index_search import LargeReader, Scope, ScopeName
from langgraph_memory.chroma.partition import Limits, Partition, PartitionCache, PartitionSnapshot
from langgraph_memory.chroma.planning import (
    Gone,
    Replaced,
    Write,
    Writes,
    deletions,
    gone_ids,
    grown_by,
    put_rows,
    touched_ids,
)
from langgraph_memory.chroma.rows import (
    BESIDE_ITEMS,
    ReplacedItem,
    is_of_user,
    namespace_row,
    row_id,
    tombstone,
)
from langgraph_memory.chroma.vector_clock import Clocks, VectorClock, is_empty
from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.models import Fingerprint, fingerprint_from_metadata, fingerprint_to_metadata
from langgraph_memory.store import Address, Namespace, StoredItem, part_of
from langgraph_memory.text import replace_surrogates

logger = logging.getLogger(__name__)
Pair = tuple[Partition, PartitionSnapshot]
Source = Sequence[Pair] | LargeReader
"""Where an operation looks: partitions in memory, or what is too large for that."""


class Wanted(NamedTuple):
    """What a batch asks a collection for."""

    addresses: Sequence[Address]
    """Of single items."""
    names: Sequence[ScopeName] = ()
    """What is searched."""
    now: float | None = None
    """What has expired by then (seconds since 1970) is left out."""
    listing: Namespace | None = None
    """The prefix of the namespaces that are asked for."""


class BatchReads(NamedTuple):
    """What a batch reads, all as it is at one moment."""

    items: list[StoredItem | None]
    sources: dict[ScopeName, Source]
    namespaces: Sequence[Namespace]
    """Those that hold an item, under the prefix that was asked for, sorted."""


class Collection:
    """An open collection, shared by the stores that use it and closed by the last of them.

    Args:
        rows: The calls to Chroma.
        limits: How much is kept in memory.
        on_close: Called at the end.
        elsewhere: Where it lies, in words; empty if in memory alone, or in a directory of ours.
    """

    def __init__(
        self, rows: ChromaRows, limits: Limits, on_close: Callable[[], object], elsewhere: str = ""
    ) -> None:
        self._rows = rows
        self._limits = limits
        self._on_close = on_close
        self.elsewhere = elsewhere
        self._order = 0  # of the latest write; goes on from there if the clock is set back
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._cache = PartitionCache(limits.cache_bytes)
        self.publishing = threading.Lock()
        """Held for the moment in which a batch becomes visible, and to look at several things."""
        self.turns = threading.Lock()
        """Held by the one of several readers whose turn it is to compare what is in memory."""
        self._prolonged = Prolonged(self.flush)
        self._large: dict[ScopeName, int] = {}  # what has more rows than are kept, and how many
        self._catalogue = Catalogue()
        self._announced: set[Namespace] = set()
        self._closed = False
        self.writer = ThreadPoolExecutor(1, "langgraph-memory-writer")
        self.readers = ThreadPoolExecutor(8, "langgraph-memory-reader")
        """For async reads. The event loop's own threads may all be waiting for a lock that a task
        holds, which then has to be able to read."""
        self.users = 0
        self._clean_up()

    # -- the fingerprint --

    @property
    def fingerprint(self) -> Fingerprint | None:
        """By what the stored vectors were made; `None` while there are none."""
        return fingerprint_from_metadata(self._rows.metadata)

    def confirm(self, fingerprint: Fingerprint) -> None:
        """Check a whole fingerprint against the stored one, and store it if there is none.

        Raises:
            EmbedderMismatchError: If the stored vectors were made otherwise.
        """
        with self._lock:
            stored = self.fingerprint
            if stored is not None:
                fingerprint.check(stored)
            else:
                self._rows.modify(fingerprint_to_metadata(fingerprint))

    # -- reading --

    def read(self, wanted: Wanted) -> BatchReads:
        """Return items, sources to search, and namespaces, all as they are at one moment.

        Partitions that are not cached are loaded with one read; those of single items are not.
        """
        with self.publishing:
            self.check_usable()
            listed = () if wanted.listing is None else self._catalogue.under(wanted.listing)
            scopes = [self._known_scope(name) for name in wanted.names]
            if listed is not None and None not in scopes:
                known = [scope for scope in scopes if scope is not None]
                if found := self._cached(wanted, known, listed):
                    return found
        with self._lock:  # no write comes between the reads
            listed = () if wanted.listing is None else self.namespaces(wanted.listing)
            return self._loaded(wanted, [self._scope(name) for name in wanted.names], listed)

    def namespaces(self, prefix: Namespace = ()) -> Sequence[Namespace]:
        """Return the namespaces under a prefix that hold an item, sorted."""
        self.check_usable()
        known = self._catalogue.under(prefix)
        if known is None:
            with self._lock:
                self._learn(prefix)
                known = self._catalogue.under(prefix)
        return known or ()

    def living_namespaces(self, now: float, prefix: Namespace = ()) -> list[Namespace]:
        """Return those of them that hold an item which has not expired by `now`."""
        with self._lock:
            ended = {namespace for (namespace, _), _ in self._expired(now)}
            empty = {ns for ns in ended if not self._any_present(ns, now)}
            return [ns for ns in self.namespaces(prefix) if ns not in empty]

    # -- writing --

    def write(self, writes: Writes) -> None:
        """Put and delete items, all of them or none.

        An item that replaces another keeps its `created_at`. A failed write leaves the cache
        without the partitions it touched.

        Args:
            writes: What changes, by namespace; an item is named once.

        Raises:
            StoreError: If Chroma fails, or the batch has more rows than it takes at once.
        """
        with self._lock:
            self.check_usable()
            before = self._before(writes)
            writes = {ns: self._stamped(ns, write, before) for ns, write in writes.items()}
            gone = gone_ids(writes, before)
            emptied = self._emptied(writes, gone)
            try:
                self._land(writes, emptied, gone)
            except BaseException:
                self._forget(writes)
                raise
            with self.publishing:
                for namespace, write in writes.items():
                    self._prolonged.discard((namespace, key) for key in write.keys)
                    self._cache.apply(namespace, write.put, write.deleted)
                    self._follow(namespace, write, namespace in emptied)
                    self._count(namespace, grown_by(namespace, write, before))

    def purge(self, prefix: Namespace) -> int:
        """Delete all items under a prefix; return how many.

        A namespace of more than 5,000 rows goes in pieces: if it fails half way, call it again.
        """
        with self._lock:
            self.check_usable()
            return self._delete(
                item
                for namespace in self.namespaces(prefix)
                for item in list(self._rows.envelopes({"part": part_of(namespace)}))
            )

    # -- erasing --

    def vectors(self, namespaces: Iterable[Namespace]) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of all rows of some namespaces, an array of `(rows, dimensions)` each.

        They are yielded as Chroma gives them, which is nearly as it keeps them.
        """
        for parts in cut([part_of(namespace) for namespace in namespaces]):
            for page in self._rows.pages({"part": {"$in": parts}}, ["embeddings"]):
                if len(page["ids"]):
                    yield np.asarray(page["embeddings"], np.float32)

    def first_vectors(self, addresses: Iterable[Address]) -> dict[str, NDArray[np.float32]]:
        """Return the first text of each of some items that has one, with its vector."""
        with self._lock:
            found = self._rows.items_at([row_id(*address) for address in addresses])
            return {item.texts[0]: item.vectors[0] for _, item in found if item.texts}

    def count_beside(self, namespaces: Iterable[Namespace]) -> int:
        """Return how many items lie elsewhere than in some namespaces."""
        clauses: list[Any] = [{"state": {"$nin": list(BESIDE_ITEMS)}}]
        parts = cut([part_of(namespace) for namespace in namespaces])
        clauses += [{"part": {"$nin": page}} for page in parts]
        where: dict[str, Any] = {"$and": clauses} if len(clauses) > 1 else clauses[0]
        return len(self._rows.ids(where))

    def wipe(self, namespaces: Sequence[Namespace], user: str) -> None:
        """Delete what is left of a user in some namespaces when all of their items are deleted.

        Rows that hold no item, and names of namespaces.
        """
        with self._lock:
            self.check_usable()
            self._wipe([part_of(namespace) for namespace in namespaces], user)
            self._forget(namespaces)

    def _wipe(self, parts: Sequence[str], user: str) -> None:
        for page in cut(parts):
            for ids in cut(self._rows.ids({"part": {"$in": page}})):
                self._rows.delete(ids)
        for found in self._rows.pages({"user": replace_surrogates(user)}, ["metadatas"]):
            # Another's id can be written alike there, if it is no Unicode text.
            theirs = [
                id
                for id, metadata in zip(found["ids"], found["metadatas"], strict=True)
                if (
                    user == replace_surrogates(user)
                    if metadata is None  # of a row that others wrote
                    else is_of_user(metadata.get("part"), user)
                )
            ]
            if theirs:
                self._rows.delete(theirs)

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
                for page in cut(list(ends)):
                    self._write_ends({row_id(*address): ends[address] for address in page})
            except BaseException:
                self._prolonged.update(ends)
                raise

    def _write_ends(self, ends: Mapping[str, float]) -> None:
        self._rows.update(list(ends), [{"expires": end} for end in ends.values()])

    def sweep(self, now: float) -> int:
        """Delete what has expired by `now`, in seconds since 1970; return how many items."""
        with self._lock:
            self.check_usable()
            self.flush()
            return self._delete(list(self._expired(now)))

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Let no write of this process come, for the time of a block."""
        with self._lock:
            self.check_usable()
            self.flush()
            yield

    # -- closing --

    def close(self) -> None:
        """Let go of the client; a forked child leaves its parent's alone."""
        if os.getpid() == self._process:
            self.writer.shutdown()
            self.readers.shutdown()
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

    def check_usable(self) -> None:
        """Refuse to go on after a fork, and when it is closed."""
        if self.foreign:
            raise StoreError(
                "this store was opened before the process forked, and Chroma hangs in the child: "
                "open the store after the fork"
            )
        if self._closed:
            raise ConfigurationError("this store is closed; keep it open as long as it is used")

    # -- parts of reading; `publishing` is held --

    def _cached(
        self, wanted: Wanted, scopes: Sequence[Scope], listed: Sequence[Namespace]
    ) -> BatchReads | None:
        """Return what is read if all of it is in memory."""
        searched = dict.fromkeys(ns for scope in scopes for ns in scope.namespaces)
        here = {}
        for namespace in (*searched, *(ns for ns, _ in wanted.addresses)):
            partition = self._cache.get(namespace)
            if partition is None:
                return None
            here[namespace] = partition
        pairs = {ns: (here[ns], here[ns].snapshot(wanted.now)) for ns in searched}
        return BatchReads(
            [here[ns].get(key, wanted.now) for ns, key in wanted.addresses],
            {scope.name: [pairs[ns] for ns in scope.namespaces] for scope in scopes},
            listed,
        )

    def _known_scope(self, name: ScopeName) -> Scope | None:
        kind, namespace = name
        known = (namespace,) if kind == "namespace" else self._catalogue.under(namespace)
        return None if known is None else Scope(name, tuple(known))

    # -- parts of reading; the lock is held --

    def _learn(self, prefix: Namespace) -> None:
        """Read the namespaces under a prefix, or under a shorter one."""
        self._catalogue.learn((), self._rows.namespaces())

    def _scope(self, name: ScopeName) -> Scope:
        kind, namespace = name
        known = (namespace,) if kind == "namespace" else self.namespaces(namespace)
        return Scope(name, tuple(known))

    def _loaded(
        self, wanted: Wanted, scopes: Sequence[Scope], listed: Sequence[Namespace]
    ) -> BatchReads:
        self.check_usable()
        now = wanted.now
        items = self._get(wanted.addresses, now)
        present = partial(self._present, now=now)
        pairs = {part.namespace: (part, part.snapshot(now)) for part in self._scopes(scopes)}
        sources: dict[ScopeName, Source] = {
            scope.name: LargeReader(self._rows, scope, self._large[scope.name], present)
            if scope.name in self._large and scope.namespaces  # Chroma takes no empty list of them
            else [pairs[namespace] for namespace in scope.namespaces]
            for scope in scopes
        }
        return BatchReads(items, sources, listed)

    def _get(self, addresses: Sequence[Address], now: float | None) -> list[StoredItem | None]:
        cached = {namespace: self._cache.get(namespace) for namespace, _ in addresses}
        ids = {address: row_id(*address) for address in addresses if cached[address[0]] is None}
        stored = self._stored_items(ids.values(), now)
        return [
            stored.get(ids[ns, key]) if (part := cached[ns]) is None else part.get(key, now)
            for ns, key in addresses
        ]

    def _stored_items(self, ids: Iterable[str], now: float | None) -> dict[str, StoredItem | None]:
        """Return the items that Chroma has now, by the id of their row."""
        return {id: self._present(item, now) for id, item in self._rows.items_at(ids)}

    def _present(self, item: StoredItem, now: float | None) -> StoredItem | None:
        """Return an item with its true end; `None` if it has expired by `now`."""
        item = self._with_its_end(item)
        return item if now is None or item.expires > now else None

    def _with_its_end(self, item: StoredItem) -> StoredItem:
        if item.ttl is None:
            return item
        end = self._prolonged.get((item.namespace, item.key), item.expires)
        return replace(item, expires=max(end, item.expires))  # another process may have put it anew

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
            self._keep(partition)
            found[partition.namespace] = partition
        return list(found.values())

    def _keep(self, partition: Partition) -> None:
        mortal = [item for item in partition.items() if item.ttl is not None]
        with self.publishing:  # reads do not wait for a load, and may have prolonged a life in it
            self._cache.put(partition)
            for item in map(self._with_its_end, mortal):
                partition.prolong(item.key, item.expires)

    def _load(self, namespaces: Sequence[Namespace]) -> list[Partition]:
        if not namespaces:
            return []
        clocks = self._clocks(namespaces)  # before: a write in between costs one more load
        items: dict[Namespace, list[StoredItem]] = {namespace: [] for namespace in namespaces}
        for item in self._rows.items_in(namespaces, self._limits.partition_rows):
            items[item.namespace].append(item)
            self._order = max(self._order, item.order)  # also if the clock was set back
        return [Partition.of(ns, found, clocks[ns]) for ns, found in items.items()]

    def _expired(self, now: float) -> Iterator[tuple[Address, dict[str, Any]]]:
        for address, envelope in self._rows.envelopes({"expires": {"$lte": now}}):
            # Without a time to live another process has put it anew, since its end was written.
            if "ttl" in envelope and self._prolonged.get(address, now) <= now:
                yield address, envelope

    def _any_present(self, namespace: Namespace, now: float) -> bool:
        [source] = self.read(Wanted((), [("namespace", namespace)], now)).sources.values()
        if isinstance(source, LargeReader):
            return next(source.all(None), None) is not None
        return any(bool(snapshot.alive.any()) for _, snapshot in source)

    # -- parts of writing; the lock is held --

    def _before(self, writes: Writes) -> dict[str, ReplacedItem]:
        """Return what the touched items are now, by the id of their row."""
        before: dict[str, ReplacedItem] = {}
        unknown: list[str] = []
        for namespace, write in writes.items():
            partition = self._cache.get(namespace)
            if partition is None:
                unknown += touched_ids({namespace: write})
                continue
            for key in write.keys:
                if (item := partition.get(key)) is not None:
                    before[row_id(namespace, key)] = ReplacedItem(
                        item.created_at, len(item.vectors)
                    )
        return before | self._rows.replaced(unknown)

    def _stamped(self, namespace: Namespace, write: Write, before: Replaced) -> Write:
        """Give the items their place in the order of writes, and the time they were created."""
        put = []
        for item in write.put:
            self._order = max(self._order + 1, time.time_ns())
            old = before.get(row_id(namespace, item.key))
            created_at = item.created_at if old is None else old.created_at
            put.append(replace(item, created_at=created_at, order=self._order))
        return Write(put, write.deleted)

    def _emptied(self, writes: Writes, gone: Gone) -> dict[Namespace, VectorClock]:
        """Return the namespaces that lose their last item, with what was known of their writers."""
        shrinking = [ns for ns, write in writes.items() if write.deleted and not write.put]
        clocks = self._clocks(shrinking)
        self._drop_outdated(clocks)
        return {
            namespace: clock
            for namespace, clock in clocks.items()
            if self._loses_all(namespace, writes[namespace].deleted, gone)
        }

    def _clocks(self, namespaces: Iterable[Namespace]) -> Clocks:
        """Return the latest writes of others to namespaces: here there are no others."""
        return {namespace: {} for namespace in namespaces}

    def _drop_outdated(self, clocks: Clocks) -> None:
        """Drop the partitions of namespaces that others have written to since."""
        for namespace, clock in clocks.items():
            if not self._is_current(namespace, clock):
                self._cache.drop(namespace)

    def _is_current(self, namespace: Namespace, clock: VectorClock) -> bool:
        partition = self._cache.get(namespace)
        return partition is not None and partition.clock == clock

    def _loses_all(self, namespace: Namespace, deleted: Sequence[str], gone: Gone) -> bool:
        partition = self._cache.get(namespace)
        if partition is not None:
            return len(partition) > 0 and partition.keys <= set(deleted)
        ids = set(self._rows.ids({"part": part_of(namespace)})) - {row_id(namespace)}
        return bool(ids) and ids <= gone.keys()

    def _land(self, writes: Writes, emptied: Clocks, gone: Gone) -> None:
        """Write to Chroma. Deletions ride along as tombstones, so that a batch is one call."""
        dims = self._dims
        fresh = [ns for ns, write in writes.items() if write.put and ns not in self._announced]
        rows = put_rows(writes, dims) + [namespace_row(namespace, dims) for namespace in fresh]
        ids = [*gone, *map(row_id, emptied)]
        if rows:
            rows += [tombstone(id, dims) for id in ids]
        self._rows.check_size(max(len(rows), len(ids)))
        if rows:
            self._rows.upsert(lambda: rows)
        if ids:
            try:
                self._rows.delete(ids)
            except StoreError:
                if not rows:
                    raise
                # The batch has landed: tombstones are passed over, and removed at the next opening.
                logger.warning("tombstones could not be removed yet", exc_info=True)

    @property
    def _dims(self) -> int:
        dims = self._rows.metadata.get("dims")
        assert dims is not None, "the fingerprint is confirmed before anything is written"
        return int(dims)

    def _forget(self, namespaces: Iterable[Namespace]) -> None:
        """Read anew what a failed write may have changed."""
        for namespace in namespaces:
            self._cache.drop(namespace)
        self._catalogue.forget()
        self._announced.clear()

    def _follow(self, namespace: Namespace, write: Write, emptied: bool) -> None:
        """Keep the catalogue."""
        if emptied:
            self._announced.discard(namespace)
        elif write.put and namespace not in self._announced:
            self._announced.add(namespace)
        else:
            return
        self._catalogue.follow(namespace, there=bool(write.put))

    def _count(self, namespace: Namespace, grown: int) -> None:
        """Keep count of the rows of what is too large for memory, or has become so."""
        partition = self._cache.get(namespace)
        if partition is not None and len(partition) > self._limits.partition_rows:
            self._cache.drop(namespace)
        for name, rows in list(self._large.items()):
            if namespace == name[1] or (name[0] == "prefix" and under([namespace], name[1])):
                self._large[name] = rows + grown
                if rows + grown <= self._limits.partition_rows:
                    del self._large[name]

    def _delete(self, items: Iterable[tuple[Address, dict[str, Any]]]) -> int:
        deleted = 0
        for writes in deletions((address, envelope["vectors"]) for address, envelope in items):
            self.write(writes)
            deleted += sum(len(write.deleted) for write in writes.values())
        return deleted

    def _clean_up(self) -> None:
        """Remove tombstones that a killed process left, and what a server's users did."""
        gone = [
            id
            for page in self._rows.pages(
                {"state": {"$in": ["tombstone", "emptied"]}}, ["metadatas"]
            )
            for id, metadata in zip(page["ids"], page["metadatas"], strict=True)
            if metadata and (metadata["state"] == "tombstone" or is_empty(metadata))
        ]
        try:
            for ids in cut(gone):
                self._rows.delete(ids)
        except StoreError:  # a full disk, for one: reads pass them over
            logger.warning("tombstones could not be removed yet", exc_info=True)
