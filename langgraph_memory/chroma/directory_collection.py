"""A collection in a directory that this process alone has open: its lock is held until the end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from langgraph_memory.chroma.calls import namespaces_in
from langgraph_memory.chroma.collection import Collection
from langgraph_memory.chroma.index_files import blank_unused, has_index
from langgraph_memory.chroma.local_calls import LocalRows
from langgraph_memory.chroma.partition import Limits
from langgraph_memory.chroma.repair.repair import note_whole
from langgraph_memory.errors import StoreError
from langgraph_memory.files import DirectoryLock
from langgraph_memory.models import seeded_vector
from langgraph_memory.store import Namespace

logger = logging.getLogger(__name__)
T = TypeVar("T")


class DirectoryCollection(Collection):
    """An open collection of a directory, whose tables in SQLite are read beside Chroma.

    Args:
        rows: The calls to Chroma.
        limits: How much is kept in memory.
        owned: The lock of the directory, which is held.
        order: A number that is not below that of any item, in nanoseconds since 1970.
    """

    _rows: LocalRows

    def __init__(self, rows: LocalRows, limits: Limits, owned: DirectoryLock, order: int) -> None:
        self.directory = owned.directory
        self._owned = owned
        super().__init__(rows, limits, self._give_back)
        self._order = order
        self._blank()
        self._note_whole()

    def aside(self, work: Callable[[DirectoryLock], T]) -> T:
        """Close the directory for Chroma, let something work on its files, and open it again.

        Reads and writes wait meanwhile, and nothing that was in memory before is there afterwards.

        Raises:
            StoreError: If it cannot be opened again.
        """
        with self.resting():
            with self.publishing:
                self._cache.clear()
                self._catalogue.forget()
                self._announced.clear()
                self._large.clear()
            with self._rows.closed():
                done = work(self._owned)
            self._blank()
            return done

    # -- parts of what the base does --

    def _learn(self, prefix: Namespace) -> None:
        try:
            self._catalogue.learn(prefix, namespaces_in(self.directory, prefix))
        except StoreError:  # the tables of another version of Chroma
            super()._learn(prefix)

    def _give_back(self) -> None:
        """Close the directory, and let others open it."""
        try:
            self._rows.close()
            with suppress(StoreError):
                blank_unused(self.directory)
            self._note_whole()
        finally:
            self._owned.release()

    def _blank(self) -> None:
        """Let Chroma make the files of an index that has none yet, and overwrite what is in them.

        It makes them at the first use, of memory in which anything may have been.
        """
        dims = self._rows.metadata.get("dims")
        with suppress(StoreError):  # a full disk, for one
            if dims and not has_index(self.directory):
                near = [seeded_vector("", dims)]
                self._rows.query(query_embeddings=near, n_results=1, include=[])
            blank_unused(self.directory)

    def _note_whole(self) -> None:
        """Say that the index is whole; without it, it is examined at the next opening."""
        try:
            note_whole(self._owned)
        except StoreError:
            logger.info("the state of %s could not be noted", self.directory, exc_info=True)
