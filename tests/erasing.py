"""A memory of several people with all that can be kept of one, and what of them is in its files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_memory import ChromaStore, Memory, Note, Sessions, open_sessions, remember_node
from langgraph_memory.memory.erasure import is_text
from langgraph_memory.records.owners import Owner, RecordType
from langgraph_memory.store.records import put_op
from langgraph_memory.testing import HashingEmbeddings

ERASED, OTHER = "customer-7f3a", "customer-7f3a9"
"""The second begins as the first does: it is somebody else."""

_DAY = datetime(2026, 5, 3, tzinfo=UTC)


def words(user: str, number: int) -> str:
    """Return a text that only one person has said, and that no other text has a part of."""
    return f"Likes {user[::-1]}{number} more than anything else of its kind"


@contextmanager
def opened(directory: Path) -> Iterator[tuple[Memory, Sessions]]:
    """Open a memory, and the sessions beside it."""
    store = ChromaStore(directory, embed=HashingEmbeddings(64))
    with Memory(store) as memory, open_sessions(directory) as sessions:
        yield memory, sessions


def graph_of(memory: Memory, sessions: Sessions) -> Any:
    """Return a graph that answers, and remembers."""
    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [AIMessage("I shall see to it.")]})
    graph.add_node("remember", remember_node(memory))
    graph.add_edge(START, "chat")
    graph.add_edge("chat", "remember")
    return graph.compile(checkpointer=sessions.checkpointer)


def live(memory: Memory, sessions: Sessions, user: str, notes: int = 20) -> None:
    """Let a user have something of every type."""
    graph = graph_of(memory, sessions)
    for number in range(4):
        asked = HumanMessage(f"Please book {words(user, 9000 + number)}", id=f"{number}" * 20)
        if is_text(user):
            config = sessions.config(user=user, thread_id=f"{user[::-1]}-{number % 2}")
            graph.invoke({"messages": [asked]}, config)
        else:  # sessions take no such id
            memory.log_turn(asked, user=user, thread_id="t")
    owner = Owner("user", user)
    memory.store.batch([put_op(_note(owner, number)) for number in range(notes)])
    memory.remember(words(user, 8000), user=user, slot="taste")
    memory.remember(words(user, 8001), user=user, slot="taste")  # a version of it stays
    memory.add_document("\n".join(words(user, 7000 + i) for i in range(9)), source="d", user=user)
    memory.remember(words(user, 6000), user=user, kind="lesson")
    [said, *_] = memory.list(user=user, types=("message",))
    memory.forget(said.id, user=user)  # a mark stays


def _note(owner: Owner, number: int) -> Note:
    return Note(
        id=f"{number:024d}",
        owner=owner,
        text=words(owner.id, number),
        author=owner.id,
        created_at=_DAY,
        updated_at=_DAY,
        valid_from=_DAY,
    )


def files_with(directory: Path, needle: bytes) -> list[str]:
    """Return the files below a directory that some bytes are in."""
    files = (file for file in sorted(directory.rglob("*")) if file.is_file())
    return [file.name for file in files if needle in file.read_bytes()]


def state_of(memory: Memory, user: str) -> list[str]:
    """Return all that a user has, in a form that can be compared."""
    types: tuple[RecordType, ...] = ("note", "message", "episode", "document", "source")
    records = memory.list(user=user, types=types, status=None, limit=10_000)
    return sorted(f"{record.type} {record.to_value()}" for record in records)
