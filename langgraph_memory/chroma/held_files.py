"""Which files lie in a memory's directory, and what of users is in them: one table.

Whoever erases, backs up or examines a directory walks it, and a file that is not in it fails a
test. A new kind of file is a new line.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from langgraph_memory.errors import StoreError

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""The name of the directory of an index."""


@dataclass(frozen=True, slots=True)
class Holding:
    """One kind of file in a directory."""

    name: str
    """What it is called in words, as `docs/storage.md` does."""
    path: re.Pattern[str]
    """Matches its whole path below the directory, with `/`."""
    of_users: bool
    """Whether it can hold something of users."""
    erase: Callable[[Path, Sequence[str]], object] | None = None
    """Erases, of a directory, what these files hold of some users; `None` where the store and the
    sessions do so by their own verbs, or where there is nothing of users."""


def _without_quarantine(directory: Path, users: Sequence[str]) -> None:
    """Delete index files that were found broken: nobody can tell whose vectors are in them."""
    place = directory / "quarantine"
    if not place.exists():
        return
    try:
        shutil.rmtree(place)
    except OSError as error:
        raise StoreError(f"cannot delete {place}, which may hold vectors of {users}") from error


def _files(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


PENDING = "erasure.json"
"""Which users' bytes are still to be overwritten; there only while something waits."""

HOLDINGS: tuple[Holding, ...] = (
    Holding("records", _files(r"chroma\.sqlite3(?:-journal|-wal|-shm)?"), of_users=True),
    Holding("vector index", _files(rf"{UUID}/(?:[^/]+\.bin|index_metadata\.pickle)"), True),
    Holding("sessions", _files(r"sessions\.sqlite(?:-journal|-wal|-shm)?"), of_users=True),
    Holding("quarantine", _files(r"quarantine/.+"), True, _without_quarantine),
    Holding(
        "written before", _files(r"(?:chroma\.sqlite3|sessions\.sqlite)\.written(?:\.new)?"), False
    ),
    Holding("lock", _files(r"owner\.(?:lock|json)"), of_users=False),
    Holding("pending erasure", _files(re.escape(PENDING) + r"(?:\.new)?"), of_users=True),
)


def held_files(directory: Path) -> Iterator[tuple[str, Holding | None]]:
    """Yield the path of each file below a directory, and what it is; `None` if it is not known."""
    for file in sorted(directory.rglob("*")):
        if file.is_file():
            path = file.relative_to(directory).as_posix()
            yield path, next((each for each in HOLDINGS if each.path.fullmatch(path)), None)


def unknown_files(directory: Path) -> list[str]:
    """Return the paths of files that are not in the table: not ours, or forgotten there."""
    return [path for path, holding in held_files(directory) if holding is None]


def erase_files(directory: Path, users: Sequence[str]) -> None:
    """Erase what files hold of some users that no verb of the store or the sessions reaches.

    Raises:
        StoreError: If one cannot be erased.
    """
    for holding in HOLDINGS:
        if holding.erase is not None:
            holding.erase(directory, users)
