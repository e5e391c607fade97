"""Backups made while everything is in use: whole, opened like any other folder, or not there."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Memory,
    Sessions,
    StoreError,
    StoreLockedError,
    open_sessions,
)
from langgraph_memory.files.directory_lock import DirectoryLock
from langgraph_memory.testing import HashingEmbeddings
from tests.chroma.support import rows_refused

EMBED = HashingEmbeddings(64)
USER: dict[str, Any] = {"user": "c-2291"}


def opened(path: Path | str, **options: Any) -> ChromaStore:
    return ChromaStore(path, index={"embed": EMBED, "fields": ["t"]}, **options)


def fill(store: ChromaStore, count: int = 1_100) -> None:
    """Write enough for the index to be written to its files."""
    store.batch([PutOp(("filled",), f"k{i}", {"t": f"word{i}"}) for i in range(count)])


def run(sessions: Sessions, thread: str, text: str) -> list[str]:
    """Let a graph answer in a session; return the texts of its messages."""
    builder = StateGraph(MessagesState)
    builder.add_node("chat", lambda state: {"messages": [AIMessage("Yes.")]})
    builder.add_edge(START, "chat")
    builder.add_edge("chat", END)
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="c-2291", thread_id=thread)
    done = graph.invoke({"messages": [HumanMessage(text)]}, config)
    return [message.text for message in done["messages"]]


def check_whole(path: Path) -> dict[str, str]:
    """Open a backup for writing; return all texts, each of which is found by itself."""
    with opened(path) as store:
        found = {item.key: item.value["t"] for item in store.search((), limit=50_000)}
        for key in sorted(found)[::97]:
            assert store.search((), query=found[key], limit=1)[0].score == pytest.approx(
                1, abs=1e-3
            )
        store.put(("new",), "k", {"t": "still writable"})
    return found


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(opened(tmp_path / "memory")) as memory:
        yield memory


# -- while it is in use ---------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_backup_holds_what_was_acknowledged_before_it_while_an_agent_goes_on(
    memory: Memory, tmp_path: Path
) -> None:
    store = memory.store
    assert isinstance(store, ChromaStore)
    fill(store, 900)
    written = 0
    ended = threading.Event()

    def work() -> None:
        nonlocal written
        with open_sessions(tmp_path / "memory") as sessions:
            while not ended.is_set():
                run(sessions, f"t{written}", "Hello")
                store.put(("live",), f"l{written:05}", {"t": f"term{written}"})
                written += 1

    agent = threading.Thread(target=work)
    agent.start()
    try:
        for number in range(3):
            while written < 20 * number + 1:  # noqa: ASYNC110  # it is a thread that counts
                await asyncio.sleep(0.01)
            before = written
            made = await memory.abackup(tmp_path / f"backup{number}")
            after = written
            assert made.path == tmp_path / f"backup{number}"
            assert made.threads is not None
            assert before <= made.threads <= after + 1
            there = check_whole(made.path)
            live = sorted(key for key in there if key.startswith("l"))
            assert live == [f"l{i:05}" for i in range(len(live))]
            assert before <= len(live) <= after + 1
            assert made.rows == len(there) + 2  # and a row for each namespace
    finally:
        ended.set()
        agent.join()
    with open_sessions(made.path) as sessions:
        assert run(sessions, "t0", "And now?") == ["Hello", "Yes.", "And now?", "Yes."]
    assert sorted(os.listdir(tmp_path)) == ["backup0", "backup1", "backup2", "memory"]


def keep_writing(pipe: Any, directory: str) -> None:
    with opened(directory) as store:
        number = 0
        with suppress(BrokenPipeError, EOFError):
            while not pipe.poll():
                store.put(("live",), f"l{number:05}", {"t": f"term{number}"})
                if number % 50 == 0:
                    fill(store, 600)  # so that the index is written again and again
                number += 1
                pipe.send(number)


def back_up_for_ever(pipe: Any, directory: str, target: str) -> None:
    with Memory(opened(directory)) as memory:
        for number in range(1_000):
            pipe.send(number)
            memory.backup(target)
            shutil.rmtree(target)


def child(target: Any, *args: Any) -> tuple[Any, Any]:
    context = multiprocessing.get_context("forkserver")
    pipe, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *args), daemon=True)
    process.start()
    theirs.close()
    return process, pipe


@pytest.mark.slow
def test_a_process_that_only_reads_backs_up_what_another_writes(tmp_path: Path) -> None:
    process, pipe = child(keep_writing, str(tmp_path / "memory"))
    pipe.recv()
    try:
        with Memory(opened(tmp_path / "memory", read_only=True)) as memory:
            before = pipe.recv()
            while pipe.poll():
                before = pipe.recv()
            made = memory.backup(tmp_path / "backup")
    finally:
        process.kill()
        process.join()
    live = sorted(key for key in check_whole(made.path) if key.startswith("l"))
    assert live == [f"l{i:05}" for i in range(len(live))]
    assert len(live) >= before
    assert made.threads is None


def test_a_write_that_raised_is_not_in_a_backup(memory: Memory, tmp_path: Path) -> None:
    memory.store.put(("n",), "before", {"t": "tea"})
    with rows_refused(tmp_path / "memory"), pytest.raises(StoreError, match="Undecided"):
        memory.store.put(("n",), "failed", {"t": "moka"})
    assert check_whole(memory.backup(tmp_path / "backup").path) == {"before": "tea"}


# -- whole, or not there --------------------------------------------------------------------------


def test_what_is_there_is_never_touched(memory: Memory, tmp_path: Path) -> None:
    memory.remember("Drinks decaf", **USER)
    target = tmp_path / "target"
    target.mkdir()
    assert memory.backup(target).rows == 2
    there = sorted(target.rglob("*"))
    for taken in (target, tmp_path / "memory", Path(__file__)):
        with pytest.raises(ConfigurationError, match="is there already"):
            memory.backup(taken)
    with pytest.raises(ConfigurationError, match="own folder"):
        memory.backup(tmp_path / "memory" / "backup")
    with pytest.raises(ConfigurationError, match="path of a folder"):
        memory.backup(3)  # type: ignore[arg-type]
    assert sorted(target.rglob("*")) == there
    lock = DirectoryLock(tmp_path / ".other.partial")
    lock.acquire()
    with pytest.raises(StoreLockedError):
        memory.backup(tmp_path / "other")
    lock.release()
    assert memory.backup(tmp_path / "other").rows == 2  # where a killed process left something


@pytest.mark.slow
def test_a_kill_leaves_no_half_backup_under_the_name(tmp_path: Path) -> None:
    with opened(tmp_path / "memory") as store:
        fill(store)
    target = tmp_path / "backup"
    for delay in (0.05, 0.4, 0.8, 1.2, 1.6):
        process, pipe = child(back_up_for_ever, str(tmp_path / "memory"), str(target))
        pipe.recv()
        time.sleep(delay)
        process.kill()
        process.join()
        if target.exists() and (target / "chroma.sqlite3").exists():  # else it was being deleted
            with opened(target) as store:
                assert len(store.search((), limit=5_000)) == 1_100
        shutil.rmtree(target, ignore_errors=True)
    with Memory(opened(tmp_path / "memory")) as memory:
        memory.backup(target)
    assert len(check_whole(target)) == 1_100


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("this system does not let the tests mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_named_and_left_as_it_was(memory: Memory, small_disk: Path) -> None:
    store = memory.store
    assert isinstance(store, ChromaStore)
    fill(store)
    with pytest.raises(StoreError, match=r"(?i)full|no space"):
        memory.backup(small_disk / "backup")
    assert list(small_disk.iterdir()) == []
    store.put(("a",), "k", {"t": "goes on"})


# -- what else there is ---------------------------------------------------------------------------


def test_sessions_from_elsewhere_go_along(memory: Memory, tmp_path: Path) -> None:
    memory.remember("Drinks decaf", **USER)
    for number, place in enumerate((":memory:", str(tmp_path / "threads.db"))):
        with open_sessions(place) as sessions:
            run(sessions, "monday", "Hello")
            made = memory.backup(tmp_path / str(number), sessions=sessions)
            assert made.threads == 1
            run(sessions, "tuesday", "Hello")
        with open_sessions(made.path) as sessions:
            assert [session.thread_id for session in sessions.list("c-2291")] == ["monday"]


def test_only_a_folder_is_backed_up(tmp_path: Path) -> None:
    for store in (InMemoryStore(), ChromaStore.in_memory(embed=EMBED)):
        with Memory(store) as memory:
            with pytest.raises(ConfigurationError, match="backup"):
                memory.backup(tmp_path / "backup")
            with pytest.raises(ConfigurationError, match="sessions="):
                Memory(opened(tmp_path / "m")).backup(tmp_path / "b", sessions="x")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_backup_that_has_lost_its_database_is_not_begun_anew(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember("Drinks decaf", **USER)
    made = memory.backup(tmp_path / "backup")
    (made.path / "chroma.sqlite3").unlink()
    with pytest.raises(StoreError, match=r"chroma\.sqlite3"):
        opened(made.path)


def test_the_loss_of_a_backups_sessions_is_noticed(memory: Memory, tmp_path: Path) -> None:
    with open_sessions(tmp_path / "memory") as sessions:
        run(sessions, "t", "Hello")
        made = memory.backup(tmp_path / "backup", sessions=sessions)
    (made.path / "sessions.sqlite").unlink()
    with pytest.raises(StoreError, match=r"sessions\.sqlite"), open_sessions(made.path) as lost:
        lost.list("ana")
