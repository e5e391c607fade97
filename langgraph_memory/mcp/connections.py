"""The connections of an MCP server over HTTP: so many at most, and none waits for its client long.

uvicorn waits for ever for the rest of a request, and its `limit_concurrency` counts connections
that ask nothing: a few hundred of those would keep everybody out. Here a connection is in the way
only while it is answered. As long as it is the client's turn (to send the rest of a request, to
read the answer, to ask again) it has a deadline, and it makes room for a new one where there are
too many: first those that never showed a good token.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 128
"""Open at once: with `SPARE_FILES` they are the 256 open files that macOS allows a process."""
PATIENCE = 20.0
"""Seconds that a client has to send a request whole, or to go on reading an answer."""
SPARE_FILES = 128
"""Open files beside those of connections: the memory's (25 of a small one), and what is accepted at
once before others have made room."""
BACKLOG = 64
"""Connections that are accepted at once."""
STATE = "connection"
"""The name of a request's connection in the state of its scope."""

_NO_REQUEST = "The request did not arrive in time. Send it again, whole."
_FULL = "The server is answering as many requests as it can. Try again in a second."


class Waiting(Protocol):
    """A connection whose client has its turn."""

    known: bool
    """Whether its last request had a good token."""
    address: str
    since: float
    """When its client's turn began, in seconds of any clock."""


W = TypeVar("W", bound=Waiting)


def first_to_go(waiting: Iterable[W]) -> W | None:
    """Return the connection that makes room for another; `None` if none waits.

    Those without a token go first; of them those of the address that has the most, so that one that
    opens many pushes out its own; of those the one that has waited longest.
    """
    these = list(waiting)
    many = Counter((each.known, each.address) for each in these)

    def place(one: Waiting) -> tuple[bool, int, float]:
        return one.known, -many[one.known, one.address], one.since

    return min(these, key=place, default=None)


def open_files() -> float:
    """Return how many files this process may have open; infinity where nothing says so."""
    if sys.platform == "win32":
        return math.inf
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if soft == resource.RLIM_INFINITY else soft


class Connections:
    """The open connections of one server.

    Args:
        most: How many there are at most, beside those that are told that there is no room.
        patience: Seconds that a client has for its turn.
    """

    def __init__(self, most: int = CONNECTIONS, patience: float = PATIENCE) -> None:
        self._most = most
        self.patience = patience
        self._open: set[_Connection] = set()

    def protocol(self) -> type[asyncio.Protocol]:
        """Return what speaks HTTP on these connections, for `uvicorn.Config(http=...)`."""
        return type("Connection", (_Connection,), {"pool": self})

    def _enter(self, new: _Connection) -> None:
        """Take a connection in; where there are too many, another is ended, or it is told so."""
        if len(self._open) >= self._most:
            going = first_to_go(each for each in self._open if each.waits)
            if going is None:
                new.app = _no_room
            else:
                going.end()
        self._open.add(new)

    def _leave(self, gone: _Connection) -> None:
        """Forget a connection, once or more."""
        self._open.discard(gone)


class _Connection(H11Protocol):
    """One connection, as uvicorn has it, with a deadline while it is the client's turn."""

    pool: Connections
    known = False
    address = ""
    since = 0.0
    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.app_state = {**self.app_state, STATE: self}  # copied into the scope of each request

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn."""
        cycle = self.cycle
        return cycle is None or cycle.more_body or cycle.response_complete or self.flow.write_paused

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.pool._enter(self)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self.pool._leave(self)
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._stop()  # what comes next has its own time
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def end(self) -> None:
        """Close it now; what is still to be sent is dropped."""
        self.pool._leave(self)
        self.transport.abort()

    def _look(self) -> None:
        """Let the deadline run while it is the client's turn, and only then."""
        if not self.waits:
            self._stop()
        elif self._deadline is None:
            self.since = self.loop.time()
            self._deadline = self.loop.call_later(self.pool.patience, self._too_late)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        asking = self.cycle is None or not self.cycle.response_started
        if asking and not self.transport.is_closing():
            self.transport.write(_REQUEST_TIMEOUT)
        if self.transport.get_write_buffer_size():
            self.end()  # to close is to wait until all is read
        else:
            self.transport.close()


async def _no_room(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"retry-after", b"1"), (b"connection", b"close"), (b"content-type", b"text/plain")]
    headers.append((b"content-length", str(len(_FULL)).encode()))
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": _FULL.encode()})


_REQUEST_TIMEOUT = (
    "HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n"
    f"content-length: {len(_NO_REQUEST)}\r\n\r\n{_NO_REQUEST}"
).encode()
