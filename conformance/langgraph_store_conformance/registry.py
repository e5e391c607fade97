"""How an author names a store to test: a factory, and what is known about what it makes."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import BaseStore, IndexConfig, TTLConfig

from langgraph_store_conformance.capabilities import (
    NEEDS_INDEX,
    Capability,
    Form,
    Skipped,
)
from langgraph_store_conformance.clock import Clock

Factory = Callable[..., Any]
"""Makes a fresh store: a generator function, sync or async, that yields it, a function that returns
a context manager, or one that returns the store.

It takes those of `index: IndexConfig | None`, `ttl: TTLConfig | None` and `clock` (a function that
returns the time) that the store can be made with. What it does not take is not tested, or, for
`clock`, tested by waiting.
"""


@dataclass(frozen=True, eq=False)
class RegisteredStore:
    """A store to test; made by `store_test`, whose arguments its attributes are."""

    name: str
    factory: Factory
    skip_capabilities: Mapping[Capability, str] = field(default_factory=dict)
    known_deviations: Mapping[str, str] = field(default_factory=dict)
    form: Form | None = None
    resolution: float = 0.1

    @property
    def parameters(self) -> frozenset[str]:
        """The names of what the factory takes."""
        return frozenset(inspect.signature(self.factory).parameters)

    @property
    def lifetime(self) -> float:
        """How long items of the TTL tests live, in seconds."""
        return 5 * self.resolution

    def known_deviation(self, name: str) -> str | None:
        """Return the reason why a test is known to fail, or `None` where it is to pass."""
        group = name.partition("[")[0]
        return self.known_deviations.get(name, self.known_deviations.get(group))

    def why_not(self, capability: Capability, *, index: bool = False) -> str | None:
        """Return why a capability is not tested, as far as it can be told without a store."""
        if capability in self.skip_capabilities:
            return self.skip_capabilities[capability]
        if capability is Capability.TTL and "ttl" not in self.parameters:
            return "the factory takes no ttl="
        if (index or capability in NEEDS_INDEX) and "index" not in self.parameters:
            return "the factory takes no index="
        return None

    @asynccontextmanager
    async def create(
        self,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[BaseStore]:
        """Make a fresh store, and let go of it at the end.

        Args:
            index: Given to the factory if it takes one.
            ttl: Likewise.
            clock: Likewise.
        """
        offered = {"index": index, "ttl": ttl, "clock": clock}
        wanted = {name: offered[name] for name in self.parameters & offered.keys()}
        async with _entered(self.factory, wanted) as store:
            if not isinstance(store, BaseStore):
                raise TypeError(
                    f"the factory of {self.name!r} gave {store!r}; it has to yield a BaseStore"
                )
            yield store


@asynccontextmanager
async def _entered(factory: Factory, arguments: Mapping[str, Any]) -> AsyncIterator[Any]:
    if inspect.isasyncgenfunction(factory):
        factory = asynccontextmanager(factory)
    elif inspect.isgeneratorfunction(factory):
        factory = contextmanager(factory)
    made = factory(**arguments)
    if hasattr(made, "__aenter__"):
        async with made as store:
            yield store
    elif hasattr(made, "__enter__"):
        with made as store:
            yield store
    else:
        yield made


def store_test(
    name: str,
    *,
    skip_capabilities: Mapping[Capability, str] | Iterable[Capability] = (),
    known_deviations: Mapping[str, str] | None = None,
    form: Form | None = None,
    resolution: float = 0.1,
) -> Callable[[Factory], RegisteredStore]:
    """Register a factory as a store to test.

    Args:
        name: What reports call the store.
        skip_capabilities: What the store does not offer, if possible with the reason.
        known_deviations: Names of tests that the store fails, each with the reason; a name without
            its `[case]` stands for all cases. Strict: one that passes is an error, so that the
            list stays true.
        form: Call the store through its "sync" or its "async" methods; by default the sync ones
            if it has them. The capabilities `SYNC` and `ASYNC` test what there is in any case.
        resolution: The shortest time, in seconds, that the store's clock tells apart. Tests of
            times wait for it, unless the factory takes a `clock`.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> @store_test("InMemoryStore")
        ... def in_memory(index):
        ...     yield InMemoryStore(index=index)
        >>> in_memory.name
        'InMemoryStore'
    """
    reasons: Mapping[Capability, str]
    if isinstance(skip_capabilities, Mapping):
        reasons = {Capability(key): reason for key, reason in skip_capabilities.items()}
    else:
        reasons = {Capability(key): "not offered" for key in skip_capabilities}

    def register(factory: Factory) -> RegisteredStore:
        return RegisteredStore(name, factory, reasons, known_deviations or {}, form, resolution)

    return register


__all__ = ["Factory", "RegisteredStore", "Skipped", "store_test"]
