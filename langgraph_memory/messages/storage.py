"""Messages in a store: forgotten ones leave a mark, so that no thread brings them back. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import GetOp, PutOp

from langgraph_memory.records import Message, Owner, Record
from langgraph_memory.store import Namespace, forgotten_namespace, get_op

_ON_REQUEST = {"on_request": True}  # in the mark of a message that somebody wanted deleted


def forget_ops(records: Sequence[Record]) -> list[PutOp]:
    """Return the operations that delete records.

    Of messages, digests of their ids stay, so that they are not logged and processed again.
    """
    return [
        op
        for record in records
        for op in forget_item_ops(record.owner.namespace(record.type), record.id)
    ]


def forget_item_ops(namespace: Namespace, key: str) -> list[PutOp]:
    deletion = PutOp(namespace, key, None)
    mark = PutOp(forgotten_namespace(namespace), key, _ON_REQUEST, index=False)
    return [deletion, mark] if namespace[-1] == "message" else [deletion]


def mark_op(message: Message) -> PutOp:
    """Return the operation that keeps a digest of a message's id, whatever becomes of the message.

    A session may hold the message still: without the mark, its next turn would log it again.
    """
    return PutOp(
        forgotten_namespace(message.owner.namespace(message.type)), message.id, {}, index=False
    )


def retire_ops(messages: Sequence[Message]) -> list[PutOp]:
    """Return the operations that delete messages which have served, unasked."""
    gone = [PutOp(m.owner.namespace(m.type), m.id, None) for m in messages]
    return [*gone, *map(mark_op, messages)]


def message_ids(thread_id: str, message_id: str) -> list[str]:
    """Return the ids that the record of a message may have."""
    ids = (Message.id_in(thread_id, message_id), Message.id_of(thread_id, message_id))
    return list(dict.fromkeys(ids))


def mark_read_ops(owner: Owner, ids: Sequence[str]) -> list[GetOp]:
    """Return the operations that read the marks which some messages may have."""
    return [get_op(forgotten_namespace(owner.namespace("message")), id) for id in ids]


def on_request(marks: Sequence[Any]) -> bool:
    """Whether somebody wanted a message to be forgotten, as its marks say."""
    return any(mark is not None and mark.value == _ON_REQUEST for mark in marks)
