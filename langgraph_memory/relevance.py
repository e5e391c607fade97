"""How much a record says about a question: sums of named parts with the weights of a `Ranking`.

A message is seen in its window (`conversation`), and gains by who said it, when, and what form it
has. Notes, chunks of documents and past tasks stand alone. The sums are of one scale, and of no
other records than the one in question, so that they compare between types and between recalls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.conversation import Conversation, MessageColumns
from langgraph_memory.expressions import asks_number, asks_time
from langgraph_memory.lexical import query_tokens, query_weights
from langgraph_memory.ranking import Ranking
from langgraph_memory.scope import RecordType
from langgraph_memory.store.ops import Columns, Ranker, Scores, Searched
from langgraph_memory.times import Span, spans_in

CLOSE_DAYS = 7.0
"""Beside the days that a question is about, closeness falls to 1/e in so many (LoCoMo's development
conversations; 3 does as well)."""

MOMENT_EVIDENCE = 0.4
"""What being of the moment asked for counts as evidence, beside cosine similarity and coverage."""

_SAID = frozenset(
    query_tokens(
        "say said tell told talk mention speak spoke discuss"
        " 说 说过 讲 讲过 聊 聊过 谈 谈过 提到 提过 告诉"
    )
)


def ranker_of(type: RecordType, query: str, ranking: Ranking, now: datetime) -> Ranker:
    """Return how records of a type are ranked.

    Args:
        type: Of all the records.
        query: What is asked.
        ranking: The weights.
        now: The moment that "yesterday" is before.
    """
    if type == "message":
        return MessageRanker(query, ranking, now)
    return RecordRanker(query, ranking)


@dataclass(frozen=True, slots=True)
class RecordRanker:
    """Ranks records that stand alone, each by its own words and meaning.

    What it has in common with the question counts by how much of the question that is: one stray
    word must not count for more than the meaning, least of all in a language whose words are not
    separated.
    """

    columns: ClassVar[None] = None

    query: str
    ranking: Ranking

    def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
        """Return the scores of all records."""
        weights = query_weights(self.query, [(each.lexical, each.alive) for each in searched])
        return [self._scores(each, weights) for each in searched]

    def _scores(self, searched: Searched, weights: Mapping[str, float]) -> dict[str, Scores]:
        cosine = searched.cosine
        bm25, coverage = searched.lexical.scores(weights, searched.alive)
        return {
            "relevance": self.ranking.dense * cosine + self.ranking.lexical * bm25 * coverage,
            "cosine": cosine,
            "bm25": bm25,
            "coverage": coverage,
            "evidence": cosine + coverage * coverage,
        }


@dataclass(frozen=True, slots=True)
class MessageRanker:
    """Ranks messages within the conversations that they are of."""

    columns: ClassVar[type[Columns]] = MessageColumns

    query: str
    ranking: Ranking
    now: datetime

    def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
        """Return the scores of all messages."""
        return [self._scores(each, each.columns) for each in searched]

    def _scores(self, searched: Searched, said: Conversation) -> dict[str, Scores]:
        times = spans_in(self.query, self.now, said.days)
        named, asked = said.speakers.named_in(times.question_without, said.speaking)
        terms = list(dict.fromkeys(query_tokens(asked)))
        bm25, coverage = said.words(terms, searched.lexical)
        parts = {
            "bm25": bm25,
            "likeness": said.likeness(searched.cosine),
            "named": said.said_by(named),
            "moment": closeness(said.day, times.spans),
            "answers": said.answers,
            "kind": self._kind(said),
        }
        if _SAID.issuperset(terms):  # nothing is asked but who and when
            coverage = np.maximum(coverage, np.maximum(parts["named"], parts["moment"]))
        evidence = searched.cosine + coverage + MOMENT_EVIDENCE * parts["moment"]
        relevance = self._sum(parts)
        own = {"cosine": searched.cosine, "coverage": coverage, "evidence": evidence}
        return {"relevance": relevance, **own, **parts}

    def _sum(self, parts: Mapping[str, Scores]) -> Scores:
        of = self.ranking
        relevance: Scores = (
            of.lexical * parts["bm25"]
            + of.dense * parts["likeness"]
            + of.named * parts["named"]
            + of.moment * parts["moment"]
            + of.answers * parts["answers"]
            + of.kind * parts["kind"]
        )
        return relevance

    def _kind(self, said: Conversation) -> Scores:
        """Return 1 for what has an expression of the kind that is asked for, else 0."""
        has = np.zeros(len(said.day), np.bool_)
        if asks_time(self.query):
            has = has | said.has_time
        if asks_number(self.query):
            has = has | said.has_number
        return has.astype(np.float32)


def closeness(day: NDArray[np.int32], spans: Sequence[Span]) -> Scores:
    """Return how close days are to some spans: 1 within one, `exp(-days / CLOSE_DAYS)` outside.

    Args:
        day: Days as `date.toordinal` counts them, shape `(rows,)`.
        spans: First and last days; of none, nothing is close.
    """
    close = np.zeros(len(day), np.float32)
    for first, last in spans:
        outside = np.maximum(0, np.maximum(first - day, day - last))
        close = np.maximum(close, np.exp(-outside / np.float32(CLOSE_DAYS)))
    return close
