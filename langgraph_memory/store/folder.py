"""A directory that this process has open: its lock, and Chroma's client."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from langgraph_memory.embedding import seeded_vector
from langgraph_memory.errors import StoreError
from langgraph_memory.store.chroma_rows import ChromaRows
from langgraph_memory.store.client import persistent_client
from langgraph_memory.store.directory_lock import DirectoryLock
from langgraph_memory.store.index_files import blank_unused, has_index
from langgraph_memory.store.repair import note_whole

logger = logging.getLogger(__name__)


class Folder:
    """A directory, locked for as long as it is used, that Chroma can be closed and opened on.

    Args:
        lock: Its lock, which is held.
    """

    def __init__(self, lock: DirectoryLock) -> None:
        self.lock = lock
        self._client: Any = None

    def open(self) -> Any:
        """Open it with Chroma, and return the client."""
        self._client = persistent_client(self.lock.directory)
        return self._client

    def close(self) -> None:
        """Close Chroma's client; the directory stays locked."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def give_back(self) -> None:
        """Close it, and let others open it."""
        try:
            self.close()
            with suppress(StoreError):
                blank_unused(self.lock.directory)
            try_to_note_whole(self.lock)
        finally:
            self.lock.release()

    def blank(self, rows: ChromaRows) -> None:
        """Let Chroma make the files of an index that has none yet, and overwrite what is in them.

        It makes them at the first use, of memory in which anything may have been.
        """
        dims = rows.metadata.get("dims")
        if dims and not has_index(self.lock.directory):
            rows.query(query_embeddings=[seeded_vector("", dims)], n_results=1, include=[])
        with suppress(StoreError):  # a full disk, for one
            blank_unused(self.lock.directory)


def try_to_note_whole(lock: DirectoryLock) -> None:
    """Say that the index is whole; without it, it is examined at the next opening."""
    try:
        note_whole(lock)
    except StoreError:
        logger.info("the state of %s could not be noted", lock.directory, exc_info=True)
