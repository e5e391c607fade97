"""Runs the tests on a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

from langgraph_store_conformance.capabilities import (
    Capability,
    Skipped,
    forms_of,
    why_not,
)
from langgraph_store_conformance.checks import Deviation
from langgraph_store_conformance.clock import ManualClock
from langgraph_store_conformance.examples import Example, one_line
from langgraph_store_conformance.registry import RegisteredStore
from langgraph_store_conformance.report import Report, TestResult
from langgraph_store_conformance.rules import Rule, all_rules
from langgraph_store_conformance.subject import Subject

OnResult = Callable[[TestResult], None]
"""Is told each result as it comes."""

_PATIENCE = 120.0
"""Seconds after which an async call that hangs counts as a failure."""


async def validate(
    registered: RegisteredStore,
    *,
    capabilities: Iterable[Capability | str] | None = None,
    progress: OnResult | None = None,
) -> Report:
    """Test a store, and report what it does otherwise than the contract says.

    Args:
        registered: What `store_test` made.
        capabilities: Test only these.
        progress: Called with each result as it comes.

    Raises:
        ValueError: If a known deviation names a test that there is not.

    Example:
        >>> import asyncio
        >>> from langgraph_store_conformance import ModelStore, store_test
        >>> @store_test("ModelStore")
        ... def model_store(index, ttl, clock):
        ...     yield ModelStore(index=index, ttl=ttl, clock=clock)
        >>> report = asyncio.run(validate(model_store, capabilities=["base"]))
        >>> report.passed
        True
    """
    check_names(registered)
    results = []
    for rule in all_rules(capabilities):
        results.append(await run_rule(registered, rule))
        if progress is not None:
            progress(results[-1])
    return Report(registered.name, tuple(results))


def validate_sync(
    registered: RegisteredStore,
    *,
    capabilities: Iterable[Capability | str] | None = None,
    progress: OnResult | None = None,
) -> Report:
    """Sync form of `validate`; runs an event loop of its own.

    Args:
        registered: As for `validate`.
        capabilities: As for `validate`.
        progress: As for `validate`.
    """
    return asyncio.run(validate(registered, capabilities=capabilities, progress=progress))


def check_names(registered: RegisteredStore) -> None:
    """Refuse known deviations that no test is called by: a typing error would hide them."""
    names = {name for rule in all_rules() for name in (rule.name, rule.group)}
    unknown = registered.known_deviations.keys() - names
    if unknown:
        raise ValueError(
            f"known_deviations of {registered.name!r} names tests that do not exist: "
            f"{', '.join(sorted(unknown))}"
        )


async def run_rule(registered: RegisteredStore, rule: Rule) -> TestResult:
    """Run one test on a fresh store."""
    known = registered.known_deviation(rule.name)
    result = TestResult(
        rule.name, rule.capability, "passed", rule.text, known or "", known=known is not None
    )
    example = Example()
    try:
        await _run(registered, rule, example)
    except Skipped as skipped:
        return replace(result, status="skipped", reason=str(skipped))
    except Deviation as deviation:
        message = str(deviation)
    except Exception as error:  # noqa: BLE001 - a store may fail in any way: that is the finding
        message = f"raised {type(error).__name__}: {one_line(str(error))}"
    else:
        return result
    return replace(result, status="failed", message=message, example=tuple(example.lines()))


async def _run(registered: RegisteredStore, rule: Rule, example: Example) -> None:
    index = rule.index()
    reason = registered.why_not(rule.capability, index=index is not None)
    if reason is not None:
        raise Skipped(reason)
    clock = ManualClock() if "clock" in registered.parameters else None
    async with registered.create(index=index, ttl=rule.ttl, clock=clock) as store:
        fields = None if index is None else list(rule.fields or ["$"])
        example.start({"fields": fields, "ttl": rule.ttl})
        if reason := why_not(rule.capability, store):
            raise Skipped(reason)
        forms = await forms_of(store)
        if not forms:
            raise Deviation("NotImplementedError from batch and abatch", "one of them to work")
        subject = Subject(
            store,
            form=registered.form or forms[0],
            forms=forms,
            clock=clock,
            resolution=registered.resolution,
            lifetime=registered.lifetime,
            example=example,
        )
        async with asyncio.timeout(_PATIENCE):
            await rule.run(subject)
