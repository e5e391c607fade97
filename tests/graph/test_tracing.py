"""What tracers show of memory: its runs inside of the nodes', how much came of them, no content."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda, ensure_config
from langchain_core.tracers import BaseTracer, LangChainTracer, Run
from langgraph.graph import START, StateGraph
from langsmith import Client

from langgraph_memory import (
    EpisodeRecorder,
    Memory,
    MemoryState,
    Sessions,
    memory_tools,
    recall_node,
)
from langgraph_memory.graph.events import Trace
from langgraph_memory.twins import drive
from tests.graph.graphs import (
    ORDER,
    SURFACES,
    Builder,
    Shape,
    Way,
    answer,
    as_user,
    block_tokens,
    episodes,
    everything,
    nodes,
    noting,
    say,
)
from tests.graph.test_events import KNOWN
from tests.graph.test_extraction import NOTES, TEXT, extracting
from tests.graph.test_failures import BrokenStore
from tests.graph.test_memory_tools import model_of
from tests.graph.test_streams import TOKENS, tokens_of


class Kept(BaseTracer):
    """A tracer that keeps the runs, each with those inside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)

    def of_memory(self) -> dict[str, list[Run]]:
        """Return the runs of memory by name."""
        found: dict[str, list[Run]] = {}
        for root in self.roots:
            for _, run in inside(root):
                if run.name.startswith("memory."):
                    found.setdefault(run.name, []).append(run)
        return found

    def parents(self) -> dict[str, set[str]]:
        """Return by whom the runs of memory were called."""
        found: dict[str, set[str]] = {}
        for root in self.roots:
            for parent, run in inside(root):
                if run.name.startswith("memory."):
                    found.setdefault(run.name, set()).add(parent.name)
        return found


def inside(run: Run) -> Iterator[tuple[Run, Run]]:
    """Yield all that a run called, with its caller."""
    for child in run.child_runs:
        yield run, child
        yield from inside(child)


def traced(*tracers: Any, user: str = "ana") -> Any:
    return {**as_user(user, "t"), "callbacks": list(tracers)}


CALLED_BY = {
    "nodes": {"memory.recall": {"recall"}, "memory.save": {"remember"}},
    "with_memory": {"memory.recall": {"chat"}, "memory.save": {"chat"}},
    "middleware": {"memory.recall": {"model"}, "memory.save": {"model", "after"}},
}


@pytest.mark.parametrize("surface", SURFACES)
async def test_recall_and_save_are_runs_inside_of_the_node_without_content(
    memory: Memory, surface: str, way: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    tracer = Kept()
    model = noting()
    graph = SURFACES[surface](memory, model, is_async=way.is_async).compile()
    await way(graph, say(ORDER), traced(tracer))
    assert len(tracer.roots) == 1
    called_by = {
        name: {"after" if "after_agent" in parent else parent for parent in parents}
        for name, parents in tracer.parents().items()
    }
    assert called_by == CALLED_BY[surface]
    runs = tracer.of_memory()
    [recalled] = runs["memory.recall"]
    assert recalled.outputs is not None
    ms = recalled.outputs.pop("ms")
    assert ms >= 0
    tokens = recalled.outputs.pop("tokens")
    assert tokens == pytest.approx(block_tokens(model.calls[0]), abs=5)
    assert recalled.outputs == {"recalled": {"note": 1}, "nothing_known": False}
    saved: dict[str, int] = {}
    for run in runs["memory.save"]:
        for type, count in (run.outputs or {}).get("saved", {}).items():
            saved[type] = saved.get(type, 0) + count
    assert saved == {"message": 2, "episode": 1}
    for run in [each for found in runs.values() for each in found]:
        assert (run.run_type, run.error) == ("chain", None)
        assert "langgraph_memory" in (run.tags or [])
        assert run.end_time is not None
        shown = json.dumps([run.inputs, run.outputs, run.extra, run.serialized], default=str)
        for content in ("Colombia", "Rosario", "Noted", "ana"):
            assert content not in shown


async def test_the_user_is_shown_where_the_caller_put_it_into_the_runs_metadata(
    memory: Memory, sessions: Sessions, surface: Shape, call: Way
) -> None:
    tracer = Kept()
    graph = surface(memory, noting(), is_async=call.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="monday")
    await call(graph, say(ORDER), {**config, "callbacks": [tracer]})
    [run] = tracer.of_memory()["memory.recall"]
    assert {run.metadata["user_id"], run.metadata["thread_id"]} == {"ana", "monday"}


async def test_a_trace_shows_that_nothing_is_known(
    memory: Memory, surface: Shape, call: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    tracer = Kept()
    graph = surface(memory, noting(), is_async=call.is_async).compile()
    await call(graph, say("zebra"), traced(tracer))
    [run] = tracer.of_memory()["memory.recall"]
    assert run.outputs is not None
    assert run.outputs["nothing_known"] is True


async def test_a_recall_that_fails_is_an_error_in_a_run_that_succeeds(
    surface: Shape, call: Way
) -> None:
    tracer = Kept()
    graph = surface(Memory(BrokenStore(reads=True)), noting(), is_async=call.is_async).compile()
    state = await call(graph, say(ORDER), traced(tracer))
    assert answer(state) == "Noted, thank you."
    [run] = tracer.of_memory()["memory.recall"]
    assert "the disk is on fire" in str(run.error)
    assert run.end_time is not None
    assert tracer.roots[0].error is None


async def test_what_could_not_be_saved_is_an_error_up_to_the_graph(
    surface: Shape, call: Way
) -> None:
    tracer = Kept()
    graph = surface(Memory(BrokenStore(writes=True)), noting(), is_async=call.is_async).compile()
    with pytest.raises(OSError, match="the disk is on fire"):
        await call(graph, say(ORDER), traced(tracer))
    run = tracer.of_memory()["memory.save"][-1]
    assert "the disk is on fire" in str(run.error)
    assert "the disk is on fire" in str(tracer.roots[0].error)


async def test_a_model_that_makes_notes_is_called_by_memory(
    tmp_path: Path, surface: Shape, call: Way
) -> None:
    with extracting(tmp_path, NOTES, RuntimeError("overloaded"), retries=0) as memory:
        tracer = Kept()
        graph = surface(memory, noting(2), is_async=call.is_async).compile()
        await call(graph, say(ORDER), traced(tracer))
        await call(graph, say("And now?"), traced(tracer))
        extracted, failed = tracer.of_memory()["memory.extract"]
        for run in (extracted, failed):
            assert "ScriptedChatModel" in [child.name for _, child in inside(run)]
        assert extracted.outputs is not None
        assert extracted.outputs["saved"] == {"note": 1}
        assert extracted.outputs["usage"]["calls"] == 1
        assert TEXT not in str(extracted.outputs)
        assert "overloaded" in str(failed.error)
        assert [root.error for root in tracer.roots] == [None, None]


async def test_a_model_that_rewrites_the_question_is_called_by_the_recall(
    memory: Memory, surface: Shape, call: Way
) -> None:
    tracer = Kept()
    rewriting = Memory(memory.store, rewrite=noting(1))
    graph = surface(rewriting, noting(), is_async=call.is_async).compile()
    await call(graph, say(ORDER), traced(tracer))
    [run] = tracer.of_memory()["memory.recall"]
    assert "ScriptedChatModel" in [child.name for _, child in inside(run)]


async def test_tools_show_the_runs_of_memory_inside_of_their_own(memory: Memory, call: Way) -> None:
    steps: list[Any] = [
        [("remember", {"text": "Drinks decaf"})],
        [("recall", {"query": "decaf"})],
        [("forget", {"id": "12345678"})],
        [("list_memories", {})],
    ]
    tracer = Kept()
    graph = create_agent(model_of(*steps), memory_tools(memory))
    await call(graph, say("Hi"), traced(tracer))
    assert tracer.parents() == {
        "memory.save": {"remember"},
        "memory.recall": {"recall"},
        "memory.forget": {"forget"},
        "memory.list": {"list_memories"},
    }
    runs = {name: run for name, [run] in tracer.of_memory().items()}
    assert {run.error for run in runs.values()} == {None}  # nor is a wrong id one of the memory
    assert "decaf" not in str([run.outputs for run in runs.values()])


async def test_a_tool_that_cannot_reach_the_memory_shows_the_error(call: Way) -> None:
    """Of which the model is told in words alone."""
    tracer = Kept()
    tools = memory_tools(Memory(BrokenStore(reads=True)))
    graph = create_agent(model_of([("recall", {"query": "decaf"})]), tools)
    await call(graph, say("Hi"), traced(tracer))
    [run] = tracer.of_memory()["memory.recall"]
    assert "the disk is on fire" in str(run.error)


# -- others who listen ---------------------------------------------------------------------------


class Slow(AsyncCallbackHandler):
    """An async handler that notes in which event loop it is called."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    async def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0)
        self.seen.append((kwargs["name"], asyncio.get_running_loop()))


async def test_async_handlers_are_called_in_the_loop_of_the_run(
    memory: Memory, surface: Shape
) -> None:
    handler = Slow()
    graph = surface(memory, noting(), is_async=True).compile()
    await graph.ainvoke(say(ORDER), traced(handler))
    loops = {loop for name, loop in handler.seen if name.startswith("memory.")}
    assert loops == {asyncio.get_running_loop()}


@pytest.mark.parametrize("name", ["stream", "astream"])
async def test_tokens_stream_as_without_a_tracer(memory: Memory, surface: Shape, name: str) -> None:
    memory.remember(KNOWN, user="ana")
    graph = surface(memory, noting(2), is_async=name == "astream").compile()
    stream = getattr(graph, name)
    plain = await everything(stream, say(ORDER), as_user("ana", "t"), "messages")
    with_tracer = await everything(stream, say(ORDER), traced(Kept()), "messages")
    assert tokens_of(plain) == tokens_of(with_tracer) == TOKENS
    assert [type(chunk) for chunk, _ in plain] == [type(chunk) for chunk, _ in with_tracer]


async def test_a_node_of_the_same_name_streams_nothing_of_memory(memory: Memory) -> None:
    builder: Builder = StateGraph(MemoryState)
    builder.add_node("memory.recall", recall_node(memory))
    builder.add_node("chat", lambda state: {"messages": [AIMessage("Noted, thank you.")]})
    builder.add_edge(START, "memory.recall")
    builder.add_edge("memory.recall", "chat")
    chunks = await everything(builder.compile().stream, say(ORDER), as_user("ana"), "messages")
    assert [chunk.text for chunk, _ in chunks] == ["Noted, thank you."]


async def test_events_tell_of_the_runs_without_content(memory: Memory, surface: Shape) -> None:
    memory.remember(KNOWN, user="ana")
    graph = surface(memory, noting(), is_async=True).compile()
    stream = graph.astream_events(say(ORDER), as_user("ana", "t"), version="v2")
    events = [event async for event in stream if event["name"].startswith("memory.")]
    told = [(event["event"], event["name"]) for event in events]
    assert ("on_chain_start", "memory.recall") in told
    assert ("on_chain_end", "memory.save") in told
    assert "Colombia" not in str([event["data"] for event in events])


async def test_a_recorder_takes_none_of_them_for_a_task(memory: Memory, call: Way) -> None:
    graph = nodes(memory, noting(), is_async=call.is_async, episodes=False).compile()
    recorder = EpisodeRecorder(memory, user="ana")
    await call(graph, say(ORDER), traced(recorder, Kept()))
    assert [episode.task for episode in episodes(memory, "ana")] == [ORDER]


def test_a_recorder_that_did_not_hear_the_graph_begin_takes_none_for_a_graph(
    memory: Memory,
) -> None:
    recorder = EpisodeRecorder(memory, user="ana")

    class OfMemory(BaseCallbackHandler):
        """Passes on what it hears of memory."""

        def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            if kwargs["name"] == "memory.recall":
                recorder.on_chain_start(*args, **kwargs)

        def on_chain_end(self, outputs: Any, *, run_id: Any, **kwargs: Any) -> None:
            recorder.on_chain_end(outputs, run_id=run_id)

    def node(_: Any) -> None:
        trace = Trace("memory.recall")
        drive(trace.start())
        drive(trace.end({}, None))

    config: Any = {"callbacks": [OfMemory()], "metadata": {"ls_integration": "langgraph"}}
    RunnableLambda(node).invoke(None, config)
    assert episodes(memory, "ana") == []


async def test_a_run_that_is_cancelled_ends_for_the_tracer_too(surface: Shape) -> None:
    begun = asyncio.Event()

    class Waiting(BrokenStore):
        async def abatch(self, ops: Any) -> list[Any]:
            begun.set()
            await asyncio.sleep(60)
            raise AssertionError

    tracer = Kept()
    graph = surface(Memory(Waiting()), noting(), is_async=True, timeout=None).compile()
    task = asyncio.create_task(graph.ainvoke(say(ORDER), traced(tracer)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [runs] = tracer.of_memory().values()
    assert all(run.end_time is not None and "CancelledError" in str(run.error) for run in runs)


def test_where_nobody_listens_there_is_no_run() -> None:
    trace = Trace("memory.recall")
    drive(trace.start())
    assert ensure_config()["callbacks"] is None  # a model that is called now has no caller
    drive(trace.end({"recalled": {"note": 1}}, None))


# -- LangSmith, OpenTelemetry --------------------------------------------------------------------


def is_caller(name: str) -> bool:
    """Whether a run is one that recalls; to LangSmith, LangChain shows the middleware too."""
    return name in ("recall", "chat") or name.endswith("wrap_model_call")


class _LangSmith(BaseHTTPRequestHandler):
    """Takes in what a client of LangSmith sends, one run at a time."""

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.taken.append((self.command, self.path, json.loads(body)))  # type: ignore[attr-defined]  # ours
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_PATCH = _take

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def langsmith() -> Iterator[tuple[str, list[Any]]]:
    """A local server in place of LangSmith's: its address, and what it was sent."""
    server = HTTPServer(("127.0.0.1", 0), _LangSmith)
    server.taken = []  # type: ignore[attr-defined]  # ours
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", server.taken  # type: ignore[attr-defined]  # ours
    server.shutdown()
    thread.join()
    server.server_close()


async def test_langsmith_is_sent_the_runs_without_content(
    memory: Memory, surface: Shape, call: Way, langsmith: tuple[str, list[Any]]
) -> None:
    memory.remember(KNOWN, user="ana")
    address, taken = langsmith
    client = Client(address, api_key="x", auto_batch_tracing=False)
    graph = surface(memory, noting(), is_async=call.is_async).compile()
    await call(graph, say(ORDER), traced(LangChainTracer(client=client)))
    client.session.close()
    posted = {body["id"]: body for method, _, body in taken if method == "POST"}
    patched = {path.rsplit("/", 1)[1]: body for method, path, body in taken if method == "PATCH"}
    [recalled] = [run for run in posted.values() if run["name"] == "memory.recall"]
    assert is_caller(posted[recalled["parent_run_id"]]["name"])
    ended = patched[recalled["id"]]
    assert ended["outputs"]["recalled"] == {"note": 1}
    assert "Colombia" not in str([recalled, ended])


async def test_opentelemetry_nests_the_runs_as_spans(
    memory: Memory, surface: Shape, call: Way
) -> None:
    """By LangSmith's client, as a user of it sets that up; the SDK comes with Chroma."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    client = Client(
        "http://127.0.0.1:1", api_key="x", tracing_mode="otel", otel_tracer_provider=provider
    )
    graph = surface(memory, noting(), is_async=call.is_async).compile()
    await call(graph, say(ORDER), traced(LangChainTracer(client=client)))
    client.flush()
    client.cleanup()
    provider.shutdown()
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans if span.context}
    [recalled] = [span for span in spans if span.name == "memory.recall"]
    assert recalled.parent is not None
    assert is_caller(names[recalled.parent.span_id])
    assert "Colombia" not in str(recalled.attributes)
