"""Copies of a directory: made while it is in use, and checked before they are relied on."""

from __future__ import annotations

from pathlib import Path

from langgraph_memory.chroma.calls import COLLECTION
from langgraph_memory.chroma.copy_process import copy_directory
from langgraph_memory.chroma.repair.repair import examine, finish_interrupted, note_whole, stored
from langgraph_memory.chroma.tables import DATABASE, reading, row_count
from langgraph_memory.errors import StoreError
from langgraph_memory.files import DirectoryLock, leave_mark


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
    lock = DirectoryLock(place)
    lock.acquire()
    try:
        finish_interrupted(place)
        main = stored(place, COLLECTION)
        if main is None:
            damage: str | None = "it has no collection"
        else:
            damage = examine(place, main)
            with reading(place) as connection:
                found = row_count(connection, main)
            if damage is None and found != rows:
                damage = f"it has {found:,} rows, expected {rows:,}"
        if damage is not None:
            raise StoreError(f"the copy of the memory is not whole ({damage}); try again")
        note_whole(lock)
        if rows:
            leave_mark(place / DATABASE)
    finally:
        lock.release()
