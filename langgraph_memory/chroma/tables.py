"""Chroma's own tables in SQLite, without starting Chroma: what they say of a collection, and what
is taken back of a write that failed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_memory.errors import StoreError

DATABASE = "chroma.sqlite3"


@dataclass(frozen=True, slots=True)
class StoredCollection:
    """A collection as Chroma's tables have it."""

    id: str
    name: str
    dims: int
    """Dimensions of its vectors; 0 before the first."""
    metadata: dict[str, Any]
    rows_segment: str
    index_segment: str
    """Also the name of the directory with the index files."""
    indexed: int
    """Up to which sequence number writes are in the index files; later ones are in the queue."""


@contextmanager
def reading(directory: Path) -> Iterator[sqlite3.Connection]:
    """Connect to the database of a directory.

    Not read-only: SQLite has to roll back what a killed process left half done.

    Raises:
        StoreError: If the database is not readable.
    """
    file = directory / DATABASE
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot read {file}: {error}. The texts are in this file: if it is damaged, put it "
            "back from a backup"
        ) from error


def find_collection(connection: sqlite3.Connection, name: str) -> StoredCollection | None:
    """Return a collection by its name."""
    found = connection.execute(
        "SELECT id, dimension FROM collections WHERE name = ?", (name,)
    ).fetchone()
    if found is None:
        return None
    id, dims = found
    metadata = {
        key: next((value for value in values if value is not None), None)
        for key, *values in connection.execute(
            "SELECT key, str_value, int_value, float_value, bool_value FROM collection_metadata "
            "WHERE collection_id = ?",
            (id,),
        )
    }
    segments = dict(
        connection.execute("SELECT scope, id FROM segments WHERE collection = ?", (id,)).fetchall()
    )
    index = segments.get("VECTOR", "")
    indexed = connection.execute(
        "SELECT seq_id FROM max_seq_id WHERE segment_id = ?", (index,)
    ).fetchone()
    return StoredCollection(
        id,
        name,
        dims or 0,
        metadata,
        segments.get("METADATA", ""),
        index,
        indexed[0] if indexed else 0,
    )


def row_count(connection: sqlite3.Connection, collection: StoredCollection) -> int:
    """Return how many rows a collection has."""
    count: int = connection.execute(
        "SELECT count(*) FROM embeddings WHERE segment_id = ?", (collection.rows_segment,)
    ).fetchone()[0]
    return count


def rows_stored(directory: Path, collection: StoredCollection) -> int:
    """Return how many rows a collection of a directory has."""
    with reading(directory) as connection:
        return row_count(connection, collection)


def row_ids(connection: sqlite3.Connection, collection: StoredCollection) -> set[str]:
    """Return the ids of a collection's rows; those that this package did not make are left out."""
    rows = connection.execute(
        "SELECT embedding_id FROM embeddings WHERE segment_id = ? AND length(embedding_id) = 40",
        (collection.rows_segment,),
    )
    return {id for (id,) in rows}


def namespace_parts(
    connection: sqlite3.Connection, collection: StoredCollection, stem: str = ""
) -> list[str]:
    """Return what the rows of namespaces have as `part`: of all, or of those below one.

    By an index of Chroma's, which reads those below a prefix alone.

    Args:
        connection: To the database.
        collection: Whose rows.
        stem: How the parts begin that are wanted, without the comma or bracket that follows.
    """
    states = "state.string_value IN ('namespace', 'emptied')"
    begins = "part.string_value >= ? AND part.string_value < ?" if stem else "part.id IS NOT NULL"
    rows = connection.execute(
        "SELECT part.string_value FROM embedding_metadata AS part "
        "JOIN embedding_metadata AS state ON state.id = part.id AND state.key = 'state' "
        "JOIN embeddings ON embeddings.id = part.id "
        "WHERE part.key = 'part' AND part.string_value IS NOT NULL "
        f"AND embeddings.segment_id = ? AND {states} AND {begins}",
        (collection.rows_segment, *((stem + ",", stem + "^") if stem else ())),
    )
    return [part for (part,) in rows]


def queued_ids(connection: sqlite3.Connection, collection: StoredCollection) -> set[str]:
    """Return the ids of the rows whose latest vector is in Chroma's write-ahead queue."""
    rows = connection.execute(
        "SELECT id FROM embeddings_queue WHERE topic LIKE ? AND seq_id > ?",
        (f"%/{collection.id}", collection.indexed),
    )
    return {id for (id,) in rows}


def take_back(directory: Path, name: str, ids: Iterable[str]) -> int:
    """Take rows out of Chroma's log that are in it and were not carried out; return how many.

    Args:
        directory: A directory that nothing has open.
        name: The collection's.
        ids: Those of the rows.

    Raises:
        StoreError: If the database cannot be changed.
    """
    with reading(directory) as connection, connection:
        collection = find_collection(connection, name)
        if collection is None:
            return 0
        return connection.execute(
            "DELETE FROM embeddings_queue WHERE topic LIKE ?"
            " AND id IN (SELECT value FROM json_each(?))"
            " AND seq_id > coalesce((SELECT seq_id FROM max_seq_id WHERE segment_id = ?), 0)",
            (f"%/{collection.id}", json.dumps(list(ids)), collection.rows_segment),
        ).rowcount
