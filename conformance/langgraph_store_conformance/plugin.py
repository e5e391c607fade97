"""The conformance tests as pytest tests: one item each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from langgraph_store_conformance.capabilities import Capability
from langgraph_store_conformance.registry import RegisteredStore
from langgraph_store_conformance.rules import Rule, all_rules
from langgraph_store_conformance.running import check_names, run_rule


class ConformanceFailure(AssertionError):
    """A store deviates from the contract."""


def conformance_tests(
    registered: RegisteredStore, *, capabilities: Iterable[Capability | str] | None = None
) -> Callable[[Rule], None]:
    """Return a parametrised test function: assign it to a name that begins with `test_`.

    A known deviation is expected to fail, strictly. The tests run in event loops of their own and
    need no plugin for async tests.

    Args:
        registered: What `store_test` made.
        capabilities: Test only these.
    """
    check_names(registered)
    cases = [_case(registered, rule) for rule in all_rules(capabilities)]

    @pytest.mark.parametrize("conformance_rule", cases)
    def test(conformance_rule: Rule) -> None:
        result = asyncio.run(run_rule(registered, conformance_rule))
        if result.status == "skipped":
            pytest.skip(result.reason)
        if result.status == "failed":
            lines = [f"{registered.name}: {result.text}", *result.example, f"# {result.message}"]
            raise ConformanceFailure("\n".join(lines))

    return test


def _case(registered: RegisteredStore, rule: Rule) -> Any:
    reason = registered.known_deviation(rule.name)
    known = pytest.mark.xfail(reason=reason or "", strict=True, raises=ConformanceFailure)
    return pytest.param(
        rule, id=f"{rule.capability}-{rule.name}", marks=[known] if reason is not None else []
    )
