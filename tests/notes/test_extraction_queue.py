"""What of a thread is looked through next, and what is shown with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.memory import InMemoryStore

from langgraph_memory.notes.extraction_queue import Thread, queue
from langgraph_memory.records import Extraction, Message, Owner, Record
from langgraph_memory.store import put_op

ANA = Owner("user", "ana")
START = datetime(2026, 5, 1, 9, tzinfo=UTC)


def said(number: int, **other: Any) -> Message:
    message = Message(
        id=Message.id_in("t", str(number)),
        owner=ANA,
        created_at=START + timedelta(minutes=number),
        text=f"Text {number}",
        speaker="user",
        role="user",
        thread_id="t",
        message_id=str(number),
        position=number,
    )
    return replace(message, **other)


def waiting(messages: list[Message], done: int) -> Thread:
    """Return the thread, of whose messages the first ones were looked through after an hour."""
    store = InMemoryStore()
    names = tuple(message.id for message in messages[:done])
    looked = Extraction(
        id="e", owner=ANA, created_at=START + timedelta(hours=1), thread_id="t", messages=names
    )
    records: list[Record] = [*messages, looked]
    store.batch([put_op(record) for record in records])
    found: dict[Any, Any] = {
        type: store.search(ANA.namespace(type)) for type in ("message", "extraction")
    }
    [thread] = queue(ANA, found)
    return thread


def test_all_that_was_said_just_before_is_shown_with_what_waits() -> None:
    messages = [said(number) for number in range(7)]
    for done in range(7):
        thread = waiting(messages, done)
        assert thread.messages == tuple(messages[done:])
        assert thread.earlier == tuple(messages[max(done - 4, 0) : done])


def test_a_message_that_was_edited_since_waits_again() -> None:
    later = START + timedelta(hours=2)
    messages = [said(0), said(1, edited_at=later), said(2, edited_at=START), said(3)]
    assert waiting(messages, 3).messages == (messages[1], messages[3])
