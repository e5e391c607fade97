"""What of each thread is known to be kept, so that a turn looks up what is new in it and no more.

A mark lies in the memory of one process, and nothing depends on it: where there is none, as after a
restart, or where it does not hold any more, all of the thread is looked up in the store, once. It
holds as long as the store has the last message that it speaks of, and nobody else has changed what
was kept: `Log` sees to both in the read that it does anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langgraph_memory.messages.langchain import MARK
from langgraph_memory.records import Owner

MAX_MESSAGES = 200_000
"""Of so many messages something is known, at some 200 bytes each; the threads that were used least
recently are forgotten first."""

_MEANING = (MARK, "lc_source", "audio")  # the `additional_kwargs` that `text_of` and `is_said` read

Prints = Mapping[str, int]
"""By the ids of messages, what they say as a number."""


def print_of(message: BaseMessage) -> int:
    """Return a number for what a message says: 64 bits, the same for the same in one process."""
    content, kwargs = message.content, message.additional_kwargs
    if kwargs and any(name in kwargs for name in _MEANING):
        return hash(repr((content, [kwargs.get(name) for name in _MEANING])))
    return hash(content) if isinstance(content, str) else hash(repr(content))


def unknown(messages: Sequence[BaseMessage], known: Prints) -> list[tuple[int, BaseMessage]]:
    """Return the messages that say something else than is known of them, each with its place.

    Of several with one id the last counts. Of one without an id nothing is known.
    """
    # Inlined for the most usual ones: at each turn, this is done with all of a state.
    new = [
        (place, message)
        for place, message in enumerate(messages)
        if known.get(message.id or "")
        != (
            hash(content)
            if type(content := message.content) is str and not message.additional_kwargs
            else print_of(message)
        )
    ]
    first = new[0][0] if new else len(messages)
    last = {message.id: place for place, message in enumerate(messages[first:], first)}
    return [(place, message) for place, message in new if last[message.id] == place]


class Mark(NamedTuple):
    """What is known to be kept of a thread."""

    prints: Prints
    last: str | None
    """The id of the latest message of which the store has something."""
    edits: str | None
    """The name of the owner's latest edit; `None` if there was none."""


NOTHING = Mark({}, None, None)
"""The mark of a thread of which nothing is known."""


class Place(NamedTuple):
    """A thread in a store."""

    store: int
    """Its `id`. Another store may get the same one later; a mark is checked against what it has."""
    owner: Owner
    thread_id: str


class Marks:
    """The marks of the threads that were used last. Safe to call from several threads."""

    def __init__(self, max_messages: int = MAX_MESSAGES) -> None:
        self._max_messages = max_messages
        self._messages = 0
        self._marks: dict[Place, Mark] = {}  # the least recently used first
        self._lock = threading.Lock()

    def get(self, place: Place) -> Mark:
        """Return the mark of a thread."""
        return self._marks.get(place, NOTHING)

    def put(self, place: Place, mark: Mark) -> None:
        """Set the mark of a thread."""
        with self._lock:
            self._drop(place)
            self._marks[place] = mark
            self._messages += len(mark.prints)
            while self._messages > self._max_messages:
                self._drop(next(iter(self._marks)))

    def _drop(self, place: Place) -> None:
        self._messages -= len(self._marks.pop(place, NOTHING).prints)
