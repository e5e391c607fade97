"""What a write comes to, in rows. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langgraph_memory.chroma.calls import PAGE
from langgraph_memory.chroma.rows import Row, item_rows, row_id
from langgraph_memory.store import Address, Namespace, StoredItem


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


@dataclass(frozen=True, slots=True)
class ReplacedItem:
    """What a write has to know of the item that it replaces."""

    created_at: datetime
    indexed: int


def touched_ids(writes: Writes) -> list[str]:
    """Return the ids of the rows of all items that a write touches."""
    return [row_id(namespace, key) for namespace, write in writes.items() for key in write.keys]


def put_rows(writes: Writes, dims: int) -> list[Row]:
    """Return the rows of all items that are put."""
    puts = (item for write in writes.values() for item in write.put)
    return [row for item in puts for row in item_rows(item, dims)]


def gone_ids(writes: Writes, before: Mapping[str, ReplacedItem]) -> dict[str, Namespace]:
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


def grown_by(namespace: Namespace, write: Write, before: Mapping[str, ReplacedItem]) -> int:
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
