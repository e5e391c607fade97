"""Graphs that talk, ask and stop: what sessions are tried on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from langgraph_memory.sessions.sessions import Sessions

Graph = CompiledStateGraph[Any, Any, Any, Any]
Do = Callable[..., Awaitable[Any]]


async def collect(found: Any) -> Any:
    """Await, iterate or just return whatever a method gave."""
    if isinstance(found, Awaitable):
        return await found
    if isinstance(found, AsyncIterator):
        return [item async for item in found]
    return list(found) if isinstance(found, Iterator) else found


def reply(state: MessagesState) -> dict[str, Any]:
    said = [message.text for message in state["messages"] if isinstance(message, HumanMessage)]
    return {"messages": [AIMessage("You said: " + ", ".join(said))]}


def chat(sessions: Sessions, *, context_schema: Any = None) -> Graph:
    builder = StateGraph(MessagesState, context_schema=context_schema)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    return builder.compile(checkpointer=sessions.checkpointer)


def say(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def answer(state: dict[str, Any]) -> str:
    return str(state["messages"][-1].text)


def last_answer(graph: Graph, sessions: Sessions, user: str, thread: str) -> str:
    state = graph.get_state(sessions.config(user=user, thread_id=thread))
    return answer(state.values)


def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Approved: {interrupt('Really?')}")]}


def with_approval(sessions: Sessions, *, nested: bool, checkpointer: Any = None) -> Graph:
    inner = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")
    if not nested:
        return inner.compile(checkpointer=sessions.checkpointer)
    outer = StateGraph(MessagesState)
    outer.add_node("approval", inner.compile(checkpointer=checkpointer))
    outer.add_edge(START, "approval")
    return outer.compile(checkpointer=sessions.checkpointer)


def extend(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    for write in writes:
        state = add_messages(state, write)  # type: ignore[assignment]  # a list goes in, and comes out
    return state


class DeltaState(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(extend)]


def with_deltas(sessions: Sessions) -> Graph:
    builder = StateGraph(DeltaState).add_node("reply", lambda state: reply(state))
    return builder.add_edge(START, "reply").compile(checkpointer=sessions.checkpointer)
