"""An agent that has one turn after the other, in a session that is kept."""

from __future__ import annotations

import re
from collections import Counter

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_memory import Memory, Sessions
from langgraph_memory.testing import ScriptedChatModel
from tests.faults.batches import not_found, shelved, stock
from tests.faults.scenario import State, not_recalled
from tests.graph.graphs import Shape, said, say, tasks

USER, THREAD = "ana", "t"


class Agent:
    """Each step is a turn, which writes to memory and to the session; it can be had again."""

    one_write = False

    def __init__(self, memory: Memory, sessions: Sessions, shape: Shape) -> None:
        self._memory = memory
        self._sessions = sessions
        model = ScriptedChatModel([reply] * 1_000)
        self._graph = shape(memory, model).compile(checkpointer=sessions.checkpointer)

    def step(self, number: int) -> None:
        config = self._sessions.config(user=USER, thread_id=THREAD)
        self._graph.invoke(say(text(number), id=f"m{number}"), config)

    def expected(self, steps: int) -> State:
        lines = Counter(
            line
            for n in range(steps)
            for line in (f"user: {text(n)}", f"assistant: Noted: N{n}.", f"task: {text(n)}")
        )
        return {str(place): value for place, value in stock()} | lines

    def found(self) -> State:
        lines = Counter(
            [*said(self._memory, USER), *(f"task: {task}" for task in tasks(self._memory, USER))]
        )
        return {**shelved(self._memory.store), **lines}

    def missed(self) -> list[str]:
        return not_recalled(self._memory, USER) + not_found(self._memory.store)


def text(number: int) -> str:
    return f"A kilo of coffee, order N{number}, to Rosario"


def reply(messages: list[BaseMessage]) -> AIMessage:
    question = next(message for message in reversed(messages) if message.type == "human")
    number = re.findall(r"order N(\d+), to Rosario", question.text)[-1]
    return AIMessage(f"Noted: N{number}.", id=f"a{number}")
