"""What a recall asks of a store: no I/O of its own. `results` is what is made of the answers.

Each type is searched by meaning and by words at once, and gives further lists of the same scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from langgraph_memory.records import TYPES, Owner, RecordType
from langgraph_memory.retrieval.ranking import Ranking
from langgraph_memory.retrieval.scoring import Asker, ranker_of
from langgraph_memory.store import (
    ALL,
    Best,
    ExtendedFilter,
    HybridOp,
    NewestOp,
    Ranker,
    lying_in,
    value_filter,
)

PROFILE_NOTES = 40
"""Notes that are read for the profile, of the user's own and of shared ones each: more than a block
of 1,000 tokens has room for beside what else it shows."""

STATEMENTS = 30
"""Statements of the user's that are read, for the same reason."""

_RECENT_WINDOW = 24  # newest messages looked at for those of the latest session
_SPARE = 10  # more than are wanted: a few change places, or are left out
_EXPIRED = 200  # more, where the store may hold what has expired
_WIDE = 1_000  # candidates where some are left out afterwards


class Asked(NamedTuple):
    """By what the answer to an operation is found in a batch."""

    what: str
    """`search` and `newest` for a type of records, `source` for who has documents."""
    type: RecordType
    owner: Owner | None = None
    """Whose, where each owner is asked for apart."""


Answers = Mapping[Asked, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """One recall: what is asked of whose memory."""

    query: str
    owners: tuple[Owner, ...]
    """The user first."""
    types: tuple[RecordType, ...] | None
    kinds: tuple[str, ...] | None
    filter: Mapping[str, Any] | None
    limit: int
    min_relevance: float | None
    as_of: datetime | None
    asker: Asker
    """Who asks, and when."""
    statements: bool = True
    """Whether what the user stated is offered, whatever is asked."""
    expired: datetime | None = None
    """Messages that were said until then have expired; `None` if they do not."""
    hidden: frozenset[str] = frozenset()
    """Editions of documents that do not hold, and are left out."""

    def ops(self, ranking: Ranking) -> dict[Asked, Any]:
        """Return the operations to put to the store, as one batch.

        Args:
            ranking: How relevance is made.
        """
        asked = self._searches(ranking)
        other: dict[str, Any] = {}
        if self.as_of is not None:
            other["created_at"] = {"$lte": self._moment}
        if self.asker.thread_id is not None:
            other["thread_id"] = {"$ne": self.asker.thread_id}
        for type in ("message", "episode"):
            namespace = self.owners[0].namespace(type)
            newest = NewestOp(namespace, other, _RECENT_WINDOW, "created_at")
            asked[Asked("newest", type)] = newest
        for owner in self.owners:
            source = NewestOp(owner.namespace("source"), None, ALL)
            asked[Asked("source", "source", owner)] = source
        return asked

    def narrowed(self, answers: Answers) -> Question | None:
        """Return the question to ask instead, if chunks were found that do not hold; else `None`.

        While a source is replaced, chunks of two editions are there, and those that do not hold
        would take the place of others.
        """
        holding = {
            item.value["edition"]
            for asked, items in answers.items()
            if asked.what == "source" and asked.owner is not None
            for item in lying_in(asked.owner.namespace("source"), items)
        }
        found = {
            item.value["edition"]
            for asked, entries in answers.items()
            if asked.what == "search" and asked.type == "document"
            for item in (getattr(entry, "item", entry) for entry in entries)
            if item.namespace[-1] == "document" and isinstance(item.value.get("edition"), str)
        }
        if found <= holding | self.hidden and not holding & self.hidden:
            return None
        return replace(self, hidden=(self.hidden | found) - holding)

    @property
    def searched_types(self) -> tuple[RecordType, ...]:
        """The types that are searched; none for a query without words."""
        if not any(map(str.isalnum, self.query)):
            return ()
        if self.types is not None:
            return self.types
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

    def ranker(self, type: RecordType, ranking: Ranking) -> Ranker:
        """Return how records of a type are ranked."""
        return ranker_of(type, self.query, ranking, self.asker)

    def also(self, type: RecordType) -> tuple[Best, ...]:
        """Return the lists that are wanted whatever is asked: the profile, and what was stated."""
        if type == "note":
            held = self._held(type)
            return Best("worth", PROFILE_NOTES, held), Best("shared", PROFILE_NOTES, held)
        if type == "message" and self.statements:
            return (Best("stated", STATEMENTS, self._held(type)),)
        return ()

    def _searches(self, ranking: Ranking) -> dict[Asked, Any]:
        limit = self.enough if self.expired is None else self.enough + _EXPIRED
        asked: dict[Asked, Any] = {}
        for type in self.ranked_types:
            asked[Asked("search", type)] = HybridOp(
                tuple(owner.namespace(type) for owner in self.owners),
                self.query,
                self.ranker(type, ranking),
                self.pushed_down(type),
                limit if type in self.searched_types else 0,
                self.also(type),
            )
        return asked

    # -- filters --

    @property
    def _not_over(self) -> dict[str, Any]:
        """The filter that leaves out what was over at the moment asked about, or as the day began.

        A store works out once which rows meet a filter: so, of now, it is the same for a day, and
        `holds` is exact.
        """
        day = self.asker.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
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
