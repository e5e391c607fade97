"""Teams of langgraph-supervisor and langgraph-swarm: what was said is kept, handing over is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryMiddleware,
    MemoryState,
    open_sessions,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from langgraph_memory.text import OPEN

ASKED = "What do refunds need?"
FOUND = "Refunds need a receipt."
ANSWER = "Bring the receipt, please."


def memory() -> Memory:
    store = Memory(ChromaStore.in_memory(embed=HashingEmbeddings()))
    store.remember("Refunds go to the card that paid", user="ana")
    return store


def handing_to(agent: str) -> AIMessage:
    call = {"name": f"transfer_to_{agent}", "args": {}, "id": f"to {agent}"}
    return AIMessage("", tool_calls=[call])


def team(
    memory: Memory, worker: ScriptedChatModel, mode: Any, remembers: bool, **kwargs: Any
) -> Any:
    middleware = [MemoryMiddleware(memory, agent="billing")] if remembers else []
    billing: Any = create_agent(worker, middleware=middleware, name="billing")
    model = ScriptedChatModel([handing_to("billing"), ANSWER] * 2)
    return create_supervisor([billing], model=model, output_mode=mode).compile(**kwargs)


def wrapped(team: Any, memory: Memory) -> Any:
    return (
        StateGraph(MemoryState).add_node("team", with_memory(team, memory)).add_edge(START, "team")
    )


def between_nodes(team: Any, memory: Memory) -> Any:
    nodes: Any = [
        ("recall", recall_node(memory)),
        ("team", team),
        ("remember", remember_node(memory)),
    ]
    return StateGraph(MemoryState).add_sequence(nodes).add_edge(START, "recall")


def said(memory: Memory) -> list[str]:
    return sorted(message.text for message in memory.list(user="ana", types=("message",)))


@pytest.mark.parametrize("remembers", [False, True], ids=["worker without", "worker with memory"])
@pytest.mark.parametrize("mode", ["last_message", "full_history"])
@pytest.mark.parametrize("around", [wrapped, between_nodes])
def test_memory_around_a_supervisor_keeps_what_was_said_once(
    around: Callable[..., Any], mode: str, remembers: bool
) -> None:
    kept, worker, sessions = memory(), ScriptedChatModel([FOUND]), open_sessions(":memory:")
    inner = team(kept, worker, mode, remembers)
    graph = around(inner, kept).compile(checkpointer=sessions.checkpointer)

    graph.invoke({"messages": [("user", ASKED)]}, sessions.config(user="ana", thread_id="monday"))

    assert said(kept) == sorted([ASKED, FOUND, ANSWER])
    [episode] = kept.list(user="ana", types=("episode",))
    assert "transfer_back" not in episode.approach
    blocks = [message.text.count(OPEN) for message in worker.calls[0] if message.type == "human"]
    assert sum(blocks) == (1 if remembers or around is wrapped else 0)


@pytest.mark.parametrize("mode", ["last_message", "full_history"])
async def test_a_worker_s_memory_keeps_the_supervisor_s_answer_with_the_next_turn(
    mode: str,
) -> None:
    kept, worker, sessions = memory(), ScriptedChatModel([FOUND] * 2), open_sessions(":memory:")
    graph = team(kept, worker, mode, True, checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="monday")

    await graph.ainvoke({"messages": [("user", ASKED)]}, config)
    await graph.ainvoke({"messages": [("user", "And in France?")]}, config)

    assert said(kept) == sorted([ASKED, "And in France?", FOUND, FOUND, ANSWER])


def test_a_swarm_keeps_each_turn_once_whoever_answers() -> None:
    kept, sessions = memory(), open_sessions(":memory:")
    scripts: dict[str, Any] = {"alice": [handing_to("bob")], "bob": ["Five days.", "Six days."]}
    agents: Any = [
        create_agent(
            ScriptedChatModel(script),
            tools=[create_handoff_tool(agent_name="bob" if name == "alice" else "alice")],
            middleware=[MemoryMiddleware(kept, agent=name)],
            name=name,
        )
        for name, script in scripts.items()
    ]
    swarm = create_swarm(agents, default_active_agent="alice")
    graph = swarm.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="monday")

    graph.invoke({"messages": [("user", "How long do parcels take?")]}, config)
    graph.invoke({"messages": [("user", "And to Rosario?")]}, config)

    assert said(kept) == sorted(
        ["How long do parcels take?", "Five days.", "And to Rosario?", "Six days."]
    )
