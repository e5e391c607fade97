"""Giving up on a recall that takes too long."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float | None, function: Callable[[], T]) -> T:
    """Call a function, and give up waiting after some seconds.

    Raises:
        TimeoutError: If it took longer. It goes on in a thread that ends with the process.
    """
    if seconds is None:
        return function()
    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def call() -> None:
        try:
            outcome.put((function(), None))
        except BaseException as error:  # noqa: BLE001  # handed to the caller's thread, which raises it
            outcome.put((None, error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(call,), daemon=True, name="recall").start()
    try:
        result, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"recall took longer than {seconds} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # there was no error, so it is the result


async def awithin(seconds: float | None, awaitable: Awaitable[T]) -> T:
    """Async form of `within`; what took too long is cancelled."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await awaitable
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(f"recall took longer than {seconds} s") from None
        raise
