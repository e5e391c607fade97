"""Timing things that compete: turn by turn, so that noise hits all alike; and the report of it."""

from __future__ import annotations

import json
import math
import statistics
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

OURS = "langgraph_memory"

Call = Callable[[], object]

_SLOW = 0.05
"""Seconds of a call from which on waiting for a thread to start does not count."""

_FEWEST = 3


@dataclass(frozen=True)
class Contender:
    """One way to do the work that is measured."""

    library: str
    call: str
    """What is called, in words."""
    prepare: Callable[[int], Call]
    """From a number, different each time, to the call to be timed; it is not timed itself."""


def never(number: int) -> Call:
    """Stand for what was timed elsewhere."""
    raise AssertionError("this contender only has a name")


@dataclass
class Timing:
    """What a contender took."""

    seconds: list[float] = field(default_factory=list)
    """Of each call, in order."""
    elapsed: float = 0.0
    """Of all calls together; with several threads less than their sum."""


def interleave(
    contenders: Sequence[Contender],
    *,
    rounds: int,
    block: int = 1,
    threads: int = 1,
    budget: float = 4.0,
) -> list[Timing]:
    """Let contenders take turns, after a call or two of each that are not counted.

    Args:
        contenders: Who takes part; each round begins with another one.
        rounds: How many turns each has, if time allows.
        block: Calls in a row of a turn; what takes long is called once.
        threads: How many threads make these calls each, at once.
        budget: Seconds after which no new round begins, once each was called a few times.
    """
    timings = [Timing() for _ in contenders]
    slow = [_is_slow(contender) for contender in contenders]
    entered = list(zip(contenders, timings, slow, strict=True))
    began = perf_counter()
    for number in range(rounds):
        first = (1 + number) * block * threads
        start = number % len(entered)  # whoever comes after a like call finds caches warm
        for contender, timing, alone in entered[start:] + entered[:start]:
            taken, elapsed = _turn(contender, first, 1 if alone else block, threads)
            timing.seconds += taken
            timing.elapsed += elapsed
        enough = all(len(timing.seconds) >= _FEWEST for timing in timings)
        if enough and perf_counter() - began > budget:
            break
    return timings


def _is_slow(contender: Contender) -> bool:
    # The first call may load what the others find in memory.
    return all(seconds_of(contender.prepare(0)) > _SLOW for _ in range(2))


def _turn(contender: Contender, first: int, block: int, threads: int) -> tuple[list[float], float]:
    barrier = threading.Barrier(threads)

    def work(thread: int) -> tuple[list[float], float, float]:
        start = first + thread * block
        calls = [contender.prepare(start + number) for number in range(block)]
        barrier.wait()
        began = perf_counter()
        taken = [seconds_of(call) for call in calls]
        return taken, began, perf_counter()

    if threads == 1:
        results = [work(0)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(work, range(threads)))
    elapsed = max(end for _, _, end in results) - min(began for _, began, _ in results)
    return [seconds for taken, _, _ in results for seconds in taken], elapsed


def seconds_of(call: Call) -> float:
    """Return how long a call takes."""
    began = perf_counter()
    call()
    return perf_counter() - began


class Report:
    """Lines of JSON on stdout as they come, and a table of them on stderr at the end."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        """What stands in each line of this part of the run: how many records and users."""
        self._lines: list[dict[str, Any]] = []

    def say(self, text: str) -> None:
        """Tell whoever waits what is going on."""
        print(text, file=sys.stderr, flush=True)

    def line(self, name: str, library: str, **facts: Any) -> None:
        """Print one line."""
        line = {"name": name, "library": library, **self.facts, **facts}
        self._lines.append(line)
        print(json.dumps(line), flush=True)

    def add(
        self, name: str, contenders: Sequence[Contender], timings: Sequence[Timing], **facts: Any
    ) -> None:
        """Print a line for each contender.

        `ratio` stands in the lines of the peers: how many times as long as theirs our call takes,
        by the median; with several threads, by the calls that all of them get done in a second.
        """
        pairs = list(zip(contenders, timings, strict=True))
        threads = facts.get("threads", 1)
        ours = next((timing for one, timing in pairs if one.library == OURS), None)
        for contender, timing in pairs:
            figures = _figures(timing, threads)
            if ours is not None and contender.library != OURS:
                figures["ratio"] = _rounded(_pace(ours, threads) / _pace(timing, threads))
            self.line(name, contender.library, call=contender.call, **facts, **figures)

    def print_table(self) -> None:
        """Print all lines as a table."""
        rows = [list(_COLUMNS)]
        for line in self._lines:
            if "median_ms" in line:
                rows.append([_cell(line.get(key)) for key in _COLUMNS.values()])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            text = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.say("  ".join(text).rstrip())
        self.say("times in ms; ratio: how many times as long as this call ours takes")


_COLUMNS = {
    "name": "name",
    "records": "records",
    "owner": "owner_records",
    "threads": "threads",
    "embedding": "embedding",
    "call": "call",
    "n": "n",
    "median": "median_ms",
    "p95": "p95_ms",
    "calls/s": "calls_per_s",
    "ratio": "ratio",
}


def _figures(timing: Timing, threads: int) -> dict[str, Any]:
    ordered = sorted(timing.seconds)
    figures = {
        "n": len(ordered),
        "median_ms": _rounded(1000 * statistics.median(ordered)),
        "p95_ms": _rounded(1000 * ordered[math.ceil(0.95 * len(ordered)) - 1]),
    }
    if threads > 1:
        figures["calls_per_s"] = _rounded(1 / _pace(timing, threads))
    return figures


def _pace(timing: Timing, threads: int) -> float:
    """Return the seconds that a call takes; with several threads, those that pass for each call."""
    if threads > 1:
        return timing.elapsed / len(timing.seconds)
    return statistics.median(timing.seconds)


def _rounded(number: float) -> float:
    """Round to four significant digits."""
    return float(f"{number:.4g}")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
