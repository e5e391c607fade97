"""What is known of the runs that are going on, until they end. No I/O.

A run is known by its id, and so is all that it calls: of each such call the turn is found that it
belongs to. Safe to call from several threads.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Self
from uuid import UUID

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from langgraph_memory.episodes import is_answered, turns_before
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.messages import as_messages, field_of, last_user_message, text_of, with_ids
from langgraph_memory.records import Episode

logger = logging.getLogger(__name__)

MAX_OPEN_RUNS = 10_000
"""How many runs of graphs may be going on; of more, the oldest are forgotten. A stream that is kept
and neither read to its end nor closed never ends."""

_SUMMARY_CHARACTERS = 500


class TurnStart(NamedTuple):
    """What began a turn."""

    id: str
    """Of the user's message, or of what `recall_node` wrote down instead of one."""
    text: str

    @classmethod
    def of_message(cls, state: object) -> Self | None:
        """Return the latest message of the user in a state, or in an input."""
        message = last_user_message(_messages_in(state))
        return None if message is None else cls.by(message)

    @classmethod
    def by(cls, message: BaseMessage) -> Self:
        """Return what a message of the user began."""
        return cls(message.id or "", text_of(message).strip())

    @classmethod
    def of_recall(cls, state: object) -> Self | None:
        """Return what `recall_node` wrote into a state that has no messages."""
        recalled = field_of(state, "memory") if field_of(state, "messages") is None else None
        if not isinstance(recalled, Mapping) or "turn" not in recalled:
            return None
        begun = [*recalled.get("stopped", ()), recalled][0]  # or what this turn goes on with
        return cls(begun["turn"], str(begun["query"]).strip())


class Before(NamedTuple):
    """An earlier turn, that this one may go on with."""

    asked: TurnStart
    answered: bool
    """Whether it ended with an answer: it has stopped all the same if its episode says so."""


@dataclass(slots=True)
class ActiveTurn:
    """One run of the outermost graph, and what is known of the turn that it belongs to."""

    run_id: UUID
    user: str
    thread_id: str | None
    began: datetime
    task: str | None = None
    """What the input says is to be done, where no message does."""
    given: TurnStart | None = None
    """The message in the input; the graph may give it another id."""
    asked: TurnStart | None = None
    """What began the turn, as the nodes see it."""
    before: Iterable[Before] = ()
    """Earlier turns that it may go on with, the latest first; to be looked through once."""
    states: int = 0
    """How many nodes have begun."""
    resumed: bool = False
    interrupted: bool = False
    earlier: Episode | None = None
    """What is kept of the turn from earlier runs."""
    tools: dict[str, None] = field(default_factory=dict)
    tokens: dict[UUID, int] = field(default_factory=dict)
    """By call of a model."""
    calls: set[UUID] = field(default_factory=set)
    """What was called in this run."""

    def learn(self, state: object) -> bool:
        """Take from the state of one of the graph's nodes what began the turn.

        Returns:
            Whether it is the first node.
        """
        first, self.states = self.states == 0, self.states + 1
        if self.asked is None and (said := TurnStart.of_message(state)) is not None:
            self.asked = said
            self.before = self._before(state)
        elif (recalled := TurnStart.of_recall(state)) is not None:
            self.asked = recalled  # the latest: an earlier turn may have left one in the state
        return first

    def _before(self, state: object) -> Iterator[Before]:
        if self.thread_id is not None:  # without one, each turn is one by itself
            for turn in turns_before(_messages_in(state)):
                yield Before(TurnStart.by(turn[0]), is_answered(turn))

    @property
    def turn_id(self) -> str:
        """By what the turn is known: the message that began it, or else the run."""
        asked = self.asked or self.given
        return asked.id if asked is not None else str(self.run_id)

    @property
    def thread(self) -> str:
        """The thread, as memory knows it: a turn without one is a thread of its own."""
        return self.thread_id or self.turn_id


class OpenRuns:
    """The runs that are going on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[UUID, ActiveTurn] = {}  # by the run of the outermost graph, oldest first
        self._calls: dict[UUID, ActiveTurn] = {}  # by each run, also that of the graph

    def begin(self, turn: ActiveTurn) -> None:
        """Begin with a run of a graph."""
        with self._lock:
            if len(self._turns) >= MAX_OPEN_RUNS:
                self._forget(next(iter(self._turns)))
                logger.warning(
                    "more than %d runs of graphs are going on: the oldest is no longer recorded. "
                    "Streams that are not read to their end have to be closed",
                    MAX_OPEN_RUNS,
                )
            self._turns[turn.run_id] = self._calls[turn.run_id] = turn

    def turn(self, run_id: UUID | None) -> ActiveTurn | None:
        """Return the turn that a run belongs to."""
        with self._lock:
            return None if run_id is None else self._calls.get(run_id)

    def call(self, run_id: UUID, parent_run_id: UUID | None) -> ActiveTurn | None:
        """Note that a run calls another; return the turn that both belong to."""
        with self._lock:
            turn = self._calls.get(run_id)  # a handler that is given twice is told twice
            if turn is None and parent_run_id is not None:
                turn = self._calls.get(parent_run_id)
            if turn is not None and run_id != turn.run_id:
                self._calls[run_id] = turn
                turn.calls.add(run_id)
            return turn

    def end(self, run_id: UUID) -> ActiveTurn | None:
        """Note that a run has ended; return its turn if it is that of the outermost graph."""
        with self._lock:
            if run_id in self._turns:
                return self._forget(run_id)
            turn = self._calls.pop(run_id, None)
            if turn is not None:
                turn.calls.discard(run_id)
            return None

    def _forget(self, run_id: UUID) -> ActiveTurn:
        turn = self._turns.pop(run_id)
        for call in (run_id, *turn.calls):
            self._calls.pop(call, None)
        return turn

    def __len__(self) -> int:
        return len(self._calls)


def _messages_in(state: object) -> list[BaseMessage]:
    given = field_of(state, "messages")
    if not isinstance(given, (Sequence, Mapping, BaseMessage)):  # an iterator would be used up
        return []
    try:
        return with_ids(as_messages(given))
    except ConfigurationError:  # these are no messages, but something else of that name
        return []


def summary(given: object) -> str:
    """Return the input of a run that no message of a user began."""
    if isinstance(given, str):
        return given.strip()
    if _are_messages(given) and (said := TurnStart.of_message({"messages": given})) is not None:
        return said.text
    text = ""
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=_plain).iterencode(given):
            text += part
            if len(text) >= _SUMMARY_CHARACTERS:
                break
    except (ValueError, TypeError):  # it holds itself, or has keys that JSON lacks
        text = str(given)
    return text[:_SUMMARY_CHARACTERS]


def _are_messages(given: object) -> bool:
    """Whether an input is what was said, as a functional graph may be given it."""
    each = given if isinstance(given, list) else [given]
    return all(isinstance(message, BaseMessage) for message in each)


def _plain(given: object) -> object:
    return given.model_dump(mode="json") if isinstance(given, BaseModel) else str(given)
