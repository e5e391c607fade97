"""Who may touch a thread: a guard before LangGraph's official saver.

LangGraph's savers know threads but no users: whoever knows a thread's id can read it and go on
with it. The first write to a thread claims it for the user of the run; every later read and write
asks whose it is, in one transaction with the read or write itself:

```text
get_tuple, list, put, ...           Guard                   SqliteSaver, PostgresSaver
  configurable: user_id, thread_id    whose is the thread?    checkpoints, writes
                                      table `threads`
```

The user comes from `configurable.user_id`, the one place that a saver sees however a graph is run.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any
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
from langgraph.config import get_config

from langgraph_memory.errors import ConfigurationError, MissingUserError, RecordNotFoundError
from langgraph_memory.records import check_id
from langgraph_memory.sessions.state_redaction import StateRedactor
from langgraph_memory.sessions.threads import Threads, in_thread

TITLE_LENGTH = 60

Admitted = tuple[RunnableConfig, str | None, str]
"""The config to read or write with, the user to sign what is read, and the thread."""

_PAGE = 100


# -- what a config says, and what a message tells ------------------------------------------------


class _OwnedThread(str):
    """A thread id that carries its user.

    LangGraph makes the config of a subgraph's state from the thread id alone. The id that the
    guard handed out still says as whom it was read.
    """

    user: str | None = None


class PointInThread(str):
    """The id of a checkpoint that a thread is to go on from.

    Where there is none of a plain id, LangGraph begins with an empty state, as the thread's newest.
    """


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


def point_of(value: object) -> PointInThread:
    if isinstance(value, str) and value:
        return PointInThread(_storable("checkpoint_id", value))
    raise ConfigurationError(
        f"checkpoint_id= takes an id that history gave, got {value!r} ({type(value).__name__})"
    )


def thread_of(value: object) -> str:
    if isinstance(value, (int, UUID)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return _storable("thread_id", value)
    raise ConfigurationError(
        f"thread_id= takes a non-empty string or an integer, got {value!r} "
        f"({type(value).__name__}); sessions.config(user=..., thread_id=...) names both for a run"
    )


def _storable(name: str, text: str) -> str:
    """Refuse the lone surrogates that SQLite cannot store; replacing them would mix up two ids."""
    try:
        return text.encode().decode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{name}={text!r} is not valid Unicode text") from error


def _run_config() -> RunnableConfig | None:
    """Return the config of the run that asks; `None` outside of one."""
    try:
        return get_config()
    except RuntimeError:
        return None


def _of_thread(user: str, thread: str) -> RunnableConfig:
    return {"configurable": {"user_id": user, "thread_id": thread}}


def _checkpoint_id(found: CheckpointTuple) -> str:
    return str(found.config["configurable"]["checkpoint_id"])


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


def _refuse_missing_point(own: RunnableConfig) -> None:
    wanted = own["configurable"].get("checkpoint_id")
    if isinstance(wanted, PointInThread) and not own["configurable"].get("checkpoint_ns"):
        raise RecordNotFoundError(
            f"thread {own['configurable']['thread_id']!r} has no checkpoint {str(wanted)!r} to go "
            "on from, perhaps not any more; sessions.history tells which there are"
        )


def _title(messages: object) -> str | None:
    """Return the beginning of the first human message that has text, on one line."""
    for message in messages if isinstance(messages, list) else [messages]:
        if isinstance(message, HumanMessage):
            text = message.text[:1000].replace("\x00", "")  # which Postgres stores in no text
            line = " ".join(text.split())[:TITLE_LENGTH].strip()
            if line:
                return line.encode(errors="replace").decode()
    return None


# -- the guard -----------------------------------------------------------------------------------


class Guard(BaseCheckpointSaver[str]):
    """Stands before any synchronous saver, and serves async callers from a thread."""

    threads: Threads
    redacts: StateRedactor | None = None
    """Takes secrets out of what is kept."""

    @contextmanager
    def _admitted(self, config: RunnableConfig | None, *, write: bool) -> Iterator[Admitted]:
        """Check whose thread it is, and hold the transaction for the read or write."""
        user, thread = _identify(config)
        with self.threads.transaction(write=write):
            self.threads.admit(user, thread, claim=write)
            yield _signed(config or {}, user, thread), user, thread

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._admitted(config, write=False) as (own, user, thread):
            found = super().get_tuple(own)
        if found is None:
            _refuse_missing_point(own)
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
        """List in pages, so that a caller who stops in the middle holds no lock.

        Of no thread, all threads of the user whose run asks are listed.
        """
        run = _run_config() if config is None else None
        if run is not None:
            yield from self._pages_of_all(run, filter=filter, before=before, limit=limit)
            return
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

    def _pages_of_all(
        self, run: RunnableConfig, *, limit: int | None, **options: Any
    ) -> Iterator[Sequence[CheckpointTuple]]:
        """List what is in the threads of a run's user, the newest first."""
        user, _ = _identify(run)
        listings = [
            chain.from_iterable(self._pages(_of_thread(user, thread), limit=limit, **options))
            for _, thread in self.threads.claims(user)
        ]
        newest = islice(heapq.merge(*listings, key=_checkpoint_id, reverse=True), limit)
        while page := list(islice(newest, _PAGE)):
            yield page

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with self._admitted(config, write=True) as (own, user, thread):
            if self.redacts is not None:
                own, metadata = self.redacts.config(own), self.redacts.metadata(metadata)
                checkpoint = self.redacts.checkpoint(checkpoint)
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
            if self.redacts is not None:
                writes = self.redacts.writes(writes)
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
            "a checkpointer is not told whose threads these are; use "
            "sessions.delete(user, thread_id), sessions.fork or sessions.prune"
        )

    # The saver behind may lack some of these today; it must not gain them unguarded.
    delete_thread = adelete_thread = delete_for_runs = adelete_for_runs = _refuse
    copy_thread = acopy_thread = prune = aprune = _refuse
