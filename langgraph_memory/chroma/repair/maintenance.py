"""A directory looked after by hand: doctor, another embedder, compaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from langgraph_memory.chroma.calls import COLLECTION
from langgraph_memory.chroma.copy_process import copy_directory
from langgraph_memory.chroma.erasing import finish_erasure, pending_users
from langgraph_memory.chroma.held_files import unknown_files
from langgraph_memory.chroma.index_files import rows_and_vectors
from langgraph_memory.chroma.local_calls import COPY_AND_SHRINK, Room
from langgraph_memory.chroma.read_only import FolderRows
from langgraph_memory.chroma.repair.rebuild import Progress, embedded
from langgraph_memory.chroma.repair.repair import (
    compact_collection,
    confirmed,
    damage_since_checked,
    examine,
    finish_interrupted,
    give_back_space,
    note_whole,
    quarantine,
    repair,
    replace_collection,
    stored,
)
from langgraph_memory.chroma.rows import flaw_of_row
from langgraph_memory.chroma.server import is_url
from langgraph_memory.chroma.tables import (
    DATABASE,
    StoredCollection,
    rows_stored,
)
from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.files import DirectoryLock, leave_mark, resolved
from langgraph_memory.models import Embed, Embedder, fingerprint_from_metadata


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in a directory, and what was done about it, in words."""

    rows: int
    """Rows of the collection: items, their further indexed fields, namespaces."""
    vectors: int
    """How many of them have a vector, in the end."""
    found: tuple[str, ...] = ()
    """What was wrong: with the index, and with rows that are passed over."""
    done: tuple[str, ...] = ()
    """What was done."""


def doctor(
    path: str | Path, embed: Embed | None = None, *, on_progress: Progress | None = None
) -> Report:
    """Examine a directory from the ground up, and repair its vector index if it is broken.

    Rows that cannot be read, or that hold no record where a user's are, are listed and left: they
    are another program's, or damaged. `store.delete` removes one by its namespace and key.

    Chroma reads every vector in a child process, whatever the last owner said.

    Args:
        path: A directory that nothing has open.
        embed: The embedder that it was written with; used if vectors have to be made again.
        on_progress: Called with the rows done and all rows, instead of a bar on the terminal.

    Raises:
        StoreLockedError: If the directory is open.
        StoreError: If it cannot be read or repaired.
        EmbedderMismatchError: If vectors have to be made, and another embedder made the others.

    Example:
        >>> from langgraph_memory import ChromaStore, doctor
        >>> with ChromaStore("./memory") as store:
        ...     store.put(("beans",), "1", {"text": "Colombia"})
        >>> doctor("./memory")
        Report(rows=2, vectors=2, found=(), done=())
    """
    with _owned(path) as (directory, lock, main):
        embedder = Embedder(embed)
        damage = examine(directory, main)
        found = [damage] if damage is not None else []
        done: list[str] = []
        if damage is not None:
            made = repair(directory, main, damage, embedder, on_progress)
            done.append(f"made {made:,} vectors again")
        if waiting := pending_users(directory):
            found.append(f"bytes of {len(waiting):,} erased users were still to be overwritten")
            done += [f"overwrote the bytes of {len(finish_erasure(lock)):,} erased users"]
        if unknown := unknown_files(directory):
            found.append(f"files that are not the memory's: {', '.join(unknown)}")
        found += _unreadable(directory, embedder)
        return _report(lock, found, done)


def reembed(
    path: str | Path, embed: Embed | None, *, on_progress: Progress | None = None
) -> Report:
    """Move a directory to another embedder: make all vectors again, from the stored texts.

    Until the end the old vectors are in place. If it is killed, the next call goes on from there,
    and embeds what was written in the meantime. Where that embedder made the vectors already,
    nothing is done.

    Args:
        path: A directory that nothing has open.
        embed: The new embedder, as `ChromaStore` takes it; `None` is the embedded default.
        on_progress: Called with the rows done and all rows, instead of a bar on the terminal.

    Raises:
        StoreLockedError: If the directory is open.
        StoreError: If it cannot be read or written.
    """
    with _owned(path) as (directory, lock, main):
        embedder = Embedder(embed)
        fingerprint = confirmed(embedder, None)
        damage = damage_since_checked(lock, main)
        known = fingerprint_from_metadata(main.metadata)
        if damage is None and known is not None and fingerprint.matches(known):
            return _report(lock)
        if damage is not None:
            quarantine(directory, main)
        made = replace_collection(
            directory, fingerprint, embedded(embedder), "Embedding", on_progress
        )
        done = f"made {made:,} vectors with {fingerprint.describe()}"
        return _report(lock, [damage] if damage else [], [done])


def compact(path: str | Path, *, on_progress: Progress | None = None) -> Report:
    """Rebuild the index without deleted elements, and give back all space that is not used.

    No text is embedded.

    Args:
        path: A directory that nothing has open.
        on_progress: Called with the rows done and all rows, instead of a bar on the terminal.

    Raises:
        StoreLockedError: If the directory is open.
        StoreError: If it cannot be read or written, or its index is broken: `doctor` repairs it.
    """
    with _owned(path) as (directory, lock, main):
        damage = damage_since_checked(lock, main)
        if damage is not None:
            raise StoreError(f"the index in {directory} is broken ({damage}): doctor repairs it")
        Room(directory).check_copy(COPY_AND_SHRINK)
        before = _size(directory)
        compact_collection(directory, main, on_progress)
        give_back_space(directory)
        given = before - _size(directory)
        done = f"gave back {given:,} bytes" if given > 0 else "there was nothing to give back"
        return _report(lock, [], [done])


@contextmanager
def _owned(path: str | Path) -> Iterator[tuple[Path, DirectoryLock, StoredCollection]]:
    """Take a directory that holds a memory, for the time of a block."""
    if is_url(path):
        raise ConfigurationError(
            f"this works on the folder of a memory, and {path} is a server: stop it, and give the "
            "folder that it was started with"
        )
    directory = resolved(path)
    if not (directory / DATABASE).is_file():
        raise ConfigurationError(f"there is no memory in {directory}: {DATABASE} is missing")
    with DirectoryLock(directory) as lock:
        finish_interrupted(directory)
        main = stored(directory, COLLECTION)
        if main is None:
            raise ConfigurationError(f"{directory} has no collection {COLLECTION!r}")
        yield directory, lock, main


def _report(lock: DirectoryLock, found: Sequence[str] = (), done: Sequence[str] = ()) -> Report:
    note_whole(lock)
    main = stored(lock.directory, COLLECTION)
    assert main is not None
    return Report(*rows_and_vectors(lock.directory, main), tuple(found), tuple(done))


def _unreadable(directory: Path, embedder: Embedder) -> list[str]:
    """Return which rows are passed over, each with its id and with what is wrong."""
    with closing(FolderRows(directory, embedder)) as rows:
        return [
            f"row {id} cannot be read: {wrong}"
            for page in rows.pages(None, ["metadatas"])
            for id, metadata in zip(page["ids"], page["metadatas"], strict=True)
            if (wrong := flaw_of_row(id, metadata)) is not None
        ]


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def copied_directory(directory: Path, place: Path) -> int:
    """Copy a directory; return how many rows there are.

    Raises:
        StoreError: If it cannot be copied.
    """
    try:
        return copy_directory(directory, place)
    except OSError as error:
        raise StoreError(f"{directory} cannot be copied to {place}: {error}") from error


def checked(place: Path, rows: int) -> None:
    """Open a copy, and count what it holds.

    Raises:
        StoreError: If it is not whole.
    """
    with DirectoryLock(place) as lock:
        finish_interrupted(place)
        main = stored(place, COLLECTION)
        damage = "it has no collection" if main is None else examine(place, main)
        if main is not None and damage is None and (found := rows_stored(place, main)) != rows:
            damage = f"it has {found:,} rows, expected {rows:,}"
        if damage is not None:
            raise StoreError(f"the copy of the memory is not whole ({damage}); try again")
        note_whole(lock)
        if rows:
            leave_mark(place / DATABASE)
