"""What is decided about episodes: how a task ended, how it is judged, what was said in it. Pure."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from langgraph.errors import GraphBubbleUp

from langgraph_memory.errors import RecordNotFoundError
from langgraph_memory.records import Change, Episode, Message, Outcome, Record


class Rating(NamedTuple):
    """What somebody thinks of how a task was done."""

    score: float
    """0 to 1."""
    outcome: Outcome | None = None
    """How it really ended; `None` leaves what is there."""
    notes: str = ""
    """Why; added to the episode's own."""


Evaluator = Callable[[Episode, Sequence[Message]], "float | Rating | None"]
"""From an episode and what was said in it to what it is worth; `None` if it is not judged."""


def rated(episode: Episode, rating: Rating) -> Change:
    """Return an episode with what somebody thinks of it; a later rating replaces the score."""
    notes = episode.notes
    if rating.notes not in notes:
        notes = f"{notes}\n{rating.notes}".strip()
    judged = replace(
        episode,
        quality_score=rating.score,
        outcome=rating.outcome or episode.outcome,
        notes=notes,
    )
    return Change("update", judged, episode, "rated")


def found_episode(id: str, record: Record | None) -> Episode:
    """Return a record that is looked for as an episode.

    Raises:
        RecordNotFoundError: If it is none.
    """
    if not isinstance(record, Episode):
        raise RecordNotFoundError(f"the user has no episode with the id {id!r}")
    return record


class Ending(NamedTuple):
    """How a task ended that raised."""

    outcome: Outcome
    error: str | None = None


def ending(error: BaseException) -> Ending | None:
    """Return how a task ended that an exception left, or `None` if it goes on.

    What is no `Exception` (a cancelled task, Ctrl-C, a generator that was closed, the process that
    ends) is no fault of the task. LangGraph's interrupts only stop it until it is resumed.
    """
    if isinstance(error, GraphBubbleUp):
        return None
    if not isinstance(error, Exception):
        return Ending("cancelled")
    return Ending("failure", error_line(error))


def error_line(error: BaseException) -> str:
    """Return what the last line of an exception's traceback says, without notes added to it.

    Example:
        >>> error_line(TimeoutError("no answer from the shop"))
        'TimeoutError: no answer from the shop'
    """
    told = traceback.TracebackException(type(error), error, None)
    told.__notes__ = None
    return list(told.format_exception_only())[-1].strip()


def messages_of(episode: Episode, messages: Iterable[Message]) -> list[Message]:
    """Return what was said in a task, oldest first.

    It is the turn that the episode was logged for. One without a turn has what was said in its
    thread from its beginning, as far as that is known, to its end.
    """
    said = [message for message in messages if message.thread_id == episode.thread_id]
    said.sort(key=lambda message: (message.created_at, message.position))
    turns: list[list[Message]] = []
    for message in said:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    for turn in turns:
        if Episode.id_of(episode.thread_id, turn[0].message_id) == episode.id:
            return turn
    end = episode.created_at
    took = episode.duration_ms
    start = None if took is None else end - timedelta(milliseconds=took)
    return [m for m in said if m.created_at <= end and (start is None or m.created_at >= start)]
