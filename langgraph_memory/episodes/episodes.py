"""What is decided about episodes: how a task ended, how it is judged, what was said in it. Pure.

A turn's episode is logged more than once: by a node when the answer is there, by a recorder when
the run has ended, by each run of a turn that was stopped and went on. What is told later is what
became of the turn; a judgement is not taken back by a run that only ended.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, cast

from langgraph.errors import GraphBubbleUp
from langgraph.store.base import GetOp

from langgraph_memory.episodes.tasks import is_go_ahead
from langgraph_memory.errors import RecordNotFoundError
from langgraph_memory.records import Change, Episode, Message, Outcome, Record
from langgraph_memory.retrieval import Hit, Recalled
from langgraph_memory.store import get_op, sound_or_none

_JUDGED: tuple[Outcome, ...] = ("success", "partial")
"""What a run cannot say of itself."""


class Rating(NamedTuple):
    """What somebody thinks of how a task was done."""

    score: float
    """0 to 1."""
    outcome: Outcome | None = None
    """How it really ended; `None` leaves what is there."""
    notes: str = ""
    """Why; added to the episode's own."""


Evaluator = Callable[[Episode, list[Message]], "float | Rating | None"]
"""From an episode and what was said in it to what it is worth; `None` if it is not judged."""


def rated(episode: Episode, rating: Rating) -> Change[Episode]:
    """Return an episode with what somebody thinks of it; a later rating replaces the score."""
    judged = replace(
        episode,
        quality_score=rating.score,
        outcome=rating.outcome or episode.outcome,
        notes=_notes(episode.notes, rating.notes),
        reflected_at=None,  # there may be more to learn from it
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


def episode_hits(recalled: Recalled) -> list[Hit[Episode]]:
    """Return the hits of a recall that asked for episodes alone."""
    return [cast("Hit[Episode]", hit) for hit in recalled.hits]


class Ending(NamedTuple):
    """How a task ended that raised."""

    outcome: Outcome
    error: str | None = None


def ending(error: BaseException) -> Ending | None:
    """Return how a task ended that an exception left, or `None` if it goes on.

    A cancelled task, Ctrl-C, a generator that was closed and the end of the process (which are not
    of type `Exception`) are not the task's fault. LangGraph's interrupts only stop it
    until it is resumed.
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

    It is the turn that the episode was logged for, with the go-aheads that it was done after. One
    without a turn has what was said in its thread from its beginning, as far as that is known, to
    its end.
    """
    said = [message for message in messages if message.thread_id == episode.thread_id]
    said.sort(key=lambda message: (message.created_at, message.position))
    turns: list[list[Message]] = []
    for message in said:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    for place, turn in enumerate(turns):
        if Episode.id_of(episode.thread_id, turn[0].message_id) == episode.id:
            return _with_go_aheads(turn, turns[place + 1 :])
    end = episode.created_at
    took = episode.duration_ms
    # It was rounded: what was said as the first thing would be left out.
    start = None if took is None else end - timedelta(milliseconds=took + 1)
    return [m for m in said if m.created_at <= end and (start is None or m.created_at >= start)]


def _with_go_aheads(turn: list[Message], later: Iterable[list[Message]]) -> list[Message]:
    for next_turn in later:
        if turn[-1].role == "assistant" or not is_go_ahead(next_turn[0].text):
            break
        turn = [*turn, *next_turn]
    return turn


# -- a turn that is logged again --


def episode_read_op(episode: Episode) -> GetOp:
    """Return what has to be read before an episode is written."""
    return get_op(episode.owner.namespace("episode"), episode.id)


def with_kept(episode: Episode, item: Any) -> Episode:
    """Return an episode as it is to be written.

    Args:
        episode: What is to be logged.
        item: The store's answer to `read_op`.
    """
    kept = sound_or_none(item)
    if kept is None:
        return episode
    return merged_episode(Episode.from_value(episode.owner, kept.key, kept.value), episode)


def merged_episode(kept: Episode, later: Episode) -> Episode:
    """Return one episode of two of the same turn.

    Its time, its judgement and what was drawn from it stay. The outcome is the later one, unless
    somebody judged it; an error that the turn got over is told in the notes, whoever judged it
    meanwhile. Tokens are the larger of the two: both count from the turn's beginning. What was left
    empty takes nothing away.
    """
    outcome = _outcome(kept, later)
    got_over = kept.error if later.error is None and outcome != kept.outcome else None
    tokens = [cost for cost in (kept.token_cost, later.token_cost) if cost is not None]
    return replace(
        kept,
        task=later.task,
        approach=_steps(kept.approach, later.approach),
        outcome=outcome,
        duration_ms=kept.duration_ms if later.duration_ms is None else later.duration_ms,
        token_cost=max(tokens, default=None),
        quality_score=kept.quality_score if later.quality_score is None else later.quality_score,
        notes=_notes(kept.notes, later.notes, f"It failed before: {got_over}" if got_over else ""),
        error=None if got_over else later.error or kept.error,
        # A turn that failed after it was looked at has something to teach.
        reflected_at=kept.reflected_at if outcome == kept.outcome else None,
    )


def _outcome(kept: Episode, later: Episode) -> Outcome:
    judged = kept.outcome in _JUDGED
    if kept.outcome == "failure" and kept.error in (None, later.error):  # no error was got over
        judged = kept.quality_score is not None and later.outcome == "completed"
    stays = judged and later.outcome not in _JUDGED and later.quality_score is None
    return kept.outcome if stays else later.outcome


def _notes(kept: str, *later: str) -> str:
    """Add notes to others, unless their lines are among them."""
    for note in filter(None, map(str.strip, later)):
        if f"\n{note}\n" not in f"\n{kept.strip()}\n":
            kept = f"{kept.strip()}\n{note}".strip()
    return kept


def _steps(kept: str, later: str) -> str:
    """Add the steps that are new to others; a list that was begun gives way to a longer one."""
    steps = [step for step in kept.split("; ") if step]
    steps += [step for step in later.split("; ") if step and step not in steps]
    return "; ".join(s for s in steps if not any(o.startswith(f"{s}, ") for o in steps))
