"""Whose memory a run uses, where that is said, and what happens when it is not."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from langgraph_memory import (
    ConfigurationError,
    Memory,
    MissingUserError,
    Sessions,
    ThreadOwnerError,
    remember_node,
)
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Shape,
    Way,
    as_user,
    block_in,
    nodes,
    noting,
    said,
    say,
    tasks,
    wrapped,
)

NOTED = "assistant: Noted, thank you."
KEPT = [f"user: {ORDER}", NOTED]


@dataclass
class Data:
    user_id: str | None = None
    project_id: str | None = None
    agent_id: str | None = None


class Model(BaseModel):
    user_id: str | None = None


class AuthenticatedUser:
    """As a LangGraph server gives it."""

    identity = "ana"
    is_authenticated = True
    display_name = "Ana"
    permissions: tuple[str, ...] = ()


class Customer(MessagesState):
    customer: str
    memory: dict[str, Any]


def by_customer(state: Any, config: Any) -> str | None:
    return state["customer"] or None


def by_metadata(state: Any, config: Any) -> str | None:
    found: str | None = config["metadata"].get("customer")
    return found


SOURCES: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    # for the nodes, for the config, for the run
    "a string": ({"user": "ana"}, {}, {}),
    "a function of the config": (
        {"user": by_metadata},
        {"metadata": {"customer": "ana"}},
        {},
    ),
    "a dataclass as context": ({"context_schema": Data}, {}, {"context": Data("ana")}),
    "a dict as context": ({}, {}, {"context": {"user_id": "ana"}}),
    "a dict for a dataclass": ({"context_schema": Data}, {}, {"context": {"user_id": "ana"}}),
    "a model as context": ({"context_schema": Model}, {}, {"context": Model(user_id="ana")}),
    "configurable": ({}, as_user("ana"), {}),
    "the user of a server": (
        {},
        {"configurable": {"langgraph_auth_user": AuthenticatedUser()}},
        {},
    ),
    "the id of a server's user": (
        {},
        {"configurable": {"langgraph_auth_user_id": "ana"}},
        {},
    ),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
async def test_the_user_is_found_wherever_the_run_says_it(
    memory: Memory, shape: Shape, source: tuple[dict[str, Any], ...]
) -> None:
    options, config, run = source
    way = Way("ainvoke" if shape is wrapped else "invoke")
    graph = shape(memory, noting(), is_async=way.is_async, **options).compile()
    await way(graph, say(ORDER), config, **run)
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


async def test_the_user_can_come_from_the_state(memory: Memory, shape: Shape, way: Way) -> None:
    graph = shape(
        memory, noting(), is_async=way.is_async, schema=Customer, user=by_customer
    ).compile()
    await way(graph, {**say(ORDER), "customer": "ana"}, as_user("somebody else"))
    assert said(memory, "ana") == KEPT
    assert said(memory, "somebody else") == []


async def test_the_user_of_the_node_wins_over_those_of_the_run(
    memory: Memory, shape: Shape, call: Way
) -> None:
    config = {"configurable": {"user_id": "bo", "langgraph_auth_user": AuthenticatedUser()}}
    graph = shape(memory, noting(), context_schema=Data, user="cleo").compile()
    await call(graph, say(ORDER), config, context=Data("dan"))
    assert said(memory, "cleo") == KEPT
    assert {namespace[2] for namespace in memory.store.list_namespaces()} == {"cleo"}


@pytest.mark.parametrize("others", ["the context", "configurable", "the user of a server"])
async def test_a_run_that_names_two_users_is_refused_and_keeps_nothing(
    memory: Memory, shape: Shape, others: str
) -> None:
    """One's words would go into the other's memory."""
    model = noting()
    graph = shape(memory, model, context_schema=Data).compile()
    named: dict[str, Any] = {"user_id": "bo", "langgraph_auth_user": AuthenticatedUser()}
    context = Data("ana")
    match others:
        case "the context":
            named["user_id"], context = "ana", Data("bo")
        case "the user of a server":
            context = Data("bo")
    with pytest.raises(ConfigurationError, match=r"names more than one user: .*'bo'") as caught:
        graph.invoke(say(ORDER), {"configurable": named}, context=context)
    assert "'ana'" in str(caught.value)
    assert model.calls == []
    assert memory.store.list_namespaces() == []


async def test_sources_that_agree_name_one_user(memory: Memory, shape: Shape, call: Way) -> None:
    named = {"user_id": "ana", "langgraph_auth_user": AuthenticatedUser()}
    graph = shape(memory, noting(), context_schema=Data).compile()
    await call(graph, say(ORDER), {"configurable": named}, context=Data("ana"))
    await call(graph, say(ORDER), {"configurable": named}, context=Data())
    assert said(memory, "ana") == KEPT * 2


@pytest.mark.parametrize(
    "user", ["ana@example.com", "a/b", "100 %", "a.b.c", "小明", "🙂", "u 1", "memory", "*", 7]
)
def test_any_id_is_a_user(memory: Memory, sessions: Sessions, user: Any) -> None:
    model = noting()
    graph = nodes(memory, model).compile(checkpointer=sessions.checkpointer)
    graph.invoke(say(ORDER), sessions.config(user=user, thread_id="monday"))
    graph.invoke(say(AGAIN), sessions.config(user=user, thread_id="tuesday"))
    assert ORDER in block_in(model.calls[-1])
    assert said(memory, str(user)) == [*KEPT, f"user: {AGAIN}", NOTED]


@pytest.mark.parametrize("source", ["a string", "a function", "the context", "configurable"])
def test_a_run_reads_the_memory_of_its_project_and_its_agent(
    memory: Memory, shape: Shape, source: str
) -> None:
    memory.remember("Coffee is served at one o'clock", user="bo", project="apollo")
    memory.remember("Coffee is served at two o'clock", user="bo", project="gemini")
    memory.remember("Coffee is served with milk", user="bo", agent="barista")
    memory.remember("Coffee is served with sugar", user="bo", agent="waiter")
    options: dict[str, Any] = {"context_schema": Data}
    config = as_user("ana")
    run: dict[str, Any] = {"context": Data()}
    match source:
        case "a string":
            options |= {"project": "apollo", "agent": "barista"}
        case "a function":
            options |= {"project": lambda *_: "apollo", "agent": lambda *_: "barista"}
        case "the context":
            run["context"] = Data(project_id="apollo", agent_id="barista")
        case _:
            config["configurable"] |= {"project_id": "apollo", "agent_id": "barista"}
    model = noting()
    graph = shape(memory, model, **options).compile()
    graph.invoke(say("How and when is coffee served?"), config, **run)
    block = block_in(model.calls[0])
    assert "at one o'clock" in block
    assert "with milk" in block
    assert "at two o'clock" not in block
    assert "with sugar" not in block
    assert len(said(memory, "ana")) == 2


async def test_a_run_that_names_no_project_reads_none(
    memory: Memory, shape: Shape, call: Way
) -> None:
    memory.remember("Coffee is served at noon", user="ana", project="apollo")
    model = noting()
    graph = shape(memory, model).compile()
    await call(graph, say("When is coffee served?"), as_user("ana", "t"))
    assert "noon" not in block_in(model.calls[0])


# -- no user -------------------------------------------------------------------------------------

NOBODY: dict[str, tuple[dict[str, Any], Any]] = {
    "nothing": ({}, {}),
    "an empty id": ({}, {"configurable": {"user_id": ""}}),
    "a thread alone": ({}, {"configurable": {"thread_id": "t"}}),
    "an empty context": ({"context_schema": Data}, {}),
    "a function that finds none": ({"user": lambda state, config: None}, as_user("ana")),
    "an empty string": ({"user": ""}, as_user("ana")),
}
ALL_WAYS = [Way(n) for n in ("invoke", "ainvoke", "stream", "astream", "astream_events")]


@pytest.mark.parametrize("nobody", NOBODY.values(), ids=NOBODY)
async def test_a_run_without_a_user_is_refused_and_keeps_nothing(
    memory: Memory, shape: Shape, nobody: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    options, config = nobody
    model = noting()
    for way in ALL_WAYS:
        graph = shape(memory, model, is_async=way.is_async, **options).compile()
        with pytest.raises(MissingUserError, match="user"):
            await way(graph, say(ORDER), config)
    assert model.calls == []
    assert memory.store.list_namespaces() == []


async def test_the_error_for_a_missing_user_shows_the_line_to_add(
    memory: Memory, shape: Shape
) -> None:
    graph = shape(memory, noting()).compile()
    attempts: list[Callable[[], Awaitable[Any]]] = [
        *(functools.partial(way, graph, say(ORDER)) for way in ALL_WAYS),
        functools.partial(asyncio.to_thread, graph.batch, [say(ORDER)]),
        functools.partial(graph.abatch, [say(ORDER)]),
    ]
    for attempt in attempts:
        with pytest.raises(MissingUserError) as caught:
            await attempt()
        message = str(caught.value)
        assert 'graph.invoke(..., {"configurable": {"thread_id": "...", "user_id": ' in message
        assert 'context={"user_id": "c-2291"}' in message
        assert "user=lambda state, config:" in message


async def test_sessions_refuse_a_run_without_a_user_too(
    memory: Memory, sessions: Sessions, shape: Shape
) -> None:
    for way in ALL_WAYS:
        graph = shape(memory, noting(), is_async=way.is_async).compile(
            checkpointer=sessions.checkpointer
        )
        with pytest.raises(MissingUserError, match=r"sessions\.config\(user=.*, thread_id="):
            await way(graph, say(ORDER), {"configurable": {"thread_id": "t"}})
    assert memory.store.list_namespaces() == []


async def test_a_remember_node_alone_needs_a_user_as_well(memory: Memory, call: Way) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge(START, "remember")
    with pytest.raises(MissingUserError):
        await call(builder.compile(), say(ORDER))
    assert memory.store.list_namespaces() == []


# -- another user's thread -----------------------------------------------------------------------


async def test_another_users_thread_is_refused_and_nothing_of_it_is_kept(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    with pytest.raises(ThreadOwnerError, match="another user"):
        await way(graph, say(AGAIN), sessions.config(user="bo", thread_id="t"))
    assert len(model.calls) == 1
    assert said(memory, "ana") == KEPT
    assert memory.count(user="bo") == {"note": 0, "message": 0, "episode": 0, "document": 0}
    assert sessions.list("bo") == []


async def test_one_graph_serves_one_thread_id_of_each_of_two_users(
    memory: Memory, shape: Shape, call: Way
) -> None:
    """Without a guard two users may use one thread id; their memories stay apart."""
    model = noting()
    graph = shape(memory, model).compile()
    for user in ("ana", "bo"):
        await call(graph, say(f"My name is {user}, nice to meet you"), as_user(user, "1"))
    for user in ("ana", "bo"):
        await call(graph, say("What is my name?"), as_user(user, "2"))
        block = block_in(model.calls[-1])
        assert f"My name is {user}" in block
        assert block.count("My name is") == block.count(f"My name is {user}")


def test_memory_is_the_same_whoever_of_two_graphs_wrote_it(memory: Memory) -> None:
    """One memory under both ways of building: what one keeps the other knows."""
    model = noting()
    nodes(memory, model).compile().invoke(say(ORDER), as_user("ana", "monday"))
    wrapped(memory, model).compile().invoke(say(AGAIN), as_user("ana", "tuesday"))
    assert ORDER in block_in(model.calls[-1])
