"""Fit the matrix that makes notes more alike that say the same: from USE to MiniLM's directions.

    python benchmarks/head.py --wordnet /usr/share/wordnet --model all-MiniLM-L6-v2 --out head.npz

Ridge regression from the vectors of the embedded default to those of all-MiniLM-L6-v2 over 24,000
sentences of WordNet, its examples and definitions, cut to the directions that matter. A text then
has a second vector beside its own, `unit((own - mean) @ matrix)`, and of two texts the similarity
is the mean of both. It is fitted on English alone, and serves other languages in so far as the
embedder puts them where their English is.

Needs `torch` and `transformers`; the model is a directory as Hugging Face has it, and WordNet that
of Debian's `wordnet-base` (3.0). A few minutes; the same files give the same matrix.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from langgraph_memory.models.embedder import Embedder

EXAMPLES, DEFINITIONS = 16_000, 8_000
PENALTY = 20.0
"""Of ridge regression; 10 and 30 do as well."""
DIRECTIONS = 128
"""Of MiniLM's 384; all of them find no more, and 64 less."""
BATCH = 64

Vectors = NDArray[np.float32]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the matrix that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python benchmarks/head.py", description=__doc__)
    for name, help in (
        ("wordnet", "the directory with data.noun, data.verb, data.adj, data.adv"),
        ("model", "the directory of all-MiniLM-L6-v2"),
        ("out", "the file to write"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, help=help)
    options = parser.parse_args(arguments)
    texts = sentences(options.wordnet)
    own, _ = Embedder().embed(texts, [])
    mean, matrix = fitted(own, teacher_vectors(options.model, texts))
    np.savez(options.out, mean=mean.astype(np.float16), matrix=matrix.astype(np.float16))


def sentences(wordnet: Path) -> list[str]:
    """Return some examples and definitions of WordNet of three words or more."""
    glosses = [
        line.split(" | ", 1)[1]
        for part in ("noun", "verb", "adj", "adv")
        for line in (wordnet / f"data.{part}").read_text("latin-1").splitlines()
        if " | " in line
    ]
    dice = random.Random(0)
    examples = list(_long(e for gloss in glosses for e in re.findall(r'"([^"]+)"', gloss)))
    definitions = list(_long(re.sub(r'"[^"]*"', "", gloss).strip(" ;") for gloss in glosses))
    return dice.sample(examples, EXAMPLES) + dice.sample(definitions, DEFINITIONS)


def _long(texts: Iterator[str]) -> Iterator[str]:
    return (text for text in dict.fromkeys(texts) if len(text.split()) >= 3)


def teacher_vectors(model: Path, texts: Sequence[str]) -> Vectors:
    """Return MiniLM's vectors: the mean of its tokens', of length 1."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    encoder = transformers.AutoModel.from_pretrained(model).eval()
    vectors = np.zeros((len(texts), encoder.config.hidden_size), np.float32)
    by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for start in range(0, len(texts), BATCH):
        rows = by_length[start : start + BATCH]
        taken = tokenizer(
            [texts[i] for i in rows], padding=True, truncation=True, return_tensors="pt"
        )
        with torch.no_grad():
            states = encoder(**taken).last_hidden_state
        mask = taken["attention_mask"].unsqueeze(-1)
        mean = (states * mask).sum(1) / mask.sum(1)
        vectors[rows] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return vectors


def fitted(own: Vectors, teacher: Vectors) -> tuple[Vectors, Vectors]:
    """Return the mean of the embedder's own vectors, and the matrix after it is taken off.

    Args:
        own: The embedder's vectors, shape `(texts, dimensions)`.
        teacher: Those that they are to become, shape `(texts, ...)`.

    Returns:
        Shapes `(dimensions,)` and `(dimensions, DIRECTIONS)`. The directions are turned, so that
        the first ones hold most: similarities are those of the teacher's space.
    """
    mean = own.mean(axis=0)
    centred = own - mean
    square = centred.T @ centred + PENALTY * np.eye(own.shape[1], dtype=np.float32)
    whole = np.linalg.solve(square, centred.T @ (teacher - teacher.mean(axis=0)))
    left, values, _ = np.linalg.svd(whole, full_matrices=False)
    return mean, (left * values)[:, :DIRECTIONS]


if __name__ == "__main__":
    main()
