"""What a store's answers to a recall come to: the floors, the profile, the last session. No I/O.

A store that does not take our own operations brings up items by meaning; their words are compared
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Any, cast

import numpy as np
from langgraph.store.base import SearchItem

from langgraph_memory.lexical import LexicalIndex, tokens
from langgraph_memory.operations import lying_in, read_record
from langgraph_memory.ranking import Evidence, Ranking, distinct
from langgraph_memory.recalling import PROFILE_NOTES, Question
from langgraph_memory.records import Episode, Hit, Message, Note, Recalled, Record
from langgraph_memory.retention import unexpired
from langgraph_memory.scope import Owner, RecordType
from langgraph_memory.store.filters import matches
from langgraph_memory.store.ops import Found, Match, Ranker, Searched

RECENT_MESSAGES = 6
EPISODES = 3
_SPARE_TASKS = 3  # more: only a few per cent of recency make them change places

Matched = Sequence[tuple[RecordType, Found[Match]]]
"""What was found of each type."""


def recalled(
    question: Question, results: Sequence[Any], ranking: Ranking, now: datetime
) -> Recalled:
    """Return what the store's answers to `question.ops` come to.

    Args:
        question: What was asked.
        results: The answers; messages that have expired are taken out of them.
        ranking: The same that `ops` was given.
        now: The moment against which recency counts.
    """
    results = unexpired(results, question.expired)[: -len(question.owners)]
    return _Findings(question, ranking, now).recalled(results)


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


def said_at(item: Any) -> tuple[str, datetime, int]:
    """Order what was said: by its time, then by when it was written, then by its place there."""
    value = item.value
    return str(value.get("created_at")), item.updated_at, value.get("position") or 0


@dataclass(frozen=True, slots=True)
class _Findings:
    """What is found of one question."""

    question: Question
    ranking: Ranking
    now: datetime
    records: dict[int, Record | None] = field(default_factory=dict)
    """Those that were read, by the identity of their items: a note is in the profile and a hit."""

    def recalled(self, results: Sequence[Any]) -> Recalled:
        asked = self.question
        notes = [owner.namespace("note") for owner in asked.owners]
        spoken = [asked.owners[0].namespace(type) for type in ("message", "episode")]
        searched, newest = results[: -2 * len(notes) - 2], results[-2 * len(notes) - 2 :]
        newest = list(map(lying_in, (*notes, *notes, *spoken), newest))
        few, pinned, said = newest[: len(notes)], newest[len(notes) : -2], newest[-2:]
        matched = self._matched(searched)
        found_at_all = chain.from_iterable(found for _, found in matched)
        wants_episodes = asked.types is not None and "episode" in asked.types
        of_tasks = [each for each in matched if each[0] == "episode"]
        others = [each for each in matched if each[0] != "episode"]
        if wants_episodes:
            evidence = self._evidence(matched, asked.enough)
        else:
            evidence = self._evidence(others, asked.enough)
            evidence += self._evidence(of_tasks, EPISODES + _SPARE_TASKS)
        told = self.ranking.hits(evidence, self.now)
        hits = [hit for hit in told if not isinstance(hit.record, Episode)]
        tasks = [cast("Hit[Episode]", hit) for hit in told if isinstance(hit.record, Episode)]
        return Recalled(
            query=asked.query,
            profile=self._profile(few, pinned),
            recent=self._recent(*said),
            hits=tuple(distinct(told if wants_episodes else hits, asked.limit)),
            episodes=tuple(tasks[: asked.limit if wants_episodes else EPISODES]),
            nothing_known=not any(map(self._tells, told)),
            exact=all(getattr(result, "exact", True) for result in searched),
            empty=not (any(newest) or any(map(self._is_elsewhere, found_at_all))),
        )

    def _read(self, item: Any) -> Record | None:
        if id(item) not in self.records:
            self.records[id(item)] = read_record(item)
        return self.records[id(item)]

    # -- what was searched --

    def _matched(self, searched: Sequence[Any]) -> Matched:
        types = self.question.searched_types if searched else ()
        first = next(chain.from_iterable(searched), None)
        if first is None:
            return []
        if isinstance(first, Match):
            return list(zip(types, searched, strict=True))
        lists = iter(searched)
        return [
            (type, _ranked(self._asked_for(type, lists), self.question.ranker(type, self.ranking)))
            for type in types
        ]

    def _asked_for(self, type: RecordType, lists: Iterator[Any]) -> list[SearchItem]:
        """Return what a store that does not take our own operations found of a type, filtered."""
        filter = self.question.pushed_down(type) or {}
        return [
            item
            for namespace in self.question.namespaces(type)
            for item in lying_in(namespace, next(lists))
            if matches(item.value, filter)
        ]

    def _evidence(self, matched: Matched, enough: int) -> list[Evidence]:
        """Return what was found of the types of which something is known about the question."""
        floors = {type: self._floor(type) for type, _ in matched}
        known = [
            match
            for type, found in matched
            if found and found.highest("evidence") >= floors[type]
            for match in found
            if type == "message" or match.scores["evidence"] >= floors[type] / 2
            if type != "episode" or not self._is_here(match)
        ]
        known.sort(key=lambda match: -match.scores["relevance"])
        read = [(self._read(item), scores) for item, scores in known[:enough]]
        admitted = [
            Evidence(record, scores)
            for record, scores in read
            if record is not None and self._admits(record)
        ]
        if len(admitted) == len(read):
            return admitted
        # The best that was found may be one that is not admitted.
        best: dict[RecordType, float] = {}
        for record, scores in admitted:
            best[record.type] = max(scores["evidence"], best.get(record.type, -math.inf))
        return [each for each in admitted if best[each[0].type] >= floors[each[0].type]]

    def _floor(self, type: RecordType) -> float:
        return self.ranking.floor(type, self.question.min_relevance)

    def _admits(self, record: Record) -> bool:
        asked = self.question
        if asked.kinds is not None and not (
            isinstance(record, Note) and record.kind in asked.kinds
        ):
            return False
        if isinstance(record, Message) and record.message_id in asked.known:
            return False
        return holds(record, asked.as_of, self.now)

    def _is_here(self, match: Match) -> bool:
        """Whether it is of the session that is going on."""
        thread_id = self.question.thread_id
        return thread_id is not None and match.item.value.get("thread_id") == thread_id

    def _is_elsewhere(self, match: Match) -> bool:
        """Whether it is neither before the asker, nor of the session that is going on."""
        seen = match.item.value.get("message_id") in self.question.known
        return not seen and not self._is_here(match)

    def _tells(self, hit: Hit) -> bool:
        """Whether a hit says something about the query; a like task is only worth a look."""
        is_task = isinstance(hit.record, Episode)
        return not is_task or hit.parts["evidence"] >= self._floor("message")

    # -- what comes whatever is asked --

    def _profile(
        self, few: Sequence[Sequence[Any]], pinned: Sequence[Sequence[Any]]
    ) -> tuple[Note, ...]:
        """Return the pinned notes, and those of each owner who has few; the user's own first."""
        notes: dict[tuple[Owner, str], Note] = {}
        for items in pinned:
            notes |= self._held(items)
        for items in few:
            if self.question.as_of is None and len(items) > PROFILE_NOTES:
                continue  # the store was asked for no others
            held = self._held(items)
            if len(held) <= PROFILE_NOTES:
                notes |= held
        return tuple(sorted(notes.values(), key=_rank))

    def _held(self, items: Sequence[Any]) -> Mapping[tuple[Owner, str], Note]:
        return {
            (note.owner, note.id): note
            for note in map(self._read, items)
            if isinstance(note, Note) and holds(note, self.question.as_of, self.now)
        }

    def _recent(
        self, messages: Sequence[Any], episodes: Sequence[Any]
    ) -> tuple[Message | Episode, ...]:
        """Return the end of the latest other session, oldest first, and its episode."""
        messages = sorted(messages, key=said_at, reverse=True)
        last = next(self._elsewhere(messages), None)
        if last is None:
            return ()
        said = list(islice(self._elsewhere(messages, last.thread_id), RECENT_MESSAGES))
        episodes = sorted(episodes, key=said_at, reverse=True)
        return (*reversed(said), *islice(self._elsewhere(episodes, last.thread_id), 1))

    def _elsewhere(
        self, items: Sequence[Any], thread_id: str | None = None
    ) -> Iterator[Message | Episode]:
        """Yield what is of another session than the asker's, or of one of them."""
        asked = self.question
        for item in items:
            where = item.value.get("thread_id")
            if where == asked.thread_id or (thread_id is not None and where != thread_id):
                continue  # unread
            if item.value.get("message_id") in asked.known:
                continue  # the thread was forked from that one
            record = self._read(item)
            if not isinstance(record, (Message, Episode)):
                continue
            if asked.as_of is None or record.created_at <= asked.as_of:
                yield record


def _rank(note: Note) -> tuple[bool, bool, datetime]:
    return note.owner.kind != "user", not note.pinned, note.created_at


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
        highest=lambda name: float(scores[name].max()),
    )
