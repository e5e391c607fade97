"""Work in the background: done in order, once, without anybody waiting, and never dropped."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, ConfigurationError, Memory
from langgraph_memory.memory.background import Key, Worker
from langgraph_memory.notes.extraction_batch import Processed
from langgraph_memory.testing import HashingEmbeddings

ROOT = Path(__file__).parents[2]
LONG = 60.0
"""Seconds; what waits for so long is broken."""
NEVER = 60 * LONG
"""Seconds; what begins within a test has not waited for so long."""


class Watched(Memory):
    """A memory that notes whose turns it processes, and does what a test wants meanwhile."""

    def __init__(self, *args: Any, meanwhile: Callable[..., Any] = lambda *_: None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.processed: list[tuple[str, str]] = []
        self.meanwhile = meanwhile

    def process_turn(self, user: str, thread_id: str) -> Processed:
        self.processed.append((user, thread_id))
        self.meanwhile(user, thread_id)
        return Processed()


class Gate:
    """Work that says that it has begun, and goes on when it is let."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self, *_: object) -> None:
        self.begun.set()
        assert self.open.wait(LONG)


def key(thread: str = "t", user: str = "ana") -> Key:
    return Key(user, thread, 0)


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Opened at the end of a test, whatever happens."""
    gate = Gate()
    yield gate
    gate.open.set()


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "background" in thread.name]


# -- the order of things -------------------------------------------------------------------------


def test_work_is_not_waited_for(gate: Gate) -> None:
    worker = Worker(debounce=0)
    worker.submit(key(), gate)
    assert gate.begun.wait(LONG)
    assert not worker.flush(timeout=0)
    gate.open.set()
    assert worker.flush(LONG)


def test_work_is_done_in_the_order_in_which_it_was_asked_for() -> None:
    worker, done = Worker(debounce=NEVER), list[int]()
    for number in range(50):
        worker.submit(key(str(number)), partial(done.append, number))
    assert worker.flush(LONG)
    assert done == list(range(50))


def test_work_asked_for_while_it_is_done_is_done_once_more(gate: Gate) -> None:
    """What was said after it looked at the messages is not overlooked."""
    worker, done = Worker(debounce=0), list[str]()
    worker.submit(key(), gate)
    assert gate.begun.wait(LONG)
    worker.submit(key(), lambda: done.append("again"))
    gate.open.set()
    assert worker.flush(LONG)
    assert done == ["again"]


def test_two_hundred_turns_of_a_thread_are_processed_together(gate: Gate) -> None:
    with Watched(InMemoryStore(), meanwhile=gate, debounce=0) as memory:
        memory.process_later("ana", "t")
        assert gate.begun.wait(LONG)
        for _ in range(200):
            memory.process_later("ana", "t")
        gate.open.set()
        assert memory.flush(LONG)
        assert memory.processed == [("ana", "t")] * 2


def test_turns_wait_for_further_ones_as_long_as_they_were_told_to() -> None:
    with Watched(InMemoryStore(), debounce=NEVER) as memory:
        for _ in range(3):
            memory.process_later("ana", "t")
        assert memory.processed == []
        assert memory.flush()
        assert memory.processed == [("ana", "t")]


def test_turns_are_processed_without_being_asked_for_again() -> None:
    done = threading.Event()
    with Watched(InMemoryStore(), meanwhile=lambda *_: done.set(), debounce=0.01) as memory:
        memory.process_later("ana", "t")
        assert done.wait(LONG)


def test_users_and_threads_that_look_alike_are_kept_apart() -> None:
    names = [("ana", "t"), ("ana", "t2"), ("an", "at"), ("bo", "t"), ("", "anat")]
    with Watched(InMemoryStore(), debounce=NEVER) as memory:
        for name in names * 2:
            memory.process_later(*name)
        assert memory.flush(LONG)
        assert memory.processed == names


def test_one_thread_does_the_work_and_ends_when_there_is_none() -> None:
    before, during = set(workers()), set[threading.Thread]()
    with Watched(
        InMemoryStore(), meanwhile=lambda *_: during.add(threading.current_thread())
    ) as memory:
        assert set(workers()) == before
        for number in range(20):
            memory.process_later("ana", str(number))
        assert memory.flush(LONG)
    [thread] = during
    thread.join(LONG)
    assert set(workers()) <= before


def test_each_thread_asking_at_once_gets_its_work_done_and_no_two_do_the_same() -> None:
    """Also those who do it themselves, since the queue is full."""
    worker = Worker(debounce=0, capacity=2)
    asked: dict[Key, int] = {}
    seen: dict[Key, int] = {}
    busy = {key(str(number)): threading.Lock() for number in range(8)}

    def work(about: Key) -> None:
        assert busy[about].acquire(blocking=False)
        seen[about] = asked[about]
        busy[about].release()

    def ask(about: Key) -> None:
        for number in range(100):
            asked[about] = number
            worker.submit(about, lambda: work(about))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, busy))
    assert worker.flush(LONG)
    assert seen == dict.fromkeys(busy, 99)


# -- waiting for it ------------------------------------------------------------------------------


async def test_flush_waits_until_work_has_ended(gate: Gate) -> None:
    with Watched(InMemoryStore(), meanwhile=gate, debounce=0) as memory:
        await memory.aprocess_later("ana", "t")
        assert not memory.flush(0.01)
        assert not await memory.aflush(0.01)
        waiting = asyncio.create_task(memory.aflush())
        assert not waiting.done()
        gate.open.set()
        assert await waiting
        assert memory.flush(0)
        assert await memory.aflush(0)


async def test_flush_does_not_wait_for_what_comes_after_it(gate: Gate) -> None:
    """With users who never stop talking it would wait for ever."""
    worker, later = Worker(debounce=0), Gate()
    worker.submit(key("first"), gate)
    flushed = asyncio.create_task(worker.aflush(LONG))
    await asyncio.sleep(0)  # until it waits
    worker.submit(key("second"), later)
    gate.open.set()
    assert await flushed
    assert not worker.flush(0)
    later.open.set()
    assert worker.flush(LONG)


async def test_a_flush_that_is_cancelled_leaves_nothing_behind_that_waits(gate: Gate) -> None:
    with Watched(InMemoryStore(), meanwhile=gate, debounce=0) as memory:
        await memory.aprocess_later("ana", "t")
        threads = threading.active_count()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(memory.aflush(), 0.01)
        assert threading.active_count() == threads
        gate.open.set()


def test_work_that_waits_for_itself_is_told_so(gate: Gate) -> None:
    worker, found = Worker(debounce=0), list[bool]()
    worker.submit(key(), lambda: found.append(worker.flush()))
    assert worker.flush(LONG)
    assert found == [False]


def test_work_may_ask_for_work() -> None:
    worker, done = Worker(debounce=0, capacity=1), list[str]()

    def first() -> None:
        worker.submit(key("second"), lambda: done.append("second"))
        worker.submit(key("third"), lambda: done.append("third"))
        worker.submit(key("first"), lambda: done.append("first again"))

    worker.submit(key("first"), first)
    assert worker.flush(LONG)
    assert worker.flush(LONG)
    assert sorted(done) == ["first again", "second", "third"]


@pytest.mark.parametrize("prefix", ["", "a"])
async def test_close_finishes_the_work_and_then_closes_the_store(prefix: str) -> None:
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    kept: list[str] = []

    def keep(user: str, thread_id: str) -> None:
        kept.append(memory.remember(f"{user} spoke in {thread_id}", user=user).record.text)

    memory = Watched(store, meanwhile=keep, debounce=NEVER)
    memory.process_later("ana", "monday")
    memory.process_later("bo", "tuesday")
    if prefix:
        await memory.aclose()
    else:
        memory.close()
    assert kept == ["ana spoke in monday", "bo spoke in tuesday"]
    with pytest.raises(ConfigurationError, match="closed"):
        store.get(("x",), "y")


def test_close_gives_up_after_a_while_and_says_what_is_left(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("langgraph_memory.memory.base.DRAIN_SECONDS", 0.01)
    memory = Watched(InMemoryStore(), meanwhile=gate, debounce=0)
    for number in range(10):
        memory.process_later("ana", f"t{number}")
    assert gate.begun.wait(LONG)
    memory.close()
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "10 jobs" in record.getMessage()
    assert "extraction of 't0' of user 'ana'" in record.getMessage()
    gate.open.set()
    assert memory.flush(LONG)
    assert memory.processed == [("ana", "t0")]


# -- when it goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, SystemExit, asyncio.CancelledError])
def test_work_that_fails_is_logged_and_the_next_is_done(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def meanwhile(user: str, thread_id: str) -> None:
        if user == "ana":
            raise error("no model today")

    with Watched(InMemoryStore(), meanwhile=meanwhile, debounce=0) as memory:
        for user in ("ana", "bo", "ana"):
            memory.process_later(user, "monday")
            assert memory.flush(LONG)
        assert [user for user, _ in memory.processed] == ["ana", "bo", "ana"]
    failed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(failed) == 2
    assert "'monday' of user 'ana'" in failed[0].getMessage()
    assert "no model today" in caplog.text


def test_what_was_done_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "langgraph_memory.memory.background")
    with Watched(InMemoryStore()) as memory:
        memory.process_later("ana", "monday")
    assert "'monday' of user 'ana'" in caplog.text


@pytest.mark.parametrize("debounce", [-1, float("nan"), float("inf"), "1", None])
def test_an_impossible_debounce_is_refused(debounce: Any) -> None:
    with pytest.raises(ConfigurationError, match="debounce"):
        Memory(InMemoryStore(), debounce=debounce)


# -- more than can be done -----------------------------------------------------------------------


def test_a_full_queue_stays_as_it_is_and_who_brings_more_does_it(gate: Gate) -> None:
    worker, done = Worker(debounce=0, capacity=10), list[tuple[int, bool]]()
    main = threading.current_thread()

    def work(number: int) -> None:
        done.append((number, threading.current_thread() is main))

    worker.submit(key("slow"), gate)
    assert gate.begun.wait(LONG)
    for number in range(1_000):
        worker.submit(key(str(number)), partial(work, number))
    assert done == [(number, True) for number in range(10, 1_000)]
    assert len(worker._waiting) == 10
    gate.open.set()
    assert worker.flush(LONG)
    assert done[990:] == [(number, False) for number in range(10)]


def test_what_a_caller_does_is_not_begun_again_before_it_has_ended(gate: Gate) -> None:
    """Nor does the worker stand still meanwhile."""
    worker, inline, other, again = Worker(debounce=0, capacity=1), Gate(), Gate(), Gate()
    other.open.set()
    again.open.set()
    worker.submit(key("busy"), gate)
    assert gate.begun.wait(LONG)
    worker.submit(key("full"), lambda: None)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(worker.submit, key("talk"), inline)
        assert inline.begun.wait(LONG)
        worker.submit(key("talk"), again)
        worker.submit(key("busy"), other)
        gate.open.set()
        assert other.begun.wait(LONG)
        assert not again.begun.is_set()
        inline.open.set()
    assert worker.flush(LONG)
    assert again.begun.is_set()


async def test_the_event_loop_goes_on_while_a_full_queue_is_worked_around(gate: Gate) -> None:
    worker, inline = Worker(debounce=0, capacity=0), Gate()
    asking = asyncio.create_task(worker.asubmit(key(), inline))
    await asyncio.to_thread(inline.begun.wait, LONG)
    assert not asking.done()
    assert not await worker.aflush(0.01)
    inline.open.set()
    await asking
    assert await worker.aflush(LONG)


def test_an_error_of_work_that_the_caller_does_is_not_the_callers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt  # not a signal: where a shell started it, it may ignore that

    worker = Worker(capacity=0)
    worker.submit(key(), lambda: 1 / 0)
    assert "ZeroDivisionError" in caplog.text
    with pytest.raises(KeyboardInterrupt):
        worker.submit(key(), interrupted)
    assert worker.flush(0)


# -- where it is called from ---------------------------------------------------------------------


def test_work_knows_nothing_of_the_run_that_asked_for_it() -> None:
    """A run's stream and callbacks are in the context, and may have ended."""
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nothing")
    name.set("a run")
    found: list[str] = []
    for capacity in (0, 1):
        worker = Worker(debounce=0, capacity=capacity)
        worker.submit(key(), lambda: found.append(name.get()))
        assert worker.flush(LONG)
    assert found == ["nothing"] * 2


def test_event_loops_come_and_go() -> None:
    def process(user: str, thread_id: str) -> None:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        memory.remember(f"{user} spoke in {thread_id}", user=user)

    with Watched(
        ChromaStore.in_memory(embed=HashingEmbeddings()), meanwhile=process, debounce=0.01
    ) as memory:

        async def turn(thread: str, *, flush: bool) -> None:
            await memory.aprocess_later("ana", thread)
            if flush:
                assert await memory.aflush(LONG)

        asyncio.run(turn("one", flush=False))  # the loop ends before the work
        asyncio.run(turn("two", flush=True))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, turn("three", flush=False)).result()
        memory.process_later("ana", "four")
        assert memory.flush(LONG)
        notes = {note.text for note in memory.list(user="ana")}
        assert notes == {f"ana spoke in {thread}" for thread in ("one", "two", "three", "four")}


def test_a_memory_that_uses_the_stores_of_its_runs_writes_to_each() -> None:
    stores = [InMemoryStore(), InMemoryStore()]
    written: list[int] = []

    class Bound(Memory):
        def process_turn(self, user: str, thread_id: str) -> Processed:
            written.append(stores.index(self.store))  # type: ignore[arg-type]  # it is one of them
            return Processed()

    memory = Bound(debounce=NEVER)
    for store in stores * 2:
        memory.using(store).process_later("ana", "t")
    assert memory.flush(LONG)
    assert written == [0, 1]


# -- when the process ends -----------------------------------------------------------------------

PRELUDE = """
    import os, signal, sys, threading, time
    from langchain_core.runnables import RunnableLambda, RunnableParallel
    from langgraph.store.memory import InMemoryStore
    import langgraph_memory.memory.background
    from langgraph_memory import ChromaStore, Memory
    from langgraph_memory.testing import HashingEmbeddings
    from langgraph_memory.notes import Processed

    def say(*words):
        # In one system call: two memories' threads may print at once.
        os.write(1, " ".join(map(str, words)).encode() + b"\\n")

    class Printing(Memory):
        def process_turn(self, user, thread_id):
            # As a model with structured output does it: in a pool of threads.
            both = RunnableParallel(a=RunnableLambda(lambda x: x), b=RunnableLambda(lambda x: x))
            say(user, thread_id, sorted(both.invoke(1)))
            return Processed()
"""


def script(body: str, *args: str, warnings: str = "error") -> subprocess.CompletedProcess[str]:
    code = textwrap.dedent(PRELUDE) + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-W", warnings, "-c", code, *args],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


no_threads_at_exit = pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 3),
    reason="Python 3.12.0 to .2 start no thread once a script has ended (CPython issue 113964)",
)


@pytest.mark.slow
@no_threads_at_exit
def test_a_script_that_fails_ends_when_its_work_is_done() -> None:
    """Its last turns are processed, with models that use threads, however long they may wait."""
    done = script("""
        memory, another = Printing(InMemoryStore(), debounce=3600), Printing(InMemoryStore())
        memory.process_later("ana", "one")
        memory.process_later("ana", "two")
        another.process_later("bo", "three")
        raise ValueError("but")
    """)
    assert sorted(done.stdout.splitlines()) == [
        "ana one ['a', 'b']",
        "ana two ['a', 'b']",
        "bo three ['a', 'b']",
    ]
    assert done.stderr.endswith("ValueError: but\n")


@pytest.mark.slow
@no_threads_at_exit
def test_a_script_ends_although_work_does_not() -> None:
    done = script("""
        langgraph_memory.memory.background.DRAIN_SECONDS = 1.5

        class Hanging(Memory):
            def process_turn(self, user, thread_id):
                say("begun")
                threading.Event().wait()

        memory = Hanging(InMemoryStore(), debounce=0)
        memory.process_later("ana", "monday")
        Printing(InMemoryStore(), debounce=3600).process_later("bo", "tuesday")
    """)
    assert sorted(done.stdout.splitlines()) == ["begun", "bo tuesday ['a', 'b']"]
    assert done.returncode == 0
    assert "not done within" in done.stderr
    assert "'monday' of user 'ana'" in done.stderr


@pytest.mark.slow
def test_a_script_that_never_closed_its_memory_finds_all_of_it_again(tmp_path: Path) -> None:
    done = script(
        """
        class Noting(Memory):
            def process_turn(self, user, thread_id):
                self.remember("Drinks decaf after noon", user=user)
                return Processed()

        memory = Noting(ChromaStore(sys.argv[1], embed=HashingEmbeddings()))
        memory.log_turn([("user", "Only decaf after noon, please")], user="ana", thread_id="t")
        memory.process_later("ana", "t")
        """,
        str(tmp_path),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        assert [note.text for note in memory.list(user="ana")] == ["Drinks decaf after noon"]


def test_a_killed_process_leaves_what_was_said_to_be_processed(tmp_path: Path) -> None:
    done = script(
        """
        class Killed(Memory):
            def process_turn(self, user, thread_id):
                os.kill(os.getpid(), signal.SIGKILL)

        memory = Killed(ChromaStore(sys.argv[1], embed=HashingEmbeddings()), debounce=0)
        memory.log_turn([("user", "Only decaf after noon, please")], user="ana", thread_id="t")
        memory.process_later("ana", "t")
        memory.flush()
        print("not reached")
        """,
        str(tmp_path),
    )
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == ""
    with Watched(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        [message] = memory.list(user="ana", types=("message",))
        assert message.text == "Only decaf after noon, please"
        memory.process_later("ana", "t")
        assert memory.flush(LONG)
        assert memory.processed == [("ana", "t")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_leaves_its_parents_work_alone_and_can_do_its_own() -> None:
    done = script(
        """
        class Slow(Memory):
            def process_turn(self, user, thread_id):
                begun.set()
                may_end.wait(60)
                say(user, thread_id)
                return Processed()

        begun, may_end = threading.Event(), threading.Event()
        memory = Slow(InMemoryStore(), debounce=0)
        memory.process_later("ana", "parent")
        memory.process_later("ana", "parent too")
        begun.wait(60)
        child = os.fork()
        may_end.set()
        if child == 0:
            assert memory.flush(0)
            memory.process_later("bo", "child")
            memory.flush(60)
            os._exit(0)
        os.waitpid(child, 0)
        """,
        warnings="ignore",  # forking beside threads is deprecated
    )
    assert done.stderr == ""
    assert sorted(done.stdout.splitlines()) == ["ana parent", "ana parent too", "bo child"]
