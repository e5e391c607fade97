"""Time as aware UTC datetimes, from one clock that tests and replays can inject."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from langgraph_memory.errors import ConfigurationError

Clock = Callable[[], datetime]
"""Gives the present moment as an aware datetime."""


def utc_now() -> datetime:
    """Return the present moment as an aware datetime in UTC."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Return `moment` in UTC; a naive one is refused, since nobody knows where it was noon.

    Raises:
        ConfigurationError: If `moment` is no datetime, or has no time zone.
    """
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ConfigurationError(
            f"expected a datetime with a time zone, such as datetime.now(timezone.utc); "
            f"got {moment!r}"
        )
    return moment.astimezone(UTC)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; one without a zone is taken as UTC.

    Raises:
        ValueError: If `text` is not ISO 8601.
    """
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
