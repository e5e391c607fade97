"""A memory that is only read: it answers, what would write says so, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    EpisodeRecorder,
    Memory,
    MemoryMiddleware,
    MemoryState,
    memory_tools,
    messages_with_memory,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel

USER: dict[str, Any] = {"user": "c-2291"}
EMBED = HashingEmbeddings()

WRITING: dict[str, Callable[[str], Any]] = {
    "log_turn": lambda id: ([HumanMessage("Hello")], {**USER, "thread_id": "t"}),
    "remember": lambda id: (["Drinks tea"], USER),
    "edit": lambda id: ([id], {**USER, "text": "Drinks tea"}),
    "restore": lambda id: ([id], USER),
    "undo": lambda id: ([id], USER),
    "pin": lambda id: ([id], USER),
    "approve": lambda id: ([id], USER),
    "reject": lambda id: ([id], USER),
    "forget": lambda id: ([id], USER),
    "erase": lambda id: ([], {**USER, "sessions": None}),
    "add_document": lambda id: (["Tea is green"], {**USER, "source": "tea.txt"}),
    "log_episode": lambda id: (["Brew tea"], USER),
    "keep_episode": lambda id: ([None], {}),
    "rate_episode": lambda id: ([id, 1.0], USER),
    "extract": lambda id: ([], USER),
    "reflect": lambda id: ([], USER),
    "consolidate": lambda id: ([], USER),
    "keep_proposed": lambda id: ([["Drinks tea"]], USER),
    "process_turn": lambda id: ([], {**USER, "thread_id": "t"}),
    "process_later": lambda id: ([], {**USER, "thread_id": "t"}),
}
READING = {
    *("recall", "recall_episodes", "list", "get", "count", "history", "facts", "episode"),
    *("pending", "is_forgotten", "using", "warm_up", "close", "flush", "backup"),
}


@pytest.fixture
def read(tmp_path: Path) -> Iterator[tuple[Memory, str]]:
    """A memory of one note, opened again to be read, and the note's id."""
    with Memory(ChromaStore(tmp_path, embed=EMBED)) as memory:
        note = memory.remember("Drinks decaf after noon", kind="preference", **USER).record
        memory.log_turn([HumanMessage("I drink decaf", id="m")], thread_id="monday", **USER)
        memory.log_episode("Find decaf beans", approach="asked two roasters", **USER)
    model = ScriptedChatModel([])
    with Memory(ChromaStore(tmp_path, embed=EMBED, read_only=True), model=model) as memory:
        yield memory, note.id


def test_each_public_verb_is_known_to_read_or_to_write() -> None:
    verbs = {
        name for name in dir(Memory) if not name.startswith("_") and callable(getattr(Memory, name))
    }
    sync = {name for name in verbs if f"a{name}" in verbs or name in READING}
    assert sync == WRITING.keys() | (READING & verbs)


def test_what_reads_answers_as_before(read: tuple[Memory, str]) -> None:
    memory, id = read
    assert memory.read_only
    recalled = memory.recall("decaf coffee", types=["note"], **USER)
    assert recalled.hits[0].text == "Drinks decaf after noon"
    assert [note.id for note in memory.list(**USER)] == [id]
    assert memory.get(id, **USER) == memory.history(id, **USER)[-1]
    assert memory.count(**USER)["note"] == 1
    assert memory.recall_episodes("decaf beans", **USER)
    assert memory.pending(**USER) == {"monday": 1}
    assert memory.consolidate(dry_run=True, **USER) == []


@pytest.mark.parametrize("prefix", ["", "a"])
@pytest.mark.parametrize("verb", WRITING)
async def test_what_writes_is_refused_before_anything_is_done(
    read: tuple[Memory, str], verb: str, prefix: str
) -> None:
    memory, id = read
    args, kwargs = WRITING[verb](id)
    before = memory.store.search((), limit=1_000)

    async def call() -> None:
        result = getattr(memory, prefix + verb)(*args, **kwargs)
        if isawaitable(result):
            await result

    with pytest.raises(ConfigurationError, match=rf"^a?{verb} writes.*read_only=True"):
        await call()
    assert memory.store.search((), limit=1_000) == before


def test_a_memory_on_any_store_can_be_only_read() -> None:
    store = InMemoryStore()
    Memory(store).remember("Drinks decaf", **USER)
    memory = Memory(store, read_only=True)
    with pytest.raises(ConfigurationError, match="remember writes"):
        memory.remember("Drinks tea", **USER)
    assert [note.text for note in memory.list(**USER)] == ["Drinks decaf"]


def test_a_graph_recalls_and_what_would_keep_is_refused_when_it_is_built(
    read: tuple[Memory, str],
) -> None:
    memory, _ = read
    for build in (
        lambda: remember_node(memory),
        lambda: with_memory(lambda state: state, memory),
        lambda: MemoryMiddleware(memory),
        lambda: EpisodeRecorder(memory),
    ):
        with pytest.raises(ConfigurationError, match=r"read_only=True: use recall_node"):
            build()
    assert [tool.name for tool in memory_tools(memory, **USER)] == ["recall", "list_memories"]

    def chat(state: MemoryState) -> dict[str, Any]:
        return {"messages": [AIMessage(messages_with_memory(state)[-1].text)]}

    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    builder.add_edge("chat", END)
    asked: MemoryState = {"messages": [HumanMessage("Which coffee, decaf?")]}
    config: RunnableConfig = {"configurable": {"user_id": "c-2291"}}
    done = builder.compile().invoke(asked, config)
    assert "Drinks decaf after noon" in done["messages"][-1].text
