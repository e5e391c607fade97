"""A graph with memory, as users write it: checked by mypy, and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_type

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_memory import (
    ChromaStore,
    EpisodeRecorder,
    Memory,
    MemoryMiddleware,
    MemoryState,
    Session,
    Sessions,
    SummaryState,
    memory_tools,
    messages_with_memory,
    open_sessions,
    recall_node,
    remember_node,
    summary_node,
    with_memory,
)
from langgraph_memory.testing import HashingEmbeddings, RecallingChatModel

model = RecallingChatModel()


def chat(state: MemoryState) -> dict[str, list[BaseMessage]]:
    assert_type(state["messages"], list[AnyMessage])
    assert_type(state["memory"], dict[str, Any])
    messages = messages_with_memory(state)
    assert_type(messages, list[BaseMessage])
    return {"messages": [model.invoke(messages)]}


def plain_chat(state: MessagesState) -> dict[str, list[BaseMessage]]:
    return {"messages": [model.invoke(state["messages"])]}


def customer(state: MessagesState, config: RunnableConfig) -> str | None:
    customer: str | None = config.get("configurable", {}).get("customer")
    return customer


def by_mapping(state: Any, config: Mapping[str, Any]) -> str:
    return str(config["configurable"]["customer"])


def test_nodes_and_sessions(tmp_path: Any) -> None:
    with (
        Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory,
        open_sessions(tmp_path) as sessions,
    ):
        assert_type(memory, Memory)
        assert_type(sessions, Sessions)
        recall = recall_node(memory, project="shop", agent=lambda state, config: "barista")
        assert_type(recall, Runnable[Any, dict[str, Any]])
        builder = StateGraph(MemoryState)
        builder.add_node("recall", recall)
        builder.add_node("chat", chat)
        builder.add_node("remember", remember_node(memory, background=False))
        builder.add_edge(START, "recall")
        builder.add_edge("recall", "chat")
        builder.add_edge("chat", "remember")
        builder.add_edge("remember", END)
        saver: BaseCheckpointSaver[Any] = sessions.checkpointer
        graph = builder.compile(checkpointer=saver, store=memory.store)
        config: RunnableConfig = sessions.config(user="c-2291", thread_id="monday")
        asked = HumanMessage("A kilo of Colombia, please.")  # LangGraph's types take no pairs
        graph.invoke({"messages": [asked]}, {**config, "callbacks": [EpisodeRecorder(memory)]})
        assert_type(sessions.list("c-2291"), list[Session])
        assert_type(sessions.latest("c-2291"), Session | None)


def test_a_summary() -> None:
    builder = StateGraph(SummaryState)
    builder.add_node("shorten", summary_node(model))
    builder.add_edge(START, "shorten")
    state = builder.compile().invoke({"messages": [HumanMessage("Hello!")]})
    assert state["summary"] == ""


def test_one_node(tmp_path: Any) -> None:
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        builder = StateGraph(MessagesState)
        node: Callable[[MessagesState], dict[str, list[BaseMessage]]]
        node = with_memory(plain_chat, memory, user=customer)
        builder.add_node("chat", node)
        builder.add_edge(START, "chat")
        given: Any = {"messages": [("user", "A kilo of Colombia, please.")]}
        builder.compile().invoke(given, {"configurable": {"customer": "c-2291"}})
        assert memory.count(user="c-2291")["message"] == 2


def test_what_has_a_user_takes_a_function_of_a_run(tmp_path: Any) -> None:
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        recall_node(memory, user=customer, project=customer, agent=customer)
        recall_node(memory, user=by_mapping)
        remember_node(memory, user=customer)
        with_memory(plain_chat, memory, user=customer)
        summary_node(model, memory=memory, user=customer)
        memory_tools(memory, user=customer)
        MemoryMiddleware(memory, user=customer)
