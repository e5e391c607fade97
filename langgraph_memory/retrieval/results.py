"""What a recall reads from a store, and what it makes of the answers. No I/O.

A hit is relevant enough: the best record of its type reaches the threshold. Below it lies what is
perhaps relevant. Beside them are the profile, what the user stated, and the last session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, NamedTuple, cast

from langgraph_memory.messages import unexpired
from langgraph_memory.records import Episode, Message, Note, Owner, Record, RecordType, normalise
from langgraph_memory.retrieval.query import RecallQuery
from langgraph_memory.retrieval.ranking import Evidence, Ranking, distinct
from langgraph_memory.retrieval.recalled import Hit, Recalled
from langgraph_memory.retrieval.scoring import ranker_of
from langgraph_memory.store import (
    ALL,
    Found,
    HybridOp,
    Match,
    NewestOp,
    get_op,
    lying_in,
    read_record,
    said_at,
)
from langgraph_memory.text import is_courtesy, wording

RECENT_MESSAGES = 6
EPISODES = 3
PERHAPS = 5
"""Of what is not known, so many are shown at most where nothing is known."""

_SESSION: tuple[RecordType, ...] = ("message", "episode")
_RECENT_WINDOW = 24  # newest messages looked at for those of the latest session
_EXPIRED = 200  # more, where the store may hold what has expired
_SPARE_TASKS = 3  # more: only a few per cent of recency make them change places


class Lookup(NamedTuple):
    """The name of an operation in the batch of a recall, and of the answer to it."""

    what: str
    """`search` and `newest` for a type of records, `source` for the documents of an owner."""
    type: RecordType
    owner: Owner | None = None


Answers = Mapping[Lookup, Any]


def recall_ops(query: RecallQuery, ranking: Ranking) -> dict[Lookup, Any]:
    """Return the operations to put to the store, as one batch."""
    limit = query.enough if query.expired is None else query.enough + _EXPIRED
    ops: dict[Lookup, Any] = {
        Lookup("search", type): HybridOp(
            tuple(owner.namespace(type) for owner in query.owners),
            query.text,
            ranker_of(type, query, ranking),
            query.pushed_down(type),
            limit if type in query.searched_types else 0,
            query.also(type),
        )
        for type in query.ranked_types
    }
    other: dict[str, Any] = {}
    if query.as_of is not None:
        other["created_at"] = {"$lte": query.as_of.isoformat()}
    if query.thread_id is not None:
        other["thread_id"] = {"$ne": query.thread_id}
    for type in _SESSION:
        said = query.owners[0].namespace(type)
        ops[Lookup("newest", type)] = NewestOp(said, other, _RECENT_WINDOW, "created_at")
    for owner in query.owners:
        ops[Lookup("source", "source", owner)] = NewestOp(owner.namespace("source"), None, ALL)
    return ops


def narrowed(query: RecallQuery, answers: Answers) -> RecallQuery | None:
    """Return the query to ask instead, if chunks of replaced editions were found; else `None`.

    While a source is replaced, there are chunks of two editions, and those of the old one would
    take the place of others.
    """
    holding = {item.value["edition"] for item in _sources(query, answers)}
    chunks = (match.item.value for match in answers.get(Lookup("search", "document"), ()))
    found = {edition for each in chunks if isinstance(edition := each.get("edition"), str)}
    if found <= holding | query.hidden and not holding & query.hidden:
        return None
    return replace(query, hidden=(query.hidden | found) - holding)


def _sources(query: RecallQuery, answers: Answers) -> list[Any]:
    return [
        item
        for owner in query.owners
        for item in lying_in(owner.namespace("source"), answers[Lookup("source", "source", owner)])
    ]


def recalled_from(
    query: RecallQuery, answers: Answers, ranking: Ranking, now: datetime
) -> Recalled:
    """Return what the store's answers to `recall_ops` come to.

    Args:
        query: What was asked.
        answers: By their names; messages that have expired are taken out of them.
        ranking: The same that `recall_ops` was given.
        now: The moment against which recency counts.
    """
    return _RecallResults(query, answers, ranking, now).recalled()


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


@dataclass(frozen=True, slots=True)
class _RecallResults:
    """What is found of one query."""

    query: RecallQuery
    answers: Answers
    ranking: Ranking
    now: datetime
    records: dict[int, Record | None] = field(default_factory=dict)
    """Those that were read, by the identity of their items: a note is in the profile and a hit."""

    def recalled(self) -> Recalled:
        asked = self.query
        found: dict[RecordType, Found[Match]] = {
            type: self.answers[Lookup("search", type)] for type in asked.ranked_types
        }
        for each in found.values():
            unexpired([each, *each.also], asked.expired)
        searched = {type: found[type] for type in asked.searched_types}
        hits = self._known([type for type in searched if self._is_hit(type)], searched)
        told = self._hits(hits[: asked.enough])
        if asked.tasks_are_hits:
            tasks = [hit for hit in told if isinstance(hit.record, Episode)][: asked.limit]
        else:
            known = self._known(["episode"], searched)
            tasks = self._hits(known[: EPISODES + _SPARE_TASKS])[:EPISODES]
        nothing_known = not any(map(self._is_about, (*told, *tasks)))
        kept = distinct(told, asked.limit)
        return Recalled(
            query=asked.text,
            profile=self._profile(found.get("note")),
            stated=self._stated(found.get("message")),
            recent=self._recent(),
            hits=tuple(kept),
            perhaps=self._perhaps(searched, hits, kept, nothing_known),
            episodes=tuple(cast("list[Hit[Episode]]", tasks)),
            nothing_known=nothing_known,
            exact=all(each.exact for each in searched.values()),
            empty=self._is_empty(found),
            zone=asked.now.tzinfo or UTC,
            floors={type: self._floor(type) for type in searched},
        )

    # -- what was searched --

    def _known(
        self, types: Sequence[RecordType], searched: Mapping[RecordType, Found[Match]]
    ) -> list[Match]:
        """Return what is known of some types, the most relevant first."""
        known = [
            match
            for type in types
            if type in searched and searched[type].highest("evidence") >= self._floor(type)
            for match in searched[type]
            if type == "message"
            or self.ranking.accompanies(match.scores, searched[type].highest, self._floor(type))
            if type != "episode" or not self._is_here(match.item)
        ]
        known.sort(key=lambda match: -match.scores["relevance"])
        return known

    def _perhaps(
        self,
        searched: Mapping[RecordType, Found[Match]],
        known: Sequence[Match],
        kept: Sequence[Hit],
        nothing_known: bool,
    ) -> tuple[Hit, ...]:
        """Return the best of what is not known: few, where nothing is."""
        asked = self.query
        if is_courtesy(asked.text):
            return ()
        most = PERHAPS if nothing_known else max(PERHAPS, asked.limit - len(kept))
        taken = {id(match.item) for match in known}
        rest = [
            match
            for type, found in searched.items()
            if self._is_hit(type)
            for match in found
            if id(match.item) not in taken and not self._is_here(match.item)
        ]
        rest.sort(key=lambda match: -match.scores["relevance"])
        hits = [*kept, *self._hits(rest[: 2 * most])]
        return tuple(distinct(hits, len(kept) + most)[len(kept) :])

    def _hits(self, matches: Sequence[Match]) -> list[Hit]:
        """Return matches as hits, without those that do not hold."""
        read = [(self._read(item), scores) for item, scores in matches]
        evidence = [
            Evidence(record, scores)
            for record, scores in read
            if record is not None and self._admits(record)
        ]
        return self.ranking.hits(evidence, self.now)

    def _read(self, item: Any) -> Record | None:
        if id(item) not in self.records:
            self.records[id(item)] = read_record(item)
        return self.records[id(item)]

    def _floor(self, type: RecordType) -> float:
        return self.ranking.floor(type, self.query.min_relevance)

    def _admits(self, record: Record) -> bool:
        kinds = self.query.kinds
        if kinds is not None and not (isinstance(record, Note) and record.kind in kinds):
            return False
        return holds(record, self.query.as_of, self.now)

    def _is_here(self, item: Any) -> bool:
        """Whether it is of the session that is going on."""
        thread_id = self.query.thread_id
        return thread_id is not None and item.value.get("thread_id") == thread_id

    def _is_hit(self, type: RecordType) -> bool:
        """Whether what is found of a type is a hit; past tasks stand apart, unless asked for."""
        return type != "episode" or self.query.tasks_are_hits

    def _is_about(self, hit: Hit) -> bool:
        """Whether a hit says something about the query; a like task is only worth a look."""
        is_task = isinstance(hit.record, Episode)
        return not is_task or hit.parts["evidence"] >= self._floor("message")

    def _is_empty(self, found: Mapping[RecordType, Found[Match]]) -> bool:
        """Whether there is nothing but what is of the session that is going on."""
        known = self.query.known
        items = chain(
            *map(self._newest, _SESSION),
            (match.item for each in found.values() for match in chain(each, *each.also)),
            _sources(self.query, self.answers),
        )
        return all(item.value.get("message_id") in known or self._is_here(item) for item in items)

    # -- what comes whatever is asked --

    def _profile(self, notes: Found[Match] | None) -> tuple[Note, ...]:
        """Return the notes that are worth most, the most worthy first, the user's before others'.

        What others have in the words of the user's is left out.
        """
        matches = chain.from_iterable(notes.also) if notes is not None else ()
        records = [self._read(match.item) for match in matches]
        held = [
            note
            for note in records
            if isinstance(note, Note) and holds(note, self.query.as_of, self.now)
        ]
        own = {normalise(note.text) for note in held if note.owner.kind == "user"}
        return tuple(
            note
            for note in {(note.owner, note.id): note for note in held}.values()
            if note.owner.kind == "user" or normalise(note.text) not in own
        )

    def _stated(self, messages: Found[Match] | None) -> tuple[Hit[Message], ...]:
        """Return what the user stated, the most worthy first."""
        if messages is None or not messages.also:
            return ()
        stated = tuple(
            Hit(record, record.text, scores["stated"], scores)
            for item, scores in messages.also[0]
            if isinstance(record := self._read(item), Message)
            and holds(record, self.query.as_of, self.now)
        )
        return stated if self.query.filter is None else tuple(_latest_of_each_wording(stated))

    def _recent(self) -> tuple[Message | Episode, ...]:
        """Return the end of the latest other session, oldest first, and its episode."""
        messages, episodes = (
            sorted(self._newest(type), key=said_at, reverse=True) for type in _SESSION
        )
        last = next(self._elsewhere(messages), None)
        if last is None:
            return ()
        said = list(islice(self._elsewhere(messages, last.thread_id), RECENT_MESSAGES))
        return (*reversed(said), *islice(self._elsewhere(episodes, last.thread_id), 1))

    def _newest(self, type: RecordType) -> list[Any]:
        newest = self.answers[Lookup("newest", type)]
        items = lying_in(self.query.owners[0].namespace(type), newest)
        return unexpired([items], self.query.expired)[0]

    def _elsewhere(
        self, items: Sequence[Any], thread_id: str | None = None
    ) -> Iterator[Message | Episode]:
        """Yield what is of another session than the asker's, or of one of them."""
        asked = self.query
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


def _latest_of_each_wording(stated: Iterable[Hit[Message]]) -> Iterable[Hit[Message]]:
    """Leave out what was said later in the same words: inside a filter, and again outside of it."""
    kept: dict[Any, Hit[Message]] = {}
    for hit in stated:
        name = (hit.record.owner, wording(hit.text))
        if name not in kept or kept[name].record.created_at < hit.record.created_at:
            kept[name] = hit
    return kept.values()


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
