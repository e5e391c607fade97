"""A memory to which the same is said in several wordings, and that makes one note of them."""

from __future__ import annotations

from collections import Counter

from langgraph_memory import Memory
from tests.faults.batches import not_found, shelved, stock
from tests.faults.scenario import State, not_recalled, records

USER = "ana"
WORDINGS = ("Orders {} by post", "The user orders {} by post.")


class Repetitions:
    """Each step says something in one more wording; each second makes one note of the two."""

    one_write = False  # the second wording is written before they are merged

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def step(self, number: int) -> None:
        thing, wording = divmod(number, len(WORDINGS))
        self._memory.remember(text(thing, wording), user=USER)
        if wording == len(WORDINGS) - 1:
            self._memory.consolidate(user=USER)

    def expected(self, steps: int) -> State:
        things, rest = divmod(steps, len(WORDINGS))
        kept = Counter(f"active: {text(n, 1)}" for n in range(things))
        kept.update(f"superseded: {text(n, 0)}" for n in range(things))
        kept.update(f"active: {text(things, w)}" for w in range(rest))
        return {str(place): value for place, value in stock()} | kept

    def found(self) -> State:
        own = Counter(
            f"{getattr(record, 'status', '')}: {record.text}"
            for record in records(self._memory, USER)
        )
        return {**shelved(self._memory.store), **own}

    def missed(self) -> list[str]:
        return not_recalled(self._memory, USER) + not_found(self._memory.store)


def text(thing: int, wording: int) -> str:
    return WORDINGS[wording].format(f"T{thing}")
