"""Whether something is saved now or kept in the outbox, and how it is delivered from there.

It is kept if the store's server is away, if that is known already, so that no run waits for it
again, and if something of the same thread waits, so that the order stays. Delivering is saving once
more, which writes nothing twice; an entry is removed after it was delivered.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_memory.errors import ConfigurationError, StoreAwayError
from langgraph_memory.memory.outbox import Content, Entry, Outbox
from langgraph_memory.twins import blocking, twins

logger = logging.getLogger(__name__)

Deliver = Callable[[Entry], object]
"""Saves what an entry says."""


@dataclass(frozen=True, slots=True)
class Letter:
    """How something is kept that cannot be saved, and delivered later."""

    place: str
    """The server, as `place_of` names it."""
    user: str
    thread_id: str
    entry: Callable[[Sequence[Content]], Entry | None]
    """Makes of it what is kept, given what waits of the same thread; `None` if all of it does."""
    deliver: Deliver


_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 30.0
_TURN_SECONDS = 1.0
_CLOSING_SECONDS = 30.0


class Delivery:
    """An outbox, and a thread that lives as long as something waits in it for a server.

    Args:
        outbox: The file.
    """

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self._starting = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._away: set[str] = set()
        self._opened: set[str] = set()
        self._closed = threading.Event()

    # -- saving --

    async def _save(self, letter: Letter, save: Callable[[], Awaitable[object]]) -> bool:
        """Save something, or keep it.

        Args:
            letter: How it is kept, and delivered later.
            save: Returns what saves it, which awaits an `Either` alone.

        Returns:
            Whether it was saved; else it is kept, on disk.

        Raises:
            StoreError: If it cannot be kept either.
            Exception: What `save` raises, unless the server is away.
        """
        away = None
        if not await blocking(self._must_wait, letter):
            try:
                await save()
            except StoreAwayError as error:
                away = error
            else:
                return True
        await blocking(self._keep, letter, away)
        return False

    save, asave = twins(_save)

    def _must_wait(self, letter: Letter) -> bool:
        own = letter.place, letter.user, letter.thread_id
        return letter.place in self._away or self.outbox.waits(*own)

    def _keep(self, letter: Letter, error: StoreAwayError | None = None) -> None:
        waiting = self.outbox.of_thread(letter.place, letter.user, letter.thread_id)
        entry = letter.entry([entry.content for entry in waiting])
        if entry is not None:
            self.outbox.keep(letter.place, entry)
        if error is not None and letter.place not in self._away:
            self._away.add(letter.place)
            logger.warning(
                "%s: what runs are to save waits in %s until the server is back",
                error,
                self.outbox.path,
            )
        self.start(letter.place, letter.deliver)

    # -- delivering --

    def start(self, place: str, deliver: Deliver) -> None:
        """Deliver what waits, in the background."""
        with self._starting:
            running = self._threads.get(place)
            if self._closed.is_set() or (running is not None and running.is_alive()):
                return
            thread = threading.Thread(
                target=contextvars.Context().run,  # not in that of a run, which may end before
                args=(self._run, place, deliver),
                name="langgraph-memory-outbox",
                daemon=True,
            )
            self._threads[place] = thread
            thread.start()

    def open(self, place: str, deliver: Deliver) -> None:
        """Begin with what an earlier process has left, once, in the background."""
        if place not in self._opened:
            self.start(place, deliver)

    def deliver(self, place: str, deliver: Deliver) -> int:
        """Deliver all that waits, now; return how many entries.

        Raises:
            StoreAwayError: If the server is away. What is delivered by then stays so.
        """
        delivered = 0
        while self._deliver_one(place, deliver, patience=-1):
            delivered += 1
        return delivered

    def close(self) -> None:
        """Stop; what waits is delivered by whoever opens the file next."""
        self._closed.set()
        for place, thread in list(self._threads.items()):
            if place not in self._away:  # else it waits for the server
                thread.join(_CLOSING_SECONDS)

    def _run(self, place: str, deliver: Deliver) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._closed.is_set():
            try:
                self._open(place)
                if self._deliver_one(place, deliver):
                    pause = _FIRST_PAUSE_SECONDS
                    continue
                with self._starting:  # whoever keeps something now starts a thread of its own
                    if self.outbox.first(place) is None:
                        del self._threads[place]
                        return
            except StoreAwayError:
                self._away.add(place)
            except TimeoutError:
                pass  # another process delivers
            except Exception:  # of the file: the disk is full, say
                if not self._closed.is_set():
                    logger.exception("the outbox %s cannot be delivered now", self.outbox.path)
            self._closed.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _open(self, place: str) -> None:
        """Try once more what an earlier process could not deliver; tell of what nobody delivers."""
        if place in self._opened:
            return
        self.outbox.retry(place)
        for other, count in self.outbox.places().items():
            if other != place:
                logger.warning(
                    "%d entries of the outbox %s wait for another server, %s; if that is this one "
                    "under another name, call Outbox.move",
                    count,
                    self.outbox.path,
                    other,
                )
        self._opened.add(place)

    def _deliver_one(self, place: str, deliver: Deliver, patience: float = _TURN_SECONDS) -> bool:
        """Deliver the next entry; return whether there was one."""
        with self.outbox.turn(patience):
            entry = self.outbox.first(place)
            if entry is None:
                self._away.discard(place)
                return False
            try:
                deliver(entry)
            except StoreAwayError:
                raise
            except Exception as error:
                if self._closed.is_set():  # the store may be closed by now
                    raise
                logger.exception("an entry of the outbox %s is set aside", self.outbox.path)
                self.outbox.set_aside(entry, error)
            else:
                self._away.discard(place)
                self.outbox.remove(entry)
            return True


def place_of(store: Any) -> str:
    """Return by what the server of a store is known.

    Raises:
        ConfigurationError: If no server keeps it.
    """
    place = getattr(store, "place", None)
    if not isinstance(place, str):
        raise ConfigurationError(
            "outbox= is for a memory whose store is on a Chroma server, "
            "ChromaStore('https://...'): of another nobody can tell that it is away, and a folder "
            "on this machine is not"
        )
    return place
