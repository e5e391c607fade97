"""A memory on several stores: what a scenario needs to run on all.

A scenario awaits `memory.remember(...)`, and runs on `ChromaStore` and on LangGraph's own
`InMemoryStore` with and without an index; on one of them with `Memory.aremember`. That both forms
do the same is shown by `tests/memory/test_parity.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from inspect import isawaitable
from typing import Any

import pytest
from hypothesis import settings
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, Memory, UniversalSentenceEncoder
from langgraph_memory.chroma import opening
from langgraph_memory.models import universal
from langgraph_memory.testing import HashingEmbeddings, ManualClock
from tests import machine


def pytest_configure() -> None:
    machine.keep_directories_in_memory()
    settings.register_profile("untimed", deadline=None)  # a busy machine fails no property
    settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    machine.collect_garbage_less()


class Verbs:
    """The verbs of a memory, all awaited; `memory` is the memory itself."""

    def __init__(self, memory: Memory, prefix: str) -> None:
        self.memory = memory
        self._prefix = prefix

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.memory, self._prefix + verb)

        async def call(*args: Any, **kwargs: Any) -> Any:
            found = method(*args, **kwargs)
            return await found if isawaitable(found) else found

        return call


def in_memory_with_index() -> InMemoryStore:
    embeddings = HashingEmbeddings()
    return InMemoryStore(index={"dims": embeddings.dims, "embed": embeddings, "fields": ["text"]})


STORES: dict[str, Callable[[], BaseStore]] = {
    "chroma": lambda: ChromaStore.in_memory(embed=HashingEmbeddings()),
    "in-memory": in_memory_with_index,
    "in-memory-without-index": InMemoryStore,
}


@pytest.fixture(params=STORES)
def store_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def prefix() -> str:
    """What stands before a verb's name, where a test has one store alone."""
    return "a"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(store_name: str) -> BaseStore:
    return STORES[store_name]()


@pytest.fixture
def form(store_name: str) -> str:
    """What stands before a verb's name on each store."""
    return "a" if store_name == "in-memory" else ""


@pytest.fixture
def memory(store: BaseStore, form: str, clock: ManualClock) -> Iterator[Verbs]:
    """A memory on each store, in one of the forms."""
    with Memory(store, clock=clock) as opened:
        yield Verbs(opened, form)


@pytest.fixture
def chroma_memory(clock: ManualClock) -> Iterator[Memory]:
    """A memory on Chroma alone, for what other stores cannot do or need not repeat."""
    with Memory(STORES["chroma"](), clock=clock) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _nothing_stays_in_memory() -> Iterator[None]:
    """Close the stores in memory that a test has left open: each takes megabytes."""
    before = set(opening._open)
    yield
    for key in set(opening._open) - before:
        if str(key).startswith(f"{opening.COLLECTION}_"):
            opening._open.pop(key).close()


@pytest.fixture(scope="session", autouse=True)
def _weights_loaded_once() -> Iterator[None]:
    """Let all encoders of this process share what takes a second to load."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(universal, "_load_encoder", cache(universal._load_encoder))
        yield


@pytest.fixture(scope="session")
def encoder() -> UniversalSentenceEncoder:
    """The embedded default."""
    return UniversalSentenceEncoder()


@pytest.fixture
def fluent_memory(encoder: UniversalSentenceEncoder, clock: ManualClock) -> Iterator[Memory]:
    """A memory with the embedded default, where meaning matters."""
    with Memory(ChromaStore.in_memory(embed=encoder), clock=clock) as opened:
        yield opened
