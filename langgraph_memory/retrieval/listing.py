"""Which of a user's records are listed, counted or forgotten. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph_memory.records import (
    TYPES,
    Also,
    Document,
    Kind,
    Message,
    Note,
    Receipt,
    Record,
    Source,
    normalise,
)
from langgraph_memory.retrieval.block import own_text
from langgraph_memory.store import matches, value_filter


@dataclass(frozen=True, slots=True)
class Choice:
    """Which records are wanted."""

    kinds: Sequence[Kind] | None
    contains: str | None
    filter: Mapping[str, Any] | None
    status: str | None

    def of(self, records: Iterable[Record]) -> list[Record]:
        """Return the records that are wanted, newest first."""
        return sorted(filter(self._admits, records), key=_moment, reverse=True)

    def _admits(self, record: Record) -> bool:
        if isinstance(record, Note):
            if self.status is not None and record.status != self.status:
                return False
            if self.kinds is not None and record.kind not in self.kinds:
                return False
        elif self.kinds is not None:
            return False
        if self.contains is not None and normalise(self.contains) not in normalise(record.text):
            return False
        return not self.filter or matches(record.to_value(), value_filter(self.filter))


def counts(records: Iterable[Record]) -> dict[str, int]:
    """Return how many records of each type there are; of notes, the active ones."""
    found: dict[str, int] = dict.fromkeys(TYPES, 0)
    for record in records:
        if not isinstance(record, Note) or record.status == "active":
            found[record.type] += 1
    return found


def doomed(
    records: Sequence[Record], id: str | None, text: str | None, source: str | None
) -> list[Record]:
    """Return the records to forget; a note goes with its older versions, a source with its chunks.

    A note takes those along whose place it took.
    Sources come first: without them, no chunk holds.
    """
    if source is not None:
        return _of_sources(records, {source})
    if id is not None:
        named = [record for record in records if record.id == id]
    else:
        named = saying(text or "", records)
    ids = {record.id for record in named}
    whole = {note.id for note in named if isinstance(note, Note) and note.id == _whole_id(note)}
    while gave_way := {note.id for note in records if _gave_way(note, whole)} - whole:
        whole |= gave_way
    sources = {record.source for record in named if isinstance(record, Source)}
    return _of_sources(records, sources) or [
        record for record in records if record.id in ids or _whole_id(record) in whole
    ]


def saying(text: str, records: Iterable[Record]) -> list[Record]:
    """Return the records with a text; case and white space are ignored."""
    wanted = normalise(text)
    return [record for record in records if normalise(own_text(record)) == wanted]


def _of_sources(records: Sequence[Record], names: Collection[str]) -> list[Record]:
    of_them = [r for r in records if isinstance(r, (Source, Document)) and r.source in names]
    return sorted(of_them, key=lambda record: record.type != "source")


def _gave_way(record: Record, whole: Collection[str]) -> bool:
    if not isinstance(record, Note) or record.superseded_by not in whole:
        return False
    return record.status == "superseded" and record.id == _whole_id(record)


def receipt(records: Sequence[Record], also: Sequence[Also] = ()) -> Receipt:
    """Return what says that records were deleted, and what else says what they said."""
    found: dict[str, int] = {}
    for record in records:
        found[record.type] = found.get(record.type, 0) + 1
    return Receipt(tuple(record.id for record in records), found, tuple(also))


def _moment(record: Record) -> tuple[datetime, int]:
    moment = record.updated_at if isinstance(record, Note) else record.created_at
    match record:
        case Message():
            return moment, record.position
        case Document():
            return moment, -record.position  # a text is read from its beginning
    return moment, 0


def _whole_id(record: Record) -> str:
    # Ids are digests: an `@` in one begins the number of an older version.
    return record.id.partition("@")[0] if isinstance(record, Note) else record.id
