"""One run of a graph, as memory sees it: whose it is, and what to keep of it.

The surfaces call this; it calls `Memory` alone.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import get_runtime

from langgraph_memory.episodes import goes_on, turns_before
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.graph.events import Step
from langgraph_memory.graph.owner_ids import Scope, run_owner_id, run_user
from langgraph_memory.graph.saving import Saving
from langgraph_memory.memory import Content, Entry, Letter, Memory, episode_from, place_of
from langgraph_memory.messages import (
    Taken,
    current_turn,
    is_said,
    last_user_message,
    text_of,
    token_cost,
    tool_names,
)
from langgraph_memory.notes import Processed, worth_keeping
from langgraph_memory.records import Episode, Message, Owner, Record
from langgraph_memory.twins import Either, blocking

logger = logging.getLogger(__name__)

CANDIDATES = 60
"""Hits asked for, with which a block is filled."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """Where a run's user, project and agent come from, if the caller says so."""

    user: Scope | None = None
    project: Scope | None = None
    agent: Scope | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a graph."""

    memory: Memory
    user: str
    project: str | None
    agent: str | None
    thread_id: str | None
    resumable: bool
    """Whether a checkpointer keeps the messages, with their ids, from one run to the next."""
    node: str | None
    write: Callable[[Any], None]
    """Writes to the custom stream."""

    def recall_args(self, known: Sequence[BaseMessage]) -> dict[str, Any]:
        """Return how a run asks `Memory.recall`, but for the query."""
        return {
            "user": self.user,
            "project": self.project,
            "agent": self.agent,
            "thread_id": self._thread(known),
            "known": [message.id for message in known if message.id],
            "limit": CANDIDATES,
        }

    def log_at_once(self, messages: Sequence[BaseMessage]) -> None:
        """Keep what was said, whatever becomes of the answer."""
        self._or_later(Saving(messages), partial(self._log_at_once, messages))

    async def alog_at_once(self, messages: Sequence[BaseMessage]) -> None:
        """Async form of `log_at_once`."""
        await self._aor_later(Saving(messages), partial(self._alog_at_once, messages))

    def _log_at_once(self, messages: Sequence[BaseMessage]) -> None:
        with self.step("save") as step:
            if new := self.log(messages):
                step.tell("memory.saved", new)

    async def _alog_at_once(self, messages: Sequence[BaseMessage]) -> None:
        async with self.step("save") as step:
            if new := await self.alog(messages):
                step.tell("memory.saved", new)

    def log_earlier(self, messages: Sequence[BaseMessage]) -> None:
        """Keep what was said before this turn, as by a client that brings its history along."""
        if earlier := self._earlier(messages):
            self._or_later(Saving(earlier), partial(self._log_earlier, earlier))

    async def alog_earlier(self, messages: Sequence[BaseMessage]) -> None:
        """Async form of `log_earlier`."""
        if earlier := self._earlier(messages):
            await self._aor_later(Saving(earlier), partial(self._alog_earlier, earlier))

    def _log_earlier(self, earlier: Sequence[BaseMessage]) -> None:
        if self.memory.get(self._last_id(earlier), user=self.user) is None:
            self._log_at_once(earlier)

    async def _alog_earlier(self, earlier: Sequence[BaseMessage]) -> None:
        if await self.memory.aget(self._last_id(earlier), user=self.user) is None:
            await self._alog_at_once(earlier)

    def log(self, messages: Sequence[BaseMessage], episode: Episode | None = None) -> list[Message]:
        """Keep what was said and is not kept yet, and the turn's episode if there is one."""
        kept = self._kept(messages)
        return self.memory.log_turn(kept, episode=episode, **self._log_args(messages))

    async def alog(
        self, messages: Sequence[BaseMessage], episode: Episode | None = None
    ) -> list[Message]:
        """Async form of `log`."""
        kept = self._kept(messages)
        return await self.memory.alog_turn(kept, episode=episode, **self._log_args(messages))

    def save(
        self,
        turn: Taken,
        *,
        episodes: bool,
        background: bool,
        began: datetime | None = None,
        stopped: int = 0,
    ) -> None:
        """Keep a finished turn: what was said, and an episode if it was a task.

        Args:
            turn: All messages of the state, and what the model proposes to remember of the turn.
            episodes: Whether to log an episode.
            background: Whether what follows is done later, and not waited for.
            began: When the turn began, if that is known.
            stopped: How many of the turns before are known to have stopped before they were over.
        """
        saving = Saving(turn.messages, True, turn.proposed, episodes, began, stopped)
        self._or_later(saving, partial(self._save, saving, background))

    def _save(self, saving: Saving, background: bool) -> None:
        self.keep(saving)
        where = self._log_args(saving.messages)
        if background:
            self.memory.process_later(**where)
        elif self.memory.model is not None:
            with self.step("extract") as step:
                _tell_processed(step, self.memory.process_turn(**where))

    def keep(self, saving: Saving) -> None:
        """Keep a turn that is over, without what follows."""
        messages, episode = saving.messages, None
        where = self._log_args(messages)
        with self.step("save") as step:
            notes = self._remember(step, saving.proposed, messages)
            task = self._task(messages, saving.stopped) if saving.episodes else []
            if self._is_task(task) and not self.memory.is_forgotten(task[0].id or "", **where):
                episode = self._episode(task, saving.began or self._began(task))
            saved = [*notes, *self.log(messages, episode)]
            step.tell("memory.saved", [*saved, episode] if episode else saved)

    async def asave(
        self,
        turn: Taken,
        *,
        episodes: bool,
        background: bool,
        began: datetime | None = None,
        stopped: int = 0,
    ) -> None:
        """Async form of `save`."""
        saving = Saving(turn.messages, True, turn.proposed, episodes, began, stopped)
        await self._aor_later(saving, partial(self._asave, saving, background))

    async def _asave(self, saving: Saving, background: bool) -> None:
        await self._akeep(saving)
        where = self._log_args(saving.messages)
        if background:
            await self.memory.aprocess_later(**where)
        elif self.memory.model is not None:
            async with self.step("extract") as step:
                _tell_processed(step, await self.memory.aprocess_turn(**where))

    async def _akeep(self, saving: Saving) -> None:
        messages, episode = saving.messages, None
        where = self._log_args(messages)
        async with self.step("save") as step:
            notes = await self._aremember(step, saving.proposed, messages)
            task = await self._atask(messages, saving.stopped) if saving.episodes else []
            if self._is_task(task) and not await self.memory.ais_forgotten(
                task[0].id or "", **where
            ):
                episode = self._episode(task, saving.began or await self._abegan(task))
            saved = [*notes, *await self.alog(messages, episode)]
            step.tell("memory.saved", [*saved, episode] if episode else saved)

    # -- while the server is away --

    def _or_later(self, saving: Saving, save: Callable[[], object]) -> None:
        """Save something, or let it wait in the outbox."""
        delivery = self.memory.delivery
        if delivery is None:
            save()
        elif not delivery.save(self._letter(saving), partial(blocking, save)):
            self._tell_waiting()

    async def _aor_later(self, saving: Saving, save: Callable[[], Awaitable[object]]) -> None:
        """Async form of `_or_later`."""
        delivery = self.memory.delivery
        if delivery is None:
            await save()
        elif not await delivery.asave(self._letter(saving), partial(Either, lambda: None, save)):
            self._tell_waiting()

    def _letter(self, saving: Saving) -> Letter:
        memory, thread_id = self.memory, self._thread(saving.messages)
        run = {"thread_id": self.thread_id, "resumable": self.resumable, "node": self.node}

        def content(waiting: Sequence[Content]) -> Content | None:
            kept = saving.content(memory.redact, waiting)
            return {**kept, "run": run} if saving.over or kept["messages"] else None

        return letter(memory, self.user, thread_id, content)

    def _tell_waiting(self) -> None:
        self.step("save").tell("memory.waiting", [])

    # -- what the model proposes --

    def _remember(
        self, step: Step, proposed: Sequence[object], messages: Sequence[BaseMessage]
    ) -> list[Record]:
        texts = self._worth_keeping(step, proposed)
        ids = self._exchange_ids(messages) if texts else []
        if not texts or (ids and all(self.memory.get(id, user=self.user) for id in ids)):
            return []  # a replay: the turn is kept already, and so is what it proposed
        changes = self.memory.keep_proposed(texts, user=self.user, sources=ids[:1])
        return [change.record for change in changes]

    async def _aremember(
        self, step: Step, proposed: Sequence[object], messages: Sequence[BaseMessage]
    ) -> list[Record]:
        texts = self._worth_keeping(step, proposed)
        ids = self._exchange_ids(messages) if texts else []
        if not texts or (ids and all([await self.memory.aget(id, user=self.user) for id in ids])):
            return []
        changes = await self.memory.akeep_proposed(texts, user=self.user, sources=ids[:1])
        return [change.record for change in changes]

    def _worth_keeping(self, step: Step, proposed: Sequence[object]) -> list[str]:
        texts, refused = worth_keeping(proposed, self.memory.redact)
        if refused:
            step.refused(refused)
            logger.info("of the notes that the model proposed, %d are not kept", len(refused))
        return texts

    def _exchange_ids(self, messages: Sequence[BaseMessage]) -> list[str]:
        """Return the ids of the records of what the user said last, and of the answer."""
        turn = [message for message in current_turn(messages) if is_said(message)]
        exchange = [turn[0], turn[-1]] if turn else []
        thread = self._thread(messages)
        return [Message.id_of(thread, message.id or "") for message in exchange]

    # -- parts of the above --

    def source_ids(self, messages: Sequence[BaseMessage]) -> list[str]:
        """Return the id of the record of what the user said last, if that has words."""
        return self._exchange_ids(messages)[:1]

    def _kept(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
        # Without a checkpointer a client sends its history anew, under new ids.
        return messages if self.resumable else current_turn(messages)

    def _earlier(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return what precedes this turn, up to what was said last; nothing if nobody keeps it."""
        earlier = messages[: len(messages) - len(current_turn(messages))] if self.resumable else ()
        last = next((i for i in reversed(range(len(earlier))) if is_said(earlier[i])), -1)
        return list(earlier[: last + 1])

    def _last_id(self, earlier: Sequence[BaseMessage]) -> str:
        """Return the id of the record of the last message; if there is one, all are kept."""
        return Message.id_of(self._thread(earlier), earlier[-1].id or "")

    def _thread(self, messages: Sequence[BaseMessage]) -> str:
        if self.thread_id is not None:
            return self.thread_id
        return self._turn(messages) or "no thread"

    def _turn(self, messages: Sequence[BaseMessage]) -> str:
        """Return by what a turn is known: the id of its user's message."""
        start = last_user_message(messages)
        return (start.id or "") if start is not None else ""

    def _log_args(self, messages: Sequence[BaseMessage]) -> dict[str, Any]:
        return {"user": self.user, "thread_id": self._thread(messages)}

    def _task(self, messages: Sequence[BaseMessage], stopped: int) -> list[BaseMessage]:
        """Return what was said and done in the task that the latest turn belongs to.

        Of the turns before, as many are known to have stopped as `stopped` says.
        """
        turn = current_turn(messages)
        for place, earlier in enumerate(self._before(messages)):
            kept = self.memory.get(self._episode_id(earlier), user=self.user)
            if place >= stopped and not goes_on(earlier, kept):
                break
            turn = earlier
        return turn

    async def _atask(self, messages: Sequence[BaseMessage], stopped: int) -> list[BaseMessage]:
        turn = current_turn(messages)
        for place, earlier in enumerate(self._before(messages)):
            kept = await self.memory.aget(self._episode_id(earlier), user=self.user)
            if place >= stopped and not goes_on(earlier, kept):
                break
            turn = earlier
        return turn

    def _before(self, messages: Sequence[BaseMessage]) -> Iterator[list[BaseMessage]]:
        # Without a thread each turn is one by itself.
        return iter(()) if self.thread_id is None else turns_before(messages)

    def _episode_id(self, turn: Sequence[BaseMessage]) -> str:
        return Episode.id_of(self._thread(turn), turn[0].id or "")

    def _began(self, task: Sequence[BaseMessage]) -> datetime | None:
        """Return when the user's message was kept, which `with_memory` does at once."""
        record = self.memory.get(self._start_id(task), user=self.user)
        return self._said_here(record, task)

    async def _abegan(self, task: Sequence[BaseMessage]) -> datetime | None:
        record = await self.memory.aget(self._start_id(task), user=self.user)
        return self._said_here(record, task)

    def _start_id(self, task: Sequence[BaseMessage]) -> str:
        return Message.id_of(self._thread(task), task[0].id or "")

    def _said_here(self, record: Record | None, messages: Sequence[BaseMessage]) -> datetime | None:
        """Return when a message was said, unless this thread has it from another one."""
        here = isinstance(record, Message) and record.thread_id == self._thread(messages)
        return record.created_at if record is not None and here else None

    def _is_task(self, task: Sequence[BaseMessage]) -> bool:
        """Whether it is worth an episode."""
        return bool(task) and bool(self.memory.is_task(text_of(task[0]), tool_names(task)))

    def _episode(self, task: Sequence[BaseMessage], began: datetime | None) -> Episode:
        tools = tool_names(task)
        now = self.memory.clock()
        took = None if began is None else (now - began).total_seconds()
        steps = [f"node: {self.node}"] if self.node else []
        steps += [f"tools: {', '.join(tools)}"] if tools else []
        return episode_from(
            text_of(task[0]).strip() or "(a message without text)",
            user=self.user,
            approach="; ".join(steps),
            outcome="completed",
            duration_ms=None if took is None else max(round(1000 * took), 0),
            token_cost=token_cost(task),
            quality_score=None,
            notes="",
            error=None,
            thread_id=self._thread(task),
            turn_id=task[0].id or "",
            now=now,
            redact=self.memory.redact,
        )

    def step(self, name: str) -> Step:
        """Return something that memory is about to do in this run: it tells of it."""
        named = {"user": self.user, "project": self.project, "agent": self.agent}
        whose = {kind: id for kind, id in named.items() if id is not None}
        return Step(f"memory.{name}", self.write, whose, self.memory.redact)


def check_memory(memory: object) -> None:
    """Refuse anything but a memory when a graph is built; deliver what waits in its outbox."""
    if not isinstance(memory, Memory):
        raise ConfigurationError(
            f"expected a Memory, such as Memory(ChromaStore('./memory')); got {memory!r}"
        )
    if memory.has_store:
        _open_outbox(memory)


def check_writing(memory: Memory, what: str) -> None:
    """Refuse a memory that is only read, when the graph is built.

    Args:
        memory: What would be written to.
        what: The part of the graph that writes.
    """
    check_memory(memory)
    if memory.read_only:
        raise ConfigurationError(
            f"{what} keeps what is said, and this memory is open with read_only=True: use "
            "recall_node(memory) with messages_with_memory(state), or memory_tools(memory)"
        )


def current_run(memory: Memory, scopes: Scopes, state: Any, node: str | None = None) -> Run:
    """Return the run that is going on in this context.

    Raises:
        MissingUserError: If it does not say whose memory it uses.
        ConfigurationError: If there is no store.
    """
    return run_of(memory, scopes, state, get_config(), get_runtime(), node)


def run_of(
    memory: Memory,
    scopes: Scopes,
    state: Any,
    config: RunnableConfig,
    runtime: Any,
    node: str | None = None,
) -> Run:
    """Return the run that a config and a runtime are of; raises as `current_run` does."""
    configurable = config.get("configurable") or {}
    user = run_user(scopes.user, state, config, runtime)
    bound = memory.using(getattr(runtime, "store", None))
    _open_outbox(bound)
    thread_id = configurable.get("thread_id")
    return Run(
        memory=bound,
        user=user,
        project=run_owner_id("project", scopes.project, state, config, runtime),
        agent=run_owner_id("agent", scopes.agent, state, config, runtime),
        thread_id=None if thread_id is None else str(thread_id),
        resumable=thread_id is not None and configurable.get("__pregel_checkpointer") is not None,
        node=node,
        write=getattr(runtime, "stream_writer", None) or (lambda _: None),
    )


# -- what waits in an outbox --


def deliver_outbox(memory: Memory) -> int:
    """Deliver now what waits in a memory's outbox for its server, in order.

    Graphs, agents and recorders do so by themselves, in the background: this is for a job.

    Args:
        memory: The memory.

    Returns:
        How many entries were delivered, or set aside since they cannot be: an error in the log.

    Raises:
        StoreAwayError: If the server is away; what was delivered by then stays so.
        ConfigurationError: If the memory has no outbox.
    """
    if memory.delivery is None:
        raise ConfigurationError("this Memory has no outbox: Memory(store, outbox='./outbox.db')")
    return memory.delivery.deliver(place_of(memory.store), partial(deliver_entry, memory))


def letter(
    memory: Memory,
    user: str,
    thread_id: str,
    content: Callable[[Sequence[Content]], Content | None],
) -> Letter:
    """Return how something of a memory is kept, and delivered later.

    Args:
        memory: The memory.
        user: Whose it is.
        thread_id: Its thread.
        content: Makes of it what is kept, given what waits of the same thread, if anything is.
    """
    place, now = place_of(memory.store), memory.clock()

    def entry(waiting: Sequence[Content]) -> Entry | None:
        kept = content(waiting)
        return None if kept is None else Entry(user, thread_id, now, kept)

    return Letter(place, user, thread_id, entry, partial(deliver_entry, memory))


def deliver_entry(memory: Memory, entry: Entry) -> None:
    """Save what an entry of an outbox says, as it was to be saved then.

    That is to save it once more, as a replay does, which writes nothing twice.
    """
    then, content = _as_of(memory, entry.at), entry.content
    if "episode" in content:
        _deliver_episode(then, entry)
        return
    saving = Saving.of(content)
    run = Run(then, entry.user, None, None, **content["run"], write=lambda _: None)
    if not saving.over:
        run.log(saving.messages)
        return
    run.keep(saving)
    memory.process_later(entry.user, entry.thread_id)


def _as_of(memory: Memory, moment: datetime) -> Memory:
    """Return a memory whose clock stands still."""
    then = copy(memory)
    then.clock = lambda: moment
    return then


def episode_letter(memory: Memory, episode: Episode, turn_id: str) -> Letter:
    """Return how an episode is kept, and delivered later."""
    content = {"episode": episode.to_value(), "id": episode.id, "turn_id": turn_id}
    return letter(memory, episode.owner.id, episode.thread_id or turn_id, lambda _: content)


def _deliver_episode(memory: Memory, entry: Entry) -> None:
    kept = entry.content
    where = {"user": entry.user, "thread_id": entry.thread_id}
    if not memory.is_forgotten(kept["turn_id"], **where):
        owner = Owner("user", entry.user)
        memory.keep_episode(Episode.from_value(owner, kept["id"], kept["episode"]))


def _open_outbox(memory: Memory) -> None:
    """Begin to deliver what an earlier process has left."""
    store = memory.store
    if memory.delivery is not None and not memory.read_only:
        memory.delivery.open(place_of(store), partial(deliver_entry, memory))


def _tell_processed(step: Step, done: Processed) -> None:
    """Tell which notes came of a turn, and what that cost; nothing if no model was asked."""
    if done.error is not None:
        step.failed(done.error, usage=done.usage)
    elif done.usage is not None:
        step.tell("memory.saved", [change.record for change in done.changes], usage=done.usage)
