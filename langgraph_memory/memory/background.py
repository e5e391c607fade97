"""Work that nobody waits for: a thread that does it one after the other, for one `Memory`.

The queue holds no content, only where there is something to do: what was said is stored before,
and what has not been processed is found there again. So a killed process repeats work at most.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread  # noqa: F401  # its exit hook has to be registered before ours
import contextvars
import logging
import math
import os
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, NamedTuple
from weakref import WeakSet

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.twins import blocking, twins

logger = logging.getLogger(__name__)

CAPACITY = 1_000
"""How many threads of conversations may wait."""

DEBOUNCE = 0.5
"""Seconds that work waits for further turns of its thread, where nothing else is asked for."""

DRAIN_SECONDS = 30.0
"""How long `Memory.close`, and the end of the process, wait for work to be done."""

_POLL_SECONDS = 0.01

Work = Callable[[], object]


class Key(NamedTuple):
    """What work is about: a thread of a user, in a store."""

    user: str
    thread_id: str
    """Or, where the work is about one record, that record's id."""
    store: int
    """Its `id`."""
    task: str = "extraction"
    """What is to be done."""

    def __str__(self) -> str:
        return f"{self.task} of {self.thread_id!r} of user {self.user!r}"


@dataclass(slots=True)
class _Job:
    number: int
    due: float
    work: Work


class _Running(NamedTuple):
    number: int
    thread: int
    """The identifier of the thread that does it."""


class Worker:
    """A queue, and a thread that lives as long as there is something in it.

    Work is done in the order in which it was first asked for. What is asked for again for the same
    key, before it has begun, is done once. Safe to call from threads and event loops.

    Args:
        debounce: Seconds from when work is first asked for until it begins.
        capacity: How many keys may wait. Who brings more does it itself, and waits for it: so
            nothing is dropped, no thread waits for another, and those are slowed down who bring
            more than can be done.

    Raises:
        ConfigurationError: If `debounce` is no time in seconds.
    """

    def __init__(self, debounce: float = DEBOUNCE, capacity: int = CAPACITY) -> None:
        if not isinstance(debounce, (int, float)) or not 0 <= debounce < math.inf:
            raise ConfigurationError(f"debounce= is a time in seconds, got {debounce!r}")
        self._debounce = debounce
        self._capacity = capacity
        self.reset()
        _WORKERS.add(self)

    def reset(self) -> None:
        """Begin with nothing to do, and nobody who does it."""
        self._changed = threading.Condition()
        self._waiting: dict[Key, _Job] = {}  # the order is that of `number`, and of `due`
        self._running: dict[Key, _Running] = {}
        self._thread: threading.Thread | None = None
        self._count = 0
        self._hurried = 0

    # -- asking for work --

    async def _submit(self, key: Key, work: Work) -> None:
        """Let work be done; it is run without arguments, and what it returns is not looked at."""
        if not self._queue(key, work):
            await blocking(self._do_here, key, work)

    submit, asubmit = twins(_submit)

    def _queue(self, key: Key, work: Work) -> bool:
        with self._changed:
            if key in self._waiting:
                self._waiting[key].work = work
                return True
            # What has its key running has to wait for that, even if the queue is full.
            if len(self._waiting) >= self._capacity and key not in self._running:
                return False
            self._ensure_thread()
            self._waiting[key] = _Job(self._next_number(), monotonic() + self._debounce, work)
            self._changed.notify_all()
            return True

    def _next_number(self) -> int:
        self._count += 1
        return self._count

    def _ensure_thread(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            name = "langgraph-memory-background"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    # -- doing it --

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            self._do(*taken)

    def _take(self) -> tuple[Key, Work] | None:
        """Wait for what is due next; `None` ends the thread, since nothing waits."""
        with self._changed:
            while self._waiting:
                key = next((key for key in self._waiting if key not in self._running), None)
                if key is None:
                    self._changed.wait()
                    continue
                job = self._waiting[key]
                early = 0.0 if job.number <= self._hurried else job.due - monotonic()
                if early <= 0:
                    del self._waiting[key]
                    self._running[key] = _Running(job.number, threading.get_ident())
                    return key, job.work
                self._changed.wait(early)
            self._thread = None
            return None

    def _do_here(self, key: Key, work: Work) -> None:
        with self._changed:
            self._changed.wait_for(lambda: key not in self._running)
            self._running[key] = _Running(self._next_number(), threading.get_ident())
        self._do(key, work)

    def _do(self, key: Key, work: Work) -> None:
        started = perf_counter()
        try:
            # Not in the context of a run: its stream and its callbacks may have ended.
            contextvars.Context().run(work)
        except KeyboardInterrupt:
            raise
        except BaseException:  # also a SystemExit must not end the worker
            logger.exception("%s failed; what was said and done is kept", key)
        else:
            logger.info("%s took %.3f s", key, perf_counter() - started)
        finally:
            with self._changed:
                self._running.pop(key, None)  # work that forked finds none in the child
                self._changed.notify_all()

    # -- waiting for it --

    def hurry(self) -> int:
        """Begin with all that waits for further turns; return the number of the last work."""
        with self._changed:
            self._hurried = self._count
            if self._waiting:
                self._ensure_thread()
            self._changed.notify_all()
            return self._count

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was asked for before this call is done, or failed.

        Args:
            timeout: For how many seconds; `None` waits for ever.

        Returns:
            Whether all of it has ended. `False` at once if the call is itself part of it.
        """
        last = self.hurry()
        with self._changed:
            if self._is_mine():
                return False
            return self._changed.wait_for(lambda: self._is_done(last), timeout)

    async def aflush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109  # as `flush`
        """Async form of `flush`."""
        last = self.hurry()
        until = math.inf if timeout is None else monotonic() + timeout
        # A wait in a thread could not be cancelled, and the loop's end would wait for it.
        while not self._is_done(last):
            if monotonic() >= until or self._is_mine():
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True

    def drain(self, timeout: float) -> None:
        """Flush, and give up what is not done after `timeout` seconds: it is logged."""
        if self.flush(timeout):
            return
        with self._changed:
            left = [*self._running, *self._waiting]
            self._waiting.clear()
            self._changed.notify_all()
        if left:
            logger.warning(
                "%d jobs were not done within %g s: %s; messages are kept for the next turn of "
                "their thread, or for `extract`",
                len(left),
                timeout,
                _listed(left),
            )

    def discard(self, users: Collection[str], store: int, timeout: float) -> None:
        """Give up the work about some users that waits, and wait for what of it runs.

        Args:
            users: Their ids.
            store: The `id` of the store that it is about.
            timeout: For how many seconds it waits.
        """

        def is_theirs(key: Key) -> bool:
            return key.user in users and key.store == store

        with self._changed:
            for key in [key for key in self._waiting if is_theirs(key)]:
                del self._waiting[key]
            self._changed.notify_all()
            if not self._is_mine():
                self._changed.wait_for(lambda: not any(map(is_theirs, self._running)), timeout)

    def _is_done(self, last: int) -> bool:
        with self._changed:
            jobs: list[Any] = [*self._waiting.values(), *self._running.values()]
            return all(job.number > last for job in jobs)

    def _is_mine(self) -> bool:
        with self._changed:
            own = threading.get_ident()
            return any(running.thread == own for running in self._running.values())


def _listed(keys: Iterable[Key], most: int = 5) -> str:
    listed = [str(key) for key in keys]
    return ", ".join(listed[:most] + ["..."] * (len(listed) > most))


_WORKERS: WeakSet[Worker] = WeakSet()


def discard_work(users: Collection[str], store: object) -> None:
    """Give up all work about some users in a store, whichever memory asked for it."""
    for worker in list(_WORKERS):
        worker.discard(users, id(store), DRAIN_SECONDS)


def _drain_all() -> None:
    """Let work be done before the process ends, all of it within `DRAIN_SECONDS`."""
    workers = list(_WORKERS)
    until = monotonic() + DRAIN_SECONDS
    for worker in workers:
        worker.hurry()
    for worker in workers:
        worker.drain(max(until - monotonic(), 0.0))


def _reset_all() -> None:
    """In a forked child: the parent has the thread, and does what waits."""
    for worker in list(_WORKERS):
        worker.reset()


# `atexit` is too late: pools of threads, which models and LangChain use, refuse work by then. So
# is a thread that is no daemon: it is waited for after the pools, and without a limit.
getattr(threading, "_register_atexit", atexit.register)(_drain_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
