"""Agents that go on while the server of their memory is away: a real one, killed and started."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_memory import (
    ChromaStore,
    EpisodeRecorder,
    Memory,
    Note,
    Outbox,
    SavingReply,
    deliver_outbox,
)
from langgraph_memory.errors import StoreAwayError, StoreError
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.chroma.support import Child
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    SURFACES,
    Shape,
    Way,
    as_user,
    episodes,
    everything,
    noting,
    said,
    say,
    wrapped,
    wrapped_node,
)
from tests.servers import BINARY, ChromaServer

pytestmark = pytest.mark.skipif(
    not BINARY.exists(),
    reason="the program `chroma`, which comes with chromadb, is not beside Python",
)

SECRET = "sk-proj-Zx81mQp0Ld7TgYw2Vb6NcRk4"
TOLD = ["I moved to Córdoba.", f"Ship it, my key is {SECRET}", "Order two kilos of Sidamo."]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChromaServer]:
    """A server of its own, which is there."""
    server = ChromaServer(tmp_path / "server")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Start functions in processes of their own; all are gone at the end of the test."""
    started: list[Child] = []

    def start(target: Callable[..., None], *args: Any) -> Child:
        started.append(Child(target, *args))
        return started[-1]

    yield start
    for process in started:
        process.clean_up()


def opened(url: str, path: Path, **options: Any) -> Memory:
    """Open a memory that gives up on its server at the first attempt."""
    store = ChromaStore(url, patience=0, embed=HashingEmbeddings())
    return Memory(store, outbox=path / "outbox.db", **options)


def delivered(memory: Memory) -> bool:
    """Wait until nothing waits any more."""
    assert memory.outbox is not None
    deadline = time.monotonic() + 60
    while memory.outbox.count():
        assert time.monotonic() < deadline, "it is not delivered"
        time.sleep(0.02)
    return memory.flush(60)


# -- a run goes on, and nothing is lost -----------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("nodes", "invoke"),
        ("with_memory", "ainvoke"),
        ("middleware", "invoke"),
        ("middleware", "ainvoke"),
    ],
    indirect=["call"],
)
async def test_a_thread_is_kept_as_if_the_server_had_not_been_away(
    server: ChromaServer, tmp_path: Path, kind: str, call: Way
) -> None:
    """Every record, its id, time and place: of turns before, during and after."""

    async def talk(memory: Memory, clock: ManualClock, away: bool) -> list[Any]:
        model = noting()
        builder = SURFACES[kind](memory, model, is_async=call.is_async)
        graph = builder.compile(checkpointer=InMemorySaver())
        waited = []
        for turn, text in enumerate([ORDER, *TOLD, AGAIN]):
            if away and turn == 1:
                server.kill()
            if away and turn == 4:
                server.start()
            clock.advance(minutes=1)
            given = say(text, id=f"user-{turn}", additional_kwargs={"ignored": SECRET})
            state = await call(graph, given, as_user("ana", "t"))
            assert state["messages"][-1].text == "Noted, thank you."
            waited.append(memory.outbox.count() if memory.outbox else 0)
        if away:
            assert 0 not in waited[1:4]
            delivered(memory)
        return [
            (said(memory, "ana"), [record.created_at for record in told(memory)]),
            [(e.task, e.outcome, e.created_at, e.duration_ms) for e in episodes(memory, "ana")],
        ]

    clock = ManualClock()
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), clock=clock) as never_away:
        expected = await talk(never_away, clock, away=False)
    clock = ManualClock()
    with opened(server.url, tmp_path, clock=clock) as memory:
        assert await talk(memory, clock, away=True) == expected
        assert len(expected[0][0]) == 10


def told(memory: Memory) -> list[Any]:
    found = memory.list(user="ana", types=("message",), limit=1_000)
    return sorted(found, key=lambda message: (message.created_at, message.position))


async def test_a_run_says_that_it_waits_and_does_not_wait_for_the_server_again(
    server: ChromaServer,
    tmp_path: Path,
    call: Way,
    surface: Shape,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with opened(server.url, tmp_path) as memory:
        graph = surface(memory, noting(), is_async=call.is_async).compile()
        server.kill()
        with caplog.at_level(logging.WARNING):
            stream = graph.astream if call.is_async else graph.stream
            events = await everything(stream, say(ORDER), as_user("ana", "t"), "custom")
            await call(graph, say(AGAIN), as_user("ana", "u"))
        kinds = [event["type"] for event in events]
        assert kinds.count("memory.saved") == 0
        assert kinds.count("memory.waiting") >= 1
        assert kinds[-1] == "memory.waiting"
        assert kinds.count("memory.failed") <= 3  # a recall, and one attempt to save
        said_once = [text for text in caplog.messages if "waits in" in text]
        assert len(said_once) == 1
        assert server.url in said_once[0]


async def test_an_event_loop_is_not_held_while_the_server_is_away(
    server: ChromaServer, tmp_path: Path
) -> None:
    with opened(server.url, tmp_path) as memory:
        graph = SURFACES["with_memory"](memory, noting(), is_async=True).compile()
        await graph.ainvoke(say(ORDER), as_user("ana", "t"))
        await asyncio.to_thread(server.kill)
        with blockbuster_ctx():
            for _ in range(2):
                await graph.ainvoke(say(AGAIN), as_user("ana", "t"))
        assert memory.outbox is not None
        assert memory.outbox.count() > 0


async def test_a_proposed_note_waits_too_and_is_extracted_from_once(
    server: ChromaServer, tmp_path: Path
) -> None:
    reply = SavingReply(reply="Noted.", save_to_memory="The user lives in Córdoba")
    model = ScriptedChatModel([reply.model_dump_json()] * 3)
    with opened(server.url, tmp_path) as memory:
        graph = wrapped(memory, model, from_reply=True).compile()
        server.kill()
        graph.invoke(say(TOLD[0]), as_user("ana", "t"))
        server.start()
        assert delivered(memory)
        [note] = memory.list(user="ana", types=("note",))
        assert isinstance(note, Note)
        assert (note.text, note.mentions) == ("The user lives in Córdoba", 1)
        assert len(note.sources) == 1
        assert said(memory, "ana") == [f"user: {TOLD[0]}", "assistant: Noted."]


@pytest.mark.parametrize("kind", ["nodes", "middleware"])
def test_a_memory_that_uses_the_store_of_its_graph_has_an_outbox_too(
    server: ChromaServer, tmp_path: Path, kind: str
) -> None:
    with (
        ChromaStore(server.url, patience=0, embed=HashingEmbeddings()) as store,
        Memory(outbox=tmp_path / "outbox.db") as memory,
    ):
        graph = SURFACES[kind](memory, noting()).compile(store=store)
        graph.invoke(say(ORDER), as_user("ana", "t"))
        server.kill()
        graph.invoke(say(AGAIN), as_user("ana", "u"))
        server.start()
        bound = memory.using(store)
        delivered(bound)
        assert len(said(bound, "ana")) == 4


@pytest.mark.slow
def test_a_recorders_episode_waits(server: ChromaServer, tmp_path: Path) -> None:
    with opened(server.url, tmp_path) as memory:

        def fail(state: Any) -> Any:
            raise RuntimeError("the shop is closed")

        graph = wrapped_node(memory, fail).compile()
        config: Any = as_user("ana", "t") | {
            "callbacks": [EpisodeRecorder(memory, user="ana")],
        }
        server.kill()
        with pytest.raises(RuntimeError, match="closed"):
            graph.invoke(say(ORDER), config)
        server.start()
        delivered(memory)
        [episode] = episodes(memory, "ana")
        assert (episode.task, episode.outcome) == (ORDER, "failure")
        assert said(memory, "ana") == [f"user: {ORDER}"]


# -- processes that end ---------------------------------------------------------------------------


def run_and_be_killed(pipe: Any, url: str, path: Path) -> None:
    """Begin when told to, and end without any notice after two turns."""
    memory = opened(url, path)
    graph = wrapped(memory, noting()).compile(checkpointer=InMemorySaver())
    pipe.send("ready")
    pipe.recv()
    for text in (ORDER, AGAIN):
        graph.invoke(say(text), as_user("ana", "t"))
    pipe.send(memory.outbox.count())  # type: ignore[union-attr]
    os.kill(os.getpid(), signal.SIGKILL)


def deliver_and_be_killed(pipe: Any, url: str, path: Path, entries: int) -> None:
    """End between delivering an entry and removing it."""
    memory = opened(url, path)
    outbox: Any = memory.outbox
    remove, left = outbox.remove, [entries]

    def removed(entry: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        remove(entry)

    outbox.remove = removed
    deliver_outbox(memory)


@pytest.mark.parametrize(
    "entries", [1, 3, *(pytest.param(entries, marks=pytest.mark.slow) for entries in (0, 2))]
)
def test_a_process_killed_at_any_entry_leaves_nothing_out_and_nothing_double(
    server: ChromaServer, tmp_path: Path, child: Callable[..., Child], entries: int
) -> None:
    first = child(run_and_be_killed, server.url, tmp_path)
    assert first.receive() == "ready"
    server.kill()
    first.pipe.send("go on")
    waiting = first.receive()
    assert waiting == 4  # a turn's beginning, and its end
    server.start()
    second = child(deliver_and_be_killed, server.url, tmp_path, entries)
    second._process.join()
    assert second.exitcode == -signal.SIGKILL
    with opened(server.url, tmp_path) as memory:
        assert memory.outbox is not None
        assert memory.outbox.count() == waiting - entries
        wrapped(memory, noting())  # a graph is built: what waits is delivered
        delivered(memory)
        assert said(memory, "ana") == [
            f"user: {ORDER}",
            "assistant: Noted, thank you.",
            f"user: {AGAIN}",
            "assistant: Noted, thank you.",
        ]
        assert [episode.task for episode in episodes(memory, "ana")] == [ORDER, AGAIN]
        assert deliver_outbox(memory) == 0


# -- what must not be there -----------------------------------------------------------------------


def test_no_secret_and_nothing_that_was_erased_is_in_the_file(
    server: ChromaServer, tmp_path: Path
) -> None:
    with opened(server.url, tmp_path) as memory:
        model = ScriptedChatModel([AIMessage(f"I will not say {SECRET}")] * 4)
        graph = SURFACES["middleware"](memory, model).compile()
        server.kill()
        for user in ("ana-4711", "bo-4712"):
            graph.invoke(say(f"{TOLD[1]}, says {user}"), as_user(user, "t"))
        assert memory.outbox is not None
        content = memory.outbox.path.read_bytes()
        assert SECRET.encode() not in content
        assert b"says ana-4711" in content
        with pytest.raises(StoreAwayError):
            memory.forget(user="ana-4711", everything=True)
        assert b"ana-4711" not in memory.outbox.path.read_bytes()
        assert memory.outbox.count("bo-4712") == memory.outbox.count() > 0
        server.start()
        delivered(memory)
        assert said(memory, "ana-4711") == []
        assert len(said(memory, "bo-4712")) == 2
        assert b"4712" not in memory.outbox.path.read_bytes()


async def test_a_full_outbox_is_an_error_of_the_run_and_keeps_what_it_has(
    server: ChromaServer, tmp_path: Path, call: Way
) -> None:
    store = ChromaStore(server.url, patience=0, embed=HashingEmbeddings())
    outbox = Outbox(tmp_path / "outbox.db", max_entries=2)
    with Memory(store, outbox=outbox) as memory:
        graph = wrapped(memory, noting(), is_async=call.is_async).compile()
        server.kill()
        await call(graph, say(ORDER), as_user("ana", "t"))
        with pytest.raises(StoreError, match="full"):
            await call(graph, say(AGAIN), as_user("ana", "u"))
        assert outbox.count() == 2
        server.start()
        delivered(memory)
        assert said(memory, "ana") == [f"user: {ORDER}", "assistant: Noted, thank you."]


@pytest.mark.slow
def test_a_whole_history_waits_once(server: ChromaServer, tmp_path: Path) -> None:
    """A thread of a thousand messages does not fill the file with each turn."""
    with opened(server.url, tmp_path) as memory:
        graph = wrapped(memory, noting(40)).compile(checkpointer=InMemorySaver())
        server.kill()
        history = [("user" if i % 2 == 0 else "assistant", f"message {i}") for i in range(600)]
        sizes = []
        for turn in range(3):
            given: Any = {
                "messages": [*history, ("user", ORDER)] if turn == 0 else [("user", AGAIN)]
            }
            graph.invoke(given, as_user("ana", "t"))
            assert memory.outbox is not None
            with memory.outbox._opened() as file:
                sizes.append(file.execute("SELECT total(bytes) FROM entry").fetchone()[0])
        first, *later = [after - before for before, after in zip([0, *sizes], sizes, strict=False)]
        assert all(size < first / 20 for size in later)
        server.start()
        delivered(memory)
        assert len(said(memory, "ana")) == 600 + 6
