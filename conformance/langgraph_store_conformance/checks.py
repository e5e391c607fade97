"""What a test says when it finds a deviation."""

from __future__ import annotations

import math
from collections.abc import Awaitable
from typing import Any

from langgraph_store_conformance.examples import short


class Deviation(AssertionError):
    """A store does something else than the contract says."""

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"got {got}, expected {expected}")


def same(got: Any, expected: Any) -> None:
    """Fail unless two values are equal."""
    if got != expected:
        raise Deviation(short(got), short(expected))


def same_set(got: list[Any], expected: Any) -> None:
    """Fail unless a list holds certain values, each once, in any order."""
    if sorted(got) != sorted(expected):
        raise Deviation(short(sorted(got)), short(sorted(expected)))


def check(holds: bool, got: Any, expected: str) -> None:
    """Fail unless something holds that is described in words."""
    if not holds:
        raise Deviation(short(got), expected)


def close(got: float | None, expected: float, *, tolerance: float = 0.01) -> None:
    """Fail unless a score is a number near another.

    The tolerance leaves room for vectors that are stored in half precision.
    """
    if got is None or not math.isclose(got, expected, abs_tol=tolerance):
        raise Deviation(short(got), short(expected))


async def refused(call: Awaitable[Any], *errors: type[Exception]) -> None:
    """Fail unless a call raises one of certain errors."""
    names = " or ".join(error.__name__ for error in errors)
    try:
        result = await call
    except errors:
        return
    raise Deviation(short(result), names)
