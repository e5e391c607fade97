"""The calls to a collection in a folder, which stop before the disk is full.

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

A write that Chroma refused can be there later: what is in its log, and was not carried out, is
carried out before its next write, or when the folder is opened. So before the next write of ours it
is taken back: the client is closed, its entries leave the log, and a new client goes on. Until then
reads find what was there before. A client that has failed once writes nothing more.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from langgraph_memory.chroma.calls import ChromaRows
from langgraph_memory.chroma.rows import Row, read_namespace
from langgraph_memory.chroma.tables import DATABASE, take_back
from langgraph_memory.errors import StoreError
from langgraph_memory.files import leave_mark

logger = logging.getLogger(__name__)
T = TypeVar("T")


class LocalRows(ChromaRows):
    """The rows of a collection in a folder.

    Args:
        client: A Chroma client of the folder.
        name: The collection's.
        folder: The folder.
        reopen: Returns a new client, if the folder is ours; else a client that has failed is not
            replaced, and the folder is not marked as written to.
    """

    def __init__(
        self, client: Any, name: str, folder: Path, reopen: Callable[[], Any] | None = None
    ) -> None:
        self._folder = folder
        self._room = Room(folder)
        self._reopen = reopen
        self._unmarked = reopen is not None
        self._failed = 0  # bytes that the write needed which has failed, or 0
        self._undecided: set[str] = set()
        self._replacing = threading.RLock()
        super().__init__(client, name)

    def modify(self, metadata: Mapping[str, Any]) -> None:
        with self._writing("the description of the collection", [], 0):
            super().modify(metadata)

    def upsert(self, rows: Callable[[], Sequence[Row]]) -> None:
        given = rows()
        with self._writing(_named(given), [row.id for row in given], size_of(given)):
            super().upsert(lambda: given)

    def update(self, ids: Sequence[str], metadatas: Sequence[Mapping[str, Any]]) -> None:
        size = sum(len(str(metadata)) for metadata in metadatas)
        with self._writing(f"the end of {len(ids):,} items", ids, size):
            super().update(ids, metadatas)

    def delete(self, ids: Sequence[str]) -> None:
        with self._writing(f"the deletion of {len(ids):,} rows", ids, sum(map(len, ids))):
            super().delete(ids)

    def close(self) -> None:
        """Close the client; decide what is undecided, if the disk lets it."""
        with self._replacing:
            self._close_client()
            try:
                self._take_back()
            except StoreError:
                logger.warning(
                    "what a failed write of %s rows in %s left in Chroma's log could not be taken "
                    "back; it may be there when the folder is opened",
                    f"{len(self._undecided):,}",
                    self._folder,
                    exc_info=True,
                )

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close the client in a block; others wait, and a new one goes on afterwards.

        Raises:
            StoreError: If the folder cannot be opened again.
        """
        with self._replacing:
            self._close_client()
            self._take_back()
            try:
                yield
            finally:
                self._open_client()

    # -- parts of the above --

    def _call(self, doing: str, call: Callable[[], T]) -> T:
        client = self._live_client()
        try:
            return super()._call(doing, call)
        except StoreError:
            # A write of another thread may have closed the client in the middle of this read.
            if self._live_client() is client:
                raise
        return super()._call(doing, call)

    def _live_client(self) -> Any:
        with self._replacing:
            if self._client is None:
                self._open_client()
            return self._client

    @contextmanager
    def _writing(self, what: str, ids: Sequence[str], size: int) -> Iterator[None]:
        """Write in a block, if there is room for it."""
        need = needed(size, len(ids), int(self.metadata.get("dims") or 0))
        if self._failed:
            self._replace_client(max(need, self._failed))
        self._room.check(need)
        if self._unmarked:
            leave_mark(self._folder / DATABASE)
            self._unmarked = False
        try:
            yield
        except BaseException as error:
            self._failed = need
            self._undecided.update(ids)
            if not isinstance(error, StoreError):
                raise
            raise StoreError(
                f"{error}. Undecided is {what}: before the next write it is taken back, unless it "
                "is there whole by then"
            ) from error

    def _replace_client(self, need: int) -> None:
        """Go on with a new client after a failed write, if there is room again."""
        if self._reopen is None:
            raise StoreError(
                f"a write to {self._folder} has failed, and Chroma can hang at the next one: close "
                "this client, and open the folder with a new one"
            )
        self._room.try_out(need)
        with self.closed():
            self._failed = 0

    def _close_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _take_back(self) -> None:
        if self._undecided:
            count = take_back(self._folder, self._name, self._undecided)
            self._undecided.clear()
            if count:
                logger.warning(
                    "%s rows of a write to %s that failed were taken back",
                    f"{count:,}",
                    self._folder,
                )

    def _open_client(self) -> None:
        assert self._reopen is not None
        self._client = self._reopen()
        try:
            self._collection = super()._call("opening the collection", self._open)
            # The first read carries out Chroma's log: done now, no later one has to write.
            super()._call("reading", lambda: self._collection.get(limit=1, include=[]))
        except BaseException:
            self._close_client()
            raise


def _named(rows: Sequence[Row]) -> str:
    """Return in words which items a write puts."""
    items = [row.metadata for row in rows if row.metadata.get("key") is not None]
    if not items:
        return f"the deletion of {len(rows):,} rows"
    first = f"{items[0]['key']!r} in {read_namespace(items[0])}"
    return first if len(rows) == 1 else f"{first}, with {len(rows) - 1:,} other rows"


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
