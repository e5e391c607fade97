"""Graphs as people build them, and what the tests ask of memory afterwards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_memory import (
    ChromaStore,
    Episode,
    Memory,
    MemoryMiddleware,
    MemoryState,
    Message,
    messages_with_memory,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from langgraph_memory.text.escaping import CLOSE, OPEN
from langgraph_memory.text.length import approximate_tokens

Builder = StateGraph[Any, Any, Any, Any]
Shape = Callable[..., Builder]

ORDER = "A kilo of Colombia, ground for a moka pot, shipped to Rosario."
AGAIN = "Send me the same as last time."

_AFTER = {"reply", "from_reply", "episodes", "background"}


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways to run a graph; calling it gives the state at the end."""

    name: str

    @property
    def is_async(self) -> bool:
        return self.name.startswith("a")

    async def __call__(self, graph: Any, given: Any, config: Any = None, **options: Any) -> Any:
        if self.name in ("invoke", "ainvoke"):
            result = getattr(graph, self.name)(given, config, **options)
            return await result if inspect.isawaitable(result) else result
        if self.name == "astream_events":
            events = graph.astream_events(given, config, version="v2", **options)
            ended = [event async for event in events if event["event"] == "on_chain_end"]
            return ended[-1]["data"]["output"]
        states = await everything(getattr(graph, self.name), given, config, "values", **options)
        return states[-1]


async def everything(
    stream: Callable[..., Any], given: Any, config: Any, mode: str | list[str], **options: Any
) -> list[Any]:
    """Return all that `graph.stream` or `graph.astream` gives in a mode."""
    chunks = stream(given, config, stream_mode=mode, **options)
    return list(chunks) if isinstance(chunks, Iterator) else [chunk async for chunk in chunks]


def model_node(
    model: BaseChatModel, read: Callable[[Any], list[BaseMessage]], *, is_async: bool
) -> Callable[..., Any]:
    """Return a node that calls the model with what `read` makes of the state."""

    def chat(state: Any) -> dict[str, Any]:
        return {"messages": [model.invoke(read(state))]}

    async def achat(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(read(state))]}

    return achat if is_async else chat


def nodes(
    memory: Memory,
    model: BaseChatModel,
    *,
    is_async: bool = False,
    schema: Any = MemoryState,
    context_schema: Any = None,
    inject: Any = "user",
    **options: Any,
) -> Builder:
    """Recall, chat, remember: a node each."""
    before = {key: value for key, value in options.items() if key not in _AFTER}
    after = {key: value for key, value in options.items() if key in _AFTER | {"user"}}

    def read(state: Any) -> list[BaseMessage]:
        return messages_with_memory(state, inject=inject)

    builder: Builder = StateGraph(schema, context_schema=context_schema)
    builder.add_node("recall", recall_node(memory, **before))
    builder.add_node("chat", model_node(model, read, is_async=is_async))
    builder.add_node("remember", remember_node(memory, **after))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    builder.add_edge("chat", "remember")
    builder.add_edge("remember", END)
    return builder


def wrapped(
    memory: Memory,
    model: BaseChatModel,
    *,
    is_async: bool = False,
    schema: Any = MessagesState,
    context_schema: Any = None,
    **options: Any,
) -> Builder:
    """One chat node with memory around it."""
    chat = model_node(model, messages_of, is_async=is_async)
    return wrapped_node(memory, chat, schema=schema, context_schema=context_schema, **options)


def wrapped_node(
    memory: Memory,
    node: Any,
    *,
    schema: Any = MessagesState,
    context_schema: Any = None,
    **options: Any,
) -> Builder:
    """Return a graph of one given node with memory around it."""
    builder: Builder = StateGraph(schema, context_schema=context_schema)
    builder.add_node("chat", with_memory(node, memory, **options))
    builder.add_edge(START, "chat")
    return builder


def agent(
    memory: Memory, model: BaseChatModel, *, is_async: bool = False, **options: Any
) -> Builder:
    """An agent of `create_agent`, to be compiled like the others."""
    made: Any = create_agent(model, middleware=[MemoryMiddleware(memory, **options)])
    builder: Builder = made.builder
    return builder


SURFACES: dict[str, Shape] = {"nodes": nodes, "with_memory": wrapped, "middleware": agent}


@contextmanager
def opened(path: Path) -> Iterator[Memory]:
    """Open a memory in a directory, without the default embedder."""
    with Memory(ChromaStore(path, embed=HashingEmbeddings())) as memory:
        yield memory


def messages_of(state: Any) -> list[BaseMessage]:
    found = state["messages"] if isinstance(state, dict) else state.messages
    return list(found)


def noting(answers: int = 12) -> ScriptedChatModel:
    """Return a model that keeps what it was asked in `calls`, and always answers the same."""
    return ScriptedChatModel(["Noted, thank you."] * answers)


def say(text: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, **fields)]}


def as_user(user: str, thread: str | None = None) -> RunnableConfig:
    """Return a config as people write it who do not use `Sessions`."""
    return {"configurable": {"user_id": user} | ({"thread_id": thread} if thread else {})}


def answer(state: Any) -> str:
    return messages_of(state)[-1].text


def block_in(messages: Sequence[BaseMessage]) -> str:
    """Return the one block of memory in a prompt, or an empty string."""
    text = "\n".join(message.text for message in messages)
    assert text.count(OPEN) == text.count(CLOSE) <= 1
    start, end = text.find(OPEN), text.find(CLOSE)
    return text[start:end] if start >= 0 else ""


def block_tokens(messages: Sequence[BaseMessage]) -> int:
    """Return about how long the block of memory in a prompt is."""
    return approximate_tokens(block_in(messages) + CLOSE)


def has_block(message: BaseMessage) -> bool:
    return OPEN in message.text


def said(memory: Memory, user: str) -> list[str]:
    """Return what memory holds as said by and to a user, oldest first."""
    found = memory.list(user=user, types=("message",), limit=10_000)
    messages = [record for record in found if isinstance(record, Message)]
    messages.sort(key=lambda message: (message.created_at, message.position))
    return [f"{message.role}: {message.text}" for message in messages]


def episodes(memory: Memory, user: str) -> list[Episode]:
    """Return a user's episodes, oldest first."""
    found = memory.list(user=user, types=("episode",), limit=10_000)
    return [record for record in reversed(found) if isinstance(record, Episode)]


def tasks(memory: Memory, user: str) -> list[str]:
    return [episode.task for episode in episodes(memory, user)]


def files_with(folder: Path, text: str) -> list[str]:
    """Return the files under a folder in which a text stands.

    Chroma's index files are left out: it writes them with whatever was in memory where it
    allocated them, which may be any text that the process had.
    """
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".bin"]
    return [str(file.relative_to(folder)) for file in files if text.encode() in file.read_bytes()]
