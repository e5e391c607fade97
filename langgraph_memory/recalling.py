"""What a recall asks of a store: no I/O of its own. `findings` is what is made of the answers.

A store with `supports_hybrid` searches by meaning and by words at once, and gives its newest items
first. Any other LangGraph store searches by meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import SearchOp

from langgraph_memory.operations import ALL, lying_in, newest_op, value_filter
from langgraph_memory.ranking import Ranking
from langgraph_memory.relevance import ranker_of
from langgraph_memory.scope import TYPES, Owner, RecordType
from langgraph_memory.store.filters import ExtendedFilter
from langgraph_memory.store.ops import HybridOp, Ranker
from langgraph_memory.store.rows import Namespace

PROFILE_NOTES = 20
"""All notes are in every prompt while there are at most so many."""

_RECENT_WINDOW = 24  # newest messages looked at for those of the latest session
_SPARE = 10  # more than are wanted: a few change places, or are left out
_EXPIRED = 200  # more, where the store may hold what has expired
_WIDE = 1_000  # candidates where some are left out afterwards


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
    thread_id: str | None
    known: frozenset[str]
    """Ids of messages that the asker has before them."""
    now: datetime
    expired: datetime | None = None
    """Messages that were said until then have expired; `None` if they do not."""
    hidden: frozenset[str] = frozenset()
    """Editions of documents that do not hold, and are left out."""

    def ops(self, ranking: Ranking, hybrid: bool, searches: bool = True) -> list[Any]:
        """Return the operations to put to the store, as one batch.

        Args:
            ranking: How relevance is made.
            hybrid: Whether the store takes our own operations.
            searches: Whether a store that does not can search by meaning.
        """
        user = self.owners[0]
        notes = [owner.namespace("note") for owner in self.owners]
        now = self.as_of is None
        active: dict[str, Any] = {"status": "active"} if now else {}
        if now and hybrid:
            active |= self._not_over
        # LangGraph's own stores do not all compare times; what is later is left out anyway.
        past = {"created_at": {"$lte": self._moment}}
        other: dict[str, Any] = past if hybrid and not now else {}
        if self.thread_id is not None:
            other["thread_id"] = {"$ne": self.thread_id}
        few = PROFILE_NOTES + 1 if now else ALL
        return [
            *self._searches(ranking, hybrid, searches),
            *(newest_op(ns, active, few, hybrid) for ns in notes),
            *(newest_op(ns, {**active, "pinned": True}, ALL, hybrid) for ns in notes),
            newest_op(user.namespace("message"), other, _RECENT_WINDOW, hybrid, "created_at"),
            newest_op(user.namespace("episode"), other, _RECENT_WINDOW, hybrid, "created_at"),
            *(newest_op(owner.namespace("source"), None, ALL, hybrid) for owner in self.owners),
        ]

    def narrowed(self, results: Sequence[Any]) -> Question | None:
        """Return the question to ask instead, if chunks were found that do not hold; else `None`.

        While a source is replaced, chunks of two editions are there, and those that do not hold
        would take the place of others.
        """
        searched, sources = self._parted(results)
        holding = {item.value["edition"] for item in sources}
        found = {
            item.value["edition"]
            for item in (getattr(each, "item", each) for each in searched)
            if item.namespace[-1] == "document" and "edition" in item.value
        }
        if found <= holding | self.hidden and not holding & self.hidden:
            return None
        return replace(self, hidden=(self.hidden | found) - holding)

    def _parted(self, results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the items that the searches found, and those of the sources."""
        sources = [
            item
            for owner, items in zip(self.owners, results[-len(self.owners) :], strict=True)
            for item in lying_in(owner.namespace("source"), items)
        ]
        searches = results[: -3 * len(self.owners) - 2]
        return [entry for result in searches for entry in result], sources

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

    @property
    def searched_types(self) -> tuple[RecordType, ...]:
        """The types that are searched, in the order in which `ops` begins with them."""
        if self.types is not None:
            return self.types
        return ("note",) if self.kinds is not None else TYPES

    @property
    def wide(self) -> int:
        """How many records are looked for: some may have expired since the filter was made."""
        return self.enough if self.expired is None else self.enough + _EXPIRED

    @property
    def enough(self) -> int:
        """How many records are read for `limit` hits."""
        return self.limit + _SPARE + len(self.known)

    def namespaces(self, type: RecordType) -> tuple[Namespace, ...]:
        """Return where records of a type are searched."""
        return tuple(owner.namespace(type) for owner in self.owners)

    def ranker(self, type: RecordType, ranking: Ranking) -> Ranker:
        """Return how records of a type are ranked."""
        return ranker_of(type, self.query, ranking, self.as_of or self.now)

    def _searches(self, ranking: Ranking, hybrid: bool, searches: bool) -> list[Any]:
        if not any(map(str.isalnum, self.query)):
            return []
        wide = self.wide if hybrid else _WIDE
        if not hybrid:
            return [
                SearchOp(
                    namespace,
                    query=self.query,
                    limit=wide if searches and not self.hidden else ALL,
                    refresh_ttl=False,
                )
                for type in self.searched_types
                for namespace in self.namespaces(type)
            ]
        return [
            HybridOp(
                self.namespaces(type),
                self.query,
                self.ranker(type, ranking),
                self.pushed_down(type),
                wide,
            )
            for type in self.searched_types
        ]

    def pushed_down(self, type: RecordType) -> dict[str, Any] | None:
        """Return the filter on whole values; most types need none."""
        begun = "valid_from" if type == "note" else "created_at"
        known: dict[str, Any] = {} if self.as_of is None else {begun: {"$lte": self._moment}}
        if type == "message" and self.expired is not None:
            # The same for an hour, for the reason above; `unexpired` is exact.
            hour = self.expired.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
            known[begun] = {**known.get(begun, {}), "$gt": hour.isoformat()}
        if type == "note":
            never = ("proposed", *(() if self.as_of is not None else ("superseded", "archived")))
            known |= {"status": {"$nin": never}} | self._not_over
            if self.kinds is not None:
                known["kind"] = {"$in": list(self.kinds)}
        elif type == "document" and self.hidden:
            known = {"edition": {"$nin": sorted(self.hidden)}}
        for name, condition in value_filter(self.filter or {}).items():
            both = isinstance(condition, Mapping) and isinstance(known.get(name), Mapping)
            known[name] = {**known[name], **condition} if both else condition
        return ExtendedFilter(known) or None
