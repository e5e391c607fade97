"""The budget of a block is counted as the model that reads it counts."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import StateGraph

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Memory,
    MemoryState,
    messages_with_memory,
    recall_node,
    with_memory,
)
from langgraph_memory.retrieval.block import memory_block
from langgraph_memory.retrieval.recalled import Recalled
from langgraph_memory.testing import HashingEmbeddings
from langgraph_memory.text.length import approximate_tokens
from tests.retrieval.test_block import FULL, hit, note

MANY = Recalled("q", hits=tuple(hit(note(f"Note number {n}", f"n{n}")) for n in range(40)))


def by_character(text: str) -> int:
    return len(text)


def model_that_counts_words() -> FakeListChatModel:
    return FakeListChatModel(
        responses=["ok"], custom_get_token_ids=lambda text: list(range(len(text.split())))
    )


def test_a_function_counts_the_budget() -> None:
    about, exact = memory_block(MANY, 500), memory_block(MANY, 500, by_character)
    assert 0 < len(exact.records) < len(about.records)
    assert 450 < len(exact.text) <= 500


def test_a_chat_model_counts_the_budget_with_its_own_tokenizer() -> None:
    for budget in (60, 100, 150):
        text = MANY.prompt(budget, model_that_counts_words())
        assert 0.8 * budget < len(text.split()) <= budget


def test_no_text_is_counted_twice() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 1

    memory_block(FULL, 1_000, count)
    assert len(counted) == len(set(counted))
    assert sum(len(text) for text in counted) <= len(memory_block(FULL).text)


def test_where_counting_fails_it_is_counted_about_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def count(text: str) -> int:
        raise ImportError("no tokenizer is installed")

    with caplog.at_level(logging.WARNING):
        assert memory_block(MANY, 300, count) == memory_block(MANY, 300)
    [said] = caplog.messages
    assert "no tokenizer is installed" in said


@pytest.mark.parametrize("given", [5, "gpt2", []], ids=str)
def test_what_counts_nothing_is_refused_when_the_graph_is_built(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="count_tokens= is a chat model or a function"):
        recall_node(Memory(), count_tokens=given)
    with pytest.raises(ConfigurationError, match="count_tokens="):
        with_memory(lambda state: {}, Memory(), count_tokens=given)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_block_of_a_graph_is_as_long_as_the_model_counts(mode: str) -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        for number in range(20):
            memory.remember(f"Has a cat of number {number}", user="ana")
        builder = StateGraph(MemoryState)
        builder.add_node("recall", recall_node(memory, max_tokens=700, count_tokens=by_character))
        builder.set_entry_point("recall")
        graph: Any = builder.compile()
        given: Any = {"messages": [("user", "Which cats do I have?")]}
        how = {"configurable": {"user_id": "ana"}}
        state = graph.invoke(given, how) if mode == "sync" else await graph.ainvoke(given, how)
        block = messages_with_memory(state)[-1].text.removesuffix("\n\nWhich cats do I have?")
        assert 600 < len(block) <= 700
        assert approximate_tokens(block) < 200
