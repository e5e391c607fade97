"""The checkpoints of a thread: told, copied into a thread of their own, and cleared away."""

from __future__ import annotations

import copy
import operator
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from langgraph_memory.errors import ConfigurationError, RecordNotFoundError, ThreadOwnerError
from langgraph_memory.sessions.sessions import Sessions, Snapshot, open_sessions
from tests.sessions.graphs import (
    Do,
    Graph,
    answer,
    chat,
    last_answer,
    say,
    with_approval,
    with_deltas,
)


def talk(
    graph: Graph, sessions: Sessions, *words: str, user: str = "ana", thread: str = "t"
) -> Any:
    config = sessions.config(user=user, thread_id=thread)
    for word in words:
        graph.invoke(say(word), config)
    return config


def count(sessions: Sessions, user: str = "ana", thread: str = "t") -> int:
    """Return how many checkpoints a thread has, its subgraphs' among them."""
    config = sessions.config(user=user, thread_id=thread)
    return len(list(sessions.checkpointer.list(config)))


# -- history -------------------------------------------------------------------------------------


async def test_the_history_tells_each_step_newest_first(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    config = talk(graph, sessions, "one", "two")
    told: list[Snapshot] = await do(sessions, "history", "ana", "t")
    states = list(graph.get_state_history(config))
    assert [each.checkpoint_id for each in told] == [
        state.config["configurable"]["checkpoint_id"] for state in states
    ]
    for each, state in zip(told, states, strict=True):
        assert list(each.messages) == state.values.get("messages", [])
        assert each.created_at == datetime.fromisoformat(str(state.created_at))
        assert state.metadata is not None
        assert (each.step, each.source) == (state.metadata["step"], state.metadata["source"])
    assert told[0].messages[-1].text == "You said: one, two"
    assert told[0].created_at.utcoffset() == timedelta(0)
    assert [each.source for each in told] == ["loop", "loop", "input"] * 2


async def test_the_history_is_as_long_as_was_asked(sessions: Sessions, do: Do) -> None:
    talk(chat(sessions), sessions, *map(str, range(9)))
    assert len(await do(sessions, "history", "ana", "t")) == 20
    told = await do(sessions, "history", "ana", "t", limit=None)
    assert len(told) == 27
    assert await do(sessions, "history", "ana", "t", limit=4) == told[:4]


async def test_a_thread_goes_on_from_a_point_of_its_history(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    talk(graph, sessions, "red", "blue")
    told = await do(sessions, "history", "ana", "t")
    after_red = next(each for each in told if len(each.messages) == 2)
    config = sessions.config(user="ana", thread_id="t", checkpoint_id=after_red.checkpoint_id)
    assert answer(await do(graph, "invoke", say("green"), config)) == "You said: red, green"


async def test_the_history_is_its_users_alone(sessions: Sessions, do: Do) -> None:
    talk(chat(sessions), sessions, "secret")
    with pytest.raises(ThreadOwnerError, match="another user"):
        await do(sessions, "history", "bo", "t")
    assert await do(sessions, "history", "bo", "none") == []
    assert sessions.list("bo") == []


async def test_the_history_has_no_subgraphs_and_no_deltas(sessions: Sessions, do: Do) -> None:
    talk(with_approval(sessions, nested=True), sessions, "pay")
    assert [len(each.messages) for each in await do(sessions, "history", "ana", "t")] == [1, 0]
    talk(with_deltas(sessions), sessions, "one", thread="deltas")
    assert {each.messages for each in await do(sessions, "history", "ana", "deltas")} == {()}


# -- fork ----------------------------------------------------------------------------------------


async def test_a_fork_goes_on_by_itself(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    config = talk(graph, sessions, "red", "blue")
    before = datetime.now(UTC)
    fork = await do(sessions, "fork", "ana", "t", to="fork")
    assert (fork.thread_id, fork.user, fork.title) == ("fork", "ana", "red")
    assert before <= fork.created_at == fork.updated_at <= datetime.now(UTC)
    assert await do(sessions, "latest", "ana") == fork
    other = sessions.config(user="ana", thread_id="fork")
    assert graph.get_state(other).values == graph.get_state(config).values
    assert answer(await do(graph, "invoke", say("green"), other)) == "You said: red, blue, green"
    assert answer(await do(graph, "invoke", say("gray"), config)) == "You said: red, blue, gray"


async def test_a_fork_from_a_point_of_the_history_knows_nothing_later(
    sessions: Sessions, do: Do
) -> None:
    graph = chat(sessions)
    talk(graph, sessions, "red", "blue")
    told = sessions.history("ana", "t")
    after_red = next(each for each in told if len(each.messages) == 2)
    await do(sessions, "fork", "ana", "t", to="fork", checkpoint_id=after_red.checkpoint_id)
    config = sessions.config(user="ana", thread_id="fork")
    assert [m.text for m in graph.get_state(config).values["messages"]] == ["red", "You said: red"]
    assert answer(await do(graph, "invoke", say("green"), config)) == "You said: red, green"
    assert sessions.history("ana", "t") == told


async def test_a_fork_from_before_an_answer_gives_another_one(sessions: Sessions, do: Do) -> None:
    """The answer is written upon the checkpoint before it; a fork from there runs the step."""
    asked = []

    def ask_again(state: MessagesState) -> dict[str, Any]:
        asked.append(state["messages"][-1].text)
        return {"messages": [AIMessage(f"Answer {len(asked)}")]}

    builder = StateGraph(MessagesState).add_node("ask", ask_again).add_edge(START, "ask")
    graph: Graph = builder.compile(checkpointer=sessions.checkpointer)
    talk(graph, sessions, "question")
    [point] = [each for each in sessions.history("ana", "t") if len(each.messages) == 1]
    await do(sessions, "fork", "ana", "t", to="fork", checkpoint_id=point.checkpoint_id)
    state = await do(graph, "invoke", None, sessions.config(user="ana", thread_id="fork"))
    assert [message.text for message in state["messages"]] == ["question", "Answer 2"]


async def test_forks_without_a_name_are_new_each(sessions: Sessions, do: Do) -> None:
    talk(chat(sessions), sessions, "red")
    names = {(await do(sessions, "fork", "ana", "t")).thread_id for _ in range(3)}
    assert len(names) == 3
    assert {session.thread_id for session in sessions.list("ana")} == {"t", *names}


async def test_a_fork_of_a_fork_outlives_both(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    talk(graph, sessions, "red")
    await do(sessions, "fork", "ana", "t", to="second")
    await do(sessions, "fork", "ana", "second", to="third")
    for thread in ("t", "second"):
        assert sessions.delete("ana", thread)
    config = sessions.config(user="ana", thread_id="third")
    assert answer(await do(graph, "invoke", say("blue"), config)) == "You said: red, blue"


async def test_only_a_users_own_threads_are_forked_and_onto_none(
    sessions: Sessions, do: Do
) -> None:
    graph = chat(sessions)
    talk(graph, sessions, "secret")
    talk(graph, sessions, "mine", user="bo", thread="b")
    with pytest.raises(ThreadOwnerError, match="another user"):
        await do(sessions, "fork", "bo", "t", to="stolen")
    with pytest.raises(ThreadOwnerError, match="another user"):
        await do(sessions, "fork", "bo", "b", to="t")
    with pytest.raises(ConfigurationError, match="to='b' is a thread already"):
        await do(sessions, "fork", "bo", "b", to="b")
    with pytest.raises(RecordNotFoundError, match="thread 'none' has nothing to fork from"):
        await do(sessions, "fork", "bo", "none", to="new")
    with pytest.raises(RecordNotFoundError, match="has no checkpoint 'gone'"):
        await do(sessions, "fork", "bo", "b", to="new", checkpoint_id="gone")
    assert [session.thread_id for session in sessions.list("bo")] == ["b"]
    assert last_answer(graph, sessions, "ana", "t") == "You said: secret"
    assert last_answer(graph, sessions, "bo", "b") == "You said: mine"


@pytest.mark.parametrize("nested", [False, True])
async def test_an_interrupt_waits_in_the_fork_too(sessions: Sessions, do: Do, nested: bool) -> None:
    graph = with_approval(sessions, nested=nested)
    config = talk(graph, sessions, "pay")
    await do(sessions, "fork", "ana", "t", to="fork")
    fork = sessions.config(user="ana", thread_id="fork")
    assert [each.value for each in graph.get_state(fork).interrupts] == ["Really?"]
    for thread, word in ((fork, "no"), (config, "yes")):
        state = await do(graph, "invoke", Command(resume=word), thread)
        assert [message.text for message in state["messages"]] == ["pay", f"Approved: {word}"]


@pytest.mark.parametrize("nested", [False, True])
async def test_a_fork_from_before_an_answer_to_an_interrupt_asks_again(
    sessions: Sessions, do: Do, nested: bool
) -> None:
    graph = with_approval(sessions, nested=nested)
    config = talk(graph, sessions, "pay")
    graph.invoke(Command(resume="yes"), config)
    point = next(each for each in sessions.history("ana", "t") if len(each.messages) == 1)
    await do(sessions, "fork", "ana", "t", to="fork", checkpoint_id=point.checkpoint_id)
    fork = sessions.config(user="ana", thread_id="fork")
    state = await do(graph, "invoke", None, fork)
    assert state["__interrupt__"][0].value == "Really?"
    state = await do(graph, "invoke", Command(resume="no"), fork)
    assert [message.text for message in state["messages"]] == ["pay", "Approved: no"]


class Counted(TypedDict):
    done: Annotated[list[str], operator.add]


def with_branches(sessions: Sessions, ran: list[str]) -> Graph:
    """Two nodes run at once: one is done, the other waits for an answer."""

    def quick(state: Counted) -> dict[str, Any]:
        ran.append("quick")
        return {"done": ["quick"]}

    def careful(state: Counted) -> dict[str, Any]:
        return {"done": [f"careful: {interrupt('Sure?')}"]}

    builder = StateGraph(Counted).add_node("quick", quick).add_node("careful", careful)
    builder.add_conditional_edges(
        START, lambda state: [Send("quick", state), Send("careful", state)]
    )
    return builder.compile(checkpointer=sessions.checkpointer)


async def test_what_is_done_of_a_step_is_not_done_again_after_a_fork_and_a_prune(
    sessions: Sessions, do: Do
) -> None:
    ran: list[str] = []
    graph = with_branches(sessions, ran)
    await do(graph, "invoke", {"done": []}, sessions.config(user="ana", thread_id="t"))
    await do(sessions, "fork", "ana", "t", to="fork")
    assert await do(sessions, "prune", "ana") >= 1
    for thread in ("t", "fork"):
        config = sessions.config(user="ana", thread_id=thread)
        state = await do(graph, "invoke", Command(resume="yes"), config)
        assert sorted(state["done"]) == ["careful: yes", "quick"]
    assert ran == ["quick"]


@pytest.mark.parametrize("step", [0, 2])
async def test_a_fork_of_a_thread_with_deltas_holds_them_all(
    sessions: Sessions, do: Do, step: int
) -> None:
    graph = with_deltas(sessions)
    config = talk(graph, sessions, "one", "two", "three")
    states = [state for state in graph.get_state_history(config) if not state.next]
    wanted = states[step].config["configurable"]["checkpoint_id"]
    await do(sessions, "fork", "ana", "t", to="fork", checkpoint_id=wanted)
    fork = sessions.config(user="ana", thread_id="fork")
    state = await do(graph, "invoke", say("more"), fork)
    said = {0: "one, two, three, more", 2: "one, more"}[step]
    assert answer(state) == f"You said: {said}"


def with_lasting(sessions: Sessions) -> Graph:
    """A subgraph with a memory of its own, which says how often it was called."""

    def counting(state: MessagesState) -> dict[str, Any]:
        asked = sum(isinstance(message, HumanMessage) for message in state["messages"])
        return {"messages": [AIMessage(f"Call {asked}")]}

    inner = StateGraph(MessagesState).add_node("count", counting).add_edge(START, "count")
    counter: Graph = inner.compile(checkpointer=True)

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(answer(counter.invoke(say("again"))))]}

    outer = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")
    return outer.compile(checkpointer=sessions.checkpointer)


async def test_a_subgraph_with_a_memory_keeps_it_over_forks_and_prunes(
    sessions: Sessions, do: Do
) -> None:
    graph = with_lasting(sessions)
    config = talk(graph, sessions, "a", "b")
    after_a = next(each for each in sessions.history("ana", "t") if len(each.messages) == 2)
    await do(sessions, "fork", "ana", "t", to="fork")
    await do(sessions, "fork", "ana", "t", to="early", checkpoint_id=after_a.checkpoint_id)
    for _ in range(2):
        await do(sessions, "prune", "ana")
        assert answer(await do(graph, "invoke", say("c"), config)).startswith("Call ")
    assert last_answer(graph, sessions, "ana", "t") == "Call 4"
    for thread, call in (("fork", "Call 3"), ("early", "Call 2")):
        other = sessions.config(user="ana", thread_id=thread)
        assert answer(await do(graph, "invoke", say("c"), other)) == call
    await do(sessions, "prune", "ana")
    assert count(sessions) == 2


# -- prune ---------------------------------------------------------------------------------------


async def test_a_pruned_thread_goes_on_as_if_nothing_were_gone(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    config = talk(graph, sessions, "one", "two", "three")
    state = graph.get_state(config)
    assert await do(sessions, "prune", "ana") == 8
    assert count(sessions) == 1
    pruned = graph.get_state(config)
    assert (pruned.values, pruned.config) == (state.values, state.config)
    assert pruned.parent_config is None
    assert await do(sessions, "prune", "ana") == 0
    assert (
        answer(await do(graph, "invoke", say("four"), config)) == "You said: one, two, three, four"
    )
    assert sessions.list("ana")[0].title == "one"


async def test_pruning_keeps_as_many_as_asked_and_their_parents(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    config = talk(graph, sessions, "one", "two", "three")
    told = sessions.history("ana", "t")
    assert await do(sessions, "prune", "ana", keep_last=4) == 5
    assert sessions.history("ana", "t") == told[:4]
    parents = [state.parent_config for state in graph.get_state_history(config)]
    assert [bool(parent) for parent in parents] == [True, True, True, False]
    assert await do(sessions, "prune", "ana", keep_last=100) == 0
    earlier = sessions.config(user="ana", thread_id="t", checkpoint_id=told[3].checkpoint_id)
    assert answer(await do(graph, "invoke", say("else"), earlier)) == "You said: one, two, else"


async def test_pruning_keeps_what_is_young(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    talk(graph, sessions, "one", "two")
    assert await do(sessions, "prune", "ana", older_than=timedelta(hours=1)) == 0
    told = sessions.history("ana", "t")
    age = datetime.now(UTC) - told[2].created_at
    talk(graph, sessions, "else", thread="u")  # takes longer than the clock is coarse
    deleted = await do(sessions, "prune", "ana", older_than=age + timedelta(seconds=30))
    assert deleted == 0
    assert await do(sessions, "prune", "ana", older_than=timedelta(0)) == 5 + 2


async def test_pruning_is_for_one_user_or_for_all(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    for user in ("ana", "bo"):
        talk(graph, sessions, "one", "two", user=user, thread=f"{user}'s")
    assert await do(sessions, "prune", "nobody") == 0
    assert await do(sessions, "prune", "ana") == 5
    assert count(sessions, "bo", "bo's") == 6
    assert await do(sessions, "prune") == 5
    for user in ("ana", "bo"):
        assert last_answer(graph, sessions, user, f"{user}'s") == "You said: one, two"


@pytest.mark.parametrize("nested", [False, True])
async def test_a_run_from_a_point_that_was_pruned_is_refused_and_changes_nothing(
    sessions: Sessions, do: Do, nested: bool
) -> None:
    graph = with_approval(sessions, nested=nested) if nested else chat(sessions)
    talk(graph, sessions, "one", "two")
    first = sessions.history("ana", "t", limit=None)[-1].checkpoint_id
    sessions.prune("ana")
    left = sessions.history("ana", "t")
    gone = sessions.config(user="ana", thread_id="t", checkpoint_id=first)
    with pytest.raises(RecordNotFoundError, match=f"no checkpoint '{first}' to go on from"):
        await do(graph, "invoke", say("three"), gone)
    with pytest.raises(RecordNotFoundError):
        await do(graph, "get_state", gone)
    with pytest.raises(RecordNotFoundError):
        await do(graph, "update_state", gone, say("three"))
    assert sessions.history("ana", "t") == left


@pytest.mark.parametrize("checkpoint_id", ["", "\ud800", 7])
def test_a_point_that_is_none_is_refused(sessions: Sessions, checkpoint_id: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"checkpoint_id="):
        sessions.config(user="ana", thread_id="t", checkpoint_id=checkpoint_id)


@pytest.mark.parametrize("keep_last", [0, -1, True, 1.5, "2"])
async def test_pruning_everything_is_refused(sessions: Sessions, do: Do, keep_last: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"keep 1 or more, or delete the thread"):
        await do(sessions, "prune", "ana", keep_last=keep_last)


@pytest.mark.parametrize("older_than", [timedelta(days=-30), timedelta.min, 30])
async def test_an_age_that_is_none_prunes_nothing(
    sessions: Sessions, do: Do, older_than: Any
) -> None:
    talk(chat(sessions), sessions, "one", "two")
    with pytest.raises(ConfigurationError, match=r"older_than= is an age"):
        await do(sessions, "prune", "ana", older_than=older_than)
    assert count(sessions) == 6


async def test_nothing_is_older_than_time(sessions: Sessions, do: Do) -> None:
    talk(chat(sessions), sessions, "one", "two")
    assert await do(sessions, "prune", "ana", older_than=timedelta.max) == 0


@pytest.mark.parametrize("limit", [-1, "3", True])
async def test_a_length_of_the_history_that_is_none_is_refused(
    sessions: Sessions, do: Do, limit: Any
) -> None:
    with pytest.raises(ConfigurationError, match=r"limit= is a whole number"):
        await do(sessions, "history", "ana", "t", limit=limit)


@pytest.mark.parametrize("nested", [False, True])
async def test_an_interrupt_outlasts_pruning(sessions: Sessions, do: Do, nested: bool) -> None:
    graph = with_approval(sessions, nested=nested)
    config = talk(graph, sessions, "pay")
    assert await do(sessions, "prune", "ana") >= 1
    assert [each.value for each in graph.get_state(config).interrupts] == ["Really?"]
    state = await do(graph, "invoke", Command(resume="yes"), config)
    assert [message.text for message in state["messages"]] == ["pay", "Approved: yes"]
    await do(sessions, "prune", "ana")
    assert count(sessions) == 1  # the call of the subgraph went with the step that it was in


async def test_a_thread_with_deltas_is_left_as_it_is(sessions: Sessions, do: Do) -> None:
    graph = with_deltas(sessions)
    config = talk(graph, sessions, "one", "two")
    assert await do(sessions, "prune", "ana") == 0
    assert answer(await do(graph, "invoke", say("three"), config)) == "You said: one, two, three"


async def test_pruning_in_the_middle_of_a_run_does_not_disturb_it(
    sessions: Sessions, do: Do
) -> None:
    pruned = []

    def busy(state: MessagesState) -> dict[str, Any]:
        pruned.append(sessions.prune("ana"))
        return {"messages": [AIMessage(f"{len(state['messages'])} messages")]}

    builder = StateGraph(MessagesState).add_sequence([("one", busy), ("two", busy)])
    graph: Graph = builder.add_edge(START, "one").compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await do(graph, "invoke", say("hi"), config)
    state = await do(graph, "invoke", say("hi"), config)
    assert answer(state) == "5 messages"
    assert sum(pruned) > 0


def test_pruning_does_not_wait_for_who_reads_the_file_at_length(tmp_path: Path) -> None:
    with open_sessions(tmp_path, busy_timeout=60) as sessions, ThreadPoolExecutor() as pool:
        graph = chat(sessions)
        talk(graph, sessions, "one", "two")
        with closing(sqlite3.connect(tmp_path / "sessions.sqlite", isolation_level=None)) as backup:
            backup.execute("BEGIN")
            backup.execute("SELECT count(*) FROM checkpoints").fetchone()
            assert pool.submit(sessions.prune, "ana").result(timeout=20) == 5
            backup.execute("COMMIT")
        talk(graph, sessions, "three")
        assert sessions.prune("ana") == 3
        assert (tmp_path / "sessions.sqlite-wal").stat().st_size == 0


async def test_a_copy_of_the_saver_sees_forks_and_prunes(sessions: Sessions, do: Do) -> None:
    talk(chat(sessions), sessions, "one")
    clone = copy.copy(sessions.checkpointer)
    await do(sessions, "prune", "ana")
    assert len(list(clone.list(sessions.config(user="ana", thread_id="t")))) == 1


# -- files ---------------------------------------------------------------------------------------


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def stored(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


@pytest.mark.parametrize("method", ["prune", "delete"])
async def test_the_file_shrinks_and_keeps_no_text_of_what_went(
    tmp_path: Path, do: Do, method: str
) -> None:
    with open_sessions(tmp_path) as sessions:
        graph = chat(sessions)
        config = talk(graph, sessions, "Hello. " * 100 + "the-secret", *map(str, range(30)))
        messages = graph.get_state(config).values["messages"]
        replaced = HumanMessage("another word", id=messages[0].id)
        answers = [AIMessage("none", id=m.id) for m in messages if isinstance(m, AIMessage)]
        graph.update_state(config, {"messages": [replaced, *answers]})
        before = size(tmp_path)
        assert b"the-secret" in stored(tmp_path)
        await do(sessions, method, "ana", *(["t"] if method == "delete" else []))
        assert b"the-secret" not in stored(tmp_path)
        assert size(tmp_path) < before / 8
