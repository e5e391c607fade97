"""Whether what a node recalled was shown to a model: authors of graphs forget that most often.

What is recalled lies in the state, and `messages_with_memory` puts it into a prompt. Nobody can see
whether a node reads the state by itself, so a memory is told about once, and never if anything of
it was shown before. Safe to call from several threads.
"""

from __future__ import annotations

import threading
from typing import NamedTuple
from weakref import WeakSet, ref

from langgraph_memory.memory import Memory

MAX_TURNS = 1_000
"""How many turns that were recalled for are known; of more, the oldest are forgotten."""


class _Recalled(NamedTuple):
    turn: str
    memory: ref[Memory]


class Showing:
    """What was recalled in this process, and not shown yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, _Recalled] = {}
        self._settled: WeakSet[Memory] = WeakSet()  # shown, or told about

    def recalled(self, turn: str, memory: Memory) -> None:
        """Note that a node recalled something for a turn."""
        with self._lock:
            if memory in self._settled:
                return
            if len(self._turns) >= MAX_TURNS:
                del self._turns[next(iter(self._turns))]
            self._turns[turn] = _Recalled(turn, ref(memory))

    def shown(self, turn: str) -> None:
        """Note that what was recalled for a turn was put into messages."""
        self._settle(turn)

    def forgotten(self, turn: str) -> bool:
        """Whether nothing showed what was recalled for a turn in this run; true once a memory.

        A state that was read from a checkpoint holds an equal text, and not the same one: the run
        was stopped then, and what another process showed is not known here.
        """
        with self._lock:
            known = self._turns.get(turn)
        return known is not None and known.turn is turn and self._settle(turn)

    def _settle(self, turn: str) -> bool:
        """Note that a turn's memory is not to be told about; return whether it was before."""
        with self._lock:
            known = self._turns.pop(turn, None)
            memory = None if known is None else known.memory()
            if memory is None or memory in self._settled:
                return False
            self._settled.add(memory)
            return True


SHOWING = Showing()
"""That of this process: a state says nothing of what was done with it."""
