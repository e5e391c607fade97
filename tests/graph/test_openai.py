"""Graphs with the real OpenAI clients, against a local server that speaks the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import SecretStr

from langgraph_memory import ChromaStore, Memory, Sessions, with_memory
from langgraph_memory.text.escaping import CLOSE, OPEN
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Builder,
    Shape,
    Way,
    answer,
    as_user,
    episodes,
    everything,
    messages_of,
    nodes,
    said,
    say,
    wrapped_node,
)
from tests.openai_server import Json, OpenAIServer, Refusal

KEY = SecretStr("x")


@tool
def price(bean: str) -> str:
    """Return the price of a kilo."""
    return f"{bean}: 12 euro"


def reply(messages: list[Json]) -> str | Json:
    """Ask for the price of what costs something, and answer the rest."""
    last = messages[-1]
    if last["role"] == "user" and "cost" in last["content"]:
        function = {"name": "price", "arguments": json.dumps({"bean": "Colombia"})}
        return {"tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    return "Noted, thank you."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer(reply) as server:
        yield server


@pytest.fixture
def model(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(base_url=server.base_url, api_key=KEY, model="local", max_retries=0)


@pytest.fixture
def embedded(server: OpenAIServer, tmp_path: Path) -> Iterator[Memory]:
    embeddings = OpenAIEmbeddings(
        base_url=server.base_url,
        api_key=KEY,
        model="local",
        max_retries=0,
        check_embedding_ctx_length=False,
    )
    with Memory(ChromaStore(tmp_path, embed=embeddings)) as memory:
        yield memory


def prompts(server: OpenAIServer) -> list[list[Json]]:
    """Return the messages of each request for a chat, as they were sent."""
    return [r.body["messages"] for r in server.requests if r.path == "/v1/chat/completions"]


def with_block(messages: list[Json]) -> list[bool]:
    return [OPEN in json.dumps(message, ensure_ascii=False) for message in messages]


async def test_the_block_arrives_in_the_last_user_message_of_the_request(
    server: OpenAIServer,
    model: ChatOpenAI,
    embedded: Memory,
    sessions: Sessions,
    shape: Shape,
    way: Way,
) -> None:
    graph = shape(embedded, model, is_async=way.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    given = {"messages": [SystemMessage("You sell coffee."), *say(ORDER)["messages"]]}
    await way(graph, given, sessions.config(user="ana", thread_id="monday"))
    given = {"messages": [SystemMessage("You sell coffee."), *say(AGAIN)["messages"]]}
    state = await way(graph, given, sessions.config(user="ana", thread_id="tuesday"))
    assert answer(state) == "Noted, thank you."
    first, second = prompts(server)
    assert [message["role"] for message in first] == ["system", "user"]
    assert [message["role"] for message in second] == ["system", "user"]
    assert first[1]["content"].endswith(ORDER)
    assert second[0]["content"] == "You sell coffee."
    text = second[1]["content"]
    assert text.startswith(OPEN)
    assert text.endswith(f"{CLOSE}\n\n{AGAIN}")
    assert ORDER in text
    assert set(second[1]) == {"role", "content"}
    assert said(embedded, "ana") == [
        f"user: {ORDER}",
        "assistant: Noted, thank you.",
        f"user: {AGAIN}",
        "assistant: Noted, thank you.",
    ]


@pytest.mark.parametrize("kind", ["a loop", "an agent as a node"])
async def test_a_loop_of_tools_sends_the_block_each_time_and_nothing_between_call_and_result(
    server: OpenAIServer,
    model: ChatOpenAI,
    embedded: Memory,
    sessions: Sessions,
    call: Way,
    kind: str,
) -> None:
    embedded.remember("Drinks Colombia from a moka pot", user="ana")
    bound = model.bind_tools([price])

    def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    async def achat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    if kind == "a loop":
        builder: Builder = StateGraph(MessagesState)
        builder.add_node("chat", with_memory(achat if call.is_async else chat, embedded))
        builder.add_node("tools", ToolNode([price]))
        builder.add_edge(START, "chat")
        builder.add_conditional_edges("chat", tools_condition)
        builder.add_edge("tools", "chat")
    else:
        builder = wrapped_node(embedded, create_agent(model, [price]))
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    state = await call(graph, say("What does my coffee cost?"), config)
    assert OPEN not in str(messages_of(state))
    sent = prompts(server)
    assert [[message["role"] for message in messages] for messages in sent] == [
        ["user"],
        ["user", "assistant", "tool"],
    ]
    assert [with_block(messages) for messages in sent] == [[True], [True, False, False]]
    assert "moka pot" in sent[1][0]["content"]
    assert sent[1][1]["tool_calls"][0]["id"] == sent[1][2]["tool_call_id"] == "call_1"
    assert said(embedded, "ana") == [
        "user: What does my coffee cost?",
        "assistant: Noted, thank you.",
    ]
    assert [episode.approach for episode in episodes(embedded, "ana")] == [
        "node: chat; tools: price"
    ]


async def test_the_tokens_of_the_server_are_streamed(
    model: ChatOpenAI, embedded: Memory, shape: Shape
) -> None:
    graph = shape(embedded, model, is_async=True).compile()
    chunks = await everything(graph.astream, say(ORDER), as_user("ana", "t"), "messages")
    assert [chunk.text for chunk, _ in chunks if chunk.text] == ["Noted, ", "thank ", "you."]
    assert said(embedded, "ana")[-1] == "assistant: Noted, thank you."


async def test_what_a_turn_cost_is_what_the_server_reported(
    model: ChatOpenAI, embedded: Memory, shape: Shape, call: Way
) -> None:
    state = await call(shape(embedded, model).compile(), say(ORDER), as_user("ana", "t"))
    [episode] = episodes(embedded, "ana")
    assert episode.token_cost == messages_of(state)[-1].usage_metadata["total_tokens"] > 0  # type: ignore[attr-defined]


async def test_an_embedding_server_that_is_down_leaves_the_agent_its_answer(
    server: OpenAIServer, model: ChatOpenAI, embedded: Memory, call: Way
) -> None:
    """Recalling needs the query's vector. Saving fails too then, and that is not hidden."""

    def refuse(texts: list[str]) -> list[list[float]]:
        raise Refusal(503, "overloaded")

    embedded.remember("Drinks Colombia from a moka pot", user="ana")
    object.__setattr__(server.embeddings, "embed_documents", refuse)
    graph = nodes(embedded, model, is_async=call.is_async).compile()
    with pytest.raises(Exception, match="overloaded"):
        await call(graph, say(ORDER), as_user("ana", "t"))
    [messages] = prompts(server)
    assert with_block(messages) == [False]
