"""How processes that share a collection notice each other's writes: a vector clock a namespace.

The row of a namespace holds a number for each process that wrote there, under a key of its own,
so that no two of them overwrite each other's. A process raises its number in the call that writes;
whoever has read the numbers before it loaded the namespace knows by them whether that is still all
there is. Numbers are times in nanoseconds, made to grow: the smallest is the oldest.

An emptied namespace keeps its row, and in it the clock at which it was empty. If another process
added an item at that moment, its number is not among those: then the namespace is not empty.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from langgraph_memory.store import Namespace

VectorClock = Mapping[str, int]
"""The number of each process that wrote to a namespace."""

Clocks = Mapping[Namespace, VectorClock]

KEPT = 16
"""How many numbers a row keeps; those of processes that are gone would fill it otherwise."""

_PREFIX = "w_"


def new_writer() -> str:
    """Return the key of a process that opens a collection; no two are the same."""
    return f"{_PREFIX}{uuid.uuid4().hex[:16]}"


def clock_of(metadata: Mapping[str, Any]) -> dict[str, int]:
    """Return the clock in the row of a namespace."""
    return {
        key: value
        for key, value in metadata.items()
        if key.startswith(_PREFIX) and isinstance(value, int)
    }


def covers(seen: VectorClock, found: VectorClock, own: str | None = None) -> bool:
    """Whether who has seen one clock knows of all the writes in another.

    A number that has gone from `found` tells nothing: whoever removes one leaves its own.

    Args:
        seen: The clock that was read before what it speaks of.
        found: The clock as it is now.
        own: A process that knows its own writes anyway.
    """
    return all(number <= seen.get(key, -1) for key, number in found.items() if key != own)


def put_marks(own: str, number: int, surplus: Iterable[str]) -> dict[str, Any]:
    """Return what to set in the row of a namespace in which items are put."""
    return {"emptied": None, **dict.fromkeys(surplus), own: number}


def surplus(own: str, found: VectorClock) -> list[str]:
    """Return the keys with the oldest numbers, beyond those that a row keeps.

    Whoever removes them has to load the namespace anew: a number that it has never seen, of a
    write that it does not know, may have gone with them. Only a put may do it, since the namespace
    is then not empty, whatever the number stood for.
    """
    others = sorted((key for key in found if key != own), key=found.__getitem__, reverse=True)
    return others[KEPT - 1 :]


def emptied_marks(own: str, number: int, seen: VectorClock) -> dict[str, Any]:
    """Return what to set in the row of a namespace whose last item, by `seen`, is deleted."""
    return {"state": "emptied", "emptied": json.dumps({**seen, own: number}), own: number}


def is_empty(metadata: Mapping[str, Any]) -> bool:
    """Whether the row of a namespace says that there is no item."""
    if metadata.get("state") != "emptied":
        return False
    try:
        seen = clock_of(json.loads(metadata["emptied"]))
    except (KeyError, TypeError, ValueError, AttributeError):  # other code's, or damaged
        return False
    return covers(seen, clock_of(metadata))
