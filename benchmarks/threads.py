"""How a turn's cost grows with its thread: CPU at 100, 1,000 and 4,000 messages in the state.

    python -m benchmarks.threads                                 # some minutes
    python -m benchmarks.threads --messages 4000 --ways nodes    # with LangGraph alone, and no more
    python -m benchmarks.threads --checkpointer memory

Each line on stdout is a JSON object: the CPU of a turn in milliseconds, in all threads of the
process, by the median; what memory adds to the same graph without it (`added_ms`); and how many
times that is what it adds in the shortest thread (`growth`). The first turn in a thread is not
counted, but has a figure of its own (`first_ms`): a process meets a thread for the first time once.
All threads take turns, so that what Chroma does with its index between writes hits all alike, and
each turn begins after a garbage collection.

`steps` and `agent_steps` have empty nodes where those of memory would be. Each is a step of
LangGraph's, which writes a checkpoint: that is what they cost, whatever they do.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from benchmarks.latency_data import sentence
from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryMiddleware,
    MemoryState,
    messages_with_memory,
    open_sessions,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.testing import HashingEmbeddings

_dice = random.Random(5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    options = options_of(arguments)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        embed: dict[str, Any] = {}
        if options.embed == "hashing":
            embed["embed"] = HashingEmbeddings(512)
        memory = stack.enter_context(Memory(ChromaStore(Path(folder) / "memory", **embed)))
        saver: Any = InMemorySaver()
        if options.checkpointer == "sqlite":
            path = Path(folder) / "sessions.sqlite"
            saver = stack.enter_context(open_sessions(path)).checkpointer
        threads = [
            Thread(way, count, is_async, WAYS[way](memory, saver))
            for count in sorted(options.messages)
            for is_async in (False, True)
            for way in _with_those_alone(options.ways)
        ]
        for thread in threads:
            thread.fill(memory)
        loop = stack.enter_context(asyncio.Runner())
        for _ in range(1 + options.turns):
            for thread in threads:
                thread.turn(loop)
    report(threads)


def report(threads: Sequence[Thread]) -> None:
    """Print a line for each thread."""
    by_name = {(t.way, t.count, t.is_async): t for t in threads}
    shortest: dict[tuple[str, bool], float] = {}
    for thread in threads:
        first, *turns = thread.milliseconds
        line = {"way": thread.way, "messages": thread.count, "async": thread.is_async}
        figures = {"cpu_ms": statistics.median(turns), "first_ms": first}
        if thread.way in WITHOUT:
            alone = by_name[WITHOUT[thread.way], thread.count, thread.is_async].milliseconds
            pairs = zip(turns, alone[1:], strict=True)
            added = statistics.median(ours - theirs for ours, theirs in pairs)
            least = shortest.setdefault((thread.way, thread.is_async), added)
            figures |= {"added_ms": added, "growth": added / least}
        print(json.dumps({**line, **{name: round(of, 2) for name, of in figures.items()}}))


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read a command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.threads",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--messages", type=int, nargs="+", default=[100, 1_000, 4_000], help="in the state")
    add("--ways", nargs="+", choices=[*WAYS], default=[*WAYS], help="some of them only")
    add("--turns", type=int, default=15, help="how many are measured of each")
    add("--embed", choices=["hashing", "default"], default="hashing", help="the embedder")
    add("--checkpointer", choices=["sqlite", "memory"], default="sqlite")
    return parser.parse_args(arguments)


# -- the graphs --


def _chat(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage(sentence(_dice))]}


def _chat_with_memory(state: MemoryState) -> dict[str, Any]:
    return _chat(messages_with_memory(state))


def _nothing(state: MemoryState) -> dict[str, Any]:
    return {}


class _Nothing(AgentMiddleware[Any, Any]):
    def before_agent(self, state: Any, runtime: Any) -> None: ...

    def after_agent(self, state: Any, runtime: Any) -> None: ...


def _graph(saver: Any, *nodes: Any) -> Any:
    builder = StateGraph(MemoryState)
    names = ["chat"] if len(nodes) == 1 else ["recall", "chat", "remember"]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for start, end in pairwise([START, *names, END]):
        builder.add_edge(start, end)
    return builder.compile(checkpointer=saver)


def _agent(saver: Any, *middleware: Any) -> Any:
    model = FakeListChatModel(responses=[sentence(_dice) for _ in range(100)])
    return create_agent(model, middleware=middleware, checkpointer=saver)


WAYS: dict[str, Callable[[Memory, Any], Any]] = {
    "langgraph": lambda memory, saver: _graph(saver, _chat),
    "steps": lambda memory, saver: _graph(saver, _nothing, _chat, _nothing),
    "create_agent": lambda memory, saver: _agent(saver),
    "agent_steps": lambda memory, saver: _agent(saver, _Nothing()),
    "nodes": lambda memory, saver: _graph(
        saver, recall_node(memory), _chat_with_memory, remember_node(memory)
    ),
    "with_memory": lambda memory, saver: _graph(saver, with_memory(_chat, memory)),
    "middleware": lambda memory, saver: _agent(saver, MemoryMiddleware(memory)),
}
WITHOUT = {"nodes": "steps", "with_memory": "langgraph", "middleware": "agent_steps"}
"""The same graph without memory."""


def _with_those_alone(ways: Sequence[str]) -> list[str]:
    return [way for way in WAYS if way in ways or way in map(WITHOUT.get, ways)]


# -- a thread, and turns in it --


@dataclass
class Thread:
    """A thread with so many messages, in which turns are taken."""

    way: str
    count: int
    is_async: bool
    graph: Any
    milliseconds: list[float] = field(default_factory=list)
    """Of CPU, for each turn."""
    ids: dict[str, str] = field(default_factory=dict)

    def fill(self, memory: Memory) -> None:
        """Put the messages into the state, and into the memory."""
        self.ids = {name: uuid.uuid4().hex for name in ("thread_id", "user_id")}
        kinds = (HumanMessage, AIMessage)
        said: list[BaseMessage] = [
            kinds[i % 2](sentence(_dice), id=str(uuid.uuid4())) for i in range(self.count)
        ]
        self.graph.update_state({"configurable": self.ids}, {"messages": said}, as_node=START)
        if self.way in WITHOUT:
            user, thread_id = self.ids["user_id"], self.ids["thread_id"]
            memory.log_turn(said, user=user, thread_id=thread_id)

    def turn(self, loop: asyncio.Runner) -> None:
        """Take a turn."""
        asked = {"messages": [HumanMessage(sentence(_dice))]}
        config = {"configurable": self.ids}
        gc.collect()
        began = time.process_time()
        if self.is_async:
            loop.run(self.graph.ainvoke(asked, config))
        else:
            self.graph.invoke(asked, config)
        self.milliseconds.append(1000 * (time.process_time() - began))


if __name__ == "__main__":
    main()
