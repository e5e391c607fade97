"""What a note is worth in every prompt, whatever is asked: without a cliff at any number. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.embedding import Vectors
from langgraph_memory.lexical import LexicalIndex
from langgraph_memory.ranking import Ranking

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
SHARED = -1.0
"""Of a project or an agent: what others wrote comes after the user's own."""

Scores = NDArray[np.float32]
Flags = NDArray[np.bool_]

_FIELDS = np.dtype([("value", np.float32), ("updated", np.float64), ("aliases", np.bool_)])


class NoteColumns:
    """What notes are worth by themselves, a row for each row of a partition."""

    def __init__(self) -> None:
        self._rows = 0
        self._fields = np.zeros(64, _FIELDS)

    def __len__(self) -> int:
        return self._rows

    def append(self, items: Sequence[Any], vectors: Vectors | None) -> None:
        """Append a row for each item: one of a LangGraph store, with a note's value."""
        end = self._rows + len(items)
        if end > len(self._fields):
            grown = np.zeros(max(end, 2 * len(self._fields)), _FIELDS)
            grown[: self._rows] = self._fields[: self._rows]
            self._fields = grown
        self._fields[self._rows : end] = [
            (_value(item), _updated(item), bool(item.value.get("aliases"))) for item in items
        ]
        self._rows = end

    def view(self, alive: Flags, lexical: LexicalIndex) -> NDArray[np.void]:
        """Return the first rows: what each is worth, when it was last said, if it has aliases."""
        return self._fields[: len(alive)]


def worth(notes: NDArray[np.void], evidence: Scores, now: datetime, ranking: Ranking) -> Scores:
    """Return what notes are worth in a prompt.

    Args:
        notes: What `NoteColumns` know, of shape `(rows,)`.
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
        + SHARED * (item.namespace[1] != "user")
    )


def _updated(item: Any) -> float:
    updated = item.value.get("updated_at")
    return (datetime.fromisoformat(updated) if updated else item.updated_at).timestamp()
