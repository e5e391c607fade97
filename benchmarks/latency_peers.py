"""The libraries beside which we measure: the same texts and the same vectors, as they keep them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import chromadb
import numpy as np
from chromadb.config import Settings
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from benchmarks.latency_data import DIMENSIONS, embedded_text
from langgraph_memory.records.clock import utc_now
from langgraph_memory.records.records import Message, Record

HITS = 10
"""How many hits a search asks for."""

PAGE = 5_000
"""Rows that Chroma is asked for at once; above 32,766 it fails."""


class Peer(Protocol):
    """A library that keeps the same records and finds a user's by a question."""

    library: ClassVar[str]
    calls: ClassVar[dict[str, str]]
    """What is called, in words, for each of the methods that are measured."""

    def fill(self, records: Sequence[Record]) -> None:
        """Write records in the fastest way there is."""

    def put(self, user: str, texts: Sequence[str]) -> list[str]:
        """Write new texts of a user in the usual way, and return their ids."""

    def search(self, question: str, user: str) -> object:
        """Search a user's records."""

    def delete(self, user: str, id: str) -> None:
        """Delete what `put` wrote."""

    def close(self) -> None:
        """Close what is open."""


class RawChroma:
    """A collection as somebody uses it who has Chroma alone."""

    library: ClassVar[str] = "chromadb"
    calls: ClassVar[dict[str, str]] = {
        "fill": "upsert",
        "put": "upsert",
        "search": "query, where user",
        "delete": "delete of an id",
    }

    def __init__(self, client: Any, name: str, embeddings: Embeddings) -> None:
        """Open a collection of the same kind as ours, or ours itself."""
        self.client = client
        self.name = name
        self.embeddings = embeddings
        self._rows = client.get_or_create_collection(
            name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def fill(self, records: Sequence[Record]) -> None:
        """Write records, each with its document, its vector and a few keys of metadata."""
        ids = [f"{record.owner.id}/{record.type}/{record.id}" for record in records]
        texts = [embedded_text(record) for record in records]
        self._upsert(ids, texts, [_metadata(record) for record in records])

    def put(self, user: str, texts: Sequence[str]) -> list[str]:
        """Write texts in one call."""
        ids = [uuid.uuid4().hex for _ in texts]
        self._upsert(ids, texts, [_metadata_of_text(user) for _ in texts])
        return ids

    def search(self, question: str, user: str) -> Any:
        """Search a user's rows."""
        vector = self.embeddings.embed_query(question)
        return self._rows.query(query_embeddings=[vector], n_results=HITS, where={"user": user})

    def delete(self, user: str, id: str) -> None:
        """Delete a row."""
        self._rows.delete(ids=[id])

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def get(self, user: str) -> list[Any]:
        """Read all of a user's rows, with their vectors, by pages."""
        include = ["metadatas", "documents", "embeddings"]
        where = {"user": user}
        pages: list[Any] = []
        while not pages or len(pages[-1]["ids"]) == PAGE:
            offset = PAGE * len(pages)
            pages.append(self._rows.get(where=where, limit=PAGE, offset=offset, include=include))
        return pages

    def _upsert(self, ids: list[str], texts: Sequence[str], metadatas: list[Any]) -> None:
        vectors = self.embeddings.embed_documents(list(texts))
        self._rows.upsert(
            ids=ids,
            metadatas=metadatas,
            documents=list(texts),
            embeddings=np.asarray(vectors, np.float32),
        )


class LangChainChroma:
    """langchain-chroma on the collection of a `RawChroma`."""

    library: ClassVar[str] = "langchain-chroma"
    calls: ClassVar[dict[str, str]] = {
        "put": "add_texts",
        "search": "similarity_search, filter user",
        "delete": "delete of an id",
    }

    def __init__(self, chroma: RawChroma) -> None:
        """Open the collection of `chroma`.

        Raises:
            ImportError: It is not installed.
        """
        from langchain_chroma import Chroma

        self._chroma = chroma
        self._rows = Chroma(chroma.name, chroma.embeddings, client=chroma.client)

    def fill(self, records: Sequence[Record]) -> None:
        """Do nothing: the records are in the collection already."""

    def put(self, user: str, texts: Sequence[str]) -> list[str]:
        """Write texts in one call."""
        return self._rows.add_texts(texts, [_metadata_of_text(user) for _ in texts])

    def search(self, question: str, user: str) -> Any:
        """Search a user's documents."""
        return self._rows.similarity_search(question, k=HITS, filter={"user": user})

    def delete(self, user: str, id: str) -> None:
        """Delete a document."""
        self._rows.delete([id])

    def close(self) -> None:
        """Close the client."""
        self._chroma.close()


class InMemory:
    """LangGraph's own store; it keeps nothing on disk."""

    library: ClassVar[str] = "langgraph"
    calls: ClassVar[dict[str, str]] = {
        "fill": "InMemoryStore.batch",
        "put": "InMemoryStore.batch",
        "search": "InMemoryStore.search",
        "delete": "InMemoryStore.delete",
    }

    def __init__(self, embeddings: Embeddings) -> None:
        """Make an empty one."""
        self._store = InMemoryStore(
            index={"embed": embeddings, "dims": DIMENSIONS, "fields": ["text"]}
        )

    def fill(self, records: Sequence[Record]) -> None:
        """Write records, all of a user into one namespace."""
        self._store.batch(
            [
                PutOp(
                    ("memory", record.owner.id),
                    record.id,
                    {**record.to_value(), "text": embedded_text(record)},
                )
                for record in records
            ]
        )

    def put(self, user: str, texts: Sequence[str]) -> list[str]:
        """Write texts in one batch."""
        ids = [uuid.uuid4().hex for _ in texts]
        pairs = zip(ids, texts, strict=True)
        self._store.batch([PutOp(("memory", user), id, {"text": text}) for id, text in pairs])
        return ids

    def search(self, question: str, user: str) -> Any:
        """Search a user's namespace."""
        return self._store.search(("memory", user), query=question, limit=HITS)

    def delete(self, user: str, id: str) -> None:
        """Delete an item."""
        self._store.delete(("memory", user), id)

    def close(self) -> None:
        """Do nothing: it has nothing open."""


def open_chroma(directory: Path) -> Any:
    """Return a Chroma client on a directory."""
    settings = Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(str(directory), settings=settings)


def _metadata(record: Record) -> dict[str, Any]:
    metadata = {
        "user": record.owner.id,
        "type": record.type,
        "created_at": record.created_at.isoformat(),
    }
    if isinstance(record, Message):
        metadata |= {"speaker": record.speaker, "thread": record.thread_id}
    return metadata


def _metadata_of_text(user: str) -> dict[str, Any]:
    return {
        "user": user,
        "type": "message",
        "created_at": utc_now().isoformat(),
        "speaker": user,
        "thread": f"{user}/bench",
    }
