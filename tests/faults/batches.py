"""Batches over several namespaces: items with several texts or none, replaced and deleted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp

from langgraph_memory.store.operations import Namespace
from tests.faults.scenario import State
from tests.graph.graphs import opened

SHELF = "shelf"
STOCK = 1_955
"""Items that are there from the start. Chroma writes its index every 1,000 rows and looks after
each call: with calls of 500 it did so once, and will again in about 40 rows."""

_CALL = 500
_AISLES = [(SHELF, name) for name in ("tea", "coffee", "cups", "mills")]


class Batches:
    """Each step is one batch of puts, updates and deletes."""

    one_write = True

    def __init__(self, store: BaseStore, seed: int) -> None:
        self._store = store
        self._seed = seed

    def step(self, number: int) -> None:
        self._store.batch(batch(self._seed, number))

    def expected(self, steps: int) -> State:
        items: dict[str, Any] = {str(place): value for place, value in stock()}
        for number in range(steps):
            for op in batch(self._seed, number):
                place = str((op.namespace, op.key))
                if op.value is None:
                    items.pop(place, None)
                else:
                    items[place] = op.value
        return items

    def found(self) -> State:
        return shelved(self._store)

    def missed(self) -> list[str]:
        return not_found(self._store)


def stock() -> Iterator[tuple[tuple[Namespace, str], dict[str, Any]]]:
    """Yield the place and the value of each item that is there from the start."""
    for i in range(STOCK):
        yield (_AISLES[i % 4], f"s{i}"), _value(f"s{i}", 1)


def fill(directory: Path) -> None:
    """Put the stock into a directory."""
    with opened(directory) as memory:
        ops = [_put(namespace, key, value) for (namespace, key), value in stock()]
        for start in range(0, STOCK, _CALL):
            memory.store.batch(ops[start : start + _CALL])


def batch(seed: int, number: int) -> list[PutOp]:
    """Return the batch of a step; every fourth deletes only."""
    chance = random.Random(f"{seed} {number}")
    old, older = number - 2, number - 3
    deletes = [
        (_AISLES[2 * number % 4], f"s{2 * number}"),
        (_aisle(older), f"i{older}-1"),
        ((SHELF, "passing", f"{older}"), f"i{older}"),  # the last of its namespace
    ]
    ops = [PutOp(namespace, key, None) for namespace, key in deletes]
    if number % 4 < 3:
        replaced = {
            (_AISLES[(2 * number + 1) % 4], f"s{2 * number + 1}"): 2,
            (_aisle(old), f"i{old}-0"): 1,  # had three texts
        }
        added = {(_aisle(number), f"i{number}-{i}"): 3 - i for i in range(4)}  # the last has none
        added |= {((SHELF, "passing", f"{number}"), f"i{number}"): 1}
        added |= {(_AISLES[i % 4], f"j{number}-{i}"): 1 for i in range(chance.randint(0, 8))}
        for (namespace, key), texts in (replaced | added).items():
            ops.append(_put(namespace, key, _value(f"{key} of {number}", texts)))
    chance.shuffle(ops)
    return ops


def _aisle(number: int) -> Namespace:
    return _AISLES[number % 4]


def _value(name: str, texts: int) -> dict[str, Any]:
    name = name.replace("-", "x")
    return {"name": name, "texts": [f"A bag number {i} called {name}y{i}" for i in range(texts)]}


def _put(namespace: Namespace, key: str, value: dict[str, Any]) -> PutOp:
    return PutOp(namespace, key, value, index=["texts[*]"] if value["texts"] else False)


def shelved(store: BaseStore) -> State:
    """Return the values of all items, as one search over all namespaces finds them."""
    found = store.search((SHELF,), limit=100_000)
    return {str((item.namespace, item.key)): item.value for item in found}


def not_found(store: BaseStore) -> list[str]:
    """Return the items that reading by key, searching by text or listing namespaces misses."""
    items = store.search((SHELF,), limit=100_000)
    read: list[Any] = store.batch([GetOp(item.namespace, item.key) for item in items])
    missed = [
        f"not read by its key: {item.key}"
        for item, got in zip(items, read, strict=True)
        if got is None or got.value != item.value
    ]
    asked = [(item, text) for item in items for text in item.value["texts"]]
    hits: list[Any] = store.batch(
        [SearchOp(item.namespace, limit=1, query=text) for item, text in asked]
    )
    missed += [
        f"not the first to be found by {text!r}: {item.key}"
        for (item, text), hit in zip(asked, hits, strict=True)
        if [each.key for each in hit] != [item.key]
    ]
    listed = store.list_namespaces(prefix=(SHELF,), limit=100_000)
    expected = {item.namespace for item in items}
    return missed + [f"namespaces: {each}" for each in expected.symmetric_difference(listed)]
