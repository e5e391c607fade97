"""What becomes of a turn that is logged more than once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langgraph_memory import ChromaStore, Episode, Memory
from langgraph_memory.episodes.episodes import merged_episode
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import OUTCOMES, Outcome
from langgraph_memory.testing import HashingEmbeddings

NOW = datetime(2026, 5, 2, tzinfo=UTC)
TURN: dict[str, Any] = {"user": "ana", "thread_id": "t", "turn_id": "m-1"}


def episode(**fields: Any) -> Episode:
    common: dict[str, Any] = {"owner": Owner("user", "ana"), "created_at": NOW, "task": "Ship it"}
    return Episode(**({"id": "e"} | common | fields))


texts = st.sampled_from(["", "tools: a", "tools: a, b", "node: chat", "by hand; tools: ab"])
counts = st.none() | st.integers(0, 9)
drawn = st.builds(
    episode,
    approach=texts,
    outcome=st.sampled_from(OUTCOMES),
    duration_ms=counts,
    token_cost=counts,
    quality_score=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    notes=st.sampled_from(["", "late", " late \n", "rated: late", "late\nagain"]),
    error=st.none() | st.sampled_from(["ValueError: x", "OSError: y"]),
)


@given(drawn, drawn)
def test_what_is_known_is_not_lost(kept: Episode, later: Episode) -> None:
    both = merged_episode(kept, later)
    assert (both.id, both.owner, both.created_at) == (kept.id, kept.owner, kept.created_at)
    for name in ("duration_ms", "token_cost", "quality_score"):
        known = {getattr(kept, name), getattr(later, name)} - {None}
        assert (getattr(both, name) in known) if known else getattr(both, name) is None
    for told in (kept.notes, later.notes):
        assert f"\n{told.strip()}\n" in f"\n{both.notes.strip()}\n" or not told
    assert (later.error or kept.error or "") in both.text


@given(drawn, drawn)
@example(episode(outcome="failure", quality_score=0.0), episode(error="ValueError: x"))
def test_logging_the_same_again_changes_nothing(kept: Episode, later: Episode) -> None:
    both = merged_episode(kept, later)
    assert merged_episode(both, later) == both


@given(drawn, drawn)
def test_the_end_of_a_run_takes_no_judgement_back(kept: Episode, later: Episode) -> None:
    told = replace(later, outcome="completed", quality_score=None)
    both = merged_episode(kept, told)
    failed = kept.outcome == "failure" and kept.error is None and kept.quality_score is not None
    if kept.outcome in ("success", "partial") or failed:
        assert both.outcome == kept.outcome


@pytest.mark.parametrize(
    ("kept", "later", "result"),
    [
        ("completed", "failure", "failure"),
        ("completed", "cancelled", "cancelled"),
        ("failure", "completed", "completed"),
        ("interrupted", "completed", "completed"),
        ("interrupted", "failure", "failure"),
        ("success", "completed", "success"),
        ("partial", "completed", "partial"),
        ("success", "failure", "success"),
        ("completed", "success", "success"),
        ("partial", "success", "success"),
    ],
)
def test_the_later_outcome_holds_unless_one_is_a_judgement(
    kept: Outcome, later: Outcome, result: Outcome
) -> None:
    assert merged_episode(episode(outcome=kept), episode(outcome=later)).outcome == result


@pytest.mark.parametrize("stopped", ["interrupted", "cancelled", "failure"])
def test_a_turn_that_was_judged_before_it_went_on_ends_as_it_ended(stopped: Outcome) -> None:
    error = "OSError: closed" if stopped == "failure" else None
    judged = episode(outcome=stopped, error=error, quality_score=0.1)
    over = merged_episode(judged, episode(outcome="completed"))
    assert (over.outcome, over.error, over.quality_score) == ("completed", None, 0.1)


def test_an_error_that_the_turn_got_over_is_in_its_notes() -> None:
    failed = episode(outcome="failure", error="OSError: closed")
    over = merged_episode(failed, episode(outcome="completed"))
    assert (over.error, over.notes) == (None, "It failed before: OSError: closed")
    assert merged_episode(over, episode(outcome="completed")) == over


@pytest.mark.parametrize(
    ("kept", "later", "both"),
    [
        ("tools: a", "tools: a, b", "tools: a, b"),
        ("node: chat; tools: a, b", "tools: a, b", "node: chat; tools: a, b"),
        ("node: chat", "tools: a", "node: chat; tools: a"),
        ("tools: a", "tools: ab", "tools: a; tools: ab"),
        ("Asked the courier", "", "Asked the courier"),
        ("called; waited; called", "called; waited; called", "called; waited; called"),
    ],
)
def test_steps_are_joined(kept: str, later: str, both: str) -> None:
    assert merged_episode(episode(approach=kept), episode(approach=later)).approach == both


def test_a_turn_logged_again_keeps_its_time_and_its_judgement(
    tmp_path: Path,
) -> None:
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings()), clock=lambda: now) as memory:
        now = NOW
        first: Episode = memory.log_episode("Ship it", token_cost=7, **TURN)
        memory.rate_episode(first.id, 0.9, user="ana", outcome="success", notes="quick")
        now = NOW + timedelta(hours=1)
        again = memory.log_episode("Ship it", approach="By courier", duration_ms=5, **TURN)
        assert memory.get(first.id, user="ana") == again
        assert (again.created_at, again.outcome, again.quality_score) == (NOW, "success", 0.9)
        assert (again.notes, again.approach) == ("quick", "By courier")
        assert (again.token_cost, again.duration_ms) == (7, 5)
        turn = episode(id=first.id, thread_id="t", token_cost=9)
        said = [("user", "Ship it, please, to Rosario.")]
        memory.log_turn(said, user="ana", thread_id="t", episode=turn)
        kept = memory.get(first.id, user="ana")
        assert kept == replace(again, token_cost=9)


def test_only_an_episode_that_is_over_is_judged() -> None:
    judged: list[Outcome] = []

    def evaluator(episode: Episode, messages: object) -> float:
        judged.append(episode.outcome)
        return 0.5

    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    with Memory(store, evaluator=evaluator, debounce=0) as memory:
        stopped = memory.log_episode("Ship it", outcome="interrupted", **TURN)
        memory.log_turn("Ship it, to Rosario", user="ana", thread_id="t", episode=stopped)
        memory.flush()
        assert judged == []
        memory.log_episode("Ship it", **TURN)
        memory.flush()
    assert judged == ["completed"]
