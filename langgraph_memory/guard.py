"""Who may touch a thread: a guard before LangGraph's official saver.

LangGraph's savers know threads but no users: whoever knows a thread's id can read it and go on
with it. The first write to a thread claims it for the user of the run; every later read and write
asks whose it is, in one transaction with the read or write itself:

```text
get_tuple, list, put, ...           Guard                   SqliteSaver
  configurable: user_id, thread_id    whose is the thread?    checkpoints, writes
                                      table `threads`
```

The user comes from `configurable.user_id`, the one place that a saver sees however a graph is run.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.base.id import UUID as CheckpointId
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_memory.clock import parse_time, utc_now
from langgraph_memory.errors import (
    ConfigurationError,
    MissingUserError,
    StoreError,
    ThreadOwnerError,
)
from langgraph_memory.scope import check_id

TITLE_LENGTH = 60

P = ParamSpec("P")
T = TypeVar("T")

_PAGE = 100
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


def in_thread(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make the async twin of a method: the same, in a thread."""

    @wraps(method)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return twin


# -- what a config says, and what a checkpoint tells ---------------------------------------------


class _OwnedThread(str):
    """A thread id that carries its user.

    LangGraph makes the config of a subgraph's state from the thread id alone. The id that the
    guard handed out still says as whom it was read.
    """

    user: str | None = None


def _identify(config: RunnableConfig | None) -> tuple[str, str]:
    """Return the user and the thread that a run's config names."""
    configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
    thread = configurable.get("thread_id")
    user = configurable.get("user_id", getattr(thread, "user", None))
    if user is None or user == "":
        raise MissingUserError(
            "this run does not tell the checkpointer whose thread it is (context= never reaches "
            "it); use sessions.config(user=..., thread_id=...):\n"
            '  graph.invoke(..., sessions.config(user="c-2291", thread_id="monday"))'
        )
    return user_of(user), thread_of(thread)


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


def _signed(config: RunnableConfig, user: str | None, thread: str) -> RunnableConfig:
    """Return `config` with its user, so that a config which the saver gave can be used again."""
    if user is None:
        return config
    owned = _OwnedThread(thread)
    owned.user = user
    configurable = {**config["configurable"], "user_id": user, "thread_id": owned}
    return {**config, "configurable": configurable}


def _signed_tuple(found: CheckpointTuple, user: str | None, thread: str) -> CheckpointTuple:
    parent = found.parent_config
    return found._replace(
        config=_signed(found.config, user, thread),
        parent_config=_signed(parent, user, thread) if parent else None,
    )


def _title(messages: object) -> str | None:
    """Return the beginning of the first human message that has text, on one line."""
    for message in messages if isinstance(messages, list) else [messages]:
        if isinstance(message, HumanMessage):
            line = " ".join(message.text[:1000].split())[:TITLE_LENGTH].strip()
            if line:
                return line.encode(errors="replace").decode()
    return None


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


# -- the database --------------------------------------------------------------------------------


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


# -- the guard -----------------------------------------------------------------------------------


class Guard(BaseCheckpointSaver[str]):
    """Stands before any synchronous saver, and serves async callers from a thread."""

    threads: Threads

    @contextmanager
    def _admitted(
        self, config: RunnableConfig | None, *, write: bool
    ) -> Iterator[tuple[RunnableConfig, str | None, str]]:
        """Check whose thread it is, and hold the transaction for the read or write.

        Yields the config to read or write with, the user to sign what is read, and the thread.
        """
        user, thread = _identify(config)
        with self.threads.transaction(write=write):
            self.threads.admit(user, thread, claim=write)
            yield _signed(config or {}, user, thread), user, thread

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._admitted(config, write=False) as (own, user, thread):
            found = super().get_tuple(own)
        return _signed_tuple(found, user, thread) if found else None

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        for page in self._pages(config, **options):
            yield from page

    async def alist(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        pages = self._pages(config, **options)
        while page := await asyncio.to_thread(next, pages, ()):
            for found in page:
                yield found

    def _pages(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[Sequence[CheckpointTuple]]:
        """List in pages, so that a caller who stops in the middle holds no lock."""
        while limit is None or limit > 0:
            size = _PAGE if limit is None else min(limit, _PAGE)
            with self._admitted(config, write=False) as (own, user, thread):
                found = super().list(own, filter=filter, before=before, limit=size)
                page = [_signed_tuple(each, user, thread) for each in found]
            yield page
            if len(page) < size:
                return
            before = page[-1].config
            limit = None if limit is None else limit - size

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with self._admitted(config, write=True) as (own, user, thread):
            stored = super().put(own, checkpoint, metadata, new_versions)
            self._entitle(own, thread, checkpoint["channel_values"].items())
        return _signed(stored, user, thread)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        with self._admitted(config, write=True) as (own, _, thread):
            super().put_writes(own, writes, task_id, task_path)
            # A channel that keeps deltas is in no checkpoint, only in the writes.
            self._entitle(own, thread, writes)

    def _entitle(
        self, own: RunnableConfig, thread: str, values: Iterable[tuple[str, object]]
    ) -> None:
        """Set the title once a value of the channel `messages` has one; not in a subgraph."""
        if own["configurable"].get("checkpoint_ns"):
            return
        for channel, value in values:
            if channel == "messages" and (title := _title(value)):
                self.threads.entitle(thread, title)
                return

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        with self._admitted(config, write=False) as (own, _, _):
            return super().get_delta_channel_history(config=own, channels=channels)

    aget_tuple: Any = in_thread(get_tuple)
    aput: Any = in_thread(put)
    aput_writes: Any = in_thread(put_writes)
    aget_delta_channel_history: Any = in_thread(get_delta_channel_history)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise ConfigurationError(
            "a checkpointer is not told whose threads these are; to delete one, use "
            "sessions.delete(user, thread_id)"
        )

    # The saver behind may lack some of these today; it must not gain them unguarded.
    delete_thread = adelete_thread = delete_for_runs = adelete_for_runs = _refuse
    copy_thread = acopy_thread = prune = aprune = _refuse


class SqliteGuard(Guard, SqliteSaver):
    """The official SQLite saver behind the guard, within the guard's transactions."""

    def __init__(self, threads: Threads) -> None:
        super().__init__(threads.conn)
        self.threads = threads

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        with self.threads.transaction(write=transaction) as conn, closing(conn.cursor()) as cursor:
            yield cursor
