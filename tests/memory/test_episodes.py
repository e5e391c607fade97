"""Finished tasks: logged by a block, judged, listed, recalled, forgotten."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Episode,
    Memory,
    Message,
    OpenEpisode,
    Rating,
    RecordNotFoundError,
)
from langgraph_memory.memory.locks import OWNER_LOCKS
from langgraph_memory.store import adapted, put_op
from langgraph_memory.testing import HashingEmbeddings, ManualClock
from tests.conftest import Verbs, in_memory_with_index
from tests.graph.graphs import as_user, nodes, noting, say, tasks

LONG = 30.0
SECRET = "sk-proj-abcdefghijklmnop123456"


@pytest.fixture(params=["sync", "async"])
def prefix(request: pytest.FixtureRequest) -> str:
    """What stands before a verb's name: a block has two ways to be entered and left."""
    return "a" if request.param == "async" else ""


@asynccontextmanager
async def episode(memory: Memory, prefix: str, **given: Any) -> AsyncIterator[OpenEpisode]:
    """Open an episode with `with`, or with `async with`."""
    opened = memory.episode(**{"user": "ana", "task": "Ship order 17", **given})
    if prefix:
        async with opened as block:
            yield block
    else:
        with opened as block:
            yield block


def kept(memory: Memory, user: str = "ana") -> list[Episode]:
    """Return a user's episodes, oldest first."""
    found = memory.list(user=user, types=("episode",), limit=1_000)
    return [record for record in reversed(found) if isinstance(record, Episode)]


# -- a block of code -----------------------------------------------------------------------------


async def test_a_block_is_an_episode_with_what_was_set_and_the_time_it_took(
    memory: Verbs, prefix: str, clock: ManualClock
) -> None:
    async with episode(memory.memory, prefix, thread_id="monday") as block:
        clock.advance(seconds=2.5)
        block.approach, block.notes = "By courier", "The address was wrong at first"
        block.token_cost, block.quality_score = 345, 0.75
        assert kept(memory.memory) == []
    [record] = kept(memory.memory)
    assert block.record == record
    assert (record.task, record.outcome, record.error) == ("Ship order 17", "completed", None)
    assert (record.approach, record.notes) == ("By courier", "The address was wrong at first")
    assert (record.token_cost, record.quality_score, record.duration_ms) == (345, 0.75, 2_500)
    assert (record.created_at, record.thread_id) == (clock(), "monday")


async def test_a_block_says_itself_how_it_ended_where_nothing_is_raised(
    chroma_memory: Memory, prefix: str
) -> None:
    async with episode(chroma_memory, prefix) as block:
        block.outcome, block.error = "failure", "The shop is closed"
    [record] = kept(chroma_memory)
    assert (record.outcome, record.error) == ("failure", "The shop is closed")


async def test_a_block_that_raises_is_a_failure_with_the_last_line_of_the_traceback(
    memory: Verbs, prefix: str
) -> None:
    error = TimeoutError(f"no answer with {SECRET}")
    error.add_note("a hint for people")

    async def ship() -> None:
        async with episode(memory.memory, prefix) as block:
            block.outcome, block.approach = "success", "By phone"
            raise error

    with pytest.raises(TimeoutError) as raised:
        await ship()
    assert raised.value is error
    [record] = kept(memory.memory)
    assert (record.outcome, record.approach) == ("failure", "By phone")
    assert record.error == "TimeoutError: no answer with [redacted key]"


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, asyncio.CancelledError, GeneratorExit, SystemExit]
)
async def test_a_block_that_is_cut_short_is_cancelled(
    chroma_memory: Memory, prefix: str, error: type[BaseException]
) -> None:
    async def ship() -> None:
        opened = chroma_memory.episode(user="ana", task="Ship order 17")
        if prefix:
            async with opened:
                raise error
        with opened:
            raise error

    with pytest.raises(error):
        await ship()
    [record] = kept(chroma_memory)
    assert (record.outcome, record.error) == ("cancelled", None)


async def test_a_task_that_is_cancelled_leaves_its_episode(chroma_memory: Memory) -> None:
    begun = asyncio.Event()

    async def ship() -> None:
        async with chroma_memory.episode(user="ana", task="Ship order 17"):
            begun.set()
            await asyncio.sleep(LONG)

    shipping = asyncio.create_task(ship())
    await begun.wait()
    shipping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await shipping
    assert [record.outcome for record in kept(chroma_memory)] == ["cancelled"]


async def test_a_task_that_is_cancelled_again_and_again_leaves_its_episode(
    chroma_memory: Memory,
) -> None:
    async def ship() -> None:
        async with chroma_memory.episode(user="ana", task="Ship order 17"):
            await asyncio.sleep(LONG)

    shipping = asyncio.create_task(ship())
    while not shipping.done():  # as anyio does, and so a server whose client has gone
        await asyncio.sleep(0)
        shipping.cancel()
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
    assert [record.outcome for record in kept(chroma_memory)] == ["cancelled"]


async def test_a_stream_that_is_closed_early_is_cancelled(
    chroma_memory: Memory, prefix: str
) -> None:
    def words() -> Iterator[str]:
        with chroma_memory.episode(user="ana", task="Tell a story"):
            yield from ("Once", "upon")

    async def awords() -> AsyncIterator[str]:
        async with chroma_memory.episode(user="ana", task="Tell a story"):
            yield "Once"
            yield "upon"

    if prefix:
        astream: Any = awords()
        assert await anext(astream) == "Once"
        await astream.aclose()
    else:
        stream: Any = words()
        assert next(stream) == "Once"
        stream.close()
    assert [record.outcome for record in kept(chroma_memory)] == ["cancelled"]


async def test_blocks_nest_and_each_is_an_episode(chroma_memory: Memory, prefix: str) -> None:
    async def book() -> None:
        async with episode(chroma_memory, prefix, task="Book a room") as inner:
            inner.approach = "By phone"
            raise ValueError("full")

    async with episode(chroma_memory, prefix, task="Plan the party"):
        with pytest.raises(ValueError, match="full"):
            await book()
    found = {record.task: (record.outcome, record.approach) for record in kept(chroma_memory)}
    assert found == {"Plan the party": ("completed", ""), "Book a room": ("failure", "By phone")}


async def test_blocks_at_the_same_time_do_not_mix(chroma_memory: Memory, prefix: str) -> None:
    def work(number: int) -> None:
        with chroma_memory.episode(user=f"u{number % 3}", task=f"task {number}") as block:
            barrier.wait(LONG)
            block.approach = f"way {number}"

    async def awork(number: int) -> None:
        async with chroma_memory.episode(user=f"u{number % 3}", task=f"task {number}") as block:
            await asyncio.sleep(0)
            block.approach = f"way {number}"

    if prefix:
        await asyncio.gather(*map(awork, range(9)))
    else:
        barrier = threading.Barrier(9)
        with ThreadPoolExecutor(9) as pool:
            list(pool.map(work, range(9)))
    for user in range(3):
        expected = {(f"task {n}", f"way {n}") for n in range(user, 9, 3)}
        found = kept(chroma_memory, f"u{user}")
        assert {(record.task, record.approach) for record in found} == expected


async def test_what_is_said_in_a_block_is_logged_apart_from_it(
    chroma_memory: Memory, prefix: str
) -> None:
    memory = Verbs(chroma_memory, prefix)
    said = HumanMessage("Ship it", id="m1")

    async def ship() -> None:
        async with episode(chroma_memory, prefix, thread_id="monday"):
            await memory.log_turn(said, user="ana", thread_id="monday")
            raise ValueError("sold out")

    with pytest.raises(ValueError, match="sold out"):
        await ship()
    assert chroma_memory.count(user="ana") == {"note": 0, "message": 1, "episode": 1, "document": 0}


@pytest.mark.parametrize(
    "wrong",
    [{"user": ""}, {"user": None}, {"task": " "}, {"thread_id": ""}, {"turn_id": b"m-1"}],
    ids=str,
)
def test_what_is_wrong_with_a_block_is_said_before_it_begins(
    chroma_memory: Memory, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError):
        chroma_memory.episode(**{"user": "ana", "task": "Ship", **wrong})


async def test_a_name_that_an_episode_does_not_have_is_said_at_once(
    chroma_memory: Memory, prefix: str
) -> None:
    with pytest.raises(AttributeError, match="score"):
        async with episode(chroma_memory, prefix) as block:
            block.score = 0.8  # type: ignore[attr-defined]  # that is the point


def test_a_block_takes_its_task_as_log_episode_does(chroma_memory: Memory) -> None:
    with chroma_memory.episode("Ship order 17", user="ana"):
        pass
    assert [each.task for each in kept(chroma_memory)] == ["Ship order 17"]


async def test_what_is_set_wrongly_is_said_when_the_block_ends(
    chroma_memory: Memory, prefix: str
) -> None:
    with pytest.raises(ConfigurationError, match="quality_score"):
        async with episode(chroma_memory, prefix) as block:
            block.quality_score = 7
    assert kept(chroma_memory) == []


async def test_a_task_s_own_error_goes_on_if_its_episode_cannot_be_kept(
    chroma_memory: Memory, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def ship() -> None:
        async with episode(chroma_memory, prefix) as block:
            block.quality_score = 7
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        await ship()
    [note] = raised.value.__notes__
    assert "could not be kept" in note
    assert "quality_score" in note
    assert "could not be kept" in caplog.text


def test_a_block_that_an_interrupt_leaves_is_one_episode_when_it_is_resumed(
    chroma_memory: Memory,
) -> None:
    def ship(state: MessagesState) -> dict[str, Any]:
        turn = state["messages"][-1].id
        with chroma_memory.episode(user="ana", task="Ship", thread_id="t", turn_id=turn) as block:
            block.approach = interrupt("By post?")
        return {"messages": [AIMessage("Shipped")]}

    builder = StateGraph(MessagesState)
    builder.add_node("ship", ship)
    builder.add_edge(START, "ship")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    graph.invoke(say("Ship it", id="m1"), as_user("ana", "t"))
    assert kept(chroma_memory) == []
    graph.invoke(Command(resume="By courier"), as_user("ana", "t"))
    [record] = kept(chroma_memory)
    assert (record.outcome, record.approach) == ("completed", "By courier")


# -- rating --------------------------------------------------------------------------------------


async def test_a_rating_says_how_good_a_task_was_and_leaves_the_rest(memory: Verbs) -> None:
    logged = await memory.log_episode(
        "Order beans", user="ana", approach="By phone", notes="Took long", token_cost=5
    )
    change = await memory.rate_episode(
        logged.id, 0.25, user="ana", outcome="failure", notes=f"The wrong beans came ({SECRET})"
    )
    judged = replace(
        logged,
        quality_score=0.25,
        outcome="failure",
        notes="Took long\nThe wrong beans came ([redacted key])",
    )
    assert (change.action, change.previous, change.record) == ("update", logged, judged)
    assert await memory.get(logged.id, user="ana") == judged


async def test_a_rating_names_its_episode_by_its_id_and_is_taken_back_by_another(
    chroma_memory: Memory, prefix: str
) -> None:
    memory = Verbs(chroma_memory, prefix)
    logged = await memory.log_episode("Ship order 17", user="ana")
    with pytest.raises(ConfigurationError, match=r"id of a record.* Episode"):
        await memory.rate_episode(logged, 0.5, user="ana")
    rated = await memory.rate_episode(logged.id, 0.5, user="ana")
    with pytest.raises(ConfigurationError, match="rate the episode again"):
        await memory.undo(rated.id, user="ana")


async def test_a_later_rating_replaces_the_score_and_keeps_what_was_said(memory: Verbs) -> None:
    id = (await memory.log_episode("Order beans", user="ana")).id
    await memory.rate_episode(id, 0, user="ana", outcome="failure", notes="Late")
    await memory.rate_episode(id, 1, user="ana", notes="Late")
    await memory.rate_episode(id, 0.7, user="ana", notes="Not good")
    await memory.rate_episode(id, 0.5, user="ana", notes="good")
    judged = await memory.get(id, user="ana")
    assert (judged.quality_score, judged.outcome) == (0.5, "failure")
    assert judged.notes == "Late\nNot good\ngood"


async def test_only_an_episode_of_the_user_s_own_can_be_rated(memory: Verbs) -> None:
    own = await memory.log_episode("Order beans", user="ana")
    other = await memory.log_episode("Order tea", user="ben")
    note = (await memory.remember("Drinks tea", user="ana")).record
    for id in ("unknown", "", other.id, note.id):
        with pytest.raises(RecordNotFoundError, match="no episode"):
            await memory.rate_episode(id, 0.5, user="ana")
    assert await memory.get(other.id, user="ben") == other
    assert await memory.get(own.id, user="ana") == own


async def test_a_turn_is_logged_with_an_episode_of_its_own_user_alone(prefix: str) -> None:
    memory = Verbs(Memory(InMemoryStore()), prefix)
    other = await memory.log_episode("Order beans", user="ben")
    with pytest.raises(ConfigurationError, match="an Episode of the user 'ana'"):
        await memory.log_turn("Order tea", user="ana", thread_id="t", episode=other)
    assert await memory.list(user="ana") == []


@pytest.mark.parametrize(
    "wrong",
    [
        *({"score": value} for value in (None, "good", 2.0, -0.1, True, float("nan"))),
        *({"outcome": value} for value in ("done", "", 5)),
        *({"notes": value} for value in (None, 5)),
        *({"user": value} for value in (None, "")),
        *({"id": value} for value in (None, 5)),
    ],
    ids=str,
)
async def test_a_rating_that_is_none_is_refused(prefix: str, wrong: dict[str, Any]) -> None:
    memory = Verbs(Memory(InMemoryStore()), prefix)
    episode = await memory.log_episode("Order beans", user="ana")
    given = {"id": episode.id, "score": 0.5, "user": "ana", **wrong}
    with pytest.raises(ConfigurationError):
        await memory.rate_episode(given.pop("id"), given.pop("score"), **given)
    assert await memory.get(episode.id, user="ana") == episode


async def test_ratings_at_the_same_time_lose_nothing(chroma_memory: Memory, prefix: str) -> None:
    """Neither to each other nor to what else changes the record, as reflection does."""
    id = chroma_memory.log_episode("Order beans", user="ana").id
    owner = kept(chroma_memory)[0].owner

    def approach(number: int) -> None:
        with OWNER_LOCKS.hold(owner):
            [record] = kept(chroma_memory)
            changed = replace(record, approach=f"{record.approach} {number}")
            chroma_memory.store.batch([put_op(changed)])

    def rate(number: int) -> None:
        chroma_memory.rate_episode(id, number / 10, user="ana", notes=f"says {number}")

    async def arate(number: int) -> None:
        await chroma_memory.arate_episode(id, number / 10, user="ana", notes=f"says {number}")

    with ThreadPoolExecutor(8) as pool:
        others = [pool.submit(approach, number) for number in range(6)]
        if prefix:
            await asyncio.gather(*map(arate, range(6)))
        else:
            others += [pool.submit(rate, number) for number in range(6)]
        await asyncio.gather(*map(asyncio.wrap_future, others))
    [record] = kept(chroma_memory)
    assert sorted(record.notes.split("\n")) == [f"says {number}" for number in range(6)]
    assert sorted(record.approach.split()) == [f"{number}" for number in range(6)]


def test_a_plain_chroma_user_finds_episodes_by_outcome_score_time_and_cost(tmp_path: Path) -> None:
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        memory.log_episode("Order tea", user="ana", quality_score=1, duration_ms=5, token_cost=7)
        rated = memory.log_episode("Order beans", user="ana", approach="By phone")
        memory.rate_episode(rated.id, 0, user="ana", outcome="failure")
    rows = chromadb.PersistentClient(tmp_path).get_collection(
        "langgraph_memory", embedding_function=None
    )

    def tasks(**where: Any) -> list[str]:
        found = rows.get(where={"$and": [{"type": "episode"}, where]})["documents"]
        return [document.splitlines()[0] for document in found or []]

    assert tasks(outcome="failure") == tasks(quality_score={"$lt": 0.5}) == ["Order beans"]
    assert tasks(quality_score={"$gt": 0.5}) == tasks(duration_ms={"$lt": 6}) == ["Order tea"]
    assert tasks(token_cost=7) == ["Order tea"]
    assert len(tasks(user="ana")) == 2


# -- listing, recalling, forgetting --------------------------------------------------------------


async def test_episodes_are_listed_by_outcome_score_time_and_cost(
    memory: Verbs, clock: ManualClock
) -> None:
    begun = clock()
    for task, fields in {
        "unjudged": {},
        "bad": {"quality_score": 0.2, "outcome": "failure", "token_cost": 900},
        "fair": {"quality_score": 0.5, "outcome": "partial", "duration_ms": 40},
        "good": {"quality_score": 1, "outcome": "success", "token_cost": 30, "duration_ms": 8},
    }.items():
        await memory.log_episode(task, user="ana", **fields)
        clock.advance(days=1)

    async def found(**filter: Any) -> list[str]:
        listed = await memory.list(user="ana", types=["episode"], filter=filter)
        return [record.task for record in reversed(listed)]

    assert await found(quality_score={"$lt": 0.5}) == ["bad"]
    assert await found(quality_score={"$gte": 0.5}) == ["fair", "good"]
    assert await found(quality_score=None) == ["unjudged"]
    assert await found(quality_score={"$ne": None}) == ["bad", "fair", "good"]
    assert await found(token_cost={"$gt": 100}) == ["bad"]
    assert await found(duration_ms={"$lt": 1_000}) == ["fair", "good"]
    assert await found(outcome="success") == ["good"]
    assert await found(outcome={"$ne": "success"}, duration_ms=None) == ["unjudged", "bad"]
    yesterday = clock.advance(days=-2).astimezone(timezone(timedelta(hours=8)))
    assert await found(created_at={"$gte": yesterday}) == ["fair", "good"]
    assert await found(created_at={"$lt": yesterday}) == ["unjudged", "bad"]
    assert await found(created_at=begun) == ["unjudged"]
    with pytest.raises(ConfigurationError, match="naive"):
        await found(created_at={"$gte": begun.replace(tzinfo=None)})


@pytest.mark.parametrize("hours", [9, -5])
def test_times_are_those_of_a_clock_of_any_zone(store: BaseStore, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    with Memory(store, clock=lambda: datetime.now(zone)) as memory:
        logged = memory.log_episode("Ship", user="ana")
        now = datetime.now(UTC)
        for condition, found in [({"$lte": now}, [logged]), ({"$gt": now}, [])]:
            filter = {"created_at": condition}
            assert memory.list(user="ana", types=["episode"], filter=filter) == found


def test_a_clock_without_a_zone_is_refused() -> None:
    memory = Memory(InMemoryStore(), clock=datetime.now)
    with pytest.raises(ConfigurationError, match="clock=: got the naive datetime"):
        memory.log_episode("Ship", user="ana")


async def test_like_tasks_are_recalled_by_outcome_of_one_user(memory: Verbs) -> None:
    for task, outcome in {
        "Order a kilo of beans": "failure",
        "Order two kilos of beans": "success",
        "Paint the fence": "success",
    }.items():
        await memory.log_episode(task, user="ana", outcome=outcome)
    await memory.log_episode("Order beans at once", user="ben")

    async def found(task: str, **options: Any) -> list[str]:
        return [h.record.task for h in await memory.recall_episodes(task, user="ana", **options)]

    asked = "Order some beans"
    assert await found(asked) == ["Order a kilo of beans", "Order two kilos of beans"]
    assert await found(asked, outcome="success") == ["Order two kilos of beans"]
    assert await found(asked, outcome="cancelled") == []
    assert len(await found(asked, limit=1)) == 1
    assert await found(asked, limit=0) == await found("Xylophone lessons") == await found("") == []
    with pytest.raises(ConfigurationError, match="outcome"):
        await found(asked, outcome="done")


def test_a_like_task_is_found_by_its_meaning_in_another_language(fluent_memory: Memory) -> None:
    for task, approach in {
        "The certificate of the shop has expired": "Renewed it, and set a reminder",
        "Translate the user interface into Portuguese": "Marked all strings",
        "给办公室订午餐": "先问大家忌口",
    }.items():
        fluent_memory.log_episode(task, user="ana", approach=approach)

    def found(task: str) -> str:
        hit = fluent_memory.recall_episodes(task, user="ana")[0].record
        return hit.task if isinstance(hit, Episode) else ""

    assert found("网站的安全证书过期了") == "The certificate of the shop has expired"
    assert found("Order lunch for the team") == "给办公室订午餐"


def test_a_like_task_alone_is_no_knowledge(fluent_memory: Memory) -> None:
    """It is shown, and the model is told all the same that the question has no answer."""
    fluent_memory.log_episode("Order a kilo of coffee for the Graz office", user="ana")
    asked = "Buy some tea for the people in Linz"
    recalled = fluent_memory.recall(asked, user="ana")
    assert [hit.text for hit in recalled.episodes]
    assert recalled.nothing_known
    fluent_memory.log_episode("Buy tea for the people in Linz", user="ana")
    assert not fluent_memory.recall(asked, user="ana").nothing_known


async def test_a_forgotten_episode_is_neither_listed_nor_recalled(memory: Verbs) -> None:
    first = await memory.log_episode("Order beans", user="ana", approach="By phone")
    await memory.log_episode("Order tea", user="ana", approach="By phone")
    assert (await memory.forget(first.id, user="ana")).ids == (first.id,)
    found = await memory.recall_episodes("Order by phone", user="ana")
    assert [hit.record.task for hit in found] == ["Order tea"]
    assert (await memory.forget(text="order TEA", user="ana")).counts == {"episode": 1}
    assert await memory.list(user="ana", types=["episode"]) == []
    with pytest.raises(RecordNotFoundError):
        await memory.rate_episode(first.id, 1, user="ana")


def test_a_megabyte_of_text_is_kept(chroma_memory: Memory) -> None:
    megabyte = "a moka pot 🙂\n" * 80_000
    with chroma_memory.episode(user="ana", task="Fill the pot") as block:
        block.approach = megabyte
    assert [record.approach for record in kept(chroma_memory)] == [megabyte]


def test_episodes_of_equal_tasks_can_be_written_together() -> None:
    """`InMemoryStore` refuses a batch in which a text is embedded twice."""
    with Memory(in_memory_with_index()) as memory:
        logged = [memory.log_episode("The same again", user="ana", notes=n) for n in "ab"]
        adapted(memory.store).batch(put_op(replace(each, quality_score=1)) for each in logged)
        assert [record.quality_score for record in kept(memory)] == [1, 1]


# -- evaluation in the background ----------------------------------------------------------------

Evaluate = Callable[[Episode, Sequence[Message]], Any]


def judging(evaluator: Evaluate, store: BaseStore | None = None, **options: Any) -> Memory:
    options = {"debounce": 0, **options}
    return Memory(store or InMemoryStore(), evaluator=evaluator, **options)


async def test_every_logged_episode_is_evaluated(
    store: BaseStore, prefix: str, clock: ManualClock
) -> None:
    with judging(lambda episode, messages: 0.75, store, clock=clock) as memory:
        verbs = Verbs(memory, prefix)
        logged = await verbs.log_episode("by hand", user="ana")
        assert logged.quality_score is None
        async with episode(memory, prefix, task="by a block"):
            pass
        await verbs.log_turn("Hello", user="ana", thread_id="t", episode=replace(logged, id="e"))
        assert await verbs.flush(LONG)
        assert [record.quality_score for record in kept(memory)] == [0.75] * 3
        unchanged = replace(logged, quality_score=0.75)
        assert memory.get(logged.id, user="ana") == unchanged


def test_the_turns_of_a_graph_are_evaluated_with_what_was_said_in_them() -> None:
    seen: list[list[str]] = []

    def evaluator(episode: Episode, messages: Sequence[Message]) -> float:
        seen.append([f"{message.role}: {message.text}" for message in messages])
        return 1.0

    with judging(evaluator) as memory:
        graph = nodes(memory, noting()).compile(checkpointer=InMemorySaver())
        for text in ("Order a kilo of beans", "And two pounds of tea as well"):
            graph.invoke(say(text), as_user("ana", "t"))
        graph.invoke(say("Paint the fence in green, please"), as_user("ana", "another"))
        assert memory.flush(LONG)
        assert [record.quality_score for record in kept(memory)] == [1.0] * 3
    assert seen == [
        ["user: Order a kilo of beans", "assistant: Noted, thank you."],
        ["user: And two pounds of tea as well", "assistant: Noted, thank you."],
        ["user: Paint the fence in green, please", "assistant: Noted, thank you."],
    ]


def test_a_task_logged_by_hand_is_evaluated_with_what_was_said_while_it_went_on(
    clock: ManualClock,
) -> None:
    seen: list[str] = []

    def evaluator(episode: Episode, messages: Sequence[Message]) -> None:
        seen.extend(message.text for message in messages)

    with judging(evaluator, clock=clock) as memory:
        for text in ("before", "during", "after"):
            memory.log_turn([("user", text)], user="ana", thread_id="another")
        memory.log_turn([("user", "before")], user="ana", thread_id="t")
        clock.advance(hours=1)
        with memory.episode(user="ana", task="Ship", thread_id="t"):
            clock.advance(microseconds=100)
            for text in ("first", "second"):
                memory.log_turn([("user", text)], user="ana", thread_id="t")
                clock.advance(minutes=1, microseconds=100)
        clock.advance(hours=1)
        memory.log_turn([("user", "after")], user="ana", thread_id="t")
        assert memory.flush(LONG)
        assert seen == ["first", "second"]
        memory.log_episode("Pack", user="ana")
        assert memory.flush(LONG)
        assert seen == ["first", "second"]


def test_messages_that_expired_are_not_shown_to_an_evaluator(clock: ManualClock) -> None:
    seen: list[str] = []
    store = ChromaStore.in_memory(embed=HashingEmbeddings(), clock=clock)

    def evaluator(episode: Episode, messages: Sequence[Message]) -> float:
        seen.extend(message.text for message in messages)
        return 1

    with judging(evaluator, store, message_ttl=60, clock=clock) as memory:
        memory.log_turn([("user", "early")], user="ana", thread_id="t")
        clock.advance(minutes=40)
        memory.log_turn([("user", "late")], user="ana", thread_id="t")
        clock.advance(minutes=30)
        memory.log_episode("Ship", user="ana", thread_id="t")
        assert memory.flush(LONG)
    assert seen == ["late"]


def test_an_evaluator_may_say_how_a_task_ended_and_why() -> None:
    with judging(lambda *_: Rating(0.1, "failure", f"It used {SECRET}")) as memory:
        memory.log_episode("Ship", user="ana")
        assert memory.flush(LONG)
        [record] = kept(memory)
    assert (record.quality_score, record.outcome) == (0.1, "failure")
    assert record.notes == "It used [redacted key]"


def test_a_score_may_be_one_of_numpy_s() -> None:
    with judging(lambda *_: np.float32(0.5)) as memory:
        memory.log_episode("Ship", user="ana")
        assert memory.flush(LONG)
        assert [record.quality_score for record in kept(memory)] == [0.5]


NO_SCORES: list[Any] = [2.0, "good", True, (2.0, None, ""), float("nan")]


@pytest.mark.parametrize("answer", NO_SCORES, ids=repr)
def test_an_answer_that_is_no_score_is_logged_and_leaves_the_episode_unjudged(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    with judging(lambda *_: answer) as memory:
        logged = memory.log_episode("Ship", user="ana")
        assert memory.flush(LONG)
        assert kept(memory) == [logged]
    [record] = caplog.records
    assert f"evaluation of {logged.id!r} of user 'ana' failed" in record.getMessage()
    assert "ConfigurationError" in caplog.text


def test_a_rating_that_is_none_is_logged_as_well(caplog: pytest.LogCaptureFixture) -> None:
    wrong: Any = "done"
    with judging(lambda *_: Rating(0.5, wrong)) as memory:
        logged = memory.log_episode("Ship", user="ana")
        assert memory.flush(LONG)
        assert kept(memory) == [logged]
    assert "outcome= is one of" in caplog.text


def test_an_evaluator_that_raises_is_logged_and_the_next_episode_is_evaluated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def evaluator(episode: Episode, messages: Sequence[Message]) -> float:
        if episode.task == "Ship":
            raise RuntimeError("no judge today")
        return 1.0

    with judging(evaluator) as memory:
        for task in ("Ship", "Pack"):
            memory.log_episode(task, user="ana")
        assert memory.flush(LONG)
        assert [record.quality_score for record in kept(memory)] == [None, 1.0]
    assert "no judge today" in caplog.text


def test_an_evaluator_may_leave_an_episode_unjudged(caplog: pytest.LogCaptureFixture) -> None:
    with judging(lambda *_: None) as memory:
        logged = memory.log_episode("Ship", user="ana")
        assert memory.flush(LONG)
        assert kept(memory) == [logged]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_what_somebody_judged_is_not_evaluated() -> None:
    asked: list[str] = []

    def evaluator(episode: Episode, messages: Sequence[Message]) -> float:
        asked.append(episode.task)
        memory.rate_episode(episode.id, 0.25, user="ana")  # meanwhile
        return 1.0

    with judging(evaluator) as memory:
        memory.log_episode("judged when it was logged", user="ana", quality_score=0)
        memory.log_episode("judged meanwhile", user="ana")
        assert memory.flush(LONG)
        assert [record.quality_score for record in kept(memory)] == [0, 0.25]
    assert asked == ["judged meanwhile"]


def test_an_episode_that_is_forgotten_meanwhile_does_not_come_back() -> None:
    def evaluator(episode: Episode, messages: Sequence[Message]) -> float:
        memory.forget(episode.id, user="ana")
        return 1.0

    with judging(evaluator) as memory:
        memory.log_episode("Ship", user="ana")
        assert memory.flush(LONG)
        assert kept(memory) == []


def test_episodes_of_one_user_wait_beside_each_other_and_beside_extraction() -> None:
    asked: list[str] = []

    def evaluator(episode: Episode, messages: Sequence[Message]) -> float:
        asked.append(episode.task)
        return 1.0

    with judging(evaluator, debounce=3_600) as memory:
        for task in ("Ship", "Pack", "Pay"):
            memory.log_episode(task, user="ana", thread_id="t")
            memory.process_later("ana", "t")
        assert asked == []
    assert asked == ["Ship", "Pack", "Pay"]


def test_close_lets_evaluations_that_wait_be_written(tmp_path: Path) -> None:
    with judging(
        lambda *_: 0.5, ChromaStore(tmp_path, embed=HashingEmbeddings()), debounce=60
    ) as m:
        for number in range(5):
            m.log_episode(f"task {number}", user="ana")
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        assert [record.quality_score for record in kept(memory)] == [0.5] * 5


def test_close_gives_up_an_evaluator_that_does_not_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("langgraph_memory.memory.base.DRAIN_SECONDS", 0.01)
    begun, go_on = threading.Event(), threading.Event()

    def evaluator(episode: Episode, messages: Sequence[Message]) -> float:
        begun.set()
        go_on.wait(LONG)
        return 1.0

    memory = judging(evaluator)
    first = memory.log_episode("Ship", user="ana")
    memory.log_episode("Pack", user="ana")
    assert begun.wait(LONG)
    memory.close()
    assert "2 jobs were not done" in caplog.text
    assert f"evaluation of {first.id!r} of user 'ana'" in caplog.text
    go_on.set()
    assert memory.flush(LONG)
    assert [record.quality_score for record in kept(memory)] == [1.0, None]


class AsyncJudge:
    async def __call__(self, episode: Episode, messages: object) -> float:
        return 0.5


@pytest.mark.parametrize(
    "wrong",
    [0.5, "judge", asyncio.sleep, AsyncJudge()],
    ids=["number", "text", "coroutine function", "object with one"],
)
def test_an_evaluator_is_a_plain_function(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="evaluator="):
        Memory(InMemoryStore(), evaluator=wrong)


# -- which turns are worth an episode ------------------------------------------------------------


def test_the_rule_of_what_is_a_task_is_configurable() -> None:
    asked: list[tuple[str, list[str]]] = []

    def is_task(text: str, tools: Sequence[str]) -> bool:
        asked.append((text, list(tools)))
        return "order" in text.casefold()

    with Memory(InMemoryStore(), is_task=is_task) as memory:
        graph = nodes(memory, noting()).compile()
        for text in ("Order!", "Paint the fence in green, please"):
            graph.invoke(say(text), as_user("ana"))
        assert tasks(memory, "ana") == ["Order!"]
    assert asked == [("Order!", []), ("Paint the fence in green, please", [])]


def test_a_rule_is_a_function() -> None:
    with pytest.raises(ConfigurationError, match="is_task="):
        Memory(InMemoryStore(), is_task="always")  # type: ignore[arg-type]  # wrong on purpose
