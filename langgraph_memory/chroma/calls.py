"""The calls to one Chroma collection; what Chroma raises becomes a `StoreError`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langgraph_memory.chroma.rows import Row, is_own
from langgraph_memory.errors import ConfigurationError, LangGraphMemoryError, StoreError

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
