"""The example on a LangGraph server: a real `langgraph dev`, reached by the official client."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import AuthenticationError, NotFoundError, PermissionDeniedError

from langgraph_memory import ChromaStore, Memory, open_sessions
from tests.no_network import NO_NETWORK
from tests.servers import free_port, wait_for

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "langgraph_server"

Client = Callable[[str | None], Any]

ANA, BO = "ana@example.com", "bo@example.com"
TOKENS = {ANA: "token-of-ana", BO: "token-of-bo"}
ORDER = "Hi! A kilo of Colombia, ground for a moka pot, shipped to Rosario."
AGAIN = "Hi again! Send me the same as last time."

AGENT = """
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage

    from langgraph_memory import Memory, MemoryMiddleware, memory_tools
    from langgraph_memory.testing import ScriptedChatModel


    def reply(messages):
        said = next(message for message in reversed(messages) if message.type == "human")
        if messages[-1].type == "tool":
            return f"read: {said.text}\\nlooked up: {messages[-1].text}"
        call = {"name": "recall", "args": {"query": "Colombia coffee"}, "id": "1"}
        return AIMessage("", tool_calls=[call])


    memory = Memory()
    graph = create_agent(
        ScriptedChatModel([reply] * 100),
        memory_tools(memory),
        middleware=[MemoryMiddleware(memory)],
    )
"""

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("langgraph_cli", "langgraph_api")),
    reason="no LangGraph server is installed: pip install 'langgraph-cli[inmem]'",
)


class Server:
    """A `langgraph dev` on a copy of the example, with a second graph; it can be started anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.attempts = folder.parent / "attempts"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("memory", ".*", "__py*"))
        (folder / "agent.py").write_text(textwrap.dedent(AGENT))
        self.configure(graphs={"shop": "./graph.py:graph", "agent": "./agent.py:graph"})
        (folder.parent / "sitecustomize.py").write_text(NO_NETWORK)

    def configure(self, **changes: Any) -> None:
        file = self.folder / "langgraph.json"
        kept = {**json.loads(file.read_text()), **changes}
        file.write_text(json.dumps({key: value for key, value in kept.items() if value}))

    def start(self, **environment: str) -> None:
        command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
        options = ["--port", str(self.port), "--n-jobs-per-worker", "4"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("LANG", "OPENAI"))}
        environment = {
            **kept,
            **environment,
            "PYTHONPATH": os.pathsep.join([str(self.folder.parent), str(ROOT)]),
            "ATTEMPTS": str(self.attempts),
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_NO_VERSION_CHECK": "1",
        }
        with (self.folder.parent / "log").open("a") as log:
            self._process = subprocess.Popen(
                [*command, *options],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_for(self.port, self._process)
        except AssertionError as error:
            error.add_note(self.log)
            raise

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)

    @property
    def log(self) -> str:
        return (self.folder.parent / "log").read_text()


@asynccontextmanager
async def connect(server: Server) -> AsyncIterator[Client]:
    """Give the clients of the users, and of nobody."""
    async with AsyncExitStack() as stack:
        clients = {}
        for user, token in [*TOKENS.items(), (None, None)]:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            opened = get_client(url=server.url, api_key=None, headers=headers)
            clients[user] = await stack.enter_async_context(opened)
        yield clients.__getitem__


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on which Ana has ordered, in a thread of her own.

    Whatever the tests made it do, it called nobody but itself, and blocked no loop.
    """
    server = Server(tmp_path_factory.mktemp("server") / "app")
    server.start()

    async def order() -> None:
        async with connect(server) as client:
            await said_in(client(ANA), ORDER)

    asyncio.run(order())
    yield server
    server.stop()
    assert not server.attempts.exists(), server.attempts.read_text()
    assert "BlockingError" not in server.log


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with connect(server) as client:
        yield client


async def said_in(client: Any, text: str, graph: str = "shop", **run: Any) -> str:
    """Say something in a new thread; return the answer."""
    thread = await client.threads.create()
    state = await client.runs.wait(thread["thread_id"], graph, input=saying(text), **run)
    return str(state["messages"][-1]["content"])


def saying(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def refusal(client: Any, **run: Any) -> str:
    """Start a run that is refused; return how."""
    thread = await client.threads.create()
    state = await client.runs.wait(
        thread["thread_id"], "shop", input=saying(AGAIN), raise_error=False, **run
    )
    return str(state["__error__"])


async def test_what_a_user_said_in_one_thread_is_known_in_the_next_and_to_nobody_else(
    client: Client,
) -> None:
    assert "Colombia, ground for a moka pot" in await said_in(client(ANA), AGAIN)
    assert "I do not know that" in await said_in(client(BO), AGAIN)


async def test_middleware_and_tools_use_the_memory_of_the_server(client: Client) -> None:
    read, looked_up = (await said_in(client(ANA), AGAIN, "agent")).split("\nlooked up: ")
    assert "<memory>" in read
    assert "shipped to Rosario" in read
    assert "shipped to Rosario" in looked_up


async def test_what_a_client_writes_never_chooses_the_user(client: Client) -> None:
    bo = client(BO)
    for named in (
        {"config": {"configurable": {"user_id": ANA}}},
        {"context": {"user_id": ANA}},
    ):
        assert "names more than one user" in await refusal(bo, **named)
    sneaked = {"configurable": {"langgraph_auth_user_id": ANA, "langgraph_auth_user": ANA}}
    assert "Colombia" not in await said_in(bo, AGAIN, "agent", config=sneaked)
    assert "Colombia" in await said_in(client(ANA), AGAIN, "agent", context={"user_id": ANA})


async def test_what_a_client_writes_puts_no_thread_among_those_of_another(
    server: Server, client: Client
) -> None:
    bo = client(BO)
    thread = (await bo.threads.create(graph_id="shop"))["thread_id"]
    sneaked: Any = {"langgraph_auth_user_id": ANA, "user_id": ANA}
    await bo.threads.update_state(thread, saying("Hi"), as_node="remember", checkpoint=sneaked)
    await bo.runs.wait(thread, "shop", input=saying(AGAIN))
    with open_sessions(server.folder / "memory") as sessions:
        assert thread not in [session.thread_id for session in sessions.list(ANA)]
        assert thread in [session.thread_id for session in sessions.list(BO)]


async def test_who_is_nobody_and_what_is_not_theirs_is_refused(client: Client) -> None:
    ana, bo = client(ANA), client(BO)
    thread = (await ana.threads.create())["thread_id"]
    await ana.runs.wait(thread, "shop", input=saying(ORDER))
    with pytest.raises(AuthenticationError):
        await client(None).threads.create()
    with pytest.raises(AuthenticationError):  # else anybody could say that they are Studio
        await client(None).threads.create(headers={"x-auth-scheme": "langsmith"})
    with pytest.raises(NotFoundError):
        await bo.threads.get_state(thread)
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        await bo.runs.wait(thread, "shop", input=saying(AGAIN))
    for attempt in (
        ana.store.search_items(("memory",)),
        ana.store.list_namespaces([]),
        ana.store.put_item(("memory", "user", "bo", "note"), "1", {"text": "x"}),
    ):
        with pytest.raises(PermissionDeniedError):
            await attempt


async def test_studio_finds_the_schemas_the_drawing_and_the_states(client: Client) -> None:
    ana = client(ANA)
    [assistant] = await ana.assistants.search(graph_id="shop")
    shop = assistant["assistant_id"]
    schemas = await ana.assistants.get_schemas(shop)
    assert "messages" in schemas["input_schema"]["properties"]
    assert "memory" in schemas["state_schema"]["properties"]
    drawn = await ana.assistants.get_graph(shop)
    assert {"recall", "chat", "remember"} <= {node["id"] for node in drawn["nodes"]}
    thread = (await ana.threads.create())["thread_id"]
    await ana.runs.wait(thread, "shop", input=saying(ORDER))
    states = await ana.threads.get_history(thread)
    assert [state["next"] for state in states][:4] == [[], ["remember"], ["chat"], ["recall"]]
    edited = {"messages": [{"role": "user", "content": "And a grinder."}]}
    await ana.threads.update_state(thread, edited, as_node="remember")
    state = await ana.threads.get_state(thread)
    assert state["values"]["messages"][-1]["content"] == "And a grinder."
    await ana.threads.delete(thread)


async def test_a_stream_says_what_memory_did(client: Client) -> None:
    ana = client(ANA)
    thread = (await ana.threads.create())["thread_id"]
    stream = ana.runs.stream(thread, "shop", input=saying(ORDER), stream_mode=["custom"])
    events = [part.data for part in [part async for part in stream] if part.event == "custom"]
    assert [event["type"] for event in events] == ["memory.recalled", "memory.saved"]
    assert {event["user"] for event in events} == {ANA}
    assert ORDER in [item["text"] for item in events[1]["items"]]


@pytest.mark.slow
async def test_runs_at_once_keep_their_users_apart(client: Client) -> None:
    """Ana says what Ana says, in any number of runs side by side."""
    users = [ANA, BO] * 3
    told = [f"My favourite of the moment is roast number {number}" for number in range(6)]
    await asyncio.gather(
        *(said_in(client(user), text) for user, text in zip(users, told, strict=True))
    )
    for user in (ANA, BO):
        asked = client(user).runs.wait(None, "agent", input=saying("Which roast number?"))
        answer = (await asked)["messages"][-1]["content"]
        known = {who for who, text in zip(users, told, strict=True) if text in answer}
        assert known == {user}


@pytest.mark.slow
async def test_a_server_that_is_started_anew_remembers_and_one_without_auth_needs_a_user_id(
    server: Server, client: Client
) -> None:
    """It names the user in the run, as without a server."""
    ana = client(ANA)
    thread = (await ana.threads.create())["thread_id"]
    await ana.runs.wait(thread, "shop", input=saying(ORDER))
    server.stop()
    with Memory(ChromaStore(server.folder / "memory")) as memory:  # it let go of the folder
        assert ORDER in [message.text for message in memory.list(user=ANA, types=("message",))]
    with open_sessions(server.folder / "memory") as sessions:
        assert ORDER.startswith(sessions.list(ANA)[0].title or "?")
    server.configure(auth=None)
    server.start(BG_JOB_ISOLATED_LOOPS="true")  # runs in loops, and so stores, of their own
    anyone = client(None)
    named = {"config": {"configurable": {"user_id": ANA}}}
    assert "Colombia, ground for a moka pot" in await said_in(anyone, AGAIN, "agent", **named)
    assert "does not say whose memory it uses" in await refusal(anyone)
    state = await anyone.threads.get_state(thread)
    assert state["values"]["messages"][0]["content"] == ORDER
    found = await anyone.store.search_items(["memory", "user"], query="Colombia")
    assert any(ORDER in str(item["value"]) for item in found["items"])  # as Studio shows it
    other = {"config": {"configurable": {"user_id": BO}}}
    refused = await anyone.runs.wait(
        thread, "shop", input=saying(AGAIN), raise_error=False, **other
    )
    assert refused["__error__"]["error"] == "ThreadOwnerError"
