"""A folder read straight from SQLite, beside the process that writes it: without Chroma.

Another process may have the folder open and write to it: what Chroma has acknowledged is in its
tables, and in them at once. A row's vector is in the queue of what is not indexed yet, or in the
index files (`IndexVectors`).
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.chroma.calls import (
    COLLECTION,
    PAGE,
    SCHEMA,
    ChromaRows,
    Where,
    cut,
    own_metadatas,
)
from langgraph_memory.chroma.collection import BatchReads, Collection, Wanted
from langgraph_memory.chroma.index_files import IndexVectors
from langgraph_memory.chroma.partition import Limits
from langgraph_memory.chroma.repair.rebuild import NEXT, embedded, is_complete, rows_of
from langgraph_memory.chroma.repair.repair import confirmed, refuse_lost
from langgraph_memory.chroma.tables import DATABASE, StoredCollection, find_collection, row_count
from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.files import SqliteReader
from langgraph_memory.models import Embedder, fingerprint_from_metadata
from langgraph_memory.store import Namespace, part_of

logger = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds to wait for index files that another process is writing: it can be kept waiting for 5."""

_DOCUMENT = "chroma:document"
_NOTHING = StoredCollection("", COLLECTION, 0, {"schema": SCHEMA}, "", "", 0)

Version = Mapping[str, int]
"""How many rows a namespace has, and the number of the latest write among them."""


class FolderRows(ChromaRows):
    """The rows of the collection in a folder; what writes is refused.

    Args:
        directory: The folder.
        embedder: Makes the vectors of rows whose own are lost.

    Raises:
        StoreError: If there is no memory in the folder, or not any more, or it cannot be read.
        ConfigurationError: If it was not written by this version.
        EmbedderMismatchError: From a read, if vectors are lost and another embedder made them.
    """

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        file = directory / DATABASE
        if not file.is_file() or not file.stat().st_size:
            refuse_lost(directory)
        if not file.is_file():
            raise StoreError(
                f"there is no memory in {directory}: {DATABASE} is missing. Check the path, or "
                "open it once without read_only=True"
            )
        self._directory = directory
        self._embedder = embedder
        self._reader = SqliteReader(file)
        self._seen: object = None
        self._main = _NOTHING
        self._index = IndexVectors(directory, 0)
        self._queue: dict[str, tuple[int, NDArray[np.float32]]] = {}
        self._queued = 0
        self._given_up: object = ()
        self.max_rows = PAGE
        try:
            with self.moment():
                if self._main is _NOTHING:
                    refuse_lost(directory)
                if self.metadata.get("schema") != SCHEMA:
                    raise ConfigurationError(f"{directory} was not written by this version")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def moment(self) -> Iterator[object]:
        """Read several things as they are at one moment; yields what changes with each write."""
        with self._reader.moment() as connection:
            if self._seen != self._reader.version:
                self._follow(connection)
                self._seen = self._reader.version
            yield self._seen

    def versions(self, namespaces: Iterable[Namespace]) -> dict[Namespace, Version]:
        """Return what changes when something is put into namespaces, or deleted from them."""
        by_part = {part_of(namespace): namespace for namespace in namespaces}
        with self.moment():
            found = self._all(
                "SELECT m.string_value, count(*), max(e.seq_id) FROM embedding_metadata m"
                " JOIN embeddings e ON e.id = m.id WHERE m.key = 'part' AND e.segment_id = ?"
                " AND m.string_value IN (SELECT value FROM json_each(?)) GROUP BY m.string_value",
                self._main.rows_segment,
                json.dumps(list(by_part)),
            )
        versions: dict[Namespace, Version] = {ns: {} for ns in by_part.values()}
        for part, rows, latest in found:
            versions[by_part[part]] = {"rows": rows, "latest": latest}
        return versions

    def close(self) -> None:
        """Close the database."""
        self._reader.close()

    # -- what a collection asks for --

    @property
    def metadata(self) -> Mapping[str, Any]:
        with self.moment():
            return self._main.metadata

    def count(self) -> int:
        with self.moment(), self._reader.moment() as connection:
            return row_count(connection, self._main)

    def get(  # type: ignore[override]  # what this package asks for
        self,
        *,
        ids: Sequence[str] | None = None,
        where: Where = None,
        limit: int | None = None,
        offset: int = 0,
        include: Sequence[str] = ("metadatas", "documents"),
    ) -> Any:
        """Return rows in the order in which they were first inserted, as Chroma's `get` does."""
        with self.moment():
            condition, values = _condition(where)
            if ids is not None:
                condition = "embedding_id IN (SELECT value FROM json_each(?))"
                values = [json.dumps(list(ids))]
            # The plus keeps SQLite from going through all rows of the segment.
            segment = "segment_id" if ids is not None else "+segment_id"
            rows = self._all(
                f"SELECT id, embedding_id FROM embeddings WHERE {segment} = ? AND {condition}"
                " ORDER BY id LIMIT ? OFFSET ?",
                self._main.rows_segment,
                *values,
                -1 if limit is None else limit,
                offset,
            )
            return self._page(dict(rows), include)

    def query(self, **arguments: Any) -> Any:
        """Return the rows nearest to the first vector, exactly: each is compared."""
        [vector], include = arguments["query_embeddings"], arguments["include"]
        near: list[tuple[float, str]] = []
        with self.moment():
            for page_ids in cut(self.ids(arguments["where"])):
                page = self.get(ids=page_ids, include=["embeddings"])
                scores = (page["embeddings"] @ vector).tolist()
                near = sorted([*near, *zip(scores, page["ids"], strict=True)], reverse=True)
                del near[arguments["n_results"] :]
            order = {id: i for i, (_, id) in enumerate(near)}
            found = self.get(ids=list(order), include=include)
        places = sorted(range(len(found["ids"])), key=lambda i: order[found["ids"][i]])
        columns = ("ids", *include)
        return {column: [[found[column][i] for i in places]] for column in columns}

    def refusal(self) -> Exception:
        """Return what a write raises."""
        return ConfigurationError(f"{self._directory} is open for reading alone")

    def _refuse(self, *args: Any) -> Any:
        raise self.refusal()

    modify: Any = _refuse
    upsert: Any = _refuse
    update: Any = _refuse
    delete: Any = _refuse

    # -- parts of the above; the moment is held --

    def _all(self, query: str, *values: Any) -> list[Any]:
        with self._reader.moment() as connection:
            return connection.execute(query, values).fetchall()

    def _follow(self, connection: sqlite3.Connection) -> None:
        """Take in what was written: which collection it is, and what is in its queue."""
        main = _current(connection)
        if (main.index_segment, main.dims) != (self._main.index_segment, self._main.dims):
            self._index = IndexVectors(self._directory / main.index_segment, main.dims)
        if main.id != self._main.id:
            self._queue, self._queued = {}, 0
        self._main = main
        # What is in the queue and was not carried out, its rows do not have: a write that failed.
        new = self._all(
            "SELECT seq_id, id, vector FROM embeddings_queue WHERE seq_id > ?"
            " AND seq_id <= (SELECT seq_id FROM max_seq_id WHERE segment_id = ?)"
            " AND vector IS NOT NULL AND topic LIKE ? ORDER BY seq_id",
            max(self._queued, main.indexed),
            main.rows_segment,
            f"%/{main.id}",
        )
        for number, id, vector in new:
            self._queue[id] = number, np.frombuffer(vector, "<f4")
            self._queued = number
        for id in [id for id, (number, _) in self._queue.items() if number <= main.indexed]:
            del self._queue[id]

    def _page(self, rows: Mapping[int, str], include: Sequence[str]) -> dict[str, Any]:
        page: dict[str, Any] = {"ids": list(rows.values())}
        if "metadatas" in include or "documents" in include:
            metadatas = self._metadatas(rows)
            documents = [metadata.pop(_DOCUMENT, None) for metadata in metadatas]
            page |= {"metadatas": own_metadatas(page["ids"], metadatas), "documents": documents}
        if "embeddings" in include:
            page["embeddings"] = self._vectors(page["ids"])
        return page

    def _metadatas(self, rows: Iterable[int]) -> list[dict[str, Any]]:
        metadatas: dict[int, dict[str, Any]] = {row: {} for row in rows}
        found = self._all(
            "SELECT id, key, string_value, int_value, float_value, bool_value"
            " FROM embedding_metadata WHERE id IN (SELECT value FROM json_each(?))",
            json.dumps(list(metadatas)),
        )
        for row, key, *values in found:
            metadatas[row][key] = next((value for value in values if value is not None), None)
        return list(metadatas.values())

    def _vectors(self, ids: Sequence[str]) -> NDArray[np.float32]:
        found = {id: self._queue[id][1] for id in ids if id in self._queue}
        deadline = time.monotonic() + PATIENCE
        while missing := [id for id in ids if id not in found]:
            found |= self._index.read(missing)
            if len(found) == len(ids):
                break
            if self._index.state == self._given_up or time.monotonic() > deadline:
                found |= self._made([id for id in ids if id not in found])
            else:
                time.sleep(0.01)
        return np.stack([found[id] for id in ids]) if ids else np.zeros((0, 0), np.float32)

    def _made(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Make vectors anew: the index is broken, and not for a reader to repair."""
        logger.warning(
            "%s rows in %s have no vector that can be read; they are made from the texts. "
            "Opened for writing, or by doctor, the index is repaired",
            f"{len(ids):,}",
            self._directory,
        )
        self._given_up = self._index.state
        page = self.get(ids=ids, include=["documents"])
        confirmed(self._embedder, fingerprint_from_metadata(dict(self._main.metadata)))
        return dict(zip(page["ids"], embedded(self._embedder)(rows_of(page)), strict=True))


class FolderCollection(Collection):
    """An open collection that is only read."""

    _rows: FolderRows

    def __init__(self, rows: FolderRows, limits: Limits) -> None:
        self._followed: object = None
        self._current: set[Namespace] = set()
        super().__init__(rows, limits, rows.close)

    def read(self, wanted: Wanted) -> BatchReads:
        with self._lock:
            self.check_usable()
            with self._rows.moment() as seen:
                self._follow_writer(seen)
                scopes = [self._scope(name) for name in wanted.names]
                listed = () if wanted.listing is None else self.namespaces(wanted.listing)
                single = {namespace for namespace, _ in wanted.addresses}
                self._look_again(single.union(*(scope.namespaces for scope in scopes)))
                return self._loaded(wanted, scopes, listed)

    def living_namespaces(self, now: float, prefix: Namespace = ()) -> list[Namespace]:
        with self._lock, self._rows.moment() as seen:
            self._follow_writer(seen)
            return super().living_namespaces(now, prefix)

    # -- parts of what the base does --

    def _clean_up(self) -> None:
        """Leave tombstones to whoever writes."""

    def _follow_writer(self, seen: object) -> None:
        """Take nothing for right that was read before the latest write."""
        if seen != self._followed:
            self._followed = seen
            self._catalogue.forget()
            self._current.clear()
            self._large.clear()

    def _look_again(self, namespaces: Iterable[Namespace]) -> None:
        """Drop the partitions of namespaces that were written to."""
        asked = [ns for ns in namespaces if ns not in self._current]
        if asked:
            self._drop_outdated(self._rows.versions(asked))
        self._current.update(asked)

    def _clocks(self, namespaces: Iterable[Namespace]) -> Mapping[Namespace, Version]:
        return self._rows.versions(namespaces)


def _current(connection: sqlite3.Connection) -> StoredCollection:
    """Return the collection that counts now; one that holds nothing if none was made yet."""
    found = find_collection(connection, COLLECTION)
    if found is None:
        new = find_collection(connection, NEXT)
        found = new if new is not None and is_complete(new.metadata) else None
    return found or _NOTHING


def _condition(where: Where) -> tuple[str, list[Any]]:
    """Return those of Chroma's filters that this package uses as a condition of SQL."""
    if where is None:
        return "1", []
    [(key, test)] = where.items()
    rows = "id IN (SELECT id FROM embedding_metadata WHERE key = ? AND"
    if not isinstance(test, Mapping):
        return f"{rows} string_value = ?)", [key, test]
    [(operator, value)] = test.items()
    if operator == "$in":
        values = json.dumps(list(value))
        return f"{rows} string_value IN (SELECT value FROM json_each(?)))", [key, values]
    if operator == "$lte":
        return f"{rows} (float_value <= ? OR int_value <= ?))", [key, value, value]
    raise AssertionError(f"no filter of this package: {where!r}")
