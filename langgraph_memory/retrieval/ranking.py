"""The order of hits, and the evidence from which on a memory knows something. Pure.

Relevance decides; recency and importance move a record within bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from numbers import Real
from typing import NamedTuple

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records import Message, Note, Record, RecordType, check_number, normalise
from langgraph_memory.retrieval.recalled import Hit

AGENTS_DECAY = 0.995
"""What recency is multiplied by each hour (Park et al. 2023, "Generative Agents")."""

COMPANIONS = 0.78
"""What share of the best cosine similarity or relevance another record that stands alone has to
reach, to be known with it. Of about thirty rules that were tried on labelled notes all lie on one
curve of precision and recall; this is the place on it."""


@dataclass(frozen=True, slots=True)
class Floors:
    """Thresholds of relevance: the evidence from which on a memory knows something, by type.

    Evidence is what the best record of a type has in common with the question, on a scale on which
    a cosine similarity of 1 and all the words of the question are 1 each. For a message it is
    similarity, plus coverage (the share of the question's words in it and around it), plus how
    close it is to the day asked about, plus a bonus if the question names its speaker; a user's own
    question has little. For records that stand alone it is similarity plus coverage squared: one or
    two common words are no evidence.

    The best record decides for its type. Other records that stand alone have to come near to it
    (`Ranking.accompanies`); messages need not: judged one by one, they lost a tenth of the answers
    to the questions of LoCoMo's development conversations.

    The defaults are for the embedded default embedder. No threshold separates all questions that a
    memory answers from all others: lower ones let more of both through.
    """

    message: float = 0.55
    """Of LoCoMo's questions, which mostly name who speaks, .002 stay below; of everyday questions
    about other subjects .87 in English and all in Chinese (`benchmarks/floor.py`)."""
    note: float = 0.17
    """Of questions that avoid the words of their notes less than .03 stay below; of everyday
    questions about other subjects .22 in English and .10 in Chinese, and over LoCoMo's observations
    .53 and .62. What lies below is shown as uncertain, so that a higher floor would say "nothing is
    remembered" beside the line that tells."""
    document: float = 0.3
    """Of 33 questions that pages of docs/ and a handbook answer 3 stay below, and 31 of 33 about
    other subjects."""
    episode: float = 0.2
    """Below it are .02 of the tasks like a logged one, and .64 of the questions about other
    subjects (`benchmarks/episodes.py`)."""

    def __post_init__(self) -> None:
        for each in fields(self):
            check_number(each.name, getattr(self, each.name))

    def of(self, type: RecordType) -> float:
        """Return the floor of a type that can be recalled."""
        return float(getattr(self, type))


EMBEDDED = Floors()

UNMEASURED = Floors(message=0.5)
"""For embedders that nobody measured. Some put all texts above .7, and then nothing is refused: to
say too often that nothing is known would be worse."""

WITH_E5 = Floors(message=0.58)
"""For `UniversalAndE5`. Of LoCoMo's questions .03 stay below, of those about other conversations
with the names exchanged .62, of everyday questions about other subjects .9 to 1. Of questions that
avoid the words of their notes .03 stay below the floor for notes, and .52 of the everyday ones, in
the Chinese memory .27."""

_FLOORS = {"use-multilingual-v3": EMBEDDED, "use-multilingual-v3+e5-small-q4": WITH_E5}


def floors_of(embedder: str) -> Floors:
    """Return the floors for an embedder, by the name that its `Fingerprint` has."""
    return _FLOORS.get(embedder, UNMEASURED)


class Evidence(NamedTuple):
    """A record that a search brought up, with the scores that its ranker gave it."""

    record: Record
    scores: Mapping[str, float]
    """`relevance` among them, and what it is made of."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the parts of a score weigh.

    The weights of relevance are those of a linear model that was fitted to LoCoMo's development
    conversations (softmax over all messages of a conversation), rounded. Fitted to four of the five
    they differ by 3 to 10 %, and half or twice any of them costs at most .02 of recall@10.
    """

    lexical: float = 0.1
    """A point of BM25: of a message's window; of other records times the question's coverage, of
    notes its square."""
    dense: float = 1.5
    """A cosine similarity of 1: of a message, the mean over its window."""
    named: float = 0.4
    """That a message is of a speaker whom the question names."""
    moment: float = 0.6
    """That a message is of a day that the question is about ("last May"); days close to it less."""
    answers: float = 0.1
    """That the message before has a question; and less by as much if it ends with one itself."""
    kind: float = 0.25
    """That a message has an expression of time, or a number, where the question asks for one."""
    recency_boost: float = 0.03
    """How much more a record of this moment counts than an old one. On LoCoMo, asked the day after
    the last session, .03 gains .002 of recall@10 with captions and costs .002 without; .1 costs
    .003 and .007."""
    importance_boost: float = 0.1
    """How much more a critical note counts than one of importance .5; a trivial one that less."""
    half_life_days: float = 30.0
    """After how many days recency has halved."""
    floors: Floors | None = None
    """Below which evidence nothing is known about a question; `None` takes those of the store's
    embedder, cautious ones if nobody measured it."""

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.name != "floors"):
            _check_weight(name, getattr(self, name), positive=name == "half_life_days")
        if self.floors is not None and not isinstance(self.floors, Floors):
            raise ConfigurationError(f"floors= are Floors(...), got {self.floors!r}")

    @classmethod
    def generative_agents(cls) -> Ranking:
        """Return the additive ranking of Park et al. 2023: .4 relevance, .3 importance, .3 recency.

        Relevance is spread over what was found, from 0 to 1, and recency falls by .5 % an hour: old
        and trivial records lose to new and critical ones however well they fit.
        """
        return _Additive()

    def with_floors_of(self, embedder: str) -> Ranking:
        """Return this ranking with the floors for an embedder, unless it has its own.

        Args:
            embedder: The name that its `Fingerprint` has.
        """
        return self if self.floors is not None else _with_floors(self, embedder)

    def floor(self, type: RecordType, min_relevance: float | None = None) -> float:
        """Return from which evidence on something is known, by the best record of a type.

        Args:
            type: Of the records.
            min_relevance: Replaces the floor; 0 lets everything through.
        """
        if min_relevance is not None:
            return min_relevance if min_relevance > 0 else -math.inf
        return (self.floors or EMBEDDED).of(type)

    def accompanies(
        self, scores: Mapping[str, float], highest: Callable[[str], float], floor: float
    ) -> bool:
        """Whether a record that stands alone comes near to the best of its type.

        Args:
            scores: Its own.
            highest: Gives the highest of a score, by its name, of the type.
            floor: That of the type, which the best has reached.
        """
        if floor == -math.inf:
            return True
        # Where no record has any of one, as of likeness without vectors, it says nothing.
        names = [name for name in ("cosine", "relevance") if highest(name) > 0]
        near = not names or any(scores[name] >= COMPANIONS * highest(name) for name in names)
        return near and scores["evidence"] >= floor / 2

    def hits(self, evidence: Iterable[Evidence], now: datetime) -> list[Hit]:
        """Return evidence as hits, best first.

        Args:
            evidence: What the searches brought up.
            now: The moment against which recency counts.
        """
        hits = [self._hit(each, now) for each in evidence]
        return sorted(hits, key=lambda hit: -hit.score)

    def _hit(self, evidence: Evidence, now: datetime) -> Hit:
        record, scores = evidence
        parts = {
            **scores,
            "recency": self.recency_boost * recency(_moment(record), now, self.half_life_days),
            "importance": self.importance_boost * 2 * (_importance(record) - 0.5),
        }
        relevance = scores["relevance"]
        score = relevance + abs(relevance) * (parts["recency"] + parts["importance"])
        return Hit(record, record.text, score, parts)


@lru_cache(maxsize=64)
def _with_floors(ranking: Ranking, embedder: str) -> Ranking:
    return replace(ranking, floors=floors_of(embedder))


@dataclass(frozen=True, slots=True)
class _Additive(Ranking):
    """The ranking of `Ranking.generative_agents`."""

    relevance_weight: float = 0.4
    importance_weight: float = 0.3
    recency_weight: float = 0.3

    def hits(self, evidence: Iterable[Evidence], now: datetime) -> list[Hit]:
        found = list(evidence)
        relevance = [each.scores["relevance"] for each in found]
        low, high = min(relevance, default=0.0), max(relevance, default=0.0)
        hits = []
        for record, scores in found:
            hours = max((now - _moment(record)).total_seconds() / 3_600, 0.0)
            share = (scores["relevance"] - low) / (high - low) if high > low else 1.0
            score = self.relevance_weight * share
            parts = {
                "recency": self.recency_weight * AGENTS_DECAY**hours,
                "importance": self.importance_weight * _importance(record),
            }
            hits.append(Hit(record, record.text, score + sum(parts.values()), {**scores, **parts}))
        return sorted(hits, key=lambda hit: -hit.score)


def _check_weight(name: str, given: object, positive: bool) -> None:
    number = isinstance(given, Real) and not isinstance(given, bool)
    if not number or not 0 <= given < math.inf or (positive and not given):  # type: ignore[operator]  # it is a number
        least = "above 0" if positive else "of 0 or more"
        raise ConfigurationError(f"Ranking: {name}= is a finite number {least}, got {given!r}")


def recency(moment: datetime, now: datetime, half_life_days: float) -> float:
    """Return 1 for this moment, .5 after one half-life, and so on; the future counts as now.

    Example:
        >>> from datetime import UTC, datetime
        >>> recency(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC), 30)
        0.5
    """
    days = max((now - moment).total_seconds() / 86_400, 0.0)
    return float(0.5 ** (days / half_life_days))


def distinct(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the best hits, with what is said twice among them once.

    A message from which one of these notes comes is left out, and what a project or an agent has in
    the words that the user has too.

    Args:
        hits: Best first.
        limit: How many at most.
    """
    kept = list(_first_of_each_wording(hits))
    told = {source for hit in kept[:limit] for source in sources_of(hit.record)}
    rest = (
        hit
        for hit in kept
        if not (isinstance(hit.record, Message) and (hit.record.owner.id, hit.record.id) in told)
    )
    return list(islice(rest, limit))


def sources_of(record: Record) -> Iterator[tuple[str, str]]:
    """Yield whose messages a note comes from, and their ids: others may have some of the same."""
    if isinstance(record, Note):
        author = record.owner.id if record.owner.kind == "user" else record.author
        yield from ((author, id) for id in record.sources)


def _first_of_each_wording(hits: Sequence[Hit]) -> Iterable[Hit]:
    """Leave out what is shared in words that the user, or a better hit that is shared, has."""
    shared = [hit for hit in hits if hit.record.owner.kind != "user"]
    if not shared:
        return hits
    texts = {_wording(hit) for hit in hits if hit.record.owner.kind == "user"}
    kept = []
    for hit in hits:
        if hit.record.owner.kind != "user":
            if _wording(hit) in texts:
                continue
            texts.add(_wording(hit))
        kept.append(hit)
    return kept


def _wording(hit: Hit) -> tuple[str, str]:
    return hit.record.type, normalise(hit.text)


def _moment(record: Record) -> datetime:
    return record.updated_at if isinstance(record, Note) else record.created_at


def _importance(record: Record) -> float:
    return record.importance if isinstance(record, Note) else 0.5
