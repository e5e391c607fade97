"""Agents that call tools: memory is in each prompt, and the turn is kept once, when it is over."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from langgraph_memory import (
    Memory,
    MemoryState,
    Sessions,
    messages_with_memory,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.testing import ScriptedChatModel
from langgraph_memory.text.escaping import OPEN
from tests.graph.graphs import (
    Builder,
    Way,
    answer,
    as_user,
    block_in,
    episodes,
    everything,
    has_block,
    messages_of,
    said,
    say,
    wrapped_node,
)

KNOWN = "Drinks Colombia from a moka pot"
ASKED = "What does my coffee cost, and is it in stock?"
ANSWER = "A kilo of Colombia is 12 euro, and we have 30 of them."
KEPT = [f"user: {ASKED}", f"assistant: {ANSWER}"]


@tool
def price(bean: str) -> str:
    """Return the price of a kilo."""
    return f"{bean}: 12 euro"


@tool
def stock(bean: str) -> str:
    """Return how many kilos there are."""
    return f"{bean}: 30 kilos"


@tool
def confirm(question: str) -> str:
    """Ask a person."""
    return str(interrupt(question))


TOOLS = [price, stock, confirm]


def calling(*names: str) -> AIMessage:
    arguments = {"price": {"bean": "Colombia"}, "stock": {"bean": "Colombia"}}
    calls: Any = [
        {"name": name, "args": arguments.get(name, {"question": "Sure?"}), "id": f"call_{name}"}
        for name in names
    ]
    return AIMessage("", tool_calls=calls)


def in_turn() -> ScriptedChatModel:
    return ScriptedChatModel([calling("price"), calling("stock"), ANSWER])


def in_parallel() -> ScriptedChatModel:
    return ScriptedChatModel([calling("price", "stock"), ANSWER])


SCRIPTS = {"one after the other": in_turn, "in parallel": in_parallel}


def loop(model: ScriptedChatModel, read: Any, is_async: bool) -> tuple[Any, ToolNode]:
    bound = model.bind_tools(TOOLS)

    def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(read(state))]}

    async def achat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(read(state))]}

    return achat if is_async else chat, ToolNode(TOOLS)


def wrapped_loop(memory: Memory, model: ScriptedChatModel, *, is_async: bool = False) -> Builder:
    """The chat node of the loop has memory around it."""
    chat, tools = loop(model, messages_of, is_async)
    builder: Builder = StateGraph(MessagesState)
    builder.add_node("chat", with_memory(chat, memory))
    builder.add_node("tools", tools)
    builder.add_edge(START, "chat")
    builder.add_conditional_edges("chat", tools_condition)
    builder.add_edge("tools", "chat")
    return builder


def loop_between_nodes(
    memory: Memory, model: ScriptedChatModel, *, is_async: bool = False
) -> Builder:
    """Recall stands before the whole loop, and remember after it."""

    def read(state: Any) -> list[BaseMessage]:
        return messages_with_memory(state)

    chat, tools = loop(model, read, is_async)
    builder: Builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat, input_schema=MemoryState)
    builder.add_node("tools", tools)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    builder.add_conditional_edges("chat", tools_condition, {"tools": "tools", END: "remember"})
    builder.add_edge("tools", "chat")
    builder.add_edge("remember", END)
    return builder


def agent_as_node(memory: Memory, model: ScriptedChatModel, *, is_async: bool = False) -> Builder:
    """The whole loop is a subgraph, with memory around it."""
    return wrapped_node(memory, create_agent(model, TOOLS))


LOOPS = {
    "with_memory": wrapped_loop,
    "nodes": loop_between_nodes,
    "agent as a node": agent_as_node,
}


@pytest.fixture(params=LOOPS)
def tool_loop(request: pytest.FixtureRequest) -> Any:
    return LOOPS[request.param]


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_each_call_of_the_model_sees_memory_in_the_users_message(
    memory: Memory, sessions: Sessions, call: Way, tool_loop: Any, script: Any
) -> None:
    memory.remember(KNOWN, user="ana")
    model = script()
    graph = tool_loop(memory, model, is_async=call.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    state = await call(graph, say(ASKED), sessions.config(user="ana", thread_id="t"))
    assert answer(state) == ANSWER
    prompts = model.calls
    assert KNOWN in block_in(prompts[0])
    assert {block_in(prompt) for prompt in prompts} == {block_in(prompts[0])}
    for prompt in prompts:
        assert [has_block(message) for message in prompt] == [True] + [False] * (len(prompt) - 1)
    results = [message.type for message in prompts[-1]]
    assert results == (
        ["human", "ai", "tool", "ai", "tool"]
        if script is in_turn
        else ["human", "ai"] + ["tool"] * 2
    )
    assert OPEN not in str(messages_of(state))


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
async def test_a_turn_with_tools_is_kept_once_and_its_episode_names_them(
    memory: Memory, sessions: Sessions, call: Way, tool_loop: Any, script: Any
) -> None:
    graph = tool_loop(memory, script(), is_async=call.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    state = await call(graph, say(ASKED), sessions.config(user="ana", thread_id="t"))
    assert said(memory, "ana") == KEPT
    [episode] = episodes(memory, "ana")
    assert episode.task == ASKED
    assert "tools: price, stock" in episode.approach
    usages = [m.usage_metadata for m in messages_of(state) if isinstance(m, AIMessage)]
    assert episode.token_cost == sum(usage["total_tokens"] for usage in usages if usage)


async def test_a_loop_that_nobody_keeps_has_memory_too(
    memory: Memory, call: Way, tool_loop: Any
) -> None:
    memory.remember(KNOWN, user="ana")
    model = in_turn()
    graph = tool_loop(memory, model, is_async=call.is_async).compile()
    await call(graph, say(ASKED), as_user("ana"))
    assert all(KNOWN in block_in(prompt[:1]) for prompt in model.calls)
    assert said(memory, "ana") == KEPT
    assert len(episodes(memory, "ana")) == 1


async def test_a_short_order_that_takes_a_tool_is_a_task(memory: Memory, tool_loop: Any) -> None:
    model = ScriptedChatModel([calling("price"), "12 euro."])
    tool_loop(memory, model).compile().invoke(say("Price, please"), as_user("ana"))
    assert [episode.task for episode in episodes(memory, "ana")] == ["Price, please"]


async def test_the_next_turn_finds_the_tools_of_the_last_one_in_order(
    memory: Memory, sessions: Sessions, call: Way, tool_loop: Any
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price", "stock"), ANSWER, "You are welcome."])
    graph = tool_loop(memory, model, is_async=call.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ASKED), config)
    await call(graph, say("Great, one kilo of that coffee"), config)
    kinds = [message.type for message in model.calls[-1]]
    assert kinds == ["human", "ai", "tool", "tool", "ai", "human"]
    assert [has_block(message) for message in model.calls[-1]] == [False] * 5 + [True]
    assert said(memory, "ana") == [
        *KEPT,
        "user: Great, one kilo of that coffee",
        "assistant: You are welcome.",
    ]


async def test_a_tool_that_asks_a_person_is_resumed_with_memory_and_kept_once(
    memory: Memory, sessions: Sessions, call: Way, tool_loop: Any
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("confirm"), ANSWER])
    graph = tool_loop(memory, model, is_async=call.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ASKED), config)
    assert graph.get_state(config).interrupts
    assert episodes(memory, "ana") == []
    state = await call(graph, Command(resume="yes"), config)
    assert answer(state) == ANSWER
    assert KNOWN in block_in(model.calls[-1])
    assert [message.type for message in model.calls[-1]] == ["human", "ai", "tool"]
    assert said(memory, "ana") == KEPT
    assert len(episodes(memory, "ana")) == 1


async def test_a_loop_that_fails_in_a_tool_is_taken_up_where_it_stood(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    """The tool's error ends the run; running it again from the checkpoint keeps the turn once."""
    broken = [ConnectionError("no network")]

    @tool
    def flaky(bean: str) -> str:
        """Return the price of a kilo, sometimes."""
        if broken:
            raise broken.pop()
        return f"{bean}: 12 euro"

    asked: Any = [{"name": "flaky", "args": {"bean": "Colombia"}, "id": "c1"}]
    model = ScriptedChatModel([AIMessage("", tool_calls=asked), ANSWER])
    chat, _ = loop(model, messages_of, call.is_async)
    builder: Builder = StateGraph(MessagesState)
    builder.add_node("chat", with_memory(chat, memory))
    builder.add_node("tools", ToolNode([flaky], handle_tool_errors=False))
    builder.add_edge(START, "chat")
    builder.add_conditional_edges("chat", tools_condition)
    builder.add_edge("tools", "chat")
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    with pytest.raises(ConnectionError):
        await call(graph, say(ASKED), config)
    assert said(memory, "ana") == KEPT[:1]
    await call(graph, None, config)
    assert said(memory, "ana") == KEPT
    assert [episode.approach for episode in episodes(memory, "ana")] == ["node: chat; tools: flaky"]


async def test_a_loop_streams_tokens_of_the_answer(memory: Memory, tool_loop: Any) -> None:
    graph = tool_loop(memory, in_parallel()).compile()
    chunks = await everything(graph.stream, say(ASKED), as_user("ana"), "messages", subgraphs=True)
    texts = [chunk.text for _, (chunk, _) in chunks if chunk.type == "AIMessageChunk"]
    assert "".join(texts) == ANSWER
    assert len([text for text in texts if text]) > 5


def test_memory_never_parts_a_tool_call_from_its_result_whoever_spoke_last(
    memory: Memory,
) -> None:
    """A thread may be continued after the result, with no new user message."""
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([ANSWER])
    history: list[Any] = [
        HumanMessage(ASKED),
        calling("price"),
        {"role": "tool", "content": "12 euro", "tool_call_id": "call_price"},
    ]
    wrapped_loop(memory, model).compile().invoke({"messages": history}, as_user("ana"))
    assert [message.type for message in model.calls[0]] == ["human", "ai", "tool"]
    assert KNOWN in block_in(model.calls[0][:1])
    assert said(memory, "ana") == KEPT
