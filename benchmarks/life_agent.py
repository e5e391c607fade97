"""An agent with memory, and what its model is given to read: the block as the node gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from benchmarks.life_month import Turn
from langgraph_memory import Memory, MemoryState, messages_with_memory, recall_node, remember_node
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.testing import ManualClock
from langgraph_memory.text.escaping import CLOSE, OPEN

USER = "ana"


class CachedEncoder(UniversalSentenceEncoder):
    """The embedded default; it embeds each text once, however many months there are."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text, 512 numbers."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known |= zip(new, super().embed_documents(new), strict=True)
        return [self._known[text] for text in texts]


class Agent:
    """A graph with memory around a node that answers what it is told to."""

    def __init__(self, memory: Memory, clock: ManualClock) -> None:
        self._clock = clock
        self._asking = Asking(memory)
        self._answer = ""
        self._prompt: list[BaseMessage] = []
        graph = StateGraph(MemoryState)
        graph.add_node("recall", recall_node(memory, timeout=None, on_error="raise"))
        graph.add_node("agent", self._node)
        graph.add_node("remember", remember_node(memory))
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "agent")
        graph.add_edge("agent", "remember")
        self._graph: Any = graph.compile(checkpointer=InMemorySaver())

    def _node(self, state: MemoryState) -> dict[str, Any]:
        self._prompt = messages_with_memory(state)
        return {"messages": [AIMessage(self._answer)]}

    def say(self, turn: Turn) -> str:
        """Say something, and return the block that the model was given with it."""
        self._clock.set(turn.at)
        self._answer = turn.answer
        config = {"configurable": {"user_id": USER, "thread_id": turn.thread}}
        self._graph.invoke({"messages": [HumanMessage(turn.text)]}, config)
        return block_in(self._prompt)

    def ask(self, text: str, at: datetime) -> str:
        """Return the block that a model would be given; nothing of it is kept."""
        self._clock.set(at)
        return self._asking(text, USER).block


@dataclass(frozen=True, slots=True)
class Given:
    """What a node gives a model for a question."""

    block: str
    ids: tuple[str, ...]
    """Of the records that stand in it."""


class Asking:
    """`recall_node` by itself: what it gives for a question, which is not kept."""

    def __init__(self, memory: Memory) -> None:
        graph = StateGraph(MemoryState)
        graph.add_node("recall", recall_node(memory, timeout=None, on_error="raise"))
        graph.add_edge(START, "recall")
        self._graph: Any = graph.compile()

    def __call__(self, text: str, user: str) -> Given:
        """Ask for one user, in a new thread."""
        config = {"configurable": {"user_id": user, "thread_id": "aside"}}
        said = {"messages": [HumanMessage(text)]}
        ids: list[str] = []
        block = ""
        for mode, part in self._graph.stream(said, config, stream_mode=["custom", "values"]):
            if mode == "values":
                block = part.get("memory", {}).get("block", "")
            elif part["type"] == "memory.recalled":
                ids += [item["id"] for item in part["items"]]
        return Given(block, tuple(ids))


def block_in(prompt: Sequence[BaseMessage]) -> str:
    """Return the block of memory in a prompt: it stands before the text of the last message."""
    said = str(prompt[-1].text)
    begin, end = said.find(OPEN), said.find(CLOSE)
    return said[begin : end + len(CLOSE)] if 0 <= begin < end else ""
