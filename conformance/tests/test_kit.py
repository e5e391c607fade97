"""The kit itself: it finds what is wrong, shows it briefly, and takes stores of every form."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchOp
from langgraph.store.base.batch import AsyncBatchedBaseStore

import langgraph_store_conformance
from langgraph_store_conformance import (
    Capability,
    ModelStore,
    RegisteredStore,
    Report,
    Skipped,
    all_rules,
    conformance_tests,
    store_test,
    validate_sync,
)


def run_on(store: type[BaseStore], *capabilities: Capability, **options: Any) -> Report:
    """Test a store that is made without arguments."""
    return validate_sync(store_test("it", **options)(lambda: store()), capabilities=capabilities)


report_on = cache(run_on)
"""The report of a first run, which all that look at it share: two runs give equal reports."""


class Patched(ModelStore):
    """A ModelStore whose operations a subclass may change on their way."""

    def change(self, op: Op) -> Op:
        return op

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return super().batch([self.change(op) for op in ops])


class LosesOneKey(Patched):
    """Keeps nothing under the key `K`."""

    def change(self, op: Op) -> Op:
        return op._replace(value=None) if isinstance(op, PutOp) and op.key == "K" else op


class IgnoresFilters(Patched):
    def change(self, op: Op) -> Op:
        return op._replace(filter=None) if isinstance(op, SearchOp) else op


class IgnoresOffsets(Patched):
    def change(self, op: Op) -> Op:
        return op._replace(offset=0) if isinstance(op, SearchOp) else op


class AnswersInSequence(ModelStore):
    """Carries out one operation after the other: reads see the writes before them."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [ModelStore.batch(self, [op])[0] for op in ops]


class SharesItems(ModelStore):
    """Gives out the same item each time."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[Any, Any] = {}

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        for op in ops:
            if isinstance(op, PutOp):
                self._items.pop((op.namespace, op.key), None)
        results = super().batch(ops)
        for i, op in enumerate(ops):
            if isinstance(op, GetOp) and isinstance(results[i], Item):
                results[i] = self._items.setdefault((op.namespace, op.key), results[i])
        return results


@pytest.mark.parametrize(
    ("store", "capability", "rules"),
    [
        (IgnoresOffsets, Capability.PAGINATION, {"pages_are_exact[all]"}),
        (IgnoresFilters, Capability.FILTERS, {"a_value_finds_what_is_equal[text]"}),
        (IgnoresFilters, Capability.RANDOM, {"random_filters"}),
        (AnswersInSequence, Capability.BASE, {"reads_of_a_batch_come_before_its_writes[get]"}),
        (AnswersInSequence, Capability.VALIDATION, {"a_refused_batch_writes_nothing"}),
        (SharesItems, Capability.ISOLATION, {"changing_what_was_got_changes_nothing[flat]"}),
        (LosesOneKey, Capability.RANDOM, {"random_puts_and_gets", "random_listings"}),
    ],
)
def test_a_broken_store_fails_the_rule_that_it_breaks(
    store: type[BaseStore], capability: Capability, rules: set[str]
) -> None:
    report = report_on(store, capability)
    assert rules <= {failure.name for failure in report.failures}
    assert not report.passed


def test_a_random_failure_shows_the_smallest_example() -> None:
    report = report_on(LosesOneKey, Capability.RANDOM)
    failure = next(f for f in report.failures if f.name == "random_puts_and_gets")
    put, look = failure.example
    assert put.endswith("'K', value={})])")
    assert look.startswith("store.batch([SearchOp(")


def test_a_failure_says_what_was_called_got_and_expected() -> None:
    report = report_on(IgnoresOffsets, Capability.PAGINATION)
    failure = next(f for f in report.failures if f.name == "pages_go_over_namespaces")
    assert failure.example[1:3] == (
        "store.search(('a',), limit=2)",
        "store.search(('a',), limit=2, offset=2)",
    )
    assert (
        failure.message == "got ['u', 'u', 'u', 'v', 'v', 'v'], expected ['u', 'v', 'w', 'x', 'y']"
    )
    for line in (failure.text, failure.message, *failure.example):
        assert line in str(report)


def test_two_reports_of_a_store_are_equal() -> None:
    for capability in (Capability.FILTERS, Capability.RANDOM):
        assert run_on(IgnoresFilters, capability) == report_on(IgnoresFilters, capability)


def test_an_error_of_the_store_is_a_failure() -> None:
    class Broken(ModelStore):
        def batch(self, ops: Iterable[Op]) -> list[Result]:
            if list(ops):
                raise RuntimeError("no disk")
            return []

    report = run_on(Broken, Capability.BASE)
    assert report.failures[0].message == "raised RuntimeError: no disk"
    assert report.failures[0].example == ("store.put(('a',), 'k', {'n': 1, 's': 'x'})",)


def test_a_known_deviation_is_as_declared_and_still_a_failure() -> None:
    reason = {"a_refused_batch_writes_nothing": "one after the other"}
    report = run_on(AnswersInSequence, Capability.VALIDATION, known_deviations=reason)
    assert report.as_declared
    assert not report.passed
    assert "(known: one after the other)" in str(report)


def test_a_known_deviation_that_is_gone_is_not_as_declared() -> None:
    report = run_on(ModelStore, Capability.BASE, known_deviations={"keys_are_text": "long ago"})
    assert report.passed
    assert not report.as_declared


def test_a_known_deviation_without_a_case_stands_for_all_cases() -> None:
    known = {"reads_of_a_batch_come_before_its_writes": "one after the other"}
    report = run_on(AnswersInSequence, Capability.BASE, known_deviations=known)
    named = [r for r in report.results if r.name.startswith(next(iter(known)))]
    assert len(named) == 3
    assert all(result.known for result in named)


def test_a_misspelt_deviation_is_refused() -> None:
    with pytest.raises(ValueError, match="names tests that do not exist: keys_are_txt"):
        run_on(ModelStore, Capability.BASE, known_deviations={"keys_are_txt": "?"})


def test_what_is_not_offered_is_skipped_with_its_reason() -> None:
    report = run_on(
        ModelStore,
        *(Capability.TTL, Capability.SEARCH, Capability.TEXT),
        skip_capabilities={Capability.TEXT: "ASCII only"},
    )
    reasons = {result.capability: result.reason for result in report.results}
    assert reasons == {
        Capability.SEARCH: "the factory takes no index=",
        Capability.TTL: "the factory takes no ttl=",
        Capability.TEXT: "ASCII only",
    }
    assert report.passed
    assert "text: 94 tests; ASCII only" in str(report)


def test_a_store_without_ttl_is_not_asked_for_it() -> None:
    class NoTTL(ModelStore):
        supports_ttl = False

    @store_test("it")
    def factory(ttl: Any) -> Iterator[BaseStore]:
        yield NoTTL()

    report = validate_sync(factory, capabilities=["ttl", "validation"])
    assert report.count("skipped", Capability.TTL) == 16
    assert report.count("passed", Capability.VALIDATION) == 18


def test_a_factory_may_say_that_it_cannot_run_here() -> None:
    @store_test("it")
    def factory() -> BaseStore:
        raise Skipped("no server")

    report = validate_sync(factory, capabilities=["base"])
    assert {result.reason for result in report.results} == {"no server"}


async def from_async_generator() -> AsyncIterator[BaseStore]:
    yield ModelStore()


def from_generator() -> Iterator[BaseStore]:
    yield ModelStore()


@pytest.mark.parametrize(
    "factory",
    [
        from_async_generator,
        from_generator,
        asynccontextmanager(from_async_generator),
        contextmanager(from_generator),
        ModelStore,
    ],
)
def test_a_factory_may_have_any_form(factory: Any) -> None:
    assert validate_sync(store_test("it")(factory), capabilities=["base"]).passed


def test_a_factory_that_gives_no_store_is_told_so() -> None:
    report = validate_sync(store_test("it")(lambda: 7), capabilities=["base"])
    assert report.failures[0].message.endswith("it has to yield a BaseStore")


class AsyncOnly(AsyncBatchedBaseStore):
    """A model behind LangGraph's queue, as its async stores are."""

    def __init__(self, model: ModelStore) -> None:
        super().__init__()
        self._model = model

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        await asyncio.sleep(0)
        return self._model.batch(ops)


@store_test(
    "AsyncOnly",
    form="async",
    known_deviations={
        "keys_are_text": "aput takes any key",
        "a_failed_call_fails_alone": "calls of one turn of the loop are one batch",
    },
)
async def async_only(index: Any) -> AsyncIterator[BaseStore]:
    yield AsyncOnly(ModelStore(index=index))


test_async_store = conformance_tests(async_only, capabilities=["base", "search", "sync", "async"])


def test_a_store_without_async_methods_is_tested_through_the_others() -> None:
    class SyncOnly(ModelStore):
        async def abatch(self, ops: Iterable[Op]) -> list[Result]:
            raise NotImplementedError

    report = run_on(SyncOnly, Capability.BASE, Capability.SYNC, Capability.ASYNC)
    assert report.passed
    assert {r.reason for r in report.results if r.capability is Capability.ASYNC} >= {
        "the store has no async methods"
    }


def test_a_report_is_json() -> None:
    report = report_on(IgnoresOffsets, Capability.PAGINATION)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["store"] == "it"
    assert data["passed"] is False
    assert {"name", "capability", "status", "message", "example"} <= data["results"][0].keys()


def test_progress_is_told_result_by_result() -> None:
    seen: list[str] = []
    registered = store_test("it")(ModelStore)
    report = validate_sync(
        registered, capabilities=["base"], progress=lambda r: seen.append(r.name)
    )
    assert seen == [result.name for result in report.results]


def test_rules_have_unique_names_and_say_what_they_ask() -> None:
    rules = all_rules()
    assert len({rule.name for rule in rules}) == len(rules)
    assert all(rule.text.endswith(".") for rule in rules)
    assert {rule.capability for rule in rules} == set(Capability)


def test_the_kit_needs_nothing_of_a_store_that_it_tests() -> None:
    code = """
import sys

sys.modules["langgraph_memory"] = sys.modules["chromadb"] = None
from langgraph_store_conformance import ModelStore, store_test, validate_sync

@store_test("it")
def factory(index, ttl, clock):
    yield ModelStore(index=index, ttl=ttl, clock=clock)

report = validate_sync(factory)
assert not report.failures, str(report)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(langgraph_store_conformance.__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_registered_stores_are_told_apart_by_name() -> None:
    assert isinstance(async_only, RegisteredStore)
    assert async_only.name == "AsyncOnly"
