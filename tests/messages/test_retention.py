"""How long messages are kept: for some minutes, or until notes have been made of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore, TTLConfig
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from langgraph_memory import ChromaStore, ConfigurationError, Memory, Message
from langgraph_memory.messages.storage import retire_ops
from langgraph_memory.store.operations import LONGEST
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.conftest import Verbs

if TYPE_CHECKING:
    from langgraph_memory.records.receipts import Receipt

HOUR = 60.0
UUID = "0b7ad7cb-5a1c-4d4b-9a9d-1f0e6f0c8a11"


def chroma(clock: ManualClock, ttl: TTLConfig | None = None) -> ChromaStore:
    return ChromaStore.in_memory(embed=HashingEmbeddings(), clock=clock, ttl=ttl)


def sqlite(clock: ManualClock) -> Iterator[BaseStore]:
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    with closing(connection):
        store = SqliteStore(connection, ttl={"refresh_on_read": True})
        store.setup()
        yield store


STORES: dict[str, Callable[[ManualClock], Any]] = {
    "chroma": lambda clock: iter([chroma(clock)]),
    "chroma-omits": lambda clock: iter([chroma(clock, {"omit_expired": True})]),
    "sqlite": sqlite,  # its a-methods are not there
}


@pytest.fixture(params=["chroma-", "chroma-omits-a", "sqlite-"])
def memory(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Verbs]:
    """A memory that keeps messages for an hour."""
    name, _, prefix = request.param.rpartition("-")
    opening = STORES[name](clock)
    with Memory(next(opening), message_ttl=HOUR, clock=clock) as opened:
        yield Verbs(opened, prefix)
    next(opening, None)


@pytest.fixture
def hourly(clock: ManualClock, prefix: str) -> Iterator[Verbs]:
    """The same on Chroma alone."""
    with Memory(chroma(clock), message_ttl=HOUR, clock=clock) as opened:
        yield Verbs(opened, prefix)


async def log(memory: Verbs, *messages: Any, thread: str = "t", **fields: Any) -> list[Message]:
    found = await memory.log_turn(list(messages), user="ana", thread_id=thread, **fields)
    return list(found)


async def kept(memory: Verbs) -> list[str]:
    return [record.text for record in await memory.list(user="ana", types=("message",))]


def sweep(memory: Verbs) -> int:
    store: Any = memory.memory.store
    return int(store.sweep_ttl())


# -- for some time -------------------------------------------------------------------------------


async def test_what_was_said_is_known_for_its_time_and_then_to_no_verb(
    memory: Verbs, clock: ManualClock
) -> None:
    note = (await memory.remember("Owns a green bicycle", user="ana")).record
    [message] = await log(memory, HumanMessage("My bicycle is green", id="m1"))
    clock.advance(minutes=59)
    ask = {"user": "ana", "thread_id": "u", "min_relevance": 0}
    recalled = await memory.recall("green bicycle", **ask)
    assert {hit.record.id for hit in recalled} == {note.id, message.id}
    assert recalled.recent == (message,)
    assert await memory.get(message.id, user="ana") == message

    clock.advance(minutes=1)
    recalled = await memory.recall("green bicycle", **ask)
    assert [hit.record for hit in recalled] == [note]
    assert recalled.recent == ()
    assert await memory.get(message.id, user="ana") is None
    assert await kept(memory) == []
    assert (await memory.count(user="ana"))["message"] == 0
    yesterday = await memory.recall("green bicycle", **ask, as_of=clock() - timedelta(minutes=30))
    assert message not in [hit.record for hit in yesterday]


async def test_a_memory_whose_messages_have_expired_is_empty(
    hourly: Verbs, clock: ManualClock
) -> None:
    await log(hourly, HumanMessage("My bicycle is green", id="m1"))
    clock.advance(minutes=60)
    recalled = await hourly.recall("green bicycle", user="ana")
    assert recalled.empty
    assert recalled.nothing_known


async def test_a_session_that_holds_an_expired_message_does_not_bring_it_back(
    memory: Verbs, clock: ManualClock
) -> None:
    said: list[BaseMessage] = [HumanMessage("My bicycle is green", id="m1"), HumanMessage("And?")]
    await log(memory, *said)
    clock.advance(minutes=60)
    for _ in ("before it is swept", "after it"):
        said += [AIMessage("Yes", id=f"a{len(said)}")]
        await log(memory, *said)
        assert await kept(memory) == ["Yes"] * (len(said) - 2)
        sweep(memory)


async def test_no_read_prolongs_the_life_of_a_message(hourly: Verbs, clock: ManualClock) -> None:
    said = HumanMessage("My bicycle is green", id="m1")
    [message] = await log(hourly, said)
    clock.advance(minutes=59)
    await hourly.recall("green bicycle", user="ana")
    await hourly.get(message.id, user="ana")
    await kept(hourly)
    await hourly.count(user="ana")
    await log(hourly, said)
    clock.advance(minutes=2)
    assert sweep(hourly) == 1


async def test_other_stores_are_asked_not_to_prolong_a_life_by_reading(clock: ManualClock) -> None:
    """`SqliteStore` does so for every read that does not say otherwise."""
    opening = sqlite(clock)
    store: Any = next(opening)
    with Memory(store, message_ttl=HOUR, clock=clock) as memory:
        [message] = memory.log_turn(HumanMessage("Green", id="m1"), user="ana", thread_id="t")
        connection = store.conn
        connection.execute("UPDATE store SET expires_at = '2099-01-01' WHERE expires_at NOT NULL")
        memory.recall("green", user="ana", min_relevance=0)
        memory.get(message.id, user="ana")
        memory.list(user="ana", types=("message",))
        memory.log_turn(HumanMessage("Green", id="m1"), user="ana", thread_id="t")
        ends = connection.execute("SELECT expires_at FROM store WHERE expires_at NOT NULL")
        assert [end for (end,) in ends] == ["2099-01-01"]


async def test_a_life_begins_when_a_message_was_said(hourly: Verbs, clock: ManualClock) -> None:
    ago = clock() - timedelta(minutes=50)
    await log(hourly, HumanMessage("Older", id="m1"), at=ago)
    await log(hourly, HumanMessage("Newer", id="m2"))
    clock.advance(minutes=15)
    assert await kept(hourly) == ["Newer"]
    assert sweep(hourly) == 1


async def test_what_was_said_too_long_ago_is_never_kept(hourly: Verbs, clock: ManualClock) -> None:
    said = HumanMessage("An old import", id="m1")
    assert await log(hourly, said, at=clock() - timedelta(minutes=60)) == []
    assert await log(hourly, said) == []
    assert await kept(hourly) == []


async def test_a_message_from_the_future_lives_no_longer(hourly: Verbs, clock: ManualClock) -> None:
    await log(hourly, HumanMessage("Soon", id="m1"), at=clock() + timedelta(days=9))
    clock.advance(minutes=61)
    assert sweep(hourly) == 1


async def test_an_edit_does_not_prolong_a_life_nor_bring_one_back(
    hourly: Verbs, clock: ManualClock
) -> None:
    await log(hourly, HumanMessage("Green", id="m1"))
    clock.advance(minutes=50)
    [edited] = await log(hourly, HumanMessage("Blue", id="m1"))
    assert edited.text == "Blue"
    clock.advance(minutes=11)
    assert await log(hourly, HumanMessage("Red", id="m1")) == []
    assert await kept(hourly) == []
    assert sweep(hourly) == 1


async def test_what_has_expired_does_not_crowd_out_what_is_there(
    hourly: Verbs, clock: ManualClock
) -> None:
    """Nobody has swept for a while."""
    await log(hourly, *(HumanMessage("Green bicycle", id=f"m{i}") for i in range(300)))
    clock.advance(minutes=60)
    await log(hourly, HumanMessage("A green bicycle it is", id="new"), thread="u")
    recalled = await hourly.recall("green bicycle", user="ana", limit=3, min_relevance=0)
    assert [hit.text for hit in recalled] == ["A green bicycle it is"]


async def test_what_has_expired_is_forgotten_with_everything(
    hourly: Verbs, clock: ManualClock
) -> None:
    await log(hourly, HumanMessage("Green", id="m1"))
    clock.advance(minutes=60)
    receipt: Receipt = await hourly.forget(user="ana", everything=True)
    assert receipt.counts == {"message": 1}
    assert hourly.memory.store.search(("memory", "user", "ana", "message"), query="Green") == []


async def test_only_what_somebody_deleted_is_forgotten(hourly: Verbs, clock: ManualClock) -> None:
    """An episode says what was asked, however long messages are kept, unless that was deleted."""
    where = {"user": "ana", "thread_id": "t"}
    texts = {"m1": "My bicycle is green", "m2": "My bell is loud", UUID: "My code is 4711"}
    said = await log(hourly, *[HumanMessage(text, id=id) for id, text in texts.items()])
    hourly.memory.store.batch(retire_ops(said[:1]))
    await hourly.forget(said[2].id, user="ana")
    clock.advance(minutes=61)
    assert [await hourly.is_forgotten(id, **where) for id in texts] == [False, False, True]


async def test_notes_and_episodes_stay(hourly: Verbs, clock: ManualClock) -> None:
    await hourly.remember("Owns a green bicycle", user="ana")
    await hourly.log_episode("Sell a bicycle", user="ana")
    clock.advance(days=900)
    assert sweep(hourly) == 0
    assert await hourly.count(user="ana") == {"note": 1, "message": 0, "episode": 1, "document": 0}


def test_a_store_in_which_nothing_expires_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="InMemoryStore has no supports_ttl"):
        Memory(InMemoryStore(), message_ttl=HOUR)
    unbound = Memory(message_ttl=HOUR)
    with pytest.raises(ConfigurationError, match="InMemoryStore has no supports_ttl"):
        unbound.using(InMemoryStore())


@pytest.mark.parametrize("minutes", [0, -1, True, "60", float("inf"), timedelta(hours=1)], ids=str)
def test_what_is_no_time_is_refused(minutes: Any) -> None:
    with pytest.raises(ConfigurationError, match="message_ttl=: ttl is a number of minutes above"):
        Memory(message_ttl=minutes)


def test_the_longest_time_is_for_good() -> None:
    memory = Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), message_ttl=LONGEST)
    memory.log_turn([HumanMessage("Drinks tea", id="m1")], user="ana", thread_id="t")
    assert len(memory.recall("Drinks tea", user="ana").hits) == 1


# -- until they are processed --------------------------------------------------------------------


async def test_what_was_processed_is_deleted_and_not_logged_again(memory: Verbs) -> None:
    said = [HumanMessage("My bicycle is green", id="m1"), AIMessage("Noted", id=UUID)]
    records = await log(memory, *said)
    store = memory.memory.store
    store.batch(retire_ops(records))
    assert await kept(memory) == []
    left = store.search(("memory", "user", "ana"), limit=100)
    assert not any("bicycle" in str(item.value) or "m1" in item.key for item in left)
    said += [HumanMessage("And a bell", id="m3")]
    await log(memory, *said)
    assert await kept(memory) == ["And a bell"]
    await log(memory, *said[1:], thread="a fork")
    assert "Noted" not in await kept(memory)


def test_messages_are_not_kept_only_where_a_model_makes_notes_of_them() -> None:
    assert Memory().keep_messages is True
    assert Memory(model=ScriptedChatModel([]), keep_messages=False).keep_messages is False
    with pytest.raises(ConfigurationError, match="keep_messages=False deletes messages once"):
        Memory(keep_messages=False)
    with pytest.raises(ConfigurationError, match="keep_messages= is True or False, got 'no'"):
        Memory(keep_messages="no")  # type: ignore[arg-type]
