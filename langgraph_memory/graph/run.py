"""One run of a graph, as memory sees it: whose it is, and what to keep of it.

The surfaces call this; it calls `Memory` alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
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
from langgraph_memory.graph.owner_ids import OwnerIdSource, run_owner_id, run_user
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
from langgraph_memory.twins import Either, Steps, drive

logger = logging.getLogger(__name__)

CANDIDATES = 60
"""Hits asked for, with which a block is filled."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """Where a run's user, project and agent come from, if the caller says so."""

    user: OwnerIdSource | None = None
    project: OwnerIdSource | None = None
    agent: OwnerIdSource | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What is known of a conversation at its latest turn, worked out once."""

    user: str
    thread_id: str
    """Its thread; without one, the id of the user's message stands for it."""
    messages: Sequence[BaseMessage]
    """All of them, with ids."""
    latest: list[BaseMessage]
    """What the user said last, and what came of it."""

    @property
    def whose(self) -> dict[str, Any]:
        """By which arguments `Memory` is told of it."""
        return {"user": self.user, "thread_id": self.thread_id}

    @property
    def earlier(self) -> list[BaseMessage]:
        """What precedes the latest turn, up to what was said last."""
        before = self.messages[: len(self.messages) - len(self.latest)]
        last = next((i for i in reversed(range(len(before))) if is_said(before[i])), -1)
        return list(before[: last + 1])

    @property
    def exchange(self) -> list[str]:
        """The ids of the records of what the user said last, and of the answer."""
        said = [message for message in self.latest if is_said(message)]
        return [self.record_id(message) for message in (said[0], said[-1])] if said else []

    def record_id(self, message: BaseMessage) -> str:
        """Return the id of the record of a message."""
        return Message.id_of(self.thread_id, message.id or "")


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
            "thread_id": self.turn(known).thread_id,
            "known": [message.id for message in known if message.id],
            "limit": CANDIDATES,
        }

    # -- saving; what these return waits for `Either`s alone --

    async def log_at_once(self, messages: Sequence[BaseMessage]) -> None:
        """Keep what was said, whatever becomes of the answer."""
        turn = self.turn(messages)
        await self._or_later(turn, Saving(messages), partial(self._log_at_once, turn))

    async def _log_at_once(self, turn: Turn) -> None:
        async with self.step("save") as step:
            if new := await self._log(turn):
                step.tell("memory.saved", new)

    async def log_earlier(self, messages: Sequence[BaseMessage]) -> None:
        """Keep what was said before this turn, as by a client that brings its history along."""
        if self.resumable and (earlier := self.turn(messages).earlier):
            turn = self.turn(earlier)
            await self._or_later(turn, Saving(earlier), partial(self._log_earlier, turn))

    async def _log_earlier(self, turn: Turn) -> None:
        last = turn.messages[-1]  # if it is kept, all are
        if await self._kept(turn.record_id(last)) is None:
            await self._log_at_once(turn)

    async def _log(self, turn: Turn, episode: Episode | None = None) -> list[Message]:
        """Keep what was said and is not kept yet, and the turn's episode if there is one."""
        # Without a checkpointer a client sends its history anew, under new ids.
        said = turn.messages if self.resumable else turn.latest
        memory = self.memory
        return await Either(memory.log_turn, memory.alog_turn, said, episode=episode, **turn.whose)

    async def save(
        self,
        taken: Taken,
        *,
        episodes: bool,
        background: bool,
        began: datetime | None = None,
        stopped: int = 0,
    ) -> None:
        """Keep a finished turn: what was said, and an episode if it was a task.

        Args:
            taken: All messages of the state, and what the model proposes to remember of the turn.
            episodes: Whether to log an episode.
            background: Whether what follows is done later, and not waited for.
            began: When the turn began, if that is known.
            stopped: How many of the turns before are known to have stopped before they were over.
        """
        turn = self.turn(taken.messages)
        saving = Saving(taken.messages, True, taken.proposed, episodes, began, stopped)
        await self._or_later(turn, saving, partial(self._save, turn, saving, background))

    async def _save(self, turn: Turn, saving: Saving, background: bool) -> None:
        memory = self.memory
        await self._keep(turn, saving)
        if background:
            await Either(memory.process_later, memory.aprocess_later, **turn.whose)
        elif memory.model is not None:
            async with self.step("extract") as step:
                done = await Either(memory.process_turn, memory.aprocess_turn, **turn.whose)
                _tell_processed(step, done)

    async def _keep(self, turn: Turn, saving: Saving) -> None:
        """Keep a turn that is over, without what follows."""
        async with self.step("save") as step:
            notes = await self._remember(step, turn, saving.proposed)
            episode = await self._episode(turn, saving) if saving.episodes else None
            saved = [*notes, *await self._log(turn, episode)]
            step.tell("memory.saved", [*saved, episode] if episode else saved)

    def deliver(self, saving: Saving) -> None:
        """Save what waited, and let what follows be done later."""
        turn = self.turn(saving.messages)
        if not saving.over:
            drive(self._log(turn))
            return
        drive(self._keep(turn, saving))
        self.memory.process_later(**turn.whose)

    # -- while the server is away --

    async def _or_later(self, turn: Turn, saving: Saving, save: Callable[[], Steps[None]]) -> None:
        """Save something, or let it wait in the outbox."""
        delivery = self.memory.delivery
        if delivery is None:
            await save()
        elif not await Either(delivery.save, delivery.asave, self._letter(turn, saving), save):
            self.step("save").tell("memory.waiting", [])

    def _letter(self, turn: Turn, saving: Saving) -> Letter:
        memory = self.memory
        run = {"thread_id": self.thread_id, "resumable": self.resumable, "node": self.node}

        def content(waiting: Sequence[Content]) -> Content | None:
            kept = saving.content(memory.redact, waiting)
            return {**kept, "run": run} if saving.over or kept["messages"] else None

        return letter(memory, self.user, turn.thread_id, content)

    # -- what the model proposes --

    async def _remember(self, step: Step, turn: Turn, proposed: Sequence[object]) -> list[Record]:
        memory = self.memory
        texts, refused = worth_keeping(proposed, memory.redact)
        if refused:
            step.refused(refused)
            logger.info("of the notes that the model proposed, %d are not kept", len(refused))
        ids = turn.exchange if texts else []
        if not texts or (ids and all([await self._kept(id) for id in ids])):
            return []  # a replay: the turn is kept already, and so is what it proposed
        keep = memory.keep_proposed, memory.akeep_proposed
        changes = await Either(*keep, texts, user=self.user, sources=ids[:1])
        return [change.record for change in changes]

    # -- episodes --

    async def _episode(self, turn: Turn, saving: Saving) -> Episode | None:
        """Return the episode of the task that a turn belongs to, if it is one and not forgotten."""
        memory = self.memory
        task = await self._task(turn, saving.stopped)
        if not task or not memory.is_task(text_of(task[0]), tool_names(task)):
            return None
        id = task[0].id or ""
        if await Either(memory.is_forgotten, memory.ais_forgotten, id, **turn.whose):
            return None
        return self._logged(turn, task, saving.began or await self._began(turn, task))

    async def _task(self, turn: Turn, stopped: int) -> list[BaseMessage]:
        """Return what was said and done in the task that the latest turn belongs to.

        Of the turns before, as many are known to have stopped as `stopped` says.
        """
        task = turn.latest
        # Without a thread each turn is one by itself.
        before = () if self.thread_id is None else turns_before(turn.messages)
        for place, earlier in enumerate(before):
            kept = await self._kept(Episode.id_of(turn.thread_id, earlier[0].id or ""))
            if place >= stopped and not goes_on(earlier, kept):
                break
            task = earlier
        return task

    async def _began(self, turn: Turn, task: Sequence[BaseMessage]) -> datetime | None:
        """Return when the user's message was kept, which `with_memory` does at once.

        Not if this thread has it from another one.
        """
        record = await self._kept(turn.record_id(task[0]))
        here = isinstance(record, Message) and record.thread_id == turn.thread_id
        return record.created_at if record is not None and here else None

    def _logged(self, turn: Turn, task: Sequence[BaseMessage], began: datetime | None) -> Episode:
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
            thread_id=turn.thread_id,
            turn_id=task[0].id or "",
            now=now,
            redact=self.memory.redact,
        )

    # -- parts of the above --

    def turn(self, messages: Sequence[BaseMessage]) -> Turn:
        """Return what is known of a conversation at its latest turn."""
        start = last_user_message(messages)
        alone = (start.id if start is not None else None) or "no thread"
        thread_id = alone if self.thread_id is None else self.thread_id
        return Turn(self.user, thread_id, messages, current_turn(messages))

    def _kept(self, id: str) -> Either[Record | None]:
        return Either(self.memory.get, self.memory.aget, id, user=self.user)

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
    run = Run(then, entry.user, None, None, **content["run"], write=lambda _: None)
    run.deliver(Saving.of(content))


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
