"""Every run of a graph as an episode, also one that fails: a callback of LangChain and LangGraph.

Events come in the thread of a sync run, and beside the event loop of an async one: there LangChain
calls a plain handler in a thread, and waits for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent, GraphResumeEvent
from langgraph.types import Command

from langgraph_memory.episodes import ending, is_stopped, is_task
from langgraph_memory.errors import ConfigurationError, MissingUserError
from langgraph_memory.graph.active_runs import ActiveTurn, OpenRuns, TurnStart, summary
from langgraph_memory.graph.run import check_writing, episode_letter
from langgraph_memory.memory import Memory, episode_from, task_reader
from langgraph_memory.messages import token_cost
from langgraph_memory.models import TAG_MEMORY
from langgraph_memory.records import Episode, Outcome, check_id
from langgraph_memory.text import is_courtesy
from langgraph_memory.twins import blocking

logger = logging.getLogger(__name__)

Metadata = Mapping[str, Any]
"""What a run's config says in `metadata`, with what LangGraph adds."""
UserOf = Callable[[Metadata], str | None]
"""From a run's metadata to its user; `None` is refused."""

_NODE_TAG = "graph:step:"  # LangGraph gives it to the runs of its nodes


class EpisodeRecorder(GraphCallbackHandler):
    """A callback that logs one episode for each turn of a graph, however its run ends.

    Pass it as `config={"callbacks": [recorder], ...}`, or bind it with
    `graph.with_config(callbacks=[recorder])`. One recorder serves all users, threads and event
    loops. The episode is the one that `remember_node` and `with_memory` log for the turn, and is
    merged with theirs.

    A memory that fails does not take the answer from a run that has ended: it is in the log, as an
    error with its traceback.

    Args:
        memory: The memory, with a store of its own.
        user: Whose runs these are, or a function of a run's metadata; else
            `config["metadata"]["user_id"]`, which `Sessions.config` sets.
        task: What a run is to do, from the graph's input; an empty text if it is not worth an
            episode. Else it is what the user said, or the input as JSON where no message did.

    Raises:
        ConfigurationError: If the memory has no store, or `task` is no function.
    """

    raise_error = True  # or LangChain would pass over a run that does not say whose it is

    def __init__(
        self,
        memory: Memory,
        *,
        user: str | UserOf | None = None,
        task: Callable[[Any], str] | None = None,
    ) -> None:
        check_writing(memory, "EpisodeRecorder")
        _ = memory.store
        if task is not None and not callable(task):
            raise ConfigurationError(f"task= is a function of the graph's input, got {task!r}")
        self._memory = memory
        self._user = user if user is None or callable(user) else check_id("user", user)
        self._task = task_reader(task)
        self._open = OpenRuns()

    # -- what LangChain and LangGraph tell --

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Begin a turn with the outermost graph, and learn from its nodes which turn it is.

        Raises:
            MissingUserError: If the run does not say whose it is.
        """
        turn = self._open.call(run_id, parent_run_id)
        if turn is None and _is_graph(tags or [], metadata or {}):
            self._open.begin(self._begun(run_id, inputs, metadata or {}))
        elif turn is not None and turn.run_id == parent_run_id:
            with _told("what is known of a turn that goes on could not be read"):
                self._learn(turn, inputs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the turn, if it is the outermost graph that ended."""
        self._end(run_id, None, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Log the turn, if it is the outermost graph that failed or was cancelled."""
        self._end(run_id, error)

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """Note that the turn stops here, to go on later."""
        turn = self._open.turn(event.run_id)
        if turn is not None and turn.run_id == event.run_id:
            turn.interrupted = True

    def on_resume(self, event: GraphResumeEvent) -> None:
        """Note that the turn began in an earlier run."""
        turn = self._open.turn(event.run_id)
        if turn is not None and turn.run_id == event.run_id:
            turn.resumed = True

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note the tool's name."""
        turn = self._open.call(run_id, parent_run_id)
        if turn is not None:
            name = kwargs.get("name") or (serialized or {}).get("name")
            turn.tools.setdefault(str(name or "(a tool without a name)"))

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Follow it: a retriever may ask a model."""
        self._open.call(run_id, parent_run_id)

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing, where the default makes one text of all messages."""

    def on_llm_end(
        self,
        response: LLMResult,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what an answer cost, unless the memory itself asked for it."""
        turn = self._open.turn(parent_run_id)
        if turn is None or TAG_MEMORY in (tags or []):
            return
        with _told("what a model's answer cost could not be read"):
            turn.tokens[run_id] = token_cost(_answers(response)) or 0

    # -- a turn: begun, recognised, ended --

    def _begun(self, run_id: UUID, inputs: Any, metadata: Metadata) -> ActiveTurn:
        thread_id = metadata.get("thread_id")
        turn = ActiveTurn(
            run_id=run_id,
            user=_user_of(self._user, metadata),
            thread_id=None if thread_id is None else str(thread_id),
            began=self._memory.clock(),
        )
        if not (inputs is None or isinstance(inputs, Command)):  # those tell a turn to go on
            with _told("what a run is to do could not be read"):
                turn.given = TurnStart.of_message(inputs)
                turn.task = self._task_in(inputs, turn.given)
        return turn

    def _task_in(self, inputs: Any, given: TurnStart | None) -> str | None:
        if self._task is not None:
            return self._task(inputs)
        return summary(inputs) if given is None else None

    def _learn(self, turn: ActiveTurn, state: Any) -> None:
        if not turn.learn(state):
            return
        for asked, answered in turn.before:
            kept = self._kept(turn, asked)
            if answered and not is_stopped(kept):
                break
            turn.asked, turn.earlier = asked, kept
        if turn.resumed and turn.earlier is None:
            turn.earlier = self._earlier(turn)

    def _earlier(self, turn: ActiveTurn) -> Episode | None:
        """Return what is kept of a turn that goes on; without messages, its thread's latest."""
        if turn.asked is not None:
            return self._kept(turn, turn.asked)
        of_thread = {"thread_id": turn.thread}
        listed = self._memory.list(user=turn.user, types=("episode",), filter=of_thread, limit=1)
        return next((each for each in listed if isinstance(each, Episode)), None)

    def _kept(self, turn: ActiveTurn, asked: TurnStart) -> Episode | None:
        found = self._memory.get(Episode.id_of(turn.thread, asked.id), user=turn.user)
        return found if isinstance(found, Episode) else None

    def _end(self, run_id: UUID, error: BaseException | None, outputs: Any = None) -> None:
        turn = self._open.end(run_id)
        if turn is None:
            return
        with _told("the episode of a run could not be kept"):
            if turn.states == 0:  # it had stopped after its last node, or failed before the first
                self._learn(turn, outputs)
                if turn.resumed and turn.earlier is None:
                    return  # there was nothing to do
            task = self._task_of(turn, error)
            if task is not None:
                self._save(turn, self._episode(turn, task, error))

    def _save(self, turn: ActiveTurn, episode: Episode) -> None:
        memory, delivery = self._memory, self._memory.delivery

        def save() -> None:
            if not memory.is_forgotten(turn.turn_id, user=turn.user, thread_id=turn.thread):
                memory.keep_episode(episode)

        if delivery is None:
            save()
        else:
            delivery.save(episode_letter(memory, episode, turn.turn_id), partial(blocking, save))

    def _task_of(self, turn: ActiveTurn, error: BaseException | None) -> str | None:
        """Return what was to be done, or `None` if it is not worth an episode."""
        asked = None if self._task is not None else turn.asked or turn.given
        if turn.earlier is not None:  # what was said may have been edited since
            return (asked.text if asked is not None else "") or turn.earlier.task
        if asked is None:
            return turn.task or None
        decide = self._memory.is_task
        if not decide(asked.text, list(turn.tools)):
            # What came to nothing might have called a tool, and is not to be lost.
            ended = error is None and not turn.interrupted
            if ended or decide is not is_task or is_courtesy(asked.text):
                return None
        return asked.text or "(a message without text)"

    def _episode(self, turn: ActiveTurn, task: str, error: BaseException | None) -> Episode:
        end = ending(error) if error is not None else None
        stopped = turn.interrupted if error is None else end is None
        outcome: Outcome = "interrupted" if stopped else "completed"
        now, earlier = self._memory.clock(), turn.earlier
        took = max(round(1000 * (now - turn.began).total_seconds()), 0)
        tokens = sum(turn.tokens.values())
        episode = episode_from(
            task,
            user=turn.user,
            approach=f"tools: {', '.join(turn.tools)}" if turn.tools else "",
            outcome=outcome if end is None else end.outcome,
            duration_ms=took + ((earlier and earlier.duration_ms) or 0),
            token_cost=tokens + ((earlier and earlier.token_cost) or 0) or None,
            quality_score=None,
            notes="",
            error=None if end is None else end.error,
            thread_id=turn.thread,
            turn_id=turn.turn_id,
            now=now,
            redact=self._memory.redact,
        )
        return episode if earlier is None else replace(episode, id=earlier.id)


def _is_graph(tags: Iterable[str], metadata: Metadata) -> bool:
    """Whether a run that nothing we know of has called is one of a graph."""
    if any(tag == TAG_MEMORY or tag.startswith(_NODE_TAG) for tag in tags):
        return False
    return "ls_integration" in metadata


def _user_of(given: str | UserOf | None, metadata: Metadata) -> str:
    named = metadata.get("user_id")
    if isinstance(given, str) and named is not None and check_id("user", named) != given:
        raise ConfigurationError(
            f"this run is of the user {named!r} (metadata), and its EpisodeRecorder is for "
            f"{given!r}: leave out user= of a recorder that serves several users"
        )
    user = given(metadata) if callable(given) else given or named
    if user is None or user == "":
        raise MissingUserError(
            "this run does not tell its EpisodeRecorder whose it is. Add one of:\n"
            '  graph.invoke(..., sessions.config(user="c-2291", thread_id="..."))\n'
            '  graph.invoke(..., {"metadata": {"user_id": "c-2291"}, ...})\n'
            '  EpisodeRecorder(memory, user=lambda metadata: metadata["customer"])\n'
            "A user_id in `configurable` or in the run's context is not shown to callbacks."
        )
    return check_id("user", user)


def _answers(response: LLMResult) -> Iterator[BaseMessage]:
    for candidates in response.generations:
        for answer in candidates[:1]:
            if isinstance(answer, ChatGeneration):
                yield answer.message


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Let a run go on whose episode cannot be kept, and say so in the log."""
    try:
        yield
    except Exception:
        logger.exception("%s", what)
