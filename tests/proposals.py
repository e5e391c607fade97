"""Notes that wait for a person, as an extraction under review leaves them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore

from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note, normalise
from langgraph_memory.store.records import put_op

ANA = Owner("user", "ana")


def propose(
    store: BaseStore, text: str, now: datetime, slot: str | None = None, owner: Owner = ANA
) -> Note:
    """Write a note that waits for a person."""
    note = Note(
        id=f"p{normalise(text)}{slot}{now:%H%M%S}".replace(" ", ""),
        owner=owner,
        text=text,
        slot=slot,
        status="proposed",
        author="ana",
        created_at=now,
        updated_at=now,
        valid_from=now,
    )
    store.batch([put_op(note)])
    return note


def texts(records: Any) -> list[str]:
    return [record.text for record in records]
