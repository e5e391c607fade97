from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest

from langgraph_memory.records.clock import Clock
from langgraph_memory.testing import ManualClock

NAIVE = datetime(2026, 5, 1, 12)  # noqa: DTZ001 - it is refused


def test_the_time_stands_still_until_it_is_moved():
    clock: Clock = ManualClock()
    assert clock() == clock() == datetime(2026, 1, 1, tzinfo=UTC)


def test_advance_takes_a_timedelta_its_units_or_both():
    clock = ManualClock()
    assert clock.advance(timedelta(days=1)) == clock() == datetime(2026, 1, 2, tzinfo=UTC)
    clock.advance(days=1, hours=6)
    assert clock() == datetime(2026, 1, 3, 6, tzinfo=UTC)
    clock.advance(timedelta(hours=1), minutes=30)
    assert clock() == datetime(2026, 1, 3, 7, 30, tzinfo=UTC)


def test_a_negative_step_moves_it_back():
    clock = ManualClock()
    clock.advance(hours=-1)
    assert clock() == datetime(2025, 12, 31, 23, tzinfo=UTC)


def test_any_time_zone_is_told_in_utc():
    shanghai = timezone(timedelta(hours=8))
    clock = ManualClock(datetime(2026, 5, 1, 8, tzinfo=shanghai))
    assert clock().isoformat() == "2026-05-01T00:00:00+00:00"
    clock.set(datetime(2026, 5, 2, 8, tzinfo=shanghai))
    assert clock().isoformat() == "2026-05-02T00:00:00+00:00"


def test_naive_times_are_refused_and_change_nothing():
    with pytest.raises(ValueError, match="naive datetime"):
        ManualClock(NAIVE)
    clock = ManualClock()
    with pytest.raises(ValueError, match="naive datetime"):
        clock.set(NAIVE)
    assert clock() == datetime(2026, 1, 1, tzinfo=UTC)


def test_steps_from_many_threads_all_count():
    clock = ManualClock()
    with ThreadPoolExecutor(8) as pool:
        moments = list(pool.map(lambda _: clock.advance(seconds=1), range(2_000)))
    assert clock() == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=2_000)
    assert len(set(moments)) == 2_000


def test_repr_tells_the_time():
    assert repr(ManualClock()) == "ManualClock(2026-01-01T00:00:00+00:00)"
