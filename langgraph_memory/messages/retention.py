"""How long messages are kept, where that is not for good. Pure.

A message that has expired is gone for every verb, also where the store has not deleted it yet. Its
session may hold it still: a mark stays, as of a forgotten one, or the next turn would log it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from langgraph.store.base import BaseStore, PutOp

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.messages.storage import mark_op
from langgraph_memory.records import Message
from langgraph_memory.store import check_ttl, put_op

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
