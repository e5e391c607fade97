"""How hits are scored: relevance decides, recency and importance move it within bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records.owners import Owner, RecordType
from langgraph_memory.records.records import Episode, Message, Note, Record
from langgraph_memory.retrieval.block import Quotas
from langgraph_memory.retrieval.ranking import (
    EMBEDDED,
    UNMEASURED,
    Evidence,
    Floors,
    Ranking,
    distinct,
    recency,
)
from langgraph_memory.retrieval.recalled import Hit

ANA = Owner("user", "ana")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
UNIT = st.floats(0, 1)
TYPES: tuple[RecordType, ...] = ("note", "episode", "message", "document")
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
    return Evidence(record, {"relevance": relevance})


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
    assert 0 <= hit.parts["recency"] <= 0.03
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"dense": -1},
        {"lexical": math.nan},
        {"recency_boost": math.inf},
        {"named": True},
        {"moment": "much"},
        {"half_life_days": 0},
        {"floors": 0.5},
    ],
    ids=repr,
)
def test_what_is_no_weight_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Ranking(**wrong)


@pytest.mark.parametrize("wrong", [math.nan, "low", None])
def test_what_is_no_floor_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="note= is a number"):
        Floors(note=wrong)


def test_a_hit_says_what_its_score_is_made_of() -> None:
    record = note(days=30, importance=0.8)
    scores = {"relevance": 0.7, "cosine": 0.6, "bm25": 4.0, "named": 1.0}
    [hit] = Ranking(recency_boost=0.1).hits([Evidence(record, scores)], NOW)
    boosts = {"recency": pytest.approx(0.05), "importance": pytest.approx(0.06)}
    assert (hit.record, hit.text) == (record, record.text)
    assert hit.parts == {**scores, **boosts}
    assert hit.score == pytest.approx(0.7 * 1.11)


@settings(deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), AGES, UNIT)
def test_what_is_more_relevant_and_else_the_same_is_never_below(
    one: float, other: float, age: float, importance: float
) -> None:
    """Also where relevance is negative, as of a text that is like the opposite."""
    low, high = sorted((one, other))
    records = [
        candidate(note(id, days=age, importance=importance), relevance)
        for id, relevance in (("low", low), ("high", high))
    ]
    scores = {hit.record.id: hit.score for hit in Ranking().hits(records, NOW)}
    assert scores["low"] <= scores["high"] + 1e-9


def test_no_candidates_are_no_hits() -> None:
    assert Ranking().hits([], NOW) == Ranking.generative_agents().hits([], NOW) == []


# -- the ranking of generative agents ------------------------------------------------------------


def test_generative_agents_add_relevance_importance_and_recency() -> None:
    found = [
        candidate(note("close", days=300, importance=0.2), 2.0),
        candidate(note("between", days=1, importance=0.9), 1.5),
        candidate(note("far", importance=1.0), 1.0),
    ]
    scores = {hit.record.id: hit.score for hit in Ranking.generative_agents().hits(found, NOW)}
    assert scores == {
        "close": pytest.approx(0.4 + 0.3 * 0.2, abs=1e-6),
        "between": pytest.approx(0.4 * 0.5 + 0.3 * 0.9 + 0.3 * 0.995**24),
        "far": pytest.approx(0.3 + 0.3),
    }
    assert ids(Ranking.generative_agents().hits(found, NOW)) == ["between", "far", "close"]
    assert ids(Ranking().hits(found, NOW)) == ["close", "between", "far"]


def test_generative_agents_take_all_for_relevant_where_nothing_differs() -> None:
    [hit] = Ranking.generative_agents().hits([candidate(note(importance=0), 0.3)], NOW)
    assert hit.score == pytest.approx(0.4 + 0.3)
    assert hit.parts["recency"] == pytest.approx(0.3)


# -- the floor -----------------------------------------------------------------------------------


@pytest.mark.parametrize("type", TYPES)
def test_each_type_has_a_floor_and_a_recall_may_have_its_own(type: RecordType) -> None:
    ranking = Ranking(floors=Floors(message=0.1, note=0.2, document=0.3, episode=0.4))
    floors = {"message": 0.1, "note": 0.2, "document": 0.3, "episode": 0.4}
    assert ranking.floor(type) == ranking.floor(type, None) == floors[type]
    assert ranking.floor(type, 0.7) == 0.7
    assert ranking.floor(type, 0) == ranking.floor(type, -1) == -math.inf


def test_floors_are_those_of_the_embedder_unless_they_are_given() -> None:
    embedded, other = (Ranking().with_floors_of(name) for name in ("use-multilingual-v3", "new"))
    assert (embedded.floors, other.floors) == (EMBEDDED, UNMEASURED)
    assert UNMEASURED.message < EMBEDDED.message
    own = Ranking(floors=Floors(note=1))
    assert own.with_floors_of("new") is own
    agents = Ranking.generative_agents()
    assert type(agents.with_floors_of("new")) is type(agents)


# -- what is said twice --------------------------------------------------------------------------


def test_a_message_is_left_out_only_beside_a_note_that_its_own_speaker_gave() -> None:
    shared = replace(note("n", owner=Owner("project", "bar")), sources=("m",))
    others = [hit(replace(shared, author="ben")), hit(message("m"))]
    assert ids(distinct(others, 10)) == ["n", "m"], "Ben's message has an id of its thread alone"
    own = [hit(replace(shared, author="ana")), hit(message("m"))]
    assert ids(distinct(own, 10)) == ["n"]


def test_a_message_is_left_out_beside_the_note_that_comes_from_it() -> None:
    from_m = replace(note("n"), sources=("m",))
    hits = [hit(message("m")), hit(from_m), hit(message("other", "m2"))]
    assert ids(distinct(hits, 10)) == ["n", "other"]
    assert ids(distinct(hits, 1)) == ["m"], "the note is not among them"
    assert ids(distinct(hits, 2)) == ["n", "other"], "and makes room"


def test_what_a_project_has_in_the_users_words_is_there_once() -> None:
    bar, bot = Owner("project", "bar"), Owner("agent", "bot")

    def tea(id: str, owner: Owner, text: str = "Drinks tea") -> Hit:
        return hit(replace(note(id, owner=owner), text=text))

    hits = [tea("p", bar), tea("u", ANA, "drinks  TEA"), tea("a", bot), tea("c", bar, "Coffee")]
    assert ids(distinct(hits, 10)) == ["u", "c"]
    assert ids(distinct([*hits[:1], *hits[2:]], 10)) == ["p", "c"]
    assert ids(distinct([tea("u", ANA), tea("v", ANA)], 10)) == ["u", "v"], "the user's own stay"


# -- what has its place in a prompt --------------------------------------------------------------


def hit(record: Record) -> Hit:
    return Hit(record, record.text, 1.0, {})


QUOTAS = st.builds(Quotas, *[st.integers(0, 3)] * 4)
OWNERS = (ANA, Owner("project", "bar"), Owner("agent", "bot"))


@given(st.lists(st.tuples(st.sampled_from(OWNERS), st.sampled_from("nme"))), QUOTAS)
def test_the_best_of_each_type_and_owner_have_their_place_in_their_order(
    found: list[tuple[Owner, str]], quotas: Quotas
) -> None:
    """What colleagues wrote takes no place of what is the user's own, however much it is."""
    make: dict[str, Callable[[str], Record]] = {"n": note, "m": message, "e": episode}
    hits = [hit(replace(make[of](f"{i}"), owner=owner)) for i, (owner, of) in enumerate(found)]
    placed = quotas.guaranteed(hits)
    expected = [
        each
        for of in {(each.record.owner, each.record.type) for each in hits}
        for each in [h for h in hits if (h.record.owner, h.record.type) == of][
            : quotas.by_type[of[1]]
        ]
    ]
    assert placed == sorted(expected, key=hits.index)


def test_the_usual_quotas_are_eight_notes_and_messages_three_documents_and_two_tasks() -> None:
    assert Quotas().by_type == {"note": 8, "message": 8, "document": 3, "episode": 2}


@pytest.mark.parametrize("floor", [0.4, -math.inf])
def test_what_accompanies_the_best_is_like_it_in_meaning_or_in_all(floor: float) -> None:
    """And has half of what the best must have; without a floor, all comes."""
    best = {"cosine": 0.5, "relevance": 2.0, "evidence": 0.9}

    def accompanies(**scores: float) -> bool:
        return Ranking().accompanies({**best, **scores}, best.__getitem__, floor)

    assert accompanies()
    assert accompanies(cosine=0.1, evidence=0.2)
    assert accompanies(relevance=0.1, evidence=0.2)
    without = floor == -math.inf
    assert accompanies(cosine=0.38, relevance=1.5) == without
    assert accompanies(evidence=0.19) == without
    best["cosine"] = 0.0  # a store without vectors
    assert accompanies()
    assert accompanies(relevance=1.5) == without
