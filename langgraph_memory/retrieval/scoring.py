"""The relevance of each record to a query: named parts, summed with the weights of a `Ranking`.

A message is scored in its window (`message_window`), and gains by its speaker, its day and its
form. Notes, chunks of documents and past tasks are scored alone. A score depends on no other
record, so that scores compare between types and between recalls.

Notes also have a worth that does not depend on the query, by which the profile is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.models import SHARE, Vectors, headed
from langgraph_memory.records import RecordType
from langgraph_memory.retrieval.message_window import ColumnsOf, Conversation
from langgraph_memory.retrieval.query import RecallQuery
from langgraph_memory.retrieval.ranking import Ranking
from langgraph_memory.store import Columns, Flags, Ranker, Scores, Searched
from langgraph_memory.text import (
    LexicalIndex,
    Span,
    asks_number,
    asks_time,
    grown,
    query_tokens,
    query_weights,
    spans_in,
)

PINNED = 4.0
INSTRUCTION = 2.0
"""How the user wants to be served."""
IMPORTANCE = 4.0
"""Of importance 1, against 0."""
SLOT = 0.5
PREFERENCE = 0.5
MENTION = 0.1
"""Each time that it was said, up to `MOST_MENTIONS`."""
MOST_MENTIONS = 5
RECENCY = 0.3
"""Of a note of this moment; it halves in `Ranking.half_life_days`."""
NEARNESS = 1.5
"""Of evidence on the question."""
OTHER_WORDS = 0.14
"""What a note with aliases has to have more evidence: its further vector is one more chance to be
like anything (Chinese questions about other subjects; with it as many are refused as without)."""

_FIELDS = np.dtype(
    [
        ("value", np.float32),
        ("updated", np.float64),
        ("aliases", np.bool_),
        ("shared", np.bool_),  # of a project or an agent
    ]
)


class NoteRows(NamedTuple):
    """What is known of each row of a partition of notes."""

    fields: NDArray[np.void]
    """What each is worth, when it was last said, whether it has aliases, whether it is of a project
    or an agent; shape `(rows,)`."""
    further: Vectors | None
    """Its vector in the further directions of `headed`, if the embedder has them."""


@dataclass(frozen=True, slots=True)
class NotesOf:
    """Makes the columns of notes; equal to another that makes the same."""

    embedder: str
    """By which the vectors were made, as its `Fingerprint` says."""

    def __call__(self) -> NoteColumns:
        """Return columns without rows."""
        return NoteColumns(self.embedder)


class NoteColumns:
    """What notes are worth by themselves, a row for each row of a partition."""

    def __init__(self, embedder: str) -> None:
        self._embedder = embedder
        self._rows = 0
        self._fields = np.zeros(64, _FIELDS)
        self._further: Vectors | None = None

    def __len__(self) -> int:
        return self._rows

    def append(self, items: Sequence[Any], vectors: Vectors | None) -> None:
        """Append a row for each item: one of a LangGraph store, with a note's value."""
        end = self._rows + len(items)
        if end > len(self._fields):
            self._fields = grown(self._fields, end)
            if self._further is not None:
                self._further = grown(self._further, len(self._fields))
        self._fields[self._rows : end] = [
            (
                _value(item),
                _updated(item),
                bool(item.value.get("aliases")),
                item.namespace[1] != "user",
            )
            for item in items
        ]
        further = None if vectors is None else headed(vectors, self._embedder)
        if further is not None:
            if self._further is None:
                self._further = np.zeros((len(self._fields), further.shape[1]), np.float32)
            self._further[self._rows : end] = further
        self._rows = end

    def view(self, alive: Flags, lexical: LexicalIndex) -> NoteRows:
        """Return what is known of the first rows."""
        rows = len(alive)
        return NoteRows(
            self._fields[:rows], None if self._further is None else self._further[:rows]
        )


def similarity(notes: NoteRows, cosine: Scores, query: Vectors | None, embedder: str) -> Scores:
    """Return how alike notes are to a question, in all directions that the embedder has.

    Args:
        notes: What `NoteColumns` know.
        cosine: Of their vectors, shape `(rows,)`.
        query: The question's vector, of shape `(dimensions,)`; `None` if it has none.
        embedder: By which it was made.
    """
    if query is None or notes.further is None:
        return cosine
    asked = headed(query[np.newaxis], embedder)
    if asked is None:
        return cosine
    share = np.float32(SHARE)
    alike: Scores = (1 - share) * cosine + share * np.vecdot(notes.further, asked[0])
    return alike


def worth(notes: NDArray[np.void], evidence: Scores, now: datetime, ranking: Ranking) -> Scores:
    """Return what notes are worth in a prompt.

    Args:
        notes: The fields that `NoteColumns` know, of shape `(rows,)`.
        evidence: On the question, of shape `(rows,)`.
        now: The moment against which recency counts.
        ranking: Has the half-life.
    """
    days = np.maximum(now.timestamp() - notes["updated"], 0) / 86_400
    recency = (RECENCY * 0.5 ** (days / ranking.half_life_days)).astype(np.float32)
    scores: Scores = notes["value"] + recency + np.float32(NEARNESS) * evidence
    return scores


def _value(item: Any) -> float:
    value, kind = item.value, item.value.get("kind")
    return float(
        PINNED * bool(value.get("pinned"))
        + INSTRUCTION * (kind == "instruction")
        + IMPORTANCE * (float(value.get("importance", 0.5)) - 0.5)
        + SLOT * (value.get("slot") is not None)
        + PREFERENCE * (kind == "preference")
        + MENTION * min(int(value.get("mentions", 1)), MOST_MENTIONS)
    )


def _updated(item: Any) -> float:
    updated = item.value.get("updated_at")
    return (datetime.fromisoformat(updated) if updated else item.updated_at).timestamp()


LONGEST_NEARNESS = 7.0
"""Beside the days that a question is about, closeness falls to 1/e in a quarter of as many days as
they are, and in so many at most."""
SHORTEST_NEARNESS = 0.5
"""... and in so many at least: beside a day that is named, the day before is hardly meant."""
NAMED_DAYS = 7
"""A span of so many days at most is a day or a week that is named: what is of it comes first."""

NOTES_POWER = 2
"""Of coverage, by which the words of notes count: there are hundreds of them, and short. Of past
tasks it costs .1 of hit@3 in one half of their set and .04 in the other."""

MOMENT_EVIDENCE = 0.4
"""What being of the moment asked for counts as evidence, beside cosine similarity and coverage."""
NAMED_EVIDENCE = 0.25
"""What it counts that the question names somebody who speaks: it is about this memory."""

STATED_NEARNESS = (12.0, 5.0)
"""What the cosine similarity to the question, and coverage squared, count beside a statement's
salience."""

_SAID = frozenset(
    query_tokens(
        "say said tell told talk mention speak spoke discuss chat happen"
        " 说 说过 讲 讲过 聊 聊过 谈 谈过 提到 提过 告诉 发生"
        " de el la qué sobre te hablamos hablé dije conté pasó"
        " worüber wovon am im haben habe ich wir ist dir gesprochen geredet gesagt erzählt passiert"
        " de le la quoi qu'est-ce que j'ai avons nous s'est il dit parlé raconté passé"
        " di il la cosa che ho ti abbiamo detto parlato raccontato successo"
        " de do em a o que eu te falamos falei disse contei aconteceu"
    )
)
"""The words of a question that asks for nothing but what was said, by whom and when."""

ASIDE = 0.1
"""What words and meaning still count where only what was said on some days is asked for: they put
what is of these days into an order, and lift nothing above it."""


def ranker_of(type: RecordType, query: RecallQuery, ranking: Ranking) -> Ranker:
    """Return how records of a type are ranked."""
    if type == "message":
        return MessageRanker(query, ranking)
    if type == "note":
        return NoteRanker(query, ranking)
    return RecordRanker(query.text, ranking)


@dataclass(frozen=True, slots=True)
class RecordRanker:
    """Ranks records that stand alone, each by its own words and meaning.

    What it has in common with the question counts by how much of the question that is: one stray
    word must not count for more than the meaning.
    """

    columns: ClassVar[None] = None

    query: str
    ranking: Ranking

    def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
        """Return the scores of all records."""
        return alone(self.query, self.ranking, searched)


def alone(
    query: str, ranking: Ranking, searched: Sequence[Searched], power: int = 1
) -> list[dict[str, Scores]]:
    """Return the scores of records that stand alone.

    Args:
        query: What is asked.
        ranking: The weights.
        searched: The records.
        power: Of coverage, by which words count.
    """
    weights = query_weights(query, [(each.lexical, each.alive) for each in searched])
    scores = []
    for each in searched:
        cosine = each.cosine
        bm25, coverage = each.lexical.scores(weights, each.alive)
        scores.append(
            {
                "relevance": ranking.dense * cosine + ranking.lexical * bm25 * coverage**power,
                "cosine": cosine,
                "bm25": bm25,
                "coverage": coverage,
                "evidence": cosine + coverage * coverage,
            }
        )
    return scores


@dataclass(frozen=True, slots=True)
class NoteRanker:
    """Ranks notes as records that stand alone, and by what they are worth in every prompt."""

    query: RecallQuery
    ranking: Ranking

    @property
    def columns(self) -> Callable[[], Columns]:
        """What is worked out once of each note."""
        return NotesOf(self.query.embedder)

    def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
        """Return the scores of all notes; `worth` is what the profile is chosen by.

        For notes of a project or an agent it is `shared`: they have places of their own.
        """
        embedder, now = self.query.embedder, self.query.now
        alike = [
            each._replace(cosine=similarity(each.columns, each.cosine, each.query, embedder))
            for each in searched
        ]
        scores = alone(self.query.text, self.ranking, alike, NOTES_POWER)
        for each, own in zip(searched, scores, strict=True):
            fields = each.columns.fields
            own["evidence"] -= np.float32(OTHER_WORDS) * fields["aliases"]
            scored, none = worth(fields, own["evidence"], now, self.ranking), np.float32(-np.inf)
            own["worth"] = np.where(fields["shared"], none, scored)
            own["shared"] = np.where(fields["shared"], scored, none)
        return scores


@dataclass(frozen=True, slots=True)
class MessageRanker:
    """Ranks messages within the conversations that they are of.

    Those that the asker has before them are not found, and of what was said several times in the
    same words only the latest, unless the question is about other days.
    """

    query: RecallQuery
    ranking: Ranking

    @property
    def columns(self) -> Callable[[], Columns]:
        """What is worked out once of each message."""
        return ColumnsOf(self.query.now.tzinfo or UTC, self.query.embedder)

    def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
        """Return the scores of all messages; `stated` is what the user's statements rank by."""
        return [self._scores(each, each.columns) for each in searched]

    def _scores(self, searched: Searched, said: Conversation) -> dict[str, Scores]:
        times = spans_in(self.query.text, self.query.now, said.days)
        named, asked = said.speakers.named_in(times.question_without, said.speaking)
        terms = list(dict.fromkeys(query_tokens(asked)))
        has_kind = said.has_time & asks_time(self.query.text)
        has_kind |= said.has_number & asks_number(self.query.text)
        bm25, coverage = said.words(terms, searched.lexical)
        parts = {
            "bm25": bm25,
            "likeness": said.likeness(searched.cosine),
            "named": said.said_by(named),
            "moment": closeness(said.day, times.spans),
            "day": in_named_days(said.day, times.spans),
            "answers": said.answers,
            "kind": has_kind.astype(np.float32),
            "form": said.standing.form,
        }
        itself = said.standing.itself
        if _SAID.issuperset(terms):  # nothing is asked but who and when
            coverage = np.maximum(coverage, np.maximum(parts["named"], parts["moment"]))
            parts["form"] = np.zeros_like(bm25)
            if times.spans:
                itself *= ASIDE
                parts |= {name: np.float32(ASIDE) * parts[name] for name in ("bm25", "likeness")}
        evidence = searched.cosine + coverage + MOMENT_EVIDENCE * parts["moment"]
        if named:
            evidence += np.float32(NAMED_EVIDENCE)
        evidence = np.minimum(evidence, said.standing.most)
        relevance = self._sum(parts) + np.float32(itself) * searched.cosine
        near, shared = STATED_NEARNESS
        stated = said.standing.salience + near * searched.cosine + shared * coverage * coverage
        seen = said.seen(self.query.known, self.query.thread_id)
        for score in (relevance, evidence, stated):
            score[seen] = -np.inf
        often, newest = said.said_once(searched.chosen)
        if not times.spans:
            relevance[~newest] = stated[~newest] = -np.inf
        own = {"cosine": searched.cosine, "coverage": coverage, "evidence": evidence}
        return {"relevance": relevance, **own, **parts, "stated": stated, "times": often}

    def _sum(self, parts: Mapping[str, Scores]) -> Scores:
        of = self.ranking
        relevance: Scores = (
            of.lexical * parts["bm25"]
            + of.dense * parts["likeness"]
            + of.named * parts["named"]
            + of.moment * (parts["moment"] + parts["day"])
            + of.answers * parts["answers"]
            + of.kind * parts["kind"]
            + parts["form"]
        )
        return relevance


def closeness(day: NDArray[np.int32], spans: Sequence[Span]) -> Scores:
    """Return how close days are to some spans: 1 within one, `exp(-days / nearness)` outside.

    Args:
        day: Days as `date.toordinal` counts them, shape `(rows,)`.
        spans: First and last days; of none, nothing is close.
    """
    close = np.zeros(len(day), np.float32)
    for first, last in spans:
        nearness = np.clip((last - first + 1) / 4, SHORTEST_NEARNESS, LONGEST_NEARNESS)
        outside = np.maximum(0, np.maximum(first - day, day - last))
        close = np.maximum(close, np.exp(-outside / np.float32(nearness)))
    return close


def in_named_days(day: NDArray[np.int32], spans: Sequence[Span]) -> Scores:
    """Return 1 for days within a span of `NAMED_DAYS` at most, else 0."""
    inside = np.zeros(len(day), np.bool_)
    for first, last in spans:
        if last - first < NAMED_DAYS:
            inside |= (first <= day) & (day <= last)
    return inside.astype(np.float32)
