"""Sessions: LangGraph threads that are kept on disk and are open to their own user alone.

The checkpointer of a session works for `invoke` and `ainvoke` alike, and is guarded: see `guard`.
"""

from __future__ import annotations

import asyncio
import builtins
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from uuid import uuid4

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records import check_count, check_flag, parse_time, utc_now
from langgraph_memory.redaction import Redact
from langgraph_memory.sessions.guard import Guard, point_of, thread_of, user_of
from langgraph_memory.sessions.sqlite import (
    SqliteGuard,
    existing_file,
    open_sqlite,
    open_sqlite_read_only,
    place_of_file,
)
from langgraph_memory.sessions.state_redaction import state_redactor
from langgraph_memory.sessions.threads import Session, in_thread


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A thread as it was after one step of its graph."""

    checkpoint_id: str
    """Names it to `Sessions.config` and `Sessions.fork`."""
    created_at: datetime
    """When it was written, in UTC."""
    step: int
    """LangGraph's number of the step: -1 for the first input, then 0, 1, ..."""
    source: str
    """What wrote it: `"input"`, `"loop"` (a step), `"update"` or `"fork"`."""
    messages: tuple[BaseMessage, ...]
    """Those that the thread held then, oldest first. Empty if the state has no `messages`, or keeps
    them in a `DeltaChannel`, which only its graph can read."""


def _snapshot(found: CheckpointTuple) -> Snapshot:
    checkpoint, metadata = found.checkpoint, found.metadata
    messages = checkpoint["channel_values"].get("messages")
    return Snapshot(
        checkpoint["id"],
        parse_time(checkpoint["ts"]),
        metadata.get("step", -1),
        metadata.get("source", "loop"),
        tuple(messages) if isinstance(messages, list) else (),
    )


def _time_before(age: timedelta) -> datetime:
    """Return the time at which what has an age now was written."""
    if not isinstance(age, timedelta) or age < timedelta(0):
        raise ConfigurationError(
            f"older_than= is an age such as timedelta(days=30), and not negative; got {age!r}"
        )
    try:
        return utc_now() - age
    except OverflowError:  # before the year 1
        return datetime.min.replace(tzinfo=UTC)


class Sessions:
    """The threads of all users in one database; made by `open_sessions`.

    Each method that reads or writes has an async twin (`alist` of `list`), which does the same
    in a thread.
    """

    def __init__(self, place: str, opener: Callable[[], Guard]) -> None:
        self._place = place
        self._opener = opener
        self._lock = threading.Lock()
        self._saver: Guard | None = None
        self._closed = False

    @property
    def checkpointer(self) -> BaseCheckpointSaver[str]:
        """The guarded saver for `compile(checkpointer=...)`; serves `invoke` and `ainvoke`.

        It refuses a thread of another user (`ThreadOwnerError`) and a run without a user
        (`MissingUserError`).
        """
        return self._open()

    def config(
        self, *, user: str | int, thread_id: str | int, checkpoint_id: str | None = None
    ) -> RunnableConfig:
        """Return the config to run a graph with.

        The user is in `configurable` for the checkpointer and the memory nodes, and in
        `metadata` for callbacks. With a `checkpoint_id`, from `history`, the thread goes on from
        there; a run raises `RecordNotFoundError` if it is not there any more.
        """
        ids = {"thread_id": thread_of(thread_id), "user_id": user_of(user)}
        point = {} if checkpoint_id is None else {"checkpoint_id": point_of(checkpoint_id)}
        return {"configurable": {**ids, **point}, "metadata": ids}

    def list(self, user: str | int) -> builtins.list[Session]:
        """Return a user's threads, newest activity first."""
        return self._open().threads.of(user_of(user))

    def latest(self, user: str | int) -> Session | None:
        """Return the thread that a user was in last, or `None`."""
        return next(iter(self.list(user)), None)

    def history(
        self, user: str | int, thread_id: str | int, *, limit: int | None = 20
    ) -> builtins.list[Snapshot]:
        """Return the states of a user's thread after each step, newest first.

        Args:
            user: Whose thread it is.
            thread_id: The thread.
            limit: How many at most; `None` for all. Each has all messages of its time, so those of
                a long thread are large.

        Raises:
            ThreadOwnerError: If the thread is another user's.
        """
        config = self.config(user=user, thread_id=thread_id)
        config["configurable"]["checkpoint_ns"] = ""
        limit = None if limit is None else check_count("limit", limit)
        return [_snapshot(found) for found in self._open().list(config, limit=limit)]

    def fork(
        self,
        user: str | int,
        thread_id: str | int,
        *,
        to: str | int | None = None,
        checkpoint_id: str | None = None,
    ) -> Session:
        """Begin a new thread of a user with what another one holds.

        The new thread has the title and the state of the first, without its history; an interrupt
        that waits for its answer waits in both. The first stays as it is.

        Args:
            user: Whose threads both are.
            thread_id: The thread to copy.
            to: The id of the new one; a UUID if there is none.
            checkpoint_id: The point of `history` to go on from, as LangGraph does from an earlier
                checkpoint: the step after it is run again. The thread as it is now, if `None`.

        Raises:
            ThreadOwnerError: If one of the threads is another user's.
            RecordNotFoundError: If there is no such thread or checkpoint.
            ConfigurationError: If there is a thread `to` already.
        """
        new = str(uuid4()) if to is None else thread_of(to)
        threads = self._open().threads
        return threads.fork(user_of(user), thread_of(thread_id), new, checkpoint_id)

    def prune(
        self,
        user: str | int | None = None,
        *,
        keep_last: int = 1,
        older_than: timedelta | None = None,
    ) -> int:
        """Delete old checkpoints; each thread goes on as before, but not back to them.

        A checkpoint is written for each step and holds the whole state, so a long thread grows
        with the square of its length. What a `DeltaChannel` needs stays: its threads are left as
        they are.

        Args:
            user: Whose threads; those of all users if `None`.
            keep_last: How many checkpoints each thread keeps at least, from 1.
            older_than: Keeps what is younger, too; 0 or more.

        Returns:
            How many checkpoints were deleted, those of subgraphs among them.

        Raises:
            ConfigurationError: If `keep_last` is no number from 1 on, or `older_than` is negative.
        """
        if not isinstance(keep_last, int) or isinstance(keep_last, bool) or keep_last < 1:
            raise ConfigurationError(
                f"keep_last={keep_last!r}: a thread goes on from its newest checkpoint; keep 1 or "
                "more, or delete the thread: sessions.delete(user, thread_id)"
            )
        before = None if older_than is None else _time_before(older_than)
        threads = self._open().threads
        deleted = sum(
            threads.prune(owner, thread, keep_last=keep_last, before=before)
            for owner, thread in threads.claims(None if user is None else user_of(user))
        )
        if deleted:
            threads.shrink()
        return deleted

    def delete(self, user: str | int, thread_id: str | int) -> bool:
        """Delete a user's thread in one transaction, and overwrite it in the files.

        Returns:
            Whether there was such a thread.

        Raises:
            ThreadOwnerError: If the thread is another user's.
        """
        return self._open().threads.remove(user_of(user), thread_of(thread_id))

    def delete_all(self, user: str | int) -> builtins.list[Session]:
        """Delete all threads of a user in one transaction, and overwrite them in the files.

        `Memory.erase` does this, and deletes what memory has of the user.

        Returns:
            The threads, as they were.
        """
        return self._open().threads.remove_all(user_of(user))

    def scour(self) -> None:
        """Leave nothing of what was deleted in the files, also of what others deleted.

        All is written anew, as long as nobody writes. Of Postgres its own vacuum does this.

        Raises:
            StoreError: If other processes keep the file locked.
        """
        self._open().threads.scour()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the threads may lie in; none in a database of another kind."""
        return self._open().threads.files

    @property
    def elsewhere(self) -> str:
        """Where the threads lie if that is no file, in words."""
        return self._open().threads.ELSEWHERE

    def adopt(self, user: str | int, thread_id: str | int) -> bool:
        """Give a user a thread that a plain saver of LangGraph's wrote into this database.

        Returns:
            Whether there is such a thread.

        Raises:
            ThreadOwnerError: If the thread is another user's already.
        """
        return self._open().threads.adopt(user_of(user), thread_of(thread_id))

    def copy_to(self, file: Path) -> int:
        """Copy all threads, as they are at one moment, into a new file; return how many.

        Raises:
            ConfigurationError: If they lie in Postgres.
            StoreError: If it cannot be copied, or the copy is not whole.
        """
        return self._open().threads.copy_to(file)

    def close(self) -> None:
        """Close the database; closing again does nothing."""
        with self._lock:
            self._closed = True
            if self._saver is not None:
                self._saver.threads.close()

    alist = in_thread(list)
    alatest = in_thread(latest)
    ahistory = in_thread(history)
    afork = in_thread(fork)
    aprune = in_thread(prune)
    adelete = in_thread(delete)
    adelete_all = in_thread(delete_all)
    ascour = in_thread(scour)
    aadopt = in_thread(adopt)
    acopy_to = in_thread(copy_to)
    aclose = in_thread(close)

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._open)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _open(self) -> Guard:
        with self._lock:
            if self._closed:
                raise ConfigurationError(f"sessions in {self._place} are closed")
            if self._saver is None:
                self._saver = self._opener()
            return self._saver


def open_sessions(
    path: str | os.PathLike[str],
    *,
    busy_timeout: float = 30.0,
    redact: bool | Redact = False,
    read_only: bool = False,
) -> Sessions:
    """Keep sessions in a folder, a file or Postgres; nothing is opened before the first use.

    Args:
        path: A folder (which then holds `sessions.sqlite`), a file with a suffix, `:memory:`, or
            the URL of a Postgres database: `postgresql://user:password@host/database`.
        busy_timeout: How many seconds to wait while another process writes, or for Postgres.
        redact: Takes secrets out of what is kept of a thread: `True` as a memory does by default,
            or a function of a text, such as `memory.redact`. A run has what it was given until it
            ends; whoever goes on with the thread, or reads it, finds what was kept.
        read_only: Reads a file without a write of any kind, also while another process writes it;
            what would write is refused. The file has to be there.

    Returns:
        Sessions for `with` and `async with`. Entering raises `StoreError` if the database cannot
        be opened and written.

    Raises:
        ConfigurationError: If `path` is another URL, or empty; if `redact` is something else.
        StoreError: If what is only to be read is not there.
        ImportError: If Postgres is asked for without the extra `postgres`.

    Example:
        >>> with open_sessions(":memory:") as sessions:
        ...     sessions.config(user="c-2291", thread_id="monday")["configurable"]
        {'thread_id': 'monday', 'user_id': 'c-2291'}
    """
    text, redacts = os.fspath(path), state_redactor(redact)
    check_flag("read_only", read_only)
    if text.lower().startswith(("postgres://", "postgresql://")):
        if read_only:
            raise ConfigurationError("read_only= is for files; give Postgres a role that reads")
        from langgraph_memory.sessions.postgres import database_of, open_postgres

        return Sessions(database_of(text), lambda: open_postgres(text, busy_timeout, redacts))
    file = place_of_file(text)
    if read_only:
        existing_file(file)
        return Sessions(file, lambda: open_sqlite_read_only(file, busy_timeout))
    return Sessions(file, lambda: open_sqlite(SqliteGuard, file, busy_timeout, redacts))
