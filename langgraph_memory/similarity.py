"""Whether two notes say the same, by how alike they are. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from langgraph_memory.records import Note, normalise

Judgement = Literal["same", "ask", "apart"]


@dataclass(frozen=True, slots=True)
class Band:
    """Cosine similarities between which nobody can tell without reading."""

    ask: float
    same: float


BAND = Band(ask=0.6, same=0.92)


def judge(new: Note, old: Note, cosine: float) -> Judgement:
    """Judge two notes of one owner by the cosine similarity of their texts, -1 to 1."""
    if _words(new) == _words(old):
        return "same"
    numbers = re.findall(r"\d+", new.text) == re.findall(r"\d+", old.text)
    if cosine >= BAND.same and numbers:
        return "same"
    return "ask" if cosine >= BAND.ask else "apart"


def _words(note: Note) -> list[str]:
    return re.findall(r"\w+", normalise(note.text))
