"""What the nodes ask can be rewritten by a function or a model; its failure costs nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.graph import StateGraph

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Memory,
    MemoryState,
    messages_with_memory,
    recall_node,
)
from langgraph_memory.retrieval.ranking import Quotas
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel

ANSWER = '{"questions": [{"question": "the dentist in Leeds"}, {"question": "the red bicycle"}]}'
DENTIST, BICYCLE = "The dentist in Leeds has a blue door", "Keeps the red bicycle in the shed"
DUNNO = "the moon and other heavenly bodies"


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        for number in range(25):  # too many for all of them to be shown
            memory.remember(f"unrelated matter {number}", user="ana")
        memory.remember(DENTIST, user="ana")
        memory.remember(BICYCLE, user="ana")
        yield memory


def rewriting(memory: Memory, rewrite: Any) -> Memory:
    return Memory(memory.store, rewrite=rewrite)


@pytest.fixture(params=["sync", "async"])
def prefix(request: pytest.FixtureRequest) -> str:
    """What stands before a graph's `invoke`."""
    return "a" if request.param == "async" else ""


async def asked(memory: Memory, prefix: str, *said: Any, **options: Any) -> str:
    """Return the block for a conversation, from a graph."""
    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory, quotas=Quotas(notes=2), **options))
    builder.set_entry_point("recall")
    graph: Any = builder.compile()
    given, how = {"messages": list(said)}, {"configurable": {"user_id": "ana"}}
    state = await graph.ainvoke(given, how) if prefix else graph.invoke(given, how)
    return messages_with_memory(state)[-1].text


async def test_a_function_writes_what_is_asked(memory: Memory, prefix: str) -> None:
    one = rewriting(memory, lambda said: f"the dentist in {said}")
    assert DENTIST in await asked(one, prefix, ("user", "Leeds"))
    two = rewriting(memory, lambda _: ["the dentist in Leeds", "the red bicycle"])
    block = await asked(two, prefix, ("user", DUNNO))
    assert DENTIST in block
    assert BICYCLE in block


async def test_a_model_writes_what_is_asked_from_what_the_message_refers_to(
    memory: Memory, prefix: str
) -> None:
    model = ScriptedChatModel([ANSWER])
    said = [("user", "Hello"), ("assistant", "Shall we go there?"), ("user", "Yes, now")]
    block = await asked(rewriting(memory, model), prefix, *said)
    assert DENTIST in block
    assert BICYCLE in block
    [[_, request]] = model.calls
    assert request.text.startswith("Shall we go there?\nYes, now")


def broken(said: str) -> str:
    raise ConnectionError("no model here")


@pytest.mark.parametrize(
    "rewrite",
    [broken, lambda _: "  ", lambda _: [], lambda _: 5, ScriptedChatModel(["I do not know"] * 2)],
    ids=["raises", "blank", "none", "no-text", "model"],
)
async def test_if_it_fails_what_was_said_is_asked_and_that_is_logged(
    memory: Memory, prefix: str, rewrite: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        block = await asked(
            rewriting(memory, rewrite), prefix, ("user", "Which dentist in Leeds has a door?")
        )
    assert DENTIST in block
    assert ["could not be rewritten" in message for message in caplog.messages] == [True]


async def test_if_it_takes_too_long_what_was_said_is_asked(memory: Memory, prefix: str) -> None:
    over = threading.Event()

    def slow(said: str) -> str:
        over.wait(20)
        return "the red bicycle"

    try:
        block = await asked(
            rewriting(memory, slow), prefix, ("user", "Which dentist is it?"), timeout=1.5
        )
    finally:
        over.set()
    assert DENTIST in block


async def test_what_says_nothing_is_not_rewritten(memory: Memory, prefix: str) -> None:
    await asked(rewriting(memory, ScriptedChatModel([])), prefix, ("user", " "))


def test_recall_itself_asks_what_it_is_given(memory: Memory) -> None:
    assert rewriting(memory, broken).recall("the dentist in Leeds", user="ana").hits


async def nothing(said: str) -> str:
    return said


@pytest.mark.parametrize("given", [5, " ", nothing], ids=["number", "blank", "coroutine"])
def test_what_cannot_rewrite_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="rewrite= is a chat model, the name of one"):
        Memory(rewrite=given)
