"""Sessions that are only read: beside a process that writes, without a trace."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_memory import (
    ConfigurationError,
    Sessions,
    StoreError,
    ThreadOwnerError,
    open_sessions,
)


def graph_on(sessions: Sessions) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("chat", lambda state: {"messages": [AIMessage("Yes.")]})
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    return builder.compile(checkpointer=sessions.checkpointer)


def run(sessions: Sessions, thread: str) -> None:
    config = sessions.config(user="c-2291", thread_id=thread)
    graph_on(sessions).invoke({"messages": [HumanMessage("Hello")]}, config)


def traces(directory: Path) -> dict[str, tuple[int, int]]:
    found = [directory, *directory.rglob("*")]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def keep_writing(pipe: Any, directory: str) -> None:
    with open_sessions(directory) as sessions, suppress(EOFError, BrokenPipeError):
        for number in range(1_000):
            run(sessions, f"t{number:03}")
            pipe.send(number)
            pipe.recv()


def read_all(sessions: Sessions) -> list[str]:
    """Return a user's threads after reading each in every way."""
    threads = sorted(session.thread_id for session in sessions.list("c-2291"))
    for thread in threads:
        config = sessions.config(user="c-2291", thread_id=thread)
        state = graph_on(sessions).get_state(config)
        assert [message.text for message in state.values["messages"]] == ["Hello", "Yes."]
        assert len(sessions.history("c-2291", thread)) == 3
    return threads


def count_of_history(pipe: Any, directory: str, thread: str) -> None:
    with open_sessions(directory) as sessions:
        pipe.send(len(sessions.history("c-2291", thread)))


def test_reading_beside_ones_own_writing_leaves_the_log_to_the_writer(tmp_path: Path) -> None:
    """Another process that closes the file would take the log away, and with it what follows."""
    with open_sessions(tmp_path) as writing:
        found = []
        for _ in range(2):
            run(writing, "t")
            with open_sessions(tmp_path, read_only=True) as reading:
                assert [each.thread_id for each in reading.list("c-2291")] == ["t"]
            context = multiprocessing.get_context("spawn")
            pipe, theirs = context.Pipe()
            process = context.Process(target=count_of_history, args=(theirs, str(tmp_path), "t"))
            process.start()
            found.append(pipe.recv())
            process.join()
    assert found == [3, 6]


def test_each_read_sees_what_a_writing_process_wrote_and_a_kill_left(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    pipe, theirs = context.Pipe()
    process = context.Process(target=keep_writing, args=(theirs, str(tmp_path)), daemon=True)
    process.start()
    theirs.close()
    pipe.recv()
    with open_sessions(tmp_path, read_only=True) as sessions:
        for number in range(1, 20):
            before = traces(tmp_path)
            assert read_all(sessions) == [f"t{i:03}" for i in range(number)]
            assert traces(tmp_path) == before
            pipe.send(None)
            assert pipe.recv() == number
        process.kill()
        process.join()
        there = traces(tmp_path)
        assert len(read_all(sessions)) == 20
    with open_sessions(tmp_path, read_only=True) as sessions:
        assert len(read_all(sessions)) == 20
    assert traces(tmp_path) == there
    os.remove(tmp_path / "sessions.sqlite-shm")  # as of a folder that was copied by hand
    there = traces(tmp_path)
    with open_sessions(tmp_path, read_only=True) as sessions:
        assert len(read_all(sessions)) == 20
    assert traces(tmp_path) == there


async def test_what_would_write_is_refused_and_what_is_closed_is_read(tmp_path: Path) -> None:
    with open_sessions(tmp_path) as sessions:
        run(sessions, "monday")
    there = traces(tmp_path)
    async with open_sessions(tmp_path, read_only=True) as sessions:
        assert read_all(sessions) == ["monday"]
        assert [session.title for session in await sessions.alist("c-2291")] == ["Hello"]
        with pytest.raises(ThreadOwnerError):
            sessions.history("another", "monday")
        for call in (
            lambda: run(sessions, "monday"),
            lambda: run(sessions, "tuesday"),
            lambda: sessions.fork("c-2291", "monday"),
            lambda: sessions.delete("c-2291", "monday"),
            lambda: sessions.adopt("c-2291", "monday"),
            lambda: sessions.prune(older_than=timedelta(0)),
        ):
            with pytest.raises(ConfigurationError, match="read_only=True"):
                call()
        assert traces(tmp_path) == there
        with open_sessions(tmp_path) as writer:
            run(writer, "tuesday")
            assert len(read_all(sessions)) == 2
        assert len(read_all(sessions)) == 2
    with pytest.raises(StoreError, match="no sessions in"):
        open_sessions(tmp_path / "nothing", read_only=True)
    assert not (tmp_path / "nothing").exists()


def test_a_file_that_is_gone_is_told_from_one_that_never_was(tmp_path: Path) -> None:
    with open_sessions(tmp_path) as sessions:
        run(sessions, "monday")
    (tmp_path / "sessions.sqlite").unlink()
    with pytest.raises(StoreError, match="it held threads, and is gone"):
        open_sessions(tmp_path, read_only=True)
