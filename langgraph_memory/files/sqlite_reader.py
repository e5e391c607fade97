"""An SQLite file that is read without a write, also while another process writes it.

SQLite's own locks keep a reader and a writer apart, and reading needs nothing but them, as long as
nobody was killed over the file. What is done depends on what is there:

| found | read |
|---|---|
| a rollback journal, or none | read-only, under SQLite's locks |
| a write-ahead log that a process has open | the same, and its shared memory read-only too |
| a write-ahead log's database, closed | as a file that does not change, until it does |
| what a killed process left to be rolled back | a copy in the system's folder for such files |

Closing a file lets go of all locks that this process has on it, whoever took them: a file that is
also open here through another library, as Chroma is one, must not be read like this.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from langgraph_memory.errors import StoreError

_FILES = ("", "-wal", "-journal")

_State = list[tuple[int, ...]]
"""Number, size and time of each of them; nothing of one that is not there."""


class SqliteReader:
    """A database that is only read; threads take turns.

    Args:
        file: The database.
        timeout: Seconds to wait while a writer has it locked.
    """

    def __init__(self, file: Path, timeout: float = 30.0) -> None:
        self._file = file
        self._timeout = timeout
        self._lock = threading.RLock()
        self._opened = ExitStack()
        self._connection: sqlite3.Connection | None = None
        self._state: _State = []
        self._fixed = False
        self._openings = 0
        self.version: tuple[int, int] = (0, 0)
        """As long as it is the same at two moments, nothing was written between them."""

    @contextmanager
    def moment(self) -> Iterator[sqlite3.Connection]:
        """Read in one transaction; one inside another is the same moment.

        Raises:
            StoreError: If the database cannot be read.
        """
        with self._lock, _errors(self._file, sqlite3.Error):
            if self._connection is not None and self._connection.in_transaction:
                yield self._connection
                return
            with _errors(self._file, OSError):
                connection = self._begun()
            try:
                yield connection
            finally:
                connection.rollback()

    def close(self) -> None:
        """Close the database; it can be read again."""
        with self._lock:
            self._connection = None
            self._opened.close()

    # -- parts of the above; the lock is held --

    def _begun(self) -> sqlite3.Connection:
        """Begin a transaction, with all locks that it needs."""
        for last in (False, False, True):
            if self._connection is None or self._replaced():
                self._open()
            try:
                return self._begin()
            except sqlite3.OperationalError as error:
                self.close()
                if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                    self._open_copy()
                    return self._begin()
                # Its writer may have closed it in this moment, and taken the log away.
                if last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN:
                    raise
        raise AssertionError("each attempt returns or raises")

    def _begin(self) -> sqlite3.Connection:
        assert self._connection is not None
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        (written,) = self._connection.execute("PRAGMA data_version").fetchone()
        self.version = (self._openings, written)
        return self._connection

    def _replaced(self) -> bool:
        """Whether another file has the name now, or what was taken for fixed has changed."""
        now = _state(self._file)
        return now != self._state if self._fixed else now[0][:1] != self._state[0][:1]

    def _open(self) -> None:
        self.close()
        self._state = _state(self._file)
        uri = f"{self._file.as_uri()}?mode=ro"
        # First of all, since looking into the file lets go of the locks by which this process, too,
        # may have a log open: another one would take it away.
        if os.path.exists(f"{self._file}-shm"):
            self._connect(f"{uri}&readonly_shm=1")  # which would be made, and written to
        elif not _is_logged(self._file):
            self._connect(uri)
        elif self._state[1][1:2] > (0,):
            self._open_copy()
        else:
            self._connect(f"{uri}&immutable=1")
            self._fixed = True

    def _open_copy(self) -> None:
        """Copy what has to be rolled back, or taken from a log, to where that can be done."""
        self.close()
        folder = tempfile.TemporaryDirectory(prefix="langgraph-memory-")
        copy = Path(self._opened.enter_context(folder), self._file.name)
        self._state = _state(self._file)
        for end in _FILES:
            if os.path.exists(f"{self._file}{end}"):
                shutil.copyfile(f"{self._file}{end}", f"{copy}{end}")
        self._connect(f"{copy.as_uri()}?mode=rw")
        self._fixed = True

    def _connect(self, uri: str) -> None:
        connection = sqlite3.connect(
            uri, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        self._opened.enter_context(closing(connection))
        self._connection = connection
        self._fixed = False
        self._openings += 1


@contextmanager
def _errors(file: Path, kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        raise StoreError(f"cannot read {file}: {error}") from error


def _is_logged(file: Path) -> bool:
    """Whether a database has a write-ahead log, by its header."""
    with file.open("rb") as opened:
        return opened.read(20)[18:] == b"\2\2"


def _state(file: Path) -> _State:
    return [_state_of(f"{file}{end}") for end in _FILES]


def _state_of(file: str) -> tuple[int, ...]:
    try:
        stat = os.stat(file)
    except FileNotFoundError:
        return ()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
