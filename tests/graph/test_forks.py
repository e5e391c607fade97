"""Threads that go back, branch, lose messages and run twice at once: what memory keeps of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_memory import ChromaStore, Memory, Message, Sessions
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Builder,
    Shape,
    Way,
    block_in,
    episodes,
    messages_of,
    noting,
    said,
    say,
    tasks,
    wrapped,
    wrapped_node,
)

OTHER = "A kilo of Brazil, whole beans, shipped to Lima."
UUID = "0b7ad7cb-5a1c-4d4b-9a9d-1f0e6f0c8a11"
NOTED = "assistant: Noted, thank you."
ASKED = f"user: {ORDER}"


def records(memory: Memory, thread: str | None = None) -> list[Message]:
    """Return what is kept, or what is kept of one thread, oldest first."""
    found = memory.list(user="ana", types=("message",), limit=1_000)
    messages = [record for record in found if isinstance(record, Message)]
    return [m for m in reversed(messages) if thread is None or m.thread_id == thread]


def texts(memory: Memory, thread: str | None = None) -> list[str]:
    return sorted(record.text for record in records(memory, thread))


def before(graph: Any, config: RunnableConfig, node: str) -> RunnableConfig:
    """Return the checkpoint from which a node would run next; `""` for that without messages."""
    history = list(graph.get_state_history(config))
    if not node:
        found: RunnableConfig = next(s.config for s in history if not s.values.get("messages"))
        return found
    return next(s.config for s in history if s.next == (node,))


def copied(graph: Any, config: RunnableConfig, fork: RunnableConfig) -> list[BaseMessage]:
    """Copy a thread's messages, with their ids, into another thread."""
    messages = messages_of(graph.get_state(config).values)
    graph.update_state(fork, {"messages": messages}, as_node="chat")
    return messages


# -- back in one thread --------------------------------------------------------------------------


async def test_both_questions_of_a_thread_that_went_back_stay_as_what_was_said(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting(), is_async=call.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    fork = graph.update_state(before(graph, config, ""), say(OTHER), as_node="__start__")
    await call(graph, None, fork)
    await call(graph, say(AGAIN), config)
    noted = "Noted, thank you."
    assert texts(memory, "t") == sorted([ORDER, OTHER, AGAIN, noted, noted, noted])
    assert sorted(tasks(memory, "ana")) == sorted([ORDER, OTHER, AGAIN])


async def test_another_answer_to_the_same_question_is_kept_beside_the_first(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    model = ScriptedChatModel(["A kilo it is.", "Two kilos, you say?"])
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await way(graph, say(ORDER), config)
    await way(graph, None, before(graph, config, "chat"))
    assert texts(memory, "t") == sorted([ORDER, "A kilo it is.", "Two kilos, you say?"])
    assert tasks(memory, "ana") == [ORDER]


async def test_a_question_that_is_edited_in_place_is_one_with_its_new_text(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    """A client lets its user correct a message, and sends it again under its id."""
    graph = shape(memory, noting(), is_async=way.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    await way(graph, say(ORDER, id="m1"), config)
    [old] = [record for record in records(memory) if record.role == "user"]
    edited = graph.update_state(before(graph, config, "chat"), say(OTHER, id="m1"))
    await way(graph, None, edited)
    [new] = [record for record in records(memory) if record.role == "user"]
    assert (new.text, new.id, new.created_at) == (OTHER, old.id, old.created_at)
    assert new.edited_at is not None
    found = memory.recall("Colombia ground Rosario", user="ana", types=("message",))
    assert not any("Colombia" in hit.text for hit in found)
    assert memory.recall("Brazil whole beans", user="ana", types=("message",)).hits


async def test_an_answer_that_the_graph_replaces_is_kept_as_it_was_replaced(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    state = await call(graph, say(ORDER), config)
    better = AIMessage("Noted: two kilos.", id=messages_of(state)[-1].id)
    graph.update_state(config, {"messages": [better]})
    await call(graph, say(AGAIN), config)
    assert said(memory, "ana") == [ASKED, "assistant: Noted: two kilos.", f"user: {AGAIN}", NOTED]


async def test_the_same_words_twice_in_a_thread_were_said_twice(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    for _ in range(2):
        await call(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    assert said(memory, "ana") == [ASKED, NOTED, ASKED, NOTED]


# -- a thread that was forked from another -------------------------------------------------------


@pytest.mark.parametrize("by", ["sessions", "update_state"])
async def test_what_a_fork_has_from_its_thread_is_not_kept_twice(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way, by: str
) -> None:
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    first = sessions.config(user="ana", thread_id="first")
    fork = sessions.config(user="ana", thread_id="fork")
    await way(graph, say(ORDER), first)
    if by == "sessions":
        sessions.fork("ana", "first", to="fork")
    else:
        copied(graph, first, fork)
    await way(graph, say("Make it Brazil instead, please"), fork)
    await way(graph, say("And a paper filter, please"), first)
    await way(graph, say("Whole beans of Brazil, please"), fork)
    noted = "Noted, thank you."
    assert texts(memory, "first") == sorted([ORDER, "And a paper filter, please", noted, noted])
    assert texts(memory, "fork") == sorted(
        ["Make it Brazil instead, please", "Whole beans of Brazil, please", noted, noted]
    )


async def test_a_fork_is_told_of_its_thread_only_what_it_does_not_hold(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    model = noting()
    graph = shape(memory, model).compile(checkpointer=sessions.checkpointer)
    first = sessions.config(user="ana", thread_id="first")
    fork = sessions.config(user="ana", thread_id="fork")
    await call(graph, say(ORDER), first)
    copied(graph, first, fork)
    await call(graph, say("And a paper filter, please"), first)
    await call(graph, say(AGAIN), fork)
    block = block_in(model.calls[-1])
    assert "And a paper filter" in block
    assert block.count("Colombia") <= 1  # the task; the message itself is in the prompt


async def test_what_a_fork_edits_is_kept_beside_what_was_said_first(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    first = sessions.config(user="ana", thread_id="first")
    fork = sessions.config(user="ana", thread_id="fork")
    await call(graph, say(ORDER), first)
    question = copied(graph, first, fork)[0]
    graph.update_state(fork, {"messages": [HumanMessage(OTHER, id=question.id)]})
    for config in (fork, first, fork):
        await call(graph, say(AGAIN), config)
    assert [r.text for r in records(memory, "first") if r.role == "user"] == [ORDER, AGAIN]
    assert OTHER in texts(memory, "fork")
    assert ORDER not in texts(memory, "fork")


@pytest.mark.parametrize("forked", ["before", "after"])
async def test_what_was_forgotten_does_not_come_back_through_a_fork(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way, forked: str
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    first = sessions.config(user="ana", thread_id="first")
    fork = sessions.config(user="ana", thread_id="fork")
    await call(graph, say(ORDER), first)
    if forked == "before":
        copied(graph, first, fork)
    memory.forget(user="ana", everything=True)
    if forked == "after":
        copied(graph, first, fork)
    for config in (fork, first):
        await call(graph, say(AGAIN), config)
    assert ORDER not in texts(memory)


async def test_a_task_of_a_fork_does_not_take_since_its_question_was_first_asked(
    sessions: Sessions, call: Way
) -> None:
    clock = ManualClock()
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), clock=clock) as memory:
        graph = wrapped(memory, noting()).compile(checkpointer=sessions.checkpointer)
        await call(graph, say(ORDER, id=UUID), sessions.config(user="ana", thread_id="first"))
        clock.advance(days=1)
        await call(graph, say(ORDER, id=UUID), sessions.config(user="ana", thread_id="fork"))
        [task, forked] = episodes(memory, "ana")
    assert task.duration_ms == 0
    assert forked.duration_ms is None


# -- messages that the state loses ---------------------------------------------------------------


@pytest.mark.parametrize("how", ["one by one", "all at once"])
async def test_what_is_removed_from_a_thread_stays_said_until_it_is_forgotten(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way, how: str
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    state = await call(graph, say(ORDER), config)
    removed: Sequence[BaseMessage] = (
        [RemoveMessage(str(message.id)) for message in messages_of(state)]
        if how == "one by one"
        else [RemoveMessage(REMOVE_ALL_MESSAGES)]
    )
    graph.update_state(config, {"messages": removed}, as_node="chat")
    await call(graph, say(AGAIN), config)
    assert said(memory, "ana") == [ASKED, NOTED, f"user: {AGAIN}", NOTED]
    memory.forget(user="ana", text=ORDER)
    assert memory.recall("Colombia moka pot", user="ana", types=("message",)).hits == ()


async def test_what_a_node_trims_stays_in_memory_and_can_be_recalled(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    def chat(state: MessagesState) -> dict[str, Any]:
        old = [RemoveMessage(str(message.id)) for message in state["messages"][:-1]]
        return {"messages": [*old, AIMessage("Noted, thank you.")]}

    graph = wrapped_node(memory, chat).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    for text in (ORDER, AGAIN):
        state = await call(graph, say(text), config)
    assert ORDER not in [message.text for message in messages_of(state)]
    hits = memory.recall("Colombia for a moka pot", user="ana", thread_id="t").hits
    assert ORDER in [hit.text for hit in hits]


async def test_what_was_forgotten_stays_so_while_the_thread_still_holds_it(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ORDER), config)
    memory.forget(user="ana", text=ORDER)
    state = await call(graph, say(AGAIN), config)
    assert ORDER in [message.text for message in messages_of(state)]
    assert ORDER not in texts(memory)


# -- at once -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "tasks"])
async def test_runs_of_one_thread_at_once_lose_nothing_and_keep_nothing_twice(
    memory: Memory, sessions: Sessions, shape: Shape, is_async: bool
) -> None:
    """A user who sends the next message before the answer to the last."""
    builder: Builder = shape(memory, noting(40), is_async=is_async)
    graph: Any = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    graph.invoke(say(ORDER), config) if not is_async else await graph.ainvoke(say(ORDER), config)
    asked = [f"Question {number} about coffee, please" for number in range(4)]
    if is_async:
        await asyncio.gather(*(graph.ainvoke(say(text), config) for text in asked))
    else:
        with ThreadPoolExecutor(len(asked)) as pool:
            list(pool.map(lambda text: graph.invoke(say(text), config), asked))
    questions = [r.text for r in records(memory) if r.role == "user"]
    assert sorted(questions) == sorted([ORDER, *asked])
    ids = [record.message_id for record in records(memory)]
    assert len(set(ids)) == len(ids) == 10
