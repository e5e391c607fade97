"""Who may open a directory: one process at a time, told apart by a lock of the operating system.

Chroma's index breaks, without an error at the time, when two processes write to one directory.
"""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from langgraph_memory.errors import StoreError, StoreLockedError

LOCK_FILE = "owner.lock"
OWNER_FILE = "owner.json"


class DirectoryLock:
    """The right to use a directory, held until `release` or the end of the process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = FileLock(directory / LOCK_FILE, thread_local=False)

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
                "directory: close it there, run one worker process, or give each a directory"
            ) from error
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._say_who()
        except OSError as error:
            self.release()
            raise self._unusable(error) from error

    def release(self) -> None:
        """Give the directory back."""
        self._lock.release()

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"cannot use the directory {self.directory}: {error}")

    def _say_who(self) -> None:
        who = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        (self.directory / OWNER_FILE).write_text(json.dumps(who), encoding="utf-8")

    def _owner(self) -> str:
        try:
            who = json.loads((self.directory / OWNER_FILE).read_text(encoding="utf-8"))
            return f"process {who['pid']} on {who['host']} since {who['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"
