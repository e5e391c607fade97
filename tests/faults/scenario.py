"""What a killed process was doing, step by step, and what a directory must hold afterwards.

A state is what can be read, by a name for each thing. It follows from the seed and the number of
steps alone, so that another process knows what must be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

from langgraph_memory import Memory, Message, Note
from langgraph_memory.records.records import Record

State = Mapping[str, Any]
InFlight = Literal["whole", "absent", "part", "unknown"]


class Scenario(Protocol):
    """Steps that one process after the other takes in a directory that is open."""

    one_write: bool
    """Whether a step is a single write, which is there whole or not at all."""

    def step(self, number: int) -> None:
        """Take a step; taking the latest one again changes nothing."""

    def expected(self, steps: int) -> State:
        """Return what must be there after so many steps."""

    def found(self) -> State:
        """Return what is there."""

    def missed(self) -> list[str]:
        """Return what is there, but is not found when it is asked for in other ways."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the acknowledged steps, and of the one that a kill interrupted."""

    lost: tuple[str, ...]
    """A line for each thing that is not as it was acknowledged; what came back is one as well."""
    in_flight: InFlight
    half: bool = False
    """Whether the interrupted step is there in part although it was one write."""
    usable: bool = True
    """Whether the directory could be opened and read."""

    @classmethod
    def unusable(cls, reason: str) -> Self:
        """Return the verdict on a directory that cannot be opened or read."""
        return cls((f"everything: {reason}",), "unknown", usable=False)


def examine(scenario: Scenario, steps: int) -> Verdict:
    """Judge a reopened directory, and take the interrupted step again: then all is as planned."""
    before, after = scenario.expected(steps), scenario.expected(steps + 1)
    found = scenario.found()
    lost = [*differences(found, before, after), *scenario.missed()]
    touched = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    landed = {name for name in touched if found.get(name) == after.get(name)}
    in_flight: InFlight = "whole" if landed == touched else "part" if landed else "absent"
    scenario.step(steps)
    again = differences(scenario.found(), after)
    lost += [f"when the step had been repeated, {line}" for line in again]
    return Verdict(tuple(lost), in_flight, half=in_flight == "part" and scenario.one_write)


def differences(found: State, *admitted: State) -> list[str]:
    """Return a line for each thing that is as in none of the admitted states."""
    names = sorted({name for state in (found, *admitted) for name in state})
    return [
        f"{name}: {found.get(name)!r} instead of {admitted[0].get(name)!r}"
        for name in names
        if all(found.get(name) != state.get(name) for state in admitted)
    ]


def not_recalled(memory: Memory, user: str) -> list[str]:
    """Return the texts of a user's notes and messages that their own text does not bring up."""
    missed = []
    for record in records(memory, user):
        if isinstance(record, Note | Message) and getattr(record, "status", "active") == "active":
            hits = memory.recall(record.text, user=user).hits
            if record.text not in [hit.text for hit in hits]:
                missed.append(f"not recalled: {record.text}")
            if memory.get(record.id, user=user) != record:
                missed.append(f"not read by its id: {record.text}")
    return missed


def records(memory: Memory, user: str) -> list[Record]:
    """Return all records of a user."""
    found = memory.list(user=user, types=("note", "message", "episode"), status=None, limit=100_000)
    return list(found)
