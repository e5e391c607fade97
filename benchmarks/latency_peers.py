"""The libraries beside which we measure: the same texts and the same vectors, as they keep them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from benchmarks.latency_data import DIMENSIONS, embedded_text
from langgraph_memory.records import Message, Record


class RawChroma:
    """A collection as somebody uses it who has Chroma alone."""

    def __init__(self, client: Any, name: str, embeddings: Embeddings) -> None:
        """Open a collection of the same kind as ours, or ours itself."""
        self.client = client
        self.name = name
        self._embeddings = embeddings
        self._rows = client.get_or_create_collection(
            name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def upsert(self, records: Sequence[Record]) -> None:
        """Write records, each with its document, its vector and a few keys of metadata."""
        documents = [embedded_text(record) for record in records]
        rows = [_plain_row(record) for record in records]
        self._rows.upsert(
            ids=[id for id, _ in rows],
            metadatas=[metadata for _, metadata in rows],
            documents=documents,
            embeddings=np.asarray(self._embeddings.embed_documents(documents), np.float32),
        )

    def delete(self, record: Record) -> None:
        """Delete a record."""
        self._rows.delete(ids=[_plain_row(record)[0]])

    def query(self, question: str, user: str, count: int = 10) -> Any:
        """Search a user's records."""
        vector = self._embeddings.embed_query(question)
        return self._rows.query(query_embeddings=[vector], n_results=count, where={"user": user})

    def get(self, user: str) -> Any:
        """Read all of a user's records, with their vectors."""
        include = ["metadatas", "documents", "embeddings"]
        return self._rows.get(where={"user": user}, include=include)


def open_chroma(directory: Path) -> Any:
    """Return a Chroma client on a directory."""
    settings = Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(str(directory), settings=settings)


def langchain_chroma(chroma: RawChroma, embeddings: Embeddings) -> Any:
    """Return langchain-chroma on the collection of `chroma`, or `None` if it is not installed."""
    try:
        from langchain_chroma import Chroma
    except ImportError:
        return None
    return Chroma(chroma.name, embeddings, client=chroma.client)


def in_memory_store(embeddings: Embeddings) -> InMemoryStore:
    """Return LangGraph's own store; it keeps nothing on disk."""
    return InMemoryStore(index={"embed": embeddings, "dims": DIMENSIONS, "fields": ["text"]})


def in_memory_op(record: Record) -> PutOp:
    """Return a record as an item of LangGraph's own store, all of a user in one namespace."""
    value = {**record.to_value(), "text": embedded_text(record)}
    return PutOp(("memory", record.owner.id), record.id, value)


def _plain_row(record: Record) -> tuple[str, dict[str, Any]]:
    user, created_at = record.owner.id, record.created_at.isoformat()
    metadata = {"user": user, "type": record.type, "created_at": created_at}
    if isinstance(record, Message):
        metadata |= {"speaker": record.speaker, "thread": record.thread_id}
    return f"{user}/{record.type}/{record.id}", metadata
