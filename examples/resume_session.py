"""A conversation that stops in the middle, and goes on in another process by its thread id.

    python -m examples.resume_session

The order waits for the customer's confirmation: the first process ends there. The second one knows
the thread's id and nothing else; the order is confirmed, and the turn is remembered once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from examples.command_line import options, run_each
from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryState,
    Sessions,
    open_sessions,
    recall_node,
    remember_node,
)

STEPS = ("begin", "resume")
USER, THREAD = "c-2291", "order-17"
ORDER = "Two kilos of Sidamo for a French press, please."


def take_order(state: MemoryState) -> dict[str, Any]:
    """Ask for confirmation before the order is taken; the run stops here until it comes."""
    order = state["messages"][-1].text
    confirmed = interrupt(f"Shall I place this order? {order}")
    return {"messages": [AIMessage("Placed." if confirmed == "yes" else "Not placed.")]}


def build(memory: Memory, sessions: Sessions) -> Any:
    """Return the graph: recall, take the order, remember."""
    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("take_order", take_order)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "take_order")
    builder.add_edge("take_order", "remember")
    builder.add_edge("remember", END)
    return builder.compile(checkpointer=sessions.checkpointer, store=memory.store)


def run_step(path: Path, step: str) -> None:
    """Begin the conversation, or go on with it, in this process."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions)
        config = sessions.config(user=USER, thread_id=THREAD)
        snapshot = graph.get_state(config)
        if step == "begin" and not snapshot.values:
            graph.invoke({"messages": [("user", ORDER)]}, config)
        elif step == "resume" and snapshot.interrupts:
            graph.invoke(Command(resume="yes"), config)
        print(f"\n-- {step} --")
        snapshot = graph.get_state(config)
        for message in snapshot.values["messages"]:
            print(f"{message.type}: {message.text}")
        for waiting in snapshot.interrupts:
            print(f"waiting: {waiting.value}")
        if not snapshot.interrupts:
            print(f"remembered: {memory.count(user=USER)}")


def main() -> None:
    """Run both steps, each in a process of its own."""
    given = options(__doc__, "resume", steps=STEPS, model=False)
    if given.step is None:
        run_each(STEPS)
    else:
        run_step(given.path, given.step)


if __name__ == "__main__":
    main()
