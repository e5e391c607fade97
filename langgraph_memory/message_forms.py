"""What each message is, told from the vector that is stored for it, in any language.

A linear probe on a message's vector and on its punctuation, fitted to labelled messages
(`benchmarks/forms.py`). Fitted to English and Chinese, it holds for languages that it was never
shown. For vectors of another embedder, punctuation and a handful of words have to do.

A statement that is taken for a question or small talk is lost to the memory; small talk that is
taken for a statement costs a line. So where it is open, a message is a statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.embedding import UniversalSentenceEncoder, Vectors
from langgraph_memory.small_talk import is_courtesy

Flags = NDArray[np.bool_]

FORMS = ("statement", "question", "request", "small_talk", "denial")
"""In the order of the probe's columns. `denial`: that something is not known, and no more."""

IN_DOUBT = 0.1
"""By how much less than another form a statement is one still."""

READ = 5_000
"""Characters that are looked at: as many as are embedded."""

_ENDS_ASKING = re.compile(
    r"[?？؟][\s\"'”’)\]]*$|[吗嗎呢嘛][。.!！~～\s]*$|(?:です|ます|でしょう)か[。\s]*$"
)
_ASKS = re.compile("[?？؟]")
_SENTENCES = re.compile(r"[^\s.!?。！？؟\n][^.!?。！？؟\n]*")
_PART = re.compile(r"[,，;；:：–—]|\n")
_EXCLAIMS = re.compile("[!！]")
_NAME = re.compile(r"\w [A-Z][a-z]|[A-Z]{2}")
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]m|my|me|we|our|yo|mis?|me|nos|ich|mein\w*|mir|mich|wir|unser\w*|je|j['’]|mon|ma"
    r"|mes|nous|io|mi[oae]|eu|meus?|minhas?|я|мне|меня|мо[йяеи]|мы)\b|[我咱私僕俺]|うち|나|저|내|أنا",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"```|^\s*>", re.MULTILINE)
_DENIES = re.compile(
    r"\b(?:do(?:n['’]t| not) (?:know|have)|no (?:lo )?s[ée]|no tengo|weiß (?:es |das )?nicht"
    r"|ne sais pas|non (?:lo )?so|não sei|не знаю)\b|不知道|不清楚|没有(?:记录|相关)|わかりません"
    r"|몰라",
    re.IGNORECASE,
)


class Forms(NamedTuple):
    """What messages are; each array has the shape `(rows,)`, and of the flags one is set a row."""

    statement: Flags
    """It states something, in any of its sentences."""
    question: Flags
    """It asks, and states nothing."""
    request: Flags
    """It asks for something to be done, and states nothing."""
    small_talk: Flags
    denial: Flags
    salience: NDArray[np.float32]
    """0 to 3: how much a user's statement is worth in every prompt. 3 is a lasting fact with a name,
    a number or a constraint; 1 an order of the day, or a mood."""


def forms(texts: Sequence[str], vectors: Vectors | None, embedder: str) -> Forms:
    """Return what messages are.

    Args:
        texts: The messages.
        vectors: Theirs, of shape `(texts, dimensions)` and length 1; zeros where there is none.
        embedder: By which they were made, as its `Fingerprint` says.
    """
    signs = np.array([signs_of(text[:READ].strip()) for text in texts], np.float32)
    if vectors is not None and embedder == UniversalSentenceEncoder.model:
        scores = np.hstack([vectors, signs]) @ _probe()
    else:
        scores = np.array(
            [_by_words(text[:READ], row) for text, row in zip(texts, signs.tolist(), strict=True)],
            np.float32,
        )
    scores = scores.reshape(len(texts), len(FORMS) + 1)
    scores[:, 0] += IN_DOUBT
    scores[[_only_asks(text[:READ], row) for text, row in zip(texts, signs, strict=True)], 0] -= 1
    form = scores[:, :-1].argmax(axis=1)
    quoted = np.array([_QUOTED.search(text[:READ]) is not None for text in texts], np.bool_)
    salience = np.where((form == 0) & ~quoted, np.clip(scores[:, -1], 0, 3), 0)
    statement, question, request, small_talk, denial = (form == place for place in range(5))
    own = salience.astype(np.float32)
    return Forms(statement, question, request, small_talk, denial, own)


@cache
def _probe() -> NDArray[np.float32]:
    """Return the weights: a row for each dimension and sign, a column for each form and salience."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as stored:
        weights: NDArray[np.float32] = stored["weights"].astype(np.float32)
    return weights


SIGNS = 10


def signs_of(text: str) -> tuple[float, ...]:
    """Return what the punctuation of a message tells, and whether it is in the first person."""
    asks, sentences = len(_ASKS.findall(text)), len(_SENTENCES.findall(text))
    return (
        1.0,
        float(_ENDS_ASKING.search(text) is not None),
        float(asks > 0),
        float(0 < asks < sentences),
        float(_EXCLAIMS.search(text) is not None),
        float(any(map(str.isdecimal, text))),
        min(len(text), 200) / 200,
        min(sentences, 4) / 4,
        float(_FIRST_PERSON.search(text) is not None),
        float(_NAME.search(text) is not None),
    )


def _only_asks(text: str, signs: NDArray[np.float32]) -> bool:
    """Whether a message is one question, in which nothing can be stated on the way."""
    return bool(signs[1]) and not signs[3] and _PART.search(text) is None


def _by_words(text: str, signs: Sequence[float]) -> tuple[float, ...]:
    """Return scores as the probe does, from punctuation and words alone."""
    _, ends_asking, _, states_too, _, number, _, _, first_person, name = signs
    return (
        0.5,
        float(ends_asking and not states_too),
        0.0,
        float(is_courtesy(text)),
        0.9 * (_DENIES.search(text) is not None and len(text) < READ / 50),
        first_person + 0.75 * number + 0.75 * name,
    )
