"""From which evidence on a memory is taken to know something about a question.

Evidence is what the best record of a type has in common with the question: cosine similarity, plus
the share of the question's words that are there, for messages with those around them; plus, for
messages, how close they are to the moment asked for. The question is judged, not each hit: where
something is known, what else is ranked high is often what stands beside the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from langgraph_memory.scope import RecordType


@dataclass(frozen=True, slots=True)
class Floors:
    """The evidence that is asked for, by the type of the records."""

    message: float = 0.62
    note: float = 0.35
    document: float = 0.35
    episode: float = 0.35

    def of(self, type: RecordType) -> float:
        """Return the floor of a type that can be recalled."""
        floor: float = getattr(self, type)
        return floor


EMBEDDED = Floors()
UNMEASURED = Floors(message=0.5, note=0.35, document=0.35, episode=0.35)
_FLOORS = {"use-multilingual-v3": EMBEDDED}


def floors_of(embedder: str) -> Floors:
    """Return the floors for an embedder, by the name that its `Fingerprint` has."""
    return _FLOORS.get(embedder, UNMEASURED)
