"""The outcome of a run: per test, per capability, as text, as a dict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from langgraph_store_conformance.capabilities import Capability

Ending = Literal["passed", "failed", "skipped"]
"""How a test ended."""


@dataclass(frozen=True)
class TestResult:
    """What one test found."""

    __test__ = False  # not for pytest to collect

    name: str
    capability: Capability
    status: Ending
    text: str
    """The rule in words."""
    reason: str = ""
    """Why it was skipped, or why the deviation is known."""
    message: str = ""
    """What was got and what was expected."""
    example: tuple[str, ...] = ()
    """The calls that show it, as lines of Python."""
    known: bool = False
    """Whether the test was declared to fail."""

    @property
    def as_declared(self) -> bool:
        """Whether the outcome is what was said: passed, or failed where that is known."""
        return self.status == "skipped" or (self.status == "failed") == self.known


@dataclass(frozen=True)
class Report:
    """What the tests found about one store."""

    store: str
    """Its name."""
    results: tuple[TestResult, ...] = field(default=())
    """What each test found."""

    @property
    def passed(self) -> bool:
        """Whether the store does all that was tested; known deviations are still deviations."""
        return not self.failures

    @property
    def as_declared(self) -> bool:
        """Whether each test passed, or failed as a known deviation."""
        return all(result.as_declared for result in self.results)

    @property
    def failures(self) -> list[TestResult]:
        """The tests that failed."""
        return [result for result in self.results if result.status == "failed"]

    def count(self, status: Ending, capability: Capability | None = None) -> int:
        """Return how many tests, all or of one capability, had an outcome."""
        return sum(
            result.status == status and capability in (None, result.capability)
            for result in self.results
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "store": self.store,
            "passed": self.passed,
            "results": [
                {**asdict(result), "example": list(result.example)} for result in self.results
            ],
        }

    def table(self) -> str:
        """Return the report as text: a line per capability, then each failure, then the skipped."""
        lines = [
            f"{self.store}: {self.count('passed')} passed, {self.count('failed')} failed, "
            f"{self.count('skipped')} skipped",
            "",
            f"  {'capability':<12} {'passed':>6} {'failed':>6} {'skipped':>7}",
        ]
        for capability in Capability:
            passed, failed, skipped = (
                self.count(status, capability) for status in ("passed", "failed", "skipped")
            )
            if passed or failed or skipped:
                lines.append(f"  {capability:<12} {passed:>6} {failed:>6} {skipped:>7}")
        for result in self.failures:
            lines += ["", *_failure(result)]
        return "\n".join([*lines, *_skipped(self.results)]) + "\n"

    def __str__(self) -> str:
        return self.table()


def _failure(result: TestResult) -> list[str]:
    known = f" (known: {result.reason})" if result.known else ""
    lines = [f"  {result.capability} / {result.name}{known}", f"    {result.text}"]
    lines += [f"      {line}" for line in result.example]
    return [*lines, f"      # {result.message}"]


def _skipped(results: Iterable[TestResult]) -> list[str]:
    reasons: dict[tuple[Capability, str], int] = {}
    for result in results:
        if result.status == "skipped":
            place = result.capability, result.reason
            reasons[place] = reasons.get(place, 0) + 1
    if not reasons:
        return []
    return ["", "  not tested:"] + [
        f"    {capability}: {count} tests; {reason}"
        for (capability, reason), count in reasons.items()
    ]
