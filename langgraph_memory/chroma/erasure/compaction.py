"""A directory without a byte of what was deleted: compacted by a process of its own.

Chroma writes the memory of a new index to its files as it was allocated, with whatever the process
held there before: so a process does it that holds nothing, and what no index needs is made zeros.
It works under the lock of whoever starts it, and ends when that one does; killed at any moment, it
is begun again (`rebuild`).

This module is also the program that the process runs.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path

from langgraph_memory.chroma.calls import COLLECTION, opened_client
from langgraph_memory.chroma.index_files import blank_unused
from langgraph_memory.chroma.repair.rebuild import NEXT
from langgraph_memory.chroma.repair.repair import (
    compact_collection,
    finish_interrupted,
    give_back_space,
    stored,
)
from langgraph_memory.chroma.tables import DATABASE, reading, row_count
from langgraph_memory.errors import LangGraphMemoryError, StoreError
from langgraph_memory.files import DirectoryLock

_FAILED = 3
_ROWS_A_SECOND = 50  # a twentieth of what an idle machine does: for the time limit
_START_SECONDS = 120.0


def scour(lock: DirectoryLock) -> None:
    """Compact a directory in a process of its own, which is waited for.

    Args:
        lock: Of a directory that this process has locked, and not open.

    Raises:
        StoreError: If it cannot be done; what the directory holds stays whole.
    """
    if getattr(sys, "frozen", False):  # the executable is an application, and not Python
        scoured(lock.directory)
        return
    command = [sys.executable, "-m", __name__, str(lock.directory)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    kept = lock.inheritable()
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=said, stderr=said, env=environment, pass_fds=kept
        ) as child:
            try:
                code = child.wait(_limit(lock.directory))
            except BaseException as error:
                child.kill()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                code = _FAILED
                said.write(b"it did not end")
        if code:
            said.seek(0)
            why = said.read().decode(errors="replace").strip()[-500:]
            raise StoreError(f"{lock.directory} could not be compacted ({code}): {why}")


def scoured(directory: Path) -> None:
    """Compact a directory that this process alone works on, and overwrite what is not in use."""
    finish_interrupted(directory)
    _drop_begun(directory)
    main = stored(directory, COLLECTION)
    if main is None:
        return
    compact_collection(directory, main)
    _index_words_anew(directory)
    give_back_space(directory)
    blank_unused(directory)


def _drop_begun(directory: Path) -> None:
    """Drop a copy that was begun: it may have rows that were deleted since."""
    if stored(directory, NEXT) is not None:
        with opened_client(directory) as client:
            client.delete_collection(NEXT)


def _index_words_anew(directory: Path) -> None:
    """Make the index of words anew: it keeps parts of deleted texts until it is merged."""
    table = "embedding_fulltext_search"
    with (
        closing(sqlite3.connect(directory / DATABASE)) as connection,
        connection,
        suppress(sqlite3.OperationalError),  # another SQLite, without its tokenizer
    ):
        connection.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")


def _limit(directory: Path) -> float:
    main = stored(directory, COLLECTION)
    if main is None:
        return _START_SECONDS
    with reading(directory) as connection:
        return _START_SECONDS + row_count(connection, main) / _ROWS_A_SECOND


def _end_with_parent() -> None:
    """End at once when the process that waits has ended, and has left the lock to others."""

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        os._exit(_FAILED)

    threading.Thread(target=watch, daemon=True).start()


def main(directory: str) -> int:
    """Compact a directory; return an exit code."""
    _end_with_parent()
    try:
        scoured(Path(directory))
    except LangGraphMemoryError as error:
        sys.stdout.write(str(error))
        return _FAILED
    return 0


if __name__ == "__main__":
    status = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # the thread that watches cannot be ended
