"""Is anything left of what was erased? Files are searched, by a process of its own.

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
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from langgraph_memory.errors import StoreError
from langgraph_memory.files.byte_search import Needles, file_chunks

_SEPARATOR = b"\0\xff\0\xff\0\xff\0\xff"  # so that nothing is found across two values
_ENOUGH = 1024 * 1024  # bytes of values that are searched at once


def living_values(file: Path) -> Iterator[bytes]:
    """Yield all values in a file if it is a database of SQLite."""
    with file.open("rb") as opened:
        is_database = opened.read(16) == b"SQLite format 3\0"
    if is_database:
        yield from values_in(file)


def values_in(file: Path, leaving_out: Collection[str] = ()) -> Iterator[bytes]:
    """Yield all texts and blobs of a database; of indexes of words, the texts alone.

    Args:
        file: The database.
        leaving_out: Tables of which nothing is yielded.
    """
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        for name, sql in tables.fetchall():
            yield sql or b""
            table = name.decode()
            if table in leaving_out or table.endswith(("_data", "_idx", "_docsize")):
                continue
            with suppress(sqlite3.OperationalError):  # of a kind that this SQLite does not know
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    yield from (value for value in row if isinstance(value, bytes))


def search_files(
    files: Iterable[Path],
    own: Iterable[bytes],
    shared: Iterable[bytes],
    living: Callable[[Path], Iterable[bytes]] = living_values,
) -> dict[str, int]:
    """Return how often something was found in files, by file.

    Args:
        files: What is searched; those that are not there are passed over.
        own: What is to be nowhere.
        shared: What is to be nowhere if nothing that remains holds it.
        living: Yields the values of a file that remain: a function that a module has by its name.

    Raises:
        StoreError: If that cannot be done.
    """
    there = sorted({file.resolve() for file in files if file.is_file()})
    if not there:
        return {}
    asked = {
        "files": list(map(str, there)),
        "own": [needle.hex() for needle in own],
        "shared": [needle.hex() for needle in shared],
        "living": [living.__module__, living.__name__],
    }
    if getattr(sys, "frozen", False):  # the executable is an application, and not Python
        return _found(asked)
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if done.returncode:
        why = done.stderr.strip()[-500:]
        raise StoreError(f"the files could not be searched for what was erased: {why}")
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _found(asked: dict[str, Any]) -> dict[str, int]:
    files = list(map(Path, asked["files"]))
    own, shared = (set(map(bytes.fromhex, asked[name])) for name in ("own", "shared"))
    module, name = asked["living"]
    living = getattr(import_module(module), name)
    remaining = _separated(value for file in files for value in living(file))
    needles = Needles(own | (shared - Needles(shared).count_in(remaining).keys()))
    found = {str(file): needles.count_in(file_chunks(file)).total() for file in files}
    return {file: count for file, count in found.items() if count}


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


if __name__ == "__main__":
    json.dump(_found(json.load(sys.stdin)), sys.stdout)
