"""Whether what was recalled was shown to a model: what an author forgets most often is told."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_memory import (
    Memory,
    MemoryMiddleware,
    MemoryState,
    Sessions,
    memory_tools,
    messages_with_memory,
    open_sessions,
    recall_node,
    remember_node,
)
from langgraph_memory.graph.recall import MAX_TURNS, Showing
from tests.graph.graphs import (
    Builder,
    Shape,
    Way,
    as_user,
    messages_of,
    noting,
    opened,
    say,
)

ASKED = "What do I drink it from?"


def graph_of(memory: Memory, *read: Any, **middle: Any) -> Builder:
    """Return a graph whose nodes each read messages in one of some ways, and answer."""
    model = noting()

    def answering(read: Any) -> Any:
        return lambda state: {"messages": [model.invoke(read(state))]}

    nodes: dict[str, Any] = {"recall": recall_node(memory)}
    nodes |= {f"chat_{place}": answering(each) for place, each in enumerate(read)}
    nodes |= middle
    nodes |= {"remember": remember_node(memory)}
    builder: Builder = StateGraph(MemoryState)
    builder.add_sequence(list(nodes.items()))
    builder.add_edge(START, "recall")
    return builder


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.fixture(autouse=True)
def _known(memory: Memory) -> None:
    memory.remember("Drinks Colombia from a moka pot", user="ana")


async def test_a_graph_that_never_shows_what_it_recalled_is_told_of_once(
    memory: Memory, sessions: Sessions, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    graph = graph_of(memory, messages_of).compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ASKED), sessions.config(user="ana", thread_id="monday"))
    (told,) = warnings(caplog)
    assert "messages_with_memory(state)" in told
    assert "moka pot" not in told
    await way(graph, say(ASKED), sessions.config(user="ana", thread_id="tuesday"))
    assert warnings(caplog) == [told]


async def test_each_memory_is_told_of(
    memory: Memory, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    other = Memory(memory.store)
    for each in (memory, other):
        await call(graph_of(each, messages_of).compile(), say(ASKED), as_user("ana"))
    assert len(warnings(caplog)) == 2


async def test_what_any_node_shows_is_shown(
    memory: Memory, sessions: Sessions, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    builder = graph_of(memory, messages_of, messages_with_memory, messages_of)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ASKED), sessions.config(user="ana", thread_id="t"))
    assert warnings(caplog) == []


async def test_a_node_in_a_subgraph_may_show_it(
    memory: Memory, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    model = noting()
    inner: Builder = StateGraph(MemoryState)
    inner.add_node("chat", lambda s: {"messages": [model.invoke(messages_with_memory(s))]})
    inner.add_edge(START, "chat")
    await call(graph_of(memory, chat=inner.compile()).compile(), say(ASKED), as_user("ana"))
    assert model.calls
    assert warnings(caplog) == []


async def test_no_surface_is_told_of_that_shows_it(
    memory: Memory, surface: Shape, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    graph = surface(memory, noting(), is_async=call.is_async).compile()
    await call(graph, say(ASKED), as_user("ana"))
    assert warnings(caplog) == []


async def test_an_agent_that_recalls_by_a_tool_is_not_told_of(
    memory: Memory, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    middleware: Any = [MemoryMiddleware(memory, tools=memory_tools)]
    await call(create_agent(noting(), middleware=middleware), say(ASKED), as_user("ana"))
    assert warnings(caplog) == []


async def test_of_several_agents_one_may_have_shown_its_own(
    memory: Memory, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    model = noting()
    builder: Builder = StateGraph(MemoryState)
    nodes: list[tuple[str, Any]] = [
        ("recall_planner", recall_node(memory, agent="planner")),
        ("recall_coder", recall_node(memory, agent="coder")),
        (
            "planner",
            lambda s: {"messages": [model.invoke(messages_with_memory(s, agent="planner"))]},
        ),
        ("remember", remember_node(memory)),
    ]
    builder.add_sequence(nodes)
    builder.add_edge(START, "recall_planner")
    await call(builder.compile(), say(ASKED), as_user("ana"))
    assert warnings(caplog) == []


async def test_where_the_answer_was_there_without_a_recall_nothing_is_told(
    memory: Memory, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    builder: Builder = StateGraph(MemoryState)
    nodes: list[tuple[str, Any]] = [
        ("chat", lambda state: {"messages": [AIMessage("Noted.")]}),
        ("remember", remember_node(memory)),
    ]
    builder.add_sequence(nodes)
    builder.add_edge(START, "chat")
    await call(builder.compile(), say(ASKED), as_user("ana"))
    assert warnings(caplog) == []


def test_a_recall_that_failed_is_told_of_as_such_alone(
    memory: Memory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no route")

    monkeypatch.setattr(memory, "recall", fail)
    graph_of(memory, messages_of).compile().invoke(say(ASKED), as_user("ana"))
    assert warnings(caplog) == ["recall failed; the agent answers without memory"]


@pytest.mark.parametrize("before", ["chat_0", "remember"])
async def test_a_turn_that_was_stopped_in_between_is_not_told_of(
    memory: Memory, sessions: Sessions, call: Way, caplog: pytest.LogCaptureFixture, before: str
) -> None:
    """It may have been shown in another process."""
    graph = graph_of(memory, messages_of).compile(
        checkpointer=sessions.checkpointer, interrupt_before=[before]
    )
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ASKED), config)
    await call(graph, None, config)
    assert warnings(caplog) == []


async def test_nor_is_one_that_goes_on_in_another_process(
    tmp_path: Any, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    def approve(state: Any) -> dict[str, Any]:
        interrupt("Is that right?")
        return {}

    runs: list[Any] = [say(ASKED), Command(resume="yes")]
    for given in runs:
        with opened(tmp_path) as memory, open_sessions(tmp_path) as sessions:
            builder = graph_of(memory, messages_with_memory, approve=approve)
            graph = builder.compile(checkpointer=sessions.checkpointer)
            await call(graph, given, sessions.config(user="ana", thread_id="t"))
    assert warnings(caplog) == []


def test_turns_that_are_never_kept_do_not_heap_up(memory: Memory) -> None:
    showing = Showing()
    turns = [f"turn {number}" for number in range(MAX_TURNS + 10)]
    for turn in turns:
        showing.recalled(turn, memory)
    assert not showing.forgotten(turns[0])
    assert showing.forgotten(turns[-1])
    assert not showing.forgotten(turns[-2])
