"""mem0 as a peer: on Chroma, without a network."""

from __future__ import annotations

import hashlib
import logging
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, FakeListChatModel

from benchmarks.latency_data import embedded_text
from benchmarks.latency_peers import HITS
from langgraph_memory.records.records import Record


class Mem0:
    """mem0's `Memory` with `infer=False`: its model is never called."""

    library: ClassVar[str] = "mem0"
    calls: ClassVar[dict[str, str]] = {
        "put": "Memory.add, infer=False",
        "search": "Memory.search, filters user_id",
        "delete": "Memory.delete",
    }

    def __init__(self, directory: Path, embeddings: Embeddings) -> None:
        """Open mem0 with its Chroma collection and its history in a directory.

        Raises:
            ImportError: It is not installed.
        """
        model = FakeListChatModel(responses=["never asked"])
        self._memory = open_mem0(directory, embeddings, model)
        self._embeddings = embeddings

    def fill(self, records: Sequence[Record]) -> None:
        """Write records into mem0's collection in bulk, as `Memory.add` writes them one by one.

        `Memory.add` takes an fsync for each, and there may be 100,000.
        """
        texts = [embedded_text(record) for record in records]
        self._memory.vector_store.insert(
            vectors=self._embeddings.embed_documents(texts),
            ids=[str(uuid.uuid4()) for _ in records],
            payloads=[_payload(record) for record in records],
        )

    def put(self, user: str, texts: Sequence[str]) -> list[str]:
        """Add texts in one call, which writes one after the other."""
        said = [{"role": "user", "content": text} for text in texts]
        added = self._memory.add(said, user_id=user, infer=False)
        return [result["id"] for result in added["results"]]

    def search(self, question: str, user: str) -> Any:
        """Search a user's memories; mem0 asks Chroma for 60 to choose from."""
        return self._memory.search(question, filters={"user_id": user}, top_k=HITS)

    def delete(self, user: str, id: str) -> None:
        """Delete a memory."""
        self._memory.delete(id)

    def rows(self) -> list[dict[str, Any]]:
        """Return all that mem0 has written."""
        found: list[dict[str, Any]] = self._memory.vector_store.collection.get()["metadatas"]
        return found

    def close(self) -> None:
        """Close Chroma and the history."""
        self._memory.vector_store.client.close()
        self._memory.close()


def open_mem0(directory: Path, embeddings: Embeddings, model: BaseChatModel) -> Any:
    """Open mem0's `Memory` with its Chroma collection and its history in a directory.

    Raises:
        ImportError: It is not installed.
    """
    # mem0 reads both when it is imported: it would call home, and write into the home directory.
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(directory)
    # It says for each search that it has neither spaCy nor a search by words on Chroma.
    logging.getLogger("mem0").setLevel(logging.ERROR)
    from mem0 import Memory
    from mem0.memory import telemetry

    if telemetry.MEM0_TELEMETRY:
        raise RuntimeError("mem0 was imported before `Mem0` could switch its telemetry off")
    chroma = {"path": str(directory / "chroma"), "collection_name": "mem0"}
    return Memory.from_config(
        {
            "vector_store": {"provider": "chroma", "config": chroma},
            "embedder": {"provider": "langchain", "config": {"model": embeddings}},
            "llm": {"provider": "langchain", "config": {"model": model}},
            "history_db_path": str(directory / "history.db"),
        }
    )


def _payload(record: Record) -> dict[str, str]:
    text, moment = embedded_text(record), record.created_at.isoformat()
    return {
        "user_id": record.owner.id,
        "role": "user",
        "data": text,
        "hash": hashlib.md5(text.encode()).hexdigest(),
        "created_at": moment,
        "updated_at": moment,
        "text_lemmatized": text,
    }
