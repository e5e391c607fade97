"""An agent that has one turn after the other until it is killed.

    python -m tests.faults.talker PATH SHAPE FIRST

It prints the number of each turn when the turn is over; the message ids follow from the number.
"""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph.state import CompiledStateGraph

from langgraph_memory import Memory, Sessions, open_sessions
from langgraph_memory.testing import ScriptedChatModel
from tests.surfaces.graphs import nodes, opened, say, wrapped

USER, THREAD = "ana", "t"
SHAPES = {"nodes": nodes, "with_memory": wrapped}

Graph = CompiledStateGraph[Any, Any, Any, Any]


def text(number: int) -> str:
    return f"A kilo of coffee, order N{number}, to Rosario"


def reply(messages: list[BaseMessage]) -> AIMessage:
    question = next(message for message in reversed(messages) if message.type == "human")
    number = re.findall(r"order N(\d+), to Rosario", question.text)[-1]
    return AIMessage(f"Noted: N{number}.", id=f"a{number}")


def build(memory: Memory, sessions: Sessions, shape: str) -> Graph:
    model = ScriptedChatModel([reply] * 1_000)
    return SHAPES[shape](memory, model).compile(checkpointer=sessions.checkpointer)


def have_turn(graph: Graph, sessions: Sessions, number: int) -> None:
    config = sessions.config(user=USER, thread_id=THREAD)
    graph.invoke(say(text(number), id=f"m{number}"), config)


def main(path: Path, shape: str, first: int) -> None:
    with opened(path) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, shape)
        for number in itertools.count(first):
            have_turn(graph, sessions, number)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
