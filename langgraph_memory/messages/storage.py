"""Messages in a store: how long they are kept, and the marks that forgotten ones leave. Pure.

A thread may hold a message that is forgotten, expired or erased, and its next turn would log it
again. So a mark of it stays. Where a user was erased, marks must name nobody: each is a digest of
the message, made with a salt of the store's own, that can be compared with and tells neither user
nor message. A message that has expired is gone for every verb, also where the store has not deleted
it yet.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any, TypeVar

from langgraph.store.base import BaseStore, GetOp, PutOp

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records import ROOT, Message, Owner, Record
from langgraph_memory.store import Namespace, check_ttl, forgotten_namespace, get_op, put_op

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
    """Return the ids that a message's record may have, that of its thread alone first."""
    ids = (Message.id_in(thread_id, message_id), Message.id_of(thread_id, message_id))
    return list(dict.fromkeys(ids))


def mark_read_ops(owner: Owner, ids: Sequence[str]) -> list[GetOp]:
    """Return the operations that read the marks which some messages may have."""
    return [get_op(forgotten_namespace(owner.namespace("message")), id) for id in ids]


def on_request(marks: Sequence[Any]) -> bool:
    """Whether somebody wanted a message to be forgotten, as its marks say."""
    return any(mark is not None and mark.value == _ON_REQUEST for mark in marks)


# -- what is left of an erased user ----------------------------------------------------------------


ERASED: Namespace = (ROOT, "erased")
"""Where the salt lies, and below it the digests, for each erased user in a namespace of their own.
"""
_SALT = "salt"


def salt_op() -> GetOp:
    """Return the operation that reads the salt; there is none before somebody was erased."""
    return get_op(ERASED, _SALT)


def salt_of(item: Any) -> str:
    """Return the salt that `salt_op` found."""
    return str(item.value[_SALT])


def new_salt() -> tuple[str, PutOp]:
    """Return a salt, and the operation that keeps it."""
    salt = token_hex(16)
    return salt, PutOp(ERASED, _SALT, {_SALT: salt}, index=False)


def erased_namespace_of(salt: str, owner: Owner) -> Namespace:
    """Return where the digests of a user's messages lie."""
    return (*ERASED, _digest(salt, owner.kind, owner.id))


def erased_mark_ops(salt: str, owner: Owner, ids: Iterable[str]) -> list[PutOp]:
    """Return the operations that keep digests of messages, by the ids of their records."""
    namespace = erased_namespace_of(salt, owner)
    return [PutOp(namespace, _key(salt, owner, id), {}, index=False) for id in ids]


def erased_delete_ops(items: Iterable[Any]) -> list[PutOp]:
    """Return the operations that delete digests which were read."""
    return [PutOp(tuple(item.namespace), item.key, None) for item in items]


def erased_read_ops(salt: str, owner: Owner, ids: Iterable[str]) -> list[GetOp]:
    """Return the operations that read the digests of messages."""
    namespace = erased_namespace_of(salt, owner)
    return [get_op(namespace, _key(salt, owner, id)) for id in ids]


def erased_ids(ids: Sequence[str], found: Sequence[Any]) -> frozenset[str]:
    """Return which messages were erased, of the answers to `erased_read_ops`."""
    return frozenset(id for id, item in zip(ids, found, strict=True) if item is not None)


def _key(salt: str, owner: Owner, id: str) -> str:
    return _digest(salt, owner.kind, owner.id, id)


def _digest(salt: str, *content: str) -> str:
    address = json.dumps(content).encode()
    return hashlib.blake2b(address, digest_size=16, key=bytes.fromhex(salt)).hexdigest()


# -- how long messages are kept --------------------------------------------------------------------


Lists = TypeVar("Lists", bound=Sequence[Any])


def check_retention(keep_messages: object, message_ttl: object, model: object) -> None:
    """Refuse what says nothing about how long messages are kept.

    Raises:
        ConfigurationError: What is wrong with it.
    """
    if not isinstance(keep_messages, bool):
        raise ConfigurationError(f"keep_messages= is True or False, got {keep_messages!r}")
    if not keep_messages and model is None:
        raise ConfigurationError(
            "keep_messages=False deletes messages once a model has made notes of them, and this "
            "Memory has no model: pass model= as well, or message_ttl= to keep them for some time"
        )
    if message_ttl is not None:
        try:
            check_ttl(message_ttl)
        except ConfigurationError as error:
            raise ConfigurationError(f"message_ttl=: {error}") from error


def check_store(store: BaseStore | None, message_ttl: float | None) -> None:
    """Refuse a store in which nothing expires, if messages are to.

    Raises:
        ConfigurationError: If it has no `supports_ttl`.
    """
    if store is not None and message_ttl is not None and not store.supports_ttl:
        raise ConfigurationError(
            f"message_ttl= needs a store whose items can expire, such as ChromaStore('./memory'); "
            f"{type(store).__name__} has no supports_ttl"
        )


def expiry_of_now(message_ttl: float | None, now: datetime) -> datetime | None:
    """Return when a message was said that expires now; `None` if messages do not expire."""
    if message_ttl is None:
        return None
    try:
        return now - timedelta(minutes=message_ttl)
    except OverflowError:  # before the year 1
        return datetime.min.replace(tzinfo=UTC)


def message_ops(
    messages: Sequence[Message], expired: datetime | None, now: datetime
) -> list[PutOp]:
    """Return the operations that write messages.

    Args:
        messages: The records.
        expired: What was said until then has expired; `None` if messages do not.
        now: The present moment.
    """
    if expired is None:
        return [put_op(message) for message in messages]
    ops = []
    for message in messages:
        left = (min(message.created_at, now) - expired).total_seconds() / 60
        ops += [put_op(message, left)] if left > 0 else []
        ops.append(mark_op(message))
    return ops


def unexpired(results: Lists, expired: datetime | None) -> Lists:
    """Take messages that have expired out of lists of items, or of matches, that a store found.

    Args:
        results: The lists; they are changed.
        expired: What was said until then has expired; `None` if messages do not.
    """
    for found in results if expired is not None else ():
        found[:] = [each for each in found if not _has_expired(each, expired)]
    return results


def _has_expired(found: Any, expired: datetime | None) -> bool:
    if found is None or expired is None:
        return False
    if isinstance(found, Message):
        return found.created_at <= expired
    item = getattr(found, "item", found)
    if item.namespace[-1] != Message.type:
        return False
    try:
        return datetime.fromisoformat(item.value["created_at"]) <= expired  # most are not read
    except (KeyError, TypeError, ValueError):
        return False  # it is no record, and passed over where it is read
