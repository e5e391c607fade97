"""How much a message counts as evidence by its form: a statement, a question, small talk. Pure.

Where one person talks with an assistant, a memory is asked for what that person stated. Their own
earlier questions are most similar to a new question but answer nothing; neither does the
assistant's "I do not know that yet". Where several people talk to each other, all messages count
alike: telling them apart cost recall on LoCoMo's development conversations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.store import Flags, Scores

OWN = {"question": -1.0, "request": -0.3, "small_talk": -1.0}
"""What the form of a user's own message adds to its relevance."""
ANSWERS = {
    "statement": -0.1,  # what the user stated comes before what was answered
    "question": -0.5,
    "request": -0.5,
    "small_talk": -1.0,
    "denial": -1.5,
}
"""What the form of an assistant's message adds."""

SALIENCE = 0.1
"""What a point of salience adds to the relevance of a user's statement."""
ITSELF = 1.0
"""What a message's own cosine similarity adds: with an assistant, the subject changes from turn to
turn, and what stands around a message says less of it than among people."""

WEAK = 0.3
"""The most that a user's question, small talk or an assistant's denial counts as evidence: it makes
nothing known."""

SALIENT = 0.5
"""From which salience on a statement of the user's is offered whatever is asked."""


class Standing(NamedTuple):
    """What each row of a partition of messages is worth, of shape `(rows,)`."""

    form: Scores
    """What its form adds to its relevance."""
    itself: float
    """What its own cosine similarity adds."""
    most: Scores
    """The most that it counts as evidence."""
    salience: Scores
    """How much a user's statement is worth in every prompt; `-inf` where it is not offered."""


def standing(fields: NDArray[np.void], alive: Flags) -> Standing:
    """Return what messages are worth.

    Args:
        fields: A structured array of shape `(rows,)` with the flags of `Forms`, `salience`,
            `speaker`, and `by_user`.
        alive: Which rows count.
    """
    rows = len(fields)
    form = np.zeros(rows, np.float32)
    most = np.full(rows, np.inf, np.float32)
    salience = np.full(rows, -np.inf, np.float32)
    by_user = fields["by_user"]
    if len(np.unique(fields["speaker"][alive & by_user])) != 1:
        return Standing(form, 0.0, most, salience)
    for who, weights in ((by_user, OWN), (~by_user, ANSWERS)):
        for name, weight in weights.items():
            form[who & fields[name]] += np.float32(weight)
    weak = by_user & (fields["question"] | fields["small_talk"]) | ~by_user & fields["denial"]
    most[weak] = WEAK
    offered = by_user & fields["statement"] & (fields["salience"] > SALIENT)
    salience[offered] = fields["salience"][offered]
    form[offered] += np.float32(SALIENCE) * salience[offered]
    return Standing(form, ITSELF, most, salience)


class Repetitions(NamedTuple):
    """Which messages say the same: statements in the same words of one speaker, or other forms.

    A question in the words of a statement ("am I allergic?") does not take its place.
    """

    order: NDArray[np.intp]
    """All rows, with those that say the same side by side, as they were said."""
    wording: NDArray[np.intp]
    """The number of what each row in that order says."""

    @classmethod
    def of(cls, fields: NDArray[np.void]) -> Repetitions:
        """Compare messages.

        Args:
            fields: A structured array of shape `(rows,)` with `wording`, `speaker`, `statement` and
                the fields that order what was said.
        """
        same, said = ("statement", "speaker", "wording"), ("position", "logged", "said")
        order = np.lexsort([fields[name] for name in (*said, *same)])
        of = fields[order]
        begins = np.zeros(len(order), np.bool_)
        for name in same:
            begins[1:] |= of[name][1:] != of[name][:-1]
        return cls(order, np.cumsum(begins))

    def among(self, chosen: Flags) -> tuple[Scores, Flags]:
        """Return how often each was said, at its newest, and whether it is the newest.

        Args:
            chosen: Which rows count, of shape `(rows,)`: not those that a filter leaves out.
        """
        times, newest = np.ones(len(chosen), np.float32), np.zeros(len(chosen), np.bool_)
        count = chosen[self.order]
        rows, wording = self.order[count], self.wording[count]
        ends = np.flatnonzero(np.diff(wording, append=-1))
        newest[rows[ends]] = True
        times[rows[ends]] = np.diff(ends, prepend=-1)
        return times, newest
