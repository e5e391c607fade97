"""Many byte strings searched for at once, in files of any size: what is left of what was erased.

Files are searched by a process of its own. A database that this process has open must not be opened
here a second time: when that is closed, the system lets go of the locks of the first. What is
searched for comes on standard input, and is written nowhere. This module is also the program that
the process runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.errors import StoreError

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


_SEPARATOR = b"\0\xff\0\xff\0\xff\0\xff"  # so that nothing is found across two values
_ENOUGH = 1024 * 1024  # bytes of values that are searched at once


def living_values(file: Path) -> Iterator[bytes]:
    """Yield all values in a file if it is a database of SQLite."""
    with file.open("rb") as opened:
        is_database = opened.read(16) == b"SQLite format 3\0"
    if is_database:
        yield from values_in(file)


def values_in(file: Path, leaving_out: Collection[str] = ()) -> Iterator[bytes]:
    """Yield all texts and blobs of a database; of indexes of words, the texts alone.

    Args:
        file: The database.
        leaving_out: Tables of which nothing is yielded.
    """
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        for name, sql in tables.fetchall():
            yield sql or b""
            table = name.decode()
            if table in leaving_out or table.endswith(("_data", "_idx", "_docsize")):
                continue
            with suppress(sqlite3.OperationalError):  # of a kind that this SQLite does not know
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    yield from (value for value in row if isinstance(value, bytes))


def search_files(
    files: Iterable[Path],
    own: Iterable[bytes],
    shared: Iterable[bytes],
    living: Callable[[Path], Iterable[bytes]] = living_values,
) -> dict[str, int]:
    """Return how often something was found in files, by file.

    Args:
        files: What is searched; those that are not there are passed over.
        own: What is to be nowhere.
        shared: What is to be nowhere if nothing that remains holds it.
        living: Yields the values of a file that remain: a function that a module has by its name.

    Raises:
        StoreError: If that cannot be done.
    """
    there = sorted({file.resolve() for file in files if file.is_file()})
    if not there:
        return {}
    asked = {
        "files": list(map(str, there)),
        "own": [needle.hex() for needle in own],
        "shared": [needle.hex() for needle in shared],
        "living": [living.__module__, living.__name__],
    }
    if getattr(sys, "frozen", False):  # the executable is an application, and not Python
        return _found(asked)
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if done.returncode:
        why = done.stderr.strip()[-500:]
        raise StoreError(f"the files could not be searched for what was erased: {why}")
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _found(asked: dict[str, Any]) -> dict[str, int]:
    files = list(map(Path, asked["files"]))
    own, shared = (set(map(bytes.fromhex, asked[name])) for name in ("own", "shared"))
    module, name = asked["living"]
    living = getattr(import_module(module), name)
    remaining = _separated(value for file in files for value in living(file))
    needles = Needles(own | (shared - Needles(shared).count_in(remaining).keys()))
    found = {str(file): needles.count_in(file_chunks(file)).total() for file in files}
    return {file: count for file, count in found.items() if count}


def _separated(values: Iterable[bytes]) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for value in values:
        gathered.append(value)
        size += len(value)
        if size > _ENOUGH:
            yield _SEPARATOR.join([*gathered, b""])
            gathered, size = [], 0
    yield _SEPARATOR.join(gathered)


if __name__ == "__main__":
    json.dump(_found(json.load(sys.stdin)), sys.stdout)
