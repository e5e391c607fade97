"""A turn whose episode is logged more than once -> one episode. Pure.

A node logs the turn when the answer is there, a recorder when the run has ended, each run of a turn
that was stopped and went on, and people by hand. What is told later is what became of the turn; a
judgement is not taken back by a run that only ended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langgraph.store.base import GetOp

from langgraph_memory.operations import get_op
from langgraph_memory.records import Episode, Outcome

_JUDGED: tuple[Outcome, ...] = ("success", "partial")
"""What a run cannot say of itself."""


def read_op(episode: Episode) -> GetOp:
    """Return what has to be read before an episode is written."""
    return get_op(episode.owner.namespace("episode"), episode.id)


def with_kept(episode: Episode, item: Any) -> Episode:
    """Return an episode as it is to be written.

    Args:
        episode: What is to be logged.
        item: The store's answer to `read_op`.
    """
    if item is None:
        return episode
    return merged(Episode.from_value(episode.owner, item.key, item.value), episode)


def merged(kept: Episode, later: Episode) -> Episode:
    """Return one episode of two of the same turn.

    Its time, its judgement and what was drawn from it stay. The outcome is the later one, unless
    somebody judged it; an error that the turn got over is told in the notes. Tokens are the larger
    of the two: both count from the turn's beginning. What was left empty takes nothing away.
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
    )


def _outcome(kept: Episode, later: Episode) -> Outcome:
    judged = kept.outcome in _JUDGED
    rated = kept.quality_score is not None and later.outcome == "completed"
    stays = (judged or rated) and later.outcome not in _JUDGED and later.quality_score is None
    return kept.outcome if stays else later.outcome


def _notes(kept: str, *later: str) -> str:
    for note in later:
        kept = kept if note in kept else f"{kept}\n{note}".strip()
    return kept


def _steps(kept: str, later: str) -> str:
    """Join two approaches, each step once; a list that was begun gives way to a longer one."""
    steps = list(dict.fromkeys(step for step in f"{kept}; {later}".split("; ") if step))
    return "; ".join(s for s in steps if not any(o.startswith(f"{s}, ") for o in steps))
