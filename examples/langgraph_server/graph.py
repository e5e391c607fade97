"""The graph: recall, answer, remember. The server gives it its store and its checkpointer."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import SystemMessage
from langgraph.graph import START, StateGraph

from langgraph_memory import Memory, MemoryState, messages_with_memory, recall_node, remember_node
from langgraph_memory.testing import RecallingChatModel

SYSTEM = "You take orders for a coffee roaster. What you do not know of this customer, ask."

memory = Memory()  # without a store of its own: the nodes use the run's
model = RecallingChatModel()  # a stand-in; a real one: init_chat_model("openai:gpt-4o-mini")


async def chat(state: MemoryState) -> dict[str, Any]:
    """Answer with what is remembered of the customer."""
    answer = await model.ainvoke([SystemMessage(SYSTEM), *messages_with_memory(state)])
    return {"messages": [answer]}


builder = StateGraph(MemoryState)
builder.add_node("recall", recall_node(memory))
builder.add_node("chat", chat)
builder.add_node("remember", remember_node(memory))
builder.add_edge(START, "recall")
builder.add_edge("recall", "chat")
builder.add_edge("chat", "remember")
graph = builder.compile()
