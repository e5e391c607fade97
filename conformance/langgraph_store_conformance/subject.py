"""The store under test as the tests see it: one form, async; every call is written down.

What was called since the store was made is the example that a failed test shows.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    Item,
    NamespacePath,
    NotProvided,
    Op,
    Result,
    SearchItem,
)

from langgraph_store_conformance.capabilities import Form, Skipped, call_sync
from langgraph_store_conformance.clock import ManualClock
from langgraph_store_conformance.examples import Example

Namespace = tuple[str, ...]


class Subject:
    """A store under test.

    Args:
        store: The store.
        form: The methods to call.
        forms: The forms that the store has.
        clock: The store's clock, where it takes one.
        resolution: Seconds that its own clock tells apart.
        lifetime: Seconds that an item with a TTL is to live.
    """

    def __init__(
        self,
        store: BaseStore,
        *,
        form: Form,
        forms: tuple[Form, ...] = ("sync", "async"),
        clock: ManualClock | None = None,
        resolution: float = 0.1,
        lifetime: float = 0.5,
        example: Example | None = None,
    ) -> None:
        self.store = store
        self.form = form
        self.example = example or Example()
        self._forms = forms
        self._clock = clock
        self._resolution = resolution
        self._lifetime = lifetime

    def through(self, form: Form) -> Subject:
        """Return the same store, called through one of its forms."""
        if form not in self._forms:
            raise Skipped(f"the store has no {form} methods")
        return Subject(
            self.store,
            form=form,
            forms=self._forms,
            clock=self._clock,
            resolution=self._resolution,
            lifetime=self._lifetime,
            example=self.example,
        )

    # -- time --

    @property
    def ttl(self) -> float:
        """How long items of the TTL tests live, in minutes."""
        return self._lifetime / 60

    def now(self) -> datetime:
        """Return the time, by the store's clock where the tests move it."""
        return datetime.now(UTC) if self._clock is None else self._clock()

    async def pass_time(self, lifetimes: float) -> None:
        """Let some of the items' life go by."""
        await self._wait(lifetimes * self._lifetime, f"{lifetimes:g} * ttl")

    async def tick(self) -> None:
        """Wait until the store's clock shows another time."""
        await self._wait(2 * self._resolution, "'a moment'")

    async def _wait(self, seconds: float, name: str) -> None:
        self.example.called(f"wait({name})")
        if self._clock is not None:
            self._clock.advance(seconds=seconds)
        else:
            await asyncio.sleep(seconds)

    # -- the methods of a store --

    async def put(
        self,
        namespace: Namespace,
        key: str,
        value: Any,
        index: Any = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store a value."""
        await self._call("put", namespace, key, value, index=index, ttl=ttl)

    async def get(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """Return an item, or None."""
        found: Item | None = await self._call("get", namespace, key, refresh_ttl=refresh_ttl)
        return found

    async def value(self, namespace: Namespace, key: str) -> Any:
        """Return an item's value, or None where there is no item."""
        item = await self.get(namespace, key)
        return None if item is None else item.value

    async def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item."""
        await self._call("delete", namespace, key)

    async def search(
        self,
        prefix: Namespace,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int | None = None,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Return the items below a prefix."""
        found: list[SearchItem] = await self._call(
            "search",
            prefix,
            query=query,
            filter=filter,
            limit=10 if limit is None else limit,
            offset=offset,
            refresh_ttl=refresh_ttl,
        )
        return found

    async def keys(self, prefix: Namespace, **search: Any) -> list[str]:
        """Return the keys that a search finds, in its order."""
        return [item.key for item in await self.search(prefix, **search)]

    async def scores(self, prefix: Namespace, query: str, **search: Any) -> dict[str, float | None]:
        """Return score by key of what a search by meaning finds, in its order."""
        found = await self.search(prefix, query=query, **search)
        return {item.key: item.score for item in found}

    async def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """Return namespaces."""
        found: list[Namespace] = await self._call(
            "list_namespaces",
            prefix=prefix,
            suffix=suffix,
            max_depth=max_depth,
            limit=limit,
            offset=offset,
        )
        return found

    async def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations in one batch."""
        found: list[Result] = await self._call("batch", ops)
        return found

    async def sweep(self) -> Any:
        """Delete what has expired."""
        self.example.called("store.sweep_ttl()")
        method = getattr(self.store, "sweep_ttl", None)
        if method is None:
            raise AssertionError("the store has no method sweep_ttl()")
        result = method()
        return await result if inspect.isawaitable(result) else result

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        self.example.called_method(name if self.form == "sync" else f"a{name}", args, kwargs)
        if self.form == "async":
            return await getattr(self.store, f"a{name}")(*args, **kwargs)
        return await call_sync(self.store, getattr(self.store, name), *args, **kwargs)
