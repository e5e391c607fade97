"""What was said and not looked through yet: the messages that no extraction record names. Pure.

One that was edited since counts again.

Nothing else is kept of this queue, so nothing of it can be lost or run twice: an extraction record
is written in one batch with its notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from langgraph_memory.records import Message, Owner, RecordType
from langgraph_memory.store import ALL, NewestOp, lying_in, read_record, said_at
from langgraph_memory.text import approximate_tokens

MAX_TOKENS = 6_000
"""Of the messages of one batch, about; a turn that is longer is a batch of its own."""
EARLIER = 4
"""Messages before a batch that are shown with it."""

_TYPES: tuple[RecordType, ...] = ("message", "extraction")


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """Messages of one thread that a model looks through at once."""

    owner: Owner
    thread_id: str
    messages: tuple[Message, ...]
    """Oldest first."""
    earlier: tuple[Message, ...] = ()
    """What was said just before them, and is done."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its messages."""
        return tuple(message.id for message in self.messages)


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of an owner, as far as it is not done."""

    owner: Owner
    thread_id: str
    messages: tuple[Message, ...]
    """Those to do, oldest first; at least one."""
    earlier: tuple[Message, ...]
    """The last ones before the first of these."""

    @property
    def turns(self) -> int:
        """How many turns there are to do; an answer alone is one."""
        return len(self._turns())

    def batch(self) -> MessageBatch:
        """Return as many whole turns as a model is to look through at once."""
        turns = self._turns()
        chosen = turns[0]
        size = _size(chosen)
        for turn in turns[1:]:
            size += _size(turn)
            if size > MAX_TOKENS:
                break
            chosen = [*chosen, *turn]
        return MessageBatch(self.owner, self.thread_id, tuple(chosen), self.earlier)

    def _turns(self) -> list[list[Message]]:
        turns: list[list[Message]] = []
        for message in self.messages:
            if not turns or (message.role == "user" and _asks(turns[-1])):
                turns.append([])
            turns[-1].append(message)
        return turns


def queue_ops(owner: Owner, thread_id: str | None = None) -> dict[Any, Any]:
    """Return the operations that bring what `queue` needs, of one thread or of all, by type."""
    filter = None if thread_id is None else {"thread_id": thread_id}
    return {type: NewestOp(owner.namespace(type), filter, ALL) for type in _TYPES}


def queue(owner: Owner, found: Mapping[Any, Any]) -> list[Thread]:
    """Return the threads in which there is something to do, the one that waits longest first."""
    said, done = (lying_in(owner.namespace(type), found[type]) for type in _TYPES)
    named: dict[str, str] = {}
    for item in sorted(done, key=lambda item: str(item.value["created_at"])):
        named |= dict.fromkeys(item.value.get("messages") or (), str(item.value["created_at"]))
    said.sort(key=lambda item: (item.value["thread_id"], said_at(item)))
    threads = []
    for thread_id, group in groupby(said, key=lambda item: item.value["thread_id"]):
        items = list(group)
        waiting = [i for i, item in enumerate(items) if _is_waiting(item, named)]
        if waiting:
            before = items[max(waiting[0] - EARLIER, 0) : waiting[0]]
            messages = _read(items[i] for i in waiting)
            threads.append(Thread(owner, thread_id, messages, _read(before)))
    return sorted(threads, key=lambda thread: thread.messages[0].created_at)


def _is_waiting(item: Any, named: Mapping[str, str]) -> bool:
    """Whether a message was not looked through, or was edited since."""
    looked_at = named.get(item.key)
    return looked_at is None or (item.value.get("edited_at") or "") > looked_at


def _asks(turn: Sequence[Message]) -> bool:
    return any(message.role == "user" for message in turn)


def _size(messages: Iterable[Message]) -> int:
    return sum(approximate_tokens(message.text) for message in messages)


def _read(items: Iterable[Any]) -> tuple[Message, ...]:
    records = (read_record(item) for item in items)
    return tuple(record for record in records if isinstance(record, Message))
