"""Who may use the MCP server over HTTP, how often, until when; others are not in the way."""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory import ChromaStore, ConfigurationError, Memory
from langgraph_memory.mcp.tokens import TokensFile, read_tokens
from langgraph_memory.testing import HashingEmbeddings

pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
import httpx  # after the skip
import mcp  # as above

from langgraph_memory.mcp.http import LARGEST, PerMinute, Tokens, http_app
from langgraph_memory.mcp.server import memory_server
from tests.graph.test_mcp import (
    ACCEPT,
    ANA,
    AS_ANA,
    BO,
    LIST_TOOLS,
    TOKENS,
    call,
    http_server,
    in_this_process,
    over_http,
)

PAST, FUTURE = "2020-02-29", "9999-12-31"


@pytest.fixture
def words() -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        yield memory


def write(file: Path, tokens: Any) -> Path:
    """Write a file of tokens as a careful editor does: it is never there in part."""
    new = file.with_suffix(".new")
    new.write_text(tokens if isinstance(tokens, str) else json.dumps(tokens), "utf-8")
    os.replace(new, file)
    return file


def reason(error: Exception) -> str:
    """Return what a client shows when it is refused."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return str(error)


async def refusal(url: str, token: str) -> str:
    """Return what the official client says when a server refuses it."""
    with pytest.raises((mcp.MCPError, ExceptionGroup)) as refused:
        async with over_http(url, token) as client:
            await client.list_tools()
    return reason(refused.value)


@pytest.mark.slow
async def test_300_idle_connections_keep_nobody_with_a_token_out(tmp_path: Path) -> None:
    file = write(tmp_path / "tokens.json", TOKENS)
    options = ["--path", str(tmp_path / "memory"), "--tokens", str(file)]
    with ExitStack() as idle, http_server(*options, files=256) as url:
        place = urlsplit(url).hostname, urlsplit(url).port
        async with over_http(url, ANA) as ana:
            await call(ana, "remember", text="Keeps bees")
            for number in range(300):
                stranger = idle.enter_context(socket.create_connection(place))
                if number % 2:
                    stranger.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            assert "Keeps bees" in await call(ana, "recall", query="bees")
            async with over_http(url, BO) as bo:
                assert "Nothing is saved" in await call(bo, "list_memories")
        # A file that changes counts at once, while they are still there.
        write(file, {ANA: {"user": "ana", "until": PAST}, "eve-0123456789abcdef": "eve"})
        assert "has ended. Ask who runs the server" in await refusal(url, ANA)
        assert "is not known here" in await refusal(url, BO)
        async with over_http(url, "eve-0123456789abcdef") as eve:
            assert "Nothing is saved" in await call(eve, "list_memories")


@pytest.mark.slow
async def test_a_client_that_asks_too_often_is_told_when_to_come_again(
    tmp_path: Path,
) -> None:
    file = write(tmp_path / "tokens.json", TOKENS)
    options = ["--path", str(tmp_path / "memory"), "--tokens", str(file)]
    with http_server(*options, "--requests-per-minute", "8") as url:
        async with httpx.AsyncClient(headers=AS_ANA) as http:
            said = [await http.post(url, json=LIST_TOOLS) for _ in range(9)]
        assert [each.status_code for each in said] == [200] * 8 + [429]
        assert 0 < int(said[-1].headers["retry-after"]) <= 60
        assert "Try again in" in await refusal(url, ANA)
        async with over_http(url, BO) as bo:
            assert (await bo.list_tools()).tools, "another token was counted with it"


@given(
    st.integers(1, 5), st.lists(st.tuples(st.sampled_from(b"ab"), st.floats(0, 40)), max_size=60)
)
def test_in_no_minute_there_are_more_than_are_allowed(
    most: int, asked: list[tuple[int, float]]
) -> None:
    rate, now, let = PerMinute(most), 1_000.0, dict[int, list[float]]()
    for who, passed in asked:
        now += passed
        wait = rate.wait(bytes([who]), now)
        before = [time for time in let.get(who, []) if time > now - 60]
        assert (wait == 0) == (len(before) < most)
        if wait == 0:
            let.setdefault(who, []).append(now)
        else:
            assert now + wait == pytest.approx(before[0] + 60)


async def test_a_token_has_an_end(words: Memory, tmp_path: Path, caplog: Any) -> None:
    tokens = {
        ANA: {"user": "ana", "until": "2020-01-01T12:00:00+02:00"},
        BO: {"user": "bo", "until": FUTURE},
    }
    users = read_tokens(write(tmp_path / "tokens.json", tokens), {})
    app = http_app(memory_server(words), Tokens(users))
    transport = httpx.ASGITransport(app, client=("192.0.2.7", 50_000))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost:8300") as http,
    ):
        ended = await http.post("/mcp", json=LIST_TOOLS, headers=AS_ANA)
        assert ended.status_code == 401
        said = ended.json()["error"]["message"]
        assert said == "The token has ended. Ask who runs the server for a new one."
        assert said in ended.headers["www-authenticate"]
        assert "refused a request from 192.0.2.7: the token of 'ana' has ended" in caplog.messages
        assert ANA not in caplog.text
        as_bo = {**ACCEPT, "Authorization": f"Bearer {BO}"}
        assert (await http.post("/mcp", json=LIST_TOOLS, headers=as_bo)).status_code == 200


@pytest.mark.parametrize(
    "until",
    ["tomorrow", "", "2027-02-30", "2027-01-31T18:00:00", 5, None],
    ids=["word", "empty", "no-day", "no-offset", "number", "none"],
)
def test_an_end_that_is_no_moment_is_refused(until: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "tokens.json", {ANA: {"user": "ana", "until": until}})
    with pytest.raises(ConfigurationError, match="2027-01-31") as refused:
        read_tokens(file, {})
    assert ANA not in str(refused.value)


@pytest.mark.parametrize("entry", [{"user": "ana", "untill": FUTURE}, {"until": FUTURE}, ["ana"]])
def test_a_misspelt_end_is_not_taken_for_none(entry: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="until"):
        read_tokens(write(tmp_path / "tokens.json", {ANA: entry}), {})


async def test_a_day_is_good_to_its_end() -> None:
    bearer = read_tokens(
        None, {"LANGGRAPH_MEMORY_TOKENS": json.dumps({ANA: {"user": "ana", "until": "2027-01-31"}})}
    )
    found = await Tokens(bearer).verify_token(ANA)
    assert found is not None
    assert found.expires_at == 1_801_439_999  # 2027-01-31T23:59:59Z


@pytest.mark.parametrize(
    "broken",
    ["{", "", '{"short": "ana"}', '{"0123456789abcdef": ""}', None],
    ids=["half", "empty", "short", "no-user", "gone"],
)
async def test_tokens_stay_as_they_were_when_their_file_is_broken(
    broken: str | None, tmp_path: Path, caplog: Any
) -> None:
    file = TokensFile(write(tmp_path / "tokens.json", {ANA: "ana"}))
    tokens = Tokens(file.bearers, changed=file.changed)
    if broken is None:
        (tmp_path / "tokens.json").unlink()
    else:
        write(tmp_path / "tokens.json", broken)
    for _ in range(3):
        assert (await tokens.verify_token(ANA)) is not None
    [told] = caplog.messages
    assert told.startswith("the tokens stay as they were: ")
    assert "0123456789abcdef" not in told
    write(tmp_path / "tokens.json", {})
    assert (await tokens.verify_token(ANA)) is None, "the last token was not withdrawn"


async def test_a_request_that_is_too_large_is_refused(words: Memory) -> None:
    async def parts() -> Any:
        for _ in range(5):
            yield b" " * (1 << 20)

    async with in_this_process(words) as http:
        large = await http.post("/mcp", content=b" " * (LARGEST + 1), headers=AS_ANA)
        assert large.status_code == 413
        assert "too large" in large.json()["error"]["message"]
        parted = await http.post("/mcp", content=parts(), headers=AS_ANA)
        assert parted.status_code == 413
        assert parted.content == large.content


async def test_headers_that_are_too_large_are_refused_however_they_arrive(
    words: Memory, tmp_path: Path
) -> None:
    async with in_this_process(words) as http:
        for size, status in ((15_000, 200), (17_000, 431), (100_000, 431)):
            headers = {**AS_ANA, "X-Long": "a" * size}
            assert (await http.post("/mcp", json=LIST_TOOLS, headers=headers)).status_code == status
        refused = await http.post(f"/mcp?{'a' * 17_000}", json=LIST_TOOLS, headers=AS_ANA)
        assert refused.status_code == 431
        assert "16384 bytes at most" in refused.json()["error"]["message"]


def test_a_client_that_sends_all_before_it_reads_is_told_what_is_too_large(tmp_path: Path) -> None:
    tokens = write(tmp_path / "tokens.json", TOKENS)
    with http_server("--path", str(tmp_path / "memory"), "--tokens", str(tokens)) as url:
        for size in (LARGEST + 1, 4 * LARGEST):
            sent = urllib.request.Request(url, b" " * size, AS_ANA)
            with pytest.raises(HTTPError) as refused:  # a connection that was reset is none
                urllib.request.urlopen(sent)
            with refused.value as answer:
                assert answer.code == 413
                assert "too large" in json.load(answer)["error"]["message"]
        assert b"100 Continue" not in asked_to_go_on(url, 4 * LARGEST)


def asked_to_go_on(url: str, size: int) -> bytes:
    """Return what is said to a client that asks before it sends a body."""
    place = urlsplit(url)
    head = f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {ANA}\r\n"
    head += f"Content-Length: {size}\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection((str(place.hostname), place.port or 80)) as client:
        client.sendall(head.encode())
        return client.recv(1 << 16)


async def test_a_request_that_breaks_off_is_no_error_of_the_server(
    words: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    app = http_app(memory_server(words), Tokens(TOKENS))
    headers = [(b"host", b"localhost:1"), (b"authorization", f"Bearer {ANA}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    came = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    said: list[Any] = []

    async def receive() -> Any:
        return came.pop(0)

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope, receive, send)
    assert said == caplog.messages == []


async def test_no_stream_is_held_open_where_nothing_would_be_told(words: Memory) -> None:
    async with in_this_process(words) as http:
        refused = await http.get("/mcp", headers=AS_ANA)
        assert refused.status_code == 405
        assert refused.headers["allow"] == "POST"


async def test_guesses_do_not_fill_the_log(words: Memory, caplog: Any) -> None:
    async with in_this_process(words) as http:
        for number in range(100):
            guess = {**ACCEPT, "Authorization": f"Bearer guess-number-{number:05}"}
            assert (await http.post("/mcp", json=LIST_TOOLS, headers=guess)).status_code == 401
    assert len(caplog.messages) == 60
    assert "guess-number" not in caplog.text
