"""How hits are scored: relevance decides, recency and importance move it within bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.ranking import Evidence, Quotas, Ranking, recency, select
from langgraph_memory.records import Episode, Hit, Message, Note, Recalled, Record
from langgraph_memory.scope import Owner

ANA = Owner("user", "ana")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
UNIT = st.floats(0, 1)
TYPES = ("note", "episode", "message", "document")
AGES = st.floats(0, 10_000)


def note(id: str = "n", *, days: float = 0, importance: float = 0.5, owner: Owner = ANA) -> Note:
    moment = NOW - timedelta(days=days)
    return Note(
        id=id,
        owner=owner,
        text=f"note {id}",
        importance=importance,
        created_at=moment,
        updated_at=moment,
        valid_from=moment,
    )


def message(id: str, message_id: str = "m") -> Message:
    return Message(
        id=id,
        owner=ANA,
        created_at=NOW,
        text=f"message {id}",
        speaker="user",
        role="user",
        thread_id="t",
        message_id=message_id,
        position=0,
    )


def episode(id: str) -> Episode:
    return Episode(id=id, owner=ANA, task=f"task {id}", created_at=NOW)


def candidate(record: Record, relevance: float = 1.0) -> Evidence:
    return Evidence(record, 1.0, 1.0, 1.0, relevance)


def ids(hits: Any) -> list[str]:
    return [hit.record.id for hit in hits]


# -- recency -------------------------------------------------------------------------------------


def test_recency_halves_with_each_half_life() -> None:
    for halves in range(5):
        assert recency(NOW - timedelta(days=30 * halves), NOW, 30) == 0.5**halves


@settings(deadline=None)
@given(AGES, AGES)
def test_what_is_newer_is_never_less_recent(one: float, other: float) -> None:
    newer, older = sorted((one, other))
    recent, past = (recency(NOW - timedelta(days=age), NOW, 30) for age in (newer, older))
    assert 1 >= recent >= past >= 0


def test_the_future_counts_as_now() -> None:
    assert recency(NOW + timedelta(days=400), NOW, 30) == 1


# -- relevance -----------------------------------------------------------------------------------


SCORES = st.lists(st.tuples(st.floats(-1, 1, width=32), st.floats(0, 50, width=32)), max_size=20)


@settings(deadline=None)
@given(SCORES, UNIT)
def test_relevance_is_between_nothing_and_all_and_agrees_with_its_parts(
    scores: list[tuple[float, float]], dense_weight: float
) -> None:
    cosine, bm25 = np.array(scores, np.float32).reshape(-1, 2).T
    relevance = Ranking(dense_weight=dense_weight).relevance(cosine, bm25)
    assert relevance.shape == cosine.shape
    assert np.isfinite(relevance).all()
    assert (relevance >= 0).all()
    assert (relevance <= 1 + 1e-6).all()
    for i in range(len(scores)):
        better = (cosine >= cosine[i]) & (bm25 >= bm25[i])
        assert (relevance[better] >= relevance[i] - 1e-6).all()


def test_the_weight_says_whether_meaning_or_words_decide() -> None:
    cosine, bm25 = np.array([0.9, 0.1], np.float32), np.array([0.0, 5.0], np.float32)
    by_meaning = Ranking(dense_weight=1).relevance(cosine, bm25)
    by_words = Ranking(dense_weight=0).relevance(cosine, bm25)
    assert by_meaning.tolist() == [1.0, 0.0]
    assert by_words.tolist() == [0.0, 1.0]


# -- hits ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(UNIT, AGES, UNIT, AGES, UNIT)
def test_no_boost_lifts_a_record_above_one_that_is_clearly_more_relevant(
    relevance: float, age: float, importance: float, other_age: float, other_importance: float
) -> None:
    """Clearly: by a third, which is more than both boosts together can be."""
    less = candidate(note("less", days=age, importance=importance), relevance * 0.74)
    more = candidate(note("more", days=other_age, importance=other_importance), relevance)
    first, second = Ranking().hits([less, more], NOW)
    assert first.record.id == "more" or first.score == pytest.approx(second.score)


@settings(deadline=None)
@given(AGES, UNIT, UNIT)
def test_a_boost_is_bounded(age: float, importance: float, relevance: float) -> None:
    [hit] = Ranking().hits([candidate(note(days=age, importance=importance), relevance)], NOW)
    assert 0 <= hit.parts["recency"] <= 0.1
    assert -0.1 <= hit.parts["importance"] <= 0.1
    assert 0.9 * relevance <= hit.score + 1e-9
    assert hit.score <= 1.2 * relevance + 1e-9


def test_of_equal_relevance_the_newer_and_the_more_important_come_first() -> None:
    by_age = [note(str(days), days=days) for days in (300, 3, 30)]
    assert ids(Ranking().hits([candidate(one) for one in by_age], NOW)) == ["3", "30", "300"]
    by_importance = [note(str(value), importance=value) for value in (0.0, 1.0, 0.5)]
    hits = Ranking().hits([candidate(one) for one in by_importance], NOW)
    assert ids(hits) == ["1.0", "0.5", "0.0"]


def test_what_was_said_again_counts_from_then() -> None:
    again = replace(note("again", days=300), updated_at=NOW)
    hits = Ranking().hits([candidate(note("once", days=100)), candidate(again)], NOW)
    assert ids(hits) == ["again", "once"]


def test_messages_and_tasks_are_of_middling_importance() -> None:
    hits = Ranking().hits([candidate(message("m")), candidate(episode("e"))], NOW)
    assert [hit.parts["importance"] for hit in hits] == [0, 0]


def test_boosts_and_their_half_life_can_be_chosen() -> None:
    old_and_close = candidate(note("old", days=10), 0.9)
    new_and_far = candidate(note("new"), 0.6)
    both = [old_and_close, new_and_far]
    assert ids(Ranking().hits(both, NOW)) == ["old", "new"]
    assert ids(Ranking(recency_boost=2, half_life_days=1).hits(both, NOW)) == ["new", "old"]
    unboosted = Ranking(recency_boost=0, importance_boost=0).hits(both, NOW)
    assert [hit.score for hit in unboosted] == [0.9, 0.6]


def test_a_hit_says_what_its_score_is_made_of() -> None:
    record = note(days=30, importance=0.8)
    [hit] = Ranking().hits([Evidence(record, 0.6, 4.0, 0.5, 0.7)], NOW)
    parts = dict(hit.parts)
    assert (hit.record, hit.text) == (record, record.text)
    assert [parts.pop(name) for name in ("cosine", "bm25", "coverage", "relevance")] == [
        0.6,
        4.0,
        0.5,
        0.7,
    ]
    assert parts == {"recency": pytest.approx(0.05), "importance": pytest.approx(0.06)}
    assert hit.score == pytest.approx(0.7 * 1.11)


# -- the floor -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cosine", "coverage", "passes"),
    [(0.7, 0.0, True), (0.0, 0.7, True), (0.4, 0.4, True), (0.69, 0.0, False), (-0.2, 0.8, False)],
)
def test_below_the_floor_of_meaning_and_words_together_is_no_evidence(
    cosine: float, coverage: float, passes: bool
) -> None:
    assert Ranking(floor=0.7).is_evidence(cosine, coverage, None, "message") is passes


@pytest.mark.parametrize("type", ["note", "episode"])
def test_a_note_and_a_past_task_are_evidence_by_their_meaning_alone_as_well(type: str) -> None:
    ranking = replace(Ranking(floor=0.7, note_floor=2, episode_floor=2), **{f"{type}_floor": 0.5})
    for cosine, coverage, passes in ((0.5, 0.0, True), (0.49, 0.1, False), (0.4, 0.3, True)):
        assert ranking.is_evidence(cosine, coverage, None, type) is passes


def test_past_tasks_are_fused_with_a_weight_of_their_own() -> None:
    cosine, bm25 = np.array([0.9, 0.1], np.float32), np.array([0.0, 5.0], np.float32)
    ranking = Ranking(dense_weight=0.25, episode_dense_weight=0.75)
    assert ranking.relevance(cosine, bm25).tolist() == [0.25, 0.75]
    assert ranking.episode_relevance(cosine, bm25).tolist() == [0.75, 0.25]


def test_a_document_is_evidence_by_its_meaning_alone_as_well() -> None:
    ranking = Ranking(floor=0.7, document_floor=0.3)
    for cosine, coverage, passes in ((0.3, 0.0, True), (0.29, 0.1, False), (0.2, 0.5, True)):
        assert ranking.is_evidence(cosine, coverage, None, "document") is passes


def test_a_floor_of_ones_own_replaces_both() -> None:
    assert not Ranking().is_evidence(0.9, 0.0, 1.0, "note")
    assert Ranking(floor=2, note_floor=2).is_evidence(0.9, 0.0, 0.9, "note")


@settings(deadline=None)
@given(st.floats(-1, 1), UNIT, st.floats(0, 2), st.floats(0, 2), st.sampled_from(TYPES))
def test_a_higher_floor_only_takes_away(
    cosine: float, coverage: float, one: float, other: float, type: str
) -> None:
    low, high = sorted((one, other))
    above_low, above_high = (
        Ranking().is_evidence(cosine, coverage, floor, type) for floor in (low, high)
    )
    assert above_low >= above_high
    assert Ranking().is_evidence(cosine, coverage, 0, type)


def test_no_candidates_are_no_hits() -> None:
    assert Ranking().hits([], NOW) == []


# -- what a prompt gets --------------------------------------------------------------------------


def hit(record: Record) -> Hit:
    return Hit(record, record.text, 1.0, {})


def recalled(*records: Record, profile: tuple[Note, ...] = (), tasks: int = 0) -> Recalled:
    return Recalled(
        "q",
        profile=profile,
        hits=tuple(map(hit, records)),
        episodes=tuple(hit(episode(f"e{i}")) for i in range(tasks)),
        nothing_known=False,
    )


def test_a_prompt_gets_the_best_of_each_type_in_their_order() -> None:
    records = [record for i in range(9) for record in (note(f"n{i}"), message(f"m{i}", f"{i}"))]
    chosen = select(recalled(*records, tasks=3), Quotas(notes=3, messages=2, episodes=1))
    assert ids(chosen.hits) == ["n0", "m0", "n1", "m1", "n2"]
    assert ids(chosen.episodes) == ["e0"]


def test_the_usual_quotas_are_five_notes_four_messages_three_documents_two_tasks() -> None:
    assert Quotas().by_type == {"note": 5, "message": 4, "document": 3, "episode": 2}


def test_a_quota_of_none_leaves_a_type_out() -> None:
    chosen = select(
        recalled(note("n"), message("m"), tasks=1), Quotas(notes=0, messages=0, episodes=0)
    )
    assert (chosen.hits, chosen.episodes) == ((), ())


def test_notes_of_the_profile_are_not_repeated_and_make_room() -> None:
    records = [note(f"n{i}") for i in range(5)]
    chosen = select(recalled(*records, profile=(note("n0"), note("n2"))), Quotas(notes=2))
    assert ids(chosen.hits) == ["n1", "n3"]
    assert ids(map(hit, chosen.profile)) == ["n0", "n2"]


def test_a_note_of_another_owner_with_the_same_id_is_no_repetition() -> None:
    """Ids are named by content: a user's slot and a project's slot of one name share one."""
    shared = note("n0", owner=Owner("project", "bar"))
    assert ids(select(recalled(shared, profile=(note("n0"),)), Quotas()).hits) == ["n0"]


def test_what_a_project_knows_takes_no_place_of_what_the_user_said() -> None:
    """Colleagues may have written any number of notes that fit the question better."""
    bar = Owner("project", "bar")
    records = [*(note(f"p{i}", owner=bar) for i in range(9)), *(note(f"n{i}") for i in range(3))]
    assert ids(select(recalled(*records), Quotas(notes=2)).hits) == ["p0", "p1", "n0", "n1"]


def test_choosing_for_a_prompt_keeps_all_else() -> None:
    given = replace(recalled(note("n")), recent=(message("r"),), nothing_known=True)
    chosen = select(given, Quotas())
    assert (chosen.query, chosen.recent, chosen.nothing_known) == ("q", (message("r"),), True)
