"""How surely it is told what a message is; and the weights by which that is told.

    python -m benchmarks.forms            # fits, and reports on what was not fitted to
    python -m benchmarks.forms --write    # ... and writes the weights into the package

`benchmarks/sets/forms.jsonl` has labelled messages (README.md there). The probe is a ridge
regression from a message's vector and signs to its form and salience. It is fitted to the English
and Chinese ones of the split `train`, and to messages of several sentences that are made of them;
the other languages are for the report alone.

Each line on stdout is a JSON object: `accuracy` is the share of messages whose form is told right,
`lost` that of statements that are taken for something else, `salience` the correlation of the
salience that is told with that of the labels.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langgraph_memory import message_forms
from langgraph_memory.embedding import UniversalSentenceEncoder
from langgraph_memory.message_forms import FORMS, forms

Message = dict[str, Any]

SET = Path(__file__).parent / "sets" / "forms.jsonl"
WEIGHTS = Path(message_forms.__file__).with_suffix(".npz")
COMPOSED = 900
PENALTY = 3.0
"""Of the ridge regression; of 1, 3 and 10 it is best by cross-validation, by little."""

_STATES_FIRST = ("statement", "question", "request", "denial", "small_talk")
_ENDED = re.compile(r"[.!?。！？…]\s*$")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, report, and write the weights if that is wanted."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.forms",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write the weights")
    options = parser.parse_args(arguments)
    messages = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    if options.write:
        np.savez_compressed(WEIGHTS, weights=fitted(messages).astype(np.float16))
    for line in report(messages):
        print(json.dumps(line))


def fitted(messages: Sequence[Message]) -> NDArray[np.float32]:
    """Return the weights, of shape `(dimensions + signs, forms + 1)`."""
    train = [message for message in messages if message["split"] == "train"]
    train += list(composed(train, Random(7)))
    known = _features(train)
    told = np.array(
        [[*(each["form"] == form for form in FORMS), each["salience"]] for each in train],
        np.float64,
    )
    penalty = PENALTY * np.eye(known.shape[1])
    penalty[-message_forms.SIGNS :] *= 0.05
    return np.linalg.solve(known.T @ known + penalty, known.T @ told).astype(np.float32)


def composed(messages: Sequence[Message], random: Random) -> Iterator[Message]:
    """Yield messages of two or three sentences: what states anything is a statement."""
    groups: dict[tuple[str, str], list[Message]] = {}
    for message in messages:
        groups.setdefault((message["language"], message["role"]), []).append(message)
    for _ in range(COMPOSED):
        language, role = random.choice(list(groups))
        parts = random.sample(groups[language, role], random.choice((2, 2, 3)))
        stop, blank = ("。", "") if language in ("zh", "ja") else (".", " ")
        said = [part["text"] for part in parts]
        yield {
            "text": blank.join(text if _ENDED.search(text) else text + stop for text in said),
            "form": next(form for form in _STATES_FIRST if any(p["form"] == form for p in parts)),
            "salience": max(part["salience"] for part in parts),
        }


def report(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Yield a line for each language, of what was not fitted to."""
    test = [message for message in messages if message["split"] == "test"]
    for language in dict.fromkeys(message["language"] for message in test):
        chosen = [message for message in test if message["language"] == language]
        texts = [message["text"] for message in chosen]
        found = forms(texts, _vectors(texts), UniversalSentenceEncoder.model)
        told = np.stack(found[:-1], axis=1).argmax(axis=1)
        true = np.array([FORMS.index(message["form"]) for message in chosen])
        salience = np.array([message["salience"] for message in chosen])
        yield {
            "name": "forms",
            "language": language,
            "messages": len(chosen),
            "accuracy": round(float((told == true).mean()), 3),
            "lost": round(float((told[true == 0] != 0).mean()), 3),
            "salience": round(float(np.corrcoef(found.salience, salience)[0, 1]), 3),
        }


def _features(messages: Sequence[Message]) -> NDArray[np.float64]:
    texts = [message["text"] for message in messages]
    signs = np.array([message_forms.signs_of(text.strip()) for text in texts])
    return np.hstack([_vectors(texts), signs])


def _vectors(texts: list[str]) -> NDArray[np.float32]:
    return np.array(UniversalSentenceEncoder().embed_documents(texts), np.float32)


if __name__ == "__main__":
    main()
