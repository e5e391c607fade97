"""What a model is asked about notes whose words do not tell, and what it may answer. Pure.

It sees numbered pairs of texts, no ids, and says of each how its notes relate. What it says of a
number that it was not shown is passed over; a note for which nothing valid is said is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_memory.models import RECONCILING, escaped, items_of
from langgraph_memory.notes.reconciliation import Neighbour, Relation, Verdicts
from langgraph_memory.notes.similarity import SimilarityThreshold, judge
from langgraph_memory.records import Note, long_date

MAX_PAIRS = 20
"""In one question to a model."""
MAX_PAIRS_EACH = 3
"""Of one candidate: with the notes that are most like it."""


class JudgedPair(BaseModel):
    """How the notes of one pair relate."""

    pair: int = Field(description="The number of the pair")
    same_subject: bool
    same_attribute: bool
    relation: Literal["same", "replaces", "both"]


class Reconciled(BaseModel):
    """One verdict for each pair."""

    pairs: list[JudgedPair]


@dataclass(frozen=True, slots=True)
class NotePair:
    """A candidate, by its place, and a note that may say the same or be replaced by it."""

    place: int
    new: Note
    old: Note


def pairs(
    candidates: Sequence[Note],
    neighbours: Sequence[Sequence[Neighbour]],
    threshold: SimilarityThreshold,
) -> list[NotePair]:
    """Return the pairs to ask about: those alike enough whose words do not tell."""
    asked = []
    for place, (candidate, near) in enumerate(zip(candidates, neighbours, strict=True)):
        alike = sorted(near, key=lambda each: -each.cosine)
        judged = [(each, judge(candidate, each.note, each.cosine, threshold)) for each in alike]
        if any(judgement == "same" for _, judgement in judged):
            continue
        unclear = [each for each, judgement in judged if judgement == "ask"]
        open_pairs = [
            NotePair(place, candidate, each.note) for each in unclear if _open(each, candidate)
        ]
        asked += open_pairs[:MAX_PAIRS_EACH]
    return asked[:MAX_PAIRS]


def comparison_request(asked: Sequence[NotePair]) -> list[BaseMessage]:
    """Return what to ask a model about pairs."""
    lines = []
    for number, pair in enumerate(asked, 1):
        lines += [f"pair {number}", _format_note("new", pair.new), _format_note("old", pair.old)]
    return [SystemMessage(RECONCILING), HumanMessage("\n".join(lines))]


def pair_verdicts(answer: object, asked: Sequence[NotePair]) -> tuple[Verdicts, list[str]]:
    """Return what a model's answer says of the pairs, and what was wrong with it.

    Raises:
        UnreadableAnswer: If nothing of it can be read.
    """
    items, problems = items_of(answer, "pair")
    verdicts: dict[tuple[int, str, int], Relation] = {}
    for item in items:
        number = item.get("pair") if isinstance(item, Mapping) else None
        if not isinstance(number, int) or not 1 <= number <= len(asked):
            problems.append(f"a verdict on pair {number!r}, which is none")
        elif (relation := _relation(item)) is not None:
            pair = asked[number - 1]
            verdicts.setdefault((pair.place, pair.old.id, pair.old.version), relation)
    return verdicts, problems


def _open(each: Neighbour, candidate: Note) -> bool:
    """Whether slots leave it open how a note and a candidate relate."""
    return each.note.slot is None or candidate.slot is None


def _relation(item: Mapping[str, Any]) -> Relation | None:
    """Return how two notes relate, unless they both stay."""
    relation = item.get("relation")
    if relation == "same":
        return "same" if item.get("same_subject") is not False else None
    alike = item.get("same_subject") is True and item.get("same_attribute") is True
    return "replaces" if relation == "replaces" and alike else None


def _format_note(name: str, note: Note) -> str:
    return f'<{name} date="{long_date(note.updated_at)}">{escaped(note.text)}</{name}>'
