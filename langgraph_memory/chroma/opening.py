"""Opening a collection, once in a process: all stores on one path share it.

So each sees what the others write, and Chroma is not asked to open a directory twice.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from langgraph_memory.chroma.calls import COLLECTION, ChromaRows, persistent_client, settings
from langgraph_memory.chroma.collection import Collection
from langgraph_memory.chroma.directory_collection import DirectoryCollection
from langgraph_memory.chroma.erasing import finish_erasure
from langgraph_memory.chroma.local_calls import LocalRows, NoRoomError, Room
from langgraph_memory.chroma.partition import Limits
from langgraph_memory.chroma.read_only import FolderCollection, FolderRows
from langgraph_memory.chroma.repair.repair import make_ready, stored
from langgraph_memory.chroma.server import Server, disconnect, is_server
from langgraph_memory.chroma.server_collection import ServerCollection, ServerRows
from langgraph_memory.chroma.tables import DATABASE
from langgraph_memory.errors import StoreError, StoreLockedError
from langgraph_memory.files import DirectoryLock, resolved
from langgraph_memory.models import Embedder

logger = logging.getLogger(__name__)

_open: dict[object, Collection] = {}
_open_lock = threading.Lock()


def open_directory(directory: Path, limits: Limits, embedder: Embedder) -> Collection:
    """Open the collection in a directory, or share it if this process has it open already.

    A broken index is repaired first, with the embedder.
    """
    directory = resolved(directory)

    def open_new() -> Collection:
        if _usable(_reading(directory)) is not None:
            raise StoreLockedError(
                f"{directory} is open in this process with read_only=True: close that first"
            )
        try:
            return _owned(directory, limits, embedder)
        except StoreLockedError:
            raise
        except StoreError as error:
            return _on_full_disk(directory, limits, embedder, error)

    return _shared(directory, open_new)


def _owned(directory: Path, limits: Limits, embedder: Embedder) -> Collection:
    """Take a directory, and open its collection with Chroma."""
    with ExitStack() as opening:
        lock = DirectoryLock(directory)
        lock.acquire()
        opening.callback(lock.release)

        def reopen() -> Any:
            make_ready(lock, embedder)
            return persistent_client(directory)

        make_ready(lock, embedder)
        finish_erasure(lock)
        client = opening.enter_context(closing(persistent_client(directory)))
        written = (directory / DATABASE).stat().st_mtime_ns
        rows = LocalRows(client, COLLECTION, directory, reopen)
        collection = DirectoryCollection(rows, limits, lock, written)
        opening.pop_all()  # all went well: the collection closes them now
        return collection


def open_read_only(directory: Path, limits: Limits, embedder: Embedder) -> Collection:
    """Open the collection in a directory for reading alone, whoever has it open.

    If that is this process, what it has open is shared: two libraries that read one file in one
    process take each other's locks away.
    """
    directory = resolved(directory)

    def open_new() -> Collection:
        return FolderCollection(FolderRows(directory, embedder), limits)

    return _shared(_reading(directory), open_new, instead=directory)


def _reading(directory: Path) -> object:
    return "reading", directory


class FullDiskRows(FolderRows):
    """The rows of a folder that Chroma does not open, since its disk is full."""

    def refusal(self) -> StoreError:
        return StoreError(
            f"the disk of {self._directory} was full when it was opened, and so it is only read: "
            "make room, and open it again"
        )


def _on_full_disk(
    directory: Path, limits: Limits, embedder: Embedder, error: StoreError
) -> Collection:
    """Open a directory for reading alone if it is for want of space that Chroma does not open it.

    Raises:
        StoreError: The error that Chroma's opening ended with, if it is not so.
    """
    if not directory.is_dir():
        raise error
    if not isinstance(error, NoRoomError) and not Room(directory).is_scarce():
        raise error
    if stored(directory, COLLECTION) is None:
        raise StoreError(f"{error} (the disk of {directory} is full)") from error
    logger.warning("the disk of %s is full, and so it is only read: %s", directory, error)
    return FolderCollection(FullDiskRows(directory, embedder), limits)


def open_server(server: Server, limits: Limits) -> Collection:
    """Open the collection of a Chroma server, or share it if this process has it open already."""

    def open_new() -> Collection:
        with ExitStack() as opening:
            client = server.connect()
            opening.callback(disconnect, client)
            rows = ServerRows(client, COLLECTION, server)
            collection = ServerCollection(rows, limits, lambda: disconnect(client))
            opening.pop_all()
            return collection

    return _shared(server, open_new)


def open_client(
    client: Any, limits: Limits, timeout: float | None = None, patience: float | None = None
) -> Collection:
    """Open the collection of a caller's client, which stays theirs to close."""

    def open_new() -> Collection:
        # The collection keeps the client alive, and with it the id by which it is known.
        if is_server(client):
            server = Server.of(client, timeout, patience)
            return ServerCollection(ServerRows(client, COLLECTION, server), limits, lambda: None)
        configured = client.get_settings()
        if not configured.is_persistent:
            return Collection(ChromaRows(client, COLLECTION), limits, lambda: None)
        rows = LocalRows(client, COLLECTION, Path(configured.persist_directory))
        elsewhere = "what a client of your own has open"
        return Collection(rows, limits, lambda: None, elsewhere=elsewhere)

    return _shared(id(client), open_new)


def open_in_memory(limits: Limits) -> Collection:
    """Open a collection of its own that is gone when it is closed."""
    import chromadb

    name = f"{COLLECTION}_{uuid.uuid4().hex}"  # all clients in memory see the same collections
    client: Any = chromadb.EphemeralClient(settings=settings())

    def close() -> None:
        client.delete_collection(name)
        client.close()  # the last client takes along the indexes, which outlive their collections

    return _shared(name, lambda: Collection(ChromaRows(client, name), limits, close))


def release(collection: Collection) -> None:
    """Give back a collection; the last user closes it."""
    with _open_lock:
        collection.users -= 1
        if collection.users > 0:
            return
        for key in [key for key, value in _open.items() if value is collection]:
            del _open[key]
        collection.close()


def _shared(
    key: object, open_new: Callable[[], Collection], *, instead: object = None
) -> Collection:
    with _open_lock:
        collection = _usable(instead) or _usable(key)
        if collection is None:
            collection = _open[key] = open_new()
        collection.users += 1
        return collection


def _usable(key: object) -> Collection | None:
    """Return what this process has open under a key."""
    collection = _open.get(key)
    return None if collection is None or collection.foreign else collection
