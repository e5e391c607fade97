"""Which records answer a query, in what order, and whether any does.

Pure: arrays and records in, hits out. Relevance is a weighted sum of a dense and a lexical score;
how recent and how important a record is move it within bounds, so that relevance decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.records import Hit, Note, Recalled, Record
from langgraph_memory.scope import Owner

Scores = NDArray[np.float32]


class Evidence(NamedTuple):
    """A record that a search brought up, with what the search saw in it."""

    record: Record
    cosine: float
    bm25: float
    coverage: float
    """The share of the query's words, weighted by how rare they are, that the record has."""
    relevance: float
    """What `Ranking.relevance` made of it, among all records searched."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How hits are scored. The defaults suit the embedded default embedder."""

    dense_weight: float = 0.4
    """Share of the cosine similarity in relevance; the rest is BM25's. Measured on LoCoMo's
    development conversations, where .3 to .5 differ by less than .01 in recall@10."""
    recency_boost: float = 0.1
    """How much more a record of this moment counts than an old one."""
    importance_boost: float = 0.1
    """How much more a critical note counts than one of importance .5; a trivial one that less."""
    half_life_days: float = 30.0
    """After how many days recency has halved."""
    floor: float = 0.7
    """Below this sum of cosine similarity and coverage a match is no evidence. Of the questions
    about other subjects .67 to .92 stay below, of the answerable ones .03 to .05 (LoCoMo, embedded
    default; the names in a question, which its messages share, make the difference)."""
    note_floor: float = 0.45
    """A note is evidence also by this cosine similarity alone: a question in another language
    shares no word with it, and notes, unlike messages, do not all name their speaker."""
    episode_dense_weight: float = 0.8
    """As `dense_weight`, for past tasks: like tasks of another time have other names and words."""
    episode_floor: float = 0.2
    """A past task is worth a look also from this cosine similarity on; `docs/episodes.md` has the
    figures."""
    document_floor: float = 0.28
    """As `note_floor`, for chunks of documents, which are about more than one thing each;
    `docs/documents.md` has the figures."""

    def relevance(self, cosine: Scores, bm25: Scores) -> Scores:
        """Fuse the two scores of each record into one, 0 to 1.

        Both are spread over the records of this query: cosine similarity from its lowest to its
        highest, BM25 from 0 to its highest.

        Args:
            cosine: Shape `(records,)`.
            bm25: Shape `(records,)`.
        """
        return _fused(cosine, bm25, self.dense_weight)

    def episode_relevance(self, cosine: Scores, bm25: Scores) -> Scores:
        """Fuse the two scores of each past task into one, as `relevance` does."""
        return _fused(cosine, bm25, self.episode_dense_weight)

    def hits(self, evidence: Iterable[Evidence], now: datetime) -> list[Hit]:
        """Return evidence as hits, best first.

        Args:
            evidence: What the searches brought up and `is_evidence` lets through.
            now: The moment against which recency counts.
        """
        hits = [self._hit(each, now) for each in evidence]
        return sorted(hits, key=lambda hit: -hit.score)

    def is_evidence(
        self, cosine: float, coverage: float, min_relevance: float | None, type: str
    ) -> bool:
        """Whether a match reaches the floor.

        Args:
            cosine: The cosine similarity to the query.
            coverage: The share of the query's words that are there.
            min_relevance: Replaces the floors; 0 lets everything through.
            type: What was matched; notes, episodes and documents have a floor of their own besides.
        """
        if min_relevance is not None:
            return min_relevance <= 0 or cosine + coverage >= min_relevance
        floors = {
            "note": self.note_floor,
            "episode": self.episode_floor,
            "document": self.document_floor,
        }
        own = floors.get(type, math.inf)
        return cosine + coverage >= self.floor or cosine >= own

    def _hit(self, evidence: Evidence, now: datetime) -> Hit:
        record = evidence.record
        parts = {
            "cosine": evidence.cosine,
            "bm25": evidence.bm25,
            "coverage": evidence.coverage,
            "relevance": evidence.relevance,
            "recency": self.recency_boost * recency(_moment(record), now, self.half_life_days),
            "importance": self.importance_boost * 2 * (_importance(record) - 0.5),
        }
        score = evidence.relevance * (1 + parts["recency"] + parts["importance"])
        return Hit(record, record.text, score, parts)


def _fused(cosine: Scores, bm25: Scores, dense_weight: float) -> Scores:
    if not len(cosine):
        return cosine
    low, high = float(cosine.min()), float(cosine.max())
    dense = (cosine - low) / (high - low) if high > low else np.clip(cosine, 0, 1)
    lexical = bm25 / (float(bm25.max()) or 1.0)
    fused: Scores = dense_weight * dense + (1 - dense_weight) * lexical
    return fused


def recency(moment: datetime, now: datetime, half_life_days: float) -> float:
    """Return 1 for this moment, .5 after one half-life, and so on; the future counts as now.

    Example:
        >>> from datetime import UTC, datetime
        >>> recency(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC), 30)
        0.5
    """
    days = max((now - moment).total_seconds() / 86_400, 0.0)
    return float(0.5 ** (days / half_life_days))


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many hits of each type a prompt gets, of each owner.

    So what others wrote into a project never takes the place of what is the user's own.
    """

    notes: int = 5
    messages: int = 4
    documents: int = 3
    episodes: int = 2

    @property
    def by_type(self) -> Mapping[str, int]:
        """The quotas by the name of the type."""
        return {
            "note": self.notes,
            "message": self.messages,
            "document": self.documents,
            "episode": self.episodes,
        }


def select(recalled: Recalled, quotas: Quotas) -> Recalled:
    """Cut what was recalled to what a prompt gets; what stands in the profile is no hit besides."""
    shown = {(note.owner, note.id) for note in recalled.profile}
    taken: Counter[tuple[Owner, str]] = Counter()
    hits: list[Hit] = []
    for hit in recalled.hits:
        record = hit.record
        if (record.owner, record.id) in shown:
            continue
        place = (record.owner, record.type)
        if taken[place] < quotas.by_type[record.type]:
            taken[place] += 1
            hits.append(hit)
    return replace(recalled, hits=tuple(hits), episodes=recalled.episodes[: quotas.episodes])


def _moment(record: Record) -> datetime:
    return record.updated_at if isinstance(record, Note) else record.created_at


def _importance(record: Record) -> float:
    return record.importance if isinstance(record, Note) else 0.5
