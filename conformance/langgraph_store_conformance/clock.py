"""The time that a store goes by: the real one, or one that the tests move."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Gives the present moment as an aware datetime."""


def utc_now() -> datetime:
    """Return the present moment as an aware datetime in UTC."""
    return datetime.now(UTC)


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the present moment."""
        return self._now

    def advance(self, *, seconds: float) -> None:
        """Move the clock forward."""
        self._now += timedelta(seconds=seconds)
