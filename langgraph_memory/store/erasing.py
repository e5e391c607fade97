"""The bytes of erased users in a directory: overwritten, and searched for."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from langgraph_memory.embedding import Vectors
from langgraph_memory.errors import StoreError
from langgraph_memory.store.directory_lock import DirectoryLock
from langgraph_memory.store.holdings import erase_files
from langgraph_memory.store.pending_erasure import add_pending, clear_pending, pending_users
from langgraph_memory.store.rows import Namespace
from langgraph_memory.store.scouring import scour
from langgraph_memory.store.searching import Sought, search
from langgraph_memory.store.traces import own_forms, shared_forms

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Overwritten:
    """What became of the files of a store."""

    found: Mapping[str, int] = field(default_factory=dict)
    """How often something of the users was found still, by file."""
    closed: float = 0.0
    """For how many seconds reads and writes had to wait."""
    pending: bool = False
    """Whether it is done at the next opening."""
    elsewhere: str = ""
    """Where files lie that could neither be overwritten nor searched, in words."""


class ErasingStore(Protocol):
    """What a store offers to whom erases users; `ChromaStore` does."""

    def vectors(self, namespaces: Sequence[Namespace]) -> Iterable[Vectors]: ...

    def count_beside(self, namespaces: Sequence[Namespace]) -> int: ...

    def wipe(self, namespaces: Sequence[Namespace], user: str) -> None: ...

    def overwrite(
        self, users: Sequence[str], sought: Sought, files: Sequence[Path], *, later: bool
    ) -> Overwritten: ...


def forms_of(users: Sequence[str]) -> Sought:
    """Return what is searched for of users of whom no more than the ids is known."""
    own = frozenset(form for user in users for form in own_forms(user))
    shared = frozenset(form for user in users for form in shared_forms(user))
    return Sought(own, shared - own)


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
    clear_pending(directory)
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
