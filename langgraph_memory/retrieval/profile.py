"""What a note is worth in every prompt, whatever is asked: without a cliff at any number. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.models import SHARE, Vectors, headed
from langgraph_memory.retrieval.ranking import Ranking
from langgraph_memory.store import Flags, Scores
from langgraph_memory.text import LexicalIndex, grown

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
    """Its vector in the further directions of `note_head`, if the embedder has them."""


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
