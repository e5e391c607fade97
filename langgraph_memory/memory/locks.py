"""One writer at a time for each owner, whether it is a thread or a task of an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from langgraph_memory.errors import LangGraphMemoryError

_POLL_SECONDS = 0.002
_LOOP_TIMEOUT_SECONDS = 10.0
_MODEL_TIMEOUT_SECONDS = 600.0


class _Lock:
    """A lock that can be held weakly."""

    def __init__(self) -> None:
        lock = threading.Lock()
        self.acquire, self.release = lock.acquire, lock.release


class OwnerLocks:
    """A lock for each owner, as long as somebody holds it or waits for it.

    Args:
        loop_timeout: Seconds that a thread which runs an event loop waits at most.
    """

    def __init__(self, loop_timeout: float = _LOOP_TIMEOUT_SECONDS) -> None:
        self._loop_timeout = loop_timeout
        self._locks: WeakValueDictionary[Hashable, _Lock] = WeakValueDictionary()
        self._making = threading.Lock()

    def _lock(self, owner: Hashable) -> _Lock:
        with self._making:
            lock = self._locks.get(owner)
            if lock is None:
                lock = self._locks[owner] = _Lock()
            return lock

    @contextmanager
    def hold(self, owner: Hashable) -> Iterator[None]:
        """Hold the owner's lock in this thread.

        Raises:
            LangGraphMemoryError: If a thread that runs an event loop waits for one of its own
                tasks, which cannot go on meanwhile.
        """
        lock = self._lock(owner)
        if not lock.acquire(timeout=self._loop_timeout if _in_event_loop() else -1):
            raise LangGraphMemoryError(
                "a call in an event loop waits for another call of the same loop; "
                "await the a-form (aremember, aedit, aforget) there"
            )
        try:
            yield
        finally:
            lock.release()

    @asynccontextmanager
    async def ahold(self, owner: Hashable) -> AsyncIterator[None]:
        """Hold the owner's lock in this task; others of the loop go on."""
        lock = self._lock(owner)
        # An awaited acquire in a thread would hold the lock for good if it was cancelled.
        while not lock.acquire(blocking=False):  # noqa: ASYNC110  # a thread may hold it
            await asyncio.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            lock.release()


OWNER_LOCKS = OwnerLocks()
"""The locks of this process: several memories may lie in one store."""

THREAD_LOCKS = OwnerLocks(_MODEL_TIMEOUT_SECONDS)
"""One extraction at a time for each owner and thread: it is held while a model is asked, and others
may write to the owner's memory meanwhile."""

DOCUMENT_LOCKS = OwnerLocks(_MODEL_TIMEOUT_SECONDS)
"""One writer at a time for each source of an owner: it is held while a text is embedded."""


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
