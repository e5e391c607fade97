"""When the model or the store fails: the agent answers if it can, and nothing is lost unsaid."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import RetryPolicy

from langgraph_memory import Memory, MemoryState, Sessions, remember_node
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Builder,
    Shape,
    Way,
    answer,
    as_user,
    block_in,
    everything,
    nodes,
    noting,
    said,
    say,
    tasks,
    wrapped,
)

NOTED = "assistant: Noted, thank you."
KEPT = [f"user: {ORDER}", NOTED]
LOGGER = "langgraph_memory.graph.recall"


class BrokenStore(InMemoryStore):
    """A store of which the reading or the writing fails while `broken` is not empty."""

    def __init__(self, *, reads: bool = False, writes: bool = False, times: int = 1_000) -> None:
        super().__init__()
        self.reads, self.writes, self.times = reads, writes, times

    def check(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        searching = any(isinstance(op, SearchOp) for op in listed)
        writing = any(hasattr(op, "value") for op in listed)
        if self.times and ((self.reads and searching) or (self.writes and writing)):
            self.times -= 1
            raise OSError("the disk is on fire")
        return listed

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        return super().batch(self.check(ops))

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        return await super().abatch(self.check(ops))


class HangingStore(InMemoryStore):
    """A store whose searches wait until `released`."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        if any(isinstance(op, SearchOp) for op in listed):
            self.released.wait(60)
        return super().batch(listed)

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        listed = list(ops)
        if any(isinstance(op, SearchOp) for op in listed):
            await asyncio.to_thread(self.released.wait, 60)
        return await super().abatch(listed)


# -- recalling fails -----------------------------------------------------------------------------


async def test_when_recalling_fails_the_agent_answers_without_memory_and_the_log_says_so(
    shape: Shape, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    memory, model = Memory(BrokenStore(reads=True, times=1)), noting()
    graph = shape(memory, model, is_async=way.is_async).compile()
    with caplog.at_level(logging.WARNING, LOGGER):
        state = await way(graph, say(ORDER), as_user("ana", "t"))
    assert answer(state) == "Noted, thank you."
    assert [message.content for message in model.calls[0]] == [ORDER]
    [record] = caplog.records
    assert (record.name, record.levelname) == (LOGGER, "WARNING")
    assert "answers without memory" in record.getMessage()
    assert record.exc_info
    assert "the disk is on fire" in str(record.exc_info[1])
    assert said(memory, "ana") == KEPT


@pytest.mark.parametrize("name", ["stream", "astream"])
async def test_when_recalling_fails_the_stream_says_so(shape: Shape, name: str) -> None:
    memory = Memory(BrokenStore(reads=True))
    graph = shape(memory, noting(), is_async=name == "astream").compile()
    config = as_user("ana", "t")
    events = await everything(getattr(graph, name), say(ORDER), config, "custom")
    assert {event["type"] for event in events} == {"memory.failed", "memory.saved"}
    [failed] = [event for event in events if event["type"] == "memory.failed"]
    assert failed["user"] == "ana"
    assert "the disk is on fire" in failed["error"]


async def test_a_failed_recall_uses_nothing_of_the_turn_before(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    """The channel of the state is written anew, also when there is nothing to write."""
    store = BrokenStore(reads=True, times=0)
    failing, model = Memory(store), noting()
    failing.remember("Drinks Colombia from a moka pot", user="ana")
    graph = nodes(failing, model).compile(
        checkpointer=sessions.checkpointer, interrupt_after=["chat"]
    )
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    assert block_in(model.calls[0])
    store.times = 1
    await call(graph, say(AGAIN), config)
    assert block_in(model.calls[1]) == ""


async def test_a_failed_recall_can_be_made_to_fail_the_run(shape: Shape, way: Way) -> None:
    memory, model = Memory(BrokenStore(reads=True)), noting()
    graph = shape(memory, model, is_async=way.is_async, on_error="raise").compile()
    with pytest.raises(OSError, match="the disk is on fire"):
        await way(graph, say(ORDER), as_user("ana", "t"))
    assert model.calls == []


async def test_a_failed_recall_that_fails_its_node_can_be_tried_again(
    shape: Shape, call: Way
) -> None:
    store = BrokenStore(reads=True, times=0)
    memory, model = Memory(store), noting()
    memory.remember("Drinks Colombia from a moka pot", user="ana")
    builder = shape(memory, model, is_async=call.is_async, on_error="raise")
    first = "recall" if "recall" in builder.nodes else "chat"
    policy = RetryPolicy(initial_interval=0, jitter=False, retry_on=OSError)
    builder.nodes[first].retry_policy = policy
    store.times = 1
    await call(builder.compile(), say(ORDER), as_user("ana", "t"))
    assert block_in(model.calls[0])
    store.times = 0
    assert said(memory, "ana") == KEPT


async def test_a_store_that_hangs_does_not_keep_the_user_waiting(
    shape: Shape, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    store = HangingStore()
    memory, model = Memory(store), noting()
    graph = shape(memory, model, is_async=way.is_async, timeout=0.01).compile()
    try:
        with caplog.at_level(logging.WARNING, LOGGER):
            state = await way(graph, say(ORDER), as_user("ana", "t"))
        assert not store.released.is_set()
    finally:
        store.released.set()
    assert answer(state) == "Noted, thank you."
    assert block_in(model.calls[0]) == ""
    assert "TimeoutError" in caplog.text
    assert said(memory, "ana") == KEPT


async def test_a_store_that_hangs_can_be_made_to_fail_the_run(shape: Shape, call: Way) -> None:
    store = HangingStore()
    graph = shape(
        Memory(store), noting(), is_async=call.is_async, timeout=0.01, on_error="raise"
    ).compile()
    try:
        with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"):
            await call(graph, say(ORDER), as_user("ana", "t"))
    finally:
        store.released.set()


async def test_without_a_timeout_a_slow_store_is_waited_for(shape: Shape, call: Way) -> None:
    store = HangingStore()
    memory, model = Memory(store), noting()
    store.released.set()
    memory.remember("Drinks Colombia from a moka pot", user="ana")
    graph = shape(memory, model, is_async=call.is_async, timeout=None).compile()
    await call(graph, say(ORDER), as_user("ana", "t"))
    assert "moka pot" in block_in(model.calls[0])


# -- saving fails --------------------------------------------------------------------------------


async def test_memory_that_cannot_be_saved_fails_the_run(shape: Shape, way: Way) -> None:
    memory = Memory(BrokenStore(writes=True))
    graph = shape(memory, noting(), is_async=way.is_async).compile()
    with pytest.raises(OSError, match="the disk is on fire"):
        await way(graph, say(ORDER), as_user("ana", "t"))


async def test_a_turn_that_could_not_be_saved_is_saved_when_it_is_taken_up(
    sessions: Sessions, call: Way
) -> None:
    """The answer is in the checkpoint: only the remembering is done again."""
    memory, model = Memory(BrokenStore(writes=True, times=1)), noting()
    graph = nodes(memory, model, is_async=call.is_async).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    with pytest.raises(OSError, match="the disk is on fire"):
        await call(graph, say(ORDER), config)
    assert said(memory, "ana") == []
    await call(graph, None, config)
    assert len(model.calls) == 1
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


async def test_a_remember_node_that_is_tried_again_saves_once(call: Way) -> None:
    memory = Memory(BrokenStore(writes=True, times=1))
    builder = nodes(memory, noting(), is_async=call.is_async)
    policy = RetryPolicy(initial_interval=0, jitter=False, retry_on=OSError)
    builder.nodes["remember"].retry_policy = policy
    await call(builder.compile(), say(ORDER), as_user("ana", "t"))
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


# -- the model fails -----------------------------------------------------------------------------


async def test_what_the_user_said_before_the_model_failed_is_kept_with_the_next_turn(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    model = ScriptedChatModel([ConnectionError("busy"), "Noted, thank you."])
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    with pytest.raises(ConnectionError, match="busy"):
        await way(graph, say(ORDER), config)
    await way(graph, say(AGAIN), config)
    assert said(memory, "ana") == [f"user: {ORDER}", f"user: {AGAIN}", NOTED]


@pytest.mark.parametrize("thread", [None, "t"], ids=["no thread", "a thread"])
async def test_around_one_node_it_is_kept_at_once(
    memory: Memory, way: Way, thread: str | None
) -> None:
    model = ScriptedChatModel([ConnectionError("busy")])
    graph = wrapped(memory, model, is_async=way.is_async).compile()
    with pytest.raises(ConnectionError, match="busy"):
        await way(graph, say(ORDER), as_user("ana", thread))
    assert said(memory, "ana") == [f"user: {ORDER}"]
    assert tasks(memory, "ana") == []


async def test_a_failed_turn_that_is_taken_up_is_kept_once(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    memory.remember("Drinks Colombia from a moka pot", user="ana")
    model = ScriptedChatModel([ConnectionError("busy"), "Noted, thank you."])
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    with pytest.raises(ConnectionError, match="busy"):
        await way(graph, say(ORDER), config)
    await way(graph, None, config)
    assert "moka pot" in block_in(model.calls[-1])
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


async def test_the_error_of_the_model_comes_out_as_it_is(
    memory: Memory, shape: Shape, call: Way
) -> None:
    failure = ConnectionError("busy")
    graph = shape(memory, ScriptedChatModel([failure]), is_async=call.is_async).compile()
    with pytest.raises(ConnectionError) as caught:
        await call(graph, say(ORDER), as_user("ana", "t"))
    assert caught.value is failure


async def test_a_turn_without_a_user_message_is_no_failure(memory: Memory, call: Way) -> None:
    builder: Builder = StateGraph(MemoryState)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge(START, "remember")
    greeting = {"messages": [("assistant", "Good morning! What may it be?")]}
    await call(builder.compile(), greeting, as_user("ana", "t"))
    assert tasks(memory, "ana") == []
