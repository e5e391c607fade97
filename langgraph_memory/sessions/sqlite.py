"""Sessions in an SQLite file: its transactions and errors, and the official saver, guarded."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import TypeVar

from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.files import SqliteReader, is_marked, leave_mark, mark_of
from langgraph_memory.sessions.guard import Guard
from langgraph_memory.sessions.state_redaction import StateRedactor
from langgraph_memory.sessions.threads import Connection, Threads

_HINTS = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked; close that one or raise busy_timeout=",
    sqlite3.SQLITE_READONLY: "it is read-only; make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; make its folder writable",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database; give another path",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore a backup or move it away",
    sqlite3.SQLITE_FULL: "the disk is full",
}
_INCREMENTAL = 2
_PATIENCE = 1.0  # seconds that emptying the log waits for readers, and all writers for it

FILE_NAME = "sessions.sqlite"
MEMORY = ":memory:"

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@contextmanager
def sqlite_errors(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        hint = _HINTS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "the database failed")
        raise StoreError(f"sessions in {path}: {hint} (SQLite: {error})") from error


class SqliteThreads(Threads):
    """Threads in one SQLite file, on one connection that all callers take turns at."""

    WRITES = "writes"
    WRITTEN = "task_id, task_path, idx, channel, type, value"
    TABLES = ("checkpoints", "writes")

    def __init__(self, path: str, busy_timeout: float) -> None:
        super().__init__(path)
        self._busy_timeout = busy_timeout
        self._lock = threading.RLock()
        with sqlite_errors(path):
            self.conn = sqlite3.connect(
                path, timeout=busy_timeout, isolation_level=None, check_same_thread=False
            )

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        self._check_process()
        with self._lock, sqlite_errors(self.place):
            self._check_open()
            if self.conn.in_transaction:
                yield self.conn
                return
            with self.conn:
                self.conn.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield self.conn

    def create(self) -> None:
        super().create()
        self.conn.execute("PRAGMA secure_delete = ON")
        query = "SELECT EXISTS (SELECT 1 FROM threads) OR EXISTS (SELECT 1 FROM checkpoints)"
        if self.conn.execute(query).fetchone()[0]:
            self._mark()

    def _claim(self, conn: Connection, user: str, thread: str, at: datetime) -> bool:
        self._mark()
        return super()._claim(conn, user, thread, at)

    def _mark(self) -> None:
        if self.place != MEMORY:
            leave_mark(Path(self.place))

    def shrink(self) -> None:
        """Give back free pages, and empty the log, which may hold what was deleted."""
        with self._lock, sqlite_errors(self.place):
            if self.conn.execute("PRAGMA auto_vacuum").fetchone()[0] == _INCREMENTAL:
                # A page a step, and `execute` takes one step.
                self.conn.executescript("PRAGMA incremental_vacuum")
            self._wait_at_most(min(_PATIENCE, self._busy_timeout))
            try:
                self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self._wait_at_most(self._busy_timeout)

    @property
    def files(self) -> tuple[Path, ...]:
        if self.place == MEMORY:
            return ()
        return tuple(Path(f"{self.place}{end}") for end in ("", "-wal", "-shm", "-journal"))

    def scour(self) -> None:
        """Write the file anew; pages keep old bytes between rows, which others may have left."""
        with self._lock, sqlite_errors(self.place):
            self.conn.execute("VACUUM")
        self.shrink()

    def copy_to(self, file: Path) -> int:
        self._check_process()
        with sqlite_errors(self.place), closing(sqlite3.connect(file)) as copy:
            with self._beside() as source:
                rows = self._counted(source)
                source.backup(copy)
            (state,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok" or self._counted(copy) != rows:
                raise StoreError(f"the copy of the sessions in {self.place} is not whole: {state}")
            return rows[0]

    @contextmanager
    def _beside(self) -> Iterator[sqlite3.Connection]:
        """Begin to read beside those who take turns; what is in memory has one connection alone."""
        if self.place == MEMORY:
            with self.transaction(write=False) as conn:
                yield conn
            return
        self._check_open()
        connected = sqlite3.connect(self.place, timeout=self._busy_timeout, isolation_level=None)
        with closing(connected) as conn:
            conn.execute("BEGIN")
            yield conn

    def _counted(self, conn: sqlite3.Connection) -> list[int]:
        tables = ("threads", *self.TABLES)
        return [conn.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables]

    def _wait_at_most(self, seconds: float) -> None:
        self.conn.execute(f"PRAGMA busy_timeout = {ceil(1000 * seconds)}")

    def _copied(self, conn: Connection, thread: str, to: str) -> None:
        """Nothing: a checkpoint has all of its state in its row."""

    def _pruned(self, conn: Connection, thread: str) -> None:
        """Nothing, either."""

    def close(self) -> None:
        with self._lock, sqlite_errors(self.place):
            self._closed = True
            self.conn.close()


class ReadThreads(SqliteThreads):
    """Threads in one SQLite file that is only read, also while another process writes it."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        Threads.__init__(self, path)
        self._reader = SqliteReader(Path(path), busy_timeout)
        self.conn = sqlite3.connect(":memory:", check_same_thread=False)  # for the saver

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        self._check_process()
        self._check_open()
        if write:
            raise ConfigurationError(
                f"sessions in {self.place} are open with read_only=True: nothing can be written, "
                "forked, pruned or deleted"
            )
        with sqlite_errors(self.place), self._reader.moment() as conn:
            yield conn

    @contextmanager
    def _beside(self) -> Iterator[sqlite3.Connection]:
        with self.transaction(write=False) as conn:
            yield conn

    def shrink(self) -> None:
        """Nothing: what is only read stays as it is."""

    def close(self) -> None:
        self._closed = True
        self._reader.close()
        self.conn.close()


class SqliteGuard(Guard, SqliteSaver):
    """The official SQLite saver behind the guard, within the guard's transactions."""

    threads: SqliteThreads

    def __init__(self, threads: SqliteThreads, redacts: StateRedactor | None) -> None:
        super().__init__(threads.conn)
        self.threads, self.redacts = threads, redacts

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        with self.threads.transaction(write=transaction) as conn, closing(conn.cursor()) as cursor:
            yield cursor


class ReadGuard(SqliteGuard):
    """The same for a file that is only read, whose connection is that of the moment."""

    @property
    def conn(self) -> sqlite3.Connection:
        with self.threads.transaction(write=False) as conn:
            return conn

    @conn.setter
    def conn(self, given: sqlite3.Connection) -> None:
        """Leave it: the saver sets what it was made with."""


def place_of_file(path: str | os.PathLike[str]) -> str:
    """Return where sessions lie: the folder of this moment is meant, wherever it is first used.

    Raises:
        ConfigurationError: If it is a URL, or empty.
    """
    text = os.fspath(path)
    url = _URL.match(text)
    if not text or url:
        raise ConfigurationError(
            "sessions take the path of a folder or an SQLite file, or (open_sessions alone) a URL "
            f"that begins with postgresql://, got {url[0] if url else text!r}"
        )
    return text if text == MEMORY else os.path.abspath(text)


G = TypeVar("G", bound=SqliteGuard)


def open_sqlite(kind: type[G], place: str, busy_timeout: float, redacts: StateRedactor | None) -> G:
    """Open the saver of a file behind a guard of a kind, and make its folder and its tables."""
    path = place
    if place != MEMORY:
        file = _file_of(place)
        path = str(file)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"sessions in {file}: the folder cannot be made ({error})") from error
    _refuse_lost(path)
    threads = SqliteThreads(path, busy_timeout)
    saver = kind(threads, redacts)
    try:
        with sqlite_errors(path):
            # Counts for a file that has no table yet.
            threads.conn.execute("PRAGMA auto_vacuum = INCREMENTAL")
            saver.setup()
        threads.create()
    except BaseException:
        threads.close()
        raise
    return saver


def _refuse_lost(path: str) -> None:
    """Refuse a file that is missing or empty if threads were written to it once."""
    file = Path(path)
    if path == MEMORY or not is_marked(file) or (file.exists() and file.stat().st_size):
        return
    raise StoreError(
        f"sessions in {file}: it held threads, and is {'empty' if file.exists() else 'gone'}. Put "
        f"it back from a backup; to begin without them, delete {mark_of(file)}"
    )


def open_sqlite_read_only(place: str, busy_timeout: float) -> SqliteGuard:
    """Open the saver of a file behind a guard, to be only read.

    Raises:
        StoreError: If there is no such file, or not any more.
    """
    return ReadGuard(ReadThreads(str(existing_file(place)), busy_timeout), None)


def existing_file(place: str) -> Path:
    """Return the file that sessions lie in.

    Raises:
        StoreError: If there is no such file, or not any more.
    """
    file = _file_of(place)
    _refuse_lost(str(file))
    if not file.is_file():
        raise StoreError(
            f"there are no sessions in {file}: check the path, or open it once without "
            "read_only=True"
        )
    return file


def _file_of(path: str) -> Path:
    file = Path(path)
    return file / FILE_NAME if file.is_dir() or not (file.suffix or file.is_file()) else file
