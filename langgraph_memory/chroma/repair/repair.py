"""What is looked at, and put right, before a directory is opened. Its lock is held.

Text and metadata are the truth, in SQLite; vectors can be made again from them.
"""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from langgraph_memory.chroma.calls import COLLECTION, opened_client
from langgraph_memory.chroma.held_files import UUID
from langgraph_memory.chroma.index_files import PICKLE, deleted_and_live, file_state, find_damage
from langgraph_memory.chroma.local_calls import Room
from langgraph_memory.chroma.repair.probe import find_fault
from langgraph_memory.chroma.repair.rebuild import (
    NEXT,
    Progress,
    VectorsOf,
    copied_vectors,
    embed_texts,
    embedded,
    finish_swap,
    is_complete,
    rebuild,
)
from langgraph_memory.chroma.tables import (
    DATABASE,
    StoredCollection,
    find_collection,
    reading,
    rows_stored,
)
from langgraph_memory.errors import StoreError
from langgraph_memory.files import DirectoryLock, is_marked, leave_mark
from langgraph_memory.models import PROBE, Embedder, Fingerprint, fingerprint_from_metadata

logger = logging.getLogger(__name__)

QUARANTINE = "quarantine"
MIN_DELETED = 1_000
"""An index with fewer deleted elements is left as it is: Chroma writes to it every 1,000 rows."""


def make_ready(lock: DirectoryLock, embedder: Embedder) -> None:
    """Finish what was interrupted, repair a broken index, compact one that is mostly deleted.

    The index is examined if something wrote to its files since they were last known to be whole:
    when they were examined, or when their owner closed them.

    Raises:
        StoreError: If the directory cannot be repaired, or what was written there is gone; what it
            holds is left in place.
        EmbedderMismatchError: If vectors have to be made, and another embedder made the others.
    """
    directory = lock.directory
    finish_interrupted(directory)
    main = stored(directory, COLLECTION)
    if main is None:
        refuse_lost(directory)
        return
    mark_rows(directory, main)
    damage = damage_since_checked(lock, main)
    if damage is not None:
        repair(directory, main, damage, embedder)
    elif compaction_due(*deleted_and_live(directory, main)):
        try:
            compact_collection(directory, main)
        except StoreError:  # a full disk, for one: the collection works as it is
            logger.warning("%s could not be compacted", directory, exc_info=True)
            finish_interrupted(directory)


def stored(directory: Path, name: str) -> StoredCollection | None:
    """Return what the database says of a collection; `None` if there is none."""
    if not (directory / DATABASE).exists():
        return None
    with reading(directory) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        # Chroma was killed before it had made its tables, if they are missing.
        return find_collection(connection, name) if ("max_seq_id",) in tables else None


def refuse_lost(directory: Path) -> None:
    """Refuse a directory without a collection if something was written to it once.

    Raises:
        StoreError: What is gone, and what to do.
    """
    file = directory / DATABASE
    there = file.is_file() and file.stat().st_size > 0
    if is_marked(file) or (not there and any(directory.glob(f"*/{PICKLE}"))):
        gone = f"the collection {COLLECTION!r} is not in {file}" if there else f"{file} is gone"
        raise StoreError(
            f"{directory} held a memory, and {gone}. All texts were in that file: put it back from "
            "a backup. To begin with an empty memory, name another folder, or empty this one"
        )


def mark_rows(directory: Path, collection: StoredCollection) -> None:
    """Leave the mark where rows were written before there was one."""
    if is_marked(directory / DATABASE):
        return
    if rows_stored(directory, collection):
        try:
            leave_mark(directory / DATABASE)
        except StoreError:
            logger.warning("%s could not be marked as written to", directory, exc_info=True)


def finish_interrupted(directory: Path) -> None:
    """Finish a swap that was interrupted after the new collection was complete."""
    new = stored(directory, NEXT)
    if new is not None and is_complete(new.metadata):
        logger.warning("finishing an interrupted replacement of the collection in %s", directory)
        with opened_client(directory) as client:
            finish_swap(client)


def damage_since_checked(lock: DirectoryLock, collection: StoredCollection) -> str | None:
    """Return what is wrong with the index, examined only if something has written to it."""
    if file_state(lock.directory, collection) == lock.checked:
        return None
    return examine(lock.directory, collection)


def note_whole(lock: DirectoryLock) -> None:
    """Note for the next owner that the index is whole as it is now."""
    main = stored(lock.directory, COLLECTION)
    lock.say_checked(file_state(lock.directory, main) if main else [])


def examine(directory: Path, collection: StoredCollection) -> str | None:
    """Return what is wrong with an index, `None` if nothing; Chroma tries it in a child process."""
    damage = find_damage(directory, collection)
    if damage is not None or not file_state(directory, collection):
        return damage
    return find_fault(directory, collection.name, rows_stored(directory, collection))


def compaction_due(deleted: int, live: int) -> bool:
    """Return whether so much of an index is deleted that opening it compacts it."""
    return deleted >= MIN_DELETED and deleted > live


def repair(
    directory: Path,
    collection: StoredCollection,
    damage: str,
    embedder: Embedder,
    on_progress: Progress | None = None,
) -> int:
    """Move a broken index aside and make all vectors again; return how many rows there are."""
    known = fingerprint_from_metadata(collection.metadata)
    fingerprint = confirmed(embedder, known)
    moved = quarantine(directory, collection)
    logger.warning(
        "the vector index in %s is broken (%s). %s; the vectors are made again from the texts",
        directory,
        damage,
        f"Its files were moved to {moved}" if moved else "It has no files",
    )
    count = replace_collection(
        directory, known or fingerprint, embedded(embedder), "Repairing", on_progress
    )
    logger.warning("the vector index in %s is whole again: %s rows", directory, f"{count:,}")
    return count


def compact_collection(
    directory: Path, collection: StoredCollection, on_progress: Progress | None = None
) -> None:
    """Copy a collection without its deleted elements."""
    fingerprint = fingerprint_from_metadata(collection.metadata)
    if fingerprint is None:  # never written to
        return
    logger.info("compacting %s", directory)
    replace_collection(directory, fingerprint, copied_vectors, "Compacting", on_progress)


def confirmed(embedder: Embedder, known: Fingerprint | None) -> Fingerprint:
    """Return the whole fingerprint of an embedder, after comparing it with the stored one."""
    if known is not None:
        embedder.adopt(known)
    if embedder.needs_probe:
        embedder.learn(embed_texts(embedder, [PROBE])[0])
        if known is not None:
            embedder.fingerprint.check(known)
    return embedder.fingerprint


def replace_collection(
    directory: Path,
    fingerprint: Fingerprint,
    vectors_of: VectorsOf,
    doing: str,
    on_progress: Progress | None,
) -> int:
    """Rebuild the collection, give back the space that the old one took, and count its rows."""
    room = Room(directory)
    room.check_copy()
    begun = stored(directory, NEXT)
    broken = begun is not None and examine(directory, begun) is not None
    with opened_client(directory) as client, _shown(doing, on_progress) as progress:
        if broken:
            client.delete_collection(NEXT)
        count = rebuild(client, fingerprint, vectors_of, progress, room)
    try:
        give_back_space(directory)
    except StoreError:  # it needs some space itself
        logger.warning("the space of the old collection is not free yet", exc_info=True)
    return count


def quarantine(directory: Path, collection: StoredCollection) -> Path | None:
    """Move index files to a place where Chroma does not see them; they are never deleted."""
    index = directory / collection.index_segment
    if not index.is_dir():
        return None
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    place = directory / QUARANTINE / f"{time}-{collection.index_segment}"
    try:
        place.parent.mkdir(exist_ok=True)
        index.rename(place)
    except OSError as error:
        raise StoreError(f"cannot move the broken index {index} to {place}: {error}") from error
    return place


def give_back_space(directory: Path) -> None:
    """Delete the index directories of deleted collections, and the free pages of the database.

    Raises:
        StoreError: If that fails, as it does without space for a second copy of the database.
    """
    with reading(directory) as connection:
        segments = {id for (id,) in connection.execute("SELECT id FROM segments")}
    try:
        for path in sorted(directory.iterdir()):
            if path.is_dir() and re.fullmatch(UUID, path.name) and path.name not in segments:
                shutil.rmtree(path)
        with closing(sqlite3.connect(directory / DATABASE, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")  # pages keep old bytes between rows
            connection.execute("VACUUM")
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot give back the unused space of {directory}: {error}") from error


@contextmanager
def _shown(doing: str, on_progress: Progress | None) -> Iterator[Callable[[int, int], None]]:
    """Report progress to a caller's function, or as a bar if the output is a terminal."""
    if on_progress is not None:
        yield on_progress
        return
    from tqdm import tqdm

    with tqdm(desc=doing, unit="row", disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show
