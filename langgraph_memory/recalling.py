"""What a recall asks of a store, and what it makes of the answers: no I/O of its own.

A store with `supports_hybrid` searches by meaning and by words at once, and gives its newest items
first. Any other LangGraph store searches by meaning; the words are then compared here, over what it
brought up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, cast

import numpy as np
from langgraph.store.base import SearchItem, SearchOp

from langgraph_memory.lexical import LexicalIndex, tokens
from langgraph_memory.operations import ALL, get_op, newest_op, read_record, value_filter
from langgraph_memory.ranking import Evidence, Ranking, distinct
from langgraph_memory.records import Episode, Hit, Message, Note, Recalled, Record
from langgraph_memory.relevance import ranker_of
from langgraph_memory.retention import unexpired
from langgraph_memory.scope import TYPES, Owner, RecordType
from langgraph_memory.store.filters import ExtendedFilter, matches
from langgraph_memory.store.ops import Found, HybridOp, Match, Ranker, Searched
from langgraph_memory.store.rows import Namespace

PROFILE_NOTES = 20
"""All notes are in every prompt while there are at most so many."""
RECENT_MESSAGES = 6
EPISODES = 3

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
            for item in _lying_in(owner.namespace("source"), items)
        ]
        searches = results[: -3 * len(self.owners) - 2]
        return [entry for result in searches for entry in result], sources

    def answer(self, results: Sequence[Any], ranking: Ranking, now: datetime) -> Recalled:
        """Return what the store's answers to `ops` come to."""
        results = unexpired(results, self.expired)[: -len(self.owners)]
        notes = [owner.namespace("note") for owner in self.owners]
        spoken = [self.owners[0].namespace(type) for type in ("message", "episode")]
        searched, newest = results[: -2 * len(notes) - 2], results[-2 * len(notes) - 2 :]
        newest = list(map(_lying_in, (*notes, *notes, *spoken), newest))
        few, pinned, said = newest[: len(notes)], newest[len(notes) : -2], newest[-2:]
        matched = self._matched(searched, ranking)
        found_at_all = chain.from_iterable(found for _, found in matched)
        wants_episodes = self.types is not None and "episode" in self.types
        of_tasks = [each for each in matched if each[0] == "episode"]
        others = [each for each in matched if each[0] != "episode"]
        groups = [matched] if wants_episodes else [others, of_tasks]
        evidence = [each for group in groups for each in self._evidence(group, ranking, now)]
        told = ranking.hits(evidence, now)
        hits = [hit for hit in told if not isinstance(hit.record, Episode)]
        tasks = [hit for hit in told if isinstance(hit.record, Episode)]
        return Recalled(
            query=self.query,
            profile=_profile(few, pinned, self.as_of, now),
            recent=self._recent(*said),
            hits=tuple(distinct(told if wants_episodes else hits, self.limit)),
            episodes=tuple(tasks[: self.limit if wants_episodes else EPISODES]),
            nothing_known=not any(self._tells(hit, ranking) for hit in told),
            exact=all(getattr(result, "exact", True) for result in searched),
            empty=not (any(newest) or any(map(self._is_elsewhere, found_at_all))),
        )

    # -- parts of the above --

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
    def _searched_types(self) -> tuple[RecordType, ...]:
        if self.types is not None:
            return self.types
        return ("note",) if self.kinds is not None else TYPES

    @property
    def _wide(self) -> int:
        """How many records are looked for: some may have expired since the filter was made."""
        return self._enough if self.expired is None else self._enough + _EXPIRED

    @property
    def _enough(self) -> int:
        """How many records are read for `limit` hits."""
        return self.limit + _SPARE + len(self.known)

    def _namespaces(self, type: RecordType) -> tuple[Namespace, ...]:
        return tuple(owner.namespace(type) for owner in self.owners)

    def _ranker(self, type: RecordType, ranking: Ranking) -> Ranker:
        return ranker_of(type, self.query, ranking, self.as_of or self.now)

    def _searches(self, ranking: Ranking, hybrid: bool, searches: bool) -> list[Any]:
        if not any(map(str.isalnum, self.query)):
            return []
        wide = self._wide if hybrid else _WIDE
        if not hybrid:
            return [
                SearchOp(
                    namespace,
                    query=self.query,
                    limit=wide if searches and not self.hidden else ALL,
                    refresh_ttl=False,
                )
                for type in self._searched_types
                for namespace in self._namespaces(type)
            ]
        return [
            HybridOp(
                self._namespaces(type),
                self.query,
                self._ranker(type, ranking),
                self._pushed_down(type),
                wide,
            )
            for type in self._searched_types
        ]

    def _pushed_down(self, type: RecordType) -> dict[str, Any] | None:
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

    def _matched(
        self, searched: Sequence[Any], ranking: Ranking
    ) -> list[tuple[RecordType, Found[Match]]]:
        """Return what was found of each type."""
        types = self._searched_types if searched else ()
        first = next(chain.from_iterable(searched), None)
        if first is None:
            return []
        if isinstance(first, Match):
            return list(zip(types, searched, strict=True))
        lists = iter(searched)
        return [
            (type, _ranked(self._asked_for(type, lists), self._ranker(type, ranking)))
            for type in types
        ]

    def _is_elsewhere(self, match: Match) -> bool:
        """Whether it is neither before the asker, nor of the session that is going on."""
        value = match.item.value
        here = self.thread_id is not None and value.get("thread_id") == self.thread_id
        return not here and value.get("message_id") not in self.known

    def _evidence(
        self, matched: Sequence[tuple[RecordType, Found[Match]]], ranking: Ranking, now: datetime
    ) -> list[Evidence]:
        """Return what was found of the types of which something is known about the question."""
        floors = {type: ranking.floor(type, self.min_relevance) for type, _ in matched}
        known = [
            match
            for type, found in matched
            if found and found.highest["evidence"] >= floors[type]
            for match in found
            if type == "message" or match.scores["evidence"] >= floors[type] / 2
        ]
        read = list(self._read(known, now))
        admitted = [Evidence(record, match.scores) for record, match in read if record is not None]
        if len(admitted) == len(read):
            return admitted
        # The best that was found may be one that is not admitted.
        best: dict[RecordType, float] = {}
        for record, scores in admitted:
            best[record.type] = max(scores["evidence"], best.get(record.type, -math.inf))
        return [each for each in admitted if best[each[0].type] >= floors[each[0].type]]

    def _read(
        self, matches: Sequence[Match], now: datetime
    ) -> Iterator[tuple[Record | None, Match]]:
        """Yield the most relevant records, `None` for one that is not admitted; few are read."""
        ranked = sorted(matches, key=lambda match: -match.scores["relevance"])
        for match in ranked[: self._enough]:
            record = read_record(match.item)
            yield record if record is not None and self._admits(record, now) else None, match

    def _asked_for(self, type: RecordType, lists: Iterator[Any]) -> list[SearchItem]:
        """Return what a store that does not take our own operations found of a type, filtered."""
        filter = self._pushed_down(type) or {}
        return [
            item
            for namespace in self._namespaces(type)
            for item in _lying_in(namespace, next(lists))
            if matches(item.value, filter)
        ]

    def _recent(
        self, messages: Sequence[Any], episodes: Sequence[Any]
    ) -> tuple[Message | Episode, ...]:
        """Return the end of the latest other session, oldest first, and its episode."""
        last = next(self._latest(messages), None)
        if last is None:
            return ()
        said = list(islice(self._latest(messages, last.thread_id), RECENT_MESSAGES))
        return (*reversed(said), *islice(self._latest(episodes, last.thread_id), 1))

    def _latest(
        self, items: Sequence[Any], thread_id: str | None = None
    ) -> Iterator[Message | Episode]:
        """Yield what is of another session, or of one of them, the latest first."""
        for item in sorted(items, key=said_at, reverse=True):
            where = item.value.get("thread_id")
            if where == self.thread_id or (thread_id is not None and where != thread_id):
                continue  # unread
            if item.value.get("message_id") in self.known:
                continue  # the thread was forked from that one
            record = read_record(item)
            if not isinstance(record, (Message, Episode)):
                continue
            if self.as_of is None or record.created_at <= self.as_of:
                yield record

    def _tells(self, hit: Hit, ranking: Ranking) -> bool:
        """Whether a hit says something about the query; a like task is only worth a look."""
        if not isinstance(hit.record, Episode):
            return True
        return hit.parts["evidence"] >= ranking.floor("message", self.min_relevance)

    def _admits(self, record: Record, now: datetime) -> bool:
        if self.kinds is not None and not (isinstance(record, Note) and record.kind in self.kinds):
            return False
        if isinstance(record, Message) and record.message_id in self.known:
            return False
        if isinstance(record, Episode) and record.thread_id and record.thread_id == self.thread_id:
            return False
        return holds(record, self.as_of, now)


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


def holds(record: Record, as_of: datetime | None, now: datetime) -> bool:
    """Whether a record is known at a moment, and a note true; at no moment: whether it is now.

    What begins to hold later is known now; what is over comes up no more.
    """
    if not isinstance(record, Note):
        return as_of is None or record.created_at <= as_of
    if record.is_over(now if as_of is None else as_of):
        return False
    if as_of is None:
        return record.status == "active"
    return record.status != "proposed" and record.valid_from <= as_of


def _lying_in(namespace: Namespace, items: Sequence[Any]) -> list[Any]:
    # A store may take a namespace for a prefix of another, or a label for a pattern.
    return [item for item in items if tuple(item.namespace) == namespace]


def _profile(
    few: Sequence[Sequence[Any]],
    pinned: Sequence[Sequence[Any]],
    as_of: datetime | None,
    now: datetime,
) -> tuple[Note, ...]:
    """Return the pinned notes, and those of each owner who has few; the user's own first."""
    notes: dict[tuple[Owner, str], Note] = {}
    for items in pinned:
        notes |= _held(items, as_of, now)
    for items in few:
        if as_of is None and len(items) > PROFILE_NOTES:
            continue  # the store was asked for no others
        held = _held(items, as_of, now)
        if len(held) <= PROFILE_NOTES:
            notes |= held
    return tuple(sorted(notes.values(), key=_rank))


def _rank(note: Note) -> tuple[bool, bool, datetime]:
    return note.owner.kind != "user", not note.pinned, note.created_at


def _held(
    items: Sequence[Any], as_of: datetime | None, now: datetime
) -> dict[tuple[Owner, str], Note]:
    notes = (note for note in map(read_record, items) if isinstance(note, Note))
    return {(note.owner, note.id): note for note in notes if holds(note, as_of, now)}


def said_at(item: Any) -> tuple[str, datetime, int]:
    """Order what was said: by its time, then by when it was written, then by its place there."""
    value = item.value
    return str(value.get("created_at")), item.updated_at, value.get("position") or 0


def _ranked(items: Sequence[SearchItem], ranker: Ranker) -> Found[Match]:
    """Rank what a store brought up that does not take our own operations."""
    if not items:
        return Found()
    index = LexicalIndex()
    index.extend([tokens(str(item.value.get("search_text", ""))) for item in items])
    alive = np.ones(len(items), np.bool_)
    cosine = np.array([item.score or 0.0 for item in items], np.float32)
    view = None
    if ranker.columns is not None:
        columns = ranker.columns()
        columns.append(cast(Any, items))
        view = columns.view(alive, index)
    [scores] = ranker([Searched(cosine, index, alive, alive, view)])
    rows = np.stack(list(scores.values()), axis=1).tolist()
    return Found(
        (
            Match(cast(Any, item), dict(zip(scores, row, strict=True)))
            for item, row in zip(items, rows, strict=True)
        ),
        highest={name: float(of.max()) for name, of in scores.items()},
    )
