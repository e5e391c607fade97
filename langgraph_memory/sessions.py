"""Sessions: LangGraph threads that are kept on disk and are open to their own user alone.

The checkpointer of a session works for `invoke` and `ainvoke` alike, and is guarded: see `guard`.
"""

from __future__ import annotations

import asyncio
import builtins
import os
import re
import threading
from pathlib import Path
from typing import Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.guard import Guard, in_thread
from langgraph_memory.threads import Session as Session
from langgraph_memory.threads import Threads, sqlite_errors, thread_of, user_of

FILE_NAME = "sessions.sqlite"

G = TypeVar("G", bound=Guard)

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Sessions:
    """The threads of all users in one database; made by `open_sessions`.

    Each method that reads or writes has an async twin (`alist` of `list`), which does the same
    in a thread.
    """

    def __init__(self, path: str, *, busy_timeout: float = 30.0) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._lock = threading.Lock()
        self._saver: Guard | None = None
        self._closed = False

    @property
    def checkpointer(self) -> BaseCheckpointSaver[str]:
        """The guarded saver for `compile(checkpointer=...)`; serves `invoke` and `ainvoke`.

        It refuses a thread of another user (`ThreadOwnerError`) and a run without a user
        (`MissingUserError`).
        """
        return self._open()

    def config(self, *, user: str | int, thread_id: str | int) -> RunnableConfig:
        """Return the config to run a graph with.

        The user is in `configurable` for the checkpointer and the memory nodes, and in
        `metadata` for callbacks.
        """
        ids = {"thread_id": thread_of(thread_id), "user_id": user_of(user)}
        return {"configurable": ids, "metadata": {**ids}}

    def list(self, user: str | int) -> builtins.list[Session]:
        """Return a user's threads, newest activity first."""
        return self._open().threads.of(user_of(user))

    def latest(self, user: str | int) -> Session | None:
        """Return the thread that a user was in last, or `None`."""
        return next(iter(self.list(user)), None)

    def delete(self, user: str | int, thread_id: str | int) -> bool:
        """Delete a user's thread in one transaction, and overwrite it in the files.

        Returns:
            Whether there was such a thread.

        Raises:
            ThreadOwnerError: If the thread is another user's.
        """
        return self._open().threads.remove(user_of(user), thread_of(thread_id))

    def adopt(self, user: str | int, thread_id: str | int) -> bool:
        """Give a user a thread that a plain `SqliteSaver` wrote into this database.

        Returns:
            Whether there is such a thread.

        Raises:
            ThreadOwnerError: If the thread is another user's already.
        """
        return self._open().threads.adopt(user_of(user), thread_of(thread_id))

    def close(self) -> None:
        """Close the database; closing again does nothing."""
        with self._lock:
            self._closed = True
            if self._saver is not None:
                self._saver.threads.close()

    alist = in_thread(list)
    alatest = in_thread(latest)
    adelete = in_thread(delete)
    aadopt = in_thread(adopt)
    aclose = in_thread(close)

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._open)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _open(self) -> Guard:
        with self._lock:
            if self._closed:
                raise ConfigurationError(f"sessions in {self._path} are closed")
            if self._saver is None:
                self._saver = open_guard(Guard, self._path, self._busy_timeout)
            return self._saver


def open_sessions(path: str | os.PathLike[str], *, busy_timeout: float = 30.0) -> Sessions:
    """Keep sessions in a folder or a file; nothing is opened before the first use.

    Args:
        path: A folder (which then holds `sessions.sqlite`), a file with a suffix, or `:memory:`.
        busy_timeout: How many seconds to wait while another process writes.

    Returns:
        Sessions for `with` and `async with`. Entering raises `StoreError` if the database cannot
        be opened and written.

    Raises:
        ConfigurationError: If `path` is a URL, or empty.

    Example:
        >>> with open_sessions(":memory:") as sessions:
        ...     sessions.config(user="c-2291", thread_id="monday")["configurable"]
        {'thread_id': 'monday', 'user_id': 'c-2291'}
    """
    return Sessions(place_of(path), busy_timeout=busy_timeout)


def place_of(path: str | os.PathLike[str]) -> str:
    """Return where sessions lie: the folder of this moment is meant, wherever it is first used."""
    text = os.fspath(path)
    if not text or _URL.match(text):
        raise ConfigurationError(
            "open_sessions takes the path of a folder or an SQLite file; only a path is supported "
            f"in this version, got {text.partition('://')[0]!r}"
        )
    return text if text == ":memory:" else os.path.abspath(text)


def open_guard(kind: type[G], place: str, busy_timeout: float) -> G:
    """Open the database of a place, behind a guard of a kind; its folder is made if need be."""
    path = _database_file(place)
    threads = Threads(path, busy_timeout)
    saver = kind(threads)
    try:
        with sqlite_errors(path):
            saver.setup()
        threads.create()
    except BaseException:
        threads.close()
        raise
    return saver


def _database_file(path: str) -> str:
    """Return the file that a path means, and make its folder."""
    if path == ":memory:":
        return path
    file = Path(path)
    try:
        if file.is_dir() or not (file.suffix or file.is_file()):
            file = file / FILE_NAME
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"sessions in {file}: the folder cannot be made ({error})") from error
    return str(file)
