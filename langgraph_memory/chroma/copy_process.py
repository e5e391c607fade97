"""A directory copied while it is in use, in a process of its own.

The database is copied by SQLite's online backup, and the index files as they lie; both belong
together as long as nothing was indexed meanwhile, which is looked at before and after. Closing a
file takes away all locks that a process has on it: in the process in which Chroma has the database
open, it must not be opened here. So this file is also the program that a child runs.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

DATABASE = "chroma.sqlite3"
ATTEMPTS = 20
"""A process that fills its memory writes its index every 1,000 rows, for a part of a second."""

PENDING = "erasure.json"
"""Whose bytes are still to be overwritten, as `held_files` has it: in the copy, too."""

_PAUSE = 0.25  # seconds


def copy_directory(source: Path, target: Path) -> int:
    """Copy the records of a directory, and return how many rows there are.

    Args:
        source: The directory, which a process may have open.
        target: An empty directory.

    Raises:
        OSError: If it cannot be copied, or is written to all the while.
    """
    if getattr(sys, "frozen", False):  # the executable is an application, and not Python
        return _copy(source, target)
    # -P: the modules beside this file would hide others of the same names.
    command = [sys.executable, "-P", __file__, str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise OSError(done.stderr.strip().rpartition("\n")[2] or f"ended with {done.returncode}")
    return int(json.loads(done.stdout))


def _copy(source: Path, target: Path) -> int:
    for _ in range(ATTEMPTS):
        for path in target.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        before = _written(source)
        indexes, indexed, rows = _copy_database(source, target)
        for index in indexes:
            if (source / index).is_dir():
                shutil.copytree(source / index, target / index)
        with suppress(FileNotFoundError):
            shutil.copyfile(source / PENDING, target / PENDING)
        if _written(source) == before and _indexed(source) == indexed:
            return rows
        time.sleep(_PAUSE)
    raise OSError(f"{source} was written to all the while")


def _copy_database(source: Path, target: Path) -> tuple[list[str], Any, int]:
    """Copy the database; return the directories of its indexes, what they hold, and its rows."""
    with (
        closing(_opened(source)) as old,
        closing(sqlite3.connect(target / DATABASE)) as new,
    ):
        old.backup(new)
        with new:  # Chroma would carry out in the copy what a failed write has left in its log
            new.execute(_NOT_CARRIED_OUT)
        (state,) = new.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise sqlite3.DatabaseError(f"{source / DATABASE} is damaged: {state}")
        indexes = [id for (id,) in new.execute("SELECT id FROM segments WHERE scope = 'VECTOR'")]
        (rows,) = new.execute("SELECT count(*) FROM embeddings").fetchone()
        return indexes, new.execute(_INDEXED).fetchall(), rows


def _indexed(source: Path) -> Any:
    with closing(_opened(source)) as connection:
        return connection.execute(_INDEXED).fetchall()


_INDEXED = (
    "SELECT segment_id, seq_id FROM max_seq_id WHERE segment_id IN"
    " (SELECT id FROM segments WHERE scope = 'VECTOR') ORDER BY segment_id"
)

_NOT_CARRIED_OUT = (
    "DELETE FROM embeddings_queue WHERE EXISTS (SELECT 1 FROM segments"
    " LEFT JOIN max_seq_id ON max_seq_id.segment_id = segments.id"
    " WHERE segments.scope = 'METADATA'"
    " AND embeddings_queue.topic LIKE '%/' || segments.collection"
    " AND embeddings_queue.seq_id > coalesce(max_seq_id.seq_id, 0))"
)


def _opened(directory: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{(directory / DATABASE).as_uri()}?mode=ro", uri=True, timeout=60)


def _written(directory: Path) -> list[tuple[str, int, int]]:
    """Return what changes when index files are written."""
    files = [file for file in directory.glob("*-*-*-*-*/*") if file.is_file()]
    stats = [(str(file), file.stat()) for file in sorted(files)]
    return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_copy(*map(Path, sys.argv[1:]))))
