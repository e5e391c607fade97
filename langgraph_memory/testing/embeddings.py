"""An embedder that needs no model: texts that share words are near each other.

Feature hashing (Weinberger et al. 2009, https://arxiv.org/abs/0902.2206): each word adds or
subtracts 1 in four dimensions, all chosen by its hash. Four, so that two words of one text which
meet in a dimension do not wipe each other out. It knows no synonyms, and that is what makes a
test with it predictable.
"""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from langchain_core.embeddings import Embeddings

from langgraph_memory.errors import ConfigurationError

# Kana, Han and Hangul: scripts written without spaces, or with endings grown onto the words.
_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK += "\U00020000-\U0003ffff"
_FEATURES = re.compile(rf"([{_CJK}]+)|(?:(?![{_CJK}])\w)+")


@dataclass(frozen=True)
class HashingEmbeddings(Embeddings):
    """Deterministic embeddings of unit length, equal in every process and on every machine.

    Words count whatever their case; Chinese, Japanese and Korean text counts by characters and
    pairs of characters. Text without a single word counts by its symbols, and text without
    those, such as the empty one, has the same vector everywhere.

    Example:
        >>> embeddings = HashingEmbeddings()
        >>> tea, same, other = embeddings.embed_documents(["Green tea", "green TEA", "a bike"])
        >>> len(tea), tea == same, tea == other
        (256, True, False)
    """

    dims: int = 256
    """Length of the vectors."""

    def __post_init__(self) -> None:
        if self.dims < 1:
            raise ConfigurationError(f"dims= takes a positive number, got {self.dims!r}")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        vector = [0.0] * self.dims
        for feature in _features(text):
            for number in _hashes(feature):
                dimension, sign = divmod(number, 2)
                vector[dimension % self.dims] += 1.0 if sign else -1.0
        # Features may also cancel each other out to nothing.
        if not any(vector):
            vector[0] = 1.0
        length = math.hypot(*vector)
        return [value / length for value in vector]


def _features(text: str) -> Iterator[str]:
    normal = unicodedata.normalize("NFKC", text).casefold()
    empty = True
    for match in _FEATURES.finditer(normal):
        empty = False
        run = match.group(1)
        if run is None:
            yield match.group()
        else:
            yield from run
            yield from map("".join, pairwise(run))
    if empty:
        yield from "".join(normal.split())


def _hashes(feature: str) -> tuple[int, ...]:
    # `surrogatepass` because any text has to work, also with half of an emoji.
    data = feature.encode("utf-8", "surrogatepass")
    return struct.unpack("<4I", blake2b(data, digest_size=16).digest())
