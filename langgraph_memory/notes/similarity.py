"""How a new note compares with an old one of the same owner: a pure decision.

Words say whether two notes are one; the cosine of their vectors says only whether a model is worth
asking. It cannot say more: to the embedded default "Is allergic to hazelnuts" and "Is allergic to
walnuts" are at .95, "Prefers tabs to spaces" and "Prefers spaces to tabs" at .99, and the same fact
in other words mostly below .75. So another number, day, name, negation or order of words is never
merged without being asked about, in any language. `benchmarks/reconcile.py` has the figures.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from langgraph_memory.records import Note, normalise

Judgement = Literal["same", "ask", "apart"]
"""`same`: one note, said again. `ask`: the new note may repeat, replace or deny the old one, and a
model can tell; without one both stay, unless they share a slot. `apart`: both stay."""


@dataclass(frozen=True, slots=True)
class SimilarityThreshold:
    """What the cosine similarities of one embedder are worth."""

    ask_from: float
    """From which similarity on a model is asked; notes less alike are apart, unless they share a
    slot."""


EMBEDDED = SimilarityThreshold(ask_from=0.35)
"""For the embedded default: the highest multiple of .05 at which, without any slots, 90 % of the
repetitions, updates and contradictions in half "a" of `benchmarks/sets/pairs.jsonl` are not
apart (.91; with the slots that belong to them, .99)."""

UNMEASURED = SimilarityThreshold(ask_from=-1.0)
"""For embedders that nobody measured: nothing is apart. Some put all texts above .7, so no other
value is safe; how many neighbours are looked at bounds what a model is asked."""

WITHOUT_MEANING = SimilarityThreshold(ask_from=math.inf)
"""For stores that do not search by meaning: what they bring up is any note, and not worth asking
about."""

WITH_E5 = SimilarityThreshold(ask_from=0.4)
"""For `UniversalAndE5`, chosen in the same way (.92)."""

_THRESHOLDS = {"use-multilingual-v3": EMBEDDED, "use-multilingual-v3+e5-small-q4": WITH_E5}

# Behind a word only: what "ends with ." means hangs on it. Not "?": a doubt is another note.
_END = re.compile(r"(?<=\w)[.!。]+$")


def threshold_of(embedder: str) -> SimilarityThreshold:
    """Return the threshold of an embedder, by the name that its `Fingerprint` has."""
    return _THRESHOLDS.get(embedder, UNMEASURED)


def judge(
    new: Note, old: Note, cosine: float, threshold: SimilarityThreshold = EMBEDDED
) -> Judgement:
    """Compare two active notes of one owner; which of them is the new one makes no difference.

    Notes of two kinds or with two slots are never the same: "Rosario" as home city and as birth
    place are two. Notes that share a slot are never apart: it has one value.

    Args:
        new: The note that comes in.
        old: A note that is there.
        cosine: The similarity of the vectors of their `search_text`, which begins with the slot.
        threshold: What that similarity is worth; see `threshold_of`.

    Example:
        >>> from datetime import UTC, datetime
        >>> from langgraph_memory.records.owners import Owner
        >>> def note(text):
        ...     now, ana = datetime.now(UTC), Owner("user", "ana")
        ...     return Note(
        ...         id="", owner=ana, text=text, created_at=now, updated_at=now, valid_from=now
        ...     )
        >>> judge(note("Drinks tea."), note("drinks tea"), 0.95)
        'same'
        >>> judge(note("Drinks no tea."), note("Drinks tea."), 0.95)
        'ask'
        >>> judge(note("Has a dog."), note("Drinks tea."), 0.05)
        'apart'
    """
    if says_the_same(new, old):
        return "same"
    share_slot = None not in (new.slot, old.slot) and len(_slots(new, old)) == 1
    return "ask" if share_slot or cosine >= threshold.ask_from else "apart"


def says_the_same(new: Note, old: Note) -> bool:
    """Whether `judge` finds two notes the same, which no cosine has a part in."""
    alike = new.kind == old.kind and without_end(new.text) == without_end(old.text)
    return alike and len(_slots(new, old)) < 2


def _slots(*notes: Note) -> set[str]:
    return {normalise(note.slot) for note in notes if note.slot is not None}


def without_end(text: str) -> str:
    """Return a text as `normalise` does, without the punctuation at its end."""
    return _END.sub("", normalise(text))
