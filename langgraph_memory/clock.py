"""Time as aware UTC datetimes, from one clock that tests and replays can inject."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the present moment as an aware datetime."""


def utc_now() -> datetime:
    """Return the present moment as an aware datetime in UTC."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Return `moment` in UTC; a naive one is refused, since nobody knows where it was noon.

    Raises:
        ValueError: If `moment` has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(
            f"got the naive datetime {moment!r}; give it a time zone, "
            "for example datetime.now(timezone.utc)"
        )
    return moment.astimezone(UTC)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; one without a zone is taken as UTC.

    Raises:
        ValueError: If `text` is not ISO 8601.
    """
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
