"""Graphs that stop and go on, go back, try again, or do two things at once."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt

from langgraph_memory import (
    Memory,
    MemoryState,
    Sessions,
    messages_with_memory,
    open_sessions,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Builder,
    Shape,
    Way,
    answer,
    as_user,
    block_in,
    episodes,
    messages_of,
    nodes,
    noting,
    opened,
    said,
    say,
    tasks,
)

KNOWN = "Drinks Colombia from a moka pot"
NOTED = "assistant: Noted, thank you."
KEPT = [f"user: {ORDER}", NOTED]


def asking(builder: Builder, model: ScriptedChatModel, memory: Memory) -> Builder:
    """Return the same graph, with a chat node that asks a person before it answers."""

    def read(state: Any) -> list[Any]:
        return messages_with_memory(state) if "recall" in builder.nodes else messages_of(state)

    def chat(state: Any) -> dict[str, Any]:
        if interrupt("Is that right?") != "yes":
            return {"messages": [AIMessage("Then not.")]}
        return {"messages": [model.invoke(read(state))]}

    node = chat if "recall" in builder.nodes else with_memory(chat, memory)
    rebuilt: Builder = StateGraph(builder.state_schema)
    for name, spec in builder.nodes.items():
        rebuilt.add_node(name, node if name == "chat" else spec.runnable)
    for start, end in builder.edges:
        rebuilt.add_edge(start, end)
    return rebuilt


# -- stop and go on ------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_turn_stopped_inside_the_chat_node_goes_on_with_memory_and_is_kept_once(
    memory: Memory, sessions: Sessions, shape: Shape, durability: Any
) -> None:
    call = Way("ainvoke" if durability == "async" else "invoke")
    memory.remember(KNOWN, user="ana")
    model = noting()
    graph = asking(shape(memory, model), model, memory).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config, durability=durability)
    assert [found.value for found in graph.get_state(config).interrupts] == ["Is that right?"]
    assert NOTED not in said(memory, "ana")
    assert tasks(memory, "ana") == []
    state = await call(graph, Command(resume="yes"), config, durability=durability)
    assert answer(state) == "Noted, thank you."
    assert KNOWN in block_in(model.calls[-1])
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


@pytest.mark.parametrize("before", ["chat", "remember"])
async def test_a_turn_stopped_between_the_nodes_goes_on_with_memory_and_is_kept_once(
    memory: Memory, sessions: Sessions, call: Way, before: str
) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    graph = nodes(memory, model, is_async=call.is_async).compile(
        checkpointer=sessions.checkpointer, interrupt_before=[before]
    )
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    assert graph.get_state(config).next == (before,)
    assert said(memory, "ana") == []
    await call(graph, None, config)
    assert KNOWN in block_in(model.calls[0])
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


async def test_a_turn_stopped_here_goes_on_where_everything_was_opened_anew(
    tmp_path: Any, shape: Shape, way: Way
) -> None:
    model = noting()
    with opened(tmp_path) as memory, open_sessions(tmp_path) as sessions:
        memory.remember(KNOWN, user="ana")
        builder = asking(shape(memory, model), model, memory)
        graph = builder.compile(checkpointer=sessions.checkpointer)
        await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    with opened(tmp_path) as memory, open_sessions(tmp_path) as sessions:
        builder = asking(shape(memory, model), model, memory)
        graph = builder.compile(checkpointer=sessions.checkpointer)
        config = sessions.config(user="ana", thread_id="t")
        await way(graph, Command(resume="yes"), config)
        assert KNOWN in block_in(model.calls[-1])
        assert said(memory, "ana") == KEPT
        assert tasks(memory, "ana") == [ORDER]


async def test_what_is_remembered_while_a_turn_waits_is_there_for_the_next_turn(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    model = noting()
    graph = asking(shape(memory, model), model, memory).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    memory.remember(KNOWN, user="ana")
    await call(graph, Command(resume="yes"), config)
    await call(graph, say("And what do I drink it from?"), config)
    await call(graph, Command(resume="yes"), config)
    assert KNOWN in block_in(model.calls[-1])
    assert len(said(memory, "ana")) == 4


async def test_a_new_message_instead_of_the_answer_keeps_both_messages(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    """People do not answer the question; they say something else."""
    model = noting()
    graph = asking(shape(memory, model), model, memory).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    await call(graph, say("Wait, make that two kilos please"), config)
    await call(graph, Command(resume="yes"), config)
    assert sorted(said(memory, "ana")) == sorted([*KEPT, "user: Wait, make that two kilos please"])


# -- go back -------------------------------------------------------------------------------------


async def test_a_replay_from_before_the_answer_keeps_the_users_message_and_the_task_once(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await way(graph, say(ORDER), config)
    before = next(s for s in graph.get_state_history(config) if s.next == ("chat",))
    await way(graph, None, before.config)
    assert [block_in(prompt) != "" for prompt in model.calls] == [True, True]
    assert said(memory, "ana").count(f"user: {ORDER}") == 1
    assert tasks(memory, "ana") == [ORDER]


async def test_a_replay_of_the_remembering_alone_keeps_nothing_new(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    graph = nodes(memory, noting()).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    kept = memory.list(user="ana", types=("message",))
    before = next(s for s in graph.get_state_history(config) if s.next == ("remember",))
    await call(graph, None, before.config)
    assert memory.list(user="ana", types=("message",)) == kept
    assert tasks(memory, "ana") == [ORDER]


async def test_a_fork_with_another_question_keeps_both_as_they_were_said(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    start = next(s for s in graph.get_state_history(config) if not s.values.get("messages"))
    other = say("A kilo of Brazil for a press pot")
    fork = graph.update_state(start.config, other, as_node="__start__")
    state = await call(graph, None, fork)
    assert messages_of(state)[0].text == "A kilo of Brazil for a press pot"
    assert sorted(tasks(memory, "ana")) == sorted([ORDER, "A kilo of Brazil for a press pot"])


async def test_an_answer_that_a_person_corrects_before_it_is_kept_is_kept_as_corrected(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    graph = nodes(memory, noting()).compile(
        checkpointer=sessions.checkpointer, interrupt_before=["remember"]
    )
    config = sessions.config(user="ana", thread_id="t")
    state = await call(graph, say(ORDER), config)
    corrected = AIMessage("Noted: two kilos.", id=messages_of(state)[-1].id)
    graph.update_state(config, {"messages": [corrected]})
    await call(graph, None, config)
    assert said(memory, "ana") == [f"user: {ORDER}", "assistant: Noted: two kilos."]


async def test_what_update_state_adds_to_a_thread_is_kept_with_the_next_turn(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    graph.update_state(config, {"messages": [AIMessage("Your parcel left today.")]})
    await call(graph, say(AGAIN), config)
    assert said(memory, "ana") == [
        *KEPT,
        *(line for line in said(memory, "ana") if "parcel" in line or AGAIN in line),
        NOTED,
    ]
    assert "assistant: Your parcel left today." in said(memory, "ana")


# -- try again -----------------------------------------------------------------------------------


async def test_a_chat_node_that_is_tried_again_is_kept_once(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    failing: list[Any] = [ConnectionError("busy"), ConnectionError("busy"), "Noted, thank you."]
    model = ScriptedChatModel(failing)
    builder = shape(memory, model, is_async=way.is_async)
    policy = RetryPolicy(initial_interval=0, max_attempts=3, jitter=False)
    builder.nodes["chat"].retry_policy = policy
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert [KNOWN in block_in(prompt) for prompt in model.calls] == [True] * 3
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


# -- two things at once --------------------------------------------------------------------------


def branches(memory: Memory, model: ScriptedChatModel) -> Builder:
    """Two branches, each of which recalls, answers and remembers."""

    def chat(state: MemoryState) -> dict[str, Any]:
        return {"messages": [model.invoke(messages_with_memory(state))]}

    builder: Builder = StateGraph(MemoryState)
    for name in ("a", "b"):
        builder.add_node(f"recall_{name}", recall_node(memory))
        builder.add_node(f"chat_{name}", chat)
        builder.add_node(f"remember_{name}", remember_node(memory))
        builder.add_edge(START, f"recall_{name}")
        builder.add_edge(f"chat_{name}", f"remember_{name}")
        builder.add_edge(f"remember_{name}", END)
        builder.add_edge(f"recall_{name}", f"chat_{name}")
    return builder


async def test_branches_that_both_recall_and_remember_keep_the_turn_once(
    memory: Memory, sessions: Sessions, way: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel(["One answer.", "Another answer."])
    graph = branches(memory, model).compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert [KNOWN in block_in(prompt) for prompt in model.calls] == [True, True]
    assert sorted(said(memory, "ana")) == [
        "assistant: Another answer.",
        "assistant: One answer.",
        f"user: {ORDER}",
    ]
    assert tasks(memory, "ana") == [ORDER]


async def test_parallel_nodes_that_both_have_memory_around_them_keep_the_turn_once(
    memory: Memory, sessions: Sessions, way: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel(["One answer.", "Another answer."])

    def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    for name in ("a", "b"):
        builder.add_node(name, with_memory(chat, memory))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert [KNOWN in block_in(prompt) for prompt in model.calls] == [True, True]
    assert said(memory, "ana").count(f"user: {ORDER}") == 1
    assert len(said(memory, "ana")) == 3
    assert tasks(memory, "ana") == [ORDER]


async def test_a_fan_out_to_two_remember_nodes_keeps_the_turn_once(
    memory: Memory, sessions: Sessions, way: Way
) -> None:
    builder: Builder = StateGraph(MessagesState)
    builder.add_node("chat", lambda state: {"messages": [AIMessage("Noted, thank you.")]})
    builder.add_edge(START, "chat")
    for name in ("remember_a", "remember_b"):
        builder.add_node(name, remember_node(memory))
        builder.add_edge("chat", name)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert said(memory, "ana") == KEPT
    assert tasks(memory, "ana") == [ORDER]


async def test_workers_that_are_sent_out_may_ask_memory_each_for_itself(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    """`Send` gives each worker a state of its own."""
    memory.remember("Drinks Colombia from a moka pot", user="ana")
    memory.remember("Rides a green bicycle", user="ana")
    prompts: list[str] = []

    def worker(state: MessagesState) -> dict[str, Any]:
        prompts.append(state["messages"][-1].text)
        return {"messages": []}

    def spread(state: MessagesState) -> list[Send]:
        texts = ["Which moka pot do I drink from?", "Which bicycle is mine?"]
        return [Send("worker", say(text, id=f"sub-{text}")) for text in texts]

    builder: Builder = StateGraph(MessagesState)
    builder.add_node("worker", with_memory(worker, memory, episodes=False))
    builder.add_conditional_edges(START, spread, ["worker"])
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await call(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert len(prompts) == 2
    assert all("</memory>" in prompt for prompt in prompts)


async def test_the_same_turn_through_two_remember_nodes_in_a_row_is_kept_once(
    memory: Memory, call: Way
) -> None:
    builder: Builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", lambda state: {"messages": [AIMessage("Noted, thank you.")]})
    builder.add_node("remember", remember_node(memory))
    builder.add_node("again", remember_node(memory))
    for start, end in [(START, "recall"), ("recall", "chat"), ("chat", "remember")]:
        builder.add_edge(start, end)
    builder.add_edge("remember", "again")
    await call(builder.compile(), say(ORDER), as_user("ana"))
    assert said(memory, "ana") == KEPT
    assert [episode.task for episode in episodes(memory, "ana")] == [ORDER]


async def test_a_node_may_send_the_turn_on_and_stop_it(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    """A wrapped node that answers and goes to another node with memory is one task."""

    def triage(state: MessagesState, config: RunnableConfig) -> Command[Any]:
        return Command(update={"messages": [AIMessage("One moment.")]}, goto="expert")

    def expert(state: MessagesState) -> dict[str, Any]:
        assert isinstance(state["messages"][0], HumanMessage)
        return {"messages": [AIMessage("Noted, thank you.")]}

    builder: Builder = StateGraph(MessagesState)
    builder.add_node("triage", with_memory(triage, memory), destinations=("expert",))
    builder.add_node("expert", with_memory(expert, memory))
    builder.add_edge(START, "triage")
    graph = builder.compile(checkpointer=sessions.checkpointer)
    await call(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert said(memory, "ana") == [f"user: {ORDER}", "assistant: One moment.", NOTED]
    assert tasks(memory, "ana") == [ORDER]
