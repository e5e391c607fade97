"""One writer at a time for each owner, whether it is a thread or a task of an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from langgraph_memory.errors import LangGraphMemoryError
from langgraph_memory.scope import Owner

T = TypeVar("T")

_STRIPES = 256
_POLL_SECONDS = 0.002
_LOOP_TIMEOUT_SECONDS = 10.0


class OwnerLocks:
    """Locks by owner; several owners may share one."""

    def __init__(self) -> None:
        self._locks = [threading.Lock() for _ in range(_STRIPES)]

    def _lock(self, owner: Owner) -> threading.Lock:
        return self._locks[hash(owner) % _STRIPES]

    @contextmanager
    def hold(self, owner: Owner) -> Iterator[None]:
        """Hold the owner's lock in this thread.

        Raises:
            LangGraphMemoryError: If a thread that runs an event loop waits for one of its own
                tasks, which cannot go on meanwhile.
        """
        lock = self._lock(owner)
        if not lock.acquire(timeout=_LOOP_TIMEOUT_SECONDS if _in_event_loop() else -1):
            raise LangGraphMemoryError(
                "a call in an event loop waits for another call of the same loop; "
                "await the a-form (aremember, aedit, aforget) there"
            )
        try:
            yield
        finally:
            lock.release()

    @asynccontextmanager
    async def ahold(self, owner: Owner) -> AsyncIterator[None]:
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


async def landed(write: Coroutine[Any, Any, T]) -> T:
    """Await a write to its end, also if the caller is cancelled meanwhile.

    A store may write in a thread that nothing can stop; the owner's lock must not be free before.
    """
    task = asyncio.ensure_future(write)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
