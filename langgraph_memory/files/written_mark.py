"""A mark beside a database that it was written to: its loss is then told from a beginning.

SQLite and Chroma make a new, empty database where theirs is missing or has no bytes. The first
write leaves the mark before it is acknowledged, and so does opening a database that has rows and no
mark yet. A beginning that was interrupted has none, and is begun again.
"""

from __future__ import annotations

from pathlib import Path

from langgraph_memory.errors import StoreError
from langgraph_memory.files.durable import write_durably

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
