"""What a message is: a statement, a question, a request, small talk, or a denial. Pure.

Of messages whose vectors are stored, a probe says it: a linear and a quadratic form of the vector
and of a few marks in the text, fitted by `benchmarks/forms.py` on labelled messages, in English and
Chinese. The vectors mean the same in all languages of their embedder, so it holds in the others,
too. Where there is no vector, or one of another embedder, punctuation and a handful of words in the
main languages decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.form_words import (
    asks_by_words,
    folded_text,
    is_bare_question,
    is_pasted,
    lasts,
    marks,
    said,
)

FORMS = ("statement", "question", "request", "small_talk", "denial")
"""The forms, in the order of the probe's scores; `asks` and `salience` come after them."""

_STATEMENT, _QUESTION, _REQUEST = (FORMS.index(f) for f in ("statement", "question", "request"))

MAX_SALIENCE = 3.0

PROBED = {"use-multilingual-v3": 512, "use-multilingual-v3+e5-small-q4": 512}
"""The embedders that the probe reads: how many of a vector's first numbers are USE's."""

_ORDER_FOR_GOOD = 2.0  # the salience of "always answer in German" is at least that
_MAY_ASK = 0.3  # the score from which on a statement may be an order
_BY_WORDS = 0.3  # beside the probe's score, of cross-validation on the messages it was fitted on


class Forms(NamedTuple):
    """What messages are, one row each. Every message has exactly one form."""

    statement: NDArray[np.bool_]
    """It states something, in any of its sentences; or it is an order that lasts."""
    question: NDArray[np.bool_]
    """It asks, and states nothing."""
    request: NDArray[np.bool_]
    """It asks for something to be done, and states nothing."""
    small_talk: NDArray[np.bool_]
    """Courtesies, thanks, "good idea", and nothing else."""
    denial: NDArray[np.bool_]
    """It says that something is not known, and states nothing else."""
    salience: NDArray[np.float32]
    """0 to `MAX_SALIENCE`: how much a statement of a user's about themselves and their work is
    worth keeping: an allergy, a name, a rule 3, a preference 2, the mood of the day 1. Zero for all
    that is no statement, and for what is pasted or quoted."""


def forms(
    texts: Sequence[str], vectors: NDArray[np.float32] | None = None, embedder: str = ""
) -> Forms:
    """Say what messages are.

    Takes some 5 microseconds a short message, and a matrix product.

    Args:
        texts: The messages.
        vectors: Their unit vectors, shape `(rows, dimensions)`; rows of zeros where there is none.
        embedder: The name of what made the vectors, as in `Fingerprint`.
    """
    scores = _probed(texts, vectors, embedder)
    form = scores[:, : len(FORMS)].argmax(axis=1)
    salience = np.clip(scores[:, -1], 0, MAX_SALIENCE)
    for row in np.flatnonzero(form == _STATEMENT).tolist():
        if is_bare_question(texts[row]):
            form[row] = _QUESTION
    may_ask = (form == _REQUEST) | (form == _STATEMENT) & (scores[:, len(FORMS)] > _MAY_ASK)
    for row in np.flatnonzero(may_ask).tolist():
        if lasts(folded_text(texts[row])):
            form[row] = _STATEMENT
            salience[row] = max(salience[row], _ORDER_FOR_GOOD)
    salience[form != _STATEMENT] = 0
    for row in np.flatnonzero(salience).tolist():
        if is_pasted(texts[row]):
            salience[row] = 0
    statement, question, request, small_talk, denial = (form == each for each in range(len(FORMS)))
    return Forms(statement, question, request, small_talk, denial, salience)


def asks_to_do(text: str, vector: NDArray[np.float32] | None = None, embedder: str = "") -> bool:
    """Whether a message asks for something to be done: a request or an order, in any sentence.

    Args:
        text: What was said.
        vector: Its unit vector, shape `(dimensions,)`, where there is one.
        embedder: The name of what made the vector, as in `Fingerprint`.

    Example:
        >>> asks_to_do("Send me the same as last time."), asks_to_do("What is the price?")
        (True, False)
    """
    by_words = asks_by_words(text)
    if vector is None or embedder not in PROBED or not vector.any():
        return by_words
    score = _probed([text], vector[None], embedder)[0, len(FORMS)]
    return bool(score + _BY_WORDS * by_words > 0.5)


# -- the probe ------------------------------------------------------------------------------------


class Probe(NamedTuple):
    """What `benchmarks/forms.py` fits: scores for each of `FORMS`, for `asks` and for `salience`.

    A score is linear in the vector and the marks, and in the squares of what the vector has in some
    directions.
    """

    directions: NDArray[np.float32]
    """Of shape `(512, directions)`."""
    centre: NDArray[np.float32]
    """What the mean vector has in them, shape `(directions,)`."""
    squares: NDArray[np.float32]
    """What each square says about each score, shape `(directions, scores)`."""
    linear: NDArray[np.float32]
    """What the numbers of the vector, the marks and 1 say, shape `(512 + MARKS + 1, scores)`."""

    def scores(
        self, vectors: NDArray[np.float32], marked: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the scores of messages, shape `(rows, scores)`.

        Args:
            vectors: Shape `(rows, 512)`, of any length but zero.
            marked: Their `marks`, shape `(rows, MARKS)`.
        """
        dims, count = self.directions.shape
        norms = np.sqrt(np.einsum("rd,rd->r", vectors, vectors))[:, None]
        seen = vectors @ np.hstack([self.directions, self.linear[:dims]]) / norms
        squared = (seen[:, :count] - self.centre) ** 2
        scores: NDArray[np.float32] = (
            seen[:, count:]
            + squared @ self.squares
            + marked @ self.linear[dims:-1]
            + self.linear[-1]
        )
        return scores


@cache
def _probe() -> Probe:
    with (resources.files("langgraph_memory") / "forms_use.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        return Probe(*(stored[name].astype(np.float32) for name in Probe._fields))


def _probed(
    texts: Sequence[str], vectors: NDArray[np.float32] | None, embedder: str
) -> NDArray[np.float32]:
    """Return the scores of messages, shape `(rows, len(FORMS) + 2)`."""
    scores = np.zeros((len(texts), len(FORMS) + 2), np.float32)
    seen = np.zeros(len(texts), np.bool_)
    if embedder in PROBED and vectors is not None and len(texts):
        vectors = vectors[:, : PROBED[embedder]]
        seen[:] = vectors.any(axis=1)
        rows = np.flatnonzero(seen)
        marked = np.array([marks(texts[row]) for row in rows.tolist()], np.float32)
        if len(rows):
            scores[rows] = _probe().scores(vectors if seen.all() else vectors[rows], marked)
    for row in np.flatnonzero(~seen).tolist():
        form, asks, salience = said(texts[row])
        scores[row, FORMS.index(form)] = 1
        scores[row, -2:] = asks, salience
    return scores
