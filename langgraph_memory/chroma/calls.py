"""The calls to one Chroma collection; what Chroma raises becomes a `StoreError`."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langgraph_memory.chroma.rows import (
    ReplacedItem,
    Row,
    Unreadable,
    is_own,
    items_from_rows,
    read_namespace,
    readable_items,
)
from langgraph_memory.chroma.tables import find_collection, namespace_parts, reading
from langgraph_memory.chroma.vector_clock import is_empty
from langgraph_memory.errors import ConfigurationError, LangGraphMemoryError, StoreError
from langgraph_memory.store import Address, Namespace, StoredItem, part_of

T = TypeVar("T")

COLLECTION = "langgraph_memory"
SCHEMA = 1
"""Version of the layout of rows; stored with the collection."""

CONFIGURATION = {"hnsw": {"space": "cosine"}}
"""What Chroma is told of a collection that it makes."""

PAGE = 5_000
"""Rows that a call reads: Chroma fails above 32,766 with metadata."""

WHOLE = ["metadatas", "documents", "embeddings"]
"""All that a row holds beside its id, for `include=`."""

Where = dict[str, Any] | None
"""A filter as Chroma takes it; `None` is all rows."""


class ChromaRows:
    """The rows of the collection `name`, made if it is not there.

    Raises:
        ConfigurationError: If a collection of that name was not written by this version.
        StoreError: If Chroma fails; so do all methods.
    """

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name
        self._collection = self._call("opening the collection", self._open)
        self.max_rows = int(self._call("asking for its limit", client.get_max_batch_size))
        """So many rows Chroma writes at once."""
        self._check_layout()

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What is stored with the collection itself."""
        return self._collection.metadata or {}

    def modify(self, metadata: Mapping[str, Any]) -> None:
        """Store something with the collection itself, beside the version of its layout."""
        metadata = {"schema": SCHEMA, **metadata}
        self._call("describing itself", lambda: self._collection.modify(metadata=metadata))

    def count(self) -> int:
        """Return how many rows there are, of all kinds."""
        return int(self._call("counting", lambda: self._collection.count()))

    def get(self, **arguments: Any) -> Any:
        """Chroma's `get`, for at most `PAGE` rows; what other code wrote comes without metadata."""
        found = self._call("reading", lambda: self._collection.get(**arguments))
        if found["metadatas"] is not None:
            found["metadatas"] = own_metadatas(found["ids"], found["metadatas"])
        return found

    def at(self, ids: Sequence[str], include: Sequence[str]) -> Iterator[Any]:
        """Yield the rows with the given ids, `PAGE` at a time; what is not there is left out."""
        for page in cut(ids):
            yield self.get(ids=page, include=include)

    def ids(self, where: Where) -> list[str]:
        """Return the ids of all rows that meet a filter, first inserted first."""
        return list(self.get(where=where, include=[])["ids"])

    def pages(self, where: Where, include: Sequence[str]) -> Iterator[Any]:
        """Yield all rows that meet a filter, about `PAGE` at a time."""
        first = self.get(where=where, limit=PAGE, include=include)
        yield first
        if len(first["ids"]) == PAGE:
            # Pages by offset would shift when a row among them is deleted meanwhile.
            known = set(first["ids"])
            yield from self.at([id for id in self.ids(where) if id not in known], include)

    def query(self, **arguments: Any) -> Any:
        """Chroma's `query`."""
        return self._call("searching", lambda: self._collection.query(**arguments))

    def upsert(self, rows: Callable[[], Sequence[Row]]) -> None:
        """Write rows, all or none; they are asked for anew at each attempt."""
        self._call("writing", lambda: self._upsert(rows()))

    def update(self, ids: Sequence[str], metadatas: Sequence[Mapping[str, Any]]) -> None:
        """Change the metadata of rows; ids that are not there are passed over."""
        self._call(
            "writing", lambda: self._collection.update(ids=list(ids), metadatas=list(metadatas))
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows, all or none."""
        self._call("deleting", lambda: self._collection.delete(ids=list(ids)))

    def check_size(self, rows: int) -> None:
        """Refuse to write more rows than Chroma takes at once."""
        if rows > self.max_rows:
            raise StoreError(
                f"a batch is written whole, and this one has {rows:,} rows; "
                f"Chroma takes {self.max_rows:,} at once: split it"
            )

    # -- what the rows hold --

    def items_in(self, namespaces: Sequence[Namespace], most: int) -> list[StoredItem]:
        """Return all items of some namespaces, first written first.

        Args:
            namespaces: What is read.
            most: How many rows they may have between them.

        Raises:
            TooLargeError: If they have more; little is read to find out.
        """
        metadatas: list[Any] = []
        documents: list[Any] = []
        vectors: list[Any] = []
        counted = False
        filters = [{"part": {"$in": page}} for page in cut([part_of(ns) for ns in namespaces])]
        for page in itertools.chain.from_iterable(self.pages(each, WHOLE) for each in filters):
            metadatas += page["metadatas"]
            documents += page["documents"]
            if len(page["ids"]):
                vectors.append(page["embeddings"])
            is_full = len(page["ids"]) >= PAGE
            if (is_full and not counted) or len(metadatas) > most:
                # Before much is read that cannot be kept.
                if (found := sum(len(self.ids(each)) for each in filters)) > most:
                    raise TooLargeError(found)
                counted = True
        matrix = np.concatenate(vectors) if vectors else np.zeros((0, 0))
        return items_from_rows(metadatas, documents, matrix)

    def items_at(self, ids: Iterable[str]) -> Iterator[tuple[str, StoredItem]]:
        """Yield the ids of items' rows, and the items, with their first vector alone."""
        for page in self.at(list(dict.fromkeys(ids)), WHOLE):
            for id, metadata, document, vector in zip(
                page["ids"], page["metadatas"], page["documents"], page["embeddings"], strict=True
            ):
                for item in items_from_rows([metadata], [document], np.asarray([vector])):
                    yield id, item

    def replaced(self, ids: Sequence[str]) -> dict[str, ReplacedItem]:
        """Return what a write has to know of the items in rows, by the id of their row."""
        return {
            page["ids"][i]: ReplacedItem(envelope["created_at"], envelope["vectors"])
            for page in self.at(ids, ["metadatas"])
            for i, _, _, envelope in readable_items(page["metadatas"])
        }

    def envelopes(self, where: Where) -> Iterator[tuple[Address, dict[str, Any]]]:
        """Yield where items are, and what their rows say of them."""
        for page in self.pages(where, ["metadatas"]):
            for _, namespace, metadata, envelope in readable_items(page["metadatas"]):
                yield (namespace, metadata["key"]), envelope

    def namespaces(self) -> tuple[Namespace, ...]:
        """Return the namespaces that hold an item, sorted."""
        pages = self.pages({"state": {"$in": ["namespace", "emptied"]}}, ["metadatas"])
        rows = itertools.chain.from_iterable(page["metadatas"] for page in pages)
        return _readable(row for row in rows if row is not None and not is_empty(row))

    # -- parts of the above --

    def _call(self, doing: str, call: Callable[[], T]) -> T:
        with chroma_errors(doing):
            return call()

    def _open(self) -> Any:
        return self._client.get_or_create_collection(
            self._name,
            embedding_function=None,
            metadata={"schema": SCHEMA},
            configuration=CONFIGURATION,
        )

    def _check_layout(self) -> None:
        schema = self.metadata.get("schema")
        space = (self._collection.configuration_json.get("hnsw") or {}).get("space")
        if schema != SCHEMA or space != "cosine":
            raise ConfigurationError(
                f"the collection {self._name!r} was not written by this version: schema "
                f"{schema!r} and distance {space!r}, expected {SCHEMA} and 'cosine'"
            )

    def _upsert(self, rows: Sequence[Row]) -> None:
        upsert(self._collection, rows)


def upsert(collection: Any, rows: Sequence[Row]) -> None:
    """Write rows into a collection of Chroma's, all or none."""
    collection.upsert(
        ids=[row.id for row in rows],
        embeddings=np.stack([row.vector for row in rows]),
        metadatas=[row.metadata for row in rows],
        documents=[row.document for row in rows],
    )


def own_metadatas(ids: Sequence[str], metadatas: Sequence[Any]) -> list[Any]:
    """Return the metadata of rows, `None` of those that other code wrote."""
    return [each if is_own(id) else None for id, each in zip(ids, metadatas, strict=True)]


def cut(values: Sequence[T], size: int | None = None) -> Iterator[list[T]]:
    """Cut values into lists of `size`, or of as many as one call reads."""
    size = size or PAGE
    return (list(values[i : i + size]) for i in range(0, len(values), size))


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


def persistent_client(directory: Path) -> Any:
    """Open a directory with Chroma.

    Raises:
        StoreError: If Chroma cannot.
    """
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient

    try:
        with chroma_errors(f"opening {directory}"):
            return chromadb.PersistentClient(str(directory), settings=settings())
    except BaseException:
        # Chroma keeps what failed to start, and would hand it out at the next attempt.
        SharedSystemClient._identifier_to_system.pop(str(directory), None)
        raise


@contextmanager
def opened_client(directory: Path) -> Iterator[Any]:
    """Open a directory with Chroma for the time of a block."""
    client = persistent_client(directory)
    try:
        yield client
    finally:
        client.close()


def settings() -> Any:
    """Return Chroma's settings, without telemetry."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


class TooLargeError(Exception):
    """Some namespaces have more rows than are kept in memory; nobody outside sees it."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


def namespaces_in(directory: Path, prefix: Namespace) -> tuple[Namespace, ...]:
    """Return the namespaces under a prefix that hold an item, sorted, as SQLite has them.

    Chroma would read the rows of all namespaces. Nothing may be written meanwhile: SQLite in Chroma
    and in Python are two, and one that closes the file lets go of the other's locks.
    """
    with reading(directory) as connection:
        collection = find_collection(connection, COLLECTION)
        stem = part_of(prefix)[:-1] if prefix else ""
        parts = [] if collection is None else namespace_parts(connection, collection, stem)
    return _readable({"part": part} for part in parts)


def _readable(metadatas: Iterable[Mapping[str, Any]]) -> tuple[Namespace, ...]:
    """Return the namespaces that rows name, sorted."""
    found = set()
    for metadata in metadatas:
        with suppress(Unreadable):  # that of an erased user, for one
            found.add(read_namespace(metadata))
    return tuple(sorted(found))
