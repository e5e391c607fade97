"""States of people's own: without messages, of other types, or without the channel for memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from pydantic import BaseModel

from langgraph_memory import (
    ConfigurationError,
    Memory,
    MemoryState,
    Sessions,
    messages_with_memory,
    recall_node,
    remember_node,
)
from tests.graph.graphs import (
    ORDER,
    Builder,
    Way,
    as_user,
    block_in,
    messages_of,
    nodes,
    noting,
    said,
    say,
    tasks,
)

KNOWN = "Drinks Colombia from a moka pot"


# -- no channel ----------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [MessagesState, MemoryState])
async def test_a_state_that_cannot_carry_memory_is_an_error_that_names_the_fix(
    memory: Memory, call: Way, schema: Any
) -> None:
    """LangGraph drops the block without a word, or shows it to no node typed on another state."""
    model = noting()

    def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(messages_with_memory(state))]}

    builder: Builder = StateGraph(schema)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    with pytest.raises(ConfigurationError, match=r"StateGraph\(MemoryState\)") as caught:
        await call(builder.compile(), say(ORDER), as_user("ana", "t"))
    assert "memory: Annotated[dict" in str(caught.value)
    assert "the one that this node is typed on" in str(caught.value)
    assert model.calls == []


def test_a_chat_node_without_a_recall_node_before_it_is_an_error(memory: Memory) -> None:
    builder: Builder = StateGraph(MemoryState)
    builder.add_node("chat", lambda state: {"messages": messages_with_memory(state)})
    builder.add_edge(START, "chat")
    with pytest.raises(ConfigurationError, match="let recall_node run before this node"):
        builder.compile().invoke(say(ORDER), as_user("ana", "t"))


def test_messages_with_memory_refuses_a_place_that_there_is_not() -> None:
    with pytest.raises(ConfigurationError, match="'user' or 'system', got 'tool'"):
        messages_with_memory({**say(ORDER), "memory": {"block": "x"}}, inject="tool")  # type: ignore[arg-type]


# -- other types ---------------------------------------------------------------------------------


class Typed(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    memory: dict[str, Any]
    mood: str


@dataclass
class Data:
    messages: Annotated[list[AnyMessage], add_messages]
    memory: dict[str, Any] = field(default_factory=dict)
    mood: str = "good"


class Model(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    memory: dict[str, Any] = {}
    mood: str = "good"


@pytest.mark.parametrize("schema", [Typed, Data, Model])
async def test_the_nodes_work_on_a_state_of_any_type(
    memory: Memory, sessions: Sessions, call: Way, schema: Any
) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    graph = nodes(memory, model, is_async=call.is_async, schema=schema).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    for text in (ORDER, "What do I drink it from?"):
        state = await call(graph, say(text), config)
    assert [KNOWN in block_in(prompt) for prompt in model.calls] == [True, True]
    assert "<memory>" not in str(messages_of(state))
    assert len(said(memory, "ana")) == 4
    assert tasks(memory, "ana") == [ORDER]  # a question is no task


# -- the copy comes back -------------------------------------------------------------------------


@pytest.mark.parametrize("returned", ["the copy and the answer", "all messages", "a command"])
async def test_a_chat_node_that_returns_the_copy_gets_the_original_put_back(
    memory: Memory, sessions: Sessions, call: Way, returned: str
) -> None:
    memory.remember(KNOWN, user="ana")

    def chat(state: MemoryState) -> Any:
        messages = messages_with_memory(state)
        assert KNOWN in block_in(messages)
        reply = AIMessage("Noted.")
        if returned == "a command":
            return Command(update={"messages": [messages[-1], reply]})
        return {"messages": [*(messages if returned == "all messages" else messages[-1:]), reply]}

    builder: Builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_node("remember", remember_node(memory))
    for start, end in [(START, "recall"), ("recall", "chat"), ("chat", "remember")]:
        builder.add_edge(start, end)
    builder.add_edge("remember", END)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    given = say(ORDER, id="m1", name="Ana", additional_kwargs={"mine": 1})
    await call(graph, given, config)
    stored = messages_of(graph.get_state(config).values)
    assert stored[0] == given["messages"][0]
    assert [message.text for message in stored] == [ORDER, "Noted."]
    assert said(memory, "ana") == [f"user: {ORDER}", "assistant: Noted."]
    assert tasks(memory, "ana") == [ORDER]


@pytest.mark.parametrize("given", [["You sell coffee."], []], ids=["a system prompt", "none"])
async def test_a_system_prompt_with_the_block_that_comes_back_is_put_back_too(
    memory: Memory, sessions: Sessions, call: Way, given: list[str]
) -> None:
    memory.remember(KNOWN, user="ana")

    def chat(state: MemoryState) -> Any:
        messages = messages_with_memory(state, inject="system")
        assert KNOWN in block_in(messages[:1])
        return {"messages": [*messages, AIMessage("Noted.")]}

    builder: Builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_node("remember", remember_node(memory))
    for start, end in [(START, "recall"), ("recall", "chat"), ("chat", "remember")]:
        builder.add_edge(start, end)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(
        graph, {"messages": [*(("system", text) for text in given), ("user", ORDER)]}, config
    )
    stored = messages_of(graph.get_state(config).values)
    assert [message.text for message in stored] == [*given, ORDER, "Noted."]


# -- no messages ---------------------------------------------------------------------------------


def latest(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return new


class Question(TypedDict, total=False):
    question: str
    reply: str
    memory: Annotated[dict[str, Any], latest]


@dataclass
class Ticket:
    question: str
    reply: str = ""
    memory: Annotated[dict[str, Any], latest] = field(default_factory=dict)


def read(name: str) -> Any:
    def reader(state: Any) -> str:
        return str(state[name] if isinstance(state, dict) else getattr(state, name))

    return reader


def answering(
    memory: Memory, prompts: list[str], schema: Any = Question, *, remembers: int = 1
) -> Builder:
    """A graph without messages: a question, and the reply to it."""

    def chat(state: Any) -> dict[str, Any]:
        recalled = state["memory"] if isinstance(state, dict) else state.memory
        prompts.append(recalled["block"])
        return {"reply": f"Reply to: {read('question')(state)}"}

    builder: Builder = StateGraph(schema)
    builder.add_node("recall", recall_node(memory, query=read("question")))
    builder.add_node("chat", chat)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    for number in range(remembers):
        builder.add_node(f"remember_{number}", remember_node(memory, reply=read("reply")))
        builder.add_edge("chat", f"remember_{number}")
    return builder


@pytest.mark.parametrize("schema", [Question, Ticket])
async def test_a_state_without_messages_says_what_to_recall_and_what_was_answered(
    memory: Memory, sessions: Sessions, way: Way, schema: Any
) -> None:
    prompts: list[str] = []
    graph = answering(memory, prompts, schema).compile(checkpointer=sessions.checkpointer)
    for thread, text in (("monday", ORDER), ("tuesday", "Which moka pot was that order for?")):
        await way(graph, {"question": text}, sessions.config(user="ana", thread_id=thread))
    assert prompts[0] == ""
    assert ORDER in prompts[1]
    assert said(memory, "ana") == [
        f"user: {ORDER}",
        f"assistant: Reply to: {ORDER}",
        "user: Which moka pot was that order for?",
        "assistant: Reply to: Which moka pot was that order for?",
    ]
    assert tasks(memory, "ana") == [ORDER]


async def test_the_same_question_asked_twice_was_said_twice(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    graph = answering(memory, []).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    for _ in range(2):
        await call(graph, {"question": ORDER}, config)
    assert said(memory, "ana") == [f"user: {ORDER}", f"assistant: Reply to: {ORDER}"] * 2


async def test_a_fan_out_of_a_state_without_messages_keeps_the_turn_once(
    memory: Memory, call: Way
) -> None:
    graph = answering(memory, [], remembers=2).compile()
    await call(graph, {"question": ORDER}, as_user("ana", "t"))
    assert said(memory, "ana") == [f"user: {ORDER}", f"assistant: Reply to: {ORDER}"]
    assert tasks(memory, "ana") == [ORDER]


@pytest.mark.parametrize("before", ["chat", "remember_0"])
async def test_a_replay_of_a_state_without_messages_keeps_the_turn_once(
    memory: Memory, sessions: Sessions, call: Way, before: str
) -> None:
    graph = answering(memory, []).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, {"question": ORDER}, config)
    snapshot = next(s for s in graph.get_state_history(config) if s.next == (before,))
    await call(graph, None, snapshot.config)
    assert said(memory, "ana") == [f"user: {ORDER}", f"assistant: Reply to: {ORDER}"]
    assert tasks(memory, "ana") == [ORDER]


async def test_a_reply_without_a_recalled_question_is_an_error_that_names_the_fix(
    memory: Memory, call: Way
) -> None:
    builder: Builder = StateGraph(Question)
    builder.add_node("remember", remember_node(memory, reply=read("reply")))
    builder.add_edge(START, "remember")
    with pytest.raises(ConfigurationError, match="takes the question from recall_node"):
        await call(builder.compile(), {"question": ORDER, "reply": "Noted."}, as_user("ana", "t"))


@pytest.mark.parametrize("node", [recall_node, remember_node])
async def test_a_state_without_messages_that_says_nothing_is_an_error_that_names_the_fix(
    memory: Memory, call: Way, node: Any
) -> None:
    builder: Builder = StateGraph(Question)
    builder.add_node("node", node(memory))
    builder.add_edge(START, "node")
    with pytest.raises(ConfigurationError, match=r"pass query= to recall_node and reply= to"):
        await call(builder.compile(), {"question": ORDER}, as_user("ana", "t"))
