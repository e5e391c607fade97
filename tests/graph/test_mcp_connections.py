"""Who may keep a connection of the MCP server over HTTP open, and for how long: real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
import uvicorn  # after the skip

from langgraph_memory.mcp.connections import STATE, Connections, first_to_go

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
AS_USER = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
BIG = 64 * 1024 * 1024
"""Bytes of an answer that fits into no buffer on its way."""

HANGS = 60
"""Seconds after which a client that waits for its answer will get none."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class App:
    """Answers requests, after reading them whole; those that ask for `/held` when it is told to."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.begun = asyncio.Semaphore(0)
        self.ended = asyncio.Semaphore(0)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        scope["state"][STATE].known = b"authorization" in headers
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.disconnect":
            return
        self.begun.release()
        if scope["path"] == "/held":
            await self.free.wait()
        size = BIG if scope["path"] == "/big" else 2
        length = [(b"content-length", str(size).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        for sent in range(0, size, 1 << 20):
            part = b"x" * min(1 << 20, size - sent)
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        self.ended.release()


@dataclass
class Served:
    """A server, and those who come to it."""

    app: App
    port: int
    streams: list[Stream] = field(default_factory=list)

    async def connect(self, sent: bytes = b"", **more: Any) -> Stream:
        """Open a connection, and send something."""
        stream = await asyncio.open_connection("127.0.0.1", self.port, **more)
        self.streams.append(stream)
        stream[1].write(sent)
        await stream[1].drain()
        return stream

    async def hang_up(self) -> None:
        """Close all connections."""
        for _, writing in self.streams:
            writing.close()
        await asyncio.gather(
            *(each.wait_closed() for _, each in self.streams), return_exceptions=True
        )


@asynccontextmanager
async def served(most: int, patience: float = 30) -> AsyncIterator[Served]:
    app = App()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connections = Connections(most, patience)
        config = uvicorn.Config(
            app, http=connections.protocol(), ws="none", lifespan="off", log_level="critical"
        )
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve([listening]))
        clients = Served(app, listening.getsockname()[1])
        try:
            async with asyncio.timeout(HANGS):
                yield clients
        finally:
            app.free.set()
            await clients.hang_up()
            server.should_exit = server.force_exit = True
            await running


async def read_to_the_end(stream: Stream) -> bytes:
    """Return all that comes until the server hangs up."""
    said = b""
    try:
        while part := await stream[0].read(1 << 16):
            said += part
    except ConnectionError:
        pass
    return said


async def answered(stream: Stream, request: bytes = b"") -> bytes:
    """Return the answer to a request on an open connection."""
    reading, writing = stream
    writing.write(request)
    head = await reading.readuntil(b"\r\n\r\n")
    assert await reading.readexactly(2) == b"xx"
    return head


async def dribble(stream: Stream, begun: bytes, drop: bytes) -> bytes:
    """Send the beginning of a request, then a little for ever; return what the server says."""

    async def send() -> None:
        while True:
            stream[1].write(drop)
            await stream[1].drain()
            await asyncio.sleep(0.05)

    stream[1].write(begun)
    sending = asyncio.create_task(send())
    said = await read_to_the_end(stream)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    return said


@pytest.mark.parametrize(
    ("begun", "drop"),
    [
        (b"", b""),
        (b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"a"),
        (b"POST / HTTP/1.1\r\n", b"X-Slow: a\r\n"),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n",
            b"a",
        ),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    ],
    ids=["nothing", "header", "headers", "body", "chunks"],
)
async def test_a_request_that_does_not_come_to_an_end_is_ended(begun: bytes, drop: bytes) -> None:
    async with served(most=4, patience=0.5) as server:
        said = await dribble(await server.connect(), begun, drop)
        assert said.startswith(b"HTTP/1.1 408 ") or (drop and not said)  # the end came first
        assert b"200 OK" in await answered(await server.connect(), GET)


async def test_a_second_request_has_its_own_time_to_arrive() -> None:
    async with served(most=4, patience=0.5) as server:
        stream = await server.connect()
        assert b"200 OK" in await answered(stream, GET)
        said = await dribble(stream, b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"a")
        assert said.startswith(b"HTTP/1.1 408 ") or not said


async def test_a_client_that_does_not_read_its_answer_is_let_go() -> None:
    async with served(most=4, patience=0.5) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
            await server.app.ended.acquire()
        assert b"200 OK" in await answered(await server.connect(), GET)


async def test_an_answer_may_take_longer_than_a_client_has() -> None:
    async with served(most=4, patience=0.2) as server:
        stream = await server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0.6)
        server.app.free.set()
        assert b"200 OK" in await answered(stream)


@pytest.mark.parametrize(
    "sent", [b"", b"POST / HTTP/1.1\r\nX-Slow: ", GET], ids=["nothing", "some", "all"]
)
async def test_those_without_a_token_make_room_for_anybody(sent: bytes) -> None:
    async with served(most=8) as server:
        user = await server.connect()
        await answered(user, AS_USER)
        await server.app.begun.acquire()
        held = await server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
        await server.app.begun.acquire()
        others = [await server.connect(sent) for _ in range(30)]
        assert b"200 OK" in await answered(await server.connect(), AS_USER)
        assert b"200 OK" in await answered(user, AS_USER), "the user's own connection was closed"
        assert b"HTTP" in await read_to_the_end(others[0]) or sent != GET
        server.app.free.set()
        assert b"200 OK" in await answered(held), "a request was cut off"


async def test_slow_readers_make_room_for_others() -> None:
    async with served(most=4) as server:
        asking = b"GET /big HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
        slow = [await server.connect(asking, limit=1024) for _ in range(4)]
        for _ in slow:
            await server.app.begun.acquire()
        new = await server.connect()
        assert b"200 OK" in await answered(new, GET)


async def test_where_all_are_answered_one_more_is_told_to_come_again() -> None:
    async with served(most=3) as server:
        held = [await server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(3)]
        for _ in held:
            await server.app.begun.acquire()
        said = await read_to_the_end(await server.connect(AS_USER))
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in said
        server.app.free.set()
        for stream in held:
            assert b"200 OK" in await answered(stream)
        assert b"200 OK" in await answered(await server.connect(), AS_USER)


@dataclass
class Open:
    known: bool
    address: str
    since: float


opened = st.builds(Open, st.booleans(), st.sampled_from("abc"), st.integers(0, 9).map(float))


@pytest.mark.slow
@given(st.lists(opened))
def test_the_first_to_go_is_of_those_who_take_the_most_room(waiting: list[Open]) -> None:
    going = first_to_go(waiting)
    if not waiting:
        assert going is None
        return
    assert going is not None
    strangers = [each for each in waiting if not each.known]
    among = strangers or waiting
    assert going in among

    def of(address: str) -> list[Open]:
        return [each for each in among if each.address == address]

    assert all(len(of(going.address)) >= len(of(address)) for address in "abc")
    assert going.since == min(each.since for each in of(going.address))
