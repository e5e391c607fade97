"""What keeps an old thread from bringing back what was erased: digests that name nobody. Pure.

A thread that is not erased with its user holds the user's messages still, and its next turn would
log them again. So of each message a digest stays, made with a salt of the store's own: it can be
compared with, and tells neither user nor message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from secrets import token_hex
from typing import Any

from langgraph.store.base import GetOp, PutOp

from langgraph_memory.records import ROOT, Owner
from langgraph_memory.store import Namespace, get_op

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
    """Return which messages were erased, of the answers to `read_ops`."""
    return frozenset(id for id, item in zip(ids, found, strict=True) if item is not None)


def _key(salt: str, owner: Owner, id: str) -> str:
    return _digest(salt, owner.kind, owner.id, id)


def _digest(salt: str, *content: str) -> str:
    address = json.dumps(content).encode()
    return hashlib.blake2b(address, digest_size=16, key=bytes.fromhex(salt)).hexdigest()
