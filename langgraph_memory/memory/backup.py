"""The verb that copies everything elsewhere."""

from __future__ import annotations

from pathlib import Path

from langgraph_memory.memory.backup_files import Backup, back_up
from langgraph_memory.memory.base import Verbs
from langgraph_memory.sessions import Sessions
from langgraph_memory.twins import to_its_end, twins


class BackingUp(Verbs):
    """`backup`."""

    async def _backup(self, path: str | Path, *, sessions: Sessions | None = None) -> Backup:
        """Copy all records, and the sessions, into a folder, while both are in use.

        The copy is of one moment; a write that comes meanwhile waits for the copying (not for the
        check). It is opened and counted before it gets its name: if it fails, or is killed, there
        is no folder of that name. What is erased later stays in backups that were made before.
        `abackup` goes on to its end if it is cancelled.

        Args:
            path: A folder that is not there yet, or is empty; the folders above it are made. It is
                opened like any other: `ChromaStore(path)`, `open_sessions(path)`.
            sessions: Sessions that go along; else those in the memory's own folder.

        Raises:
            ConfigurationError: If something is there, or the store or the sessions lie on a
                server, which has a backup of its own.
            StoreError: If it cannot be made, or is not whole.

        Example:
            >>> from langgraph_memory import ChromaStore, Memory
            >>> with Memory(ChromaStore("./memory")) as memory:
            ...     _ = memory.remember("Drinks decaf after noon", user="c-2291")
            ...     memory.backup("./backup").rows
            2
        """
        return await to_its_end(back_up, self.store, path, sessions)

    backup, abackup = twins(_backup)
