"""What waits to be saved while a store's server is away: a small SQLite file on this machine.

Here is the file alone. When something is kept in it, and how it is delivered, `delivery` decides.
Several processes may share a file: each change is one transaction, and `turn` lets one of them at
a time deliver.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.records import check_id, decode_label, encode_label

MAX_BYTES = 64 * 1024 * 1024
"""Of text, in a file: some ten thousand turns."""

MAX_ENTRIES = 100_000

_APPLICATION = 0x4C474D4F  # "LGMO": a file that is something else is not written to
_VERSION = 1
_BUSY_SECONDS = 30.0  # another process's transaction takes milliseconds

_TABLES = """
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    place TEXT NOT NULL,
    user TEXT NOT NULL,
    thread TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    failed TEXT,
    at TEXT NOT NULL,
    content TEXT NOT NULL
);
CREATE INDEX entry_thread ON entry (user, thread);
CREATE INDEX entry_bytes ON entry (bytes);
"""


Content = Mapping[str, Any]
"""Of an entry, as JSON; without secrets."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that a run was to save."""

    user: str
    thread_id: str
    at: datetime
    """When it was to be saved."""
    content: Content
    """What it was."""
    number: int = 0
    """Its place in the order; given by the file."""


class Outbox:
    """A file that keeps what runs could not save, until the server of their store is back.

    It is made if it is not there, readable by its owner alone, and its entries are in the order in
    which they were kept. Texts are in it as the store would have them: without secrets. What is
    delivered or erased is overwritten.

    Args:
        path: The file. Beside it lies `<path>.lock`, which holds nothing.
        max_bytes: How much text may wait.
        max_entries: How many entries may wait; a turn makes two.

    Raises:
        ConfigurationError: If the file is something else, or a limit is no number.
        StoreError: If the file cannot be made, read or written; so do all methods.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        max_bytes: int = MAX_BYTES,
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        for name, limit in (("max_bytes", max_bytes), ("max_entries", max_entries)):
            if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
                raise ConfigurationError(f"{name}= is a number from 1, got {limit!r}")
        if not isinstance(path, (str, Path)):
            raise ConfigurationError(f"an outbox takes the path of a file, got {path!r}")
        self.path = Path(path).expanduser().absolute()
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._make()

    def count(self, user: str | None = None) -> int:
        """Return how many entries wait, of one user or of all."""
        own = "" if user is None else "WHERE user = ?"
        with self._opened() as file:
            (count,) = file.execute(
                f"SELECT count(*) FROM entry {own}", () if user is None else (_label(user),)
            ).fetchone()
        return int(count)

    def places(self) -> dict[str, int]:
        """Return how many entries wait for each server, by its URL, tenant and database."""
        with self._opened() as file:
            return dict(file.execute("SELECT place, count(*) FROM entry GROUP BY place"))

    def move(self, place: str, to: str) -> int:
        """Let what waits for a server wait for another one: it has moved.

        Args:
            place: One of `places()`.
            to: That of the store from now on, `store.place`.

        Returns:
            How many entries.
        """
        with self._changed() as file:
            return file.execute("UPDATE entry SET place = ? WHERE place = ?", (to, place)).rowcount

    def erase(self, user: str) -> int:
        """Delete all that waits of a user, and overwrite it; return how many entries.

        What is being delivered at this moment is waited for: it has then been delivered, or is
        erased.
        """
        with self.turn():
            with self._opened() as file:
                own = "SELECT number FROM entry WHERE user = ?"
                numbers = file.execute(own, (_label(user),)).fetchall()
            try:
                self._delete(numbers)
            except StoreError:  # a disk that is nearly full has room for one after the other
                for number in numbers:
                    self._delete([number])
        return len(numbers)

    # -- for `delivery` --

    def keep(self, place: str, entry: Entry) -> None:
        """Add an entry.

        Raises:
            StoreError: If the file is full; nothing is dropped for it.
        """
        content = json.dumps(dict(entry.content))
        row = (place, _label(entry.user), encode_label(entry.thread_id), len(content))
        with self._changed() as file:
            waiting, size = file.execute("SELECT count(*), total(bytes) FROM entry").fetchone()
            if waiting >= self._max_entries or size + len(content) > self._max_bytes:
                raise StoreError(
                    f"the outbox {self.path} is full ({waiting:,} entries, {size:,.0f} bytes of "
                    f"{self._max_bytes:,}), and the server is away: this is not kept. Bring the "
                    "server back, or give it more room, "
                    "Memory(outbox=Outbox(path, max_bytes=...))"
                )
            file.execute(
                "INSERT INTO entry (place, user, thread, bytes, at, content) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (*row, entry.at.isoformat(), content),
            )

    def of_thread(self, place: str, user: str, thread_id: str) -> list[Entry]:
        """Return what waits of a thread, in order, but for what could not be delivered."""
        return self._entries(
            "place = ? AND user = ? AND thread = ?",
            (place, _label(user), encode_label(thread_id)),
        )

    def waits(self, place: str, user: str, thread_id: str) -> bool:
        """Whether anything of a thread waits, but for what could not be delivered."""
        with self._opened() as file:
            found = file.execute(
                "SELECT 1 FROM entry WHERE user = ? AND thread = ? AND place = ? "
                "AND failed IS NULL LIMIT 1",
                (_label(user), encode_label(thread_id), place),
            ).fetchone()
        return found is not None

    def first(self, place: str) -> Entry | None:
        """Return what is to be delivered next."""
        return next(iter(self._entries("place = ?", (place,), "LIMIT 1")), None)

    def remove(self, entry: Entry) -> None:
        """Delete an entry that was delivered."""
        self._delete([(entry.number,)])

    def set_aside(self, entry: Entry, error: BaseException) -> None:
        """Keep an entry that cannot be delivered, and let the next ones pass it."""
        with self._changed() as file:
            name = type(error).__name__  # its message may say what was said
            file.execute("UPDATE entry SET failed = ? WHERE number = ?", (name, entry.number))

    def retry(self, place: str) -> int:
        """Let what was set aside be tried once more, in its old place; return how many entries."""
        with self._changed() as file:
            return file.execute(
                "UPDATE entry SET failed = NULL WHERE place = ? AND failed IS NOT NULL", (place,)
            ).rowcount

    @contextmanager
    def turn(self, timeout: float = -1) -> Iterator[None]:
        """Deliver, or erase, while nobody else does, of this process or another.

        Raises:
            TimeoutError: If somebody else does for longer than `timeout` seconds.
        """
        lock = FileLock(f"{self.path}.lock", timeout=timeout, mode=0o600)
        try:
            lock.acquire()
        except Timeout as error:
            raise TimeoutError(str(error)) from None
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield
        finally:
            lock.release()

    # -- the file --

    def _delete(self, numbers: Sequence[tuple[int]]) -> None:
        with self._changed() as file:
            file.executemany("DELETE FROM entry WHERE number = ?", numbers)

    def _entries(self, where: str, values: tuple[str, ...], more: str = "") -> list[Entry]:
        with self._opened() as file:
            rows = file.execute(
                "SELECT user, thread, at, content, number FROM entry "
                f"WHERE {where} AND failed IS NULL ORDER BY number {more}",
                values,
            ).fetchall()
        return [
            Entry(
                decode_label(user),
                decode_label(thread),
                datetime.fromisoformat(at),
                json.loads(content),
                number,
            )
            for user, thread, at, content, number in rows
        ]

    def _make(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Not if it is there: closing it would let go of the locks that this process has on it.
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise self._unusable(error) from error
        with self._changed() as file:
            (application,) = file.execute("PRAGMA application_id").fetchone()
            (version,) = file.execute("PRAGMA user_version").fetchone()
            (tables,) = file.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if (application, version) == (_APPLICATION, _VERSION):
                return
            if tables or application or version:
                raise ConfigurationError(
                    f"{self.path} is no outbox of this version, but another SQLite file: outbox= "
                    "takes the path of a file of its own"
                )
            for statement in filter(str.strip, _TABLES.split(";")):
                file.execute(statement)
            file.execute(f"PRAGMA application_id = {_APPLICATION}")
            file.execute(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        # Opened anew each time, which takes less than a millisecond: threads and forks share none.
        try:
            with closing(
                sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as file:
                file.execute("PRAGMA secure_delete = ON")
                yield file
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    @contextmanager
    def _changed(self) -> Iterator[sqlite3.Connection]:
        with self._opened() as file:
            file.execute("BEGIN IMMEDIATE")
            try:
                yield file
            except BaseException:
                if file.in_transaction:  # SQLite has ended it itself on a full disk
                    file.execute("ROLLBACK")
                raise
            file.execute("COMMIT")

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(f"cannot use the outbox {self.path}: {error}")


def _label(user: object) -> str:
    return encode_label(check_id("user", user))
