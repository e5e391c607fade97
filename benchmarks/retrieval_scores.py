"""How well ranked answers hold the evidence of their questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

DEPTHS = (5, 10, 20)
LIMIT = max(DEPTHS)
"""How many hits are asked for."""
DEPTH = 10
"""At which most figures are given."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for a question."""

    conversation: str
    category: int
    evidence: frozenset[str]
    found: Sequence[str]
    """Ids, best first."""
    tokens: int = 0
    """Of the first `DEPTH` texts."""

    def recall(self, depth: int) -> float:
        """Return the share of the evidence among the first hits."""
        return len(self.evidence.intersection(self.found[:depth])) / len(self.evidence)

    @property
    def reciprocal_rank(self) -> float:
        """1 over the rank of the first evidence; 0 if there is none."""
        ranks = (rank for rank, id in enumerate(self.found, 1) if id in self.evidence)
        return 1 / next(ranks, float("inf"))


def scores(answers: Sequence[Answer]) -> Line:
    """Return the means over questions.

    Example:
        >>> found = Answer("c", 1, frozenset({"a", "b"}), ["x", "a"], tokens=8)
        >>> scores([found])["R@5"], scores([found])["all@10"], scores([found])["MRR"]
        (0.5, 0.0, 0.5)
    """
    at_depth = [answer.recall(DEPTH) for answer in answers]
    return {
        "questions": len(answers),
        **{f"R@{k}": mean(answer.recall(k) for answer in answers) for k in DEPTHS},
        f"hit@{DEPTH}": mean(share > 0 for share in at_depth),
        f"all@{DEPTH}": mean(share == 1 for share in at_depth),
        "MRR": mean(answer.reciprocal_rank for answer in answers),
        "tokens": round(fmean(answer.tokens for answer in answers)) if answers else None,
    }


def spread(answers: Sequence[Answer]) -> Line:
    """Return in which bounds `R@10` lies from conversation to conversation."""
    by_conversation = [
        scores([answer for answer in answers if answer.conversation == id])
        for id in conversations_of(answers)
    ]
    means = [line[f"R@{DEPTH}"] for line in by_conversation]
    return {"lowest": min(means, default=None), "highest": max(means, default=None)}


def curve(answers: Sequence[Answer]) -> list[float | None]:
    """Return the recall at each depth from 1 to `LIMIT`."""
    return [mean(answer.recall(k) for answer in answers) for k in range(1, LIMIT + 1)]


def conversations_of(answers: Iterable[Answer]) -> list[str]:
    """Return the ids of the conversations that were asked about, in order."""
    return list(dict.fromkeys(answer.conversation for answer in answers))


def mean(values: Iterable[float]) -> float | None:
    """Return a mean to four digits; `None` of nothing."""
    found = list(values)
    return round(fmean(found), 4) if found else None
