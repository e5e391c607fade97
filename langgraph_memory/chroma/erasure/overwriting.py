"""The bytes of erased users in a directory: overwritten, and searched for."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from pathlib import Path

from langgraph_memory.chroma.erasure.compaction import scour
from langgraph_memory.chroma.erasure.file_search import search
from langgraph_memory.chroma.erasure.pending import add_pending, clear_pending, pending_users
from langgraph_memory.chroma.held_files import erase_files
from langgraph_memory.errors import StoreError
from langgraph_memory.files import DirectoryLock
from langgraph_memory.store import Sought, forms_of

logger = logging.getLogger(__name__)


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
