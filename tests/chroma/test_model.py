"""Any sequence of batches leaves what a plain dict would hold, in every state a store can be in."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.testing import ManualClock
from tests.chroma.support import EMBED, cosine

Namespace = tuple[str, ...]
NAMESPACES: list[Namespace] = [("a",), ("a", "b"), ("ab",), ("b",)]
KEYS = ["k", "l", "m"]
QUERIES = ["moka pot", "green"]
FILTERS: list[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = [
    ({}, lambda value: True),
    ({"n": 1}, lambda value: value.get("n") == 1),
    ({"n": None}, lambda value: value.get("n") is None),
    ({"n": {"$gte": 1, "$ne": 2}}, lambda value: (value.get("n") or 0) == 1),
    ({"more": {"n": 1}}, lambda value: value.get("more", {}).get("n") == 1),
]

TEXTS = st.lists(st.sampled_from(["moka", "pot", "tea", "green"]), max_size=3).map(" ".join)
VALUES = st.fixed_dictionaries(
    {"text": TEXTS},
    optional={
        "n": st.sampled_from([None, 0, 1, 2]),
        "more": st.fixed_dictionaries({"n": st.integers(0, 1)}),
        "list": st.lists(TEXTS, max_size=3),
    },
)
PUTS = st.tuples(
    st.sampled_from(NAMESPACES),
    st.sampled_from(KEYS),
    st.none() | VALUES,
    st.sampled_from([None, False, ["text", "list[*]"]]),
).map(lambda given: PutOp(*cast(Any, given)))
GETS = st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(KEYS)).map(lambda at: GetOp(*at))
SEARCHES = st.tuples(
    st.sampled_from([(), *NAMESPACES]),
    st.sampled_from([filter for filter, _ in FILTERS]),
    st.integers(0, 4),
    st.integers(0, 2),
    st.sampled_from([None, *QUERIES]),
).map(lambda given: SearchOp(*given))
LISTS = st.tuples(
    st.none() | st.sampled_from(NAMESPACES).map(lambda path: (MatchCondition("prefix", path),)),
    st.sampled_from([None, 1, 2]),
).map(lambda given: ListNamespacesOp(*given))
BATCHES = st.lists(st.lists(PUTS | PUTS | GETS | SEARCHES | LISTS, max_size=5), max_size=8)


@dataclass
class Entry:
    value: dict[str, Any]
    texts: list[str]
    created_at: datetime
    updated_at: datetime

    def nearness(self, query: str) -> float | None:
        return max((similarity(text, query) for text in self.texts), default=None)


@lru_cache(maxsize=1_000)
def similarity(text: str, query: str) -> float:
    return cosine(text, query)


@dataclass
class Model:
    """What a store should hold and answer, written down without any of its cleverness."""

    entries: dict[tuple[Namespace, str], Entry] = field(default_factory=dict)

    def check(self, ops: Sequence[Any], results: Sequence[Any]) -> None:
        """Compare the results of a batch with the state before it."""
        assert len(results) == len(ops)
        for op, result in zip(ops, results, strict=True):
            if isinstance(op, PutOp):
                assert result is None
            elif isinstance(op, GetOp):
                assert (result is None) == ((op.namespace, op.key) not in self.entries)
                if result is not None:
                    self.check_item(result)
            elif isinstance(op, SearchOp):
                self.check_search(op, result)
            else:
                self.check_namespaces(op, result)

    def check_item(self, item: Any) -> None:
        entry = self.entries[item.namespace, item.key]
        assert item.value == entry.value
        assert (item.created_at, item.updated_at) == (entry.created_at, entry.updated_at)

    def check_search(self, op: SearchOp, found: Sequence[Any]) -> None:
        (meets,) = (meets for filter, meets in FILTERS if filter == op.filter)
        eligible = [
            entry
            for (namespace, _), entry in self.entries.items()
            if namespace[: len(op.namespace_prefix)] == op.namespace_prefix and meets(entry.value)
        ]
        page = slice(op.offset, op.offset + op.limit)
        for item in found:
            self.check_item(item)
            assert item.namespace[: len(op.namespace_prefix)] == op.namespace_prefix
            assert meets(item.value)
        assert len({(item.namespace, item.key) for item in found}) == len(found)
        if op.query:
            scores = [entry.nearness(op.query) for entry in eligible]
            best = sorted((score for score in scores if score is not None), reverse=True)
            assert [item.score for item in found] == pytest.approx(best[page], abs=1e-5)
            for item in found:
                entry = self.entries[item.namespace, item.key]
                assert item.score == pytest.approx(entry.nearness(op.query), abs=1e-5)
        else:
            newest = sorted((entry.updated_at for entry in eligible), reverse=True)
            assert [item.updated_at for item in found] == newest[page]
            assert all(item.score is None for item in found)

    def check_namespaces(self, op: ListNamespacesOp, found: Sequence[Namespace]) -> None:
        prefix = op.match_conditions[0].path if op.match_conditions else ()
        assert found == sorted(
            {
                namespace[: op.max_depth or len(namespace)]
                for namespace, _ in self.entries
                if namespace[: len(prefix)] == prefix
            }
        )

    def write(self, ops: Sequence[Any], now: datetime) -> None:
        for namespace, key, value, index, _ in (op for op in ops if isinstance(op, PutOp)):
            if value is None:
                continue
            texts = [] if index is False else [value["text"]]
            texts += value.get("list", []) if index else []
            before = self.entries.get((namespace, key))
            created_at = before.created_at if before else now
            texts = [text for text in texts if text]
            self.entries[namespace, key] = Entry(dict(value), texts, created_at, now)
        last = {(op.namespace, op.key): op.value for op in ops if isinstance(op, PutOp)}
        for place, value in last.items():
            if value is None:
                self.entries.pop(place, None)

    def check_all(self, store: ChromaStore) -> None:
        """Ask a store everything that it could be asked."""
        ops: list[Any] = [GetOp(namespace, key) for namespace in NAMESPACES for key in KEYS]
        ops += [
            SearchOp(prefix, filter, 100, 0, query)
            for prefix in ((), *NAMESPACES)
            for filter, _ in FILTERS
            for query in (None, *QUERIES)
        ]
        ops.append(ListNamespacesOp())
        self.check(ops, store.batch(ops))


def in_loop(store: ChromaStore, ops: Sequence[Any]) -> list[Any]:
    return asyncio.run(store.abatch(ops))


INDEX: Any = {"embed": EMBED, "fields": ["text"]}
SLOW = [HealthCheck.too_slow]  # on a busy machine, inventing batches takes its time


@settings(deadline=None, max_examples=35, suppress_health_check=SLOW)
@given(BATCHES, st.sampled_from([0, 3_000, 10**9]))
def test_batches_and_their_async_form_do_what_a_dict_would(
    batches: list[list[Any]], cache_bytes: int
) -> None:
    """Whether partitions stay in memory, or leave it after every read."""
    clock, model = ManualClock(), Model()
    options = {"index": INDEX, "clock": clock, "cache_bytes": cache_bytes}
    with ChromaStore.in_memory(**options) as store, ChromaStore.in_memory(**options) as twin:
        for ops in batches:
            now = clock.advance(seconds=1)
            results = store.batch(ops)
            assert in_loop(twin, ops) == results
            model.check(ops, results)
            model.write(ops, now)
        model.check_all(store)
        model.check_all(twin)


@settings(deadline=None, max_examples=10, suppress_health_check=SLOW)
@given(st.lists(BATCHES, min_size=1, max_size=3))
def test_a_directory_holds_what_a_dict_would_each_time_it_is_opened(
    openings: list[list[list[Any]]],
) -> None:
    clock, model = ManualClock(), Model()
    with tempfile.TemporaryDirectory() as directory:
        for batches in openings:
            with ChromaStore(directory, index=INDEX, clock=clock) as store:
                model.check_all(store)
                for ops in batches:
                    now = clock.advance(seconds=1)
                    model.check(ops, store.batch(ops))
                    model.write(ops, now)
                model.check_all(store)
        with ChromaStore(directory, index=INDEX, clock=clock) as store:
            model.check_all(store)
