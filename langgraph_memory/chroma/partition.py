"""The rows of one namespace in memory, searched exactly; and which namespaces are kept there.

Chroma walks its whole index for a filtered query; one user's rows fit in memory and are compared
with numpy in a tenth of a millisecond, with no neighbour missed.

A published row never changes: replacing an item appends a row and marks the old one dead. So
readers need no lock. They take one snapshot and see the state of that moment, while a single
writer (the collection's lock sees to that) appends.
"""

from __future__ import annotations

import math
import threading
from bisect import insort
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.chroma.vector_clock import VectorClock
from langgraph_memory.records import flaw_in, tell_once
from langgraph_memory.store import Columns, Flags, Namespace, Scores, StoredItem, matches, part_of
from langgraph_memory.text import LexicalIndex, tokens

Filter = Mapping[str, Any] | None
"""As LangGraph's `search` takes it."""

_MASKS_KEPT = 8
_BLOCK = 64  # rows looked at together for the newest: more than are usually asked for
_EMPTY_BYTES = 8_000  # a partition and its index, of a user who has nothing
_ROW_OVERHEAD_BYTES = 1_350  # a decoded item, its postings, entries, columns: of a message


class PartitionSnapshot(NamedTuple):
    """What a reader of a partition sees."""

    rows: int
    vectors: int
    alive: NDArray[np.bool_]
    """Whether each row is the newest of its item: shape `(rows,)`."""


class Partition:
    """The items of one namespace, in the order of their last update."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.bytes = _EMPTY_BYTES
        self.lexical = LexicalIndex()
        self.clock: VectorClock = {}
        """What the namespace's row said before this was loaded, where others write as well."""
        self._items: list[StoredItem] = []
        self._row_of: dict[str, int] = {}
        self._vectors = np.zeros((0, 0), np.float32)
        self._vector_rows = np.zeros(0, np.int32)
        self._masks: OrderedDict[str, _Mask] = OrderedDict()
        self._mask_lock = threading.Lock()
        self._orders: dict[str, list[int]] = {}
        self._columns: dict[Callable[[], Columns], Columns] = {}
        self._ends: NDArray[np.float64] | None = None  # of each row; None while all live for ever
        self._snapshot = PartitionSnapshot(0, 0, np.zeros(0, np.bool_))
        self._living = self._snapshot.alive  # as the last reader saw it for whom some had expired
        self._flawed: frozenset[int] = frozenset()  # rows where a record should be, and is none
        self._sound = self._snapshot.alive  # as the last reader of records saw it

    @classmethod
    def of(
        cls, namespace: Namespace, items: Sequence[StoredItem], clock: VectorClock | None = None
    ) -> Partition:
        """Return a partition that holds `items`, given oldest update first."""
        partition = cls(namespace)
        partition.clock = clock or {}
        partition.apply(items, ())
        return partition

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def keys(self) -> set[str]:
        """The keys of the items that are there."""
        return set(self._row_of)

    @property
    def wasteful(self) -> bool:
        """Whether most rows are dead, so that the partition is better built anew."""
        return self._snapshot.rows > 64 + 2 * len(self._row_of)

    def snapshot(self, now: float | None = None) -> PartitionSnapshot:
        """Return the state of this moment; later writes do not change it.

        Args:
            now: Leaves out what has expired by then (seconds since 1970); `None` leaves it in.
        """
        snapshot = self._snapshot
        if now is None or self._ends is None:
            return snapshot
        alive = snapshot.alive & (self._ends[: snapshot.rows] > now)
        self._living = alive = _as_before(alive, self._living)
        return snapshot._replace(alive=alive)

    def records(self, snapshot: PartitionSnapshot) -> PartitionSnapshot:
        """Return the state without the rows that hold no readable record where one should be."""
        if not self._flawed:
            return snapshot
        alive = snapshot.alive.copy()
        alive[[row for row in self._flawed if row < snapshot.rows]] = False
        self._sound = alive = _as_before(alive, self._sound)
        return snapshot._replace(alive=alive)

    def prolong(self, key: str, end: float) -> None:
        """Let an item with a time to live end at `end` (seconds since 1970), if that is later."""
        row = self._row_of.get(key)
        if row is not None and self._ends is not None and self._items[row].ttl is not None:
            self._ends[row] = max(end, self._ends[row])

    def item(self, row: int) -> StoredItem:
        """Return the item in a row."""
        return self._items[row]

    def get(self, key: str, now: float | None = None) -> StoredItem | None:
        """Return the item with a key, unless it has expired by `now`."""
        row = self._row_of.get(key)
        if row is None or (now is not None and self._ends is not None and self._ends[row] <= now):
            return None
        return self._items[row]

    def items(self) -> Iterator[StoredItem]:
        """Yield the items that are there, oldest update first."""
        snapshot = self._snapshot
        for row in np.flatnonzero(snapshot.alive):
            yield self._items[row]

    def apply(self, put: Sequence[StoredItem], deleted: Sequence[str]) -> None:
        """Replace, add and delete items; readers see all of it at once, or nothing yet."""
        rows, vectors, _ = self._snapshot
        replaced = [self._row_of[item.key] for item in put if item.key in self._row_of]
        removed = [self._row_of[key] for key in deleted if key in self._row_of]
        alive = np.ones(rows + len(put), np.bool_)
        alive[:rows] = self._snapshot.alive
        alive[replaced + removed] = False
        vectors = self._append_vectors(put, rows, vectors)
        self._ends = self._ends_with(put, rows)
        if flawed := frozenset(self._flawed_among(put, rows)):
            self._flawed |= flawed
        self._items.extend(map(_without_vectors, put))
        texts = ["\n".join(item.texts) for item in put]
        self.lexical.extend([tokens(text) for text in texts])
        for item, text in zip(put, texts, strict=True):
            self.bytes += item.vectors.nbytes + 4 * len(text) + item.size + _ROW_OVERHEAD_BYTES
        self._snapshot = PartitionSnapshot(rows + len(put), vectors, alive)
        for key in deleted:
            self._row_of.pop(key, None)
        self._row_of.update({item.key: rows + i for i, item in enumerate(put)})

    def compacted(self) -> Partition:
        """Return a partition with the same items, and no dead rows."""
        vectors: dict[int, list[int]] = {}
        for i, row in enumerate(self._vector_rows[: self._snapshot.vectors].tolist()):
            vectors.setdefault(row, []).append(i)
        alive = np.flatnonzero(self._snapshot.alive).tolist()
        items = []
        for row in alive:
            item = self._items[row]
            if row in vectors:
                item = replace(item, vectors=self._vectors[vectors[row]])
            if self._ends is not None:
                item = replace(item, expires=float(self._ends[row]))
            items.append(item)
        return Partition.of(self.namespace, items, self.clock)

    def similarities(self, query: NDArray[np.float32], snapshot: PartitionSnapshot) -> Scores:
        """Return each row's cosine similarity to a unit vector, of its best text.

        Args:
            query: Shape `(dimensions,)`.
            snapshot: The state to search.

        Returns:
            Shape `(rows,)`; `-inf` for rows without a vector.
        """
        best = np.full(snapshot.rows, -np.inf, np.float32)
        if snapshot.vectors:
            rows = self._vector_rows[: snapshot.vectors]
            # Not a matrix product: the threads of BLAS get in each other's way under many readers.
            near = np.vecdot(self._vectors[: snapshot.vectors], query)
            np.maximum.at(best, rows, near)
        return best

    def select(self, filter: Filter, snapshot: PartitionSnapshot) -> Flags:
        """Return which rows are alive and meet a filter, as an array of shape `(rows,)`."""
        alive = snapshot.alive
        if not filter:
            return alive
        with self._mask_lock:
            mask = self._mask(filter)
            mask.extend_down(self._items, 0, snapshot.rows)
            return alive & mask.values[: snapshot.rows]

    def columns(self, kind: Callable[[], Columns], snapshot: PartitionSnapshot) -> Any:
        """Return what columns of a kind know of the rows, which are worked out once a row."""
        with self._mask_lock:
            columns = self._columns.get(kind)
            if columns is None:
                columns = self._columns[kind] = kind()
            start, end = len(columns), snapshot.rows
            if start < end:  # else a reader of a later state was here first
                items = [self._ranked(row) for row in range(start, end)]
                columns.append(items, self._first_vectors(start, end))
            return columns.view(snapshot.alive, self.lexical)

    def _ranked(self, row: int) -> StoredItem:
        """Return the item in a row as columns take it: of an unreadable one, its place alone."""
        item = self._items[row]
        return replace(item, value={}) if row in self._flawed else item

    def _flawed_among(self, put: Sequence[StoredItem], rows: int) -> Iterator[int]:
        for row, item in enumerate(put, rows):
            wrong = flaw_in(self.namespace, item.value)
            if wrong is not None:
                tell_once(part_of(self.namespace), item.key, wrong)
                yield row

    def _first_vectors(self, start: int, end: int) -> NDArray[np.float32] | None:
        """Return the first vector of each of some rows, zeros for one that has none."""
        used = self._snapshot.vectors
        if not used:
            return None
        rows = self._vector_rows[:used]
        low, high = np.searchsorted(rows, (start, end))
        first = np.zeros((end - start, self._vectors.shape[1]), np.float32)
        # Backwards: of several vectors of a row, the first is the last to be written.
        first[rows[low:high][::-1] - start] = self._vectors[low:high][::-1]
        return first

    def newest(
        self, filter: Filter, snapshot: PartitionSnapshot, by: str | None = None
    ) -> Iterator[StoredItem]:
        """Yield the items that meet a filter, the newest first, looking no further than asked.

        Args:
            filter: A LangGraph filter.
            snapshot: The state to read.
            by: A field of the values that orders them, as text; else their last update does.
        """
        order = range(snapshot.rows) if by is None else self._order(by, snapshot.rows)
        mask = None
        if filter:
            with self._mask_lock:
                mask = self._mask(filter)
        for end in range(len(order), 0, -_BLOCK):
            rows = np.array(order[max(end - _BLOCK, 0) : end])
            rows = rows[rows < snapshot.rows]
            wanted = snapshot.alive[rows]
            if mask is not None and len(rows):
                with self._mask_lock:
                    mask.extend_down(self._items, int(rows.min()), snapshot.rows)
                    wanted = wanted & mask.values[rows]
            for row in rows[wanted][::-1].tolist():
                yield self._items[row]

    def _order(self, by: str, rows: int) -> Sequence[int]:
        """Return the first `rows` rows, and maybe later ones, in the order of a field."""

        def key(row: int) -> str:
            return str(self._items[row].value.get(by))

        with self._mask_lock:
            order = self._orders.setdefault(by, [])
            new = sorted(range(len(order), rows), key=key)
            if not (order and new) or key(new[0]) >= key(order[-1]):
                order.extend(new)
            else:
                order = self._orders[by] = order.copy()  # a reader may go on with the old one
                for row in new:
                    insort(order, row, key=key)
            return order

    def _mask(self, filter: Mapping[str, Any]) -> _Mask:
        name = repr(filter)  # tells True from 1, which compare as equal
        mask = self._masks.get(name)
        if mask is None:
            mask = self._masks[name] = _Mask(filter)
            if len(self._masks) > _MASKS_KEPT:
                self._masks.popitem(last=False)
        self._masks.move_to_end(name)
        return mask

    def _ends_with(self, put: Sequence[StoredItem], rows: int) -> NDArray[np.float64] | None:
        """Return when each row ends once the new ones are there."""
        if self._ends is None and all(item.ttl is None for item in put):
            return None
        ends = np.full(rows + len(put), math.inf)
        if self._ends is not None:
            ends[:rows] = self._ends
        ends[rows:] = [item.expires for item in put]
        return ends

    def _append_vectors(self, put: Sequence[StoredItem], row: int, used: int) -> int:
        added = [item.vectors for item in put if len(item.vectors)]
        if not added:
            return used
        block = np.concatenate(added)
        end = used + len(block)
        if end > len(self._vectors):
            capacity = max(end, 2 * len(self._vectors), 16)
            grown = np.zeros((capacity, block.shape[1]), np.float32)
            rows = np.zeros(capacity, np.int32)
            if used:
                grown[:used] = self._vectors[:used]
                rows[:used] = self._vector_rows[:used]
            self._vectors, self._vector_rows = grown, rows
        self._vectors[used:end] = block
        self._vector_rows[used:end] = np.repeat(
            np.arange(row, row + len(put)), [len(item.vectors) for item in put]
        )
        return end


def _as_before(alive: Flags, before: Flags) -> Flags:
    """Return an array, or an equal one of before: what was worked out for that holds still."""
    return before if np.array_equal(alive, before) else alive


def _without_vectors(item: StoredItem) -> StoredItem:
    """Return an item that still tells how many vectors it has; they lie in the partition."""
    return replace(item, vectors=np.empty((len(item.vectors), 0), np.float32))


@dataclass(slots=True)
class _Mask:
    """Which rows meet a filter, worked out once a row: rows do not change."""

    filter: Mapping[str, Any]
    values: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    low: int = 0
    high: int = 0
    """The rows from `low` to `high` are known."""

    def extend_down(self, items: Sequence[StoredItem], low: int, high: int) -> None:
        if len(self.values) < high:
            grown = np.zeros(max(high, 2 * len(self.values)), np.bool_)
            grown[: len(self.values)] = self.values
            self.values = grown
        if self.high == self.low:
            self.low = self.high = high
        for row in (*range(low, self.low), *range(self.high, high)):
            self.values[row] = matches(items[row].value, self.filter)
        self.low, self.high = min(low, self.low), max(high, self.high)


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
