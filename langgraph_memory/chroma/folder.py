"""A directory that this process has open: its lock, and Chroma's client."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from langgraph_memory.chroma.index_files import blank_unused, has_index
from langgraph_memory.chroma.local_calls import LocalRows
from langgraph_memory.chroma.repair.repair import note_whole
from langgraph_memory.errors import StoreError
from langgraph_memory.files import DirectoryLock
from langgraph_memory.models import seeded_vector

logger = logging.getLogger(__name__)


class Folder:
    """A directory, locked for as long as it is used, with what Chroma reads and writes in it.

    Args:
        lock: Its lock, which is held.
        rows: The calls to Chroma.
    """

    def __init__(self, lock: DirectoryLock, rows: LocalRows) -> None:
        self.lock = lock
        self._rows = rows

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close it for Chroma in a block; the directory stays locked."""
        with self._rows.closed():
            yield
        self.blank()

    def give_back(self) -> None:
        """Close it, and let others open it."""
        try:
            self._rows.close()
            with suppress(StoreError):
                blank_unused(self.lock.directory)
            try_to_note_whole(self.lock)
        finally:
            self.lock.release()

    def blank(self) -> None:
        """Let Chroma make the files of an index that has none yet, and overwrite what is in them.

        It makes them at the first use, of memory in which anything may have been.
        """
        dims = self._rows.metadata.get("dims")
        with suppress(StoreError):  # a full disk, for one
            if dims and not has_index(self.lock.directory):
                near = [seeded_vector("", dims)]
                self._rows.query(query_embeddings=near, n_results=1, include=[])
            blank_unused(self.lock.directory)


def try_to_note_whole(lock: DirectoryLock) -> None:
    """Say that the index is whole; without it, it is examined at the next opening."""
    try:
        note_whole(lock)
    except StoreError:
        logger.info("the state of %s could not be noted", lock.directory, exc_info=True)
