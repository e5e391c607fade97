"""The peers in the month: all that is said and noted, and the nearest of it that fits.

What is found is cut at so many tokens: as many as our block had for the same question, and the
budget of a whole block. The peers are given what a program that uses them would give,
"speaker: words", and the notes as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Protocol

from langgraph.store.memory import InMemoryStore

from benchmarks.latency_peers import open_chroma
from benchmarks.locomo_peers import SameEmbeddings
from langgraph_memory.text.length import approximate_tokens

PEERS = ("langchain-chroma", "langgraph")

_DEPTH = 200
"""Texts that are asked for: more than fit into any block."""


class Peer(Protocol):
    """A store of texts."""

    def keep(self, texts: Sequence[str]) -> None:
        """Keep texts."""

    def find(self, question: str) -> list[str]:
        """Return the texts nearest to a question, best first."""

    def close(self) -> None:
        """Close what is open."""


class LangChainChroma:
    """langchain-chroma on a directory."""

    def __init__(self, directory: Path, embeddings: SameEmbeddings) -> None:
        """Make a collection.

        Raises:
            ImportError: It is not installed.
        """
        from langchain_chroma import Chroma

        self._client = open_chroma(directory)
        self._rows = Chroma("life", embeddings, client=self._client)
        self._kept = 0

    def keep(self, texts: Sequence[str]) -> None:
        """Add documents."""
        if not texts:
            return
        self._rows.add_texts(list(texts))
        self._kept += len(texts)

    def find(self, question: str) -> list[str]:
        """Search by similarity."""
        found = self._rows.similarity_search(question, k=min(_DEPTH, self._kept))
        return [document.page_content for document in found]

    def close(self) -> None:
        """Close the client."""
        self._client.close()


class LangGraph:
    """LangGraph's own store."""

    def __init__(self, embeddings: SameEmbeddings) -> None:
        self._store = InMemoryStore(
            index={"embed": embeddings, "dims": embeddings.dims, "fields": ["text"]}
        )
        self._ids = count()

    def keep(self, texts: Sequence[str]) -> None:
        """Put an item for each."""
        for text in texts:
            self._store.put(("life",), str(next(self._ids)), {"text": text})

    def find(self, question: str) -> list[str]:
        """Search the namespace."""
        found = self._store.search(("life",), query=question, limit=_DEPTH)
        return [item.value["text"] for item in found]

    def close(self) -> None:
        """Do nothing: it has nothing open."""


def peer(name: str, directory: Path, embeddings: SameEmbeddings) -> Peer:
    """Open a peer; it may raise ImportError."""
    opened: dict[str, Callable[[], Peer]] = {
        "langchain-chroma": lambda: LangChainChroma(directory, embeddings),
        "langgraph": lambda: LangGraph(embeddings),
    }
    return opened[name]()


def cut(texts: Sequence[str], tokens: int) -> str:
    """Return as many of the texts as fit, a line each."""
    lines: list[str] = []
    for text in texts:
        line = f"- {text}"
        tokens -= approximate_tokens(line) + 1  # with its line break
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines)
