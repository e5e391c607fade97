"""A clock that moves only when a test says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock

from langgraph_memory.records import as_utc

_START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """A clock for `clock=` arguments: call it for the time, move it by hand.

    Safe to read and move from several threads.

    Example:
        >>> clock = ManualClock()
        >>> clock().isoformat()
        '2026-01-01T00:00:00+00:00'
        >>> clock.advance(days=1, hours=2).isoformat()
        '2026-01-02T02:00:00+00:00'
    """

    def __init__(self, start: datetime = _START) -> None:
        """Start at an aware moment.

        Raises:
            ValueError: If `start` has no time zone.
        """
        self._now = as_utc(start)
        self._lock = Lock()

    def __call__(self) -> datetime:
        """Return the current moment in UTC."""
        with self._lock:
            return self._now

    def __repr__(self) -> str:
        return f"ManualClock({self().isoformat()})"

    def advance(self, by: timedelta = timedelta(), **units: float) -> datetime:
        """Move the clock and return its new time; a negative step moves it back.

        Args:
            by: How far to move.
            **units: Added to `by`, as `timedelta` takes them: `days=`, `hours=`, `minutes=` ...
        """
        step = by + timedelta(**units)
        with self._lock:
            self._now += step
            return self._now

    def set(self, moment: datetime) -> None:
        """Put the clock to an aware moment, earlier or later.

        Raises:
            ValueError: If `moment` has no time zone.
        """
        now = as_utc(moment)
        with self._lock:
            self._now = now
