"""Sessions: threads that survive, and that only their own user can open."""

from __future__ import annotations

import asyncio
import copy
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from langgraph_memory.errors import (
    ConfigurationError,
    MissingUserError,
    StoreError,
    ThreadOwnerError,
)
from langgraph_memory.sessions.checkpoint_tree import time_of
from langgraph_memory.sessions.sessions import Sessions, open_sessions
from langgraph_memory.sessions.threads import Session
from tests.sessions.graphs import (
    DeltaState,
    Do,
    Graph,
    answer,
    chat,
    last_answer,
    reply,
    say,
    with_approval,
)

Place = str | os.PathLike[str]

# -- resuming ------------------------------------------------------------------------------------


async def test_a_thread_resumes_after_the_sessions_were_closed(place: Place, do: Do) -> None:
    with open_sessions(place) as first:
        await do(chat(first), "invoke", say("red"), first.config(user="ana", thread_id="t"))
    async with open_sessions(place) as second:
        config = second.config(user="ana", thread_id="t")
        assert answer(await do(chat(second), "invoke", say("blue"), config)) == (
            "You said: red, blue"
        )


async def test_what_invoke_wrote_ainvoke_continues_and_the_other_way_round(
    sessions: Sessions,
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    graph.invoke(say("one"), config)
    await graph.ainvoke(say("two"), config)
    assert answer(graph.invoke(say("three"), config)) == "You said: one, two, three"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_every_durability_claims_and_resumes(
    sessions: Sessions, do: Do, durability: str
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    await do(graph, "invoke", say("one"), config, durability=durability)
    assert answer(await do(graph, "invoke", say("two"), config)) == "You said: one, two"
    with pytest.raises(ThreadOwnerError):
        await do(graph, "invoke", say("x"), sessions.config(user="bo", thread_id="t"))


async def test_sync_and_async_calls_see_the_same(sessions: Sessions) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    graph.invoke(say("one"), config)
    assert await graph.aget_state(config) == graph.get_state(config)
    history = [state async for state in graph.aget_state_history(config)]
    assert history == list(graph.get_state_history(config))
    assert await sessions.alist("ana") == sessions.list("ana")
    assert await sessions.alatest("ana") == sessions.latest("ana")


def test_sessions_in_memory_work_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_sessions(":memory:") as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
        graph.invoke(say("one"), config)
        assert answer(graph.invoke(say("two"), config)) == "You said: one, two"
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def long_history(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Graph, RunnableConfig]]:
    """A graph with a thread of ninety turns, for what only reads it."""
    with open_sessions(tmp_path_factory.mktemp("long")) as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
        for number in range(90):
            graph.invoke(say(str(number)), config)
        yield graph, config


async def test_a_long_history_is_listed_whole_and_in_order(
    long_history: tuple[Graph, RunnableConfig], do: Do
) -> None:
    graph, config = long_history
    history = await do(graph, "get_state_history", config)
    ids = [state.config["configurable"]["checkpoint_id"] for state in history]
    assert len(ids) == 270
    assert ids == sorted(ids, reverse=True)
    limited = await do(graph, "get_state_history", config, limit=130)
    assert [state.config for state in limited] == [state.config for state in history[:130]]
    older = await do(graph, "get_state_history", config, before=history[9].config)
    assert [state.config for state in older] == [state.config for state in history[10:]]


def test_reading_while_a_listing_is_half_done_does_not_deadlock(sessions: Sessions) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    graph.invoke(say("one"), config)
    listing = sessions.checkpointer.list(config)
    newest = next(iter(listing))
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(sessions.checkpointer.get_tuple, config).result(timeout=30)
    assert found is not None
    assert found.checkpoint["id"] == newest.checkpoint["id"]


async def test_a_listing_of_no_thread_has_all_of_the_runs_user_and_of_nobody_else(
    sessions: Sessions, do: Do
) -> None:
    listed: list[tuple[Any, Any]] = []

    async def look(state: MessagesState) -> dict[str, Any]:
        for options in ({"filter": {"source": "loop"}}, {"limit": 3}):
            found = await do(sessions.checkpointer, "list", None, **options)
            ids = [
                (each.config["configurable"]["thread_id"], each.checkpoint["id"]) for each in found
            ]
            listed.append((options, ids))
        return {}

    looking: Graph = (
        StateGraph(MessagesState).add_node("look", look).add_edge(START, "look").compile()
    )
    graph = chat(sessions)
    for user, thread in (("ana", "a"), ("bo", "b"), ("ana", "c"), ("ana", "a")):
        graph.invoke(say("hello"), sessions.config(user=user, thread_id=thread))
    run = sessions.config(user="ana", thread_id="now")
    await looking.ainvoke(say("what was there?"), run)

    (_, loops), (_, newest) = listed
    assert {thread for thread, _ in loops} == {"a", "c"}
    assert [id for _, id in loops] == sorted((id for _, id in loops), reverse=True)
    assert newest == sorted(newest, key=lambda each: each[1], reverse=True)
    assert [thread for thread, _ in newest] == ["a"] * 3
    with pytest.raises(MissingUserError):
        await do(sessions.checkpointer, "list", None, filter={"source": "loop"})


async def test_time_travel_from_a_snapshot_needs_no_further_config(
    sessions: Sessions, do: Do
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    await do(graph, "invoke", say("red"), config)
    await do(graph, "invoke", say("blue"), config)
    history = await do(graph, "get_state_history", config)
    after_red = next(state for state in history if answer(state.values) == "You said: red")
    fork = await do(graph, "update_state", after_red.config, say("green"), as_node="__start__")
    assert answer(await do(graph, "invoke", None, fork)) == "You said: red, green"
    replayed = await do(graph, "invoke", None, after_red.parent_config)
    assert answer(replayed) == "You said: red"


# -- whose thread --------------------------------------------------------------------------------

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("invoke", (say("let me in"),)),
    ("stream", (say("let me in"),)),
    ("get_state", ()),
    ("get_state_history", ()),
    ("update_state", (say("let me in"),)),
]


async def attempt(do: Do, graph: Graph, call: tuple[str, tuple[Any, ...]], config: Any) -> Any:
    method, inputs = call
    arguments = (config, *inputs) if method == "update_state" else (*inputs, config)
    return await do(graph, method, *arguments)


@pytest.mark.parametrize("call", CALLS, ids=[name for name, _ in CALLS])
async def test_another_users_thread_is_refused_however_the_graph_is_called(
    sessions: Sessions, do: Do, call: tuple[str, tuple[Any, ...]]
) -> None:
    graph = chat(sessions)
    graph.invoke(say("secret"), sessions.config(user="ana", thread_id="t"))
    with pytest.raises(ThreadOwnerError, match="another user") as caught:
        await attempt(do, graph, call, sessions.config(user="bo", thread_id="t"))
    assert "ana" not in str(caught.value)
    assert isinstance(caught.value, PermissionError)
    assert last_answer(graph, sessions, "ana", "t") == "You said: secret"
    assert sessions.list("bo") == []


@pytest.mark.parametrize("user", [{}, {"user_id": None}, {"user_id": ""}])
@pytest.mark.parametrize("call", CALLS, ids=[name for name, _ in CALLS])
async def test_a_run_without_a_user_is_refused(
    sessions: Sessions, do: Do, call: tuple[str, tuple[Any, ...]], user: dict[str, Any]
) -> None:
    graph = chat(sessions)
    graph.invoke(say("secret"), sessions.config(user="ana", thread_id="t"))
    for thread in ("t", "new"):
        with pytest.raises(MissingUserError, match=r"sessions\.config\(user=\.\.\., thread_id="):
            await attempt(do, graph, call, {"configurable": {"thread_id": thread, **user}})


class Context(TypedDict):
    user_id: str


async def test_a_user_in_the_context_alone_is_refused_with_the_way_out(
    sessions: Sessions, do: Do
) -> None:
    graph = chat(sessions, context_schema=Context)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    with pytest.raises(MissingUserError, match=r"context= .* use sessions\.config\("):
        await do(graph, "invoke", say("hi"), config, context={"user_id": "ana"})
    config = sessions.config(user="ana", thread_id="t")
    state = await do(graph, "invoke", say("hi"), config, context={"user_id": "ana"})
    assert answer(state) == "You said: hi"


async def test_reading_an_unclaimed_thread_finds_nothing_and_claims_nothing(
    sessions: Sessions, do: Do
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    assert (await do(graph, "get_state", config)).values == {}
    assert await do(graph, "get_state_history", config) == []
    assert sessions.list("ana") == []
    await do(graph, "invoke", say("mine"), sessions.config(user="bo", thread_id="t"))
    assert last_answer(graph, sessions, "bo", "t") == "You said: mine"


@pytest.mark.parametrize("config", [None, {}, {"configurable": {}}])
async def test_listing_all_threads_is_refused(
    sessions: Sessions, do: Do, config: RunnableConfig | None
) -> None:
    with pytest.raises(MissingUserError):
        await do(sessions.checkpointer, "list", config, filter={"user_id": "ana"})
    with pytest.raises(ConfigurationError, match="thread_id"):
        await do(sessions.checkpointer, "list", {"configurable": {"user_id": "ana"}})


@pytest.mark.parametrize("method", ["delete_thread", "delete_for_runs", "copy_thread", "prune"])
async def test_what_the_saver_is_asked_without_a_user_is_refused(
    sessions: Sessions, do: Do, method: str
) -> None:
    graph = chat(sessions)
    graph.invoke(say("kept"), sessions.config(user="ana", thread_id="t"))
    with pytest.raises(ConfigurationError, match=r"sessions\.delete\(user, thread_id\)"):
        await do(sessions.checkpointer, method, "t")
    assert last_answer(graph, sessions, "ana", "t") == "You said: kept"


def test_the_metadata_of_a_checkpoint_gives_no_access(sessions: Sessions) -> None:
    """Anyone can write a user into `metadata`; only `configurable` and the claim count."""
    graph = chat(sessions)
    graph.invoke(say("secret"), sessions.config(user="ana", thread_id="t"))
    forged = sessions.config(user="bo", thread_id="t")
    forged["metadata"] = {"user_id": "ana"}
    with pytest.raises(ThreadOwnerError):
        graph.get_state(forged)


async def test_a_snapshot_of_one_user_is_no_key_for_another(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    config = sessions.config(user="ana", thread_id="t")
    graph.invoke(say("secret"), config)
    borrowed = graph.get_state(config).config
    borrowed["configurable"]["user_id"] = "bo"
    with pytest.raises(ThreadOwnerError):
        await do(graph, "get_state", borrowed)


async def test_a_copy_of_the_saver_is_guarded_too(sessions: Sessions, do: Do) -> None:
    """LangGraph copies the saver (`with_allowlist`) when strict msgpack is on."""
    clone = copy.copy(sessions.checkpointer)
    graph = chat(sessions)
    graph.invoke(say("secret"), sessions.config(user="ana", thread_id="t"))
    assert await do(clone, "get_tuple", sessions.config(user="ana", thread_id="t")) is not None
    with pytest.raises(ThreadOwnerError):
        await do(clone, "get_tuple", sessions.config(user="bo", thread_id="t"))


# -- many at once --------------------------------------------------------------------------------


@pytest.mark.parametrize("openings", [1, 8])
def test_of_eight_users_who_claim_a_thread_at_once_exactly_one_wins(
    place: Place, openings: int
) -> None:
    opened = [open_sessions(place) for _ in range(openings)]
    graphs = [chat(sessions) for sessions in opened]
    start = threading.Barrier(8)

    def claim(number: int) -> str | None:
        config = opened[0].config(user=f"u{number}", thread_id="contested")
        start.wait()
        try:
            return answer(graphs[number % openings].invoke(say(f"I am u{number}"), config))
        except ThreadOwnerError:
            return None

    with ThreadPoolExecutor(8) as pool:
        won = [found for found in pool.map(claim, range(8)) if found]
    assert len(won) == 1
    winner = won[0].removeprefix("You said: I am ")
    assert [session.thread_id for session in opened[0].list(winner)] == ["contested"]
    assert last_answer(graphs[0], opened[0], winner, "contested") == won[0]
    for sessions in opened:
        sessions.close()


def test_fifty_users_in_threads_keep_their_own_words(sessions: Sessions) -> None:
    graph = chat(sessions)

    def talk(number: int) -> str:
        config = sessions.config(user=f"u{number}", thread_id=f"t{number}")
        graph.invoke(say(f"a{number}"), config)
        return answer(graph.invoke(say(f"b{number}"), config))

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(talk, range(50)))
    assert answers == [f"You said: a{number}, b{number}" for number in range(50)]
    assert all(len(sessions.list(f"u{number}")) == 1 for number in range(50))


async def test_fifty_users_in_one_event_loop_keep_their_own_words(place: Place) -> None:
    async with open_sessions(place) as sessions:
        graph = chat(sessions)

        async def talk(number: int) -> str:
            config = sessions.config(user=f"u{number}", thread_id=f"t{number}")
            await graph.ainvoke(say(f"a{number}"), config)
            return answer(await graph.ainvoke(say(f"b{number}"), config))

        answers = await asyncio.gather(*(talk(number) for number in range(50)))
        owned = await asyncio.gather(*(sessions.alist(f"u{number}") for number in range(50)))
    assert answers == [f"You said: a{number}, b{number}" for number in range(50)]
    assert [[session.thread_id for session in own] for own in owned] == [
        [f"t{number}"] for number in range(50)
    ]


async def test_the_event_loop_runs_on_while_another_process_writes(tmp_path: Path) -> None:
    async with open_sessions(tmp_path) as sessions:
        other = sqlite3.connect(tmp_path / "sessions.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        config = sessions.config(user="ana", thread_id="t")
        turn = asyncio.create_task(chat(sessions).ainvoke(say("hi"), config))
        for _ in range(20):
            await asyncio.to_thread(str)
        assert not turn.done()
        other.execute("ROLLBACK")
        other.close()
        assert answer(await turn) == "You said: hi"


SCRIPT = """
    import sys
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph_memory.sessions import open_sessions

    def reply(state):
        return {"messages": [AIMessage(f"{len(state['messages'])} messages")]}

    folder, user, thread, turns = sys.argv[1:]
    builder = StateGraph(MessagesState).add_node("reply", reply).add_edge(START, "reply")
    with open_sessions(folder) as sessions:
        graph = builder.compile(checkpointer=sessions.checkpointer)
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(int(turns)):
            state = graph.invoke(
                {"messages": [HumanMessage(f"from {user}")]},
                sessions.config(user=user, thread_id=thread),
            )
        print(state["messages"][-1].text)
"""


def spawn(place: Place, user: str, thread: str, turns: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(place), user, thread, str(turns)]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.slow
def test_a_thread_goes_on_in_the_next_process(tmp_path: Path) -> None:
    for expected in ("1 messages", "3 messages"):
        out, err = spawn(tmp_path, "ana", "t", 1).communicate("go\n", timeout=120)
        assert out.split("\n")[1:] == [expected, ""], err
    out, err = spawn(tmp_path, "bo", "t", 1).communicate("go\n", timeout=120)
    assert "ThreadOwnerError" in err
    with open_sessions(tmp_path) as sessions:
        assert [session.title for session in sessions.list("ana")] == ["from ana"]


@pytest.mark.slow
def test_two_processes_write_different_threads_at_once(place: Place) -> None:
    running = [spawn(place, user, f"{user}'s", 40) for user in ("ana", "bo")]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        out, err = process.communicate(timeout=120)
        assert out == "79 messages\n", err
    with open_sessions(place) as sessions:
        assert [session.thread_id for session in sessions.list("ana")] == ["ana's"]
        assert [session.thread_id for session in sessions.list("bo")] == ["bo's"]


# -- ids -----------------------------------------------------------------------------------------

ODD = ["u1", "u10", "u", "a.b", "a", "x@y.z", "%2E", ".", "用户", "two words", " ", "a/b", "%", "_"]
ODD += ["'; DROP TABLE threads; --", "nul\x00", "nul", "🙂", "U1", "é", "e\u0301", "0", "00"]


async def test_odd_ids_are_all_different_users_and_threads(
    sessions: Sessions, do: Do, place: Place
) -> None:
    graph = chat(sessions)
    names = ODD if isinstance(place, Path) else [name for name in ODD if "\x00" not in name]
    for name in names:
        await do(graph, "invoke", say(name), sessions.config(user=name, thread_id=name))
    for name in names:
        assert [session.thread_id for session in await do(sessions, "list", name)] == [name]
        assert last_answer(graph, sessions, name, name) == f"You said: {name}"
    with pytest.raises(ThreadOwnerError):
        graph.get_state(sessions.config(user="u1", thread_id="u10"))


async def test_integers_are_ids_as_text(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    assert sessions.config(user=7, thread_id=0) == sessions.config(user="7", thread_id="0")
    await do(graph, "invoke", say("hi"), {"configurable": {"user_id": 7, "thread_id": 0}})
    assert [session.user for session in await do(sessions, "list", 7)] == ["7"]
    assert last_answer(graph, sessions, "7", "0") == "You said: hi"
    assert await do(sessions, "delete", 7, 0)


@pytest.mark.parametrize("thread", ["", None, 1.5, True, b"t", "\ud800"])
def test_a_thread_id_that_is_none_is_refused(sessions: Sessions, thread: Any) -> None:
    graph = chat(sessions)
    with pytest.raises(ConfigurationError, match="thread_id"):
        sessions.config(user="ana", thread_id=thread)
    with pytest.raises(ConfigurationError, match="thread_id"):
        sessions.delete("ana", thread)
    if isinstance(thread, str):  # LangGraph makes text of the others
        with pytest.raises(ConfigurationError, match="thread_id"):
            graph.invoke(say("hi"), {"configurable": {"user_id": "ana", "thread_id": thread}})


@pytest.mark.parametrize("user", ["", None, 1.5, True, "\ud800"])
def test_a_user_that_is_none_is_refused(sessions: Sessions, user: Any) -> None:
    for use in (sessions.list, sessions.latest, lambda user: sessions.delete(user, "t")):
        with pytest.raises(ConfigurationError, match="user"):
            use(user)
    with pytest.raises(ConfigurationError, match="user"):
        sessions.config(user=user, thread_id="t")
    with pytest.raises(ConfigurationError, match="user"):
        chat(sessions).invoke(say("hi"), {"configurable": {"user_id": user, "thread_id": "t"}})


def test_the_config_names_user_and_thread_for_the_saver_and_for_callbacks(
    sessions: Sessions,
) -> None:
    ids = {"thread_id": "monday", "user_id": "ana"}
    assert sessions.config(user="ana", thread_id="monday") == {"configurable": ids, "metadata": ids}


# -- interrupts and subgraphs --------------------------------------------------------------------


@pytest.mark.parametrize("nested", [False, True])
async def test_an_interrupted_run_is_resumed_later_and_only_by_its_user(
    place: Place, do: Do, nested: bool
) -> None:
    with open_sessions(place) as first:
        graph = with_approval(first, nested=nested)
        config = first.config(user="ana", thread_id="t")
        state = await do(graph, "invoke", say("pay"), config)
        assert state["__interrupt__"][0].value == "Really?"
    with open_sessions(place) as second:
        graph = with_approval(second, nested=nested)
        other = second.config(user="bo", thread_id="t")
        with pytest.raises(ThreadOwnerError):
            await do(graph, "invoke", Command(resume="stolen"), other)
        state = await do(graph, "invoke", Command(resume="yes"), config)
        assert answer(state) == "Approved: yes"


@pytest.mark.parametrize("checkpointer", [None, True])
async def test_the_state_of_a_subgraph_can_be_read_and_changed(
    sessions: Sessions, do: Do, checkpointer: Any
) -> None:
    graph = with_approval(sessions, nested=True, checkpointer=checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await do(graph, "invoke", say("pay"), config)
    whole = await do(graph, "get_state", config, subgraphs=True)
    assert whole.tasks[0].state.values["messages"][0].text == "pay"
    pointer = (await do(graph, "get_state", config)).tasks[0].state
    inner = await do(graph, "get_state", pointer)
    assert inner.next == ("ask",)
    await do(graph, "update_state", inner.config, say("and tip"))
    changed = await do(graph, "get_state", pointer)
    assert [message.text for message in changed.values["messages"]] == ["pay", "and tip"]
    pointer["configurable"]["user_id"] = "bo"
    with pytest.raises(ThreadOwnerError):
        await do(graph, "get_state", pointer)


async def test_streaming_checkpoints_of_subgraphs_works(sessions: Sessions, do: Do) -> None:
    graph = with_approval(sessions, nested=True)
    config = sessions.config(user="ana", thread_id="t")
    for mode in ("checkpoints", "debug", "tasks"):
        assert await do(graph, "stream", say("pay"), config, stream_mode=mode, subgraphs=True)


async def test_a_delta_channel_resumes_and_is_guarded(place: Place, do: Do) -> None:
    builder = StateGraph(DeltaState).add_node("reply", lambda state: reply(state))
    builder.add_edge(START, "reply")
    with open_sessions(place) as sessions:
        graph = builder.compile(checkpointer=sessions.checkpointer)
        config = sessions.config(user="ana", thread_id="t")
        await do(graph, "invoke", say("one"), config)
        assert answer(await do(graph, "invoke", say("two"), config)) == "You said: one, two"
        assert [session.title for session in sessions.list("ana")] == ["one"]
        history = "get_delta_channel_history"
        found = await do(sessions.checkpointer, history, config=config, channels=["messages"])
        assert found["messages"]["writes"]
        other = graph.get_state(config).config
        other["configurable"]["user_id"] = "bo"
        with pytest.raises(ThreadOwnerError):
            await do(sessions.checkpointer, history, config=other, channels=["messages"])


# -- list, latest, delete ------------------------------------------------------------------------


async def test_the_list_has_the_newest_activity_first(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    before = datetime.now(UTC)
    assert await do(sessions, "list", "ana") == []
    assert await do(sessions, "latest", "ana") is None
    for thread in ("one", "two", "three", "one"):
        graph.invoke(say(f"about {thread}"), sessions.config(user="ana", thread_id=thread))
    graph.invoke(say("mine"), sessions.config(user="bo", thread_id="four"))
    found: list[Session] = await do(sessions, "list", "ana")
    assert [session.thread_id for session in found] == ["one", "three", "two"]
    assert [session.title for session in found] == ["about one", "about three", "about two"]
    assert await do(sessions, "latest", "ana") == found[0]
    for session in found:
        assert session.user == "ana"
        assert session.created_at.utcoffset() == session.updated_at.utcoffset() == timedelta(0)
        assert before <= session.created_at <= session.updated_at <= datetime.now(UTC)
    assert found[0].created_at < found[2].created_at < found[0].updated_at


async def test_the_time_of_the_last_activity_is_that_of_the_newest_checkpoint(
    sessions: Sessions, do: Do
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    graph.invoke(say("one"), config)
    between = datetime.now(UTC)
    graph.invoke(say("two"), config)
    session = await do(sessions, "latest", "ana")
    assert session.created_at < between < session.updated_at < datetime.now(UTC)
    newest = sessions.history("ana", "t", limit=1)[0].checkpoint_id
    assert session.updated_at == time_of(newest)
    graph.get_state(config)
    assert await do(sessions, "latest", "ana") == session


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (HumanMessage("Hello\n\n  there,\tfriend"), "Hello there, friend"),
        (HumanMessage("x" * 61), "x" * 60),
        (HumanMessage("a " * 500_000), ("a " * 30).strip()),
        (HumanMessage("你好" * 40), "你好" * 30),
        (HumanMessage("a\x00b"), "ab"),
        (HumanMessage([{"type": "text", "text": "See this"}, {"type": "image"}]), "See this"),
        (HumanMessage(" \n "), None),
        (HumanMessage([{"type": "image_url", "image_url": "https://example.com/a.png"}]), None),
        (AIMessage("Welcome!"), None),
        (SystemMessage("Be kind."), None),
    ],
    ids=lambda value: str(getattr(value, "content", value))[:20],
)
def test_a_title_is_the_beginning_of_the_first_human_message(
    sessions: Sessions, message: Any, title: str | None
) -> None:
    chat(sessions).invoke({"messages": [message]}, sessions.config(user="ana", thread_id="t"))
    assert [session.title for session in sessions.list("ana")] == [title]


async def test_a_title_comes_with_the_first_human_message_and_stays(
    sessions: Sessions, do: Do
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    await do(graph, "update_state", config, {"messages": [AIMessage("Welcome!")]})
    assert (await do(sessions, "latest", "ana")).title is None
    await do(graph, "invoke", {"messages": [("user", "First")]}, config)
    await do(graph, "invoke", say("Second"), config)
    assert (await do(sessions, "latest", "ana")).title == "First"


def test_a_subgraph_gives_no_title(sessions: Sessions) -> None:
    """What a subgraph is asked is the program's text, not the user's."""

    class Topic(TypedDict):
        topic: str

    builder = StateGraph(MessagesState).add_node("reply", reply).add_edge(START, "reply")
    inner: Graph = builder.compile()

    def research(state: Topic) -> Topic:
        return {"topic": answer(inner.invoke(say(f"You are a researcher of {state['topic']}")))}

    outer = StateGraph(Topic).add_node("research", research).add_edge(START, "research")
    graph = outer.compile(checkpointer=sessions.checkpointer)
    graph.invoke({"topic": "tea"}, sessions.config(user="ana", thread_id="t"))
    assert [session.title for session in sessions.list("ana")] == [None]


async def test_a_user_deletes_only_their_own_threads(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    for user, thread in (("ana", "a1"), ("ana", "a2"), ("bo", "b1")):
        graph.invoke(say(f"by {user}"), sessions.config(user=user, thread_id=thread))
    with pytest.raises(ThreadOwnerError, match="another user"):
        await do(sessions, "delete", "ana", "b1")
    assert await do(sessions, "delete", "ana", "nothing") is False
    assert await do(sessions, "delete", "ana", "a1") is True
    assert await do(sessions, "delete", "ana", "a1") is False
    assert [session.thread_id for session in sessions.list("ana")] == ["a2"]
    assert last_answer(graph, sessions, "ana", "a2") == "You said: by ana"
    assert last_answer(graph, sessions, "bo", "b1") == "You said: by bo"


async def test_a_deleted_thread_is_free_and_empty(sessions: Sessions, do: Do) -> None:
    graph = chat(sessions)
    graph.invoke(say("secret"), sessions.config(user="ana", thread_id="t"))
    await do(sessions, "delete", "ana", "t")
    config = sessions.config(user="bo", thread_id="t")
    assert answer(await do(graph, "invoke", say("hi"), config)) == "You said: hi"


def test_a_deleted_thread_leaves_no_text_in_the_files(tmp_path: Path) -> None:
    sessions = open_sessions(tmp_path)
    graph = with_approval(sessions, nested=True)
    config = sessions.config(user="ana-the-customer", thread_id="t")
    graph.invoke(say("my-secret-word"), config)
    graph.invoke(Command(resume="my-secret-word"), config)

    def stored() -> bytes:
        return b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert b"my-secret-word" in stored()
    sessions.delete("ana-the-customer", "t")
    assert b"my-secret-word" not in stored()
    assert b"ana-the-customer" not in stored()
    sessions.close()


# -- databases of others, and broken ones --------------------------------------------------------


def plain_thread(path: Path, text: str) -> None:
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(MessagesState).add_node("reply", reply).add_edge(START, "reply")
        graph: Graph = builder.compile(checkpointer=saver)
        graph.invoke(say(text), {"configurable": {"thread_id": "old"}})


@pytest.mark.parametrize("call", CALLS, ids=[name for name, _ in CALLS])
async def test_a_thread_of_a_plain_saver_is_nobodys_until_it_is_adopted(
    tmp_path: Path, do: Do, call: tuple[str, tuple[Any, ...]]
) -> None:
    path = tmp_path / "old.sqlite"
    plain_thread(path, "hello")
    with open_sessions(path) as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="old")
        with pytest.raises(ThreadOwnerError, match=re.escape("sessions.adopt(user, 'old')")):
            await attempt(do, graph, call, config)
        with pytest.raises(ThreadOwnerError, match=r"sessions\.adopt"):
            await do(sessions, "delete", "ana", "old")
        assert sessions.list("ana") == []


async def test_an_adopted_thread_goes_on_and_keeps_its_time(tmp_path: Path, do: Do) -> None:
    path = tmp_path / "old.sqlite"
    plain_thread(path, "hello")
    written = datetime.now(UTC)
    with open_sessions(path) as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="old")
        assert await do(sessions, "adopt", "ana", "none") is False
        assert await do(sessions, "adopt", "ana", "old") is True
        assert await do(sessions, "adopt", "ana", "old") is True
        with pytest.raises(ThreadOwnerError, match="another user"):
            await do(sessions, "adopt", "bo", "old")
        session = await do(sessions, "latest", "ana")
        assert session.created_at <= session.updated_at <= written
        assert answer(await do(graph, "invoke", say("again"), config)) == "You said: hello, again"
        assert await do(sessions, "prune", "ana") == 5
        assert answer(await do(graph, "invoke", say("on"), config)) == "You said: hello, again, on"


async def test_a_locked_database_says_so(tmp_path: Path, do: Do) -> None:
    path = tmp_path / "sessions.sqlite"
    with open_sessions(path) as sessions:
        chat(sessions).invoke(say("one"), sessions.config(user="ana", thread_id="t"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with (
        pytest.raises(StoreError, match="another process keeps it locked") as caught,
        open_sessions(path, busy_timeout=0.05),
    ):
        pass
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    other.execute("ROLLBACK")
    with open_sessions(path, busy_timeout=0.05) as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            await do(graph, "invoke", say("two"), config)
        other.execute("ROLLBACK")
        assert answer(await do(graph, "invoke", say("three"), config)).endswith("three")
    other.close()


def test_a_file_that_is_no_database_says_so_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    path.write_text("Dear diary, " * 500)
    with pytest.raises(StoreError, match="not an SQLite database") as caught, open_sessions(path):
        pass
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    assert path.read_text() == "Dear diary, " * 500


def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be made"), open_sessions(tmp_path / "file" / "x"):
        pass


@pytest.fixture
def readable_folder() -> Iterator[Path]:
    """A folder that this process may read but not write, also where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder, root = Path(name), hasattr(os, "geteuid") and os.geteuid() == 0
        with open_sessions(folder) as sessions:
            chat(sessions).invoke(say("one"), sessions.config(user="ana", thread_id="t"))
        for path, mode in ((folder / "sessions.sqlite", 0o444), (folder, 0o555)):
            path.chmod(mode)
        if root:
            os.seteuid(65534)
        yield folder
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="folders have no mode there")
def test_a_read_only_folder_says_so(readable_folder: Path) -> None:
    with pytest.raises(StoreError, match=r"read-only|cannot be opened"):
        open_sessions(readable_folder).checkpointer.setup()  # type: ignore[attr-defined]
    with pytest.raises(StoreError, match=r"cannot be (made|opened)"):
        open_sessions(readable_folder / "new").__enter__()


# -- opening and closing -------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["redis://me:hunter2@h", "sqlite:///x.db", "https://h"])
def test_a_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="a URL that begins with postgresql://") as caught:
        open_sessions(url)
    assert "hunter2" not in str(caught.value)


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="path"):
        open_sessions("")


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("memory", "memory/sessions.sqlite"),
        ("a/b/c", "a/b/c/sessions.sqlite"),
        ("a/threads.db", "a/threads.db"),
        ("exists.d", "exists.d/sessions.sqlite"),
    ],
)
def test_a_folder_holds_sessions_sqlite_and_a_file_is_the_database(
    tmp_path: Path, given: str, file: str
) -> None:
    (tmp_path / "exists.d").mkdir()
    for path in (tmp_path / given, str(tmp_path / given)):
        with open_sessions(path):
            assert (tmp_path / file).is_file()


def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    sessions = open_sessions(tmp_path / "new")
    sessions.close()
    assert list(tmp_path.iterdir()) == []


async def test_sessions_work_without_a_with_block(place: Place, do: Do) -> None:
    sessions = open_sessions(place)
    assert await do(sessions, "list", "ana") == []
    await do(chat(sessions), "invoke", say("hi"), sessions.config(user="ana", thread_id="t"))
    assert len(await do(sessions, "list", "ana")) == 1
    await do(sessions, "close")


async def test_closing_is_for_good_and_can_be_repeated(place: Place, do: Do) -> None:
    async with open_sessions(place) as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
        await do(sessions, "close")
    await do(sessions, "close")
    for call in (("invoke", say("hi"), config), ("get_state", config)):
        with pytest.raises(ConfigurationError, match="are closed"):
            await do(graph, *call)
    with pytest.raises(ConfigurationError, match="are closed"):
        await do(sessions, "list", "ana")
    with pytest.raises(ConfigurationError, match="are closed"):
        sessions.__enter__()


def test_a_forked_child_is_told_to_open_its_own(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ConfigurationError, match="in each process"):
        sessions.list("ana")
    monkeypatch.undo()
    assert sessions.list("ana") == []


# -- LangGraph's own suite -----------------------------------------------------------------------


class WithUser(BaseCheckpointSaver[str]):
    """The suite knows no users: this adds one to each of its calls."""

    def __init__(self, sessions: Sessions) -> None:
        super().__init__()
        self.sessions = sessions
        self.inner = sessions.checkpointer

    @staticmethod
    def own(config: RunnableConfig) -> RunnableConfig:
        return {**config, "configurable": {"user_id": "suite", **config["configurable"]}}

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.inner.aget_tuple(self.own(config))

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        async for found in self.inner.alist(self.own(config), **options):
            yield found

    async def aput(self, config: RunnableConfig, *args: Any) -> RunnableConfig:
        return await self.inner.aput(self.own(config), *args)

    async def aput_writes(self, config: RunnableConfig, *args: Any, **kwargs: Any) -> None:
        await self.inner.aput_writes(self.own(config), *args, **kwargs)

    async def adelete_thread(self, thread_id: str) -> None:
        await self.sessions.adelete("suite", thread_id)


async def test_the_saver_passes_the_conformance_suite_of_langgraph(place: Place) -> None:
    conformance = pytest.importorskip("langgraph.checkpoint.conformance")

    async def saver() -> AsyncIterator[WithUser]:
        of_its_own = tempfile.mkdtemp(dir=place) if isinstance(place, Path) else place
        async with open_sessions(of_its_own) as sessions:
            yield WithUser(sessions)

    registered = conformance.checkpointer_test(name="sessions")(saver)
    report = await conformance.validate(registered)
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert report.passed_all_base(), failures


# -- files that are gone --------------------------------------------------------------------------


@pytest.mark.parametrize("lose", [Path.unlink, lambda file: file.write_bytes(b"")])
@pytest.mark.parametrize("marked", ["by the first thread", "when they were opened again"])
async def test_a_lost_file_of_threads_is_refused_and_can_be_put_back(
    tmp_path: Path, do: Do, lose: Callable[[Path], object], marked: str
) -> None:
    file, mark = tmp_path / "sessions.sqlite", tmp_path / "sessions.sqlite.written"
    with open_sessions(tmp_path) as sessions:
        await do(chat(sessions), "invoke", say("red"), sessions.config(user="ana", thread_id="t"))
    if marked == "when they were opened again":  # as by a version that left no mark
        mark.unlink()
        open_sessions(tmp_path).list("ana")
    backup = file.read_bytes()
    lose(file)
    with pytest.raises(StoreError, match=r"held threads.*back from a backup.*delete .*written"):
        open_sessions(tmp_path).list("ana")
    file.write_bytes(backup)
    with open_sessions(tmp_path) as sessions:
        assert [session.thread_id for session in sessions.list("ana")] == ["t"]
    file.unlink()
    mark.unlink()
    with open_sessions(tmp_path) as sessions:
        assert sessions.list("ana") == []


def test_a_file_in_which_no_thread_was_begun_is_no_loss(tmp_path: Path) -> None:
    with open_sessions(tmp_path) as sessions:
        assert sessions.list("ana") == []
    (tmp_path / "sessions.sqlite").write_bytes(b"")
    with open_sessions(tmp_path) as sessions:
        assert sessions.list("ana") == []
