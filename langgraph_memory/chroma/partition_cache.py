"""The partitions that are kept in memory, within a budget of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from langgraph_memory.chroma.partition import Partition
from langgraph_memory.store import Namespace, StoredItem

CACHE_BYTES = 256 * 1024 * 1024
PARTITION_ROWS = 50_000


class Limits(NamedTuple):
    """How much of a collection is kept in memory."""

    cache_bytes: int = CACHE_BYTES
    partition_rows: int = PARTITION_ROWS
    """How many rows a namespace, or all that one search looks through, may have for that."""


class PartitionCache:
    """Partitions by namespace, within a budget of bytes; the least recently used leave."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._bytes = 0
        self._partitions: OrderedDict[Namespace, Partition] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, namespace: Namespace) -> Partition | None:
        """Return a cached partition, and count it as used."""
        with self._lock:
            partition = self._partitions.get(namespace)
            if partition is not None:
                self._partitions.move_to_end(namespace)
            return partition

    def put(self, partition: Partition) -> None:
        """Keep a partition, and let others go until the budget holds; the newest always stays."""
        with self._lock:
            self.drop(partition.namespace)
            self._partitions[partition.namespace] = partition
            self._bytes += partition.bytes
            self._trim()

    def apply(
        self, namespace: Namespace, put: Sequence[StoredItem], deleted: Sequence[str]
    ) -> None:
        """Follow a write, if the partition is here. One write at a time."""
        partition = self._partitions.get(namespace)
        if partition is None:
            return
        before = partition.bytes
        partition.apply(put, deleted)
        with self._lock:
            if self._partitions.get(namespace) is partition:
                self._bytes += partition.bytes - before
                if partition.wasteful:
                    self.put(partition.compacted())
                self._trim()

    def drop(self, namespace: Namespace) -> None:
        """Forget a partition: it is read anew when it is next needed."""
        with self._lock:
            partition = self._partitions.pop(namespace, None)
            if partition is not None:
                self._bytes -= partition.bytes

    def clear(self) -> None:
        """Forget all partitions."""
        with self._lock:
            self._partitions.clear()
            self._bytes = 0

    def _trim(self) -> None:
        while self._bytes > self.max_bytes and len(self._partitions) > 1:
            self.drop(next(iter(self._partitions)))
