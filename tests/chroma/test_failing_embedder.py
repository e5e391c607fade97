"""While the embedder fails, what has a vector can still be changed, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp, SearchOp

from langgraph_memory import ChromaStore
from langgraph_memory.testing import HashingEmbeddings

NS = ("beans",)


class Failing(Embeddings):
    """Embeddings of a service that may be away."""

    model = "hashes"
    dimensions = 256
    away = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.away:
            raise ConnectionError("away")
        return HashingEmbeddings(self.dimensions).embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture
def embed() -> Failing:
    return Failing()


@pytest.fixture
def store(embed: Failing) -> Iterator[ChromaStore]:
    with ChromaStore.in_memory(index={"embed": embed, "fields": ["text"]}) as store:
        store.put(NS, "1", {"text": "green apple", "n": 1})
        yield store


def batch(store: ChromaStore, form: str, *ops: Any) -> list[Any]:
    return store.batch(ops) if form == "sync" else asyncio.run(store.abatch(ops))


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("searched", [False, True])
def test_what_is_not_indexed_may_change(
    store: ChromaStore, embed: Failing, form: str, searched: bool
) -> None:
    if searched:  # its rows are in memory then
        store.search(NS, query="green apple")
    embed.away = True
    batch(store, form, PutOp(NS, "1", {"text": "green apple", "n": 2}))
    embed.away = False
    (found,) = store.search(NS, query="green apple")
    assert found.value["n"] == 2
    assert found.score == pytest.approx(1)


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize(
    "ops",
    [
        [PutOp(NS, "1", {"text": "a bicycle"})],
        [PutOp(NS, "2", {"text": "a bicycle"})],
        [PutOp(NS, "1", {"text": "green apple"}), PutOp(NS, "2", {"text": "a bicycle"})],
        [PutOp(NS, "1", {"text": "green apple"}), SearchOp(NS, query="green apple")],
    ],
)
def test_a_new_text_raises_what_the_embedder_raised(
    store: ChromaStore, embed: Failing, form: str, ops: list[Any]
) -> None:
    embed.away = True
    with pytest.raises(ConnectionError, match="away"):
        batch(store, form, *ops)
    assert [(item.key, item.value["n"]) for item in store.search(NS)] == [("1", 1)]
