"""A backup of a memory's folder and its sessions, made while they are in use.

It is made in a folder beside its place, under a name of its own, opened and counted there, and
only then gets its name: under that name there is a whole backup or none.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from langgraph.store.base import BaseStore

from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.files import DirectoryLock, flush_folder, leave_mark, resolved
from langgraph_memory.sessions import FILE_NAME, Sessions, open_sessions


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds."""

    path: Path
    """The folder: opened like any other, `ChromaStore(path)` and `open_sessions(path)`."""
    rows: int
    """Rows of the collection: items, their further indexed fields, namespaces."""
    threads: int | None
    """Threads of all users; `None` if it has no sessions."""
    size: int
    """Bytes of all its files."""


def back_up(store: BaseStore, path: str | Path, sessions: Sessions | None) -> Backup:
    """Copy a memory's folder and its sessions to a place where there is nothing yet."""
    copy_to = getattr(store, "copy_to", None)
    if copy_to is None:
        raise ConfigurationError(
            f"{type(store).__name__} has no backup of its own kind here: use that of its database"
        )
    if sessions is not None and not isinstance(sessions, Sessions):
        raise ConfigurationError(f"sessions= takes what open_sessions returned, got {sessions!r}")
    if not isinstance(path, (str, Path)):
        raise ConfigurationError(f"backup takes the path of a folder, got {path!r}")
    target = resolved(path)
    folder = getattr(store, "directory", None)
    if folder in target.parents:
        raise ConfigurationError(
            f"{target} lies in the memory's own folder, {folder}: a backup is made beside it, or "
            "on another disk"
        )
    with _half_made(target) as place:
        rows = copy_to(place)
        threads = _copy_sessions(store, sessions, place)
        size = _flush(place)
    return Backup(target, rows, threads, size)


def _copy_sessions(store: BaseStore, sessions: Sessions | None, place: Path) -> int | None:
    """Copy the sessions that were given, or else those that lie in the folder.

    They come after the records: a message that the records lack is kept with the thread's next
    turn.
    """
    if sessions is not None:
        return _copied(sessions, place)
    folder = getattr(store, "directory", None)
    if folder is None or not (folder / FILE_NAME).is_file():
        return None
    with open_sessions(folder, read_only=bool(getattr(store, "read_only", False))) as there:
        return _copied(there, place)


def _copied(sessions: Sessions, place: Path) -> int:
    threads = sessions.copy_to(place / FILE_NAME)
    leave_mark(place / FILE_NAME)  # so that its loss is noticed
    return threads


@contextmanager
def _half_made(target: Path) -> Iterator[Path]:
    """Make a folder elsewhere, and give it the name of a target at the end.

    Raises:
        ConfigurationError: If something is there already.
        StoreLockedError: If another process makes a backup of that name.
        StoreError: If the disk fails.
    """
    _refuse_what_is_there(target)
    place = target.with_name(f".{target.name}.partial")
    lock = DirectoryLock(place)
    lock.acquire()
    try:
        for path in place.iterdir():  # what a killed process left
            if path.name not in _OF_LOCK:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        content = place / "content"
        content.mkdir()
        yield content
        _refuse_what_is_there(target)
        if target.is_dir():
            target.rmdir()
        content.rename(target)
        flush_folder(target.parent)
    except OSError as error:
        raise StoreError(f"the backup {target} cannot be made: {error}") from error
    finally:
        lock.release()
        shutil.rmtree(place, ignore_errors=True)


_OF_LOCK = {"owner.lock", "owner.json"}


def _refuse_what_is_there(target: Path) -> None:
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ConfigurationError(
            f"{target} is there already: a backup is made where there is nothing, or an empty "
            "folder; give it another name"
        )


def _flush(place: Path) -> int:
    """Let all files reach the disk; return how many bytes they have."""
    size = 0
    for file in place.rglob("*"):
        if file.is_file():
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())
            size += file.stat().st_size
        else:
            flush_folder(file)
    flush_folder(place)
    return size
