"""What makes a record relevant: words, meaning, who said it and when, and what form it has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from langgraph_memory import ChromaStore, Memory, Ranking
from langgraph_memory.lexical import LexicalIndex, tokens
from langgraph_memory.records import Hit, Message
from langgraph_memory.relevance import RecordRanker, closeness
from langgraph_memory.store.ops import Scores, Searched
from langgraph_memory.testing import HashingEmbeddings, ManualClock

MAY = datetime(2026, 5, 12, 9, tzinfo=UTC)
APRIL = MAY - timedelta(days=30)
SAID = (
    ("Zoë", "What did you bring from Lima?"),
    ("Omar", "Two bags of the good stuff"),
    ("Zoë", "Lovely"),
    ("Omar", "The grinder is broken since Tuesday"),
)


@pytest.fixture
def memory() -> Any:
    clock = ManualClock(datetime(2026, 6, 20, tzinfo=UTC))
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), clock=clock) as memory:
        for month, at in enumerate((MAY - timedelta(days=31), MAY)):
            said = [HumanMessage(text, name=name, id=f"{month}{text}") for name, text in SAID]
            memory.log_turn(said, user="ana", thread_id=str(month), at=at)
        yield memory


def hits(memory: Memory, query: str, **how: Any) -> list[Hit]:
    options: dict[str, Any] = {"types": ("message",), "min_relevance": 0, "limit": 20, **how}
    return list(memory.recall(query, user="ana", **options))


def thread(hit: Hit) -> str:
    assert isinstance(hit.record, Message)
    return hit.record.thread_id


def part(found: list[Hit], name: str, month: int | None = None) -> dict[str, float]:
    threads = ("0", "1") if month is None else (str(month),)
    return {hit.text: round(hit.parts[name], 3) for hit in found if thread(hit) in threads}


# -- records that stand alone --------------------------------------------------------------------

COSINES = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=8)


def ranked(texts: list[str], cosine: Scores, query: str, ranking: Ranking) -> dict[str, Scores]:
    index = LexicalIndex()
    index.extend([tokens(text) for text in texts])
    alive = np.ones(len(texts), np.bool_)
    [scores] = RecordRanker(query, ranking)([Searched(cosine, index, alive, alive)])
    return scores


@settings(deadline=None)
@given(COSINES, st.floats(0, 3), st.floats(0, 3))
def test_a_record_that_shares_more_in_words_and_meaning_is_more_relevant(
    cosines: list[float], dense: float, lexical: float
) -> None:
    words = ["moka", "pot", "kitchen"]
    texts = [" ".join(words[: i % 4]) + " filler" * (3 - i % 4) for i in range(len(cosines))]
    ranking = Ranking(dense=dense, lexical=lexical)
    scores = ranked(texts, np.array(cosines, np.float32), "moka pot kitchen", ranking)
    for i in range(len(texts)):
        better = (scores["cosine"] >= scores["cosine"][i]) & (scores["bm25"] >= scores["bm25"][i])
        better &= scores["coverage"] >= scores["coverage"][i]
        assert (scores["relevance"][better] >= scores["relevance"][i] - 1e-5).all()


def test_one_stray_word_counts_for_less_than_the_meaning() -> None:
    texts = ["the espresso machine leaks", "seven kitchen chairs"]
    cosine = np.array([0.5, 0.2], np.float32)
    query = "Is there water below the thing that brews in my kitchen"
    relevance = ranked(texts, cosine, query, Ranking())["relevance"]
    assert relevance[0] > relevance[1]


# -- messages ------------------------------------------------------------------------------------


def test_an_answer_is_found_by_the_question_before_it(memory: Memory) -> None:
    found = hits(memory, "What came from Lima?")
    assert {hit.text for hit in found[:4]} == {"What did you bring from Lima?", SAID[1][1]}
    answers = part(found, "answers", 1)
    assert answers == {SAID[0][1]: -1, SAID[1][1]: 1, SAID[2][1]: 0, SAID[3][1]: 0}
    bm25 = part(found, "bm25", 1)
    assert bm25[SAID[0][1]] > bm25[SAID[1][1]] > bm25[SAID[2][1]] > bm25[SAID[3][1]] > 0


def test_who_is_named_is_who_spoke(memory: Memory) -> None:
    found = hits(memory, "What did Omar say of the grinder?")
    assert found[0].text == "The grinder is broken since Tuesday"
    assert part(found, "named", 0) == {text: float(name == "Omar") for name, text in SAID}
    both = part(hits(memory, "Did Omar or Zoë leave?"), "named", 0)
    assert set(both.values()) == {1}
    assert set(part(hits(memory, "Did Omara leave?"), "named").values()) == {0}


@pytest.mark.parametrize("query", ["broken in May", "broken last month", "五月 broken"])
def test_a_moment_that_is_asked_for_is_where_it_is_found(memory: Memory, query: str) -> None:
    found = hits(memory, query)
    assert found[0].text == "The grinder is broken since Tuesday"
    assert found[0].record.created_at == MAY
    assert set(part(found, "moment", 1).values()) == {1}
    assert all(0 < moment < 0.1 for moment in part(found, "moment", 0).values())


def test_a_moment_is_seen_from_the_past_that_is_asked_about(memory: Memory) -> None:
    as_of = MAY + timedelta(hours=1)
    found = hits(memory, "broken last month", as_of=as_of)
    assert thread(found[0]) == "0"


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("When did the machine break?", {"The grinder is broken since Tuesday"}),
        ("How many bags?", {"Two bags of the good stuff"}),
        ("Who has bags?", set()),
    ],
)
def test_what_has_the_kind_of_expression_that_is_asked_for_gains(
    memory: Memory, query: str, kinds: set[str]
) -> None:
    found = part(hits(memory, query), "kind")
    assert {text for text, value in found.items() if value} == kinds


def test_each_weight_is_what_its_part_counts(memory: Memory) -> None:
    query = "When did Omar say last May that the grinder broke?"
    ranking = Ranking(recency_boost=0, importance_boost=0)
    memory.ranking = ranking
    parts = {
        "lexical": "bm25",
        "dense": "likeness",
        "named": "named",
        "moment": "moment",
        "answers": "answers",
        "kind": "kind",
    }
    for hit in hits(memory, query):
        expected = sum(getattr(ranking, weight) * hit.parts[name] for weight, name in parts.items())
        assert hit.parts["relevance"] == pytest.approx(expected, abs=1e-5)
        assert hit.score == pytest.approx(expected, abs=1e-5)


def test_windows_end_at_what_was_forgotten_and_reach_over_it(memory: Memory) -> None:
    [middle] = [h.record.id for h in hits(memory, "Lovely") if h.text == "Lovely"][:1]
    before = part(hits(memory, "grinder Tuesday"), "bm25")["Two bags of the good stuff"]
    memory.forget(middle, user="ana")
    found = [h for h in hits(memory, "grinder Tuesday") if h.text == "Two bags of the good stuff"]
    assert max(hit.parts["bm25"] for hit in found) > before


def test_who_is_forgotten_is_not_named_and_their_days_are_not_asked_for(memory: Memory) -> None:
    for hit in hits(memory, "Omar", limit=100):
        assert isinstance(hit.record, Message)
        if hit.record.speaker == "Omar" or hit.record.created_at == MAY:
            memory.forget(hit.record.id, user="ana")
    memory.log_turn([("user", "Omar called")], user="ana", thread_id="9", at=APRIL)
    found = hits(memory, "What of Omar in May?")
    assert found[0].text == "Omar called"
    assert found[0].parts["coverage"] > 0
    assert set(part(found, "named").values()) == set(part(found, "moment").values()) == {0}


# -- evidence ------------------------------------------------------------------------------------


def test_a_question_that_is_answered_brings_all_that_stands_around_the_answer(
    memory: Memory,
) -> None:
    found = hits(memory, "Is the grinder broken since Tuesday?", min_relevance=None)
    assert found[0].text == "The grinder is broken since Tuesday"
    assert any(hit.parts["evidence"] < 0.5 for hit in found)
    assert hits(memory, "Is the moon made of green cheese?", min_relevance=None) == []


@pytest.mark.parametrize(
    "query", ["Zoë", "in May", "What did Zoë do in May?", "What did Zoë say?", "Zoë 说了什么？"]
)
def test_a_question_of_who_and_when_alone_is_answered_by_who_and_when(
    memory: Memory, query: str
) -> None:
    found = hits(memory, query, min_relevance=None)
    assert found
    assert found[0].parts["coverage"] == 1


@pytest.mark.parametrize("query", ["?!", "…", "🙃🙃", "((((", "—"])
def test_nonsense_brings_nothing(memory: Memory, query: str) -> None:
    memory.remember("Likes 🙃🙃 (((( and ?!", user="ana")
    recalled = memory.recall(query, user="ana", min_relevance=0)
    assert (recalled.hits, recalled.nothing_known) == ((), True)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 40)), max_size=3),
)
def test_closeness_falls_with_the_days_outside_of_all_spans(
    days: list[int], starts: list[tuple[int, int]]
) -> None:
    spans = [(first, first + length) for first, length in starts]
    close = closeness(np.array(days, np.int32), spans)
    for day, value in zip(days, close.tolist(), strict=True):
        outside = [max(first - day, day - last, 0) for first, last in spans]
        expected = float(np.exp(-min(outside) / 7)) if outside else 0.0
        assert value == pytest.approx(expected, abs=1e-6)
