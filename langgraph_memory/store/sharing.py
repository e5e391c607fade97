"""Opening a collection, once in a process: all stores on one path share it.

So each sees what the others write, and Chroma is not asked to open a directory twice.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from langgraph_memory.store.chroma_rows import COLLECTION, ChromaRows, chroma_errors
from langgraph_memory.store.collection import Collection
from langgraph_memory.store.owner import DirectoryLock
from langgraph_memory.store.partition import Limits
from langgraph_memory.store.server import address, connect, disconnect, is_server, patiently
from langgraph_memory.store.server_collection import ServerCollection, ServerRows

_open: dict[object, Collection] = {}
_open_lock = threading.Lock()


def open_directory(directory: Path, limits: Limits) -> Collection:
    """Open the collection in a directory, or share it if this process has it open already."""
    directory = directory.expanduser().resolve()

    def open_new() -> Collection:
        opened = ExitStack()
        try:
            lock = DirectoryLock(directory)
            lock.acquire()
            opened.callback(lock.release)
            with chroma_errors(f"opening {directory}"):
                client = _persistent_client(str(directory))
            opened.callback(client.close)
            written = (directory / "chroma.sqlite3").stat().st_mtime_ns
            return Collection(ChromaRows(client, COLLECTION), limits, opened.close, written)
        except BaseException:
            opened.close()
            raise

    return _shared(directory, open_new)


def open_server(url: str, limits: Limits) -> Collection:
    """Open the collection of a Chroma server, or share it if this process has it open already."""
    url = url.rstrip("/")

    def open_new() -> Collection:
        opened = ExitStack()
        try:
            with chroma_errors(f"opening {url}, which should be a Chroma server"):
                client = connect(url, _settings())
            opened.callback(disconnect, client)
            return ServerCollection(ServerRows(client, COLLECTION), limits, opened.close)
        except BaseException:
            opened.close()
            raise

    return _shared(url, lambda: patiently(open_new, url))


def open_client(client: Any, limits: Limits) -> Collection:
    """Open the collection of a caller's client, which stays theirs to close."""

    def open_new() -> Collection:
        # The collection keeps the client alive, and with it the id by which it is known.
        if is_server(client):
            return ServerCollection(ServerRows(client, COLLECTION), limits, lambda: None)
        return Collection(ChromaRows(client, COLLECTION), limits, lambda: None)

    if is_server(client):
        return _shared(id(client), lambda: patiently(open_new, address(client)))
    return _shared(id(client), open_new)


def open_in_memory(limits: Limits) -> Collection:
    """Open a collection of its own that is gone when it is closed."""
    import chromadb

    name = f"{COLLECTION}_{uuid.uuid4().hex}"  # all clients in memory see the same collections
    client = chromadb.EphemeralClient(settings=_settings())
    return _shared(
        name,
        lambda: Collection(
            ChromaRows(client, name), limits, lambda: client.delete_collection(name)
        ),
    )


def _persistent_client(directory: str) -> Any:
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient

    try:
        return chromadb.PersistentClient(directory, settings=_settings())
    except BaseException:
        # Chroma keeps what failed to start, and would hand it out at the next attempt.
        SharedSystemClient._identifier_to_system.pop(directory, None)
        raise


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def release(collection: Collection) -> None:
    """Give back a collection; the last user closes it."""
    with _open_lock:
        collection.users -= 1
        if collection.users > 0:
            return
        for key in [key for key, value in _open.items() if value is collection]:
            del _open[key]
        collection.close()


def _shared(key: object, open_new: Callable[[], Collection]) -> Collection:
    with _open_lock:
        collection = _open.get(key)
        if collection is None or collection.foreign:
            collection = _open[key] = open_new()
        collection.users += 1
        return collection
