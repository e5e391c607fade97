"""What an open collection reads from Chroma, made into items: whole namespaces, single rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from langgraph_memory.store.chroma_rows import PAGE, WHOLE, ChromaRows, cut
from langgraph_memory.store.rows import (
    Address,
    Namespace,
    StoredItem,
    is_item,
    items_from_rows,
    namespace_of,
    part_of,
    read_envelope,
)
from langgraph_memory.store.vector_clock import is_empty
from langgraph_memory.store.writing import Before


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


def stored_before(rows: ChromaRows, ids: Sequence[str]) -> dict[str, Before]:
    """Return what a write has to know of the items in rows, by the id of their row."""
    return {
        id: Before(envelope["created_at"], envelope["vectors"])
        for page in rows.at(ids, ["metadatas"])
        for id, metadata in zip(page["ids"], page["metadatas"], strict=True)
        if is_item(metadata)
        for envelope in [read_envelope(metadata)]
    }


def item_envelopes(
    rows: ChromaRows, where: dict[str, Any]
) -> Iterator[tuple[Address, dict[str, Any]]]:
    """Yield where items are, and what their rows say of them."""
    for page in rows.pages(where, ["metadatas"]):
        for metadata in filter(is_item, page["metadatas"]):
            yield (namespace_of(metadata["part"]), metadata["key"]), read_envelope(metadata)


def listed_namespaces(rows: ChromaRows) -> tuple[Namespace, ...]:
    """Return the namespaces that hold an item, sorted."""
    found = (
        namespace_of(metadata["part"])
        for page in rows.pages({"state": {"$in": ["namespace", "emptied"]}}, ["metadatas"])
        for metadata in page["metadatas"]
        if not is_empty(metadata) and "part" in metadata  # not that of an erased user
    )
    return tuple(sorted(found))
