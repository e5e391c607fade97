"""Many users at once, in threads and in one event loop; and a loop that nothing blocks."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBusterFunction, blockbuster_ctx
from chromadb import Collection
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from langgraph_memory import ChromaStore, Memory, Sessions, UniversalSentenceEncoder, open_sessions
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Shape,
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
    wrapped_node,
)

ROOT = Path(__file__).parents[2]
USERS = range(50)


def seen(messages: list[BaseMessage]) -> str:
    """Answer with all the order numbers of the prompt."""
    numbers = {number for message in messages for number in re.findall(r"N\d+", message.text)}
    return f"I see {', '.join(sorted(numbers))}."


def order(number: int) -> str:
    return f"A kilo of coffee, order N{number}, to Rosario"


def assert_each_has_their_own(memory: Memory, answers: list[str]) -> None:
    assert answers == [f"I see N{number}." for number in USERS]
    for number in USERS:
        own = f"assistant: I see N{number}."
        again = "user: The same as last time, please"
        assert said(memory, f"u{number}") == [f"user: {order(number)}", own, again, own]
        assert len(tasks(memory, f"u{number}")) == 2
    owners = Counter(namespace[2] for namespace in memory.store.list_namespaces(limit=1_000))
    assert set(owners) == {f"u{number}" for number in USERS}


@pytest.mark.slow
def test_fifty_users_in_threads_each_get_their_own_words_and_lose_none(
    memory: Memory, sessions: Sessions
) -> None:
    model = ScriptedChatModel([seen] * 100)
    graph = nodes(memory, model, timeout=None).compile(checkpointer=sessions.checkpointer)

    def talk(number: int) -> str:
        user = f"u{number}"
        graph.invoke(say(order(number)), sessions.config(user=user, thread_id=f"{user} first"))
        config = sessions.config(user=user, thread_id=f"{user} second")
        return answer(graph.invoke(say("The same as last time, please"), config))

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(talk, USERS))
    assert_each_has_their_own(memory, answers)


async def test_fifty_users_in_one_event_loop_each_get_their_own_words_and_lose_none(
    memory: Memory, sessions: Sessions
) -> None:
    model = ScriptedChatModel([seen] * 100)
    graph = wrapped(memory, model, is_async=True, timeout=None).compile(
        checkpointer=sessions.checkpointer
    )

    async def talk(number: int) -> str:
        user = f"u{number}"
        config = sessions.config(user=user, thread_id=f"{user} first")
        await graph.ainvoke(say(order(number)), config)
        config = sessions.config(user=user, thread_id=f"{user} second")
        return answer(await graph.ainvoke(say("The same as last time, please"), config))

    answers = await asyncio.gather(*(talk(number) for number in USERS))
    assert_each_has_their_own(memory, answers)


def test_one_user_in_many_threads_at_once_loses_nothing(
    memory: Memory, sessions: Sessions, shape: Shape
) -> None:
    graph = shape(memory, noting(20), timeout=None).compile(checkpointer=sessions.checkpointer)

    def talk(number: int) -> None:
        graph.invoke(say(order(number)), sessions.config(user="ana", thread_id=number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, range(20)))
    kept = said(memory, "ana")
    assert sorted(line for line in kept if line.startswith("user")) == sorted(
        f"user: {order(number)}" for number in range(20)
    )
    assert len(kept) == 40
    assert len(tasks(memory, "ana")) == 20


# -- the event loop ------------------------------------------------------------------------------


@contextmanager
def nothing_may_block() -> Iterator[None]:
    """Watch the event loop; what computes in native code, unseen by blockbuster, is named."""
    with blockbuster_ctx() as watched:
        for owner, names in {
            Collection: ("get", "upsert", "delete", "query"),
            UniversalSentenceEncoder: ("embed_documents", "embed_query"),
        }.items():
            for name in names:
                watched.functions[name] = BlockBusterFunction(owner, name).activate()
        yield


@pytest.mark.parametrize("background", [False, True])
async def test_nothing_blocks_the_event_loop(
    tmp_path: Path, shape: Shape, background: bool
) -> None:
    async with Memory(ChromaStore(tmp_path)) as memory, open_sessions(tmp_path) as sessions:
        model = noting()
        builder = shape(memory, model, is_async=True, background=background)
        graph = builder.compile(checkpointer=sessions.checkpointer)
        with nothing_may_block():
            config = sessions.config(user="ana", thread_id="monday")
            await graph.ainvoke(say(ORDER), config)
            config = sessions.config(user="ana", thread_id="tuesday")
            chunks = await everything(graph.astream, say(AGAIN), config, "messages")
            assert await memory.aflush()
        assert chunks
        assert ORDER in block_in(model.calls[-1])
        assert len(await memory.alist(user="ana", types=("message",))) == 4


COLD = """
    import asyncio
    import sys

    from blockbuster import blockbuster_ctx
    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    from langgraph_memory import (
        ChromaStore, Memory, MemoryState, messages_with_memory, open_sessions, recall_node,
        remember_node,
    )

    def builder(state, nodes):
        built = StateGraph(state)
        before = START
        for name, node in nodes.items():
            built.add_node(name, node)
            built.add_edge(before, name)
            before = name
        return built

    async def plain(state):
        return {"messages": [AIMessage("Noted, thank you.")]}

    async def chat(state: MemoryState):
        return {"messages": [AIMessage(f"{len(messages_with_memory(state))} messages")]}

    async def main(path):
        given = {"messages": [("user", "A kilo of Colombia, ground for a moka pot")]}
        async with open_sessions(path) as sessions:
            # What LangGraph itself loads at its first run is not ours to judge.
            warm = builder(MessagesState, {"chat": plain}).compile(sessions.checkpointer)
            await warm.ainvoke(given, sessions.config(user="ana", thread_id="warm"))
            memory = Memory(ChromaStore(path))
            nodes = {"recall": recall_node(memory), "chat": chat, "remember": remember_node(memory)}
            graph = builder(MemoryState, nodes).compile(checkpointer=sessions.checkpointer)
            with blockbuster_ctx():
                state = await graph.ainvoke(given, sessions.config(user="ana", thread_id="t"))
                await memory.aclose()
        print(state["messages"][-1].text)

    asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
def test_nor_does_the_first_turn_of_a_process(tmp_path: Path) -> None:
    """What is imported and loaded on first use is loaded outside the event loop."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(COLD), str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == "1 messages\n"


def test_two_event_loops_one_after_the_other_share_a_graph(
    memory: Memory, sessions: Sessions, shape: Shape
) -> None:
    model = noting()
    graph = shape(memory, model, is_async=True).compile(checkpointer=sessions.checkpointer)
    for thread, text in (("monday", ORDER), ("tuesday", AGAIN)):
        asyncio.run(graph.ainvoke(say(text), sessions.config(user="ana", thread_id=thread)))
    assert ORDER in block_in(model.calls[-1])
    assert len(said(memory, "ana")) == 4


def test_a_loop_in_another_thread_and_plain_calls_share_a_graph(
    memory: Memory, shape: Shape
) -> None:
    model = noting()
    graph = shape(memory, model).compile()
    with ThreadPoolExecutor(1) as pool:
        run = graph.ainvoke(say(ORDER), as_user("ana", "monday"))
        pool.submit(asyncio.run, run).result()
    graph.invoke(say(AGAIN), as_user("ana", "tuesday"))
    assert ORDER in block_in(model.calls[-1])


async def test_a_turn_that_is_cancelled_leaves_a_memory_that_works(
    memory: Memory, sessions: Sessions, shape: Shape
) -> None:
    """The client went away while the model was thinking."""
    thinking = asyncio.Event()

    async def chat(state: Any) -> dict[str, Any]:
        thinking.set()
        await asyncio.Event().wait()
        return {}

    builder = shape(memory, noting(), is_async=True)
    if "recall" in builder.nodes:
        builder.nodes["chat"].runnable = RunnableLambda(chat)
    else:
        builder = wrapped_node(memory, chat)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    task = asyncio.create_task(graph.ainvoke(say(ORDER), config))
    await thinking.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    again = shape(memory, noting(), is_async=True).compile(checkpointer=sessions.checkpointer)
    await again.ainvoke(say(AGAIN), config)
    assert said(memory, "ana") == [
        f"user: {ORDER}",
        f"user: {AGAIN}",
        "assistant: Noted, thank you.",
    ]
    assert tasks(memory, "ana") == [AGAIN]
