"""Tables out of the lines that `benchmarks.latency` prints, and how they meet the targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.latency_timing import OURS

Lines = list[dict[str, Any]]

LIBRARIES = [OURS, "langgraph", "chromadb", "langchain-chroma", "mem0"]

_SETTING = ("records", "users", "owner_records", "threads", "embedding")
"""What tells the rows of a table apart."""


def select(lines: Iterable[dict[str, Any]], name: str | None = None, **facts: Any) -> Lines:
    """Return the lines with a name and facts."""
    if name is not None:
        facts["name"] = name
    return [line for line in lines if all(line.get(key) == facts[key] for key in facts)]


def comparison(lines: Lines, name: str) -> str:
    """Return a table of one measurement: a row for each setting, a column for each library.

    A cell has median and 95th percentile in milliseconds, and at the peers how many times as long
    they take; with several threads, the calls in a second, and how many times as many we get done.
    """
    measured = select(lines, name)
    libraries = [each for each in LIBRARIES if select(measured, library=each)]
    head = ["records", "users", "the user's", "threads", "embedder's time"]
    rows = []
    for setting in dict.fromkeys(tuple(line.get(key) for key in _SETTING) for line in measured):
        of_setting = select(measured, **dict(zip(_SETTING, setting, strict=True)))
        cells = (select(of_setting, library=library) for library in libraries)
        rows.append([*map(_plain, setting), *(_cell(found[0]) if found else "" for found in cells)])
    # What all rows share says nothing.
    kept = [i for i in range(len(head)) if len({row[i] for row in rows}) > 1]
    kept += range(len(head), len(head) + len(libraries))
    return table([*head, *libraries], rows, kept)


def table(head: list[str], rows: Iterable[list[str]], kept: Iterable[int] | None = None) -> str:
    """Return a Markdown table, of some columns or of all."""
    columns = list(range(len(head)) if kept is None else kept)
    everything = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row[i] for i in columns) + " |" for row in everything)


def targets(lines: Lines) -> str:
    """Return a table of what is aimed at, and what was measured in the largest collection."""
    rows = []
    for what, measured, limit, unit in _targets(lines):
        times_faster = unit == "times faster"
        met = measured >= limit if times_faster else measured <= limit
        bound = f"at {'least' if times_faster else 'most'} {limit:g} {unit}"
        rows.append([what, bound, f"{measured:.4g}", "yes" if met else "**no**"])
    return table(["what", "target", "measured", "met"], rows)


def _targets(lines: Lines) -> Iterator[tuple[str, float, float, str]]:
    """Yield what is measured, how much it is, its limit and the unit of both."""
    plain = select(lines, embedding=False)
    for owner, milliseconds in ((1_000, 1), (50_000, 20)):
        for line in _largest(plain, "recall.warm", owner, threads=1, call="Memory.recall"):
            yield (
                f"warm recall, owner with {owner:,} records",
                line["median_ms"],
                milliseconds,
                "ms",
            )
    for threads in (1, 8):
        for library in ("langchain-chroma", "mem0"):
            for line in _largest(plain, "recall.warm", 1_000, threads=threads, library=library):
                what = f"warm recall beside {library}, threads: {threads}"
                yield what, 1 / line["ratio"], 20, "times faster"
    for owner, milliseconds in ((100, 30), (1_000, 110)):
        for line in _largest(plain, "recall.cold", owner, threads=1, library=OURS):
            yield f"first recall, owner with {owner:,}", line["median_ms"], milliseconds, "ms"
    for line in _largest(plain, "log_turn", library="chromadb"):
        yield "logging a turn", line["ratio"], 1.3, "upserts of two rows"
    for line in _largest(plain, "graph_turn.added", library="chromadb"):
        yield "what memory adds to a turn of a graph", line["ratio"], 3, "upserts of two rows"
    for line in select(lines, "import", call="import langgraph_memory")[-1:]:
        yield "import langgraph_memory", line["median_ms"], 100, "ms"


def _largest(lines: Lines, name: str, owner: int | None = None, **facts: Any) -> Lines:
    """Return the line from the largest collection, if there is any."""
    if owner is not None:
        facts["owner_records"] = owner
    return sorted(select(lines, name, **facts), key=lambda line: line["records"])[-1:]


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"


def _cell(line: dict[str, Any]) -> str:
    times = _short(line["median_ms"])
    if "calls_per_s" in line:
        times = f"{line['calls_per_s']:,.0f} calls/s"
    elif line["n"] > 1:
        times += f" / {_short(line['p95_ms'])}"
    return f"{times} ({_short(1 / line['ratio'])}x)" if "ratio" in line else times


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
