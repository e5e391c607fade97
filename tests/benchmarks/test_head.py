"""The matrix from one embedder's directions to another's, and the file that holds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import head
from benchmarks.head import DIRECTIONS, fitted, sentences
from langgraph_memory.models import universal
from langgraph_memory.models.universal import UniversalSentenceEncoder


def test_what_another_embedder_tells_apart_by_one_direction_is_told_apart_by_it_alone() -> None:
    own = np.random.default_rng(0).normal(size=(4_000, 160)).astype(np.float32)
    teacher = np.zeros((4_000, 200), np.float32)
    teacher[:, 7] = own[:, 3]
    mean, matrix = fitted(own, teacher)
    made = (own - mean) @ matrix
    assert made.shape == (4_000, DIRECTIONS)
    same_side = np.sign(made @ made[0]) == np.sign((own[:, 3] - mean[3]) * (own[0, 3] - mean[3]))
    assert same_side.mean() > 0.98


def test_sentences_are_examples_and_definitions_without_each_other(tmp_path: Path) -> None:
    lines = [
        f'0000{n} 00 n 01 word{n} 0 000 | a thing of kind {n}; "she saw kind {n}"\n'
        for n in range(head.EXAMPLES)
    ]
    for part in ("noun", "verb", "adj", "adv"):
        text = "  1 This software and its licence\n" + "".join(lines) if part == "noun" else ""
        (tmp_path / f"data.{part}").write_text(text, "latin-1")
    found = sentences(tmp_path)
    assert len(found) == head.EXAMPLES + head.DEFINITIONS
    assert set(found[: head.EXAMPLES]) == {f"she saw kind {n}" for n in range(head.EXAMPLES)}
    assert {text.rsplit(" ", 1)[0] for text in found[head.EXAMPLES :]} == {"a thing of kind"}


def test_the_file_fits_the_embedded_default() -> None:
    with np.load(Path(universal.__file__).with_name("note_head.npz")) as file:
        assert file["mean"].shape == (UniversalSentenceEncoder.dimensions,)
        assert file["matrix"].shape == (UniversalSentenceEncoder.dimensions, DIRECTIONS)
        assert np.isfinite(file["matrix"]).all()
