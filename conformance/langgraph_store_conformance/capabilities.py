"""What a store may be able to do, and why a test cannot ask for it of a certain store."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Literal

from langgraph.store.base import BaseStore
from langgraph.store.base.batch import AsyncBatchedBaseStore

Form = Literal["sync", "async"]
"""Which of its two forms a store is called through: `put` or `aput`."""


class Capability(StrEnum):
    """A part of the contract; each test belongs to one."""

    BASE = "base"
    """`get`, `put`, `delete` and batches."""
    VALIDATION = "validation"
    """What has to be refused."""
    ISOLATION = "isolation"
    """What is nobody else's business: values are copies, namespaces do not mix."""
    CREATED_AT = "created_at"
    """`created_at` and `updated_at`."""
    FILTERS = "filters"
    """What a filter means."""
    PREFIXES = "prefixes"
    """Which namespaces a search covers."""
    NAMESPACES = "namespaces"
    """`list_namespaces`."""
    PAGINATION = "pagination"
    """`limit` and `offset`."""
    SEARCH = "search"
    """Search by meaning; needs a factory that takes `index`."""
    MULTI_FIELD = "multi_field"
    """Several texts of one item, each with a vector of its own."""
    TTL = "ttl"
    """Items that expire; needs `supports_ttl` and a factory that takes `ttl`."""
    TEXT = "text"
    """Keys, labels and values of any kind."""
    SYNC = "sync"
    """The sync methods, also from several threads."""
    ASYNC = "async"
    """The async methods, also from several tasks, also cancelled."""
    RANDOM = "random"
    """Random operations, compared with the `ModelStore`."""


class Skipped(Exception):
    """Says that something cannot be tested here, and why; a factory may raise it, too."""


NEEDS_INDEX = frozenset({Capability.SEARCH, Capability.MULTI_FIELD})


def why_not(capability: Capability, store: BaseStore) -> str | None:
    """Return why a capability cannot be asked of this store, or None where it can."""
    if capability is Capability.TTL and not store.supports_ttl:
        return "the store says supports_ttl = False"
    return None


async def forms_of(store: BaseStore) -> tuple[Form, ...]:
    """Find out which forms a store has, by batches of nothing: a read might leave traces."""
    forms: list[Form] = []
    try:
        await call_sync(store, store.batch, [])
        forms.append("sync")
    except (NotImplementedError, asyncio.InvalidStateError):
        pass
    try:
        await store.abatch([])
        forms.append("async")
    except NotImplementedError:
        pass
    return tuple(forms)


async def call_sync(store: BaseStore, method, *args, **kwargs):  # type: ignore[no-untyped-def]  # passes through whatever comes
    """Call a sync method from a coroutine.

    A store that belongs to the running loop would wait for itself there, and is called from a
    thread; any other in place, since its connection may belong to this thread.
    """
    if isinstance(store, AsyncBatchedBaseStore):
        return await asyncio.to_thread(method, *args, **kwargs)
    return method(*args, **kwargs)
