"""Files and names that are on the disk when a call returns.

A mark beside a database that it was written to: its loss is then told from a beginning.

SQLite and Chroma make a new, empty database where theirs is missing or has no bytes. The first
write leaves the mark before it is acknowledged, and so does opening a database that has rows and no
mark yet. A beginning that was interrupted has none, and is begun again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from langgraph_memory.errors import StoreError


def write_durably(path: Path, text: str) -> None:
    """Write a small file: it is there whole, or as it was before.

    Raises:
        OSError: If it cannot be written.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        flush_folder(path.parent)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def flush_folder(folder: Path) -> None:
    """Put the names in a folder on the disk; Windows, which opens no folders, does it by itself."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


_TEXT = """\
{name} was written to. As long as this file is beside it, its loss is noticed, and nothing begins
anew in silence. It holds nothing else.
"""


def mark_of(database: Path) -> Path:
    """Return where the mark of a database is."""
    return database.with_name(f"{database.name}.written")


def is_marked(database: Path) -> bool:
    """Whether a database was written to once."""
    return mark_of(database).exists()


def leave_mark(database: Path) -> None:
    """Mark a database, if it is not marked yet; the mark is on the disk when this returns.

    Raises:
        StoreError: If it cannot be written.
    """
    mark = mark_of(database)
    if mark.exists():
        return
    try:
        write_durably(mark, _TEXT.format(name=database.name))
    except OSError as error:
        raise StoreError(f"cannot write {mark}: {error}. Nothing else was written") from error
