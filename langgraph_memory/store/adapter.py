"""Any LangGraph store as one that takes our two operations, answered by LangGraph's own.

Such a store finds by meaning alone, and its filters differ: words, filters and order are worked out
here, as `ChromaStore` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from langgraph.store.base import BaseStore, Op, PutOp, SearchOp

from langgraph_memory.store.filters import matches
from langgraph_memory.store.operations import (
    Best,
    Flags,
    Found,
    HybridOp,
    Match,
    Namespace,
    NewestOp,
    Searched,
    top,
)
from langgraph_memory.store.records import ALL, every_item_op, lying_in
from langgraph_memory.text import LexicalIndex, tokens

_WIDE = 1_000  # of the best by meaning, among which words and the ranker choose


class Adapter:
    """A store that answers `HybridOp` and `NewestOp`, too.

    Args:
        store: One that does not by itself.
    """

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        # One without an index brings up whatever it has, so all of it is looked at.
        self._searches = bool(getattr(store, "index_config", True))

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """As `BaseStore.batch`."""
        asked = [self._plain(op) for op in ops]
        found = [each for part in _parts(asked) for each in self._store.batch(part)]
        return list(_answers(asked, found))

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """As `BaseStore.abatch`."""
        asked = [self._plain(op) for op in ops]
        found = [each for part in _parts(asked) for each in await self._store.abatch(part)]
        return list(_answers(asked, found))

    def _plain(self, op: Any) -> tuple[Any, list[Op]]:
        """Return an operation with those of LangGraph's that it comes to."""
        if isinstance(op, NewestOp):
            return op, [every_item_op(op.namespace, _equal(op.filter))]
        if isinstance(op, HybridOp):
            return op, [each for namespace in op.namespaces for each in self._reads(op, namespace)]
        return op, [op]

    def _reads(self, op: HybridOp, namespace: Namespace) -> Iterator[SearchOp]:
        if op.limit and op.query.strip():
            most = _WIDE if self._searches and not _excludes(op.filter) else ALL
            yield SearchOp(namespace, limit=most, query=op.query, refresh_ttl=False)
        if _is_listed(op, namespace):
            yield every_item_op(namespace)


def adapted(store: BaseStore) -> BaseStore | Adapter:
    """Return a store that takes our two operations."""
    return store if getattr(store, "supports_hybrid", False) else Adapter(store)


def _parts(asked: Sequence[tuple[Any, list[Op]]]) -> Iterator[list[Op]]:
    """Yield operations in batches without equal texts, which `InMemoryStore` refuses."""
    part: list[Op] = []
    texts: set[str] = set()
    for op in (each for _, plain in asked for each in plain):
        own = _embedded(op) if isinstance(op, PutOp) else set()
        if texts & own:
            yield part
            part, texts = [], set()
        part.append(op)
        texts |= own
    if part:
        yield part


def _embedded(op: PutOp) -> set[str]:
    return {op.value[field] for field in op.index or ()} if op.value is not None else set()


def _answers(asked: Sequence[tuple[Any, list[Op]]], found: Sequence[Any]) -> Iterator[Any]:
    at = 0
    for op, plain in asked:
        results = found[at : at + len(plain)]
        at += len(plain)
        if isinstance(op, NewestOp):
            yield _newest(op, results[0])
        elif isinstance(op, HybridOp):
            yield _hybrid(op, plain, results)
        else:
            yield results[0]


# -- filters --


def _equal(filter: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the part of a filter that all stores understand alike: what a text is equal to."""
    return {
        name: value
        for name, value in (filter or {}).items()
        if isinstance(value, str) and "." not in name
    } or None


def _excludes(filter: Mapping[str, Any] | None) -> bool:
    """Whether a filter names what is left out: that can be all of the best by meaning."""
    return any(isinstance(each, Mapping) and "$nin" in each for each in (filter or {}).values())


def _is_listed(op: HybridOp, namespace: Namespace) -> bool:
    """Whether the further lists are chosen among all items: of notes; there are many messages."""
    return bool(op.also) and namespace[-1] == "note"


def _meeting(filter: Mapping[str, Any] | None, items: Sequence[Any]) -> Flags:
    return np.array([matches(item.value, filter or {}) for item in items], np.bool_)


# -- answers --


def _newest(op: NewestOp, items: Sequence[Any]) -> Found[Any]:
    def when(item: Any) -> str:
        return str(item.updated_at.isoformat() if op.by is None else item.value.get(op.by))

    here = [item for item in lying_in(op.namespace, items) if matches(item.value, op.filter or {})]
    return Found(sorted(here, key=when, reverse=True)[: op.limit])


def _hybrid(op: HybridOp, plain: Sequence[Op], results: Sequence[Any]) -> Found[Match]:
    """Rank what searches and lists brought up, each item once."""
    items: dict[tuple[Namespace, str], Any] = {}
    cosine: dict[tuple[Namespace, str], float] = {}
    for asked, found in zip(plain, results, strict=True):
        assert isinstance(asked, SearchOp)
        for item in lying_in(asked.namespace_prefix, found):
            name = (tuple(item.namespace), item.key)
            items.setdefault(name, item)
            if asked.query is not None:
                cosine[name] = item.score or 0.0
    if not items:
        return Found(also=[[] for _ in op.also])
    return _ranked(list(items.values()), [cosine.get(name) for name in items], op)


def _ranked(
    items: Sequence[Any], similarities: Sequence[float | None], op: HybridOp
) -> Found[Match]:
    """Rank items as our own store would; those without a similarity were found by no search."""
    index = LexicalIndex()
    index.extend([tokens(_searched_text(item.value)) for item in items])
    alive = np.ones(len(items), np.bool_)
    cosine = np.array([each or 0.0 for each in similarities], np.float32)
    chosen = _meeting(op.filter, items) & np.array([each is not None for each in similarities])
    view = None
    if op.ranker.columns is not None:
        columns = op.ranker.columns()
        columns.append(items, None)
        view = columns.view(alive, index)
    [scores] = op.ranker([Searched(cosine, index, alive, chosen, view)])

    def best(of: Best, flags: Flags) -> list[Match]:
        rows = top(np.where(flags, scores[of.by], np.float32(-np.inf)), of.limit).tolist()
        return [
            Match(items[row], {name: float(own[row]) for name, own in scores.items()})
            for row in rows
        ]

    return Found(
        best(Best("relevance", op.limit), chosen),
        highest=lambda name: float(scores[name][chosen].max(initial=-np.inf)),
        also=[best(of, _meeting(of.filter, items)) for of in op.also],
    )


def _searched_text(value: Mapping[str, Any]) -> str:
    return str(value.get("search_aliases") or value.get("search_text", ""))
