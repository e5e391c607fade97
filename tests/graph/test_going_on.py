"""A turn that stopped, and is taken up by a new message: its task is the one that was asked for."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_memory import (
    EpisodeRecorder,
    Memory,
    MemoryMiddleware,
    MemoryState,
    Sessions,
    open_sessions,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.graph.nodes import _beside
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import Builder, Way, episodes, opened, said, say, tasks

ORDER = "Ship order 17 to Rosario, please."
GO_AHEADS = ["yes", "Go on", "好的", "Sí, adelante", "Ship it"]


def in_order(state: Any, **nodes: Any) -> Builder:
    builder: Builder = StateGraph(state)
    builder.add_sequence(list(nodes.items()))
    builder.add_edge(START, next(iter(nodes)))
    return builder


def stopping(memory: Memory, kind: str, stops: int = 1) -> Builder:
    """Return a graph that asks before it answers, and does so as often as it is told."""
    left = [None] * stops

    def chat(state: Any) -> dict[str, Any]:
        if left:
            left.pop()
            interrupt("Is that right?")
        return {"messages": [AIMessage("Shipped.")]}

    return around(memory, kind, chat)


def around(memory: Memory, kind: str, chat: Any) -> Builder:
    if kind == "with_memory":
        return in_order(MemoryState, chat=with_memory(chat, memory))
    before, after = recall_node(memory), remember_node(memory)
    return in_order(MemoryState, recall=before, chat=chat, remember=after)


def recorded(memory: Memory, sessions: Sessions) -> Any:
    config = sessions.config(user="ana", thread_id="t")
    return {**config, "callbacks": [EpisodeRecorder(memory)]}


SHAPES = pytest.mark.parametrize("kind", ["nodes", "with_memory"])


@SHAPES
@pytest.mark.parametrize("go_ahead", GO_AHEADS)
async def test_a_go_ahead_instead_of_a_resume_goes_on_with_the_task(
    memory: Memory, sessions: Sessions, call: Way, kind: str, go_ahead: str
) -> None:
    graph = stopping(memory, kind).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    await call(graph, say(go_ahead), config)
    assert tasks(memory, "ana") == [ORDER]
    assert said(memory, "ana") == [f"user: {ORDER}", f"user: {go_ahead}", "assistant: Shipped."]
    await call(graph, say("Send one to my sister, too, please."), config)
    assert len(tasks(memory, "ana")) == 2


@SHAPES
async def test_with_a_recorder_the_episode_that_was_interrupted_is_completed(
    memory: Memory, sessions: Sessions, call: Way, kind: str
) -> None:
    graph = stopping(memory, kind, stops=2).compile(checkpointer=sessions.checkpointer)
    config = recorded(memory, sessions)
    for text, outcome in [(ORDER, "interrupted"), ("yes", "interrupted"), ("go on", "completed")]:
        await call(graph, say(text), config)
        (episode,) = episodes(memory, "ana")
        assert (episode.task, episode.outcome) == (ORDER, outcome)


@SHAPES
async def test_a_go_ahead_that_is_stopped_again_may_be_resumed(
    memory: Memory, sessions: Sessions, call: Way, kind: str
) -> None:
    graph = stopping(memory, kind, stops=2).compile(checkpointer=sessions.checkpointer)
    config = recorded(memory, sessions)
    await call(graph, say(ORDER), config)
    await call(graph, say("yes"), config)
    await call(graph, Command(resume="yes"), config)
    (episode,) = episodes(memory, "ana")
    assert (episode.task, episode.outcome) == (ORDER, "completed")


@SHAPES
async def test_it_goes_on_in_another_process(tmp_path: Any, call: Way, kind: str) -> None:
    for stops, text in [(1, ORDER), (0, "yes")]:
        with opened(tmp_path) as memory, open_sessions(tmp_path) as sessions:
            graph = stopping(memory, kind, stops).compile(checkpointer=sessions.checkpointer)
            await call(graph, say(text), recorded(memory, sessions))
            (episode,) = episodes(memory, "ana")
    assert (episode.task, episode.outcome) == (ORDER, "completed")


@SHAPES
@pytest.mark.parametrize("other", ["What time is it there?", "Cancel that", "Thanks, bye!"])
async def test_what_is_no_go_ahead_leaves_the_task_as_it_is(
    memory: Memory, sessions: Sessions, kind: str, other: str
) -> None:
    graph = stopping(memory, kind).compile(checkpointer=sessions.checkpointer)
    config = recorded(memory, sessions)
    graph.invoke(say(ORDER), config)
    graph.invoke(say(other), config)
    outcomes = {episode.task: episode.outcome for episode in episodes(memory, "ana")}
    assert outcomes.pop(ORDER) == "interrupted"
    assert outcomes in ({}, {other: "completed"})


@SHAPES
async def test_a_go_ahead_after_an_answer_begins_no_task_and_changes_none(
    memory: Memory, sessions: Sessions, kind: str
) -> None:
    graph = stopping(memory, kind, stops=0).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    graph.invoke(say(ORDER), config)
    kept = episodes(memory, "ana")
    graph.invoke(say("ok"), config)
    assert episodes(memory, "ana") == kept


@pytest.mark.parametrize("with_recorder", [True, False])
async def test_a_draft_that_waits_for_approval_is_no_answer(
    memory: Memory, sessions: Sessions, call: Way, with_recorder: bool
) -> None:
    def draft(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("Dear Sir or Madam")]}

    def approve(state: Any) -> dict[str, Any]:
        return {} if len(state["messages"]) > 2 else interrupt("Send it?")

    builder = in_order(
        MemoryState,
        recall=recall_node(memory),
        draft=draft,
        approve=approve,
        remember=remember_node(memory),
    )
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config: Any = recorded(memory, sessions)
    if not with_recorder:
        del config["callbacks"]
    await call(graph, say("Write a letter to the bank."), config)
    await call(graph, say("yes"), config)
    (episode,) = episodes(memory, "ana")
    assert (episode.task, episode.outcome) == ("Write a letter to the bank.", "completed")


@SHAPES
async def test_a_task_that_failed_may_be_tried_again_by_a_message(
    memory: Memory, sessions: Sessions, call: Way, kind: str
) -> None:
    errors = [ConnectionError("no route")]

    def chat(state: Any) -> dict[str, Any]:
        if errors:
            raise errors.pop()
        return {"messages": [AIMessage("Shipped.")]}

    graph = around(memory, kind, chat).compile(checkpointer=sessions.checkpointer)
    config = recorded(memory, sessions)
    with pytest.raises(ConnectionError):
        await call(graph, say(ORDER), config)
    await call(graph, say("Try again"), config)
    (episode,) = episodes(memory, "ana")
    assert (episode.task, episode.outcome) == (ORDER, "completed")
    assert episode.notes == "It failed before: ConnectionError: no route"


@tool
def ship(order: int) -> str:
    """Ship an order."""
    return f"Order {order} is on its way."


@pytest.mark.parametrize("with_recorder", [True, False])
async def test_a_tool_that_waits_for_approval_is_approved_by_a_message(
    memory: Memory, sessions: Sessions, call: Way, with_recorder: bool
) -> None:
    def shipping(id: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": "ship", "args": {"order": 17}, "id": id}])

    model = ScriptedChatModel([shipping("1"), "Shipped."])
    approval = HumanInTheLoopMiddleware(interrupt_on={"ship": True})
    middleware: Any = [MemoryMiddleware(memory), approval]
    agent: Any = create_agent(
        model, [ship], middleware=middleware, checkpointer=sessions.checkpointer
    )
    config: Any = recorded(memory, sessions)
    if not with_recorder:
        del config["callbacks"]
    await call(agent, say(ORDER), config)
    await call(agent, say("Yes, please"), config)
    (episode,) = episodes(memory, "ana")
    assert (episode.task, episode.outcome) == (ORDER, "completed")
    assert "tools: ship" in episode.approach


class Asked(TypedDict, total=False):
    question: str
    reply: str
    memory: Annotated[dict[str, Any], _beside]


async def test_a_state_without_messages_goes_on_as_well(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    stops = [None]

    def chat(state: Any) -> dict[str, Any]:
        if stops:
            stops.pop()
            interrupt("Is that right?")
        return {"reply": "Shipped."}

    builder = in_order(
        Asked,
        recall=recall_node(memory, query=lambda state: str(state["question"])),
        chat=chat,
        remember=remember_node(memory, reply=lambda state: str(state["reply"])),
    )
    graph = builder.compile(checkpointer=sessions.checkpointer)
    for question in (ORDER, "yes"):
        await call(graph, {"question": question}, sessions.config(user="ana", thread_id="t"))
    assert tasks(memory, "ana") == [ORDER]
    assert said(memory, "ana") == [f"user: {ORDER}", "user: yes", "assistant: Shipped."]


def test_an_evaluator_is_shown_what_was_said_until_it_was_done(
    memory: Memory, sessions: Sessions
) -> None:
    shown: list[list[str]] = []
    memory.evaluator = lambda episode, messages: shown.append([m.text for m in messages])
    graph = stopping(memory, "with_memory").compile(checkpointer=sessions.checkpointer)
    for text in (ORDER, "yes"):
        graph.invoke(say(text), sessions.config(user="ana", thread_id="t"))
    memory.flush()
    assert shown == [[ORDER, "yes", "Shipped."]]
