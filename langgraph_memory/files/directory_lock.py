"""Who may open a directory: one process at a time, told apart by a lock of the operating system.

Chroma's index breaks, without an error at the time, when two processes write to one directory.
"""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from langgraph_memory.errors import StoreError, StoreLockedError

LOCK_FILE = "owner.lock"
OWNER_FILE = "owner.json"


def resolved(path: str | Path) -> Path:
    """Return a directory's path without `~`, links and dots.

    Raises:
        StoreError: If it cannot be one: of a user that is not there, in a circle of links.
    """
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(f"cannot use the directory {str(path)!r}: {error}") from error


class DirectoryLock:
    """The right to use a directory, held until `release` or the end of the process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.checked: Any = None
        """In which state the owner before left the index, as `say_checked` was given it."""
        self._lock = FileLock(directory / LOCK_FILE, thread_local=False)
        self._since = ""

    def acquire(self) -> None:
        """Take the directory, making it if it is not there.

        Raises:
            StoreLockedError: If another process has it; the message says which, and since when.
            StoreError: If the directory cannot be made or written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise StoreLockedError(
                f"{self.directory} is open in {self._owner()}. One process at a time can use a "
                "directory: close it there, give each process one of its own, or let them share a "
                "server (`chroma run --path ...`, `ChromaStore('http://...')`)"
            ) from error
        except OSError as error:
            raise self._unusable(error) from error
        self.checked = self._read().get("checked")
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            self.say_checked(None)
        except StoreError:
            self.release()
            raise

    def release(self) -> None:
        """Give the directory back."""
        self._lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def inheritable(self) -> tuple[int, ...]:
        """Return what a child process has to inherit to hold the directory too, until it ends.

        So the directory stays taken if this process is killed while a child writes to it. Where
        the system knows no such thing there is nothing to inherit.
        """
        number = self._lock._context.lock_file_fd
        return () if number is None or os.name == "nt" else (number,)

    def say_checked(self, state: Any) -> None:
        """Note for the next owner, as JSON, in which state the index is known to be whole.

        Until then nothing is known: an owner that crashes on the index leaves it so.

        Raises:
            StoreError: If the directory cannot be written.
        """
        who = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": self._since,
            "checked": state,
        }
        try:
            (self.directory / OWNER_FILE).write_text(json.dumps(who), encoding="utf-8")
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"cannot use the directory {self.directory}: {error}")

    def _read(self) -> dict[str, Any]:
        try:
            who = json.loads((self.directory / OWNER_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return who if isinstance(who, dict) else {}

    def _owner(self) -> str:
        who = self._read()
        try:
            return f"process {who['pid']} on {who['host']} since {who['since']}"
        except KeyError:
            return "another process"
