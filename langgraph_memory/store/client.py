"""Chroma clients, made with our settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph_memory.store.chroma_rows import chroma_errors


def persistent_client(directory: Path) -> Any:
    """Open a directory with Chroma.

    Raises:
        StoreError: If Chroma cannot.
    """
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient

    try:
        with chroma_errors(f"opening {directory}"):
            return chromadb.PersistentClient(str(directory), settings=settings())
    except BaseException:
        # Chroma keeps what failed to start, and would hand it out at the next attempt.
        SharedSystemClient._identifier_to_system.pop(str(directory), None)
        raise


@contextmanager
def opened_client(directory: Path) -> Iterator[Any]:
    """Open a directory with Chroma for the time of a block."""
    client = persistent_client(directory)
    try:
        yield client
    finally:
        client.close()


def settings() -> Any:
    """Return Chroma's settings, without telemetry."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
