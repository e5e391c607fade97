"""The reads of a batch: which partitions they need, and what they find there."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    SearchItem,
    SearchOp,
)
from numpy.typing import NDArray

from langgraph_memory.chroma.collection import Collection, Pair, Source, Wanted
from langgraph_memory.chroma.index_search import LargeReader, ScopeName
from langgraph_memory.chroma.partition import Partition, PartitionSnapshot
from langgraph_memory.records import flaw_in
from langgraph_memory.store import (
    Address,
    Best,
    Flags,
    Found,
    HybridOp,
    Match,
    Namespace,
    NewestOp,
    Searched,
    StoredItem,
    copy_json,
    top,
)

IN_TURN = 10_000
"""Up to so many rows, readers take turns: numpy lets go of the interpreter at each call, and eight
threads that get it from each other have half as much done as one after the other. With more rows,
numpy's own time is what counts, and that is spent side by side."""

NEAR = 200
"""How many of the nearest items a hybrid search compares by words where it cannot compare all."""


@dataclass(slots=True)
class Reader:
    """Answers the reads of one batch."""

    collection: Collection
    vectors: Mapping[str, NDArray[np.float32]]
    """Of each text that is looked for, of shape `(dimensions,)`."""
    now: float
    """Seconds since 1970, from which the lives that reads prolong run anew."""
    omit_after: float | None
    """What has expired by then is left out, although nobody has swept it yet."""
    prolongs: bool
    """Whether reads prolong lives, where they are asked to."""
    _prolonged: dict[Address, float] = field(default_factory=dict)

    def results(self, ops: Sequence[Any]) -> list[Any]:
        """Return what each operation reads; `None` for a put."""
        results: list[Any] = [None] * len(ops)
        gets = [i for i, op in enumerate(ops) if isinstance(op, GetOp)]
        names = [_names(op) for op in ops]
        listing = _listed(ops)
        single = [(ops[i].namespace, ops[i].key) for i in gets]
        searched = list(dict.fromkeys(itertools.chain.from_iterable(names)))
        read = self.collection.read(Wanted(single, searched, self.omit_after, listing))
        for i, item in zip(gets, read.items, strict=True):
            if item is not None:
                results[i] = _item(item)
                self._prolong(ops[i], [item])
        for i, op in enumerate(ops):
            if isinstance(op, ListNamespacesOp):
                results[i] = list_namespaces(self._living(read.namespaces, listing), op)
        with self._turn(read.sources.values()):
            for i, op in enumerate(ops):
                sources = [read.sources[name] for name in names[i]]
                if isinstance(op, SearchOp):
                    results[i] = self._search(op, *sources)
                elif isinstance(op, HybridOp):
                    results[i] = self._hybrid(op, sources)
                elif isinstance(op, NewestOp):
                    results[i] = _newest(op, *sources)
        if self._prolonged:
            self.collection.prolong(self._prolonged)
        return results

    def _turn(self, sources: Iterable[Source]) -> AbstractContextManager[object]:
        """Return what to hold while all of some sources are compared."""
        rows = 0
        for source in sources:
            if isinstance(source, LargeReader):
                return nullcontext()  # Chroma is asked, and may be waited for
            rows += sum(snapshot.rows for _, snapshot in source)
        return self.collection.turns if rows <= IN_TURN else nullcontext()

    def _prolong(self, op: GetOp | SearchOp, items: Iterable[StoredItem]) -> None:
        if op.refresh_ttl and self.prolongs:
            for item in items:
                if item.ttl is not None:
                    end = self.now + item.ttl * 60
                    self._prolonged[item.namespace, item.key] = max(end, item.expires)

    def _living(self, known: Sequence[Namespace], prefix: Namespace | None) -> Sequence[Namespace]:
        if self.omit_after is None:
            return known
        return self.collection.living_namespaces(self.omit_after, prefix or ())

    def _search(self, op: SearchOp, source: Source) -> Found[SearchItem]:
        end = op.offset + op.limit
        ranked: Sequence[tuple[float | None, StoredItem]]
        exact = True
        if not op.query:
            ranked = [(None, item) for item in _latest(source, op.filter, end)]
        elif isinstance(source, LargeReader):
            items, exact = source.near(self.vectors[op.query], op.filter, end)
            vector = self.vectors[op.query]
            ranked = _ranked((float(np.vecdot(item.vectors, vector).max()), item) for item in items)
        else:
            ranked = _ranked(self._best(op, source, end))
        page = ranked[op.offset : end]
        self._prolong(op, (item for _, item in page))
        return Found((_search_item(item, score) for score, item in page), exact=exact)

    def _best(
        self, op: SearchOp, pairs: Sequence[Pair], count: int
    ) -> Iterator[tuple[float, StoredItem]]:
        """Yield at least the `count` items with the highest scores."""
        assert op.query
        for partition, snapshot in pairs:
            scores = partition.similarities(self.vectors[op.query], snapshot)
            scores[~partition.select(op.filter, snapshot)] = -np.inf
            best = top(scores, count).tolist()
            yield from ((float(scores[row]), partition.item(row)) for row in best)

    def _hybrid(self, op: HybridOp, sources: Sequence[Source]) -> Found[Match]:
        vector = self.vectors.get(op.query)  # none for a blank query, which is like nothing
        pairs: list[Pair] = []
        exact = True
        for name, source in zip(_names(op), sources, strict=True):
            if isinstance(source, LargeReader):
                partition, sure = _near(source, name[1], op, vector)
                pairs.append((partition, partition.snapshot()))
                exact = exact and sure
            else:
                pairs += source
        records = [(partition, partition.records(snapshot)) for partition, snapshot in pairs]
        return _ranked_by(op, vector, records, exact)


def _ranked_by(
    op: HybridOp, vector: NDArray[np.float32] | None, pairs: Sequence[Pair], exact: bool
) -> Found[Match]:
    pairs = [(partition, snapshot) for partition, snapshot in pairs if snapshot.rows]
    searched = [_searched(op, vector, *pair) for pair in pairs]
    if not any(each.alive.any() for each in searched):
        return Found(exact=exact, also=[[] for _ in op.also])
    scores = op.ranker(searched)

    def best(of: Best, chosen: Sequence[Flags]) -> list[Match]:
        found: list[Match] = []
        for (partition, _), flags, own in zip(pairs, chosen, scores, strict=True):
            rows = top(np.where(flags, own[of.by], np.float32(-np.inf)), of.limit)
            columns = (values[rows].tolist() for values in own.values())
            for row, *values in zip(rows.tolist(), *columns, strict=True):
                found.append(Match(partition.item(row), dict(zip(own, values, strict=True))))
        if len(pairs) > 1:
            found.sort(key=lambda match: -match.scores[of.by])
        return found[: of.limit]

    @cache
    def highest(name: str) -> float:
        values = [own[name][each.chosen] for each, own in zip(searched, scores, strict=True)]
        return float(np.concatenate(values).max(initial=-np.inf))

    chosen = [each.chosen for each in searched]
    also = [
        best(of, [partition.select(of.filter, at) for partition, at in pairs]) for of in op.also
    ]
    found = best(Best("relevance", op.limit), chosen)
    return Found(found, exact=exact, highest=highest, also=also)


def _searched(
    op: HybridOp,
    vector: NDArray[np.float32] | None,
    partition: Partition,
    snapshot: PartitionSnapshot,
) -> Searched:
    """Return a partition as a ranker is given it."""
    cosine = np.zeros(snapshot.rows, np.float32)
    if vector is not None:
        cosine = partition.similarities(vector, snapshot)
        cosine[np.isneginf(cosine) | ~snapshot.alive] = 0
    kind = op.ranker.columns
    return Searched(
        cosine=cosine,
        lexical=partition.lexical,
        alive=snapshot.alive,
        chosen=partition.select(op.filter, snapshot),
        columns=None if kind is None else partition.columns(kind, snapshot),
        query=vector,
    )


def _names(op: Any) -> Sequence[ScopeName]:
    """Return the names of what an operation looks through."""
    if isinstance(op, HybridOp):
        return [("namespace", namespace) for namespace in dict.fromkeys(op.namespaces)]
    if isinstance(op, NewestOp):
        return [("namespace", op.namespace)]
    if isinstance(op, SearchOp):
        return [("prefix", tuple(op.namespace_prefix))]
    return ()


def _listed(ops: Sequence[Any]) -> Namespace | None:
    """Return with what all namespaces begin that are listed; `None` if none are."""
    prefixes = {_prefix(op) for op in ops if isinstance(op, ListNamespacesOp)}
    return () if len(prefixes) > 1 else next(iter(prefixes), None)


def _prefix(op: ListNamespacesOp) -> Namespace:
    """Return the labels with which all namespaces begin that an operation can list."""
    paths = [
        tuple(itertools.takewhile(lambda label: label != "*", condition.path))
        for condition in op.match_conditions or ()
        if condition.match_type == "prefix"
    ]
    return max(paths, key=len, default=())


def list_namespaces(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return the namespaces that meet an operation's conditions, cut to its depth, its page."""
    found = {
        namespace if op.max_depth is None else namespace[: op.max_depth]
        for namespace in namespaces
        if all(_condition_holds(condition, namespace) for condition in op.match_conditions or ())
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def _condition_holds(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    if condition.match_type == "prefix":
        labels = namespace[: len(path)]
    elif condition.match_type == "suffix":
        labels = namespace[len(namespace) - len(path) :]
    else:
        raise ValueError(f"unsupported match type {condition.match_type!r}; use prefix or suffix")
    return all(want in ("*", label) for want, label in zip(path, labels, strict=True))


def _ranked(scored: Iterable[tuple[float, StoredItem]]) -> list[tuple[float, StoredItem]]:
    return sorted(scored, key=lambda pair: -pair[0])


def _near(
    source: LargeReader, namespace: Namespace, op: HybridOp, vector: NDArray[np.float32] | None
) -> tuple[Partition, bool]:
    """Return what is near in a namespace too large for memory, to compare it by words as well."""
    wanted = max(op.limit, NEAR)
    if vector is None:
        items, exact = source.last(op.filter, wanted), False
    else:
        items, exact = source.near(vector, op.filter, wanted)
    items.sort(key=lambda item: item.order)
    return Partition.of(namespace, items), exact


def _latest(source: Source, filter: dict[str, Any] | None, count: int) -> list[StoredItem]:
    """Return the items that were last updated, the latest first."""
    if isinstance(source, LargeReader):
        return heapq.nlargest(count, source.all(filter), key=lambda item: item.order)
    found: list[StoredItem] = []
    for partition, snapshot in source:
        found += itertools.islice(partition.newest(filter, snapshot), count)
    if len(source) > 1:
        found.sort(key=lambda item: item.order, reverse=True)
    return found[:count]


def _newest(op: NewestOp, source: Source) -> Found[StoredItem]:
    if isinstance(source, LargeReader):
        last = source.last(op.filter, op.limit)
        records = (item for item in last if flaw_in(op.namespace, item.value) is None)
        latest = heapq.nlargest(op.limit, records, key=partial(_place, by=op.by))
        return Found(latest, exact=False)
    [(partition, snapshot)] = source
    newest = partition.newest(op.filter, partition.records(snapshot), op.by)
    return Found(itertools.islice(newest, op.limit))


def _place(item: StoredItem, by: str | None) -> tuple[str, int]:
    return ("" if by is None else str(item.value.get(by)), item.order)


def _item(item: StoredItem) -> Item:
    return Item(
        value=copy_json(item.value),
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _search_item(item: StoredItem, score: float | None) -> SearchItem:
    return SearchItem(
        item.namespace, item.key, copy_json(item.value), item.created_at, item.updated_at, score
    )
