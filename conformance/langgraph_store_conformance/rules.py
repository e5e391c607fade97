"""The tests of the contract: each is a small coroutine function that states one rule."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from langgraph.store.base import IndexConfig, TTLConfig

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.embeddings import DIMENSIONS, HashingEmbeddings
from langgraph_store_conformance.subject import Subject

WHOLE_VALUE: tuple[str, ...] = ()
"""Stands for an index that names no fields: the whole value is embedded, as JSON."""

_rules: list[Rule] = []


@dataclass(frozen=True)
class Rule:
    """One test."""

    name: str
    capability: Capability
    text: str
    """The rule in words."""
    run: Callable[[Subject], Awaitable[None]]
    fields: Sequence[str] | None = None
    """The fields that the store has to index, or `None` where no index is needed."""
    ttl: TTLConfig | None = None
    """How the store has to be configured for items that expire."""

    @property
    def group(self) -> str:
        """The name without the case."""
        return self.name.partition("[")[0]

    def index(self) -> IndexConfig | None:
        """Return the index that the store is made with."""
        return index_of(self.fields)


def index_of(fields: Sequence[str] | None) -> IndexConfig | None:
    """Return the configuration of an index of some fields, with a deterministic embedder."""
    if fields is None:
        return None
    config: IndexConfig = {"dims": DIMENSIONS, "embed": HashingEmbeddings()}
    return {**config, "fields": list(fields)} if fields else config


def rule(
    capability: Capability,
    *,
    fields: Sequence[str] | None = None,
    ttl: TTLConfig | None = None,
    cases: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """Make a coroutine function a test; with cases, one for each, which gets it as an argument."""

    def register(function: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        text = " ".join((inspect.getdoc(function) or "").split())
        name = getattr(function, "__name__", "")
        if cases is None:
            _rules.append(Rule(name, capability, text, function, fields, ttl))
        for case, argument in (cases or {}).items():
            run = _with_case(function, argument)
            _rules.append(Rule(f"{name}[{case}]", capability, text, run, fields, ttl))
        return function

    return register


def _with_case(
    function: Callable[..., Awaitable[None]], argument: Any
) -> Callable[[Subject], Awaitable[None]]:
    async def run(store: Subject) -> None:
        await function(store, argument)

    return run


def all_rules(capabilities: Iterable[Capability | str] | None = None) -> list[Rule]:
    """Return the tests, all or those of some capabilities."""
    specs = import_module("langgraph_store_conformance.specs")
    for module in iter_modules(specs.__path__):
        import_module(f"{specs.__name__}.{module.name}")
    chosen = set(Capability) if capabilities is None else {Capability(c) for c in capabilities}
    return [rule for capability in Capability if capability in chosen for rule in _of(capability)]


def _of(capability: Capability) -> list[Rule]:
    return [rule for rule in _rules if rule.capability is capability]
