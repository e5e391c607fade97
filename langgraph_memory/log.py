"""What is written of a conversation: each message once, as it was last said. Pure.

A message is known by its own id. Logged again with another text it was edited: its record gets the
new text, and keeps its place and its time. In another thread of the same user, the same id with the
same text is a copy, as in a thread that was forked from the first, and is not written again; with
another text it is what was said there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.store.base import GetOp

from langgraph_memory.clock import parse_time
from langgraph_memory.embedding import replace_surrogates
from langgraph_memory.messages import is_said, text_of, with_ids
from langgraph_memory.operations import forgotten, get_op
from langgraph_memory.records import Message
from langgraph_memory.redaction import Redact
from langgraph_memory.redaction.parts import redacted_blocks
from langgraph_memory.scope import Owner


@dataclass(frozen=True, slots=True)
class Log:
    """Messages that are to be kept, if they are not kept yet."""

    owner: Owner
    thread_id: str
    at: datetime | None
    """When they were said; else each says it itself, or it is now."""
    said: tuple[tuple[int, BaseMessage], ...]
    """Each with its place among the messages that it came with."""

    @classmethod
    def of(
        cls, messages: Iterable[BaseMessage], owner: Owner, thread_id: str, at: datetime | None
    ) -> Log:
        """Return the log of what was said in some messages."""
        said = {m.id: (i, m) for i, m in enumerate(with_ids(messages)) if is_said(m)}
        return cls(owner, thread_id, at, tuple(said.values()))

    def read_ops(self) -> list[GetOp]:
        """Return what has to be read before the messages can be kept."""
        namespace = self.owner.namespace("message")
        return [
            get_op(where, id)
            for _, message in self.said
            for id in self._ids(message)
            for where in (namespace, forgotten(namespace))
        ]

    def records(self, found: Sequence[Any], now: datetime, redact: Redact) -> list[Message]:
        """Return the records that are to be written: of messages that are new, or edited.

        Args:
            found: The store's answers to `read_ops`.
            now: The present moment.
            redact: Takes secrets out of a text.
        """
        answers = iter(found)
        records = []
        for position, message in self.said:
            places = [_Place(id, next(answers), next(answers)) for id in self._ids(message)]
            kept, id = self._place_of(message, places, redact)
            if id is not None:
                records.append(self._record(id, position, message, now, redact))
            elif kept is not None and not _says(kept, message, redact):
                old = Message.from_value(self.owner, kept.key, kept.value)
                records.append(replace(old, text=_kept_text(message, redact), edited_at=now))
        return records

    # -- parts of the above --

    def _ids(self, message: BaseMessage) -> list[str]:
        """Return the ids that a message's record may have, that of its thread alone first."""
        own = message.id or ""
        ids = (Message.id_in(self.thread_id, own), Message.id_of(self.thread_id, own))
        return list(dict.fromkeys(ids))

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
