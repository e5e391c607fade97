"""What an open collection reads from Chroma, made into items: whole namespaces, single rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from langgraph_memory.chroma.calls import COLLECTION, PAGE, WHOLE, ChromaRows, cut
from langgraph_memory.chroma.rows import Unreadable, items_from_rows, read_namespace, readable_items
from langgraph_memory.chroma.tables import find_collection, namespace_parts, reading
from langgraph_memory.chroma.vector_clock import is_empty
from langgraph_memory.chroma.writing import ReplacedItem
from langgraph_memory.store import Address, Namespace, StoredItem, part_of


class TooLargeError(Exception):
    """Some namespaces have more rows than are kept in memory; nobody outside sees it."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


def load_items(rows: ChromaRows, namespaces: Sequence[Namespace], most: int) -> list[StoredItem]:
    """Return all items of some namespaces, first written first.

    Args:
        rows: Where they are.
        namespaces: What is read.
        most: How many rows they may have between them.

    Raises:
        TooLargeError: If they have more; little is read to find out.
    """
    metadatas: list[Any] = []
    documents: list[Any] = []
    vectors: list[Any] = []
    counted = False
    for parts in cut([part_of(namespace) for namespace in namespaces]):
        for page in rows.pages({"part": {"$in": parts}}, WHOLE):
            metadatas += page["metadatas"]
            documents += page["documents"]
            if len(page["ids"]):
                vectors.append(page["embeddings"])
            is_full = len(page["ids"]) >= PAGE
            if (is_full and not counted) or len(metadatas) > most:
                _check_fits(rows, namespaces, most)  # before much is read that cannot be kept
                counted = True
    matrix = np.concatenate(vectors) if vectors else np.zeros((0, 0))
    return items_from_rows(metadatas, documents, matrix)


def _check_fits(rows: ChromaRows, namespaces: Sequence[Namespace], most: int) -> None:
    parts = cut([part_of(namespace) for namespace in namespaces])
    found = sum(len(rows.ids({"part": {"$in": page}})) for page in parts)
    if found > most:
        raise TooLargeError(found)


def stored_items(rows: ChromaRows, ids: Iterable[str]) -> Iterator[tuple[str, StoredItem]]:
    """Yield the ids of items' rows, and the items, with their first vector alone."""
    for page in rows.at(list(dict.fromkeys(ids)), WHOLE):
        for id, metadata, document, vector in zip(
            page["ids"], page["metadatas"], page["documents"], page["embeddings"], strict=True
        ):
            for item in items_from_rows([metadata], [document], np.asarray([vector])):
                yield id, item


def stored_before(rows: ChromaRows, ids: Sequence[str]) -> dict[str, ReplacedItem]:
    """Return what a write has to know of the items in rows, by the id of their row."""
    return {
        page["ids"][i]: ReplacedItem(envelope["created_at"], envelope["vectors"])
        for page in rows.at(ids, ["metadatas"])
        for i, _, _, envelope in readable_items(page["metadatas"])
    }


def item_envelopes(
    rows: ChromaRows, where: dict[str, Any]
) -> Iterator[tuple[Address, dict[str, Any]]]:
    """Yield where items are, and what their rows say of them."""
    for page in rows.pages(where, ["metadatas"]):
        for _, namespace, metadata, envelope in readable_items(page["metadatas"]):
            yield (namespace, metadata["key"]), envelope


def namespaces_in(directory: Path, prefix: Namespace) -> tuple[Namespace, ...]:
    """Return the namespaces under a prefix that hold an item, sorted, as SQLite has them.

    Chroma would read the rows of all namespaces. Nothing may be written meanwhile: SQLite in Chroma
    and in Python are two, and one that closes the file lets go of the other's locks.
    """
    found = set()
    with reading(directory) as connection:
        collection = find_collection(connection, COLLECTION)
        stem = part_of(prefix)[:-1] if prefix else ""
        parts = [] if collection is None else namespace_parts(connection, collection, stem)
    for part in parts:
        with suppress(Unreadable):
            found.add(read_namespace({"part": part}))
    return tuple(sorted(found))


def listed_namespaces(rows: ChromaRows) -> tuple[Namespace, ...]:
    """Return the namespaces that hold an item, sorted."""
    found = set()
    for page in rows.pages({"state": {"$in": ["namespace", "emptied"]}}, ["metadatas"]):
        for metadata in page["metadatas"]:
            with suppress(Unreadable):  # that of an erased user, for one
                if metadata is not None and not is_empty(metadata):
                    found.add(read_namespace(metadata))
    return tuple(sorted(found))
