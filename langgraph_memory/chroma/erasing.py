"""The bytes of erased users in a directory: overwritten, and searched for.

Their records are gone before. Whose bytes are still to be overwritten is kept in the directory
until that is done: so the file holds their ids, as long as it is there.

Chroma writes the memory of a new index to its files as it was allocated, with whatever the process
held there before: so a process compacts the directory that holds nothing, and what no index needs
is made zeros. It works under the lock of whoever starts it, and ends when that one does; killed at
any moment, it is begun again (`rebuild`). This module is also the program that the process runs.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from langgraph_memory.chroma.calls import COLLECTION, opened_client
from langgraph_memory.chroma.held_files import PENDING, erase_files, held_files
from langgraph_memory.chroma.index_files import blank_unused, living_vectors
from langgraph_memory.chroma.repair.rebuild import NEXT
from langgraph_memory.chroma.repair.repair import (
    compact_collection,
    finish_interrupted,
    give_back_space,
    stored,
)
from langgraph_memory.chroma.tables import DATABASE, find_collection, reading, rows_stored
from langgraph_memory.errors import LangGraphMemoryError, StoreError
from langgraph_memory.files import (
    DirectoryLock,
    living_values,
    search_files,
    values_in,
    write_durably,
)
from langgraph_memory.store import Sought, forms_of

logger = logging.getLogger(__name__)

_FAILED = 3
_ROWS_A_SECOND = 50  # a twentieth of what an idle machine does: for the time limit
_START_SECONDS = 120.0


def overwrite(
    lock: DirectoryLock, users: Sequence[str], sought: Sought, files: Collection[Path] = ()
) -> dict[str, int]:
    """Overwrite what a directory's files hold of users whose records are gone; search for it.

    Args:
        lock: Of a directory that this process has locked, and not open.
        users: Their ids. Those who wait in the directory come along.
        sought: What is searched for, beside ids.
        files: Others to search, such as those of sessions.

    Returns:
        How often something was found still, by file.

    Raises:
        StoreError: If something fails; it is tried again at the next opening.
    """
    directory = lock.directory
    add_pending(directory, users)
    users = pending_users(directory)
    erase_files(directory, users)
    scour(lock)
    forms = forms_of(users)
    found = search(directory, files, Sought(sought.own | forms.own, sought.shared | forms.shared))
    _clear_pending(directory)
    return found


def finish_erasure(lock: DirectoryLock) -> tuple[str, ...]:
    """Overwrite what waits to be; return whose bytes that were.

    What cannot be done is logged, and waits for the next opening: the records are gone anyway.
    """
    users = pending_users(lock.directory)
    if not users:
        return ()
    try:
        found = overwrite(lock, users, Sought())
    except StoreError:
        logger.warning("erased users' bytes in %s wait still", lock.directory, exc_info=True)
        return ()
    if found:
        logger.warning("%s still holds bytes of erased users: %s", lock.directory, found)
    else:
        logger.info("overwrote the bytes of %d erased users in %s", len(users), lock.directory)
    return users


# -- compacting, in a process of its own --


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
    if stored(directory, NEXT) is not None:  # a copy that was begun may have rows deleted since
        with opened_client(directory) as client:
            client.delete_collection(NEXT)
    main = stored(directory, COLLECTION)
    if main is None:
        return
    compact_collection(directory, main)
    _index_words_anew(directory)
    give_back_space(directory)
    blank_unused(directory)


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
    rows = 0 if main is None else rows_stored(directory, main)
    return _START_SECONDS + rows / _ROWS_A_SECOND


def _end_with_parent() -> None:
    """End at once when the process that waits has ended, and has left the lock to others."""

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        os._exit(_FAILED)

    threading.Thread(target=watch, daemon=True).start()


# -- what waits --


def pending_users(directory: Path) -> tuple[str, ...]:
    """Return whose bytes are still to be overwritten."""
    try:
        users = json.loads((directory / PENDING).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # it is put in place whole
        return ()
    return tuple(user for user in users if isinstance(user, str)) if users else ()


def add_pending(directory: Path, users: Sequence[str]) -> None:
    """Note that some users' bytes are to be overwritten; others that are noted stay so.

    Raises:
        StoreError: If it cannot be written.
    """
    noted = list(dict.fromkeys([*pending_users(directory), *users]))
    try:
        write_durably(directory / PENDING, json.dumps(noted))  # escaped: any id can be written
    except OSError as error:
        raise StoreError(f"cannot write {directory / PENDING}: {error}") from error


def _clear_pending(directory: Path) -> None:
    """Note that nothing is left to overwrite, and overwrite the note itself."""
    for file in (directory / f"{PENDING}.new", directory / PENDING):
        try:
            if file.exists():
                file.write_bytes(bytes(file.stat().st_size))
                file.unlink()
        except OSError as error:
            raise StoreError(f"cannot delete {file}: {error}") from error


# -- what is left --


def search(directory: Path, files: Collection[Path], sought: Sought) -> dict[str, int]:
    """Search a memory's directory, closed for now, and other files, as `search_files` does."""
    # Sessions come by name: those that are not erased hold what is searched for.
    held = [
        directory / path
        for path, holding in held_files(directory)
        if holding is None or holding.name not in ("sessions", "pending erasure")
    ]
    return search_files([*files, *held], sought.own, sought.shared, living_records)


def living_records(file: Path) -> Iterator[bytes]:
    """Yield all values in a file that are of records that remain, and vectors beside Chroma's."""
    if file.name != DATABASE:
        yield from living_values(file)
        return
    yield from values_in(file, leaving_out=("embeddings_queue",))
    with reading(file.parent) as connection:
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
        yield from (row.tobytes() for row in living_vectors(file.parent, main))


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
