"""Agents in a process of their own: read steps from stdin, and print what came of each.

    python -m tests.graph.customer PATH SHAPE...

Each shape of an agent has a folder of its own in PATH, and goes through all steps. A step is JSON
with `user`, `thread`, and `text` or `resume`. A text that ends with "please confirm." stops the
turn before the model is called until it is resumed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import before_model
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt

from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryMiddleware,
    messages_with_memory,
    open_sessions,
)
from langgraph_memory.testing import RecallingChatModel
from tests.graph.graphs import Builder, answer, messages_of, nodes, say, wrapped_node


@before_model
def confirmed(state: Any, runtime: Any) -> None:
    if messages_of(state)[-1].text.endswith("please confirm."):
        interrupt("Is that right?")


def compiled(memory: Memory, shape: str, saver: Any) -> Any:
    if shape == "middleware":
        middleware = [MemoryMiddleware(memory), confirmed]
        return create_agent(RecallingChatModel(), middleware=middleware, checkpointer=saver)
    return build(memory, shape).compile(checkpointer=saver)


def build(memory: Memory, shape: str) -> Builder:
    model = RecallingChatModel()

    def chat(state: Any) -> dict[str, Any]:
        if messages_of(state)[-1].text.endswith("please confirm."):
            interrupt("Is that right?")
        prompt = messages_with_memory(state) if shape == "nodes" else messages_of(state)
        return {"messages": [model.invoke(prompt)]}

    if shape == "with_memory":
        return wrapped_node(memory, chat)
    builder = nodes(memory, model)
    rebuilt: Builder = StateGraph(builder.state_schema)
    for name, spec in builder.nodes.items():
        rebuilt.add_node(name, chat if name == "chat" else spec.runnable)
    for start, end in builder.edges:
        rebuilt.add_edge(start, end)
    return rebuilt


def main(path: Path, shapes: list[str]) -> None:
    steps = [json.loads(line) for line in sys.stdin]
    for shape in shapes:
        with Memory(ChromaStore(path / shape)) as memory, open_sessions(path / shape) as sessions:
            graph = compiled(memory, shape, sessions.checkpointer)
            for step in steps:
                config = sessions.config(user=step["user"], thread_id=step["thread"])
                resumed: Any = Command(resume=step.get("resume"))
                state = graph.invoke(say(step["text"]) if "text" in step else resumed, config)
                waiting = bool(graph.get_state(config).interrupts)
                told = {"shape": shape, "waiting": waiting, "answer": answer(state)}
                sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
