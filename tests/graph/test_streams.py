"""What somebody sees who watches a run: the tokens as they come, and what memory did."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import StreamWriter

from langgraph_memory import Memory, Sessions
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Shape,
    as_user,
    block_in,
    everything,
    messages_of,
    noting,
    said,
    say,
    wrapped_node,
)

KNOWN = "Drinks Colombia from a moka pot"
TOKENS = ["Noted, ", "thank ", "you."]
WAYS = ["stream", "astream"]


def tokens_of(chunks: list[Any]) -> list[str]:
    return [chunk.text for chunk, _ in chunks if chunk.type == "AIMessageChunk" and chunk.text]


async def events_of(graph: Any, name: str, config: Any, text: str = ORDER) -> list[dict[str, Any]]:
    return await everything(getattr(graph, name), say(text), config, "custom")


# -- tokens --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
async def test_the_models_tokens_are_streamed_one_by_one_and_once(
    memory: Memory, sessions: Sessions, shape: Shape, name: str
) -> None:
    memory.remember(KNOWN, user="ana")
    graph = shape(memory, noting(), is_async=name == "astream").compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    chunks = await everything(getattr(graph, name), say(ORDER), config, "messages")
    assert tokens_of(chunks) == TOKENS
    assert {chunk.type for chunk, _ in chunks} == {"AIMessageChunk"}
    assert {metadata["langgraph_node"] for _, metadata in chunks} == {"chat"}
    assert "<memory>" not in str(chunks)


@pytest.mark.parametrize("kind", ["sync node", "async node"])
async def test_a_node_that_streams_its_model_itself_is_passed_through(
    memory: Memory, kind: str
) -> None:
    model = noting()

    def chat(state: MessagesState) -> dict[str, Any]:
        whole = None
        for chunk in model.stream(state["messages"]):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    async def achat(state: MessagesState) -> dict[str, Any]:
        whole = None
        async for chunk in model.astream(state["messages"]):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    graph = wrapped_node(memory, achat if kind == "async node" else chat).compile()
    chunks = await everything(graph.astream, say(ORDER), as_user("ana", "t"), "messages")
    assert tokens_of(chunks) == TOKENS
    assert said(memory, "ana") == [f"user: {ORDER}", "assistant: Noted, thank you."]


async def test_events_tell_of_the_tokens_and_of_the_nodes(memory: Memory, shape: Shape) -> None:
    builder = shape(memory, noting(), is_async=True)
    stream = builder.compile().astream_events(say(ORDER), as_user("ana", "t"), version="v2")
    events = [event async for event in stream]
    tokens = [
        event["data"]["chunk"].text for event in events if event["event"] == "on_chat_model_stream"
    ]
    assert [token for token in tokens if token] == TOKENS
    started = {event["name"] for event in events if event["event"] == "on_chain_start"}
    assert set(builder.nodes) <= started
    assert said(memory, "ana") == [f"user: {ORDER}", "assistant: Noted, thank you."]


@pytest.mark.parametrize("name", WAYS)
async def test_a_stream_of_updates_has_the_nodes_and_no_block_in_the_messages(
    memory: Memory, shape: Shape, name: str
) -> None:
    memory.remember(KNOWN, user="ana")
    builder = shape(memory, noting(), is_async=name == "astream")
    graph = builder.compile()
    updates = await everything(getattr(graph, name), say(ORDER), as_user("ana", "t"), "updates")
    assert [node for update in updates for node in update] == list(builder.nodes)
    written = [node.get("messages") for update in updates for node in update.values() if node]
    assert "<memory>" not in str(written)


@pytest.mark.parametrize("name", WAYS)
async def test_a_listener_who_leaves_early_loses_nothing_that_the_user_said(
    memory: Memory, sessions: Sessions, name: str
) -> None:
    graph = wrapped_node(memory, lambda state: {"messages": [noting().invoke("hi")]}).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    stream: Any = getattr(graph, name)(say(ORDER), config, stream_mode="messages")
    if name == "stream":
        next(stream)
        stream.close()
    else:
        await anext(stream)
        await stream.aclose()
    assert said(memory, "ana")[0] == f"user: {ORDER}"


# -- what memory did -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
async def test_the_stream_tells_what_was_recalled_and_what_was_saved(
    memory: Memory, sessions: Sessions, shape: Shape, name: str
) -> None:
    note = memory.remember(KNOWN, user="ana").record
    graph = shape(memory, noting(), is_async=name == "astream").compile(
        checkpointer=sessions.checkpointer
    )
    events = await events_of(graph, name, sessions.config(user="ana", thread_id="t"))
    recalled = [event for event in events if event["type"] == "memory.recalled"]
    saved = [event for event in events if event["type"] == "memory.saved"]
    assert len(events) == len(recalled) + len(saved)
    assert {event["user"] for event in events} == {"ana"}
    assert all(event["ms"] >= 0 for event in events)
    [found] = recalled
    assert found["items"] == [{"id": note.id, "type": "note", "text": KNOWN}]
    items = [item for event in saved for item in event["items"]]
    stored = memory.list(user="ana", types=("message", "episode"))
    assert {item["id"] for item in items} == {record.id for record in stored}
    assert [item["type"] for item in items].count("message") == 2
    assert ORDER in [item["text"] for item in items]


async def test_the_stream_tells_only_of_records_that_are_in_the_prompt(
    memory: Memory, shape: Shape
) -> None:
    """Whoever shows "what the agent knew" must not show what the budget left out."""
    for number in range(15):
        memory.remember(f"Coffee number {number} was drunk on a rainy day in Rosario", user="ana")
    model = noting()
    graph = shape(memory, model, max_tokens=120).compile()
    events = await events_of(graph, "stream", as_user("ana", "t"), "Which coffee was it?")
    [recalled] = [event for event in events if event["type"] == "memory.recalled"]
    block = block_in(model.calls[0])
    assert recalled["items"]
    assert [item["text"] for item in recalled["items"] if item["text"] not in block] == []


async def test_the_events_can_be_read_as_json(memory: Memory, shape: Shape) -> None:
    memory.remember(KNOWN, user="ana")
    graph = shape(memory, noting()).compile()
    events = await events_of(graph, "astream", as_user("ana", "t"))
    assert json.loads(json.dumps(events)) == events


async def test_the_nodes_own_events_come_through_beside_those_of_memory(memory: Memory) -> None:
    def chat(state: MessagesState, *, writer: StreamWriter) -> dict[str, Any]:
        writer({"type": "thinking"})
        return {"messages": [AIMessage("Noted, thank you.")]}

    graph = wrapped_node(memory, chat).compile()
    types = [event["type"] for event in await events_of(graph, "stream", as_user("ana", "t"))]
    assert sorted(set(types)) == ["memory.recalled", "memory.saved", "thinking"]
    assert types.index("memory.recalled") < types.index("thinking") < len(types) - 1
    assert types[-1] == "memory.saved"


async def test_several_modes_at_once_stay_apart(memory: Memory, shape: Shape) -> None:
    graph = shape(memory, noting()).compile()
    chunks = await everything(
        graph.stream, say(ORDER), as_user("ana", "t"), ["messages", "custom", "values"]
    )
    of_mode = {mode: [chunk for found, chunk in chunks if found == mode] for mode, _ in chunks}
    assert tokens_of(of_mode["messages"]) == TOKENS
    assert {event["type"] for event in of_mode["custom"]} == {"memory.recalled", "memory.saved"}
    assert messages_of(of_mode["values"][-1])[-1].text == "Noted, thank you."


async def test_a_turn_without_an_answer_yet_saves_at_once_what_the_user_said(
    memory: Memory, sessions: Sessions
) -> None:
    """Before the model is called, so that its failure loses nothing."""
    kept: list[list[str]] = []
    model = ScriptedChatModel(
        [lambda messages: kept.append(said(memory, "ana")) or "Noted, thank you."]  # type: ignore[func-returns-value]
    )
    graph = wrapped_node(
        memory, lambda state: {"messages": [model.invoke(state["messages"])]}
    ).compile(checkpointer=sessions.checkpointer)
    graph.invoke(say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert kept == [[f"user: {ORDER}"]]


async def test_a_subgraphs_events_reach_a_listener_of_subgraphs(
    memory: Memory, shape: Shape
) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", shape(memory, noting()).compile())
    builder.add_edge(START, "agent")
    chunks = await everything(
        builder.compile().stream, say(AGAIN), as_user("ana", "t"), "custom", subgraphs=True
    )
    assert {event["type"] for _, event in chunks} == {"memory.recalled", "memory.saved"}
