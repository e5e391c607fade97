"""What a message is worth by what it is, and what was said several times in the same words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_memory import Memory
from langgraph_memory.retrieval.block import LAST_TIME, RELEVANT, tells
from langgraph_memory.retrieval.message_window import _FIELDS
from langgraph_memory.retrieval.recalled import Recalled
from langgraph_memory.retrieval.standing import WEAK, Repetitions
from langgraph_memory.testing import ManualClock
from tests.conftest import STORES, Verbs
from tests.retrieval.test_block import below


def texts(hits: Iterable[Any]) -> list[str]:
    return [hit.text for hit in hits]


def exchange(memory: Memory, clock: ManualClock, *said: str, thread: str = "") -> None:
    """Log what the user said and what was answered, in turn, and let a day go by."""
    makers = (HumanMessage, AIMessage) * len(said)
    thread = thread or said[0]
    messages = [
        make(text, id=f"{i}") for i, (make, text) in enumerate(zip(makers, said, strict=False))
    ]
    memory.log_turn(messages, user="ana", thread_id=thread)
    clock.advance(days=1)


# -- repetitions ---------------------------------------------------------------------------------

SAID = ("I am allergic to nuts.", "I'm allergic to nuts!", "I am ALLERGIC, to nuts")


async def test_what_was_said_several_times_stands_once_the_newest_with_how_often(
    memory: Verbs, clock: ManualClock
) -> None:
    """And when the newest is forgotten, the one before it stands."""
    for text in (*SAID, "My sister is allergic to nuts"):
        exchange(memory.memory, clock, text)
    for last in (3, 2, 1):
        recalled = await memory.recall("allergic to nuts", user="ana")
        assert texts(recalled) == [SAID[last - 1], "My sister is allergic to nuts"]
        assert recalled.hits[0].parts["times"] == last
        often = f"user, {last} times: " if last > 1 else "user: "
        assert f"{often}{SAID[last - 1]}" in recalled.prompt()
        assert {*texts(recalled.stated)} >= {SAID[last - 1]}
        assert not {*texts(recalled.stated), *texts(recalled.perhaps)} & {*SAID[: last - 1]}
        await memory.forget(recalled.hits[0].record.id, user="ana")


async def test_what_was_said_again_later_is_found_where_only_the_earlier_is_asked_for(
    memory: Verbs, clock: ManualClock
) -> None:
    exchange(memory.memory, clock, SAID[0], thread="monday")
    past = clock()
    clock.advance(days=1)
    exchange(memory.memory, clock, SAID[1], thread="tuesday")
    for how in ({"as_of": past}, {"filter": {"thread_id": "monday"}}):
        recalled = await memory.recall("allergic to nuts", user="ana", **how)
        assert texts(recalled) == [SAID[0]]
        assert recalled.hits[0].parts["times"] == 1


@pytest.mark.parametrize(
    ("stated", "asked", "query"),
    [
        ("I am allergic to nuts.", "Am I allergic to nuts?", "Is a nut cake fine for my allergy?"),
        ("我对花生过敏。", "我对花生过敏吗？", "我能吃花生吗？"),
    ],
)
def test_a_question_in_the_words_of_a_statement_does_not_take_its_place(
    fluent_memory: Memory, clock: ManualClock, stated: str, asked: str, query: str
) -> None:
    exchange(fluent_memory, clock, stated)
    exchange(fluent_memory, clock, asked)
    recalled = fluent_memory.recall(query, user="ana")
    assert texts(recalled)[0] == stated
    assert texts(recalled.stated) == [stated]
    assert stated in recalled.prompt()


def test_the_same_words_of_another_speaker_are_no_repetition(
    chroma_memory: Memory, clock: ManualClock
) -> None:
    exchange(chroma_memory, clock, "Tea is in the kitchen", "Tea is in the kitchen.")
    recalled = chroma_memory.recall("kitchen tea", user="ana")
    assert len(recalled.hits) == 2
    assert {hit.parts["times"] for hit in recalled} == {1}


def test_on_a_day_that_is_named_what_was_said_then_is_found_also_if_it_was_said_again(
    chroma_memory: Memory, clock: ManualClock
) -> None:
    for text in SAID:
        exchange(chroma_memory, clock, text)
    first = chroma_memory.recall("What am I allergic to, of January 1?", user="ana").hits[0]
    assert (first.text, first.record.created_at.day) == (SAID[0], 1)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.booleans(), st.integers(0, 3)),
        max_size=80,
    ),
    st.data(),
)
def test_of_each_wording_among_those_that_count_the_last_is_the_newest(
    said: list[tuple[int, int, bool, int]], data: st.DataObject
) -> None:
    fields = np.zeros(len(said), _FIELDS)
    for name, values in zip(
        ("wording", "speaker", "statement", "said"), zip(*said, strict=True), strict=False
    ):
        fields[name] = values
    fields["position"] = data.draw(st.permutations(range(len(said))))
    chosen = np.array([data.draw(st.booleans()) for _ in said], np.bool_)
    times, newest = Repetitions.of(fields).among(chosen)
    for row in range(len(said)):
        same = [o for o in range(len(said)) if chosen[o] and said[o][:3] == said[row][:3]]
        last = max(same, key=lambda o: (said[o][3], fields["position"][o]), default=None)
        assert newest[row] == (row == last)
        assert times[row] == (len(same) if row == last else 1)


# -- questions, small talk, denials --------------------------------------------------------------

QUESTIONS = (
    "What is the name of my dog?",
    "我的狗叫什么名字？",
    "¿Cómo se llama mi perro?",
    "Wie heißt mein Hund?",
    "犬の名前は何ですか？",
)
DENIALS = (
    "I don't know that yet.",
    "我还不知道。",
    "No lo sé todavía.",
    "Das weiß ich noch nicht.",
    "まだ知りません。",
)


@pytest.mark.parametrize(("question", "denial"), [*zip(QUESTIONS, DENIALS, strict=True)])
def test_a_question_is_not_answered_by_itself_nor_by_a_denial_but_by_what_was_said(
    fluent_memory: Memory, clock: ManualClock, question: str, denial: str
) -> None:
    """However often it was asked, and in whichever language it was told."""
    for day in range(3):
        exchange(fluent_memory, clock, question, denial, thread=f"{day}")
    exchange(fluent_memory, clock, "Good evening!", "Good evening.", thread="greeting")
    recalled = fluent_memory.recall(question, user="ana")
    assert recalled.nothing_known
    assert recalled.stated == ()
    assert question not in recalled.prompt()
    assert denial not in recalled.prompt()
    exchange(fluent_memory, clock, "My dog is called Bruno.", "Nice name!")
    exchange(fluent_memory, clock, question, denial, thread="again")
    recalled = fluent_memory.recall(question, user="ana")
    assert not recalled.nothing_known
    assert texts(filter(tells, recalled))[0] == "My dog is called Bruno."
    assert "Bruno" in recalled.prompt()
    assert question not in below(recalled.prompt(), RELEVANT)


@pytest.mark.parametrize("store", STORES)
def test_what_tells_nothing_is_no_evidence_where_one_person_speaks_with_an_assistant(
    store: str, clock: ManualClock
) -> None:
    """And where several people speak, all that they say counts alike."""
    said = ("Which is the key of the moka pot?", "I do not know the key of the moka pot.")
    with Memory(STORES[store](), clock=clock) as memory:
        exchange(memory, clock, *said)
        recalled = memory.recall(said[0], user="ana")
        assert recalled.nothing_known
        assert {hit.text: hit.parts["evidence"] for hit in recalled.perhaps} == {
            text: pytest.approx(WEAK) for text in said
        }
        memory.log_turn(HumanMessage(said[0], name="Zoë"), user="ana", thread_id="z")
        memory.log_turn(HumanMessage("No idea", name="Omar"), user="ana", thread_id="z")
        recalled = memory.recall(said[0], user="ana")
        assert not recalled.nothing_known
        assert {hit.parts["form"] for hit in recalled} == {0}
        assert recalled.hits[0].parts["evidence"] >= 1
        assert recalled.stated == ()


# -- what the user stated ------------------------------------------------------------------------

A_MONTH = (
    ("I am allergic to peanuts.", "I will keep that in mind."),
    ("What is the weather like?", "It is sunny and 20 degrees."),
    ("Thanks a lot!", "You are welcome."),
    ("Write a short poem about 3 horses.", "Three horses ran by the sea."),
    ("My daughter Lucía starts school in 2027.", "How exciting!"),
    ("Is this mail fine?\n> I have been living in Lima since 2019, and I love it", "It is."),
    ("Always answer me in short sentences.", "I shall."),
    ("我住在格拉茨，我是医生。", "好的。"),
)
TOLD = {A_MONTH[i][0] for i in (0, 4, 6, 7)}


def test_what_the_user_stated_is_offered_whatever_is_asked(
    fluent_memory: Memory, clock: ManualClock
) -> None:
    """In every language; no questions, thanks, orders, nor what is quoted or was answered."""
    for said in A_MONTH:
        exchange(fluent_memory, clock, *said)
    recalled = fluent_memory.recall("How tall is Mount Everest?", user="ana")
    assert {*texts(recalled.stated)} == TOLD
    assert [hit.score for hit in recalled.stated] == sorted(
        (hit.score for hit in recalled.stated), reverse=True
    )
    assert all(text in recalled.prompt() for text in TOLD)
    near = fluent_memory.recall("What must not be in the cake?", user="ana").stated
    assert near[0].text == A_MONTH[0][0]
    for narrowed in ({"types": ("note",)}, {"filter": {"slot": "x"}}):
        found = fluent_memory.recall("How tall is it?", user="ana", **narrowed)
        assert {*texts(found.stated)} == TOLD
        assert found.hits == ()


def test_what_the_user_stated_stands_once_also_where_a_filter_is_given(
    fluent_memory: Memory, clock: ManualClock
) -> None:
    """As it was last said, inside of what is looked through or outside."""
    for thread in ("monday", "tuesday"):
        exchange(fluent_memory, clock, "I am allergic to nuts", "Noted.", thread=thread)
    for thread in ("monday", "tuesday"):
        found = fluent_memory.recall("nuts", user="ana", filter={"thread_id": thread})
        assert [(hit.text, hit.record.thread_id) for hit in found.stated] == [
            ("I am allergic to nuts", "tuesday")
        ]


def test_what_the_user_stated_is_offered_unless_it_is_switched_off(clock: ManualClock) -> None:
    found: list[Recalled] = []
    for statements in (True, False):
        with Memory(STORES["chroma"](), clock=clock, statements=statements) as memory:
            memory.log_turn("I live in Graz", user="ana", thread_id="t")
            memory.log_turn("Hello", user="ana", thread_id="u")
            found.append(memory.recall("Whatever", user="ana"))
    assert [texts(recalled.stated) for recalled in found] == [["I live in Graz"], []]
    assert below(found[0].prompt(), LAST_TIME) == ["user: Hello"]
