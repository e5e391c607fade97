"""What a recall asks of a store, and what it makes of the answers: no I/O of its own.

A store with `supports_hybrid` searches by meaning and by words at once, and gives its newest items
first. Any other LangGraph store searches by meaning; the words are then compared here, over what it
brought up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, cast

import numpy as np
from langgraph.store.base import SearchItem, SearchOp

from langgraph_memory.lexical import LexicalIndex, query_weights, tokens
from langgraph_memory.operations import ALL, get_op, newest_op, read_record, value_filter
from langgraph_memory.ranking import Evidence, Ranking, Scores
from langgraph_memory.records import Episode, Hit, Message, Note, Recalled, Record
from langgraph_memory.retention import unexpired
from langgraph_memory.scope import TYPES, Owner, RecordType
from langgraph_memory.store.filters import ExtendedFilter, matches
from langgraph_memory.store.ops import HybridOp, Match
from langgraph_memory.store.rows import Namespace

PROFILE_NOTES = 20
"""All notes are in every prompt while there are at most so many."""
RECENT_MESSAGES = 6
EPISODES = 3

Fusion = Callable[[Scores, Scores], Scores]

_RECENT_WINDOW = 24  # newest messages looked at for those of the latest session
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
        found = ranking.hits(self._evidence(matched, ranking, now), now)
        hits = [hit for hit in found if not isinstance(hit.record, Episode)]
        tasks = [hit for hit in found if isinstance(hit.record, Episode)]
        wants_episodes = self.types is not None and "episode" in self.types
        return Recalled(
            query=self.query,
            profile=_profile(few, pinned, self.as_of, now),
            recent=self._recent(*said),
            hits=tuple((found if wants_episodes else hits)[: self.limit]),
            episodes=tuple(tasks[: self.limit if wants_episodes else EPISODES]),
            nothing_known=not any(self._tells(hit, ranking) for hit in found),
            exact=all(getattr(result, "exact", True) for result in searched),
            empty=not (any(newest) or any(map(self._is_elsewhere, matched))),
        )

    # -- parts of the above --

    @property
    def _not_over(self) -> dict[str, Any]:
        """The filter that leaves out what was over when the day began; `holds` is exact.

        A store works out once which rows meet a filter: so the filter is the same for a day.
        """
        day = self.now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return {"valid_until": {"$ne": {"$lte": day.isoformat()}}}

    @property
    def _moment(self) -> str | None:
        return None if self.as_of is None else self.as_of.isoformat()

    def _namespaces(self) -> tuple[list[Any], list[Any]]:
        """Return the namespaces of what is known, and those of past tasks."""
        if self.types is not None:
            types = self.types
        else:
            types = ("note",) if self.kinds is not None else TYPES
        known = [owner.namespace(t) for owner in self.owners for t in types if t != "episode"]
        tasks = [owner.namespace(t) for owner in self.owners for t in types if t == "episode"]
        return known, tasks

    def _searches(self, ranking: Ranking, hybrid: bool, searches: bool) -> list[Any]:
        if not self.query.strip():
            return []
        narrowed = any(each is not None for each in (self.kinds, self.as_of, self.expired))
        wide = _WIDE if narrowed or not hybrid else max(30, 3 * self.limit) + len(self.known)
        if not hybrid:
            return [
                SearchOp(
                    namespace,
                    query=self.query,
                    limit=wide if searches and not self.hidden else ALL,
                    refresh_ttl=False,
                )
                for group in self._namespaces()
                for namespace in group
            ]
        filter = self._pushed_down()
        return [
            HybridOp(tuple(group), self.query, relevance, filter, wide)
            for group, relevance in zip(self._namespaces(), _fusions(ranking), strict=True)
            if group
        ]

    def _pushed_down(self) -> dict[str, Any]:
        """Return the filter on whole values."""
        never = ("proposed",) if self.as_of is not None else ("superseded", "proposed", "archived")
        known: dict[str, Any] = {"status": {"$nin": never}}
        known |= {} if self.as_of else self._not_over
        known |= {"edition": {"$nin": sorted(self.hidden)}} if self.hidden else {}
        return ExtendedFilter({**known, **value_filter(self.filter or {})})

    def _matched(self, searched: Sequence[Any], ranking: Ranking) -> list[Match]:
        found: list[Any] = [entry for result in searched for entry in result]
        if not found or isinstance(found[0], Match):
            return found
        items = self._asked_for(searched)
        groups = zip(self._namespaces(), _fusions(ranking), strict=True)
        return [
            match
            for group, relevance in groups
            for match in _compare_words(
                self.query, [item for item in items if tuple(item.namespace) in group], relevance
            )
        ]

    def _is_elsewhere(self, match: Match) -> bool:
        """Whether it is neither before the asker, nor of the session that is going on."""
        value = match.item.value
        here = self.thread_id is not None and value.get("thread_id") == self.thread_id
        return not here and value.get("message_id") not in self.known

    def _evidence(
        self, matched: Sequence[Match], ranking: Ranking, now: datetime
    ) -> list[Evidence]:
        return [
            Evidence(record, *match[1:])
            for match in matched
            if ranking.is_evidence(  # before it is read: most are not
                match.cosine,
                match.coverage,
                self.min_relevance,
                match.item.namespace[-1],
            )
            and (record := read_record(match.item)) is not None
            and self._admits(record, now)
        ]

    def _asked_for(self, searched: Sequence[Any]) -> list[SearchItem]:
        """Return what a store that does not take our own operations found, filtered."""
        asked = [namespace for group in self._namespaces() for namespace in group]
        filter = self._pushed_down()
        return [
            item
            for namespace, items in zip(asked, searched, strict=True)
            for item in _lying_in(namespace, items)
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
        cosine, coverage = hit.parts["cosine"], hit.parts["coverage"]
        return ranking.is_evidence(cosine, coverage, self.min_relevance, "message")

    def _admits(self, record: Record, now: datetime) -> bool:
        if self.kinds is not None and not (isinstance(record, Note) and record.kind in self.kinds):
            return False
        if isinstance(record, Message) and record.message_id in self.known:
            return False
        if isinstance(record, Episode) and record.thread_id and record.thread_id == self.thread_id:
            return False
        return holds(record, self.as_of, now)


def lesson_ops(recalled: Recalled) -> list[Any]:
    """Return the operations that bring what was learnt from the past tasks; mostly none."""
    named: dict[tuple[Owner, str], None] = {}
    for hit in recalled.episodes:
        if isinstance(hit.record, Episode):
            named |= dict.fromkeys((hit.record.owner, id) for id in hit.record.lessons)
    return [get_op(owner.namespace("note"), id) for owner, id in named]


def with_lessons(
    recalled: Recalled, found: Sequence[Any], as_of: datetime | None, now: datetime
) -> Recalled:
    """Return what was recalled with what `lesson_ops` found; what holds no longer is left out."""
    records = [read_record(item) for item in found if item is not None]
    notes = [note for note in records if isinstance(note, Note) and note.kind == "lesson"]
    return replace(recalled, lessons=tuple(note for note in notes if holds(note, as_of, now)))


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


def _fusions(ranking: Ranking) -> tuple[Fusion, Fusion]:
    """Return how relevance is made of what is known, and of past tasks."""
    return ranking.relevance, ranking.episode_relevance


def _compare_words(query: str, items: Sequence[SearchItem], relevance: Fusion) -> list[Match]:
    index = LexicalIndex()
    index.extend([tokens(str(item.value.get("search_text", ""))) for item in items])
    alive = np.ones(len(items), np.bool_)
    bm25, coverage = index.scores(query_weights(query, [(index, alive)]), alive)
    cosine = np.array([item.score or 0.0 for item in items], np.float32)
    scores = np.stack([cosine, bm25, coverage, relevance(cosine, bm25)], axis=1)
    return [Match(cast(Any, item), *row) for item, row in zip(items, scores.tolist(), strict=True)]
