"""Items that expire: what reads prolong is written a little later, and a thread that sweeps.

An item that is put with a `ttl` (minutes) ends so long after it was last put or, where reads
refresh it, read. A read writes nothing: the new end is kept in memory, where all reads see it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from langgraph.store.base import TTLConfig

from langgraph_memory.errors import ConfigurationError, LangGraphMemoryError
from langgraph_memory.store import Address, check_ttl

logger = logging.getLogger(__name__)

WRITE_AFTER = 60.0
"""Seconds until a prolonged life is written: what a killed process can lose of it."""

SWEEP_EVERY = 5.0
"""Minutes between two sweeps where nothing else is asked for, as in LangGraph's own stores."""


def check_ttl_config(config: TTLConfig | None) -> None:
    """Refuse a TTL configuration with unknown keys or impossible times.

    Raises:
        ConfigurationError: What is wrong with it.
    """
    if config is None:
        return
    if not isinstance(config, Mapping):
        raise ConfigurationError(f"ttl= is LangGraph's TTLConfig, a dict; got {config!r}")
    if unknown := set(config) - TTLConfig.__annotations__.keys():
        raise ConfigurationError(
            f"ttl= takes {', '.join(sorted(TTLConfig.__annotations__))}; got {sorted(unknown)}"
        )
    for name in ("default_ttl", "sweep_interval_minutes"):
        if config.get(name) is not None:
            check_ttl(config.get(name))


class Prolonged:
    """The ends of lives that reads have moved and that are not written yet.

    Args:
        write: Called `WRITE_AFTER` seconds after the first of them came.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._ends: dict[Address, float] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def get(self, address: Address, default: float) -> float:
        """Return when an item ends, in seconds since 1970; `default` if no read prolonged it."""
        return self._ends.get(address, default)

    def update(self, ends: Mapping[Address, float]) -> None:
        """Note new ends, of which the later one counts."""
        with self._lock:
            for address, end in ends.items():
                self._ends[address] = max(end, self._ends.get(address, end))
            if self._ends and self._timer is None:
                self._timer = threading.Timer(WRITE_AFTER, self._due)
                self._timer.daemon = True
                self._timer.start()

    def discard(self, addresses: Iterable[Address]) -> None:
        """Forget items that were put anew or deleted."""
        if self._ends:
            with self._lock:
                for address in addresses:
                    self._ends.pop(address, None)

    def take(self) -> dict[Address, float]:
        """Return all there are, for writing, and keep none."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, taken, self._ends = None, self._ends, {}
            return taken

    def _due(self) -> None:
        try:
            self._write()
        except LangGraphMemoryError:
            logger.warning("prolonged lives of items could not be written", exc_info=True)


class Sweeper:
    """A thread that calls `sweep` again and again, until it is stopped."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._done: Future[None] = Future()

    def start(self, minutes: float) -> Future[None]:
        """Start the thread, if it does not run; cancelling the future stops it."""
        if self._thread is not None and self._thread.is_alive() and not self._stop.is_set():
            return self._done
        # Its own: a thread that was told to stop may still be sweeping.
        self._stop = stop = threading.Event()
        self._done = Future()
        self._done.add_done_callback(lambda done: stop.set() if done.cancelled() else None)
        self._thread = threading.Thread(
            target=self._run,
            args=(min(minutes * 60, threading.TIMEOUT_MAX), stop, self._done),
            name="langgraph-memory-sweeper",
            daemon=True,
        )
        self._thread.start()
        return self._done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop the thread; return whether it ended within `timeout` seconds."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
            return not self._thread.is_alive()
        return True

    def _run(self, seconds: float, stop: threading.Event, done: Future[Any]) -> None:
        while not stop.wait(seconds):
            try:
                swept = self._sweep()
            except LangGraphMemoryError:
                logger.warning("a sweep of expired items failed", exc_info=True)
            else:
                logger.debug("swept %d expired items", swept)
        with suppress(InvalidStateError):  # it was cancelled
            done.set_result(None)
