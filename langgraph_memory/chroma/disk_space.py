"""Is there room on the disk for a write? Asked before each one that goes to a folder.

Chroma 1.5 does not survive a disk that fills up. A write that fails leaves a connection behind in
the middle of its transaction, and a later one, up to then or when there is room again, waits for it
for 1,000 seconds with Python's lock in its hands: no thread, timeout or signal handler runs. And it
writes its index in place, which a full disk cuts off. So what does not fit never gets there.

How much a write takes was measured on a tmpfs whose free space another process watched, over some
thousands of writes of 1 to 500 rows, with texts of 200 to 20,000 characters. Most take 5 to 7 times
the bytes of their texts and metadata; where the trigrams of the texts are merged, batches of 0.8
and 2.4 MB took 11 and 12 times as many, one of 0.4 MB 17 times (7.0 MB), one of 40 kB up to 1.4 MB.
Every 1,000 rows the index is written: 1.2 MB with 64 dimensions, 2.1 MB with 512. A copy of a whole
folder (`reembed`, `compact`) took 1.0 to 1.4 times the bytes of the folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from langgraph_memory.chroma.rows import Row
from langgraph_memory.chroma.tables import DATABASE
from langgraph_memory.errors import StoreError

MULTIPLE = 14
"""So many times the bytes of the texts and metadata of a batch have to be free."""

SPARE = 1 << 20
"""Bytes that have to be free besides, however small a batch is."""

COPIES = 3
"""So many times a vector is written: into Chroma's log, into the index, and what SQLite keeps."""

COPY = 1.5
"""So many times the bytes of a folder have to be free to copy its collection."""

COPY_AND_SHRINK = 2.5
"""The same if SQLite's file is made smaller in the end: it took 1.7 to 2.3 times as much."""

_INDEXED_EVERY = 1_000  # rows
_INDEX_ROW = (
    1_000  # bytes of a row in the index beside its vector, with what SQLite takes meanwhile
)
_PIECE = bytes(1 << 20)
_LITTLE = 8 << 20  # bytes


def size_of(rows: Iterable[Row]) -> int:
    """Return how many bytes the texts and metadata of rows have."""
    return sum(
        len(row.document.encode())
        + sum(len(str(value).encode()) for value in row.metadata.values() if value is not None)
        for row in rows
    )


def needed(size: int, rows: int, dims: int) -> int:
    """Return how many bytes have to be free for a write.

    Args:
        size: The bytes of the texts and metadata of its rows.
        rows: How many rows it has.
        dims: How many dimensions a vector has.
    """
    vectors = (_INDEXED_EVERY + COPIES * rows) * (4 * dims + _INDEX_ROW)
    return SPARE + MULTIPLE * size + vectors


class NoRoomError(StoreError):
    """A write does not fit; nobody outside has to tell it from other errors of the disk."""


class Room:
    """The free space of the disk that a folder is on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check(self, need: int) -> None:
        """Refuse to go on with less than so many free bytes.

        Raises:
            NoRoomError: What is full, and how much is needed.
        """
        free = self._free()
        if free is not None and free < need:
            raise self._full(need, f"{free:,} bytes are free")

    def try_out(self, need: int) -> None:
        """Refuse to go on where so many bytes cannot be written: a quota shows in no figure.

        Raises:
            NoRoomError: What is full, and how much is needed.
        """
        self.check(need)
        try:
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as file:
                for start in range(0, need, len(_PIECE)):
                    file.write(_PIECE[: need - start])
                os.fsync(file.fileno())
        except OSError as error:
            raise self._full(need, str(error)) from error

    def check_copy(self, times: float = COPY) -> None:
        """Refuse to begin a copy of the folder's collection that would not fit.

        Args:
            times: So many times the bytes of the folder have to be free.

        Raises:
            NoRoomError: What is full, and how much is needed.
        """
        self.check(int(times * self._size()))

    def is_scarce(self) -> bool:
        """Whether there is so little room that what fails may well fail for it."""
        free = self._free()
        return free is not None and free < _LITTLE

    def _size(self) -> int:
        files = [
            self._folder / DATABASE,
            *self._folder.glob("*/*.bin"),
            *self._folder.glob("*/*.pickle"),
        ]
        return sum(file.stat().st_size for file in files if file.exists())

    def _free(self) -> int | None:
        """Return the free bytes; `None` where the system does not tell."""
        try:
            usage = shutil.disk_usage(self._folder)
        except OSError:
            return None
        return usage.free if usage.total else None

    def _full(self, need: int, found: str) -> NoRoomError:
        return NoRoomError(
            f"the disk of {self._folder} is full: this needs {need:,} bytes, and {found}. Nothing "
            "was written; reading goes on, and writing when there is room"
        )
