"""What is written of a conversation: each message once, as it was last said. Pure.

A message is known by its own id. Logged again with another text it was edited: its record gets the
new text, and keeps its place and its time. In another thread of the same user, the same id with the
same text is a copy, as in a thread that was forked from the first, and is not written again; with
another text it is what was said there.

A turn looks up what is new in its thread and no more: a `Mark` says what of the thread is known to
be kept. It lies in the memory of one process, and nothing depends on it: where there is none, as
after a restart, or where it does not hold any more, all of the thread is looked up, once. It holds
as long as the store has the last message that it speaks of, and nobody else has changed what was
kept: `Log` sees to both in the read that it does anyway.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.store.base import GetOp

from langgraph_memory.messages.langchain import MARK, is_said, text_of, with_ids
from langgraph_memory.messages.storage import message_ids
from langgraph_memory.records import Message, Owner, parse_time
from langgraph_memory.redaction import Redact, redacted_blocks
from langgraph_memory.store import (
    edits_in,
    edits_read_op,
    forgotten_namespace,
    get_op,
    sound_or_none,
)
from langgraph_memory.text import replace_surrogates

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


NO_MARK = Mark({}, None, None)
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
        return self._marks.get(place, NO_MARK)

    def put(self, place: Place, mark: Mark) -> None:
        """Set the mark of a thread."""
        with self._lock:
            self._drop(place)
            self._marks[place] = mark
            self._messages += len(mark.prints)
            while self._messages > self._max_messages:
                self._drop(next(iter(self._marks)))

    def _drop(self, place: Place) -> None:
        self._messages -= len(self._marks.pop(place, NO_MARK).prints)


@dataclass(frozen=True, slots=True)
class Log:
    """Messages that are to be kept, if they are not kept yet."""

    owner: Owner
    thread_id: str
    at: datetime | None
    """When they were said; else each says it itself, or it is now."""
    messages: Sequence[BaseMessage]
    """All that are at hand, each with an id."""
    mark: Mark
    """What is known to be kept of the thread."""
    prints: Prints
    """What those messages say that it does not know, or knows otherwise."""
    said: tuple[tuple[int, BaseMessage], ...]
    """Those of them that are words, each with its place among all messages."""

    @classmethod
    def of(
        cls,
        messages: Iterable[BaseMessage],
        owner: Owner,
        thread_id: str,
        at: datetime | None,
        mark: Mark = NO_MARK,
    ) -> Log:
        """Return the log of what was said in some messages."""
        messages = list(messages)
        new = unknown(messages, mark.prints)
        if not all(message.id for _, message in new):
            messages = with_ids(messages)
            new = unknown(messages, mark.prints)
        prints = {m.id or "": print_of(m) for _, m in new}
        said = tuple((i, m) for i, m in new if is_said(m))
        return cls(owner, thread_id, at, messages, mark, prints, said)

    def anew(self) -> Log:
        """Return the log of the same messages, with nothing known of their thread."""
        return Log.of(self.messages, self.owner, self.thread_id, self.at)

    def read_ops(self) -> list[GetOp]:
        """Return what has to be read before the messages can be kept."""
        last = [] if self.mark.last is None else self._ops(self.mark.last)
        new = [op for _, message in self.said for op in self._ops(message.id or "")]
        return [edits_read_op(self.owner), *last, *new]

    def is_stale(self, found: Sequence[Any]) -> bool:
        """Whether the mark does not hold any more.

        So it is if others have changed what was kept: this thread may have a copy of that. And if
        of the last message that it knows neither a record nor a mark of its deletion is left.

        Args:
            found: The store's answers to `read_ops`.
        """
        if self.mark is NO_MARK:
            return False
        last = self._of_last(found)
        lost = bool(last) and all(item is None for item in last)
        return lost or edits_in(found[0]) != self.mark.edits

    @property
    def ids(self) -> list[str]:
        """The ids that the records of its messages may have."""
        return list(
            dict.fromkeys(id for _, message in self.said for id in self._ids(message.id or ""))
        )

    def records(
        self,
        found: Sequence[Any],
        now: datetime,
        redact: Redact,
        erased: Collection[str] = (),
    ) -> list[Message]:
        """Return the records that are to be written: of messages that are new, or edited.

        Args:
            found: The store's answers to `read_ops`.
            now: The present moment.
            redact: Takes secrets out of a text.
            erased: The ids of records that were erased with their user.
        """
        answers = iter(found[1 + len(self._of_last(found)) :])
        records = []
        for position, message in self.said:
            ids = self._ids(message.id or "")
            places = [_Place(id, sound_or_none(next(answers)), next(answers)) for id in ids]
            if any(place.id in erased for place in places):
                continue
            kept, id = self._place_of(message, places, redact)
            if id is not None:
                records.append(self._record(id, position, message, now, redact))
            elif kept is not None and not _says(kept, message, redact):
                old = Message.from_value(self.owner, kept.key, kept.value)
                records.append(replace(old, text=_kept_text(message, redact), edited_at=now))
        return records

    def edit(self, written: Sequence[Message]) -> str | None:
        """Return a name for what the records that are written change; `None` if they are new.

        A message may get other words, or say something else in this thread than in the one that it
        was copied from.
        """
        changes = (r.edited_at or r.id != Message.id_of(r.thread_id, r.message_id) for r in written)
        return uuid.uuid4().hex if any(changes) else None

    def mark_after(self, edit: str | None, found: Sequence[Any]) -> Mark:
        """Return the mark of the thread once the records are written.

        Args:
            edit: What `edit` says of them.
            found: The store's answers to `read_ops`.
        """
        last = self.said[-1][1].id if self.said else self.mark.last
        return Mark({**self.mark.prints, **self.prints}, last, edit or edits_in(found[0]))

    # -- parts of the above --

    def _ops(self, message_id: str) -> Iterator[GetOp]:
        namespace = self.owner.namespace("message")
        for id in self._ids(message_id):
            yield get_op(namespace, id)
            yield get_op(forgotten_namespace(namespace), id)

    def _of_last(self, found: Sequence[Any]) -> Sequence[Any]:
        """Return the answers that tell of the last message that the mark knows."""
        return () if self.mark.last is None else found[1 : 1 + 2 * len(self._ids(self.mark.last))]

    def _ids(self, message_id: str) -> list[str]:
        return message_ids(self.thread_id, message_id)

    def _place_of(
        self, message: BaseMessage, places: Sequence[_Place], redact: Redact
    ) -> tuple[Any, str | None]:
        """Return a message's record in this thread, if it has one; else the id to write it under.

        Neither, if it was forgotten, or is a copy of what was said in another thread.
        """
        for place in places:
            if place.kept is not None:
                if place.kept.value["thread_id"] == self.thread_id:
                    return place.kept, None
                return None, None if _says(place.kept, message, redact) else places[0].id
            if place.gone is not None:
                return None, None
        return None, places[-1].id

    def _record(
        self, id: str, position: int, message: BaseMessage, now: datetime, redact: Redact
    ) -> Message:
        role: Literal["user", "assistant"] = (
            "user" if isinstance(message, HumanMessage) else "assistant"
        )
        return Message(
            id=id,
            owner=self.owner,
            created_at=self.at or _timestamp(message) or now,
            text=_kept_text(message, redact),
            speaker=redact(replace_surrogates(message.name or role)),
            role=role,
            thread_id=self.thread_id,
            message_id=message.id or "",
            position=position,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message may be kept."""

    id: str
    kept: Any
    """The item of its record, or `None`."""
    gone: Any
    """The mark that says that it was forgotten, or `None`."""


def _says(item: Any, message: BaseMessage, redact: Redact) -> bool:
    """Whether a record has the text of a message; what is equal as it is need not be redacted."""
    kept = item.value["text"]
    return kept == text_of(message) or replace_surrogates(kept) == _kept_text(message, redact)


def _kept_text(message: BaseMessage, redact: Redact) -> str:
    if isinstance(message.content, list):  # a secret may be cut where a block ends
        blocks = redacted_blocks(message.content, redact)
        message = message.model_copy(update={"content": blocks})
    return redact(replace_surrogates(text_of(message)))


def _timestamp(message: BaseMessage) -> datetime | None:
    given = message.additional_kwargs.get("timestamp")
    if not isinstance(given, str):
        return None
    try:
        return parse_time(given)
    except ValueError:  # a client's malformed time must not stop the conversation
        return None
