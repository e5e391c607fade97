"""Is anything left of erased users? All files are searched, by a process of its own.

A database that this process has open must not be opened here a second time: when that is closed,
the system lets go of the locks of the first. What is searched for comes on standard input, and is
written nowhere.

This module is also the program that the process runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from langgraph_memory.chroma.calls import COLLECTION
from langgraph_memory.chroma.held_files import held_files
from langgraph_memory.chroma.index_files import living_vectors
from langgraph_memory.chroma.tables import DATABASE, find_collection, reading
from langgraph_memory.errors import StoreError
from langgraph_memory.files import Needles, file_chunks
from langgraph_memory.store import Sought


def search(directory: Path | None, files: Collection[Path], sought: Sought) -> dict[str, int]:
    """Search a directory and some files; return how often something was found, by file.

    Args:
        directory: A memory's, that this process has closed for now; or none.
        files: Others, such as those of sessions.
        sought: What is searched for.

    Raises:
        StoreError: If that cannot be done.
    """
    if directory is None and not any(file.is_file() for file in files):
        return {}
    asked = json.dumps(
        {
            "directory": None if directory is None else str(directory),
            "files": [str(file) for file in files],
            "own": [needle.hex() for needle in sought.own],
            "shared": [needle.hex() for needle in sought.shared],
        }
    )
    if getattr(sys, "frozen", False):  # the executable is an application, and not Python
        return found_in(json.loads(asked))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=asked,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        why = done.stderr.strip()[-500:]
        raise StoreError(f"the files could not be searched for what was erased: {why}")
    found: dict[str, int] = json.loads(done.stdout)
    return found


def found_in(asked: dict[str, Any]) -> dict[str, int]:
    """Return what is found, of a question as the process reads it."""
    files = [Path(file) for file in asked["files"]]
    if asked["directory"] is not None:
        directory = Path(asked["directory"])
        # Sessions come by name: those that are not erased hold what is searched for.
        files += [
            directory / path
            for path, holding in held_files(directory)
            if holding is None or holding.name not in ("sessions", "pending erasure")
        ]
    files = sorted({file.resolve() for file in files if file.is_file()})
    own = {bytes.fromhex(needle) for needle in asked["own"]}
    shared = {bytes.fromhex(needle) for needle in asked["shared"]}
    living = Needles(shared).count_in(_separated(_living(files)))
    needles = Needles(own | (shared - living.keys()))
    found = {str(file): needles.count_in(file_chunks(file)).total() for file in files}
    return {file: count for file, count in found.items() if count}


# -- what lives --


_SEPARATOR = b"\0\xff\0\xff\0\xff\0\xff"  # so that nothing is found across two values
_ENOUGH = 1024 * 1024  # bytes of values that are searched at once


def _separated(values: Iterable[bytes]) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for value in values:
        gathered.append(value)
        size += len(value)
        if size > _ENOUGH:
            yield _SEPARATOR.join([*gathered, b""])
            gathered, size = [], 0
    yield _SEPARATOR.join(gathered)


def _living(files: Iterable[Path]) -> Iterator[bytes]:
    """Yield all values of the records that remain."""
    for file in files:
        if file.name == DATABASE:
            yield from _living_records(file.parent)
        elif _is_database(file):
            yield from _values(file)


def _living_records(directory: Path) -> Iterator[bytes]:
    yield from _values(directory / DATABASE, leaving_out=("embeddings_queue",))
    with reading(directory) as connection:
        # A key and its value lie beside each other, and "user" + "c-2" begins "user" + "c-22".
        for key, value in connection.execute(
            "SELECT key, string_value FROM embedding_metadata WHERE string_value IS NOT NULL"
        ):
            yield f"{key}{value}".encode(errors="replace")
        for _, vector in connection.execute(
            "SELECT q.id, q.vector FROM embeddings_queue q JOIN embeddings e"
            " ON e.embedding_id = q.id WHERE q.vector IS NOT NULL"
        ):
            yield vector
        main = find_collection(connection, COLLECTION)
    if main is not None:
        yield from (row.tobytes() for row in np.asarray(living_vectors(directory, main)))


def _values(file: Path, leaving_out: Collection[str] = ()) -> Iterator[bytes]:
    """Yield all texts and blobs of a database; of indexes of words, the texts alone."""
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        tables = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        for name, sql in tables:
            yield sql or b""
            table = name.decode()
            if table in leaving_out or table.endswith(("_data", "_idx", "_docsize")):
                continue
            with suppress(sqlite3.OperationalError):  # of a kind that this SQLite does not know
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    yield from (value for value in row if isinstance(value, bytes))


def _is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(16) == b"SQLite format 3\0"


def main() -> None:
    """Answer the question on standard input."""
    json.dump(found_in(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
