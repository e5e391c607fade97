"""Random operations, on the store and on the model: both must say the same.

Hypothesis shrinks what differs to the smallest example. Nothing in it is left to chance: the same
examples come in every run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.checks import Deviation, same
from langgraph_store_conformance.examples import Example, one_line, short
from langgraph_store_conformance.model import ModelStore
from langgraph_store_conformance.rules import index_of, rule
from langgraph_store_conformance.subject import Subject

EXAMPLES = 60
Batches = Sequence[Sequence[Op]]

_LABELS = ("a", "ab", "_", "é")
_TEXTS = ("green apple", "green apple pie", "my old bicycle", "cold sea")


def _puts(values: SearchStrategy[Any]) -> SearchStrategy[PutOp]:
    return st.builds(
        lambda *fields: PutOp(*fields), _namespaces(1), _keys(), st.one_of(st.none(), values)
    )


def _gets() -> SearchStrategy[GetOp]:
    return st.builds(lambda *fields: GetOp(*fields), _namespaces(1), _keys())


def _searches(**fields: SearchStrategy[Any]) -> SearchStrategy[SearchOp]:
    return st.fixed_dictionaries({"namespace_prefix": _namespaces(0), **fields}).map(
        lambda chosen: SearchOp(**chosen, limit=100)
    )


def _keys() -> SearchStrategy[str]:
    return st.sampled_from(["k", "K", "1"])


def _namespaces(least: int) -> SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(_LABELS), min_size=least, max_size=2).map(tuple)


def _scalars() -> SearchStrategy[Any]:
    # Nothing that is compared one way or another by what a contract leaves open: no booleans
    # among the numbers, no text that could be taken for one.
    return st.sampled_from([None, -1, 0, 1, 2, 10, 0.5, "", "b", "B", "2026-01-31"])


def _values() -> SearchStrategy[dict[str, Any]]:
    inner = st.one_of(
        _scalars(),
        st.lists(_scalars(), max_size=2),
        st.dictionaries(st.sampled_from("xy"), _scalars(), max_size=2),
    )
    return st.dictionaries(st.sampled_from("xy"), inner, max_size=2)


def _filters() -> SearchStrategy[dict[str, Any]]:
    operators = st.dictionaries(
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]),
        _scalars(),
        min_size=1,
        max_size=2,
    )
    plain = _values().map(lambda value: {k: v for k, v in value.items() if v != {}})
    return st.one_of(plain, st.dictionaries(st.sampled_from("xy"), operators, max_size=2))


def _batches(*ops: Any) -> SearchStrategy[Batches]:
    batch = st.lists(st.one_of(*ops), min_size=1, max_size=3)
    return st.lists(batch, min_size=1, max_size=5)


@rule(Capability.RANDOM)
async def random_puts_and_gets(store: Subject) -> None:
    """Puts, deletes and gets in batches give what the model gives."""
    await _compare(store, _batches(_puts(_values()), _gets()), looks=[SearchOp((), limit=100)])


@rule(Capability.RANDOM)
async def random_listings(store: Subject) -> None:
    """Searches without a query find what the model finds, whatever was put and deleted."""
    await _compare(store, _batches(_puts(_values()), _searches()))


@rule(Capability.RANDOM)
async def random_filters(store: Subject) -> None:
    """Filters find what the model finds."""
    searches = _searches(filter=_filters())
    await _compare(store, _batches(_puts(_values()), searches), examples=2 * EXAMPLES)


@rule(Capability.RANDOM)
async def random_namespaces(store: Subject) -> None:
    """`list_namespaces` gives what the model gives, whatever was put, deleted and read."""
    paths = st.lists(st.sampled_from((*_LABELS, "*")), max_size=3).map(tuple)
    conditions = st.builds(
        lambda *fields: MatchCondition(*fields), st.sampled_from(["prefix", "suffix"]), paths
    )
    lists = st.builds(
        lambda *fields: ListNamespacesOp(*fields),
        st.lists(conditions, max_size=2).map(tuple),
        st.one_of(st.none(), st.integers(1, 4)),
        st.integers(1, 5),
        st.integers(0, 2),
    )
    await _compare(store, _batches(_puts(st.just({"n": 1})), lists, _gets()))


@rule(Capability.RANDOM, fields=["text", "tags[*]"])
async def random_searches_by_meaning(store: Subject) -> None:
    """Searches by meaning give the scores that the model gives, whatever was put before."""
    texts = st.sampled_from(_TEXTS)
    values = st.fixed_dictionaries(
        {}, optional={"text": texts, "tags": st.lists(texts, max_size=3), "title": texts}
    )
    index = st.sampled_from([None, None, False, ["title"], ["tags[0]", "title"]])
    # Few items, so that they are often put again: what is left of before is what is looked for.
    puts = st.builds(
        lambda *fields: PutOp(("a",), *fields),
        st.sampled_from(["k", "K"]),
        st.one_of(st.none(), values, values),
        index,
    )
    looks = [SearchOp((), limit=100, query=text) for text in _TEXTS]
    await _compare(store, _batches(puts), looks=looks, fields=["text", "tags[*]"])


async def _compare(
    store: Subject,
    batches: SearchStrategy[Batches],
    *,
    examples: int = EXAMPLES,
    looks: Sequence[Op] = (),
    fields: Sequence[str] | None = None,
) -> None:
    """Run random batches on the store and on a model; raise for the smallest that differ.

    After each example the store is looked at by the reads `looks`.

    Each example has a root label of its own in the one store: a new store for each would take
    longer than the tests.
    """
    loop = asyncio.get_running_loop()
    roots = count()
    smallest: list[_Difference] = []

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(batches)
    def compare(chosen: Batches) -> None:
        example = [*chosen, *([look] for look in looks)]
        run = _run(store, example, f"r{next(roots)}", fields)
        try:
            asyncio.run_coroutine_threadsafe(run, loop).result()
        except Deviation as deviation:
            smallest.append(_Difference(example, store.example.copy(), deviation))
            smallest[:] = [min(smallest, key=_Difference.size)]
            raise

    try:
        await asyncio.to_thread(compare)
    except (Deviation, ExceptionGroup):
        if not smallest:
            raise
        best = smallest[0]
        while smaller := await _smaller(store, best, roots, fields):
            best = smaller
        store.example.restore(best.calls)
        raise best.deviation from None


class _Difference(NamedTuple):
    """An example in which store and model differ."""

    batches: Batches
    calls: Example
    deviation: Deviation

    def size(self) -> tuple[int, int, int]:
        return sum(map(len, self.batches)), len(self.batches), len(repr(self.batches))


async def _smaller(
    store: Subject, found: _Difference, roots: Iterator[int], fields: Sequence[str] | None
) -> _Difference | None:
    """Return an example with one operation less that differs as well, or None.

    Hypothesis leaves some operations in that have no part in the difference.
    """
    for i, batch in enumerate(found.batches):
        for j in range(len(batch)):
            parts = [*found.batches[:i], [*batch[:j], *batch[j + 1 :]], *found.batches[i + 1 :]]
            batches = [part for part in parts if part]
            try:
                await _run(store, batches, f"r{next(roots)}", fields)
            except Deviation as deviation:
                return _Difference(batches, store.example.copy(), deviation)
    return None


async def _run(store: Subject, batches: Batches, root: str, fields: Sequence[str] | None) -> None:
    store.example.start({"fields": fields})
    model = ModelStore(index=index_of(fields))
    for batch in batches:
        ops = [_below(root, op) for op in batch]
        expected = [_view(result) for result in model.batch(ops)]
        try:
            got = [_view(result) for result in await store.batch(ops)]
        except Exception as error:
            store.example.replace(repr(root), "'r'")
            message = f"{type(error).__name__}: {one_line(str(error))}"
            raise Deviation(message, short(expected)) from error
        if got != expected:
            store.example.replace(repr(root), "'r'")
        same(got, expected)


def _below(root: str, op: Any) -> Op:
    """Return the operation, moved below a root label."""
    result: Op
    if isinstance(op, (GetOp, PutOp)):
        result = op._replace(namespace=(root, *op.namespace))
    elif isinstance(op, SearchOp):
        result = op._replace(namespace_prefix=(root, *op.namespace_prefix))
    else:
        conditions = [
            c._replace(path=(root, *c.path)) if c.match_type == "prefix" else c
            for c in op.match_conditions or ()
        ]
        own = MatchCondition("prefix", (root,))
        depth = None if op.max_depth is None else op.max_depth + 1
        result = op._replace(match_conditions=(own, *conditions), max_depth=depth)
    return result


def _view(result: Any) -> Any:
    """Return what counts of a result: no times, and no order where the contract has none."""
    if isinstance(result, list):
        if result and isinstance(result[0], tuple):
            return [namespace[1:] for namespace in result]
        by_place = sorted(result, key=lambda item: (item.namespace, item.key))
        return [_item(item) for item in by_place]
    return None if result is None else _item(result)


def _item(item: Any) -> Any:
    score = getattr(item, "score", None)
    place = (*item.namespace[1:], item.key)
    return (place, item.value) if score is None else (place, item.value, _Score(score))


class _Score(float):
    """A score, equal to those near it: vectors may be stored in half precision."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(self - other) < 0.01

    def __ne__(self, other: object) -> bool:
        return not self == other
