"""The MCP server as clients meet it: real processes, the official client, both transports."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from langgraph_memory import ChromaStore, ConfigurationError, Memory, memory_tools
from langgraph_memory.cli.__main__ import main
from langgraph_memory.store.chroma import ChromaStore as Store
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.servers import ChromaServer, shared_server

pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
import mcp  # after the skip
from mcp.client.streamable_http import streamable_http_client  # as above
from mcp.shared._httpx_utils import create_mcp_http_client  # as above

from langgraph_memory import mcp_server  # as above

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "langgraph_memory.cli", "mcp"]
TOKENS = {"ana-0123456789abcdef": "ana", "bo-0123456789abcdef": "bo"}
ANA, BO = TOKENS
START_SECONDS = 60

Connect = Callable[[], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def over_stdio(path: str, user: str = "ana") -> AsyncIterator[Any]:
    """Connect to a server process of a user's own."""
    started = mcp.StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "--path", path, "--user", user], cwd=ROOT
    )
    async with mcp.Client(started, read_timeout_seconds=START_SECONDS) as client:
        yield client


@contextmanager
def http_server(path: str, *options: str, **environment: str) -> Iterator[str]:
    """Start a server process; give its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [*COMMAND, "--path", path, "--http", f"127.0.0.1:{port}", *options]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None, "the server has ended"
                assert time.monotonic() < deadline, "the server does not start"
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
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
    (folder / "tokens.json").write_text(json.dumps(TOKENS), "utf-8")
    with http_server(str(folder / "memory"), "--tokens", str(folder / "tokens.json")) as url:
        yield url


@pytest.fixture(params=["stdio", "http", "http-legacy"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """Connect as Ana; `legacy` is the handshake of clients from before 2026."""
    if request.param == "stdio":
        return lambda: over_stdio(str(tmp_path / "memory"))
    url: str = request.getfixturevalue("shared_url")
    mode = "legacy" if request.param.endswith("legacy") else "auto"
    return lambda: over_http(url, ANA, mode)


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
        assert list(tools) == ["remember", "recall", "forget", "list_memories"]
        assert set(tools["remember"].input_schema["properties"]) == {"text", "kind", "key"}
        assert tools["remember"].input_schema["required"] == ["text"]
        assert not any("user" in tool.input_schema["properties"] for tool in tools.values())
        assert all(tool.description for tool in tools.values())
        assert tools["forget"].annotations.destructive_hint
        assert tools["recall"].annotations.read_only_hint
        assert "recall before you answer" in client.instructions


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
        assert "Nothing was done: query: " in await refused(client, "recall")
        assert "There is no tool 'delete_all'" in await refused(client, "delete_all")
        assert "Nothing saved about that." in await call(client, "recall", query="chess opening")


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


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer bo"}], ids=["none", "wrong"])
async def test_without_a_token_of_a_user_nothing_is_answered(
    shared_url: str, header: dict[str, str]
) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with create_mcp_http_client(headers={**header, **accept}) as http:
        assert (await http.post(shared_url, json=request)).status_code == 401


async def test_a_web_page_cannot_reach_a_local_server_by_a_name_of_its_own(shared_url: str) -> None:
    headers = {"Authorization": f"Bearer {ANA}", "Host": "evil.example:80"}
    async with create_mcp_http_client(headers=headers) as http:
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert (await http.post(shared_url, json=request)).status_code == 421


@pytest.fixture
def chroma() -> ChromaServer:
    server = shared_server()
    server.clear()
    return server


@pytest.mark.slow
async def test_clients_share_a_memory_with_an_agent_through_a_chroma_server(
    chroma: ChromaServer,
) -> None:
    wanted = {"name": "remember", "args": {"text": "Rides a blue bicycle"}, "id": "1"}
    asked = {"name": "recall", "args": {"query": "Does she play the cello?"}, "id": "2"}
    model = ScriptedChatModel(
        [AIMessage("", tool_calls=[wanted]), "Noted.", AIMessage("", tool_calls=[asked]), "Yes."]
    )
    as_ana: Any = {"configurable": {"user_id": "ana"}}
    tokens = {"LANGGRAPH_MEMORY_TOKENS": json.dumps(TOKENS)}
    with (
        Memory(ChromaStore(chroma.url)) as memory,
        http_server(chroma.url, **tokens) as url,
    ):
        agent: Any = create_agent(model, memory_tools(memory))
        async with over_stdio(chroma.url) as one, over_http(url, ANA) as other:
            await agent.ainvoke({"messages": [("user", "I ride a blue bicycle.")]}, as_ana)
            assert "blue bicycle" in await call(one, "recall", query="Which bicycle?")
            await call(one, "remember", text="Plays the cello on Sundays")
            assert "cello" in await call(other, "recall", query="Does she play the cello?")
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


class Broken(Store):
    """A store whose disk is gone."""

    async def abatch(self, ops: Any) -> list[Any]:
        raise OSError("secret path /srv/x is gone")


async def test_a_store_that_fails_is_told_without_its_secrets() -> None:
    with Memory(Broken.in_memory(embed=HashingEmbeddings())) as memory:
        async with mcp.Client(mcp_server.memory_server(memory, "ana")) as client:
            assert await refused(client, "recall", query="milk") == (
                "The memory cannot be reached. Answer without it, and do not guess what it holds."
            )
            assert "nothing was saved" in await refused(client, "remember", text="Likes tea")
            with pytest.raises(mcp.MCPError, match=r"^The memory cannot be reached\.$"):
                await read(client, "memory://notes")


async def test_many_notes_are_listed_page_by_page() -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        for number in range(130):
            memory.remember(f"Note number {number}", user="ana", slot=f"slot {number}")
        async with mcp.Client(mcp_server.memory_server(memory, "ana")) as client:
            first = await client.list_resources()
            rest = await client.list_resources(cursor=first.next_cursor)
            assert (len(first.resources), len(rest.resources)) == (101, 30)
            assert rest.next_cursor is None
            assert len({str(each.uri) for each in [*first.resources, *rest.resources]}) == 131
            with pytest.raises(mcp.MCPError, match="not one that this server gave"):
                await client.list_resources(cursor="-1")


async def test_without_user_and_token_no_memory_is_opened() -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        async with mcp.Client(mcp_server.memory_server(memory)) as client:
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
        mcp_server.Tokens(users)


@pytest.mark.parametrize("text", [None, "ana", '["ana"]', '{"0123456789abcdef": 3}'])
def test_the_command_says_what_is_wrong_with_the_tokens_but_not_the_tokens(
    text: str | None, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.delenv("LANGGRAPH_MEMORY_TOKENS", raising=False)
    if text is not None:
        monkeypatch.setenv("LANGGRAPH_MEMORY_TOKENS", text)
    assert main(["mcp", "--path", str(tmp_path), "--http", "127.0.0.1:8300"]) == 1
    said = capsys.readouterr().err
    assert "LANGGRAPH_MEMORY_TOKENS" in said
    assert "0123456789abcdef" not in said
    assert said.count("\n") == 1


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    with Memory(ChromaStore(folder)) as memory:
        memory.remember("Likes tea", user="ana")
        yield


@contextmanager
def of_another_embedder(folder: Path) -> Iterator[None]:
    with Memory(ChromaStore(folder, embed=HashingEmbeddings())) as memory:
        memory.remember("Likes tea", user="ana")
    yield


@pytest.mark.parametrize("prepared", [in_use, of_another_embedder])
def test_a_folder_that_cannot_be_served_is_named_in_a_sentence(
    prepared: Callable[[Path], AbstractContextManager[None]], tmp_path: Path
) -> None:
    folder = tmp_path / "memory"
    command = [*COMMAND, "--path", str(folder), "--user", "ana"]
    with prepared(folder):
        done = subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("langgraph-memory: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("options", [[], ["--user", "ana", "--http", "127.0.0.1:8300"]])
def test_one_of_user_and_http_is_given(options: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "--path", "memory", *options])
    assert ended.value.code == 2


@pytest.mark.slow
def test_the_example_recalls_in_one_process_what_it_saved_in_another(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.mcp_client", "--lang", "zh"]
    done = subprocess.run(
        [*command, "--path", str(tmp_path / "memory")],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    recalled, listed = done.stdout.partition("\nrecall(")[2].split("\nlist_memories(")
    assert "用摩卡壶喝哥伦比亚咖啡" in recalled
    assert "用摩卡壶喝哥伦比亚咖啡" in listed.partition("\nResources:\n")[2]
