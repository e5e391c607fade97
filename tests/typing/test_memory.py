"""The memory itself, as users call it: checked by mypy, and run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_memory import (
    Candidate,
    Change,
    ChromaStore,
    Document,
    Episode,
    Hit,
    Memory,
    Message,
    Note,
    Recalled,
    Receipt,
)
from langgraph_memory.records import Record


class OwnStore(InMemoryStore):
    """A store of the user's."""


class Letters(Embeddings):
    """Embeddings of the user's."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, *(float(text.count(letter)) for letter in "aeiou")]


def accept(candidate: Candidate) -> Candidate | None:
    return candidate if candidate.importance > 0.3 else None


def lines(recalled: Recalled) -> Iterator[str]:
    """What was recalled, by the fields of its hits."""
    for hit in recalled:
        assert_type(hit, Hit)
        assert_type(hit.score, float)
        match hit.record:
            case Note():
                yield f"{hit.record.kind}: {hit.text}"
            case Message():
                yield f"{hit.record.role} in {hit.record.thread_id}: {hit.text}"
            case Episode():
                yield f"{hit.record.outcome}: {hit.record.task}"
            case Document():
                yield f"{hit.record.source}: {hit.text}"
            case _:
                yield hit.text


def test_a_store_of_the_users_own() -> None:
    store: BaseStore = OwnStore()
    memory = Memory(store, model=None, accept=accept)
    change = memory.remember("Drinks decaf", user="c-2291", kind="preference", slot="coffee")
    assert_type(change, Change)
    recalled = memory.recall("decaf", user="c-2291", types=("note",), limit=3)
    assert_type(recalled, Recalled)
    assert_type(recalled.nothing_known, bool)
    assert_type(recalled.prompt(max_tokens=500), str)
    assert list(lines(recalled)) or recalled.profile
    assert [note.kind for note in memory.list(user="c-2291")] == ["preference"]
    assert [said.text for said in memory.list(user="c-2291", types=("message",))] == []
    assert_type(memory.forget(change.record.id, user="c-2291"), Receipt)


def test_a_list_of_one_type_has_that_type() -> None:
    memory = Memory(OwnStore())
    assert_type(memory.list(user="c-2291"), list[Note])
    assert_type(memory.list(user="c-2291", types=("note",), kinds=["fact"]), list[Note])
    assert_type(memory.list(user="c-2291", types=("message",)), list[Message])
    assert_type(memory.list(user="c-2291", types=["episode"], limit=3), list[Episode])
    assert_type(memory.list(user="c-2291", types=("document",), project="shop"), list[Document])
    assert_type(memory.list(user="c-2291", types=("note", "message")), list[Record])


async def test_async_twins_have_the_same_types() -> None:
    async with Memory(ChromaStore.in_memory(embed=Letters())) as memory:
        assert_type(memory, Memory)
        change = await memory.aremember("Drinks decaf", user="c-2291")
        assert_type(change, Change)
        recalled = await memory.arecall("decaf", user="c-2291")
        assert_type(recalled, Recalled)
        assert_type(await memory.alist(user="c-2291", limit=3), list[Note])
        assert_type(await memory.alist(user="c-2291", types=("episode",)), list[Episode])
        assert_type(await memory.aforget(change.record.id, user="c-2291"), Receipt)
