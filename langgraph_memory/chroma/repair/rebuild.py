"""A collection written anew beside the old one, and put in its place.

The one way in which a collection gets other vectors or a fresh index: repair, another embedder and
compaction differ in where the vectors come from. It can be killed at any moment:

1. rows are copied into a second collection; those that are there already are passed over
2. the second collection is marked as complete
3. the old collection is deleted
4. the second one takes its name

Before step 2 the old collection counts, after it the new one: whoever opens the directory next
finishes the rest, with `finish_swap`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from langgraph_memory.chroma.calls import (
    COLLECTION,
    CONFIGURATION,
    SCHEMA,
    chroma_errors,
    cut,
    upsert,
)
from langgraph_memory.chroma.local_calls import Room, needed
from langgraph_memory.chroma.rows import Row
from langgraph_memory.errors import StoreError
from langgraph_memory.models import (
    Embedder,
    Fingerprint,
    Vectors,
    fingerprint_from_metadata,
    fingerprint_to_metadata,
    seeded_vector,
)

logger = logging.getLogger(__name__)

NEXT = f"{COLLECTION}_next"
COMPLETE = "complete"

Progress = Callable[[int, int], None]
"""Is told how many rows are done, and how many there are."""

VectorsOf = Callable[[Sequence[Row]], Vectors]
"""Makes the vectors of rows, of shape `(rows, dimensions)`."""

_PAGE = 500  # rows a call: what a kill costs to embed again


def embedded(embedder: Embedder) -> VectorsOf:
    """Return vectors made from the rows' texts; rows without a text get a seeded one.

    Args:
        embedder: One whose fingerprint is whole.
    """
    dims = embedder.fingerprint.dims
    assert dims is not None

    def vectors_of(rows: Sequence[Row]) -> Vectors:
        made = iter(embed_texts(embedder, [row.document for row in rows if row.document]))
        return np.stack(
            [next(made) if row.document else seeded_vector(row.id, dims) for row in rows]
        )

    return vectors_of


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed texts, with a coroutine function too: there is no event loop here that could wait."""
    if not embedder.only_async:
        return embedder.embed(texts, [])[0]
    with ThreadPoolExecutor(1) as thread:  # the caller's may have a loop that is running
        return thread.submit(asyncio.run, embedder.aembed(texts, [])).result()[0]


def copied_vectors(rows: Sequence[Row]) -> Vectors:
    """Return the vectors that the rows have."""
    return np.stack([row.vector for row in rows])


def rows_of(page: Any) -> list[Row]:
    """Return the rows of a page as Chroma's `get` has it; with empty vectors if it has none."""
    vectors = page.get("embeddings")
    if vectors is None:
        vectors = np.zeros((len(page["ids"]), 0))
    columns = zip(page["ids"], page["metadatas"], page["documents"], vectors, strict=True)
    return [
        Row(id, metadata, text or "", np.asarray(vector, np.float32))
        for id, metadata, text, vector in columns
    ]


def rebuild(
    client: Any,
    fingerprint: Fingerprint,
    vectors_of: VectorsOf,
    on_progress: Progress,
    room: Room,
) -> int:
    """Write all rows into a new collection, put it in the old one's place, and count its rows.

    Args:
        client: A Chroma client of a directory that nothing else writes to meanwhile.
        fingerprint: By what the new vectors are made.
        vectors_of: Where the vectors come from.
        on_progress: Called after each page of rows.
        room: The disk that the client writes to.

    Raises:
        StoreError: If Chroma fails, or the disk is full; call again to go on from there.
    """
    with chroma_errors("copying the collection"):
        old = client.get_collection(COLLECTION, embedding_function=None)
        new = _begun(client, fingerprint)
    kept = _copy(old, new, vectors_of, on_progress, room)
    with chroma_errors("completing the copy"):
        _drop_others(new, kept)
        found = new.count()
        if found != len(kept):
            raise StoreError(
                f"the copy of the collection has {found:,} rows, expected {len(kept):,}: the old "
                "one was left in place; try again"
            )
        new.modify(metadata={**_metadata(fingerprint), COMPLETE: True})
    finish_swap(client)
    return len(kept)


def finish_swap(client: Any) -> None:
    """Put a complete new collection in the old one's place, if there is one."""
    with chroma_errors("replacing the collection"):
        collections = {collection.name: collection for collection in client.list_collections()}
        new = collections.get(NEXT)
        if new is None or not is_complete(new.metadata or {}):
            return
        if COLLECTION in collections:
            client.delete_collection(COLLECTION)
        metadata = {key: value for key, value in new.metadata.items() if key != COMPLETE}
        new.modify(name=COLLECTION, metadata=metadata)


def is_complete(metadata: Any) -> bool:
    """Return whether a new collection has all rows of the old one."""
    return bool(metadata.get(COMPLETE))


def _metadata(fingerprint: Fingerprint) -> dict[str, Any]:
    return {"schema": SCHEMA, **fingerprint_to_metadata(fingerprint)}


def _begun(client: Any, fingerprint: Fingerprint) -> Any:
    """Return the new collection: the one that was begun for the same embedder, or an empty one."""
    names = [collection.name for collection in client.list_collections()]
    if NEXT in names:
        begun = client.get_collection(NEXT, embedding_function=None)
        stored = fingerprint_from_metadata(begun.metadata or {})
        if stored is not None and fingerprint.matches(stored):
            return begun
        logger.info("a copy that was begun for another embedder is dropped")
        client.delete_collection(NEXT)
    return client.create_collection(
        NEXT,
        embedding_function=None,
        metadata=_metadata(fingerprint),
        configuration=CONFIGURATION,
    )


def _copy(old: Any, new: Any, vectors_of: VectorsOf, on_progress: Progress, room: Room) -> set[str]:
    """Copy what is not there yet; return the ids of all rows. An embedder's errors are its own."""
    include = ["metadatas", "documents", *(["embeddings"] if vectors_of is copied_vectors else [])]
    with chroma_errors("reading the old collection"):
        ids = old.get(include=[])["ids"]
    kept: set[str] = set()
    done = 0
    for page_ids in cut(ids, _PAGE):
        with chroma_errors("reading the old collection"):
            page = rows_of(old.get(ids=page_ids, include=include))
            rows = [row for row in page if (row.metadata or {}).get("state") != "tombstone"]
            missing = _not_yet(new, rows)
        kept.update(row.id for row in rows)
        if missing:
            vectors = vectors_of(missing)
            room.check(needed(0, *vectors.shape))  # all of it was asked for before
            written = [replace(row, vector=own) for row, own in zip(missing, vectors, strict=True)]
            with chroma_errors("writing the new collection"):
                upsert(new, written)
        done += len(page_ids)
        on_progress(done, len(ids))
    return kept


def _not_yet(new: Any, rows: list[Row]) -> list[Row]:
    """Return the rows that the new collection lacks, or has as they were before."""
    if not rows:
        return rows
    found = new.get(ids=[row.id for row in rows], include=["metadatas", "documents"])
    there = {row.id: (row.metadata, row.document) for row in rows_of(found)}
    missing = [row for row in rows if there.get(row.id) != (row.metadata, row.document)]
    outdated = [row.id for row in missing if row.id in there]
    if outdated:  # Chroma would merge the old metadata into the new
        new.delete(ids=outdated)
    return missing


def _drop_others(new: Any, kept: set[str]) -> None:
    """Delete what the old collection does not have any more."""
    others = [id for id in new.get(include=[])["ids"] if id not in kept]
    for page in cut(others, _PAGE):
        new.delete(ids=page)
