"""Many at once: nothing strays into another memory, nothing is lost, nothing hangs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore

from langgraph_memory import ChromaStore, Memory
from langgraph_memory.errors import LangGraphMemoryError
from langgraph_memory.memory.locks import OWNER_LOCKS, OwnerLocks
from langgraph_memory.records.clock import utc_now
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note
from langgraph_memory.retrieval.recalled import Recalled
from langgraph_memory.testing import HashingEmbeddings

USERS = [f"u{number}" for number in range(50)]
WRITERS = 10


def in_threads(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Do the work for all items, each in a thread of its own, begun at the same moment."""
    barrier = threading.Barrier(len(items))

    def start(item: Any) -> Any:
        barrier.wait(30)
        return work(item)

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(start, items))


def texts(records: Any) -> list[str]:
    return [record.text for record in records]


def notes_of(memory: Memory, user: str = "ana", status: str | None = "active") -> list[Note]:
    records = memory.list(user=user, status=status)
    return [record for record in records if isinstance(record, Note)]


# -- many users ----------------------------------------------------------------------------------


def turn(user: str, number: int = 0) -> list[Any]:
    return [HumanMessage(f"{user} asks", id=f"q{number}"), AIMessage("Yes", id=f"a{number}")]


def check_all_is_there(memory: Memory) -> None:
    for user in USERS:
        assert memory.count(user=user) == {"note": 2, "message": 2, "episode": 1, "document": 0}
        records = memory.list(user=user, types=("note", "message", "episode"), status=None)
        assert {record.owner.id for record in records} == {user}
        assert sorted(text for text in texts(records) if not text.startswith("Task")) == sorted(
            [f"{user} likes tea", f"{user} lives in 0", f"{user} lives in 1", f"{user} asks", "Yes"]
        )
        assert texts(memory.list(user=user, contains="lives")) == [f"{user} lives in 1"]


def test_fifty_users_in_threads_lose_nothing_and_see_nothing_of_each_other(
    chroma_memory: Memory,
) -> None:
    def use(user: str) -> None:
        chroma_memory.remember(f"{user} likes tea", user=user)
        for number in range(2):
            chroma_memory.remember(f"{user} lives in {number}", user=user, slot="home")
        chroma_memory.log_turn(turn(user), user=user, thread_id="t")
        chroma_memory.log_episode(f"{user} did it", user=user, thread_id="t")
        recalled = chroma_memory.recall("likes tea", user=user, min_relevance=0)
        assert {hit.record.owner.id for hit in recalled} == {user}
        assert {record.owner.id for record in recalled.recent} == {user}

    in_threads(use, USERS)
    check_all_is_there(chroma_memory)


@pytest.mark.slow
async def test_fifty_users_in_one_event_loop_lose_nothing_and_see_nothing_of_each_other(
    store: BaseStore,
) -> None:
    async def use(memory: Memory, user: str) -> None:
        await memory.aremember(f"{user} likes tea", user=user)
        for number in range(2):
            await memory.aremember(f"{user} lives in {number}", user=user, slot="home")
        await memory.alog_turn(turn(user), user=user, thread_id="t")
        await memory.alog_episode(f"{user} did it", user=user, thread_id="t")
        recalled = await memory.arecall("likes tea", user=user, min_relevance=0)
        assert {hit.record.owner.id for hit in recalled} == {user}
        assert {record.owner.id for record in recalled.recent} == {user}

    with Memory(store) as memory:
        await asyncio.gather(*(use(memory, user) for user in USERS))
        check_all_is_there(memory)


# -- many users of one project -------------------------------------------------------------------


def check_readings(user: str, recalled: Recalled) -> None:
    """What a user reads is their own, or of the project that was named."""
    records = [*recalled.profile, *recalled.recent, *(hit.record for hit in recalled)]
    owners = {(record.owner.kind, record.owner.id) for record in records}
    assert owners <= {("user", user), ("project", "team")}
    assert f"{user} likes tea" in texts(recalled)


def check_the_team_has_all(memory: Memory) -> None:
    """Nothing is lost, and who wrote what is known, of each version of the one slot too."""
    for user in USERS:
        assert texts(memory.list(user=user, status=None)) == [f"{user} likes tea"]
        assert memory.count(user=user)["message"] == 2
    records = memory.list(user="anybody", project="team", status=None, limit=1_000)
    notes = [note for note in records if isinstance(note, Note)]
    said = {note.text: note.author for note in notes if note.slot is None}
    assert said == {f"{user} says so": user for user in USERS}
    [release] = [note for note in notes if note.slot and note.status == "active"]
    history = memory.history(release.id, user="anybody", project="team")
    assert {note.text: note.author for note in history} == {f"on {u}'s day": u for u in USERS}
    assert [note.version for note in history] == list(range(1, len(USERS) + 1))


def test_fifty_users_in_threads_share_a_project_and_nothing_else(chroma_memory: Memory) -> None:
    def use(user: str) -> None:
        chroma_memory.remember(f"{user} likes tea", user=user)
        chroma_memory.remember(f"{user} says so", user=user, project="team")
        chroma_memory.remember(f"on {user}'s day", slot="release", user=user, project="team")
        chroma_memory.log_turn(turn(user), user=user, thread_id="t")
        asked = f"{user} likes tea"
        recalled = chroma_memory.recall(asked, user=user, project="team", min_relevance=0)
        check_readings(user, recalled)

    in_threads(use, USERS)
    check_the_team_has_all(chroma_memory)


@pytest.mark.slow
async def test_fifty_users_in_one_event_loop_share_a_project_and_nothing_else(
    chroma_memory: Memory,
) -> None:
    memory = chroma_memory

    async def use(user: str) -> None:
        await memory.aremember(f"{user} likes tea", user=user)
        await memory.aremember(f"{user} says so", user=user, project="team")
        await memory.aremember(f"on {user}'s day", slot="release", user=user, project="team")
        await memory.alog_turn(turn(user), user=user, thread_id="t")
        asked = f"{user} likes tea"
        recalled = await memory.arecall(asked, user=user, project="team", min_relevance=0)
        check_readings(user, recalled)

    await asyncio.gather(*map(use, USERS))
    check_the_team_has_all(memory)


# -- many writers of one memory ------------------------------------------------------------------


@pytest.fixture(params=["threads", "tasks", "both"])
def at_once(request: pytest.FixtureRequest) -> Callable[..., Awaitable[list[Any]]]:
    """Call a verb of a memory once for each of some arguments, all at the same time."""

    async def call(memory: Memory, verb: str, calls: Sequence[dict[str, Any]]) -> list[Any]:
        def in_thread(arguments: dict[str, Any]) -> Any:
            return getattr(memory, verb)(**arguments)

        def tasks(arguments: Sequence[dict[str, Any]]) -> list[Awaitable[Any]]:
            return [getattr(memory, f"a{verb}")(**kwargs) for kwargs in arguments]

        if request.param == "tasks":
            return list(await asyncio.gather(*tasks(calls)))
        half = len(calls) if request.param == "threads" else len(calls) // 2
        # A pool of its own: the calls of the event loop need the default one.
        with ThreadPoolExecutor(WRITERS) as pool:
            loop = asyncio.get_running_loop()
            threads = [loop.run_in_executor(pool, in_thread, kwargs) for kwargs in calls[:half]]
            return list(await asyncio.gather(*threads, *tasks(calls[half:])))

    return call


async def test_of_values_set_at_once_for_a_slot_one_is_active_and_none_is_lost(
    chroma_memory: Memory, at_once: Callable[..., Awaitable[list[Any]]]
) -> None:
    said = [f"Lives in city {number}" for number in range(WRITERS)]
    calls = [{"text": text, "user": "ana", "slot": "home city"} for text in said]
    changes = await at_once(chroma_memory, "remember", calls)
    [active] = notes_of(chroma_memory)
    history = notes_of(chroma_memory, status="superseded")
    assert sorted(texts([active, *history])) == sorted(said)
    assert active.version == WRITERS
    versions = {record.id: record.version for record in history}
    assert versions == {f"{active.id}@{number}": number for number in range(1, WRITERS)}
    assert {change.record.id for change in changes} == {active.id}
    assert sorted(change.record.version for change in changes) == list(range(1, WRITERS + 1))


async def test_a_note_said_at_once_is_one_note_with_all_its_mentions(
    chroma_memory: Memory, at_once: Callable[..., Awaitable[list[Any]]]
) -> None:
    calls = [{"text": "Drinks decaf", "user": "ana"}] * WRITERS
    changes = await at_once(chroma_memory, "remember", calls)
    [note] = notes_of(chroma_memory, status=None)
    assert note.mentions == WRITERS
    assert sorted(change.record.mentions for change in changes) == list(range(1, WRITERS + 1))
    assert [change.action for change in changes].count("add") == 1


async def test_notes_of_a_project_said_at_once_by_many_users_are_counted_together(
    chroma_memory: Memory, at_once: Callable[..., Awaitable[list[Any]]]
) -> None:
    calls = [{"text": "Opens at nine", "user": user, "project": "bar"} for user in USERS[:WRITERS]]
    await at_once(chroma_memory, "remember", calls)
    [note] = chroma_memory.recall("opens", user="ana", project="bar").profile
    assert note.mentions == WRITERS


async def test_edits_at_once_are_versions_of_one_note(
    chroma_memory: Memory, at_once: Callable[..., Awaitable[list[Any]]]
) -> None:
    id = chroma_memory.remember("Drinks decaf", user="ana").record.id
    said = [f"Drinks brew {number}" for number in range(WRITERS)]
    calls = [{"id": id, "text": text, "user": "ana"} for text in said]
    await at_once(chroma_memory, "edit", calls)
    [active] = notes_of(chroma_memory)
    assert (active.id, active.version) == (id, WRITERS + 1)
    records = chroma_memory.list(user="ana", status=None)
    assert sorted(texts(records)) == sorted(["Drinks decaf", *said])


async def test_a_turn_logged_at_once_is_kept_once(
    chroma_memory: Memory, at_once: Callable[..., Awaitable[list[Any]]]
) -> None:
    said = {"messages": turn("ana", 1), "user": "ana", "thread_id": "t"}
    await at_once(chroma_memory, "log_turn", [said] * WRITERS)
    assert chroma_memory.count(user="ana") == {"note": 0, "message": 2, "episode": 0, "document": 0}


async def test_forgetting_at_once_deletes_each_record_once(
    chroma_memory: Memory, at_once: Callable[..., Awaitable[list[Any]]]
) -> None:
    for number in range(20):
        chroma_memory.remember(f"note {number}", user="ana")
    calls = [{"user": "ana", "everything": True}] * WRITERS
    receipts = await at_once(chroma_memory, "forget", calls)
    assert sum(len(receipt.ids) for receipt in receipts) == 20
    assert chroma_memory.count(user="ana")["note"] == 0


def test_two_memories_on_one_store_meet_in_one_note() -> None:
    """They share no lock; the note's row is named by its content."""
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    memories = [Memory(store) for _ in range(WRITERS)]
    in_threads(lambda memory: memory.remember("Drinks decaf", user="ana"), memories)
    in_threads(lambda memory: memory.remember("Lima", user="ana", slot="home city"), memories)
    assert sorted(texts(memories[0].list(user="ana"))) == ["Drinks decaf", "Lima"]
    store.close()


def test_a_reader_never_sees_a_slot_with_no_value_or_with_two(chroma_memory: Memory) -> None:
    chroma_memory.remember("Lives in city 0", user="ana", slot="home city")
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(1, 30):
                chroma_memory.remember(f"Lives in city {number}", user="ana", slot="home city")
        finally:
            done.set()

    def read(_: int) -> list[tuple[Note, ...]]:
        seen = []
        while not done.is_set():
            seen.append(chroma_memory.recall("city", user="ana").profile)
        return seen

    with ThreadPoolExecutor(5) as pool:
        readers = [pool.submit(read, number) for number in range(4)]
        pool.submit(write).result()
        profiles = [profile for reader in readers for profile in reader.result()]
    assert {len(profile) for profile in profiles} == {1}


# -- event loops ---------------------------------------------------------------------------------


def test_a_memory_works_in_one_event_loop_after_the_other(chroma_memory: Memory) -> None:
    async def use(number: int) -> None:
        await asyncio.gather(
            *(
                chroma_memory.aremember(f"city {number} {i}", user="ana", slot="home city")
                for i in range(5)
            )
        )
        await chroma_memory.alog_turn(turn("ana", number), user="ana", thread_id="t")
        assert (await chroma_memory.arecall("city", user="ana")).profile

    asyncio.run(use(1))
    asyncio.run(use(2))
    chroma_memory.remember("city", user="ana", slot="home city")
    assert chroma_memory.count(user="ana") == {"note": 1, "message": 4, "episode": 0, "document": 0}
    assert len(chroma_memory.list(user="ana", status="superseded")) == 10


def test_event_loops_in_several_threads_share_a_memory(chroma_memory: Memory) -> None:
    async def use(number: int) -> None:
        await asyncio.gather(
            *(
                chroma_memory.aremember(f"city {number} {i}", user="ana", slot="home city")
                for i in range(3)
            )
        )

    in_threads(lambda number: asyncio.run(use(number)), range(4))
    [note] = notes_of(chroma_memory)
    assert note.version == 12


async def test_the_sync_verbs_work_in_a_running_event_loop(chroma_memory: Memory) -> None:
    chroma_memory.remember("Drinks decaf", user="ana")
    chroma_memory.log_turn("Hello", user="ana", thread_id="t")
    assert texts(chroma_memory.recall("decaf", user="ana")) == ["Drinks decaf"]
    assert len(chroma_memory.forget(user="ana", everything=True).ids) == 2


@dataclass
class Gate:
    """Something that stops whoever comes first, until it is opened."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    armed: bool = False

    def pass_through(self) -> None:
        if self.armed:
            self.armed = False
            self.reached.set()
            assert self.opened.wait(30)

    async def wait_until_reached(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, 30)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


@pytest.fixture
def gated_memory(gate: Gate) -> Iterator[Memory]:
    """A memory whose store stops in the middle of a write, after all reads and embedding."""

    def clock() -> datetime:
        gate.pass_through()
        return utc_now()

    store = ChromaStore.in_memory(embed=HashingEmbeddings(), clock=clock)
    with Memory(store) as memory:
        yield memory


@asynccontextmanager
async def stopped_in_write(
    memory: Memory, gate: Gate, text: str
) -> AsyncIterator[asyncio.Task[Any]]:
    """A call that has come as far as its write; at the end it and its threads finish."""
    gate.armed = True
    task = asyncio.create_task(memory.aremember(text, user="ana", slot="home city"))
    try:
        await gate.wait_until_reached()
        yield task
    finally:
        gate.opened.set()
        await asyncio.wait([task])
        await asyncio.get_running_loop().shutdown_default_executor()


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OWNER_LOCKS, "_loop_timeout", 0.05)


@pytest.mark.usefixtures("short_wait")
async def test_a_sync_call_that_would_block_its_own_event_loop_for_good_is_an_error(
    gated_memory: Memory, gate: Gate
) -> None:
    async with stopped_in_write(gated_memory, gate, "Lives in Lima"):
        with pytest.raises(LangGraphMemoryError, match="await the a-form"):
            gated_memory.remember("Lives in Quito", user="ana", slot="home city")
    assert texts(gated_memory.list(user="ana", status=None)) == ["Lives in Lima"]


async def test_a_sync_call_in_an_event_loop_is_not_stopped_by_another_users_call() -> None:
    """So many that with locks which owners share some would meet."""
    locks = OwnerLocks(loop_timeout=0.05)
    with locks.hold(Owner("user", "ana")):
        for number in range(5_000):
            with locks.hold(Owner("user", f"u{number}")):
                pass


class StoppingEmbeddings(Embeddings):
    """Stops a task that embeds a text with "stop" at its end until it is told to go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        self._embeddings = HashingEmbeddings()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embeddings.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._embeddings.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if any(text.endswith("stop") for text in texts):
            self.reached.set()
            await self.go_on.wait()
        return self.embed_documents(texts)


@pytest.fixture
def stopping() -> StoppingEmbeddings:
    return StoppingEmbeddings()


@pytest.fixture
def stopping_memory(stopping: StoppingEmbeddings) -> Iterator[Memory]:
    """A memory that stops between reading and writing where it is to remember "stop"."""
    with Memory(ChromaStore.in_memory(embed=stopping)) as memory:
        yield memory


async def test_sync_calls_in_the_threads_of_an_event_loop_do_not_lock_an_async_call_out(
    stopping_memory: Memory, stopping: StoppingEmbeddings
) -> None:
    """As many as the loop has threads: the async call needs one of them to go on."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(2))
    first = asyncio.create_task(stopping_memory.aremember("stop", user="ana"))
    await asyncio.wait_for(stopping.reached.wait(), 30)
    others = [
        asyncio.create_task(asyncio.to_thread(stopping_memory.remember, text, user="ana"))
        for text in ("Drinks decaf", "Drinks tea")
    ]
    await asyncio.sleep(0)  # so that both are in the queue of the threads
    stopping.go_on.set()
    _, hanging = await asyncio.wait([first, *others], timeout=3)
    first.cancel()  # lets go of the lock where it hangs, so that the test ends
    await asyncio.wait([first, *others])
    assert not hanging
    assert len(stopping_memory.list(user="ana")) == 3


# -- cancelling ----------------------------------------------------------------------------------


async def test_a_call_that_is_cancelled_before_it_writes_changes_nothing_and_holds_no_lock(
    stopping_memory: Memory, stopping: StoppingEmbeddings
) -> None:
    await stopping_memory.aremember("Lives in Lima", user="ana", slot="home city")
    before = stopping_memory.list(user="ana", status=None)
    task = asyncio.create_task(stopping_memory.aremember("stop", user="ana", slot="home city"))
    await asyncio.wait_for(stopping.reached.wait(), 30)
    task.cancel()
    ended, _ = await asyncio.wait([task], timeout=3)  # an embedder that hangs must not hold it
    stopping.go_on.set()
    await asyncio.wait([task])
    assert ended
    assert task.cancelled()
    assert stopping_memory.list(user="ana", status=None) == before
    stopping_memory.remember("Lives in Quito", user="ana", slot="home city")
    assert [note.version for note in notes_of(stopping_memory)] == [2]
    await stopping_memory.aremember("Lives in Rosario", user="ana", slot="home city")
    assert texts(stopping_memory.list(user="ana")) == ["Lives in Rosario"]


async def test_a_call_that_is_cancelled_while_it_waits_for_another_holds_no_lock(
    stopping_memory: Memory, stopping: StoppingEmbeddings
) -> None:
    first = asyncio.create_task(stopping_memory.aremember("stop", user="ana"))
    await asyncio.wait_for(stopping.reached.wait(), 30)
    second = asyncio.create_task(stopping_memory.aremember("Drinks tea", user="ana"))
    await asyncio.sleep(0)  # it begins to wait
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    stopping.go_on.set()
    await first
    await stopping_memory.aremember("Drinks decaf", user="ana")
    assert sorted(texts(stopping_memory.list(user="ana"))) == ["Drinks decaf", "stop"]


async def test_a_call_that_is_cancelled_while_it_writes_leaves_no_half_state(
    gated_memory: Memory, gate: Gate
) -> None:
    gated_memory.remember("Lives in Rosario", user="ana", slot="home city")
    async with stopped_in_write(gated_memory, gate, "Lives in Lima") as task:
        task.cancel()
    assert task.cancelled()
    active = texts(gated_memory.list(user="ana"))
    old = texts(gated_memory.list(user="ana", status="superseded"))
    assert (active, old) in (
        (["Lives in Rosario"], []),
        (["Lives in Lima"], ["Lives in Rosario"]),
    )
    gated_memory.remember("Lives in Quito", user="ana", slot="home city")
    assert texts(gated_memory.list(user="ana")) == ["Lives in Quito"]


async def test_a_cancelled_call_does_not_overwrite_what_was_remembered_after_it(
    gated_memory: Memory, gate: Gate
) -> None:
    """A write in a thread cannot be cancelled: the next one must wait for it."""
    async with stopped_in_write(gated_memory, gate, "Lives in Lima") as first:
        first.cancel()
        second = asyncio.create_task(
            gated_memory.aremember("Lives in Quito", user="ana", slot="home city")
        )
        await asyncio.wait([second], timeout=0.3)  # as far as it comes
        gate.opened.set()
        await second
    assert texts(gated_memory.list(user="ana")) == ["Lives in Quito"]


def test_sync_and_async_verbs_on_one_owner_do_not_wait_for_each_other_for_ever() -> None:
    """The threads of the event loop may all be waiting for the owner whom a task holds."""

    async def mixed(memory: Memory) -> None:
        calls = [memory.aremember(f"async {n}", user="ana") for n in range(40)]
        threads = [asyncio.to_thread(memory.remember, f"sync {n}", user="ana") for n in range(40)]
        both = [call for pair in zip(calls, threads, strict=True) for call in pair]
        await asyncio.wait_for(asyncio.gather(*both), 120)

    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        asyncio.run(mixed(memory))
        assert memory.count(user="ana")["note"] == 80
