"""Ways to keep what a turn says, each in a graph of one node: ours, langmem and mem0.

Each node does the same: it searches its memory for the user's message, answers in no time, and
keeps the turn. The models are scripts that answer with the labels of the turn after a fixed time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore

from benchmarks.dialogues import Label, faithful
from benchmarks.latency_mem0 import open_mem0
from benchmarks.latency_timing import OURS
from langgraph_memory import ChromaStore, Memory, with_memory
from langgraph_memory.records.owners import RecordType
from langgraph_memory.testing import ScriptedChatModel

USER = "ana"
HITS = 10
CONFIG: Any = {"configurable": {"user_id": USER, "thread_id": "monday"}}

_ALL = 100_000
_CALLS = 10_000  # of a script; it never needs as many


@dataclass(frozen=True)
class Turn:
    """What is said, and the notes that it should come to."""

    said: str
    answered: str
    labels: tuple[Label, ...]


@dataclass
class Script:
    """What a model answers in the present turn, and how long it takes."""

    seconds: float
    turn: Turn = field(default_factory=lambda: Turn("", "", ()))
    calls: int = 0

    def model(self, answer: Callable[[list[BaseMessage], Sequence[Label]], Any]) -> BaseChatModel:
        """Return a model that answers in a library's own form."""

        def respond(asked: list[BaseMessage]) -> Any:
            self.calls += 1
            time.sleep(self.seconds)
            return answer(asked, self.turn.labels)

        return ScriptedChatModel([respond] * _CALLS)


class Writer(Protocol):
    """A library that keeps turns."""

    library: ClassVar[str]
    call: str
    """How the turn is kept, in words."""
    script: Script
    graph: Any

    def settle(self) -> None:
        """Wait until what was put off is done."""

    def counts(self) -> Mapping[str, int]:
        """Return how many `records` are kept, and how many of them are `notes`."""

    def close(self) -> None:
        """Let go of everything."""


class Ours:
    """`with_memory` on a `ChromaStore` in a directory."""

    library: ClassVar[str] = OURS

    def __init__(
        self, directory: Path, embeddings: Embeddings, script: Script, background: bool = False
    ) -> None:
        self.call = f"with_memory{', background=True' if background else ''}"
        self.script = script
        model = script.model(lambda asked, labels: faithful(labels)(asked))
        self._memory = Memory(ChromaStore(directory, embed=embeddings), model=model)

        def chat(state: MessagesState) -> Any:
            return {"messages": [AIMessage(script.turn.answered)]}

        self.graph = graph_of(with_memory(chat, self._memory, background=background))

    def settle(self) -> None:
        """Wait until notes are made."""
        self._memory.flush()

    def counts(self) -> Mapping[str, int]:
        """Count messages, episodes, notes, and the records of what was looked through."""
        types: Sequence[RecordType] = ("note", "message", "episode", "extraction")
        records = self._memory.list(user=USER, types=types, status=None, limit=_ALL)
        return {"records": len(records), "notes": sum(r.type == "note" for r in records)}

    def close(self) -> None:
        """Close memory and store."""
        self._memory.close()


class LangMem:
    """`create_memory_store_manager` on LangGraph's `InMemoryStore`: nothing is on disk."""

    library: ClassVar[str] = "langmem"

    def __init__(
        self, directory: Path, embeddings: Embeddings, script: Script, background: bool = False
    ) -> None:
        """Make the manager.

        Raises:
            ImportError: It is not installed.
        """
        from langmem import ReflectionExecutor, create_memory_store_manager

        self.call = "ReflectionExecutor.submit" if background else "MemoryStoreManager.invoke"
        self.script = script
        index: Any = {"embed": embeddings, "dims": 512}
        self._store = InMemoryStore(index=index)
        self._namespace = ("memories", USER)
        manager = create_memory_store_manager(
            script.model(_tool_calls), namespace=self._namespace, store=self._store
        )
        self._executor = ReflectionExecutor(manager, store=self._store) if background else None
        self._later: list[Any] = []

        def chat(state: MessagesState) -> Any:
            asked, answer = state["messages"][-1], AIMessage(script.turn.answered)
            self._store.search(self._namespace, query=asked.text, limit=HITS)
            turn = {"messages": [asked, answer]}
            if self._executor is None:
                manager.invoke(turn)
            else:
                self._later.append(self._executor.submit(turn, after_seconds=0))
            return {"messages": [answer]}

        self.graph = graph_of(chat)

    def settle(self) -> None:
        """Wait until memories are made."""
        while self._later:
            self._later.pop().result()

    def counts(self) -> Mapping[str, int]:
        """Count memories; it keeps nothing else."""
        records = len(self._store.search(self._namespace, limit=_ALL))
        return {"records": records, "notes": records}

    def close(self) -> None:
        """Stop its thread."""
        if self._executor is not None:
            self._executor.shutdown(wait=True)


class Mem0:
    """mem0's `Memory` with `infer=True`, on Chroma in a directory."""

    library: ClassVar[str] = "mem0"

    def __init__(self, directory: Path, embeddings: Embeddings, script: Script) -> None:
        """Open it.

        Raises:
            ImportError: It is not installed.
        """
        self.call = "Memory.add, infer=True"
        self.script = script
        self._memory = open_mem0(directory, embeddings, script.model(_mem0_answer))

        def chat(state: MessagesState) -> Any:
            said, answered = state["messages"][-1].text, script.turn.answered
            self._memory.search(said, filters={"user_id": USER}, top_k=HITS)
            turn = [
                {"role": "user", "content": said},
                {"role": "assistant", "content": answered},
            ]
            self._memory.add(turn, user_id=USER, infer=True)
            return {"messages": [AIMessage(answered)]}

        self.graph = graph_of(chat)

    def settle(self) -> None:
        """Do nothing: it puts nothing off."""

    def counts(self) -> Mapping[str, int]:
        """Count memories, and their rows of history; of messages it keeps the last ten."""
        notes = self._memory.vector_store.collection.count()
        rows = [
            self._memory.db.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("history", "messages")
        ]
        return {"records": notes + sum(rows), "notes": notes}

    def close(self) -> None:
        """Close Chroma and the history."""
        self._memory.vector_store.client.close()
        self._memory.close()


def graph_of(node: Any) -> Any:
    """Return a compiled graph of one node, which keeps its threads in memory."""
    builder = StateGraph(MessagesState)
    builder.add_node("chat", node)
    builder.add_edge(START, "chat")
    return builder.compile(checkpointer=InMemorySaver())


def say(writer: Writer, turn: Turn) -> None:
    """Run a turn, as the user waits for it."""
    writer.script.turn = turn
    writer.graph.invoke({"messages": [HumanMessage(turn.said)]}, CONFIG)


def _tool_calls(asked: list[BaseMessage], labels: Sequence[Label]) -> AIMessage:
    calls: Any = [
        {"name": "Memory", "args": {"content": label.text}, "id": f"call-{number}"}
        for number, label in enumerate(labels)
    ]
    return AIMessage("" if calls else "Nothing to keep.", tool_calls=calls)


def _mem0_answer(asked: list[BaseMessage], labels: Sequence[Label]) -> str:
    memories = [{"id": str(n), "text": label.text} for n, label in enumerate(labels)]
    return json.dumps({"memory": memories}, ensure_ascii=False)
