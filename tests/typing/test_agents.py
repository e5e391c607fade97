"""Agents with memory, as users write them: checked by mypy, and run."""

from __future__ import annotations

from typing import Any, assert_type, cast

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool

from langgraph_memory import (
    TOOLS_PROMPT,
    ChromaStore,
    Memory,
    MemoryEvent,
    MemoryItem,
    MemoryMiddleware,
    Quotas,
    memory_tools,
)
from langgraph_memory.testing import HashingEmbeddings, RecallingChatModel


def shown(event: MemoryEvent) -> str:
    """What a chat shows of an event."""
    assert_type(event["user"], str)
    assert_type(event["items"], list[MemoryItem])
    assert_type(event.get("error"), str | None)
    if event["type"] == "memory.saved" and event["items"]:
        return "memory updated: " + ", ".join(item["text"] for item in event["items"])
    return ""


def test_an_agent_with_middleware_and_tools() -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        middleware = MemoryMiddleware(memory, quotas=Quotas(notes=3), inject="system")
        beside: list[AgentMiddleware[Any, Any, Any]] = [middleware]
        tools = memory_tools(memory, owner="user", limit_per_run=3)
        assert_type(tools, list[BaseTool])
        model = Deaf()
        agent = create_agent(model, tools, middleware=beside, system_prompt=TOOLS_PROMPT)
        given: Any = {"messages": [("user", "A kilo of Colombia, please.")]}
        config: Any = {"configurable": {"user_id": "c-2291"}}
        stream = agent.stream(given, config, stream_mode="custom")
        seen = [shown(cast(MemoryEvent, event)) for event in stream]
        assert any(text.startswith("memory updated: ") for text in seen)


class Deaf(RecallingChatModel):
    """Takes tools, and calls none."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self
