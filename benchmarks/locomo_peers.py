"""The peers of the benchmark of LoCoMo, through their own interfaces, and BM25 by itself.

Each keeps all conversations in one place, each as a user of its own, with the embedder that our
memory has. They are given what a program that uses them would give, "speaker: words"; LangGraph's
store is also measured with the date before it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langgraph.store.memory import InMemoryStore

from benchmarks.latency_mem0 import open_mem0
from benchmarks.latency_peers import open_chroma
from benchmarks.locomo_data import Conversation
from benchmarks.retrieval_scores import LIMIT
from langgraph_memory.models.embedder import Embed, Embedder
from langgraph_memory.text.bm25 import LexicalIndex, query_weights, tokens


class InMemory:
    """LangGraph's own store."""

    library: ClassVar[str] = "langgraph"

    def __init__(self, embeddings: Embeddings, dims: int, dated: bool = False) -> None:
        self.call = f"InMemoryStore.search{', dated' if dated else ''}"
        self._dated = dated
        self._store = InMemoryStore(index={"embed": embeddings, "dims": dims, "fields": ["text"]})

    def keep(self, conversation: Conversation) -> None:
        """Put each message under its id."""
        texts = conversation.dated if self._dated else conversation.said
        for id, text in texts.items():
            self._store.put((conversation.id,), id, {"text": text})

    def find(self, question: str, conversation: Conversation) -> list[str]:
        """Search the user's namespace."""
        found = self._store.search((conversation.id,), query=question, limit=LIMIT)
        return [item.key for item in found]

    def close(self) -> None:
        """Do nothing: it has nothing open."""


class LangChainChroma:
    """langchain-chroma, with a filter."""

    library: ClassVar[str] = "langchain-chroma"

    def __init__(self, directory: Path, embeddings: Embeddings) -> None:
        """Make a collection.

        Raises:
            ImportError: It is not installed.
        """
        from langchain_chroma import Chroma

        self.call = "similarity_search, filter user"
        self._client = open_chroma(directory)
        self._rows = Chroma("locomo", embeddings, client=self._client)

    def keep(self, conversation: Conversation) -> None:
        """Add all messages."""
        metadatas = [{"user": conversation.id, "message": id} for id in conversation.said]
        self._rows.add_texts(list(conversation.said.values()), metadatas)

    def find(self, question: str, conversation: Conversation) -> list[str]:
        """Search the user's documents."""
        user = {"user": conversation.id}
        found = self._rows.similarity_search(question, k=LIMIT, filter=user)
        return [document.metadata["message"] for document in found]

    def close(self) -> None:
        """Close the client."""
        self._client.close()


class Mem0:
    """mem0 on Chroma; `infer=False` keeps messages as they are, and asks no model."""

    library: ClassVar[str] = "mem0"

    def __init__(self, directory: Path, embeddings: Embeddings) -> None:
        """Open it.

        Raises:
            ImportError: It is not installed.
        """
        self.call = "Memory.search, filters user_id"
        model = FakeListChatModel(responses=["never asked"])
        self._memory = open_mem0(directory, embeddings, model)
        self._ids: dict[str, str] = {}

    def keep(self, conversation: Conversation) -> None:
        """Add all messages."""
        said = [{"role": "user", "content": text} for text in conversation.said.values()]
        added = self._memory.add(said, user_id=conversation.id, infer=False)["results"]
        pairs = zip(added, conversation.said, strict=True)
        self._ids |= {result["id"]: id for result, id in pairs}

    def find(self, question: str, conversation: Conversation) -> list[str]:
        """Search the user's memories, without mem0's threshold."""
        user = {"user_id": conversation.id}
        found = self._memory.search(question, filters=user, top_k=LIMIT, threshold=0.0)
        return [self._ids[result["id"]] for result in found["results"]]

    def close(self) -> None:
        """Close Chroma and the history."""
        self._memory.vector_store.client.close()
        self._memory.close()


class LangMem:
    """langmem's tools on LangGraph's store, indexed as its pages say."""

    library: ClassVar[str] = "langmem"

    def __init__(self, embeddings: Embeddings, dims: int) -> None:
        """Make an empty store.

        Raises:
            ImportError: It is not installed.
        """
        from langmem import create_manage_memory_tool, create_search_memory_tool

        self.call = "search_memory"
        store = InMemoryStore(index={"embed": embeddings, "dims": dims})

        def tools(user: str) -> tuple[Any, Any]:
            where: Any = {"namespace": ("memories", user), "store": store}
            return create_manage_memory_tool(**where), create_search_memory_tool(**where)

        self._tools = tools
        self._ids: dict[str, str] = {}

    def keep(self, conversation: Conversation) -> None:
        """Create a memory of each message."""
        manage, _ = self._tools(conversation.id)
        for id, text in conversation.said.items():
            answer = manage.invoke({"content": text, "action": "create"})
            self._ids[re.sub(r"\S+ memory ", "", answer)] = id

    def find(self, question: str, conversation: Conversation) -> list[str]:
        """Search the user's memories."""
        _, search = self._tools(conversation.id)
        found = json.loads(search.invoke({"query": question, "limit": LIMIT}))
        return [self._ids[item["key"]] for item in found]

    def close(self) -> None:
        """Do nothing: it has nothing open."""


class BM25:
    """Words alone: our index over "speaker: words", without anything else."""

    library: ClassVar[str] = "bm25"

    def __init__(self) -> None:
        self.call = "BM25"
        self._indexes: dict[str, LexicalIndex] = {}

    def keep(self, conversation: Conversation) -> None:
        """Index all messages."""
        index = self._indexes[conversation.id] = LexicalIndex()
        index.extend([tokens(text) for text in conversation.said.values()])

    def find(self, question: str, conversation: Conversation) -> list[str]:
        """Return those with words of the question."""
        index, ids = self._indexes[conversation.id], list(conversation.said)
        alive = np.ones(len(ids), np.bool_)
        bm25, _ = index.scores(query_weights(question, [(index, alive)]), alive)
        best = np.argsort(-bm25, kind="stable")[:LIMIT]
        return [ids[row] for row in best if bm25[row] > 0]

    def close(self) -> None:
        """Do nothing: it has nothing open."""


class SameEmbeddings(Embeddings):
    """The vectors that our memory has too, for a peer; each text is embedded once."""

    def __init__(self, embed: Embed | None) -> None:
        self._embedder = Embedder(embed)
        self._known: dict[str, list[float]] = {}

    @property
    def dims(self) -> int:
        """The length of the vectors."""
        return len(self.embed_query("dimensions"))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vector of each text."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known |= zip(new, self._embedder.embed(new, [])[0].tolist(), strict=True)
        return [self._known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        vector: list[float] = self._embedder.embed([], [text])[1][0].tolist()
        return vector
