"""An embedder that needs no model: texts that share words are near each other.

Feature hashing (Weinberger et al. 2009, https://arxiv.org/abs/0902.2206): each word adds or
subtracts 1 in four dimensions, all chosen by its hash. Four, so that two words of one text which
meet in a dimension do not wipe each other out.
"""

from __future__ import annotations

import math
import re
import struct
from hashlib import blake2b

from langchain_core.embeddings import Embeddings

DIMENSIONS = 256


class HashingEmbeddings(Embeddings):
    """Deterministic embeddings of unit length; a text without words is one word."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        vector = [0.0] * DIMENSIONS
        for word in re.findall(r"\w+", text) or [text]:
            for number in struct.unpack("<4I", blake2b(word.encode(), digest_size=16).digest()):
                dimension, sign = divmod(number, 2)
                vector[dimension % DIMENSIONS] += 1.0 if sign else -1.0
        length = math.hypot(*vector)
        return [value / length for value in vector]
