"""Many byte strings searched for at once, in files of any size. Pure but for the reading."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHORTEST = 8
"""Bytes of a needle from which on it is found by its beginning, read as one number."""

_CHUNK = 8 * 1024 * 1024  # bytes read at once
_BITS = 22  # of the table that most places of a file are ruled out by
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: 2^64 divided by the golden ratio


class Needles:
    """Byte strings to be found.

    Time grows with what is searched, and hardly with how many there are: 10,000 needles in 100 MB
    take some seconds.

    Args:
        needles: What is searched for; empty ones are passed over.

    Example:
        >>> Needles([b"Graz", b"Rosario, by the river"]).count(b"Graz and Graz")
        Counter({b'Graz': 2})
    """

    def __init__(self, needles: Collection[bytes]) -> None:
        self._short = [needle for needle in set(needles) if 0 < len(needle) < SHORTEST]
        self._by_beginning: dict[int, list[bytes]] = defaultdict(list)
        for needle in set(needles):
            if len(needle) >= SHORTEST:
                self._by_beginning[int.from_bytes(needle[:SHORTEST], "little")].append(needle)
        beginnings = np.fromiter(self._by_beginning, np.uint64, len(self._by_beginning))
        self._beginnings = np.sort(beginnings)
        self._table = np.zeros(2**_BITS, bool)
        self._table[_hashed(beginnings)] = True
        self.longest = max(map(len, needles), default=0)

    def count(self, data: bytes, start: int = 0) -> Counter[bytes]:
        """Return how often each needle is in some bytes.

        Args:
            data: What is searched.
            start: Passes over what ends at this place or before.
        """
        found: Counter[bytes] = Counter()
        for needle in self._short:
            at = data.find(needle)
            while at >= 0:
                found[needle] += at + len(needle) > start
                at = data.find(needle, at + 1)
        for at in self._places(data):
            for needle in self._by_beginning[int.from_bytes(data[at : at + SHORTEST], "little")]:
                if at + len(needle) > start and data.startswith(needle, at):
                    found[needle] += 1
        return +found

    def count_in(self, chunks: Iterable[bytes]) -> Counter[bytes]:
        """Return how often each needle is in bytes that come in pieces, also across their ends."""
        found: Counter[bytes] = Counter()
        before = b""
        for chunk in chunks:
            data = before + chunk
            found += self.count(data, len(before))
            before = data[-(self.longest - 1) :] if self.longest > 1 else b""
        return found

    def _places(self, data: bytes) -> Iterator[int]:
        if not len(self._beginnings):
            return
        for offset in range(min(SHORTEST, max(0, len(data) - SHORTEST + 1))):
            words = np.frombuffer(data, "<u8", (len(data) - offset) // SHORTEST, offset)
            likely = np.flatnonzero(self._table[_hashed(words)])
            sure = likely[np.isin(words[likely], self._beginnings)]
            yield from (sure * SHORTEST + offset).tolist()


def file_chunks(file: Path) -> Iterator[bytes]:
    """Yield what is in a file, in pieces."""
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            yield chunk


def _hashed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        hashed: NDArray[np.uint64] = (words * _SPREAD) >> np.uint64(64 - _BITS)
    return hashed
