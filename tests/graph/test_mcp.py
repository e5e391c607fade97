"""The MCP server as clients meet it: the official client in this process, over stdio, over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.store.base import GetOp

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Memory,
    UniversalSentenceEncoder,
    memory_tools,
)
from langgraph_memory.retrieval.block import SECTIONS
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.servers import START_SECONDS, ChromaServer, shared_server

pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
import mcp  # after the skip
from mcp.client.streamable_http import streamable_http_client  # as above
from mcp.shared._httpx_utils import create_mcp_http_client  # as above

from examples import mcp_client  # as above
from langgraph_memory.mcp.http import Tokens, http_app
from langgraph_memory.mcp.server import memory_server

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "langgraph_memory.cli", "mcp"]
TOKENS = {"ana-0123456789abcdef": "ana", "bo-0123456789abcdef": "bo"}
ANA, BO = TOKENS
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
AS_ANA = {"Authorization": f"Bearer {ANA}", **ACCEPT}

Connect = Callable[[], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def over_stdio(*options: str) -> AsyncIterator[Any]:
    """Connect to a server process of a user's own."""
    started = mcp.StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *options], cwd=ROOT)
    async with mcp.Client(started, read_timeout_seconds=START_SECONDS) as client:
        yield client


@contextmanager
def http_server(*options: str, files: int | None = None) -> Iterator[str]:
    """Start a server process, which may have so many files open; give its URL."""
    command = [*COMMAND, *options, "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said, _, url = process.stdout.readline().partition(" ")
            assert said == "serving", "the server did not start"
            if files is not None:
                import resource  # there is none on Windows

                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (files, files))
            yield url.strip()
        finally:
            process.terminate()
            assert process.wait(30) == 0, "the server did not close its memory"


@asynccontextmanager
async def over_http(url: str, token: str, mode: str = "auto") -> AsyncIterator[Any]:
    """Connect to a server with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(url, http_client=http)
        async with mcp.Client(transport, mode=mode, read_timeout_seconds=START_SECONDS) as client:
            yield client


@pytest.fixture(scope="module")
def shared_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("mcp")
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps(TOKENS), "utf-8")
    with http_server("--path", str(folder / "memory"), "--tokens", str(tokens)) as url:
        yield url


@pytest.fixture
def words() -> Iterator[Memory]:
    """A memory where the meaning of a text does not matter."""
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        yield memory


@pytest.fixture(params=["in-process", "http", "http-legacy"])
def connect(request: pytest.FixtureRequest, encoder: UniversalSentenceEncoder) -> Iterator[Connect]:
    """Connect as Ana; `legacy` is the handshake of clients from before 2026."""
    if request.param == "in-process":
        with Memory(ChromaStore.in_memory(embed=encoder)) as memory:
            yield lambda: mcp.Client(memory_server(memory, "ana"))
        return
    url: str = request.getfixturevalue("shared_url")
    mode = "legacy" if request.param.endswith("legacy") else "auto"
    yield lambda: over_http(url, ANA, mode)


async def call(client: Any, tool: str, **arguments: Any) -> str:
    """Call a tool that has to succeed; return what it says."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return str(result.content[0].text)


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return str(result.content[0].text)


async def read(client: Any, uri: str) -> str:
    return str((await client.read_resource(uri)).contents[0].text)


async def test_a_client_remembers_recalls_lists_and_forgets(connect: Connect) -> None:
    async with connect() as client:
        saved = await call(client, "remember", text="Drinks oat milk", key="milk")
        assert "Drinks oat milk" in await call(client, "recall", query="Which milk does she drink?")
        assert "takes the place of" in await call(
            client, "remember", text="Drinks soy milk", key="milk"
        )
        listed = await call(client, "list_memories")
        assert "Drinks soy milk" in listed
        assert "Drinks oat milk" not in listed
        handle = saved.removeprefix("Saved as ").split(":")[0]
        assert "Deleted: Drinks soy milk" in await call(client, "forget", id=handle)
        assert "Drinks soy milk" not in await call(client, "list_memories")


async def test_the_tools_are_described_to_the_model_without_a_user(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == [
            "remember",
            "recall",
            "profile",
            "edit",
            "forget",
            "list_memories",
        ]
        assert set(tools["remember"].input_schema["properties"]) == {"text", "kind", "key"}
        assert tools["remember"].input_schema["required"] == ["text"]
        assert not any("user" in tool.input_schema["properties"] for tool in tools.values())
        assert all(tool.description for tool in tools.values())
        assert tools["forget"].annotations.destructive_hint
        assert tools["recall"].annotations.read_only_hint
        assert tools["profile"].annotations.read_only_hint
        assert not tools["edit"].annotations.read_only_hint
        assert "recall before you answer" in client.instructions


async def test_a_note_that_was_saved_wrongly_is_corrected(connect: Connect) -> None:
    async with connect() as client:
        saved = await call(client, "remember", text="Plays the viola da gamba", key="instrument")
        handle = saved.removeprefix("Saved as ").split(":")[0]
        assert "Nothing was changed" in await refused(client, "edit", id=handle)
        assert "it is a question" in await refused(client, "edit", id=handle, text="Which one?")
        changed = await call(client, "edit", id=handle, text="Plays the violin")
        assert "Plays the violin (before: Plays the viola da gamba)" in changed
        await call(client, "edit", id=handle, kind="preference")
        listed = await call(client, "list_memories")
        assert "Plays the violin" in listed
        assert "viola da gamba" not in listed
        await call(client, "remember", text="Plays chess", kind="preference")
        assert "says this already" in await refused(client, "edit", id=handle, text="Plays chess")
        await call(client, "forget", id=handle)


async def test_a_profile_is_what_is_known_whatever_is_asked(words: Memory) -> None:
    async with mcp.Client(memory_server(words, "ana")) as client:
        empty = await call(client, "profile")
        assert "Nothing is saved yet" in empty
        words.remember("Wants short answers", user="ana", kind="instruction")
        words.remember("Lives in Lima", user="ana", slot="home city")
        words.log_turn("I sing in a choir on Mondays.", user="ana", thread_id="1")
        words.remember("Lives in Oslo", user="bo", slot="home city")
        told = await call(client, "profile")
        lines = told.splitlines()
        assert all(text in told for text in ("Wants short answers", "Lives in Lima", "choir"))
        assert "Oslo" not in told
        assert "Nothing close" not in told
        block = words.recall("", user="ana").prompt().splitlines()
        sections = [line for line in block if line in SECTIONS]
        assert [line for line in lines if line in SECTIONS] == sections != []
        assert await call(client, "recall") == told
        assert await call(client, "recall", query=" ") == told


@pytest.mark.parametrize("rules", [{"review": True}, {"accept": lambda candidate: candidate}])
async def test_what_is_decided_before_it_is_saved_is_not_changed_behind_it(
    rules: dict[str, Any],
) -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), **rules) as memory:
        note = memory.remember("Lives in Lima", user="ana").record
        async with mcp.Client(memory_server(memory, "ana")) as client:
            told = await refused(client, "edit", id=note.id, text="Lives in Oslo")
            assert "Nothing was changed" in told
        assert [note.text for note in memory.list(user="ana")] == ["Lives in Lima"]


async def test_notes_are_resources(connect: Connect) -> None:
    async with connect() as client:
        handle = (await call(client, "remember", text="Keeps bees")).split()[2].rstrip(":")
        listed = (await client.list_resources()).resources
        assert str(listed[0].uri) == "memory://notes"
        [note] = [each for each in listed if each.name == "Keeps bees"]
        assert f"/{handle}" in str(note.uri)
        assert "Keeps bees" in await read(client, "memory://notes")
        assert "Keeps bees" in await read(client, str(note.uri))
        await call(client, "forget", id=handle)
        with pytest.raises(mcp.MCPError, match="There is no note"):
            await read(client, str(note.uri))


async def test_what_the_model_did_wrong_is_answered_by_a_sentence(connect: Connect) -> None:
    async with connect() as client:
        assert "it is a question" in await refused(client, "remember", text="Which beans?")
        assert "Nothing saved has the id '12345678'" in await refused(
            client, "forget", id="12345678"
        )
        assert "Nothing was done: text: " in await refused(client, "remember")
        assert "nothing was changed" in await refused(client, "edit", id="12345678", text="Is Ana")
        assert "There is no tool 'delete_all'" in await refused(client, "delete_all")


async def test_each_token_reaches_its_own_user_and_no_argument_another(shared_url: str) -> None:
    async with over_http(shared_url, ANA) as ana, over_http(shared_url, BO) as bo:
        saved = await call(ana, "remember", text="Allergic to hazelnuts", user="bo", user_id="bo")
        assert "hazelnuts" in await call(ana, "recall", query="hazelnut allergy")
        assert "hazelnuts" not in await call(bo, "recall", query="hazelnut allergy", user="ana")
        assert "hazelnuts" not in await read(bo, "memory://notes")
        [uri] = [
            str(each.uri)
            for each in (await ana.list_resources()).resources
            if "hazelnuts" in each.name
        ]
        with pytest.raises(mcp.MCPError, match="There is no note"):
            await read(bo, uri)
        handle = saved.removeprefix("Saved as ").split(":")[0]
        assert "nothing was deleted" in await refused(bo, "forget", id=handle)
        assert "hazelnuts" in await read(ana, uri)


@asynccontextmanager
async def in_this_process(
    memory: Memory, user: str | None = None, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Reach an HTTP server without a socket, from the address 192.0.2.7."""
    app = http_app(memory_server(memory, user), Tokens(TOKENS), **options)
    transport = httpx.ASGITransport(app, client=("192.0.2.7", 50_000))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost:8300") as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({}, "it has no token"),
        ({"Authorization": "Bearer bo"}, "its token is nobody's"),
        ({"Authorization": f"Bearer {ANA}x"}, "its token is nobody's"),
        ({"Authorization": f"Basic {ANA}"}, "its token is nobody's"),
    ],
    ids=["none", "short", "nearly", "basic"],
)
async def test_without_a_token_of_a_user_nothing_is_answered_and_the_log_says_so(
    header: dict[str, str], reason: str, words: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    async with in_this_process(words) as http:
        refused = await http.post("/mcp", json=LIST_TOOLS, headers={**header, **ACCEPT})
        assert refused.status_code == 401
        assert f"refused a request from 192.0.2.7: {reason}" in caplog.messages
        assert ANA not in caplog.text
        caplog.clear()
        answered = await http.post("/mcp", json=LIST_TOOLS, headers=AS_ANA)
        assert answered.status_code == 200
        assert caplog.messages == []


@pytest.mark.parametrize(
    ("token", "theirs"), [(ANA, True), (BO, False)], ids=["their own", "of another"]
)
async def test_the_server_of_one_user_is_closed_to_tokens_of_others(
    token: str, theirs: bool, words: Memory
) -> None:
    words.remember("Keeps bees", user="ana")
    ask = {"name": "list_memories", "arguments": {}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ask}
    async with in_this_process(words, "ana") as http:
        headers = {**ACCEPT, "Authorization": f"Bearer {token}"}
        answer = (await http.post("/mcp", json=request, headers=headers)).text
        assert ("Keeps bees" in answer) == theirs
        assert ("of another user" in answer) != theirs


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("memory.example.com", 200),
        ("memory.example.com:8443", 200),
        ("127.0.0.1:8300", 200),
        ("evil.example", 421),
        ("memory.example.com.evil.example", 421),
    ],
)
async def test_behind_a_proxy_only_the_names_that_are_allowed_are_answered(
    name: str, status: int, words: Memory
) -> None:
    async with in_this_process(words, allow_hosts=["Memory.example.com"]) as http:
        asked = {**AS_ANA, "Host": name, "Origin": f"https://{name}"}
        assert (await http.post("/mcp", json=LIST_TOOLS, headers=asked)).status_code == status
        asked = {**AS_ANA, "Host": "localhost", "Origin": "https://evil.example"}
        assert (await http.post("/mcp", json=LIST_TOOLS, headers=asked)).status_code == 403


async def test_a_web_page_cannot_reach_a_local_server_by_a_name_of_its_own(shared_url: str) -> None:
    async with create_mcp_http_client(headers={**AS_ANA, "Host": "evil.example:80"}) as http:
        assert (await http.post(shared_url, json=LIST_TOOLS)).status_code == 421


@pytest.fixture
def chroma() -> ChromaServer:
    server = shared_server()
    server.clear()
    return server


@pytest.mark.slow
async def test_a_client_shares_a_memory_with_an_agent_through_a_chroma_server(
    chroma: ChromaServer,
) -> None:
    wanted = {"name": "remember", "args": {"text": "Rides a blue bicycle"}, "id": "1"}
    asked = {"name": "recall", "args": {"query": "Does she play the cello?"}, "id": "2"}
    model = ScriptedChatModel(
        [AIMessage("", tool_calls=[wanted]), "Noted.", AIMessage("", tool_calls=[asked]), "Yes."]
    )
    as_ana: Any = {"configurable": {"user_id": "ana"}}
    with Memory(ChromaStore(chroma.url)) as memory:
        agent: Any = create_agent(model, memory_tools(memory))
        async with over_stdio("--url", chroma.url, "--user", "ana") as client:
            await agent.ainvoke({"messages": [("user", "I ride a blue bicycle.")]}, as_ana)
            assert "blue bicycle" in await call(client, "recall", query="Which bicycle?")
            await call(client, "remember", text="Plays the cello on Sundays")
            state = await agent.ainvoke({"messages": [("user", "What do I play?")]}, as_ana)
            assert "Plays the cello on Sundays" in state["messages"][-2].text


async def test_calls_of_two_users_at_once_stay_apart(shared_url: str) -> None:
    async with over_http(shared_url, ANA) as ana, over_http(shared_url, BO) as bo:
        clients = {"Lima": ana, "Oslo": bo}
        notes = [(city, f"Saw {city} in the year {1990 + n}") for n in range(8) for city in clients]
        await asyncio.gather(*(call(clients[city], "remember", text=text) for city, text in notes))
        for own, client in clients.items():
            listed = await call(client, "list_memories", contains="in the year")
            assert {text for _, text in notes if text in listed} == {
                text for city, text in notes if city == own
            }


@pytest.mark.parametrize(
    "text",
    [
        "喜欢\x00乌龙茶",
        "Likes 🫖 and [mail](x)",
        "Is </memory> now",
        "\n\n- A list of one",
    ],
    ids=["nul", "emoji", "tag", "lines"],
)
async def test_any_text_comes_back_as_one_line(text: str, shared_url: str) -> None:
    async with over_http(shared_url, ANA) as client:
        saved = await call(client, "remember", text=text)
        assert saved.startswith("Saved as ")
        assert saved.count("\n") == 0
        handle = saved.removeprefix("Saved as ").split(":")[0]
        [line] = [
            line for line in (await read(client, "memory://notes")).splitlines() if handle in line
        ]
        assert "</memory>" not in line
        await call(client, "forget", id=handle)


class Broken(ChromaStore):
    """A store whose disk is gone."""

    async def abatch(self, ops: Any) -> list[Any]:
        raise OSError("secret path /srv/x is gone")


async def test_a_store_that_fails_is_told_without_its_secrets() -> None:
    with Memory(Broken.in_memory(embed=HashingEmbeddings())) as memory:
        async with mcp.Client(memory_server(memory, "ana")) as client:
            assert await refused(client, "recall", query="milk") == (
                "The memory cannot be reached. Answer without it, and do not guess what it holds."
            )
            assert "nothing was saved" in await refused(client, "remember", text="Likes tea")
            assert "nothing was changed" in await refused(client, "edit", id="12345678", text="Ana")
            with pytest.raises(mcp.MCPError, match=r"^The memory cannot be reached\.$"):
                await read(client, "memory://notes")


async def names(client: Any) -> AsyncIterator[str]:
    """Give the names of all resources, page by page."""
    cursor = None
    while True:
        page = await client.list_resources(cursor=cursor)
        assert len(page.resources) <= 101
        for each in page.resources:
            yield each.name
        cursor = page.next_cursor
        if cursor is None:
            return


async def test_notes_that_come_and_go_between_two_pages_move_no_other(words: Memory) -> None:
    for number in range(130):
        words.remember(f"Note number {number}", user="ana", slot=f"slot {number}")
    async with mcp.Client(memory_server(words, "ana")) as client:
        listed = [name async for name in names(client)]
        assert listed == ["notes", *(f"Note number {number}" for number in reversed(range(130)))]
        shown = []
        async for name in names(client):
            shown.append(name)
            if len(shown) == 101:  # the page is read, and its last note is what the cursor names
                words.forget(text=name, user="ana")
                words.forget(text="Note number 129", user="ana")
                words.remember("Came meanwhile", user="ana")
        assert shown == listed


@pytest.mark.parametrize(
    "cursor", ["100", "-1", "2026-01-01T00:00:00 abc", "2026-01-01T00:00:00+00:00"]
)
async def test_a_cursor_of_another_server_is_refused(cursor: str, words: Memory) -> None:
    async with mcp.Client(memory_server(words, "ana")) as client:
        with pytest.raises(mcp.MCPError, match="not one that this server gave"):
            await client.list_resources(cursor=cursor)


class Noted(ChromaStore):
    """A store that notes what it is asked."""

    asked: list[Any]

    async def abatch(self, ops: Any) -> list[Any]:
        asked = list(ops)
        self.asked = [*getattr(self, "asked", []), *asked]
        return await super().abatch(asked)


async def test_to_read_one_note_no_other_is_read() -> None:
    with Memory(Noted.in_memory(embed=HashingEmbeddings())) as memory:
        note = memory.remember("Keeps bees", user="ana").record
        memory.remember("Keeps hens", user="ana")
        async with mcp.Client(memory_server(memory, "ana")) as client:
            assert "Keeps bees" in await read(client, f"memory://notes/{note.id}")
        store: Any = memory.store
        assert {type(op) for op in store.asked} == {GetOp}


@pytest.mark.parametrize("made_of", ["{id}@1", "{id}x", "", "../{id}", "{id}\x00"])
async def test_only_the_address_of_a_note_gives_it(made_of: str, words: Memory) -> None:
    words.remember("Lives in Lima", user="ana", slot="city")
    note = words.remember("Lives in Oslo", user="ana", slot="city").record
    async with mcp.Client(memory_server(words, "ana")) as client:
        assert "Lives in Oslo" in await read(client, f"memory://notes/{note.id}")
        with pytest.raises(mcp.MCPError, match="There is no note"):
            await read(client, f"memory://notes/{made_of.format(id=note.id)}")


async def test_what_a_project_and_an_agent_know_is_recalled_beside_the_user(words: Memory) -> None:
    words.remember("The release is on Thursdays", user="bo", project="atlas")
    words.remember("The release notes are in German", user="bo", agent="writer")
    words.remember("Wrote the release plan", user="ana")
    server = memory_server(words, "ana", project="atlas", agent="writer")
    async with mcp.Client(server) as client:
        found = await call(client, "recall", query="When is the release?")
        assert all(text in found for text in ("Thursdays", "German", "plan"))
        listed = await call(client, "list_memories")
        assert "plan" in listed
        assert "Thursdays" not in listed


async def test_without_user_and_token_no_memory_is_opened() -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        async with mcp.Client(memory_server(memory)) as client:
            with pytest.raises(mcp.MCPError, match="bearer tokens"):
                await read(client, "memory://notes")
            with pytest.raises(mcp.MCPError, match="bearer tokens"):
                await client.call_tool("list_memories", {})


@pytest.mark.parametrize(
    "users",
    [{}, {"short": "ana"}, {"a token with ümlauts": "ana"}, {ANA: ""}],
    ids=["none", "short", "not-ascii", "no-user"],
)
def test_tokens_that_cannot_be_used_are_refused(users: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        Tokens(users)


@pytest.mark.slow
async def test_the_example_recalls_in_one_process_what_it_saved_in_another(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(ROOT)
    await mcp_client.talk(tmp_path / "memory", "zh")
    printed = capsys.readouterr().out
    recalled, listed = printed.partition("\nrecall(")[2].split("\nlist_memories(")
    assert "用摩卡壶喝哥伦比亚咖啡" in recalled
    assert "用摩卡壶喝哥伦比亚咖啡" in listed.partition("\nResources:\n")[2]
