"""What a message is: fits the probe of `messages/kinds.py`, and says how often it is right.

    python -m benchmarks.forms             # fits, writes the weights, reports, in half a minute
    python -m benchmarks.forms --report    # reports on the weights that are there
    python -m benchmarks.forms --choose    # cross-validates what the fit depends on

Fitted are messages of `sets/forms.jsonl` of the split `train`, in English and Chinese; the same
without their punctuation; and messages put together of two to four of them, for a stored vector is
that of a whole message. Ridge regression, in closed form: of the vector, of the marks of the text,
and of the products of the vector's main directions.

Each line on stdout is a JSON object about the split `test` in one language:

- `accuracy`: the share of messages whose form is right, and `words` the same without a vector;
- `lost`: the share of statements that are taken for something else;
- `asks`: the share of messages of users of which it is right whether they ask for something to be
  done, and `asks_words` the same without a vector;
- `salience`: the rank correlation of salience over all messages of users, and over what they state;
- `composed`: accuracy and `lost` of messages put together of those of the test split.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import langgraph_memory
from benchmarks.labelled import read
from langgraph_memory.messages.kinds import (
    FORMS,
    MAX_SALIENCE,
    Forms,
    Probe,
    asks_to_do,
    forms,
    marks,
)
from langgraph_memory.models.embedder import Embedder

WEIGHTS = Path(langgraph_memory.__file__).parent / "forms_use.npz"

DIRECTIONS = 64
"""Directions of the vectors whose products are fitted."""
KEPT = 96
"""Squares that the quadratic forms of all scores are cut down to."""
SQUARES = 0.03
"""How much a product counts beside the vector itself: its penalty is higher by 1 / SQUARES^2."""
RIDGE = 2.0
"""The penalty. It and the two above were chosen by cross-validation (`--choose`)."""
STATES = 0.1
"""Added to the score of a statement: one that is lost costs more than thanks that are kept."""
COMPOSED = 2_000
"""Messages that are put together for the fit."""

_SEED = 20
_SHARES = {"statement": 0.4, "question": 0.22, "request": 0.13, "small_talk": 0.2, "denial": 0.05}
"""How often a sentence of each form is in a message that is put together."""

Message = Mapping[str, Any]
Vectors = NDArray[np.float32]


# -- messages -------------------------------------------------------------------------------------


def bare(messages: Iterable[Message]) -> list[Message]:
    """Return messages as people type them: without the last punctuation, small at the beginning."""
    cut = [(message, message["text"].rstrip(".!?。！？… ")) for message in messages]
    typed = [(message, text[:1].lower() + text[1:]) for message, text in cut]
    return [
        {**message, "text": text} for message, text in typed if text not in ("", message["text"])
    ]


def composed(messages: Sequence[Message], count: int) -> list[Message]:
    """Return some `count` messages of two to four that one speaker said in one language."""
    random = np.random.default_rng(_SEED)
    groups: dict[tuple[str, str], dict[str, list[Message]]] = defaultdict(lambda: defaultdict(list))
    for message in messages:
        if "\n" not in message["text"] and len(message["text"]) < 120:
            groups[message["language"], message["role"]][message["form"]].append(message)
    made = []
    for by_form in groups.values():
        present = [form for form in FORMS if form in by_form]
        shares = np.array([_SHARES[form] for form in present])
        size = sum(map(len, by_form.values()))
        for _ in range(count * size // len(messages)):
            wanted = random.choice(
                present, size=random.choice([2, 3, 4], p=[0.6, 0.3, 0.1]), p=shares / shares.sum()
            )
            parts = [by_form[form][random.integers(len(by_form[form]))] for form in wanted]
            made.append(_joined(parts, random))
    return made


def _joined(parts: Sequence[Message], random: np.random.Generator) -> Message:
    kinds = {part["form"] for part in parts}
    order = ("statement", "request", "denial", "question", "small_talk")
    form = next(form for form in order if form in kinds)
    dense = parts[0]["language"] in ("zh", "ja")
    text = ""
    for part in parts[:-1]:
        text += part["text"]
        if text[-1] not in ".!?。！？…":
            stop, comma = ("。", "，") if dense else (".", ",")
            asked = part["form"] == "question"
            text += ("？" if dense else "?") if asked else comma if random.random() < 0.3 else stop
        text += "" if dense else " "
    return {
        **parts[0],
        "text": text + parts[-1]["text"],
        "form": form,
        "asks": any(part["asks"] for part in parts),
        "salience": max(part["salience"] for part in parts),
    }


def embedded(messages: Sequence[Message]) -> Vectors:
    """Return the unit vectors of messages, shape `(messages, 512)`."""
    return _EMBEDDER.embed([message["text"] for message in messages], [])[0]


_EMBEDDER = Embedder()


# -- the fit --------------------------------------------------------------------------------------


def fit(
    messages: Sequence[Message],
    directions: int = DIRECTIONS,
    squares: float = SQUARES,
    ridge: float = RIDGE,
) -> Probe:
    """Return the probe of labelled messages."""
    alike, joined = bare(messages), composed(messages, COMPOSED)
    fitted = [*messages, *alike, *joined]
    weights = np.repeat([1.0, 0.5, 0.5], [len(messages), len(alike), len(joined)])
    return _fit(fitted, embedded(fitted), weights, directions, squares, ridge)


def _fit(
    messages: Sequence[Message],
    vectors: Vectors,
    weights: NDArray[np.float64],
    directions: int,
    squares: float,
    ridge: float,
) -> Probe:
    mean = vectors.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(vectors - mean, full_matrices=False)
    main = axes[:directions].T
    along = (vectors - mean) @ main
    unit = along.std(axis=0).mean()
    upper = np.triu_indices(directions)
    products = along[:, upper[0]] * along[:, upper[1]] * squares / unit**2
    marked = np.array([marks(message["text"]) for message in messages])
    inputs = np.hstack([vectors, marked, np.ones((len(messages), 1)), products])
    wanted = np.array([_wanted(message) for message in messages])
    penalty = np.full(inputs.shape[1], ridge)
    penalty[vectors.shape[1] + marked.shape[1]] = 0  # what is always 1
    solved = _ridge(inputs, wanted, weights, penalty)
    of_users = np.array([message["role"] == "user" for message in messages])
    solved[:, -1] = _ridge(inputs, wanted[:, -1:], weights * of_users, penalty)[:, 0]
    linear = solved[: -products.shape[1]]
    linear[-1, 0] += STATES
    matrices = np.zeros((wanted.shape[1], directions, directions))
    matrices[:, *upper] = solved[-products.shape[1] :].T * squares / unit**2
    own, weighing = _squares(matrices)
    kept = main @ own
    return Probe(*(part.astype(np.float32) for part in (kept, mean @ kept, weighing, linear)))


def _squares(
    matrices: NDArray[np.float64], count: int = KEPT
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Write quadratic forms as sums of squares, and keep those that say most.

    Args:
        matrices: Of shape `(scores, k, k)`.
        count: How many squares are kept.

    Returns:
        The directions of which the squares are, shape `(k, count)`, and what each says about each
        score, shape `(count, scores)`.
    """
    values, axes = np.linalg.eigh((matrices + matrices.transpose(0, 2, 1)) / 2)
    compared = abs(values) / np.array([[1.0]] * (len(matrices) - 1) + [[MAX_SALIENCE]])
    score, place = np.unravel_index(np.argsort(-compared, axis=None)[:count], values.shape)
    weighing = np.zeros((len(score), len(matrices)))
    weighing[np.arange(len(score)), score] = values[score, place]
    return axes[score, :, place].T, weighing


def _wanted(message: Message) -> list[float]:
    form = [float(message["form"] == form) for form in FORMS]
    return [*form, float(message["asks"]), float(message["salience"])]


def _ridge(
    inputs: NDArray[np.float64],
    wanted: NDArray[np.float64],
    weights: NDArray[np.float64],
    penalty: NDArray[np.float64],
) -> NDArray[np.float64]:
    weighted = inputs * weights[:, None]
    solved = np.linalg.solve(inputs.T @ weighted + np.diag(penalty), weighted.T @ wanted)
    return np.asarray(solved, np.float64)


def write(probe: Probe, path: Path = WEIGHTS) -> None:
    """Write the weights, in numbers of two bytes."""
    halves = {name: part.astype(np.float16) for name, part in probe._asdict().items()}
    np.savez_compressed(path, **halves)


# -- the report -----------------------------------------------------------------------------------


def report(messages: Sequence[Message], others: Sequence[Message]) -> dict[str, Any]:
    """Return what the weights that are there make of messages, and of `others` put together."""
    users = [message for message in messages if message["role"] == "user"]
    stated = [message for message in users if message["form"] == "statement"]
    return {
        "messages": len(messages),
        **_right(messages),
        "words": _right(messages, words=True)["accuracy"],
        "asks": _asks_right(users),
        "asks_words": _asks_right(users, words=True),
        "salience": [_salience_correlation(users), _salience_correlation(stated)],
        "composed": _right(others),
    }


def _seen(messages: Sequence[Message], words: bool) -> Forms:
    texts = [message["text"] for message in messages]
    return forms(texts) if words else forms(texts, embedded(messages), _NAME)


_NAME = _EMBEDDER.fingerprint.embedder


def _right(messages: Sequence[Message], words: bool = False) -> dict[str, float]:
    found = np.stack(_seen(messages, words)[: len(FORMS)], axis=1).argmax(axis=1)
    true = np.array([FORMS.index(message["form"]) for message in messages])
    return _shares(found, true)


def _shares(found: NDArray[np.intp], true: NDArray[np.intp]) -> dict[str, float]:
    lost = found[true == 0] != 0
    return {
        "accuracy": round(float((found == true).mean()), 3),
        "lost": round(float(lost.mean()), 3),
    }


def _asks_right(messages: Sequence[Message], words: bool = False) -> float:
    texts = [message["text"] for message in messages]
    vectors = [None] * len(texts) if words else list(embedded(messages))
    said = [asks_to_do(text, vector, _NAME) for text, vector in zip(texts, vectors, strict=True)]
    right = [answer == message["asks"] for answer, message in zip(said, messages, strict=True)]
    return round(sum(right) / len(right), 3)


def _salience_correlation(messages: Sequence[Message]) -> float:
    true = np.array([message["salience"] for message in messages])
    return _rank_correlation(_seen(messages, words=False).salience, true)


def _rank_correlation(one: NDArray[Any], other: NDArray[Any]) -> float:
    return round(float(np.corrcoef(_ranks(one), _ranks(other))[0, 1]), 3)


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rank of each value; equal ones share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def choose(messages: Sequence[Message], folds: int = 5) -> Iterable[dict[str, Any]]:
    """Yield what a fit on four fifths says of the others, for settings of the fit."""
    fold = np.arange(len(messages)) // folds % folds
    settings = [(0, SQUARES, ridge) for ridge in (1.0, 2.0)]
    settings += [(k, s, r) for k in (32, 64) for s in (0.03, 0.05) for r in (1.0, 2.0, 4.0)]
    for directions, squares, ridge in settings:
        found: list[int] = []
        true: list[int] = []
        salience: list[tuple[float, float]] = []
        for each in range(folds):
            kept = [message for message, of in zip(messages, fold, strict=True) if of != each]
            others = [message for message, of in zip(messages, fold, strict=True) if of == each]
            probe = fit(kept, directions, squares, ridge)
            marked = np.array([marks(message["text"]) for message in others], np.float32)
            scores = probe.scores(embedded(others), marked)
            found.extend(scores[:, : len(FORMS)].argmax(axis=1))
            true.extend(FORMS.index(message["form"]) for message in others)
            salience.extend(
                (row[-1], message["salience"])
                for row, message in zip(scores, others, strict=True)
                if message["role"] == "user" and message["form"] == "statement"
            )
        yield {
            "directions": directions,
            "squares": squares,
            "ridge": ridge,
            **_shares(np.array(found), np.array(true)),
            "salience": _rank_correlation(*np.array(salience).T),
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, write and report, as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--report", action="store_true", help="report, and fit nothing")
    parser.add_argument("--choose", action="store_true", help="cross-validate settings instead")
    options = parser.parse_args(arguments)
    messages = read("forms.jsonl")
    train = [message for message in messages if message["split"] == "train"]
    if options.choose:
        for line in choose(train):
            print(json.dumps(line), flush=True)
        return
    if not options.report:
        write(fit(train))
    test = [message for message in messages if message["split"] == "test"]
    for language in dict.fromkeys(message["language"] for message in test):
        own = [message for message in test if message["language"] == language]
        print(json.dumps({"language": language, **report(own, composed(own, 200))}), flush=True)


if __name__ == "__main__":
    main()
