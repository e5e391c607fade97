"""The reads of a batch: which partitions they need, and what they find there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

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

from langgraph_memory.embedding import Vectors
from langgraph_memory.lexical import query_weights
from langgraph_memory.store.collection import Collection, Pair
from langgraph_memory.store.ops import HybridOp, Match, NewestOp, Scores
from langgraph_memory.store.rows import Namespace, StoredItem

T = TypeVar("T")


class Reader:
    """Answers the reads of one batch."""

    def __init__(self, collection: Collection, queries: Sequence[str], vectors: Vectors) -> None:
        self._collection = collection
        self._vectors = dict(zip(queries, vectors, strict=True))

    def results(self, ops: Sequence[Any]) -> list[Any]:
        results: list[Any] = [None] * len(ops)
        gets = [i for i, op in enumerate(ops) if isinstance(op, GetOp)]
        addresses = [(ops[i].namespace, ops[i].key) for i in gets]
        wanted = {i: self._namespaces(op) for i, op in enumerate(ops)}
        found, pairs = self._collection.read(addresses, itertools.chain(*wanted.values()))
        partitions = {i: [pairs[ns] for ns in dict.fromkeys(wanted[i])] for i in wanted}
        for i, item in zip(gets, found, strict=True):
            results[i] = None if item is None else _item(item)
        for i, op in enumerate(ops):
            if isinstance(op, SearchOp):
                results[i] = self._search(op, partitions[i])
            elif isinstance(op, HybridOp):
                results[i] = self._hybrid(op, partitions[i])
            elif isinstance(op, NewestOp):
                [(partition, snapshot)] = partitions[i]
                newest = partition.newest(op.filter, snapshot, op.by)
                results[i] = list(itertools.islice(newest, op.limit))
            elif isinstance(op, ListNamespacesOp):
                results[i] = list_namespaces(self._collection.namespaces(), op)
        return results

    def _namespaces(self, op: Any) -> Sequence[Namespace]:
        """Return the namespaces whose partitions an operation looks through."""
        if isinstance(op, HybridOp):
            return op.namespaces
        if isinstance(op, NewestOp):
            return [op.namespace]
        if isinstance(op, SearchOp):
            return self._collection.namespaces(tuple(op.namespace_prefix))
        return ()

    def _search(self, op: SearchOp, pairs: Sequence[Pair]) -> list[SearchItem]:
        end = op.offset + op.limit
        if not op.query:
            return [
                _search_item(item, None) for item in _newest(pairs, op.filter, end)[op.offset :]
            ]
        vector = self._vectors[op.query]
        ranked: list[tuple[float, StoredItem]] = []
        for partition, snapshot in pairs:
            scores = partition.similarities(vector, snapshot)
            scores[~partition.select(op.filter, snapshot)] = -np.inf
            best = top(scores, end).tolist()
            ranked += [(float(scores[row]), partition.item(row)) for row in best]
        ranked.sort(key=lambda pair: -pair[0])
        return [_search_item(item, score) for score, item in ranked[op.offset : end]]

    def _hybrid(self, op: HybridOp, pairs: Sequence[Pair]) -> list[Match]:
        pairs = [(partition, snapshot) for partition, snapshot in pairs if snapshot.rows]
        if not pairs:
            return []
        weights = query_weights(
            op.query, [(part.lexical, snapshot.alive) for part, snapshot in pairs]
        )
        vector = self._vectors.get(op.query)
        parts = []
        for partition, snapshot in pairs:
            bm25, coverage = partition.lexical.scores(weights, snapshot.alive)
            cosine = np.zeros(snapshot.rows, np.float32)
            if vector is not None:
                cosine = partition.similarities(vector, snapshot)
                cosine[np.isneginf(cosine)] = 0
            parts.append((cosine, bm25, coverage, partition.select(op.filter, snapshot)))
        cosine, bm25, coverage, chosen = map(np.concatenate, zip(*parts, strict=True))
        # What is dead or filtered out must not stretch the scale of what is there.
        relevance = np.full(len(chosen), -np.inf, np.float32)
        relevance[chosen] = op.relevance(cosine[chosen], bm25[chosen])
        best = top(relevance, op.limit)
        starts = np.cumsum([0, *(snapshot.rows for _, snapshot in pairs)])
        which = np.searchsorted(starts, best, side="right") - 1
        rows = best - starts[which]
        items = (
            pairs[i][0].item(row) for i, row in zip(which.tolist(), rows.tolist(), strict=True)
        )
        scores = (column[best].tolist() for column in (cosine, bm25, coverage, relevance))
        return [Match(*match) for match in zip(items, *scores, strict=True)]


def top(scores: Scores, count: int) -> NDArray[np.intp]:
    """Return the rows with the highest scores, best first; `-inf` is none.

    Args:
        scores: Shape `(rows,)`.
        count: How many rows at most.
    """
    border = np.finfo(scores.dtype).min
    if 0 < count < len(scores):
        # Ties at the border go to the first row, as in a full sort.
        border = max(border, np.partition(scores, len(scores) - count)[len(scores) - count])
    rows = np.flatnonzero(scores >= border)
    return rows[np.argsort(-scores[rows], kind="stable")[:count]]


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


def _newest(pairs: Sequence[Pair], filter: dict[str, Any] | None, count: int) -> list[StoredItem]:
    found: list[StoredItem] = []
    for partition, snapshot in pairs:
        newest = partition.newest(filter, snapshot)
        found += [item for item, _ in zip(newest, range(count), strict=False)]
    if len(pairs) > 1:
        found.sort(key=lambda item: item.order, reverse=True)
    return found[:count]


def _item(item: StoredItem) -> Item:
    return Item(
        value=_copy_json(item.value),
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _search_item(item: StoredItem, score: float | None) -> SearchItem:
    return SearchItem(
        item.namespace, item.key, _copy_json(item.value), item.created_at, item.updated_at, score
    )


def _copy_json(value: T) -> T:
    """Copy a JSON value, so that a caller who changes theirs does not change ours."""
    if isinstance(value, dict):
        return {key: _copy_json(inner) for key, inner in value.items()}  # type: ignore[return-value]
    if isinstance(value, (list, tuple)):
        return [_copy_json(inner) for inner in value]  # type: ignore[return-value]
    return value
