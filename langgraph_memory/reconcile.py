"""What a new note does to those that are there: a pure decision, applied elsewhere."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from langgraph_memory.records import (
    Change,
    Note,
    normalise,
    record_id,
    slot_digest,
    text_digest,
)


def plan(candidate: Note, neighbours: Collection[Note], taken: Collection[str]) -> list[Change]:
    """Decide what becomes of a note that is to be remembered.

    The same kind and text is one note, said again. A new text for a slot takes the slot's note
    over; the old text stays under `id@1`. Anything else is added.

    Args:
        candidate: The new note; its id is set here.
        neighbours: Active notes of the same owner with the same text or the same slot.
        taken: Ids that other notes of the owner have.

    Returns:
        The changes; the first is about the candidate itself.
    """
    now = candidate.updated_at
    same_text = next((note for note in neighbours if _same_text(note, candidate)), None)
    holder = next((note for note in neighbours if _same_slot(note, candidate)), None)
    if same_text is not None and (holder is None or holder == same_text):
        return [_reinforce(same_text, candidate, now)]
    if holder is None:
        return [Change("add", replace(candidate, id=_free_id(candidate, taken)))]
    change = _supersede(holder, candidate)
    if same_text is None:
        return [change]
    assert isinstance(change.record, Note)
    retired = replace(kept_version(same_text, change.record, now), id=same_text.id)
    return [change, Change("retire", retired, same_text, "its text moved into a slot")]


def kept_version(old: Note, new: Note, now: datetime | None = None) -> Note:
    """Return a note as it is kept once another, or a new version of it, took its place."""
    return replace(
        old,
        id=f"{old.id}@{old.version}",
        status="superseded",
        valid_until=now or new.valid_from,
        superseded_by=new.id,
    )


def edited(note: Note, changes: Mapping[str, Any], now: datetime) -> Change:
    """Decide what editing a note does: a new text or kind is a new version of it."""
    new = replace(note, **changes, updated_at=now)
    if (new.text, new.kind) == (note.text, note.kind):
        return Change("update", new, note, "edited")
    new = replace(new, version=note.version + 1, valid_from=now)
    return Change("supersede", new, note, "edited")


def _reinforce(note: Note, candidate: Note, now: datetime) -> Change:
    said_again = replace(
        note,
        slot=note.slot or candidate.slot,
        mentions=note.mentions + 1,
        importance=max(note.importance, candidate.importance),
        pinned=note.pinned or candidate.pinned,
        metadata={**note.metadata, **candidate.metadata},
        sources=tuple(dict.fromkeys((*note.sources, *candidate.sources))),
        updated_at=now,
    )
    return Change("reinforce", said_again, note, "said before")


def _supersede(holder: Note, candidate: Note) -> Change:
    new = replace(
        candidate,
        id=holder.id,
        version=holder.version + 1,
        pinned=holder.pinned or candidate.pinned,
        created_at=holder.created_at,
    )
    return Change("supersede", new, holder, f"a new value for {candidate.slot!r}")


def candidate_ids(candidate: Note) -> list[str]:
    """Return the ids that a new note may get: named by its content, the first that is free.

    So two writers of the same note meet in one row. More than one, since a note keeps its id when
    it is edited.
    """
    content = (
        ("text", candidate.kind, normalise(candidate.text))
        if candidate.slot is None
        else ("slot", normalise(candidate.slot))
    )
    return [record_id("note", *content, attempt) for attempt in range(4)]


def _free_id(candidate: Note, taken: Collection[str]) -> str:
    free = (id for id in candidate_ids(candidate) if id not in taken)
    return next(free, uuid.uuid4().hex[:24])


def _same_text(note: Note, candidate: Note) -> bool:
    """Whether two notes are one; "Rosario" as home city and as birth place are two."""
    if None not in (note.slot, candidate.slot) and not _same_slot(note, candidate):
        return False
    return text_digest(note.kind, note.text) == text_digest(candidate.kind, candidate.text)


def _same_slot(note: Note, candidate: Note) -> bool:
    if note.slot is None or candidate.slot is None:
        return False
    return slot_digest(note.slot) == slot_digest(candidate.slot)
