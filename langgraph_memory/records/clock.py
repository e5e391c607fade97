"""Time as aware UTC datetimes, from one clock that tests and replays can inject."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo

from langgraph_memory.errors import ConfigurationError

Clock = Callable[[], datetime]
"""Gives the present moment as an aware datetime."""


def utc_now() -> datetime:
    """Return the present moment as an aware datetime in UTC."""
    return datetime.now(UTC)


def as_utc(moment: datetime, name: str = "time") -> datetime:
    """Return `moment` in UTC; a naive one is refused, since nobody knows where it was noon.

    Raises:
        ConfigurationError: If `moment` is no datetime, or has no time zone; it calls it `name`.
    """
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        naive = "the naive datetime " if isinstance(moment, datetime) else ""
        raise ConfigurationError(
            f"{name}: got {naive}{moment!r}; expected one with a time zone, "
            "for example datetime.now(timezone.utc)"
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ConfigurationError(
            f"{name}: {moment.isoformat()} is outside the years 1 to 9999 in UTC"
        ) from error


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return an aware moment in a time zone; at either end of time, by the clock that it has."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.replace(tzinfo=zone)


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; one without a zone is taken as UTC.

    Raises:
        ValueError: If `text` is not ISO 8601, or outside the years 1 to 9999 in UTC.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is outside the years 1 to 9999 in UTC") from error
