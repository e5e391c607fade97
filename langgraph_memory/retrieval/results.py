"""What a store's answers to a recall come to: three degrees, the profile, the last session. No I/O.

Known is what belongs to a type of which the best record reaches its floor; perhaps is the best of
what lies below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, cast

from langgraph_memory.messages import unexpired
from langgraph_memory.records import Episode, Message, Note, Owner, Record, RecordType, normalise
from langgraph_memory.retrieval.query import Answers, Asked, Question
from langgraph_memory.retrieval.ranking import Evidence, Ranking, distinct
from langgraph_memory.retrieval.recalled import Hit, Recalled
from langgraph_memory.store import Found, Match, get_op, lying_in, read_record, said_at
from langgraph_memory.text import is_courtesy, wording

RECENT_MESSAGES = 6
EPISODES = 3
PERHAPS = 5
"""Of what is not known, so many are shown at most where nothing is known."""

_SPARE_TASKS = 3  # more: only a few per cent of recency make them change places


def recalled_from(
    question: Question, answers: Answers, ranking: Ranking, now: datetime
) -> Recalled:
    """Return what the store's answers to `question.ops` come to.

    Args:
        question: What was asked.
        answers: By their names; messages that have expired are taken out of them.
        ranking: The same that `ops` was given.
        now: The moment against which recency counts.
    """
    return _Findings(question, answers, ranking, now).recalled()


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
class _Findings:
    """What is found of one question."""

    question: Question
    answers: Answers
    ranking: Ranking
    now: datetime
    records: dict[int, Record | None] = field(default_factory=dict)
    """Those that were read, by the identity of their items: a note is in the profile and a hit."""

    def recalled(self) -> Recalled:
        asked = self.question
        found = {
            type: each for type in asked.ranked_types if (each := self._found(type)) is not None
        }
        searched = {type: found[type] for type in asked.searched_types if type in found}
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
            query=asked.query,
            profile=self._profile(found.get("note")),
            stated=self._stated(found.get("message")),
            recent=self._recent(),
            hits=tuple(kept),
            perhaps=self._perhaps(searched, hits, kept, nothing_known),
            episodes=tuple(cast("list[Hit[Episode]]", tasks)),
            nothing_known=nothing_known,
            exact=all(each.exact for each in searched.values()),
            empty=self._is_empty(found),
            zone=asked.asker.now.tzinfo or UTC,
            floors={type: self._floor(type) for type in searched},
        )

    # -- what was searched --

    def _found(self, type: RecordType) -> Found[Match] | None:
        """Return what a search found of a type; `None` if it was not searched."""
        search = self.answers.get(Asked("search", type))
        if search is not None:
            unexpired([search, *search.also], self.question.expired)
        return cast("Found[Match] | None", search)

    def _known(
        self, types: Sequence[RecordType], searched: Mapping[RecordType, Found[Match]]
    ) -> list[Match]:
        """Return what is known of some types, the most relevant first."""
        known = [
            match
            for type in types
            if type in searched and searched[type].highest("evidence") >= self._floor(type)
            for match in searched[type]
            if self._accompanies(type, match, searched[type])
            if type != "episode" or not self._is_here(match.item)
        ]
        known.sort(key=lambda match: -match.scores["relevance"])
        return known

    def _accompanies(self, type: RecordType, match: Match, found: Found[Match]) -> bool:
        """Whether a record comes near to the best of what stands alone; messages need not."""
        return type == "message" or self.ranking.accompanies(
            match.scores, found.highest, self._floor(type)
        )

    def _perhaps(
        self,
        searched: Mapping[RecordType, Found[Match]],
        known: Sequence[Match],
        kept: Sequence[Hit],
        nothing_known: bool,
    ) -> tuple[Hit, ...]:
        """Return the best of what is not known: few, where nothing is."""
        asked = self.question
        if is_courtesy(asked.query):
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
        return self.ranking.floor(type, self.question.min_relevance)

    def _admits(self, record: Record) -> bool:
        kinds = self.question.kinds
        if kinds is not None and not (isinstance(record, Note) and record.kind in kinds):
            return False
        return holds(record, self.question.as_of, self.now)

    def _is_here(self, item: Any) -> bool:
        """Whether it is of the session that is going on."""
        thread_id = self.question.asker.thread_id
        return thread_id is not None and item.value.get("thread_id") == thread_id

    def _is_hit(self, type: RecordType) -> bool:
        """Whether what is found of a type is a hit; past tasks stand apart, unless asked for."""
        return type != "episode" or self.question.tasks_are_hits

    def _is_about(self, hit: Hit) -> bool:
        """Whether a hit says something about the query; a like task is only worth a look."""
        is_task = isinstance(hit.record, Episode)
        return not is_task or hit.parts["evidence"] >= self._floor("message")

    def _is_empty(self, found: Mapping[RecordType, Found[Match]]) -> bool:
        """Whether there is nothing but what is of the session that is going on."""
        known = self.question.asker.known
        items = chain(
            self._newest("message"),
            self._newest("episode"),
            (match.item for each in found.values() for match in chain(each, *each.also)),
            *(
                lying_in(of.owner.namespace("source"), items)
                for of, items in self.answers.items()
                if of.what == "source" and of.owner is not None
            ),
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
            if isinstance(note, Note) and holds(note, self.question.as_of, self.now)
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
            and holds(record, self.question.as_of, self.now)
        )
        return stated if self.question.filter is None else tuple(_latest_of_each_wording(stated))

    def _recent(self) -> tuple[Message | Episode, ...]:
        """Return the end of the latest other session, oldest first, and its episode."""
        messages, episodes = (
            sorted(self._newest(type), key=said_at, reverse=True) for type in ("message", "episode")
        )
        last = next(self._elsewhere(messages), None)
        if last is None:
            return ()
        said = list(islice(self._elsewhere(messages, last.thread_id), RECENT_MESSAGES))
        return (*reversed(said), *islice(self._elsewhere(episodes, last.thread_id), 1))

    def _newest(self, type: RecordType) -> list[Any]:
        newest = self.answers[Asked("newest", type)]
        items = lying_in(self.question.owners[0].namespace(type), newest)
        return unexpired([items], self.question.expired)[0]

    def _elsewhere(
        self, items: Sequence[Any], thread_id: str | None = None
    ) -> Iterator[Message | Episode]:
        """Yield what is of another session than the asker's, or of one of them."""
        asked, asker = self.question, self.question.asker
        for item in items:
            where = item.value.get("thread_id")
            if where == asker.thread_id or (thread_id is not None and where != thread_id):
                continue  # unread
            if item.value.get("message_id") in asker.known:
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
