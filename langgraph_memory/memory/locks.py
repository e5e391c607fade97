"""One writer at a time for each owner, whether it is a thread or a task of an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable
from weakref import WeakValueDictionary

from langgraph_memory.errors import LangGraphMemoryError
from langgraph_memory.twins import Either

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

    def hold(self, owner: Hashable) -> _Held:
        """Hold the owner's lock for a block: `with` in a thread, `async with` in a verb.

        Raises:
            LangGraphMemoryError: If a thread that runs an event loop waits for one of its own
                tasks, which cannot go on meanwhile.
        """
        return _Held(self._lock(owner), self._loop_timeout)


class _Held:
    """A lock for as long as a block takes; to give it back is never waited for."""

    def __init__(self, lock: _Lock, loop_timeout: float) -> None:
        self._lock, self._loop_timeout = lock, loop_timeout

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._loop_timeout if _in_event_loop() else -1):
            raise LangGraphMemoryError(
                "a call in an event loop waits for another call of the same loop; "
                "await the a-form (aremember, aedit, aforget) there"
            )

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    async def __aenter__(self) -> None:
        await Either(self.__enter__, self._acquired)

    async def __aexit__(self, *raised: object) -> None:
        self._lock.release()

    async def _acquired(self) -> None:
        # An awaited acquire in a thread would hold the lock for good if it was cancelled.
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110  # a thread may hold it
            await asyncio.sleep(_POLL_SECONDS)


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
