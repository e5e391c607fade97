"""Where the server keeps memory and threads: both in one folder, beside this file."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_memory import ChromaStore, open_checkpointer, open_store

FOLDER = Path(__file__).parent / "memory"


def store() -> AbstractAsyncContextManager[ChromaStore]:
    """Open the memory. For several servers: `open_store("http://...")`, a Chroma server."""
    return open_store(FOLDER)


def checkpointer() -> AbstractAsyncContextManager[BaseCheckpointSaver[str]]:
    """Open the threads."""
    return open_checkpointer(FOLDER)
