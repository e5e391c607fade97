"""What makes a record relevant: words, meaning, who said it and when, and what form it has."""

from __future__ import annotations

import math
import operator as op
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from langgraph_memory import ChromaStore, Memory, Ranking
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records.records import Message
from langgraph_memory.retrieval.recalled import Hit
from langgraph_memory.retrieval.scoring import RecordRanker, closeness, in_named_days
from langgraph_memory.store.operations import Scores, Searched
from langgraph_memory.testing import HashingEmbeddings, ManualClock
from langgraph_memory.text.bm25 import LexicalIndex, tokens
from tests.conftest import STORES

MAY = datetime(2026, 5, 12, 9, tzinfo=UTC)
APRIL = MAY - timedelta(days=30)
SAID = (
    ("Zoë", "What did you bring from Lima?"),
    ("Omar", "Two bags of the good stuff"),
    ("Zoë", "Lovely"),
    ("Omar", "The grinder is broken since Tuesday"),
)
HM = "Hm, "
"""What the same begins with in April: it is no repetition."""


@pytest.fixture
def memory() -> Any:
    clock = ManualClock(datetime(2026, 6, 20, tzinfo=UTC))
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), clock=clock) as memory:
        for month, at in enumerate((MAY - timedelta(days=31), MAY)):
            said = [
                HumanMessage(text if month else f"{HM}{text}", name=name, id=f"{month}{text}")
                for name, text in SAID
            ]
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
    return {
        hit.text.removeprefix(HM): round(hit.parts[name], 3)
        for hit in found
        if thread(hit) in threads
    }


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
    first = {hit.text.removeprefix(HM) for hit in found[:4]}
    assert first == {"What did you bring from Lima?", SAID[1][1]}
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


SPANS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 40)).map(lambda of: (of[0], sum(of))), max_size=3
)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=6), SPANS)
def test_closeness_falls_with_the_days_outside_of_all_spans(
    days: list[int], spans: list[tuple[int, int]]
) -> None:
    """By a quarter of the span: what is beside a day is hardly of it, beside a month it may be."""
    rows = np.array(days, np.int32)
    for day, close, inside in zip(
        days, closeness(rows, spans), in_named_days(rows, spans), strict=True
    ):
        expected = [
            math.exp(-max(first - day, day - last, 0) / min(max((last - first + 1) / 4, 0.5), 7))
            for first, last in spans
        ]
        assert close == pytest.approx(max(expected, default=0), abs=1e-6)
        named = [last - first < 7 and first <= day <= last for first, last in spans]
        assert inside == any(named)


# -- days ----------------------------------------------------------------------------------------

TALKS = {
    27: ("My mother called about the garden", "We planted tulips and talked about work"),
    28: ("I talked with my boss about the talk in April", "Then we talked about the holidays"),
    29: ("The new bike has a flat tyre", "I wrote 3 mails to the shop"),
    30: ("I am talking about what we talked about", "What did we talk about?"),
}


@pytest.mark.parametrize(
    "query",
    [
        "What did we talk about on April 29th?",
        "what did we talk about last Wednesday?",
        "What did I do on 29 April?",
        "What happened on the 29th of April?",
        "4月29日我们聊了什么？",
        "4月29日发生了什么？",
        "¿De qué hablamos el 29 de abril?",
        "Worüber haben wir am 29. April gesprochen?",
        "De quoi avons-nous parlé le 29 avril ?",
        "Di cosa abbiamo parlato il 29 aprile?",
        "Do que falamos em 29 de abril?",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/Lima"])
def test_what_was_said_on_a_named_day_comes_before_all_else(query: str, zone: str) -> None:
    """However much more the days beside it have of the words: also late in the evening."""
    clock = ManualClock(datetime(2026, 5, 4, 12, tzinfo=UTC))
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), clock=clock, time_zone=zone) as m:
        for day, said in TALKS.items():
            at = datetime(2026, 4, day, 23, 30, tzinfo=ZoneInfo(zone))
            m.log_turn([("user", text) for text in said], user="ana", thread_id=f"{day}", at=at)
        recalled = m.recall(query, user="ana")
        assert not recalled.nothing_known
        assert {hit.text for hit in recalled.hits[:2]} == {*TALKS[29]}
        assert all(hit.parts["day"] == (hit.text in TALKS[29]) for hit in recalled)
        block = recalled.prompt()
        assert all(f"- [2026-04-29] user: {text}" in block for text in TALKS[29])


@pytest.mark.parametrize(
    ("query", "expected"),
    [("What happened yesterday?", 10), ("3月10号", 10), ("昨天我说了什么？", 10), ("March 11", 11)],
)
@pytest.mark.parametrize("store", STORES)
def test_days_are_those_of_the_time_zone(store: str, query: str, expected: int) -> None:
    """What was said at seven in the morning in Shanghai was said on the day before in UTC."""
    shanghai = ZoneInfo("Asia/Shanghai")
    clock = ManualClock(datetime(2026, 3, 11, 12, tzinfo=shanghai))
    with Memory(STORES[store](), clock=clock, time_zone="Asia/Shanghai") as memory:
        for day in (9, 10, 11):
            at = datetime(2026, 3, day, 7, tzinfo=shanghai)
            memory.log_turn([("user", f"The line {day}")], user="ana", thread_id=f"{day}", at=at)
        recalled = memory.recall(query, user="ana", types=("message",))
        assert recalled.hits[0].text == f"The line {expected}"
        lines = [line for line in recalled.prompt().split("\n") if "The line" in line]
        assert sorted(lines) == [
            f"- [2026-03-{day:02}] user: The line {day}" for day in (9, 10, 11)
        ]


ZONES = st.sampled_from(["UTC", "Asia/Shanghai", "Europe/Vienna", "America/Los_Angeles"])
MARCH = datetime(2026, 3, 27, tzinfo=UTC)
HOURS = range(0, 24 * 6, 5)


@pytest.fixture(scope="module")
def of_six_days() -> Iterator[dict[str, Memory]]:
    """A memory of what was said every five hours about the change to summer time, in each zone."""
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    zones = ("UTC", "Asia/Shanghai", "Europe/Vienna", "America/Los_Angeles")
    memories = {zone: Memory(store, time_zone=zone) for zone in zones}
    for hour in HOURS:
        at = MARCH + timedelta(hours=hour)
        memories["UTC"].log_turn([("user", f"tea {hour}")], user="ana", thread_id="t", at=at)
    yield memories
    memories["UTC"].close()


@given(ZONES, st.integers(-1, 6), st.sampled_from([None, "$gte", "$gt", "$lt", "$lte"]))
def test_a_day_in_a_filter_is_that_whole_day_of_the_time_zone(
    of_six_days: dict[str, Memory], zone: str, later: int, operator: str | None
) -> None:
    """Also one of 23 hours."""
    day, memory = (MARCH + timedelta(days=later)).date(), of_six_days[zone]
    compare = {None: op.eq, "$gte": op.ge, "$gt": op.gt, "$lt": op.lt, "$lte": op.le}[operator]
    local = {hour: (MARCH + timedelta(hours=hour)).astimezone(ZoneInfo(zone)) for hour in HOURS}
    expected = {f"tea {hour}" for hour in HOURS if compare(local[hour].date(), day)}
    filter = {"created_at": day if operator is None else {operator: day}}
    found = memory.recall("tea", user="ana", filter=filter, limit=100, min_relevance=0)
    assert {hit.text for hit in found} == expected
    listed = memory.list(user="ana", types=("message",), filter=filter)
    assert {record.text for record in listed} == expected


def test_a_day_and_a_moment_narrow_together_and_what_is_no_comparison_is_refused(
    of_six_days: dict[str, Memory],
) -> None:
    memory = of_six_days["Europe/Vienna"]
    days = {"$gte": date(2026, 3, 28), "$lt": date(2026, 3, 30)}
    found = memory.list(user="ana", types=("message",), filter={"created_at": days})
    vienna = ZoneInfo("Europe/Vienna")
    assert {each.created_at.astimezone(vienna).day for each in found} == {28, 29}
    noon = {"$gte": date(2026, 3, 29), "$lte": datetime(2026, 3, 29, 12, tzinfo=vienna)}
    found = memory.list(user="ana", types=("message",), filter={"created_at": noon})
    assert {each.created_at.astimezone(vienna).day for each in found} == {29}
    assert max(each.created_at for each in found) <= noon["$lte"]
    with pytest.raises(ConfigurationError, match=r"filter="):
        memory.recall("tea", user="ana", filter={"created_at": {"$ne": date(2026, 3, 29)}})
