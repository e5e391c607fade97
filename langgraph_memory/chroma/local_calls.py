"""The calls to a collection in a folder, which stop before the disk is full: see `room`.

A write that Chroma refused can be there later: what is in its log, and was not carried out, is
carried out before its next write, or when the folder is opened. So before the next write of ours it
is taken back: the client is closed, its entries leave the log, and a new client goes on. Until then
reads find what was there before. A client that has failed once writes nothing more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from langgraph_memory.chroma.calls import ChromaRows
from langgraph_memory.chroma.disk_space import Room, needed, size_of
from langgraph_memory.chroma.rows import Row, read_namespace
from langgraph_memory.chroma.tables import take_back
from langgraph_memory.errors import StoreError

logger = logging.getLogger(__name__)
T = TypeVar("T")


class LocalRows(ChromaRows):
    """The rows of a collection in a folder.

    Args:
        client: A Chroma client of the folder.
        name: The collection's.
        folder: The folder.
        reopen: Returns a new client; without it, a client that has failed is not replaced.
        before_write: Called before anything is written for the first time.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        folder: Path,
        *,
        reopen: Callable[[], Any] | None = None,
        before_write: Callable[[], None] | None = None,
    ) -> None:
        self._folder = folder
        self._room = Room(folder)
        self._reopen = reopen
        self._before_write = before_write
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
        if self._before_write is not None:
            self._before_write()
            self._before_write = None
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
        with self._replacing:
            self._close_client()
            self._take_back()
            self._open_client()
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
