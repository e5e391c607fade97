"""The threads of a saver's SQLite database: whose each is, and the transactions that ask.

A thread is claimed by the first write to it, in a table `threads` beside the saver's own.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from langgraph.checkpoint.base.id import UUID as CheckpointId

from langgraph_memory.clock import parse_time, utc_now
from langgraph_memory.errors import ConfigurationError, StoreError, ThreadOwnerError
from langgraph_memory.scope import check_id

_UUID_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)
_HINTS = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked; close that one or raise busy_timeout=",
    sqlite3.SQLITE_READONLY: "it is read-only; make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; make its folder writable",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database; give another path",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore a backup or move it away",
    sqlite3.SQLITE_FULL: "the disk is full",
}


@dataclass(frozen=True, slots=True)
class Session:
    """A thread of one user."""

    thread_id: str
    """The id that resumes it."""
    user: str
    """Whose thread it is."""
    title: str | None
    """The beginning of its first human message; `None` until there is one."""
    created_at: datetime
    """When it began, in UTC."""
    updated_at: datetime
    """The time of its newest checkpoint, in UTC."""


def user_of(value: object) -> str:
    return _storable("user", check_id("user", value))


def thread_of(value: object) -> str:
    if isinstance(value, (int, UUID)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return _storable("thread_id", value)
    raise ConfigurationError(
        f"thread_id= takes a non-empty string or an integer, got {value!r} ({type(value).__name__})"
    )


def _storable(name: str, text: str) -> str:
    """Refuse the lone surrogates that SQLite cannot store; replacing them would mix up two ids."""
    try:
        return text.encode().decode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{name}={text!r} is not valid Unicode text") from error


@contextmanager
def sqlite_errors(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        hint = _HINTS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "the database failed")
        raise StoreError(f"sessions in {path}: {hint} (SQLite: {error})") from error


class Threads:
    """The claims in a saver's SQLite database, and the transactions of that database."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        self.path = path
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        with sqlite_errors(path):
            self.conn = sqlite3.connect(
                path, timeout=busy_timeout, isolation_level=None, check_same_thread=False
            )

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """Begin a transaction, or join the one that the calling thread is in."""
        if os.getpid() != self._pid:
            raise ConfigurationError(
                f"sessions in {self.path} were opened before a fork; open them in each process"
            )
        with self._lock, sqlite_errors(self.path):
            if self._closed:
                raise ConfigurationError(f"sessions in {self.path} are closed")
            if self.conn.in_transaction:
                yield self.conn
                return
            with self.conn:
                self.conn.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield self.conn

    def create(self) -> None:
        """Make the table; this takes the write lock, so that a read-only file fails at once."""
        with self.transaction(write=True) as conn:
            conn.execute(
                "CREATE TABLE IF NOT EXISTS threads (thread_id TEXT PRIMARY KEY,"
                " user_id TEXT NOT NULL, title TEXT, created_at TEXT NOT NULL)"
            )
            conn.execute("CREATE INDEX IF NOT EXISTS threads_user ON threads (user_id)")
        self.conn.execute("PRAGMA secure_delete = ON")

    def admit(self, user: str, thread: str, *, claim: bool) -> bool:
        """Refuse another user's thread; take one that is nobody's if `claim`.

        Returns:
            Whether the thread is the user's now.
        """
        with self.transaction(write=claim) as conn:
            owner = self._owner(conn, thread)
            if owner is None and self._oldest(conn, thread):
                raise ThreadOwnerError(
                    f"thread {thread!r} was written without a guard, so nobody knows whose it is; "
                    f"if it is this user's, say so once: sessions.adopt(user, {thread!r})"
                )
            return self.enter(user, thread, claim=claim)

    def enter(self, user: str, thread: str, *, claim: bool) -> bool:
        """Do as `admit`, where a thread of nobody's is known to be this user's to take."""
        with self.transaction(write=claim) as conn:
            owner = self._owner(conn, thread)
            if owner is None and claim:
                self._claim(conn, user, thread, utc_now())
                owner = self._owner(conn, thread)
        if owner is not None and owner != user:
            raise ThreadOwnerError(f"thread {thread!r} belongs to another user; use another id")
        return owner is not None

    def adopt(self, user: str, thread: str) -> bool:
        """Claim a thread that was written without a guard."""
        with self.transaction(write=True) as conn:
            if oldest := self._oldest(conn, thread):
                self._claim(conn, user, thread, _checkpoint_time(oldest) or utc_now())
            return self.admit(user, thread, claim=False)

    def entitle(self, thread: str, title: str) -> None:
        """Give a thread its title, once."""
        query = "UPDATE threads SET title = ? WHERE thread_id = ? AND title IS NULL"
        with self.transaction(write=True) as conn:
            conn.execute(query, (title, thread))

    def of(self, user: str) -> list[Session]:
        """Return a user's threads, newest activity first."""
        query = (
            "SELECT thread_id, user_id, title, created_at, (SELECT max(checkpoint_id)"
            " FROM checkpoints WHERE checkpoints.thread_id = threads.thread_id)"
            " FROM threads WHERE user_id = ?"
        )
        with self.transaction(write=False) as conn:
            found = [_session(*row) for row in conn.execute(query, (user,))]
        return sorted(found, key=lambda session: session.updated_at, reverse=True)

    def remove(self, user: str | None, thread: str) -> bool:
        """Delete a thread from the database, and from its log; if a user is named, only theirs."""
        with self.transaction(write=True) as conn:
            if user is not None and not self.admit(user, thread, claim=False):
                return False
            for table in ("checkpoints", "writes", "threads"):
                conn.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread,))
        with self._lock, sqlite_errors(self.path):
            self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return True

    def close(self) -> None:
        with self._lock, sqlite_errors(self.path):
            self._closed = True
            self.conn.close()

    @staticmethod
    def _owner(conn: sqlite3.Connection, thread: str) -> str | None:
        query = "SELECT user_id FROM threads WHERE thread_id = ?"
        row = conn.execute(query, (thread,)).fetchone()
        return row[0] if row else None

    @staticmethod
    def _oldest(conn: sqlite3.Connection, thread: str) -> str | None:
        """Return the id of a thread's first checkpoint, if anything of the thread is stored."""
        query = (
            "SELECT min(checkpoint_id) FROM (SELECT thread_id, checkpoint_id FROM checkpoints"
            " UNION ALL SELECT thread_id, checkpoint_id FROM writes) WHERE thread_id = ?"
        )
        oldest: str | None = conn.execute(query, (thread,)).fetchone()[0]
        return oldest

    @staticmethod
    def _claim(conn: sqlite3.Connection, user: str, thread: str, at: datetime) -> None:
        query = (
            "INSERT INTO threads (thread_id, user_id, created_at) VALUES (?, ?, ?)"
            " ON CONFLICT DO NOTHING"
        )
        conn.execute(query, (thread, user, at.isoformat()))


def _checkpoint_time(checkpoint_id: str) -> datetime | None:
    """Read the time from a checkpoint's id: a UUID of version 6 counts 100 ns since 1582."""
    try:
        parsed = CheckpointId(hex=checkpoint_id)
    except ValueError:
        return None
    if parsed.version != 6:
        return None
    return _UUID_EPOCH + timedelta(microseconds=parsed.time // 10)


def _session(
    thread: str, user: str, title: str | None, created: str, newest: str | None
) -> Session:
    created_at = parse_time(created)
    # A thread is claimed a moment after its first checkpoint got its id.
    updated_at = max(created_at, _checkpoint_time(newest or "") or created_at)
    return Session(thread, user, title, created_at, updated_at)
