"""What was learnt from the past tasks that a recall found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from langgraph_memory.findings import holds
from langgraph_memory.operations import get_op, read_record
from langgraph_memory.records import Episode, Note, Recalled
from langgraph_memory.scope import Owner


def lesson_ops(recalled: Recalled) -> list[Any]:
    """Return the operations that bring what was learnt from the past tasks; mostly none.

    A lesson that gave way to another names it: that one is asked for next.
    """
    known = {(note.owner, note.id): note for note in recalled.lessons}
    named: dict[tuple[Owner, str], None] = {}
    for hit in recalled.episodes:
        if isinstance(hit.record, Episode):
            named |= dict.fromkeys((hit.record.owner, id) for id in hit.record.lessons)
    for note in recalled.lessons:
        if note.status != "active" and note.superseded_by is not None:
            named[note.owner, note.superseded_by] = None
    return [get_op(owner.namespace("note"), id) for owner, id in named if (owner, id) not in known]


def with_found(recalled: Recalled, found: Sequence[Any]) -> Recalled:
    """Return what was recalled with what `lesson_ops` found, in whatever state that is."""
    records = [read_record(item) for item in found if item is not None]
    notes = (note for note in records if isinstance(note, Note) and note.kind == "lesson")
    return replace(recalled, lessons=(*recalled.lessons, *notes))


def with_lessons(recalled: Recalled, as_of: datetime | None, now: datetime) -> Recalled:
    """Return what was recalled with those of the lessons that were found which hold."""
    held = (note for note in recalled.lessons if holds(note, as_of, now))
    return replace(recalled, lessons=tuple(held))
