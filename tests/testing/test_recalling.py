"""The stand-in for a model: it answers from the block that it is given, and from nothing else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from examples.coffee_shop import DAYS
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.messages.langchain import with_block
from langgraph_memory.retrieval.block import KNOWN, LAST_TIME, PERHAPS, RELEVANT, STATED
from langgraph_memory.testing import HashingEmbeddings, RecallingChatModel, recalling
from langgraph_memory.text.bm25 import query_tokens, tokens
from langgraph_memory.text.escaping import CLOSE, OPEN

UNKNOWN = {"en": "I do not know that yet", "zh": "这个我还不知道"}
THREADS = count()  # what was forgotten of a thread is not logged in it again
REMEMBERED = {"en": "I remember:", "zh": "我记得："}


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as opened:
        yield opened


def ask(question: str, block: str = "") -> str:
    message = HumanMessage(question)
    asked = with_block(message, block) if block else message
    return str(RecallingChatModel().invoke([SystemMessage("Use your memory."), asked]).text)


def same_words(word: str) -> tuple[str, ...]:
    return tuple(tokens(word))


SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprtvz" for vowel in "aiou"]
# Two lists of ten names that no stemmer takes for each other; of one length, so that none is a part
# of another.
ENGLISH = st.lists(
    st.lists(st.sampled_from(SYLLABLES), min_size=4, max_size=4).map("".join),
    min_size=20,
    max_size=20,
    unique_by=same_words,
)
# Characters without a meaning for grammar; each stands in one name only.
CHINESE = st.lists(
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5).filter(
        lambda char: len(tokens(char)) == 1 and char not in "喜欢什"
    ),
    min_size=80,
    max_size=80,
    unique_by=same_words,
).map(lambda chars: ["".join(chars[i : i + 4]) for i in range(0, 80, 4)])


def in_english(who: str, what: str = "") -> tuple[str, str]:
    return f"{who.capitalize()} prefers {what}", f"What does {who.capitalize()} prefer?"


def in_chinese(who: str, what: str = "") -> tuple[str, str]:
    return f"{who}喜欢{what}", f"{who}喜欢什么？"


LANGUAGES = {"en": (ENGLISH, in_english), "zh": (CHINESE, in_chinese)}


@pytest.mark.parametrize(
    ("language", "as_messages"),
    [("en", False), ("zh", True)],
    ids=["notes in English", "messages in Chinese"],
)
@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_ten_facts_of_any_words_are_answered_from_memory_and_not_known_without(
    memory: Memory, language: str, as_messages: bool, data: st.DataObject
) -> None:
    names, say = LANGUAGES[language]
    drawn = data.draw(names)
    facts = dict(zip(drawn[:10], drawn[10:], strict=True))
    memory.forget(user="ana", everything=True)
    for who, what in facts.items():
        statement, _ = say(who, what)
        if as_messages:
            memory.log_turn(statement, user="ana", thread_id=str(next(THREADS)))
        else:
            memory.remember(statement, user="ana")
    memory.log_turn("Thanks!", user="ana", thread_id=str(next(THREADS)))  # comes up as last time
    for who, what in facts.items():
        statement, question = say(who, what)
        block = memory.recall(question, user="ana", thread_id="now").prompt()
        answer = ask(question, block)
        assert REMEMBERED[language] in answer
        assert [line for line in answer.splitlines() if statement in line]
        assert not [other for other in facts.values() if other != what and other in answer]
        stranger = memory.recall(question, user="ben", thread_id="now").prompt()
        for unknown in (ask(question), ask(question, stranger)):
            assert UNKNOWN[language] in unknown
            assert what not in unknown


@pytest.mark.parametrize("language", DAYS)
def test_its_source_has_no_word_of_the_orders_of_the_example(language: str) -> None:
    """So whatever it says of them it has from memory. (The first day's order says it all.)"""
    _, _, order = DAYS[language][0]
    asked = set(query_tokens(order))
    assert len(asked) > 5
    assert asked.isdisjoint(tokens(inspect.getsource(recalling)))


def test_it_says_that_it_is_no_language_model() -> None:
    assert "not a language model" in ask("What do I drink?")
    assert "不是语言模型" in ask("我喝什么？")


def test_where_nothing_fits_it_tells_what_was_said_last_time(memory: Memory) -> None:
    memory.forget(user="ana", everything=True)
    memory.log_turn("Three bags of rye flour", user="ana", thread_id="before")
    answer = ask("The usual!", memory.recall("The usual!", user="ana", thread_id="now").prompt())
    assert "What I have from before" in answer
    assert "Three bags of rye flour" in answer


def test_it_does_not_quote_the_agent_as_what_it_knows(memory: Memory) -> None:
    memory.forget(user="ana", everything=True)
    for thread in ("before", "long before"):
        said = [HumanMessage("Which flour?"), AIMessage("The flour is rye")]
        memory.log_turn(said, user="ana", thread_id=thread)
    question = "Is the flour rye?"
    block = memory.recall(question, user="ana", thread_id="now").prompt()
    assert "assistant, 2 times: The flour is rye" in block
    assert "The flour is rye" not in ask(question, block)


def test_it_says_of_what_its_block_is_not_certain_of_that_it_is_not() -> None:
    line = "- [2026-05-02] user: The mill is in Linz"
    answers = {
        heading: ask("Where is the mill?", f"{OPEN}\n{heading}\n{line}\n{CLOSE}")
        for heading in (KNOWN, RELEVANT, STATED, LAST_TIME, PERHAPS)
    }
    assert all("2026-05-02: The mill is in Linz" in answer for answer in answers.values())
    uncertain = [heading for heading, answer in answers.items() if "not certain" in answer]
    assert uncertain == [PERHAPS]


def test_what_it_has_from_before_is_no_question_of_the_users() -> None:
    lines = ["- [2026-05-02] user: Which mill do I have?", "- [2026-05-01] user: A mill, please"]
    block = "\n".join([OPEN, LAST_TIME, lines[0], PERHAPS, lines[1], CLOSE])
    answer = ask("Are you open?", block)
    assert answer.splitlines()[-2:] == [
        "I do not know that. What I have from before:",
        "- 2026-05-01: A mill, please",
    ]


def test_it_reads_a_block_in_the_system_prompt_too(memory: Memory) -> None:
    memory.forget(user="ana", everything=True)
    memory.remember("Prefers rye flour", user="ana")
    block = memory.recall("Which flour?", user="ana").prompt()
    messages: list[BaseMessage] = [
        SystemMessage(f"Be brief.\n\n{block}"),
        HumanMessage("Which flour?"),
    ]
    assert "Prefers rye flour" in RecallingChatModel().invoke(messages).text


def test_a_claim_outside_the_block_is_not_repeated_as_memory() -> None:
    answer = ask("I remember: - 2026-01-01: my flour is rye. Which flour?")
    assert UNKNOWN["en"] in answer
    assert not re.search("rye", answer)


async def test_it_answers_async_and_in_a_stream_as_well() -> None:
    model: Any = RecallingChatModel()
    answer = model.invoke("What do I drink?").text
    assert (await model.ainvoke("What do I drink?")).text == answer
    assert "".join(chunk.text for chunk in model.stream("What do I drink?")) == answer
