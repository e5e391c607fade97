"""Measure what a model is given to read, and write the figures of docs/retrieval.md.

    python -m benchmarks.retrieval --data locomo10.json       # all runs, half an hour, and the page
    python -m benchmarks.retrieval build/retrieval/*.jsonl     # the page alone, from lines of runs

Each run is a benchmark in a process of its own. The lines are kept in `build/retrieval`; what
stands in the page outside of its generated part is left as it is. LoCoMo's data is not in this
repository (`benchmarks/locomo_data.py`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.performance_tables import Lines, select
from benchmarks.retrieval_tables import (
    floor_table,
    followups_table,
    languages_table,
    life_tables,
    locomo_tables,
)

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "retrieval.md"

RUNS = {
    "life": "life --half b --notes 40 500",
    "locomo": "locomo --data {data}",
    "languages": "languages",
    "languages-e5": "languages --embed e5",
    "floor": "floor --data {data}",
}
"""The command line of each run."""

_START, _END = "<!-- generated: figures -->\n", "<!-- end: figures -->"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure unless lines are given, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.retrieval",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("runs", nargs="*", type=Path, help="files with lines of the benchmarks")
    add("--data", type=Path, help="a JSON file in LoCoMo's format, to measure")
    add("--page", type=Path, default=PAGE, help="what to write")
    options = parser.parse_args(arguments)
    if bool(options.runs) == bool(options.data):
        parser.error("expected either --data, or files with the lines of runs")
    files = options.runs or measure(options.data.resolve(), ROOT / "build" / "retrieval")
    write(
        [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()],
        options.page,
    )


def measure(data: Path, folder: Path) -> list[Path]:
    """Run everything, and return the files with the lines."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, command in RUNS.items():
        files.append(folder / f"{name}.jsonl")
        module, *options = (each.format(data=data) for each in command.split())
        with files[-1].open("w", encoding="utf-8") as file:
            run = [sys.executable, "-m", f"benchmarks.{module}", *options]
            subprocess.run(run, check=True, stdout=file, cwd=ROOT)
    return files


def write(lines: Lines, page: Path) -> None:
    """Write the page's generated part."""
    before, rest = page.read_text(encoding="utf-8").split(_START)
    _, after = rest.split(_END)
    figures = "\n\n".join(_sections(lines))
    page.write_text(f"{before}{_START}{figures}\n{_END}{after}", encoding="utf-8")


def _sections(lines: Lines) -> Iterator[str]:
    machine = select(lines, "machine")[0]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    yield f"Python {machine['python']}, {versions}."
    yield "### A month"
    yield from life_tables(select(lines, half="b"))
    yield "### LoCoMo"
    yield from locomo_tables(lines)
    chosen = [line for line in lines if line.get("half") != "a"]
    own = select(lines, embedder="default")
    yield f"### Notes\n\n{languages_table(chosen)}\n\n{followups_table(own)}"
    yield f"### Floors\n\n{floor_table(lines)}"


if __name__ == "__main__":
    main()
