"""A recall's query: which types are searched, and with which filters. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from langgraph_memory.records import TYPES, Kind, Owner, RecordType
from langgraph_memory.store import Best, ExtendedFilter, value_filter

PROFILE_NOTES = 40
"""Notes that are read for the profile, of the user's own and of shared ones each: more than a block
of 1,000 tokens has room for beside what else it shows."""

STATEMENTS = 30
"""Statements of the user's that are read, for the same reason."""

_SPARE = 10  # more than are wanted: a few change places, or are left out


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """One recall: the question, whose memory it is put to, and who asks."""

    text: str
    owners: tuple[Owner, ...]
    """The user first."""
    types: Sequence[RecordType] | None = None
    kinds: Sequence[Kind] | None = None
    filter: Mapping[str, Any] | None = None
    limit: int = 10
    min_relevance: float | None = None
    as_of: datetime | None = None
    thread_id: str | None = None
    known: Collection[str] = ()
    """The ids of the messages that the caller has before them; they are not found. In the order in
    which they were said, they are looked up four times as fast as in that of a set."""
    now: datetime = field(kw_only=True)
    """The moment of asking, in the time zone of the memory."""
    embedder: str = ""
    """By which vectors were made, as its `Fingerprint` says."""
    statements: bool = True
    """Whether what the user stated is offered, whatever is asked."""
    expired: datetime | None = None
    """Messages that were said until then have expired; `None` if they do not."""
    hidden: frozenset[str] = frozenset()
    """Editions of documents that have been replaced, and are left out."""

    @property
    def searched_types(self) -> tuple[RecordType, ...]:
        """The types that are searched; none for a query without words."""
        if not any(map(str.isalnum, self.text)):
            return ()
        if self.types is not None:
            return tuple(self.types)
        return ("note",) if self.kinds is not None else TYPES

    @property
    def ranked_types(self) -> tuple[RecordType, ...]:
        """The types of which something is wanted, searched or not."""
        return tuple(type for type in TYPES if type in self.searched_types or self.also(type))

    @property
    def tasks_are_hits(self) -> bool:
        """Whether past tasks were asked for, and so are hits as others are."""
        return self.types is not None and "episode" in self.types

    @property
    def enough(self) -> int:
        """How many records are read for `limit` hits."""
        return self.limit + _SPARE

    def also(self, type: RecordType) -> tuple[Best, ...]:
        """Return the lists that are wanted whatever is asked: the profile, and what was stated."""
        if type == "note":
            held = self._held(type)
            return Best("worth", PROFILE_NOTES, held), Best("shared", PROFILE_NOTES, held)
        if type == "message" and self.statements:
            return (Best("stated", STATEMENTS, self._held(type)),)
        return ()

    # -- filters --

    @property
    def _not_over(self) -> dict[str, Any]:
        """The filter that leaves out what was over at the moment asked about, or as the day began.

        A store works out once which rows meet a filter: so, of now, it is the same for a day, and
        `holds` is exact.
        """
        day = self.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return {"valid_until": {"$ne": {"$lte": self._moment or day.isoformat()}}}

    @property
    def _moment(self) -> str | None:
        return None if self.as_of is None else self.as_of.isoformat()

    def _held(self, type: RecordType) -> dict[str, Any]:
        """Return the filter on whole values that leaves out what is not known."""
        begun = "valid_from" if type == "note" else "created_at"
        known: dict[str, Any] = {} if self.as_of is None else {begun: {"$lte": self._moment}}
        if type == "message" and self.expired is not None:
            # The same for an hour, for the reason above; `unexpired` is exact.
            hour = self.expired.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
            known[begun] = {**known.get(begun, {}), "$gt": hour.isoformat()}
        if type == "note":
            never = ("proposed", *(() if self.as_of is not None else ("superseded", "archived")))
            known |= {"status": {"$nin": never}} | self._not_over
        elif type == "document" and self.hidden:
            known = {"edition": {"$nin": sorted(self.hidden)}}
        return ExtendedFilter(known)

    def pushed_down(self, type: RecordType) -> dict[str, Any] | None:
        """Return the filter on whole values, with the caller's; most types need none."""
        known = dict(self._held(type))
        if type == "note" and self.kinds is not None:
            known["kind"] = {"$in": list(self.kinds)}
        for name, condition in value_filter(self.filter or {}).items():
            both = isinstance(condition, Mapping) and isinstance(known.get(name), Mapping)
            known[name] = {**known[name], **condition} if both else condition
        return ExtendedFilter(known) or None
