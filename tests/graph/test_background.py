"""A turn ends when it is kept; what follows is done in the background, for whoever said it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from langgraph.graph import END
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from pydantic import SecretStr

from langgraph_memory import ChromaStore, Memory, Message, Sessions
from langgraph_memory.notes.extraction_batch import Processed
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Shape,
    Way,
    answer,
    as_user,
    block_in,
    everything,
    noting,
    said,
    say,
)
from tests.openai_server import OpenAIServer

LONG = 60.0
KEPT = [f"user: {ORDER}", "assistant: Noted, thank you."]


class Noting(Memory):
    """A memory that makes a note of what a thread's user said, by a model if it has one."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def process_turn(self, user: str, thread_id: str) -> Processed:
        self.meanwhile()
        found = self.list(user=user, types=("message",), filter={"thread_id": thread_id})
        for record in reversed(found):
            if isinstance(record, Message) and record.role == "user":
                text = record.text
                if isinstance(self.model, BaseChatModel):
                    text = self.model.invoke(f"Note this: {text}").text
                self.remember(f"{user} in {thread_id}: {text}", user=user)
        return Processed()

    async def aprocess_turn(self, user: str, thread_id: str) -> Processed:
        return await asyncio.to_thread(self.process_turn, user, thread_id)


class Gate:
    """Says that work has begun, and lets it go on."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.open.wait(LONG)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Noting]:
    store = ChromaStore(tmp_path, embed=HashingEmbeddings())
    with Noting(store, debounce=0) as memory:
        yield memory


def notes(memory: Memory, user: str) -> list[str]:
    return sorted(record.text for record in memory.list(user=user))


async def test_a_turn_is_kept_when_it_ends_and_processed_afterwards(
    memory: Noting, sessions: Sessions, shape: Shape, way: Way
) -> None:
    memory.meanwhile = gate = Gate()
    builder = shape(memory, noting(), is_async=way.is_async, background=True)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    state = await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert answer(state) == "Noted, thank you."
    assert said(memory, "ana") == KEPT
    assert notes(memory, "ana") == []
    assert gate.begun.wait(LONG)
    gate.open.set()
    assert await memory.aflush(LONG)
    assert notes(memory, "ana") == [f"ana in t: {ORDER}"]


async def test_a_turn_is_processed_before_it_ends_unless_told_otherwise(
    memory: Noting, shape: Shape, way: Way
) -> None:
    memory = Noting(memory.store, model=ScriptedChatModel(["wants Colombia"]))
    graph = shape(memory, noting(), is_async=way.is_async).compile()
    await way(graph, say(ORDER), as_user("ana", "t"))
    assert notes(memory, "ana") == ["ana in t: wants Colombia"]


def test_two_users_who_talk_at_once_get_their_own_notes_in_the_order_they_spoke(
    memory: Noting, sessions: Sessions, shape: Shape
) -> None:
    graph = shape(memory, noting(12), background=True, timeout=None).compile(
        checkpointer=sessions.checkpointer
    )

    def talk(user: str) -> None:
        for number in range(6):
            config = sessions.config(user=user, thread_id=f"{user} {number % 2}")
            graph.invoke(say(f"{user} orders number {number}"), config)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(talk, ["ana", "bo"]))
    assert memory.flush(LONG)
    for user in ("ana", "bo"):
        spoken = [f"{user} in {user} {n % 2}: {user} orders number {n}" for n in range(6)]
        assert notes(memory, user) == sorted(spoken)
        newest_first = [record.text for record in memory.list(user=user)]
        for thread in (0, 1):
            of_thread = [text for text in newest_first if f"{user} {thread}:" in text]
            assert of_thread == spoken[thread::2][::-1]


async def test_work_does_not_stream_into_the_run_that_goes_on(memory: Noting, shape: Shape) -> None:
    """Somebody who shows the answer's tokens must not show those of an extraction."""
    memory.model = ScriptedChatModel(["an order of coffee"])
    builder = shape(memory, noting(), background=True)
    last = next(name for name in reversed(list(builder.nodes)))
    builder.edges.discard((last, END))

    def wait(state: Any) -> dict[str, Any]:
        assert memory.flush(LONG)
        return {}

    builder.add_node("wait", wait)
    builder.add_edge(last, "wait")
    chunks = await everything(
        builder.compile().stream, say(ORDER), as_user("ana", "t"), ["messages", "custom"]
    )
    assert notes(memory, "ana") == ["ana in t: an order of coffee"]
    assert "".join(chunk[0].text for mode, chunk in chunks if mode == "messages") == (
        "Noted, thank you."
    )
    events = {chunk["type"] for mode, chunk in chunks if mode == "custom"}
    assert events == {"memory.recalled", "memory.saved"}


@pytest.mark.parametrize("name", ["ainvoke", "astream"])
def test_a_model_keeps_its_connections_from_one_event_loop_to_the_next(
    memory: Noting, shape: Shape, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One model answers and makes notes; its clients are shared, and must not be closed."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    way = Way(name)

    def reply(messages: list[Any]) -> str:
        return "noted" if "Note this" in messages[-1]["content"] else "Certainly."

    with OpenAIServer(reply) as server:
        model = ChatOpenAI(
            base_url=server.base_url, api_key=SecretStr("x"), model="local", max_retries=0
        )
        memory.model = model
        graph = shape(memory, model, is_async=True, background=True).compile()

        async def talk(thread: str) -> None:
            for user in ("ana", "bo"):
                state = await way(graph, say(ORDER), as_user(user, thread))
                assert answer(state) == "Certainly."

        asyncio.run(talk("monday"))
        asyncio.run(talk("tuesday"))
        assert memory.flush(LONG)
    for user in ("ana", "bo"):
        assert notes(memory, user) == [f"{user} in monday: noted", f"{user} in tuesday: noted"]


async def test_the_next_session_knows_what_was_noted(
    memory: Noting, sessions: Sessions, shape: Shape, way: Way
) -> None:
    model = noting()
    builder = shape(memory, model, is_async=way.is_async, background=True)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="ana", thread_id="monday"))
    assert await memory.aflush(LONG)
    await way(graph, say(AGAIN), sessions.config(user="ana", thread_id="tuesday"))
    assert f"ana in monday: {ORDER}" in block_in(model.calls[-1])


def test_a_graphs_own_store_is_used_in_the_background_too(shape: Shape) -> None:
    store = InMemoryStore()
    memory = Noting(debounce=0)
    graph = shape(memory, noting(), background=True).compile(store=store)
    graph.invoke(say(ORDER), as_user("ana", "t"))
    assert memory.flush(LONG)
    assert notes(memory.using(store), "ana") == [f"ana in t: {ORDER}"]


async def test_a_store_that_needs_its_event_loop_is_written_to_while_that_waits(
    tmp_path: Path, shape: Shape
) -> None:
    async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
        await store.setup()
        async with Noting(store, debounce=0) as memory:
            graph = shape(memory, noting(), is_async=True, background=True).compile()
            for thread in ("monday", "tuesday"):
                await graph.ainvoke(say(ORDER), as_user("ana", thread))
            assert await memory.aflush(LONG)
            found = [record.text for record in await memory.alist(user="ana")]
            assert sorted(found) == [f"ana in monday: {ORDER}", f"ana in tuesday: {ORDER}"]
