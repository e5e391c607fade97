"""Which users' bytes are still to be overwritten in a directory, kept in it until that is done.

Their records are gone by then. So the file holds their ids, as long as it is there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from langgraph_memory.chroma.held_files import PENDING
from langgraph_memory.errors import StoreError
from langgraph_memory.files import write_durably


def pending_users(directory: Path) -> tuple[str, ...]:
    """Return whose bytes are still to be overwritten."""
    try:
        users = json.loads((directory / PENDING).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # it is put in place whole
        return ()
    return tuple(user for user in users if isinstance(user, str)) if users else ()


def add_pending(directory: Path, users: Sequence[str]) -> None:
    """Note that some users' bytes are to be overwritten; others that are noted stay so.

    Raises:
        StoreError: If it cannot be written.
    """
    noted = list(dict.fromkeys([*pending_users(directory), *users]))
    try:
        write_durably(directory / PENDING, json.dumps(noted))  # escaped: any id can be written
    except OSError as error:
        raise StoreError(f"cannot write {directory / PENDING}: {error}") from error


def clear_pending(directory: Path) -> None:
    """Note that nothing is left to overwrite, and overwrite the note itself."""
    for file in (directory / f"{PENDING}.new", directory / PENDING):
        try:
            if file.exists():
                file.write_bytes(bytes(file.stat().st_size))
                file.unlink()
        except OSError as error:
            raise StoreError(f"cannot delete {file}: {error}") from error
