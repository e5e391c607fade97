"""Reading what is too large to be kept in memory.

By meaning, Chroma's index answers. It gives neighbours that may not be the very nearest, and it
knows nothing of LangGraph's filters: so more is fetched than was asked for, and ever more until
enough of it meets the filter. Where that leads nowhere, and for all other reads, the rows are gone
through page by page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.chroma.calls import PAGE, WHOLE, ChromaRows
from langgraph_memory.chroma.partition import Filter
from langgraph_memory.chroma.rows import (
    Unreadable,
    items_from_rows,
    read_namespace,
    readable_items,
    row_id,
)
from langgraph_memory.store import Address, Namespace, StoredItem, matches, part_of

FETCHED = (400, 1_600, 6_400)
"""How many rows are fetched by meaning, one after the other until enough of them match.

With 100 the nearest 10 of 60,000 were found to .98, with 400 to .99 and more
(`benchmarks/large.py`)."""

MARGIN = 4
"""So many times as many matches as are wanted have to be there: of what it gives, the index finds
the far part less surely."""

FEW = 32
"""So many namespaces are named to Chroma; of more, those that are not meant are left out here."""

_LAST = 1_000  # rows that are read first for the newest items


ScopeName = tuple[Literal["namespace", "prefix"], Namespace]


@dataclass(frozen=True, slots=True)
class Scope:
    """The namespaces that one operation looks through, under the name by which it is known."""

    name: ScopeName
    namespaces: tuple[Namespace, ...]

    @property
    def where(self) -> dict[str, Any] | None:
        """The scope as Chroma's filter; `None` is all rows."""
        if len(self.namespaces) > FEW:
            return None
        return {"part": {"$in": [part_of(namespace) for namespace in self.namespaces]}}


@dataclass(frozen=True, slots=True)
class LargeReader:
    """Reads one scope of a collection."""

    rows: ChromaRows
    scope: Scope
    total: int
    """How many rows the scope has, as far as is known."""
    present: Callable[[StoredItem], StoredItem | None]
    """Returns an item as it is now; `None` if it has expired."""

    def near(
        self, vector: NDArray[np.float32], filter: Filter, wanted: int
    ) -> tuple[list[StoredItem], bool]:
        """Return items that are near to a vector: at least `wanted`, or all that meet the filter.

        Args:
            vector: Shape `(dimensions,)`, of length 1.
            filter: A LangGraph filter.
            wanted: How many items.

        Returns:
            The items with their vectors, in no order; and whether the nearest are certainly among
            them.
        """
        total = self.rows.count()
        most = min(total - 1, max(FETCHED))
        # Chroma takes long to filter, and most of what it would give is meant anyway.
        where = self.scope.where if 2 * self.total < total else None
        for count in sorted({max(count, 2 * MARGIN * wanted) for count in FETCHED}):
            if count > most:
                break
            found = self.rows.query(
                query_embeddings=[vector],
                n_results=count,
                where=where,
                include=["metadatas"],
            )
            rows = found["metadatas"][0]
            near = self._complete(each for each in map(_address, rows) if each is not None)
            near = [item for item in near if matches(item.value, filter or {})]
            if len(near) >= MARGIN * wanted:
                return near, False
            if len(rows) < count:
                break
        there = ((item.namespace, item.key) for item in self.all(filter))
        return self._complete(there), True

    def all(self, filter: Filter) -> Iterator[StoredItem]:
        """Yield all items that meet a filter, without vectors, in no order."""
        return itertools.chain.from_iterable(
            self._meant(page["metadatas"], filter)
            for page in self.rows.pages(self.scope.where, ["metadatas"])
        )

    def last(self, filter: Filter, limit: int) -> list[StoredItem]:
        """Return items of one namespace that were first written last: `limit`, or some more.

        Args:
            filter: A LangGraph filter.
            limit: How many items.

        Returns:
            The items without vectors, in no order.
        """
        start, end = max(self.total - _LAST, 0), None
        found = {item.key: item for item in self._meant(self._between(start, end), filter)}
        while start and len(found) < limit:
            start, end = max(start - PAGE, 0), start
            # Where others delete meanwhile, rows shift, and one can come twice.
            page = self._meant(self._between(start, end), filter)
            found = {item.key: item for item in page} | found
        return list(found.values())

    # -- parts of the above --

    def _between(self, start: int, end: int | None) -> list[Any]:
        """Return the rows that were inserted as number `start` and later, before number `end`."""
        metadatas: list[Any] = []
        while True:
            limit = PAGE if end is None else min(end - start, PAGE)
            page = self.rows.get(
                where=self.scope.where, limit=limit, offset=start, include=["metadatas"]
            )
            metadatas += page["metadatas"]
            start += limit
            if len(page["ids"]) < limit or start == end:
                return metadatas

    def _meant(self, metadatas: Sequence[Any], filter: Filter) -> Iterator[StoredItem]:
        meant = frozenset(self.scope.namespaces)
        no_vectors = np.zeros((len(metadatas), 0), np.float32)
        for item in items_from_rows(metadatas, [None] * len(metadatas), no_vectors):
            if item.namespace in meant and matches(item.value, filter or {}):
                present = self.present(item)
                if present is not None:
                    yield present

    def _complete(self, addresses: Iterable[Address]) -> list[StoredItem]:
        """Return the indexed items of this scope at some addresses, with all their vectors."""
        meant = frozenset(self.scope.namespaces)
        asked = (each for each in dict.fromkeys(addresses) if each[0] in meant)
        own = self._rows_of([row_id(*address) for address in asked])
        further = [
            row_id(namespace, metadata["key"], field)
            for _, namespace, metadata, envelope in readable_items(row for row, _, _ in own)
            for field in range(1, envelope["vectors"])
        ]
        rows = own + self._rows_of(further)
        if not rows:
            return []
        metadatas, documents, vectors = zip(*rows, strict=True)
        items = map(self.present, items_from_rows(metadatas, documents, np.stack(vectors)))
        return [item for item in items if item is not None and len(item.vectors)]

    def _rows_of(self, ids: Sequence[str]) -> list[tuple[Any, Any, Any]]:
        rows: list[tuple[Any, Any, Any]] = []
        for found in self.rows.at(ids, WHOLE):
            rows += zip(found["metadatas"], found["documents"], found["embeddings"], strict=True)
        return rows


def _address(metadata: Mapping[str, Any] | None) -> Address | None:
    """Return where the item of a row is, or of the row beside it; `None` of another row."""
    key = (metadata or {}).get("key")
    try:
        return (read_namespace(metadata), key) if isinstance(key, str) else None
    except Unreadable:
        return None
