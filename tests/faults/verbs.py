"""A memory that logs turns, keeps notes with slots and without, and forgets."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, HumanMessage

from langgraph_memory import Memory
from tests.faults.batches import not_found, shelved, stock
from tests.faults.scenario import State, not_recalled, records

USERS = ("ana", "ben")
SLOTS = ("home city", "drink", "bike")
VERBS = ("log", "note", "slot", "slot", "forget")


@dataclass(frozen=True, slots=True)
class _Kept:
    user: str
    text: str
    slot: str | None = None
    status: str = "active"

    def __str__(self) -> str:
        return f"{self.user}, {self.status}: {self.text}"


class Verbs:
    """Each step is one call of a verb."""

    one_write = True

    def __init__(self, memory: Memory, seed: int) -> None:
        self._memory = memory
        self._seed = seed

    def step(self, number: int) -> None:
        verb, user, argument = self._call(number)
        if verb == "log":
            messages = [
                HumanMessage(said(number), id=f"h{number}"),
                AIMessage(answered(number), id=f"a{number}"),
            ]
            self._memory.log_turn(messages, user=user, thread_id=f"t{number % 3}")
        elif verb == "note":
            self._memory.remember(said(number), user=user)
        elif verb == "slot":
            self._memory.remember(said(number), user=user, slot=argument)
        else:
            self._memory.forget(text=argument, user=user)

    def expected(self, steps: int) -> State:
        kept: list[_Kept] = []
        for number in range(steps):
            verb, user, argument = self._call(number)
            if verb == "log":
                kept += [_Kept(user, said(number)), _Kept(user, answered(number))]
            elif verb == "note":
                kept.append(_Kept(user, said(number)))
            elif verb == "slot":
                kept = [_superseded(each, user, argument) for each in kept]
                kept.append(_Kept(user, said(number), slot=argument))
            else:
                kept = _without(kept, user, argument)
        own = Counter(str(each) for each in kept)
        return {str(place): value for place, value in stock()} | own

    def found(self) -> State:
        own = Counter(
            str(_Kept(user, record.text, status=getattr(record, "status", "active")))
            for user in USERS
            for record in records(self._memory, user)
        )
        return {**shelved(self._memory.store), **own}

    def missed(self) -> list[str]:
        own = [line for user in USERS for line in not_recalled(self._memory, user)]
        return own + not_found(self._memory.store)

    def _call(self, number: int) -> tuple[str, str, str]:
        """Return the verb of a step, its user, and its slot or the text that it forgets."""
        chance = random.Random(f"{self._seed} {number}")
        verb, user = chance.choice(VERBS), chance.choice(USERS)
        earlier = said(chance.randrange(number)) if number else "nothing"
        return verb, user, earlier if verb == "forget" else chance.choice(SLOTS)


def said(number: int) -> str:
    return f"I moved to street S{number} last week"


def answered(number: int) -> str:
    return f"Noted, delivery D{number} goes there"


def _superseded(each: _Kept, user: str, slot: str) -> _Kept:
    current = (each.user, each.slot, each.status) == (user, slot, "active")
    return replace(each, status="superseded") if current else each


def _without(kept: list[_Kept], user: str, text: str) -> list[_Kept]:
    """Forget a text; the active note of a slot goes with its older versions."""
    gone = [each for each in kept if (each.user, each.text) == (user, text)]
    slots = {each.slot for each in gone if each.status == "active" and each.slot}
    return [
        each for each in kept if each not in gone and not (each.user == user and each.slot in slots)
    ]
