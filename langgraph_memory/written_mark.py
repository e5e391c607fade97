"""A mark beside a database that it was written to: its loss is then told from a beginning.

SQLite and Chroma make a new, empty database where theirs is missing or has no bytes. The first
write leaves the mark before it is acknowledged, and so does opening a database that has rows and no
mark yet. A beginning that was interrupted has none, and is begun again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from langgraph_memory.errors import StoreError

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
    half = mark.with_name(f"{mark.name}.new")
    try:
        with half.open("w", encoding="utf-8") as file:
            file.write(_TEXT.format(name=database.name))
            file.flush()
            os.fsync(file.fileno())
        half.replace(mark)
        _sync(mark.parent)
    except OSError as error:
        with suppress(OSError):
            half.unlink()
        raise StoreError(f"cannot write {mark}: {error}. Nothing else was written") from error


def _sync(folder: Path) -> None:
    """Put the names in a folder on the disk; Windows does it by itself."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
