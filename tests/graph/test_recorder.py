"""Every run of a graph is one episode of its turn, however it ends."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import RunControl
from langgraph.store.base import Op, Result
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

from langgraph_memory import (
    ConfigurationError,
    Episode,
    EpisodeRecorder,
    Memory,
    MissingUserError,
    Sessions,
    open_sessions,
    recall_node,
    remember_node,
)
from langgraph_memory.graph import active_runs
from langgraph_memory.testing import ManualClock, ScriptedChatModel
from tests.graph.graphs import (
    ORDER,
    Builder,
    Shape,
    Way,
    answer,
    episodes,
    messages_of,
    noting,
    opened,
    say,
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory() -> Memory:
    """A memory that costs nothing, where it is not what is tested."""
    return Memory(InMemoryStore())


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        yield memory


@pytest.fixture
def recorder(memory: Memory, clock: ManualClock) -> EpisodeRecorder:
    memory.clock = clock
    return EpisodeRecorder(memory)


@tool
def shipping_cost(town: str) -> str:
    """Say what shipping to a town costs."""
    return f"4 euros to {town}"


def of(
    recorder: EpisodeRecorder, user: str | None = "ana", thread: str | None = "t", **more: Any
) -> RunnableConfig:
    """Return a config that names user and thread as `Sessions.config` does."""
    ids = {"user_id": user} if user else {}
    config: RunnableConfig = {"callbacks": [recorder], "metadata": {**ids}, "configurable": ids}
    if thread:
        config["configurable"] = {**ids, "thread_id": thread}
    return {**config, **more}  # type: ignore[typeddict-item]  # keys of a config


def in_order(*nodes: Any, state: Any = MessagesState, **compile_with: Any) -> Any:
    """Return a graph of nodes that run one after the other."""
    builder: Builder = StateGraph(state)
    names = [f"node {i}" for i in range(len(nodes))]
    builder.add_sequence(list(zip(names, nodes, strict=True)))
    builder.add_edge(START, names[0])
    return builder.compile(**compile_with)


def answering(text: str = "It is on its way.") -> Any:
    return lambda state: {"messages": [AIMessage(text)]}


def failing(error: BaseException) -> Any:
    def work(state: Any) -> dict[str, Any]:
        raise error

    return work


def agent(model: ScriptedChatModel, **compile_with: Any) -> Any:
    """Return a graph that calls a tool and then answers."""
    builder: Builder = StateGraph(MessagesState)
    builder.add_node("chat", lambda state: {"messages": [model.invoke(messages_of(state))]})
    builder.add_node("tools", ToolNode([shipping_cost]))
    builder.add_edge(START, "chat")
    builder.add_conditional_edges("chat", tools_condition)
    builder.add_edge("tools", "chat")
    return builder.compile(**compile_with)


def calling_a_tool() -> ScriptedChatModel:
    call = {"name": "shipping_cost", "args": {"town": "Rosario"}, "id": "call-1"}
    usage = {"input_tokens": 20, "output_tokens": 5, "total_tokens": 25}
    return ScriptedChatModel(
        [
            AIMessage("", tool_calls=[call], usage_metadata=usage),
            AIMessage("4 euros.", usage_metadata=usage),
        ]
    )


def only(memory: Memory, user: str = "ana") -> Episode:
    (episode,) = episodes(memory, user)
    return episode


def outcomes(memory: Memory, user: str = "ana") -> list[tuple[str, str]]:
    """Return what was done, by its name, and how it ended."""
    return sorted((episode.task, episode.outcome) for episode in episodes(memory, user))


# -- a run that ends well ------------------------------------------------------------------------


async def test_a_run_is_an_episode_with_its_tools_tokens_and_time(
    on_disk: Memory, clock: ManualClock, way: Way
) -> None:
    graph = agent(calling_a_tool())
    on_disk.clock, began = clock, clock()
    await way(graph, say(ORDER, id="m-1"), of(EpisodeRecorder(on_disk)))
    episode = only(on_disk)
    assert episode.id == Episode.id_of("t", "m-1")
    assert (episode.task, episode.outcome, episode.error) == (ORDER, "completed", None)
    assert (episode.approach, episode.token_cost) == ("tools: shipping_cost", 50)
    assert (episode.duration_ms, episode.created_at, episode.thread_id) == (0, began, "t")


async def test_the_time_is_that_from_start_to_end(
    memory: Memory, recorder: EpisodeRecorder, clock: ManualClock, call: Way
) -> None:
    def work(state: Any) -> dict[str, Any]:
        clock.advance(seconds=3)
        return {}

    await call(in_order(work), say(ORDER), of(recorder))
    assert only(memory).duration_ms == 3_000


async def test_what_the_nodes_log_of_the_turn_is_the_same_episode(
    on_disk: Memory, shape: Shape, way: Way
) -> None:
    recorder = EpisodeRecorder(on_disk)
    builder = shape(on_disk, noting(), is_async=way.is_async)
    graph = builder.compile(checkpointer=InMemorySaver())
    for thread in ("t", "t", "u"):  # messages without ids, which the graph gives them
        await way(graph, {"messages": [("user", ORDER)]}, of(recorder, thread=thread))
    assert outcomes(on_disk) == [(ORDER, "completed")] * 3
    await way(builder.compile(), say(ORDER), of(recorder, thread=None))
    assert len(episodes(on_disk, "ana")) == 4


async def test_an_agent_of_langchain_is_recorded(
    memory: Memory, recorder: EpisodeRecorder, way: Way
) -> None:
    graph = create_agent(calling_a_tool(), [shipping_cost])
    await way(graph, say(ORDER), of(recorder))
    assert (only(memory).approach, only(memory).token_cost) == ("tools: shipping_cost", 50)


async def test_a_graph_bound_to_its_recorder_records(
    memory: Memory, recorder: EpisodeRecorder, sessions: Sessions, call: Way
) -> None:
    graph = in_order(answering(), checkpointer=sessions.checkpointer)
    bound = graph.with_config(callbacks=[recorder])
    await call(bound, say(ORDER), sessions.config(user="ana", thread_id="t"))
    await call(bound, say("And send one to my sister."), of(recorder))  # given twice, told once
    assert [task for task, _ in outcomes(memory)] == [ORDER, "And send one to my sister."]


async def test_a_recorder_given_twice_counts_once(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    graph = agent(calling_a_tool()).with_config(callbacks=[recorder])
    await call(graph, say(ORDER), of(recorder))
    assert only(memory).token_cost == 50


async def test_small_talk_makes_no_episode(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    await call(in_order(answering()), say("Thanks, bye!"), of(recorder))
    assert episodes(memory, "ana") == []


@pytest.mark.parametrize("order", ["Deploy to staging", "重启服务器"])
async def test_an_order_of_few_words_that_came_to_nothing_is_not_small_talk(
    memory: Memory, recorder: EpisodeRecorder, call: Way, order: str
) -> None:
    graph = in_order(failing(ConnectionError("no route")))
    for said in (order, "Hello!"):
        with pytest.raises(ConnectionError):
            await call(graph, say(said), of(recorder))
    assert (only(memory).task, only(memory).outcome) == (order, "failure")


async def test_a_rule_of_one_s_own_also_decides_about_runs_that_fail(call: Way) -> None:
    memory = Memory(InMemoryStore(), is_task=lambda asked, tools: False)
    with pytest.raises(ConnectionError):
        await call(in_order(failing(ConnectionError())), say(ORDER), of(EpisodeRecorder(memory)))
    assert episodes(memory, "ana") == []


async def test_what_the_memory_asks_a_model_for_itself_is_not_the_task_s_cost(
    shape: Shape, call: Way
) -> None:
    notes = ScriptedChatModel(
        [
            AIMessage(
                '{"notes": []}',
                usage_metadata={"input_tokens": 700, "output_tokens": 7, "total_tokens": 707},
            )
        ]
        * 9
    )
    memory = Memory(InMemoryStore(), model=notes)
    graph = shape(memory, noting(), is_async=call.is_async).compile()
    await call(graph, say(ORDER), of(EpisodeRecorder(memory)))
    assert notes.calls
    assert 0 < (only(memory).token_cost or 0) < 700


# -- a run that does not --------------------------------------------------------------------------


async def test_a_run_that_fails_is_a_failure_with_the_last_line_of_its_traceback(
    memory: Memory, recorder: EpisodeRecorder, way: Way
) -> None:
    error = ValueError("no such order; the password is hunter2, by the way")
    with pytest.raises(ValueError, match="no such order"):
        await way(in_order(failing(error)), say(ORDER, id="m-1"), of(recorder))
    episode = only(memory)
    assert (episode.id, episode.outcome) == (Episode.id_of("t", "m-1"), "failure")
    assert episode.error == "ValueError: no such order; the password is [redacted], by the way"


async def test_a_turn_that_was_answered_before_its_run_failed_is_a_failure(
    memory: Memory, recorder: EpisodeRecorder, shape: Shape, way: Way
) -> None:
    builder = shape(memory, noting(), is_async=way.is_async)
    builder.add_node("after", failing(OSError("the printer is on fire")))
    builder.add_edge("remember" if "remember" in builder.nodes else "chat", "after")
    with pytest.raises(OSError, match="printer"):
        await way(builder.compile(), say(ORDER), of(recorder))
    assert (only(memory).outcome, only(memory).error) == (
        "failure",
        "OSError: the printer is on fire",
    )


async def test_a_failed_run_that_is_taken_up_again_ends_as_the_second_run_does(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    errors = [ValueError("the shop is closed")]

    def work(state: Any) -> dict[str, Any]:
        if errors:
            raise errors.pop()
        return {"messages": [AIMessage("Sent.")]}

    graph = in_order(work, checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="closed"):
        await call(graph, say(ORDER), of(recorder))
    assert answer(await call(graph, None, of(recorder))) == "Sent."
    episode = only(memory)
    assert (episode.outcome, episode.error) == ("completed", None)
    assert "the shop is closed" in episode.notes


async def test_an_error_that_a_node_gets_over_is_no_failure(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    def broken(given: Any) -> Any:
        raise OSError("no connection")

    def work(state: Any) -> dict[str, Any]:
        try:
            RunnableLambda(broken).invoke("x")
        except OSError:
            return {"messages": [AIMessage("I looked it up elsewhere.")]}
        raise AssertionError

    await call(in_order(work), say(ORDER), of(recorder))
    assert (only(memory).outcome, only(memory).error) == ("completed", None)


async def test_a_run_that_goes_round_in_circles_is_a_failure(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    builder: Builder = StateGraph(MessagesState)
    builder.add_node("again", lambda state: Command(goto="again"))
    builder.add_edge(START, "again")
    with pytest.raises(GraphRecursionError):
        await call(builder.compile(), say(ORDER), of(recorder, recursion_limit=3))
    assert only(memory).outcome == "failure"
    assert "Recursion limit of 3" in (only(memory).error or "")


async def test_an_input_that_no_node_gets_to_see_is_a_failure(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    def route(state: Any) -> str:
        raise LookupError("nowhere to go")

    builder: Builder = StateGraph(MessagesState)
    builder.add_node("work", answering())
    builder.add_conditional_edges(START, route, ["work"])
    with pytest.raises(LookupError):
        await call(builder.compile(), say(ORDER), of(recorder))
    assert outcomes(memory) == [(ORDER, "failure")]


async def test_a_task_that_is_cancelled_is_cancelled(
    memory: Memory, recorder: EpisodeRecorder
) -> None:
    started = asyncio.Event()

    async def work(state: Any) -> dict[str, Any]:
        started.set()
        await asyncio.Event().wait()
        return {}

    graph = in_order(work)
    running = asyncio.create_task(graph.ainvoke(say(ORDER), of(recorder)))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await graph.ainvoke(say("Tell me where it is now."), of(recorder))
    assert outcomes(memory) == [(ORDER, "cancelled"), ("Tell me where it is now.", "cancelled")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_process_that_is_stopped_cancels_its_run(
    memory: Memory, recorder: EpisodeRecorder, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        in_order(failing(error())).invoke(say(ORDER), of(recorder))
    assert (only(memory).outcome, only(memory).error) == ("cancelled", None)


async def test_a_stream_that_is_closed_early_is_cancelled(
    memory: Memory, recorder: EpisodeRecorder
) -> None:
    graph = in_order(answering(), failing(AssertionError()))
    stream: Any = graph.stream(say(ORDER), of(recorder))
    next(stream)
    stream.close()
    astream: Any = graph.astream(say("Tell me where it is now."), of(recorder))
    await anext(astream)
    await astream.aclose()
    assert [outcome for _, outcome in outcomes(memory)] == ["cancelled"] * 2
    assert len(recorder._open) == 0


# -- a run that stops and goes on -----------------------------------------------------------------


def asking(clock: ManualClock, **compile_with: Any) -> Any:
    """Return a graph that looks something up, asks a person, and answers."""

    def look_up(state: Any) -> dict[str, Any]:
        clock.advance(seconds=2)
        return {"messages": [AIMessage("4 euros.", id="a-1")]}

    def ask(state: Any) -> dict[str, Any]:
        said = interrupt("Is that right?")
        clock.advance(seconds=1)
        return {"messages": [AIMessage(f"You said {said}.")]}

    return in_order(look_up, ask, **compile_with)


async def test_a_turn_that_stops_to_ask_is_one_episode_when_it_goes_on(
    memory: Memory, recorder: EpisodeRecorder, clock: ManualClock, sessions: Sessions, way: Way
) -> None:
    graph = asking(clock, checkpointer=sessions.checkpointer)
    config = {**sessions.config(user="ana", thread_id="t"), "callbacks": [recorder]}
    await way(graph, say(ORDER), config)
    stopped = only(memory)
    assert (stopped.outcome, stopped.duration_ms) == ("interrupted", 2_000)
    clock.advance(days=2)
    await way(graph, Command(resume="yes"), config)
    episode = only(memory)
    assert (episode.id, episode.created_at) == (stopped.id, stopped.created_at)
    # What is waited for a person does not count.
    assert (episode.task, episode.outcome, episode.duration_ms) == (ORDER, "completed", 3_000)


async def test_branches_that_stop_and_go_on_at_once_are_one_turn(
    memory: Memory, recorder: EpisodeRecorder, clock: ManualClock, call: Way
) -> None:
    def ask(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("Is that right?"))]}

    def work(state: Any) -> dict[str, Any]:
        clock.advance(seconds=2)
        return {}

    builder: Builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    for name in "abcd":
        builder.add_node(name, ask)
        builder.add_edge("work", name)
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=InMemorySaver())
    stopped = await call(graph, say(ORDER), of(recorder))
    answers = {each.id: "yes" for each in stopped["__interrupt__"]}
    await call(graph, Command(resume=answers), of(recorder))
    assert (only(memory).outcome, only(memory).duration_ms) == ("completed", 2_000)


async def test_a_run_that_is_drained_when_a_server_stops_is_interrupted(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    control = RunControl()

    def drained(state: Any) -> dict[str, Any]:
        control.request_drain()
        return {}

    graph = in_order(drained, answering(), checkpointer=InMemorySaver())
    with pytest.raises(GraphDrained):
        await call(graph, say(ORDER), of(recorder), control=control)
    assert outcomes(memory) == [(ORDER, "interrupted")]
    await call(graph, None, of(recorder))
    assert outcomes(memory) == [(ORDER, "completed")]


async def test_going_on_with_a_thread_that_has_ended_changes_nothing(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    graph = in_order(answering(), checkpointer=InMemorySaver())
    await call(graph, say(ORDER), of(recorder))
    (kept,) = episodes(memory, "ana")
    await call(graph, None, of(recorder))
    assert episodes(memory, "ana") == [kept]
    await call(graph, say(ORDER), of(EpisodeRecorder(Memory(InMemoryStore())), thread="u"))
    await call(graph, None, of(recorder, thread="u"))  # a thread that it has not recorded
    assert episodes(memory, "ana") == [kept]


@pytest.mark.parametrize("when", ["interrupt_before", "interrupt_after"])
async def test_a_turn_that_stops_between_nodes_is_one_episode(
    memory: Memory, recorder: EpisodeRecorder, call: Way, when: str
) -> None:
    model = calling_a_tool()
    where = "tools" if when == "interrupt_before" else "chat"
    graph = agent(model, checkpointer=InMemorySaver(), **{when: [where]})
    await call(graph, say(ORDER), of(recorder))
    stopped = only(memory)
    assert (stopped.outcome, stopped.token_cost, stopped.approach) == ("interrupted", 25, "")
    await call(graph, None, of(recorder))
    episode = only(memory)
    assert (episode.token_cost, episode.approach) == (50, "tools: shipping_cost")


def test_a_turn_whose_question_was_edited_while_it_stopped_is_told_anew(
    memory: Memory, recorder: EpisodeRecorder
) -> None:
    graph = agent(calling_a_tool(), checkpointer=InMemorySaver(), interrupt_before=["tools"])
    config = of(recorder)
    graph.invoke(say(ORDER, id="m-1"), config)
    graph.update_state(config, say("What does it cost to ship to Graz?", id="m-1"))
    graph.invoke(None, config)
    assert outcomes(memory) == [("What does it cost to ship to Graz?", "completed")]


async def test_a_turn_goes_on_after_a_restart(
    tmp_path: Path, clock: ManualClock, call: Way
) -> None:
    runs: list[Any] = [say(ORDER), Command(resume="yes")]
    for given in runs:
        with opened(tmp_path) as memory, open_sessions(tmp_path) as sessions:
            memory.clock = clock
            graph = asking(clock, checkpointer=sessions.checkpointer)
            recorder = EpisodeRecorder(memory)
            config = {**sessions.config(user="ana", thread_id="t"), "callbacks": [recorder]}
            await call(graph, given, config)
            clock.advance(hours=1)
            episode = only(memory)
    assert (episode.outcome, episode.duration_ms) == ("completed", 3_000)


async def test_a_turn_that_is_stopped_and_left_stays_interrupted(
    memory: Memory, recorder: EpisodeRecorder, clock: ManualClock, call: Way
) -> None:
    graph = asking(clock, checkpointer=InMemorySaver())
    await call(graph, say(ORDER), of(recorder))
    await call(graph, say("Something else: what is the time there?"), of(recorder))
    assert [outcome for _, outcome in outcomes(memory)] == ["interrupted", "interrupted"]


@pytest.mark.parametrize("when", ["interrupt_before", "interrupt_after"])
async def test_with_memory_around_the_node_that_asks_there_is_one_episode(
    memory: Memory, recorder: EpisodeRecorder, sessions: Sessions, shape: Shape, when: str
) -> None:
    call = Way("invoke")
    stops: dict[str, Any] = {when: ["chat"]}
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer, **stops)
    config = {**sessions.config(user="ana", thread_id="t"), "callbacks": [recorder]}
    await call(graph, say(ORDER), config)
    assert only(memory).outcome == "interrupted"
    await call(graph, None, config)
    assert (only(memory).outcome, only(memory).token_cost) == ("completed", 15)


async def test_a_graph_that_stops_inside_a_subgraph_is_interrupted(
    memory: Memory, recorder: EpisodeRecorder, clock: ManualClock, call: Way
) -> None:
    graph = in_order(asking(clock), checkpointer=InMemorySaver())
    await call(graph, say(ORDER), of(recorder))
    assert only(memory).outcome == "interrupted"
    await call(graph, Command(resume="yes"), of(recorder))
    assert (only(memory).outcome, only(memory).duration_ms) == ("completed", 3_000)


# -- many runs at once ----------------------------------------------------------------------------


def meeting(parties: int) -> Any:
    """Return a node that goes on when so many runs have come to it."""
    barrier = threading.Barrier(parties, timeout=30)
    model = ScriptedChatModel([lambda messages: messages[-1].text] * parties)

    def work(state: Any) -> dict[str, Any]:
        barrier.wait()
        reply = model.invoke(messages_of(state))
        text = messages_of(state)[-1].text
        if text.endswith("fails"):
            raise ValueError(text)
        return {"messages": [reply]}

    return work


CROWD = [f"user-{i}" for i in range(6)]


def crowd(recorder: EpisodeRecorder) -> list[tuple[str, Any, RunnableConfig]]:
    """Return tasks of several users; every second one fails, and costs as it is long."""
    return [
        (
            user,
            say(f"Please do the {'very ' * i}big task {'fails' if i % 2 else ''}".strip()),
            of(recorder, user, thread=f"thread-{i % 3}"),
        )
        for i, user in enumerate(CROWD)
    ]


def each_has_its_own(memory: Memory, runs: Iterable[tuple[str, Any, RunnableConfig]]) -> None:
    for i, (user, given, _) in enumerate(runs):
        episode = only(memory, user)
        text = given["messages"][0].text
        assert episode.task == text
        assert episode.outcome == ("failure" if i % 2 else "completed")
        assert episode.error == (f"ValueError: {text}" if i % 2 else None)
        assert episode.thread_id == f"thread-{i % 3}"
        assert episode.token_cost == 2 * len(text.split())


@pytest.mark.parametrize("how", ["threads", "batch"])
def test_runs_in_threads_are_not_mixed(memory: Memory, recorder: EpisodeRecorder, how: str) -> None:
    graph = in_order(meeting(len(CROWD)))
    runs = crowd(recorder)
    if how == "batch":
        configs = [config for _, _, config in runs]
        graph.batch([given for _, given, _ in runs], configs, return_exceptions=True)
    else:
        with ThreadPoolExecutor(len(runs)) as pool:
            done = [pool.submit(graph.invoke, given, config) for _, given, config in runs]
        assert sum(run.exception() is not None for run in done) == len(CROWD) / 2
    each_has_its_own(memory, runs)
    assert len(recorder._open) == 0


@pytest.mark.parametrize("how", ["gather", "abatch"])
async def test_runs_in_tasks_are_not_mixed(
    memory: Memory, recorder: EpisodeRecorder, how: str
) -> None:
    graph = in_order(meeting(len(CROWD)))
    runs = crowd(recorder)
    if how == "abatch":
        configs = [config for _, _, config in runs]
        await graph.abatch([given for _, given, _ in runs], configs, return_exceptions=True)
    else:
        started = (graph.ainvoke(given, config) for _, given, config in runs)
        await asyncio.gather(*started, return_exceptions=True)
    each_has_its_own(memory, runs)
    assert len(recorder._open) == 0


# -- graphs in chains, graphs in graphs -----------------------------------------------------------


async def test_a_graph_in_a_chain_is_recorded(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    prompt = ChatPromptTemplate.from_messages([("user", "{order}")])
    chain = prompt | RunnableLambda(lambda value: {"messages": value.to_messages()})
    await call(chain | in_order(answering()), {"order": ORDER}, of(recorder))
    assert outcomes(memory) == [(ORDER, "completed")]


@pytest.mark.parametrize("how", ["as a node", "called in a node", "called with a thread"])
async def test_graphs_in_a_graph_are_part_of_its_episode(
    memory: Memory, recorder: EpisodeRecorder, call: Way, how: str
) -> None:
    inner = agent(calling_a_tool(), checkpointer=how == "called with a thread" and InMemorySaver())

    def work(state: Any, config: RunnableConfig) -> dict[str, Any]:
        given = say("A part of the work, for another agent.")
        own = of(recorder, thread="inner") if how == "called with a thread" else None
        return {"messages": inner.invoke(given, own)["messages"][-1:]}

    graph = in_order(inner if how == "as a node" else work)
    await call(graph, say(ORDER, id="m-1"), of(recorder))
    episode = only(memory)
    assert (episode.id, episode.task) == (Episode.id_of("t", "m-1"), ORDER)
    assert (episode.approach, episode.token_cost) == ("tools: shipping_cost", 50)


async def test_a_graph_in_a_graph_that_is_not_recorded_is_recorded_by_itself(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    inner = in_order(answering()).with_config(callbacks=[recorder])
    other = EpisodeRecorder(Memory(InMemoryStore()))  # another observer of the outer graph
    await call(in_order(inner), say(ORDER), of(other))
    assert outcomes(memory) == [(ORDER, "completed")]


async def test_what_workers_are_sent_does_not_begin_the_turn(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    def send(state: Any) -> list[Send]:
        parts = ("grind the beans of the order", "pack the beans of the order")
        return [Send("work", say(part)) for part in parts]

    builder: Builder = StateGraph(MessagesState)
    builder.add_node("work", answering())
    builder.add_node("end", answering())
    builder.add_conditional_edges(START, send, ["work"])
    builder.add_edge("work", "end")
    await call(builder.compile(), say(ORDER, id="m-1"), of(recorder))
    assert only(memory).id == Episode.id_of("t", "m-1")


# -- graphs without messages ----------------------------------------------------------------------


class Order(TypedDict, total=False):
    order: int
    goods: list[str]
    reply: str


def shop(*nodes: Any, **compile_with: Any) -> Any:
    return in_order(*nodes, state=Order, **compile_with)


async def test_a_run_without_messages_is_told_by_its_input(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    graph = shop(lambda state: {"reply": "sent"})
    for _ in range(2):  # the same task twice is two episodes
        await call(graph, {"order": 7, "goods": ["咖啡"]}, of(recorder))
    assert outcomes(memory) == [('{"order": 7, "goods": ["咖啡"]}', "completed")] * 2


class Given(BaseModel):
    order: int


@pytest.mark.parametrize(
    ("given", "task"),
    [
        ([HumanMessage("Hello!"), AIMessage("Hello."), HumanMessage(ORDER)], ORDER),
        (HumanMessage(ORDER), ORDER),
        (Given(order=7), '{"order": 7}'),
        ([], "[]"),
    ],
    ids=["messages", "a message", "a model of pydantic", "nothing"],
)
def test_an_input_of_a_functional_graph_is_told_as_it_reads(
    memory: Memory, recorder: EpisodeRecorder, given: Any, task: str
) -> None:
    @entrypoint()
    def flow(given: Any) -> str:
        return "done"

    flow.invoke(given, of(recorder))
    assert outcomes(memory) == [(task, "completed")]


async def test_task_says_what_a_run_is_to_do(memory: Memory, call: Way) -> None:
    def task(given: Any) -> str:
        return f"Send order {given['order']}" if given["order"] else ""

    recorder = EpisodeRecorder(memory, task=task)
    graph = shop(lambda state: {"reply": interrupt("really?")}, checkpointer=InMemorySaver())
    for thread, order in [("t", 7), ("u", 0)]:
        await call(graph, {"order": order}, of(recorder, thread=thread))
        await call(graph, Command(resume="yes"), of(recorder, thread=thread))
    assert outcomes(memory) == [("Send order 7", "completed")]


async def test_a_task_that_cannot_be_told_does_not_break_the_run(
    memory: Memory, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = EpisodeRecorder(memory, task=lambda given: given["no such key"])
    result = await call(shop(lambda state: {"reply": "sent"}), {"order": 7}, of(recorder))
    assert result["reply"] == "sent"
    assert "no such key" in caplog.text
    assert episodes(memory, "ana") == []


async def test_a_run_without_messages_that_goes_on_is_one_episode(
    memory: Memory, clock: ManualClock, call: Way
) -> None:
    def work(state: Any) -> dict[str, Any]:
        return {"reply": interrupt("really?")}

    graph = shop(work, checkpointer=InMemorySaver())
    for thread in ("t", "u"):
        await call(graph, {"order": 7}, of(EpisodeRecorder(memory), thread=thread))
    assert [outcome for _, outcome in outcomes(memory)] == ["interrupted"] * 2
    await call(graph, Command(resume="yes"), of(EpisodeRecorder(memory), thread="t"))
    ended = {episode.thread_id: episode.outcome for episode in episodes(memory, "ana")}
    assert ended == {"t": "completed", "u": "interrupted"}


async def test_what_recall_node_and_remember_node_log_without_messages_is_the_same_episode(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    class State(Order):
        memory: dict[str, Any]

    graph = in_order(
        recall_node(memory, query=lambda state: f"Send the coffee of order {state['order']}"),
        lambda state: {"reply": "sent"},
        remember_node(memory, reply=lambda state: state["reply"]),
        state=State,
        checkpointer=InMemorySaver(),
    )
    for order in (7, 8):
        await call(graph, {"order": order}, of(recorder))
    assert outcomes(memory) == [(f"Send the coffee of order {n}", "completed") for n in (7, 8)]


async def test_a_functional_graph_is_recorded(
    memory: Memory, recorder: EpisodeRecorder, call: Way
) -> None:
    @entrypoint()
    def work(given: str) -> str:
        return given.upper()

    await call(work, ORDER, of(recorder))
    assert outcomes(memory) == [(ORDER, "completed")]


def test_an_input_is_not_used_up(memory: Memory, recorder: EpisodeRecorder) -> None:
    seen: list[int] = []
    graph = shop(lambda state: seen.extend(state["goods"]))
    graph.invoke({"goods": iter([1, 2])}, of(recorder))
    assert seen == [1, 2]


def test_a_huge_input_is_cut(memory: Memory, recorder: EpisodeRecorder) -> None:
    shop(lambda state: {}).invoke({"goods": ["coffee"] * 100_000}, of(recorder))
    assert len(only(memory).task) == 500


# -- whose run it is ------------------------------------------------------------------------------


async def test_a_run_without_a_user_is_refused_before_any_model_is_asked(
    memory: Memory, recorder: EpisodeRecorder, way: Way
) -> None:
    model = noting()
    graph = in_order(lambda state: {"messages": [model.invoke(messages_of(state))]})
    with pytest.raises(MissingUserError, match=r"metadata[^$]*configurable"):
        await way(graph, say(ORDER), of(recorder, user=None))
    assert model.calls == []
    assert len(recorder._open) == 0


async def test_the_user_may_be_told_by_the_metadata_or_once_and_for_all(
    memory: Memory, call: Way
) -> None:
    graph = in_order(answering())
    by_key = EpisodeRecorder(memory, user=lambda metadata: metadata.get("customer"))
    config = of(by_key, user=None, metadata={"customer": "eva"})
    await call(graph, say(ORDER), config)
    await call(graph, say(ORDER), of(EpisodeRecorder(memory, user="bo"), user=None))
    assert (only(memory, "eva").task, only(memory, "bo").task) == (ORDER, ORDER)
    with pytest.raises(MissingUserError):
        await call(graph, say(ORDER), of(by_key, user="ana"))


def test_what_reads_the_task_is_a_function(memory: Memory) -> None:
    wrong: Any = "Ship my order"
    with pytest.raises(ConfigurationError, match="task= is a function"):
        EpisodeRecorder(memory, task=wrong)


async def test_a_recorder_for_one_user_refuses_another_s_run(memory: Memory, call: Way) -> None:
    recorder = EpisodeRecorder(memory, user="bo")
    with pytest.raises(ConfigurationError, match="'ana'"):
        await call(in_order(answering()), say(ORDER), of(recorder, user="ana"))
    assert episodes(memory, "bo") == []


def test_a_recorder_needs_a_memory_with_a_store() -> None:
    with pytest.raises(ConfigurationError, match="no store"):
        EpisodeRecorder(Memory())
    with pytest.raises(ConfigurationError, match="expected a Memory"):
        EpisodeRecorder("./memory")  # type: ignore[arg-type]  # what is tested


def test_what_tells_a_run_s_task_is_a_function(memory: Memory) -> None:
    with pytest.raises(ConfigurationError, match="task= is a function"):
        EpisodeRecorder(memory, task="Ship it")  # type: ignore[arg-type]  # what is tested


# -- what goes wrong with the memory --------------------------------------------------------------


class BrokenStore(InMemoryStore):
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise OSError("disk full")


async def test_a_memory_that_fails_leaves_the_answer_and_an_error_in_the_log(
    call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = EpisodeRecorder(Memory(BrokenStore()))
    graph = in_order(answering("4 euros."))
    assert answer(await call(graph, say(ORDER), of(recorder))) == "4 euros."
    (logged,) = [
        each for each in caplog.records if each.name == "langgraph_memory.graph.episode_recorder"
    ]
    assert logged.levelno == logging.ERROR
    assert "disk full" in (logged.exc_text or "")
    with pytest.raises(ValueError, match="of the node"):  # and not of the memory
        await call(in_order(failing(ValueError("of the node"))), say(ORDER), of(recorder))
    assert len(recorder._open) == 0


class WaitingStore(InMemoryStore):
    """A store that goes on when the event loop does."""

    def __init__(self) -> None:
        super().__init__()
        self.called, self.answered = threading.Event(), threading.Event()
        self.loop_went_on: bool | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.called.set()
        if self.loop_went_on is None:
            self.loop_went_on = self.answered.wait(10)
        return super().batch(ops)


async def test_the_event_loop_goes_on_while_an_episode_is_written() -> None:
    store = WaitingStore()
    graph = in_order(answering())
    running = asyncio.create_task(graph.ainvoke(say(ORDER), of(EpisodeRecorder(Memory(store)))))
    while not store.called.is_set():  # noqa: ASYNC110  # set in a thread
        await asyncio.sleep(0.001)
    store.answered.set()
    await running
    assert store.loop_went_on
    assert len(episodes(Memory(store), "ana")) == 1  # it is there when the run has ended


def test_streams_that_never_end_do_not_pile_up(
    memory: Memory,
    recorder: EpisodeRecorder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(active_runs, "MAX_OPEN_RUNS", 2)
    graph = in_order(answering(), answering())
    streams = [graph.stream(say(f"{ORDER} ({i})"), of(recorder)) for i in range(5)]
    for stream in streams:
        next(stream)
    assert len(recorder._open) <= 2 * 2
    assert "no longer recorded" in caplog.text
    for stream in streams:
        list(stream)
    assert [task[-3:] for task, _ in outcomes(memory)] == ["(3)", "(4)"]
    assert len(recorder._open) == 0


def test_the_end_of_a_graph_leaves_nothing_behind(
    memory: Memory, recorder: EpisodeRecorder
) -> None:
    agent(calling_a_tool()).invoke(say(ORDER), of(recorder))
    assert len(recorder._open) == 0
