"""A mark in a folder that something was written there once: its loss is then told from a beginning.

Chroma makes a new, empty database where its own is missing. The first write leaves the mark before
it is acknowledged, and so does opening a folder that has rows and no mark yet.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from langgraph_memory.errors import StoreError

MARK = "written.txt"


def leave_mark(file: Path, what: str) -> None:
    """Write a mark, whole and on the disk when this returns.

    Args:
        file: Where.
        what: Of what it tells that it was written to.

    Raises:
        StoreError: If it cannot be written.
    """
    text = (
        f"{what} was first written to before {datetime.now(UTC).isoformat(timespec='seconds')}. "
        "Without this file its loss would not be noticed.\n"
    )
    half = file.with_name(f"{file.name}.new")
    try:
        with half.open("w", encoding="utf-8") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
        half.replace(file)
        _sync(file.parent)
    except OSError as error:
        with suppress(OSError):
            half.unlink()
        raise StoreError(f"cannot write {file}: {error}. Nothing else was written") from error


def _sync(folder: Path) -> None:
    """Put the names in a folder on the disk, where the system can."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
