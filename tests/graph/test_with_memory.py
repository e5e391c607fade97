"""`with_memory` around whatever people use as a node, and whatever such a node returns."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command, Overwrite, StreamWriter
from pydantic import BaseModel

from langgraph_memory import ConfigurationError, Memory, Sessions, with_memory
from langgraph_memory.text.escaping import OPEN
from tests.graph.graphs import (
    ORDER,
    Builder,
    Way,
    answer,
    as_user,
    block_in,
    everything,
    files_with,
    messages_of,
    nodes,
    noting,
    said,
    say,
    tasks,
    wrapped_node,
)

KNOWN = "Drinks decaf after noon"
ASKED = "Order the coffee that I drink, please."
KEPT = [f"user: {ASKED}", "assistant: Noted."]

Returned = Callable[[Any, AIMessage], Any]


# -- what is wrapped -----------------------------------------------------------------------------


def reply(state: Any) -> dict[str, Any]:
    """Answer with the prompt that came, so that a test sees it in the state."""
    return {"messages": [AIMessage(f"Prompt: {messages_of(state)[-1].text}")]}


def function(state: MessagesState) -> dict[str, Any]:
    return reply(state)


async def async_function(state: MessagesState) -> dict[str, Any]:
    return reply(state)


class Callee:
    def __call__(self, state: MessagesState) -> dict[str, Any]:
        return reply(state)


class AsyncCallee:
    async def __call__(self, state: MessagesState) -> dict[str, Any]:
        return reply(state)


class Agent:
    def method(self, state: MessagesState) -> dict[str, Any]:
        return reply(state)


def configured(state: MessagesState, *, greeting: str) -> dict[str, Any]:
    assert greeting == "Hello"
    return reply(state)


def subgraph() -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("inner", function)
    builder.add_edge(START, "inner")
    return builder.compile()


NODES: dict[str, Any] = {
    "function": function,
    "lambda": lambda state: reply(state),
    "callable object": Callee(),
    "method": Agent().method,
    "partial": functools.partial(configured, greeting="Hello"),
    "runnable": RunnableLambda(function),
    "runnable of both kinds": RunnableLambda(function, async_function),
    "subgraph": subgraph(),
}
ASYNC_NODES: dict[str, Any] = {
    "async function": async_function,
    "async callable object": AsyncCallee(),
    "async runnable": RunnableLambda(async_function),
}


def assert_remembered(memory: Memory, state: Any) -> None:
    prompt = answer(state).removeprefix("Prompt: ")
    assert KNOWN in block_in([HumanMessage(prompt)])
    assert prompt.endswith(f"\n\n{ASKED}")
    assert messages_of(state)[0].content == ASKED
    assert said(memory, "ana")[0] == f"user: {ASKED}"
    assert len(said(memory, "ana")) == 2
    assert tasks(memory, "ana") == [ASKED]


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
async def test_any_kind_of_node_gets_memory(memory: Memory, call: Way, node: Any) -> None:
    memory.remember(KNOWN, user="ana")
    graph = wrapped_node(memory, node).compile()
    assert_remembered(memory, await call(graph, say(ASKED), as_user("ana", "t")))


@pytest.mark.parametrize("node", ASYNC_NODES.values(), ids=ASYNC_NODES)
@pytest.mark.parametrize("name", ["ainvoke", "astream", "astream_events"])
async def test_any_kind_of_async_node_gets_memory(memory: Memory, name: str, node: Any) -> None:
    memory.remember(KNOWN, user="ana")
    graph = wrapped_node(memory, node).compile()
    assert_remembered(memory, await Way(name)(graph, say(ASKED), as_user("ana", "t")))


def test_what_cannot_be_a_node_is_refused(memory: Memory) -> None:
    def pieces(state: MessagesState) -> Any:
        yield reply(state)

    for wrong in (pieces, "chat", None):
        with pytest.raises(ConfigurationError, match="with_memory wraps a function or a runnable"):
            with_memory(wrong, memory)  # type: ignore[type-var]  # that is the point


@pytest.mark.parametrize("node", [*NODES.values()], ids=NODES)
def test_a_node_that_is_added_without_a_name_has_the_name_that_it_had(
    memory: Memory, node: Any
) -> None:
    plain, wrapping = StateGraph(MessagesState), StateGraph(MessagesState)
    if isinstance(node, functools.partial):
        pytest.skip("LangGraph itself asks for a name")
    plain.add_node(node)
    wrapping.add_node(with_memory(node, memory))
    assert list(wrapping.nodes) == list(plain.nodes)


@dataclass
class Customer:
    user_id: str


async def test_a_wrapped_node_still_gets_what_langgraph_injects(memory: Memory, call: Way) -> None:
    got: dict[str, Any] = {}

    def chat(
        state: MessagesState,
        config: RunnableConfig,
        runtime: Runtime[Customer],
        *,
        store: BaseStore,
        writer: StreamWriter,
    ) -> dict[str, Any]:
        got.update(config=config, context=runtime.context, store=store, writer=writer)
        return reply(state)

    async def achat(
        state: MessagesState,
        config: RunnableConfig,
        runtime: Runtime[Customer],
        *,
        store: BaseStore,
        writer: StreamWriter,
    ) -> dict[str, Any]:
        return chat(state, config, runtime, store=store, writer=writer)

    graph = wrapped_node(memory, achat if call.is_async else chat, context_schema=Customer).compile(
        store=memory.store
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    await call(graph, say(ASKED), config, context=Customer("ana"))
    assert got["config"]["configurable"]["thread_id"] == "t"
    assert got["context"] == Customer("ana")
    assert got["store"] is memory.store
    assert callable(got["writer"])
    assert said(memory, "ana")[0] == f"user: {ASKED}"


def test_the_destinations_of_a_wrapped_node_are_those_of_its_annotation(memory: Memory) -> None:
    def chat(state: MessagesState) -> Command[Literal["after"]]:
        return Command(update=reply(state), goto="after")

    builder = StateGraph(MessagesState)
    builder.add_node("chat", with_memory(chat, memory))
    builder.add_node("after", lambda state: {"messages": [AIMessage("After.")]})
    builder.add_edge(START, "chat")
    graph = builder.compile()
    assert ("chat", "after") in {(edge.source, edge.target) for edge in graph.get_graph().edges}
    given: Any = say(ASKED)
    assert answer(graph.invoke(given, as_user("ana"))) == "After."


class Wide(MessagesState):
    mood: str


class Narrow(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def test_a_wrapped_node_sees_the_state_that_it_is_typed_on(memory: Memory) -> None:
    seen: list[set[str]] = []

    def chat(state: Narrow) -> dict[str, Any]:
        seen.append(set(state))
        return reply(state)

    given: Any = {**say(ASKED), "mood": "good"}
    wrapped_node(memory, chat, schema=Wide).compile().invoke(given, as_user("ana"))
    assert seen == [{"messages"}]


def test_the_messages_of_the_caller_are_left_as_they_are(memory: Memory) -> None:
    memory.remember(KNOWN, user="ana")
    message = HumanMessage(ASKED, id="m1")
    answered = AIMessage("Noted.", id="a1")
    graph = wrapped_node(memory, lambda state: {"messages": [answered]}).compile()
    graph.invoke({"messages": [message]}, as_user("ana"))
    assert message == HumanMessage(ASKED, id="m1")
    assert answered == AIMessage("Noted.", id="a1")


# -- what a node returns -------------------------------------------------------------------------

RETURNS: dict[str, Returned] = {
    "a list": lambda messages, reply: {"messages": [reply]},
    "a message": lambda messages, reply: {"messages": reply},
    "a pair": lambda messages, reply: {"messages": ("ai", reply.text)},
    "a dict": lambda messages, reply: {"messages": [{"role": "assistant", "content": reply.text}]},
    "all messages": lambda messages, reply: {"messages": [*messages, reply]},
    "the copy and the answer": lambda messages, reply: {"messages": [messages[-1], reply]},
    "an overwrite": lambda messages, reply: {"messages": Overwrite([*messages, reply])},
    "a command": lambda messages, reply: Command(update={"messages": [messages[-1], reply]}),
    "a command of pairs": lambda messages, reply: Command(
        update=[("messages", [messages[-1], reply])]
    ),
    "commands": lambda messages, reply: [
        Command(update={"messages": [messages[-1]]}),
        Command(update={"messages": [reply]}),
    ],
    "a tuple of commands": lambda messages, reply: (
        Command(update={"messages": [messages[-1], reply]}),
    ),
    "a command and a dict": lambda messages, reply: [
        Command(update={"messages": [messages[-1]]}),
        {"messages": [reply]},
    ],
}


@pytest.mark.parametrize(("inject", "name"), [("user", "ainvoke"), ("system", "invoke")])
@pytest.mark.parametrize("returned", RETURNS.values(), ids=RETURNS)
async def test_whatever_a_node_returns_is_kept_and_the_block_is_not(
    memory: Memory,
    sessions: Sessions,
    tmp_path: Path,
    returned: Returned,
    inject: str,
    name: str,
) -> None:
    memory.remember(KNOWN, user="ana")
    prompts: list[str] = []

    def chat(state: MessagesState) -> Any:
        prompts.append("\n".join(message.text for message in state["messages"]))
        return returned(state["messages"], AIMessage("Noted."))

    async def achat(state: MessagesState) -> Any:
        return chat(state)

    way = Way(name)
    node = achat if way.is_async else chat
    graph = wrapped_node(memory, node, inject=inject).compile(checkpointer=sessions.checkpointer)
    system = SystemMessage("You sell coffee.", id="s1")
    given = {"messages": [system, HumanMessage(ASKED, id="m1")]}
    state = await way(graph, given, sessions.config(user="ana", thread_id="t"))
    assert KNOWN in prompts[0]
    assert [(message.type, message.text) for message in messages_of(state)] == [
        ("system", "You sell coffee."),
        ("human", ASKED),
        ("ai", "Noted."),
    ]
    assert messages_of(state)[1] == HumanMessage(ASKED, id="m1")
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ASKED]
    memory.close()
    sessions.close()
    assert files_with(tmp_path, OPEN) == []


def test_all_messages_returned_with_a_new_system_prompt_add_none_to_the_thread(
    memory: Memory,
) -> None:
    """Where the thread has no system prompt, `inject="system"` makes one for the model alone."""
    memory.remember(KNOWN, user="ana")

    def chat(state: MessagesState) -> Any:
        return {"messages": [*state["messages"], AIMessage("Noted.")]}

    graph = wrapped_node(memory, chat, inject="system").compile()
    state = graph.invoke(say(ASKED), as_user("ana"))
    assert [message.text for message in messages_of(state)] == [ASKED, "Noted."]


@dataclass
class DataState:
    messages: Annotated[list[AnyMessage], add_messages]
    mood: str = "good"


class ModelState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    mood: str = "good"


@dataclass
class AppendedState:
    """The messages have no ids here, since LangGraph's reducer does not see them."""

    messages: Annotated[list[AnyMessage], operator.add] = field(default_factory=list)


def updated(state: Any, messages: list[Any]) -> Any:
    if isinstance(state, BaseModel):
        return state.model_copy(update={"messages": messages})
    return replace(state, messages=messages)


@pytest.mark.parametrize("schema", [DataState, ModelState])
@pytest.mark.parametrize("returned", ["a dict", "the state", "the state with all messages"])
async def test_a_state_of_any_type_can_be_read_and_returned(
    memory: Memory, call: Way, schema: Any, returned: str
) -> None:
    memory.remember(KNOWN, user="ana")
    prompts: list[str] = []

    def chat(state: Any) -> Any:
        assert isinstance(state, schema)
        assert state.mood == "good"
        prompts.append(state.messages[-1].text)
        reply = AIMessage("Noted.")
        if returned == "a dict":
            return {"messages": [reply]}
        before = state.messages if returned == "the state with all messages" else []
        return updated(state, [*before, reply])

    graph = wrapped_node(memory, chat, schema=schema).compile()
    state = await call(graph, say(ASKED), as_user("ana", "t"))
    assert KNOWN in prompts[0]
    assert [message.text for message in messages_of(state)] == [ASKED, "Noted."]
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ASKED]


@pytest.mark.parametrize("thread", [None, "t"], ids=["no thread", "a thread"])
async def test_messages_that_have_no_ids_are_kept_once(
    memory: Memory, sessions: Sessions, call: Way, thread: str | None
) -> None:
    graph = wrapped_node(
        memory, lambda state: {"messages": [AIMessage("Noted.")]}, schema=AppendedState
    ).compile(checkpointer=sessions.checkpointer if thread else None)
    config = sessions.config(user="ana", thread_id=thread) if thread else as_user("ana")
    texts = [ASKED, "And order the tea that I drink."]
    for text in texts:
        await call(graph, say(text), config)
    assert said(memory, "ana") == [
        line for t in texts for line in (f"user: {t}", "assistant: Noted.")
    ]
    assert tasks(memory, "ana") == texts


def test_a_state_without_messages_is_an_error_that_names_the_fix(memory: Memory) -> None:
    class Question(TypedDict):
        question: str

    graph = wrapped_node(memory, lambda state: {}, schema=Question).compile()
    with pytest.raises(ConfigurationError, match=r"no `messages`: pass query= to recall_node"):
        graph.invoke({"question": ASKED}, as_user("ana"))


# -- whole agents --------------------------------------------------------------------------------


async def test_an_agent_as_a_node_gets_memory_and_is_kept_once(
    memory: Memory, sessions: Sessions, way: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    agent = create_agent(model, system_prompt="You sell coffee.", name="seller")
    builder: Builder = StateGraph(MessagesState)
    builder.add_node(with_memory(agent, memory))
    builder.add_edge(START, "seller")
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await way(graph, say(ASKED), config)
    state = await way(graph, say("Which tea do I drink?"), config)
    assert [block_in([prompt[-1]]) != "" for prompt in model.calls] == [True, True]
    assert [message.text for message in model.calls[1]][:3] == [
        "You sell coffee.",
        ASKED,
        "Noted, thank you.",
    ]
    assert OPEN not in str(messages_of(state))
    assert len(said(memory, "ana")) == 4
    assert tasks(memory, "ana") == [ASKED]


async def test_a_graph_with_memory_is_a_subgraph_like_any_other(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    model = noting()
    builder = StateGraph(MessagesState)
    builder.add_node("agent", nodes(memory, model).compile())
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await call(graph, say(ORDER), sessions.config(user="ana", thread_id="monday"))
    await call(graph, say(ASKED), sessions.config(user="ana", thread_id="tuesday"))
    assert ORDER in block_in(model.calls[-1])
    assert tasks(memory, "ana") == [ORDER, ASKED]
    assert len(said(memory, "ana")) == 4


async def test_an_agent_as_a_node_still_streams_its_tokens(memory: Memory) -> None:
    graph = wrapped_node(memory, create_agent(noting())).compile()
    for stream in (graph.stream, graph.astream):
        chunks = await everything(stream, say(ASKED), as_user("ana"), "messages", subgraphs=True)
        texts = [chunk.text for _, (chunk, _) in chunks if chunk.type == "AIMessageChunk"]
        assert [text for text in texts if text] == ["Noted, ", "thank ", "you."]
