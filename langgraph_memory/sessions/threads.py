"""The threads of users, in the tables of LangGraph's saver and one of ours: whose each is.

One idea of a database serves all: whatever is asked or changed is one transaction in which the
claim is checked. `sqlite` and `postgres` say how theirs is begun.
"""

from __future__ import annotations

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar

from langgraph_memory.errors import ConfigurationError, RecordNotFoundError, ThreadOwnerError
from langgraph_memory.records import parse_time, utc_now
from langgraph_memory.sessions.checkpoint_tree import Copied, Node, fork_copies, outdated, time_of

_BATCH = 200
"""Checkpoints that one statement deletes; SQLite takes 500 rows of `VALUES` in old versions."""

P = ParamSpec("P")
T = TypeVar("T")


def in_thread(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make the async twin of a method: the same, in a thread."""

    @wraps(method)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return twin


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


def _session(
    thread: str, user: str, title: str | None, created: str, newest: str | None
) -> Session:
    created_at = parse_time(created)
    # A thread is claimed a moment after its first checkpoint got its id.
    updated_at = max(created_at, time_of(newest or "") or created_at)
    return Session(thread, user, title, created_at, updated_at)


class Connection(Protocol):
    """What connections of sqlite3 and psycopg have in common."""

    def execute(self, query: Any, params: Any = ..., /) -> Any: ...


class Threads(ABC):
    """The claims in a saver's database, and what is done with whole threads.

    Attributes:
        place: Names the database in errors.
        MARK: Stands for a value in a statement.
        WRITES: The saver's table of what nodes wrote.
        WRITTEN: Its columns, after those that it has in common with `checkpoints`.
        TABLES: All tables of the saver.
        SHARED: Ends a statement that keeps a claim from being deleted, until the transaction ends.
        ALONE: Ends one that keeps all other writers from the thread.
        ELSEWHERE: Where they lie if not in files of this machine, in words.
    """

    MARK: ClassVar[str] = "?"
    WRITES: ClassVar[str]
    WRITTEN: ClassVar[str]
    TABLES: ClassVar[Sequence[str]]
    SHARED: ClassVar[str] = ""
    ALONE: ClassVar[str] = ""
    ELSEWHERE: ClassVar[str] = ""

    def __init__(self, place: str) -> None:
        self.place = place
        self._pid = os.getpid()
        self._closed = False

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise ConfigurationError(
                f"sessions in {self.place} were opened before a fork; open them in each process"
            )

    def _check_open(self) -> None:
        if self._closed:
            raise ConfigurationError(f"sessions in {self.place} are closed")

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[Connection]:
        """Begin a transaction, or join the one that the calling thread is in."""

    @abstractmethod
    def close(self) -> None: ...

    def copy_to(self, file: Path) -> int:
        """Copy all of the database into a new file; return how many threads there are."""
        raise ConfigurationError(
            f"the sessions in {self.place} are backed up by the server's own means, such as pg_dump"
        )

    @abstractmethod
    def shrink(self) -> None:
        """Give back the room of what was deleted, where the database does not do so itself."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold them, if they lie in files that can be read."""
        return ()

    @abstractmethod
    def scour(self) -> None:
        """Leave no byte of what was deleted, where the database can do so."""

    # -- whose a thread is -----------------------------------------------------------------------

    def create(self) -> None:
        """Make the table; this takes the write lock, so that a read-only file fails at once."""
        with self.transaction(write=True) as conn:
            conn.execute(
                "CREATE TABLE IF NOT EXISTS threads (thread_id TEXT PRIMARY KEY,"
                " user_id TEXT NOT NULL, title TEXT, created_at TEXT NOT NULL)"
            )
            conn.execute("CREATE INDEX IF NOT EXISTS threads_user ON threads (user_id)")

    def admit(self, user: str, thread: str, *, claim: bool) -> bool:
        """Refuse another user's thread; take one that is nobody's if `claim`.

        Returns:
            Whether the thread is the user's now.
        """
        lock = self.SHARED if claim else ""
        with self.transaction(write=claim) as conn:
            owner = self._owner(conn, thread, lock)
            if owner is None and self._oldest(conn, thread):
                # Another transaction may have claimed it just now: it writes after the claim.
                owner = self._owner(conn, thread, lock)
                if owner is None:
                    raise _unclaimed(thread)
            return self.enter(user, thread, claim=claim)

    def enter(self, user: str, thread: str, *, claim: bool) -> bool:
        """Do as `admit`, where a thread of nobody's is known to be this user's to take."""
        lock = self.SHARED if claim else ""
        with self.transaction(write=claim) as conn:
            owner = self._owner(conn, thread, lock)
            if owner is None and claim:
                self._claim(conn, user, thread, utc_now())
                owner = self._owner(conn, thread, lock)
        if owner is not None and owner != user:
            raise ThreadOwnerError(f"thread {thread!r} belongs to another user; use another id")
        return owner is not None

    def adopt(self, user: str, thread: str) -> bool:
        """Claim a thread that was written without a guard."""
        with self.transaction(write=True) as conn:
            if oldest := self._oldest(conn, thread):
                self._claim(conn, user, thread, time_of(oldest) or utc_now())
            return self.admit(user, thread, claim=False)

    def entitle(self, thread: str, title: str) -> None:
        """Give a thread its title, once."""
        query = "UPDATE threads SET title = ? WHERE thread_id = ? AND title IS NULL"
        with self.transaction(write=True) as conn:
            self._run(conn, query, title, thread)

    def of(self, user: str, thread: str | None = None) -> list[Session]:
        """Return a user's threads, newest activity first; or one of them."""
        query = (
            "SELECT thread_id, user_id, title, created_at, (SELECT max(checkpoint_id)"
            " FROM checkpoints WHERE checkpoints.thread_id = threads.thread_id)"
            " FROM threads WHERE user_id = ?"
        )
        values = [user]
        if thread is not None:
            query, values = f"{query} AND thread_id = ?", [user, thread]
        with self.transaction(write=False) as conn:
            found = [_session(*row) for row in self._run(conn, query, *values)]
        return sorted(found, key=lambda session: session.updated_at, reverse=True)

    def remove(self, user: str | None, thread: str) -> bool:
        """Delete a thread from the database; if a user is named, only theirs."""
        with self.transaction(write=True) as conn:
            self._owner(conn, thread, self.ALONE)
            if user is not None and not self.admit(user, thread, claim=False):
                return False
            self._remove(conn, thread)
        self.shrink()
        return True

    def remove_all(self, user: str) -> list[Session]:
        """Delete all threads of a user; return them as they were."""
        with self.transaction(write=True) as conn:
            gone = self.of(user)
            for session in gone:
                self._remove(conn, session.thread_id)
        if gone:
            self.shrink()
        return gone

    def _remove(self, conn: Connection, thread: str) -> None:
        """Delete all rows of a thread, within a transaction."""
        self._owner(conn, thread, self.ALONE)
        for table in (*self.TABLES, "threads"):
            self._run(conn, f"DELETE FROM {table} WHERE thread_id = ?", thread)

    # -- copies and old checkpoints --------------------------------------------------------------

    def fork(self, user: str, thread: str, to: str, checkpoint_id: str | None) -> Session:
        """Copy a user's thread, as of a checkpoint, into one that is not there yet."""
        with self.transaction(write=True) as conn:
            self._owner(conn, thread, self.SHARED)
            self.admit(user, thread, claim=False)
            taken = fork_copies(self._nodes(conn, thread), checkpoint_id)
            if not taken:
                what = "nothing" if checkpoint_id is None else f"no checkpoint {checkpoint_id!r}"
                raise RecordNotFoundError(f"thread {thread!r} has {what} to fork from")
            if self.admit(user, to, claim=False) or not self._claim(conn, user, to, utc_now()):
                raise ConfigurationError(f"to={to!r} is a thread already; fork to another id")
            for each in taken:
                self._copy(conn, thread, to, each)
            self._copied(conn, thread, to)
            query = (
                "UPDATE threads SET title = (SELECT title FROM threads WHERE thread_id = ?)"
                " WHERE thread_id = ?"
            )
            self._run(conn, query, thread, to)
            return self.of(user, to)[0]

    def prune(self, user: str, thread: str, *, keep_last: int, before: datetime | None) -> int:
        """Delete a thread's old checkpoints; return how many."""
        with self.transaction(write=True) as conn:
            if self._owner(conn, thread, self.ALONE) != user:
                return 0
            stored = self._nodes(conn, thread)
            gone = outdated(stored, keep_last=keep_last, before=before)
            for start in range(0, len(gone), _BATCH):
                self._drop(conn, thread, gone[start : start + _BATCH])
            lost = {(node.namespace, node.id) for node in gone}
            query = f"UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE {_KEYS}"
            for node in stored:
                if (node.namespace, node.parent) in lost and (node.namespace, node.id) not in lost:
                    self._run(conn, query, thread, node.namespace, node.id)
            if gone:
                self._pruned(conn, thread)
        return len(gone)

    def claims(self, user: str | None) -> list[tuple[str, str]]:
        """Return the threads of a user, or of all, each with its user."""
        query = "SELECT user_id, thread_id FROM threads"
        values = [] if user is None else [user]
        with self.transaction(write=False) as conn:
            rows = self._run(conn, query + (" WHERE user_id = ?" if values else ""), *values)
            return [(owner, thread) for owner, thread in rows]

    def _drop(self, conn: Connection, thread: str, gone: Sequence[Node]) -> None:
        pairs = ", ".join(["(?, ?)"] * len(gone))
        keys = [key for node in gone for key in (node.namespace, node.id)]
        for table in ("checkpoints", self.WRITES):
            query = f"DELETE FROM {table} WHERE thread_id = ?"
            query += f" AND (checkpoint_ns, checkpoint_id) IN (VALUES {pairs})"
            self._run(conn, query, thread, *keys)

    def _copy(self, conn: Connection, thread: str, to: str, taken: Copied) -> None:
        node = taken.node
        rows = {"checkpoints": "type, checkpoint, metadata"}
        if taken.writes:
            rows[self.WRITES] = self.WRITTEN
        for table, columns in rows.items():
            self._run(
                conn,
                f"INSERT INTO {table} (thread_id, checkpoint_ns, checkpoint_id, {columns})"
                f" SELECT CAST(? AS TEXT), checkpoint_ns, checkpoint_id, {columns} FROM {table}"
                f" WHERE {_KEYS}",
                *(to, thread, node.namespace, node.id),
            )
        query = f"UPDATE checkpoints SET parent_checkpoint_id = ? WHERE {_KEYS}"
        if taken.parent is not None:
            self._run(conn, query, taken.parent, to, node.namespace, node.id)

    @abstractmethod
    def _copied(self, conn: Connection, thread: str, to: str) -> None:
        """Copy what copied checkpoints refer to."""

    @abstractmethod
    def _pruned(self, conn: Connection, thread: str) -> None:
        """Delete what only deleted checkpoints referred to."""

    # -- rows ------------------------------------------------------------------------------------

    def _run(self, conn: Connection, query: str, *values: object) -> Any:
        return conn.execute(query.replace("?", self.MARK), values)

    def _owner(self, conn: Connection, thread: str, lock: str) -> str | None:
        query = f"SELECT user_id FROM threads WHERE thread_id = ?{lock}"
        row = self._run(conn, query, thread).fetchone()
        return row[0] if row else None

    def _oldest(self, conn: Connection, thread: str) -> str | None:
        """Return the id of a thread's first checkpoint, if anything of the thread is stored."""
        query = (
            "SELECT min(checkpoint_id) FROM (SELECT checkpoint_id FROM checkpoints"
            f" WHERE thread_id = ? UNION ALL SELECT checkpoint_id FROM {self.WRITES}"
            " WHERE thread_id = ?) AS stored"
        )
        oldest: str | None = self._run(conn, query, thread, thread).fetchone()[0]
        return oldest

    def _claim(self, conn: Connection, user: str, thread: str, at: datetime) -> bool:
        query = (
            "INSERT INTO threads (thread_id, user_id, created_at) VALUES (?, ?, ?)"
            " ON CONFLICT DO NOTHING"
        )
        return bool(self._run(conn, query, thread, user, at.isoformat()).rowcount)

    def _nodes(self, conn: Connection, thread: str) -> list[Node]:
        query = (
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata"
            " FROM checkpoints WHERE thread_id = ?"
        )
        return [
            Node(namespace, id, parent, _decoded(metadata))
            for namespace, id, parent, metadata in self._run(conn, query, thread)
        ]


def _unclaimed(thread: str) -> ThreadOwnerError:
    return ThreadOwnerError(
        f"thread {thread!r} was written without a guard, so nobody knows whose it is; "
        f"if it is this user's, say so once: sessions.adopt(user, {thread!r})"
    )


_KEYS = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"


def _decoded(metadata: Any) -> dict[str, Any]:
    """Read a checkpoint's metadata; psycopg has done so already."""
    if metadata is None or isinstance(metadata, dict):
        return metadata or {}
    decoded: dict[str, Any] = json.loads(metadata)
    return decoded
