"""Measure everything, and write docs/performance.md with its plots.

    python -m benchmarks.performance                 # all runs (under half an hour), and the page
    python -m benchmarks.performance runs/*.jsonl    # the page alone, from the lines of runs

Each run is one of `benchmarks.latency` in a process of its own. The lines are kept in
`build/performance`; what stands in the page outside of its generated part is left as it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.performance_plots import draw, plots
from benchmarks.performance_tables import LIBRARIES, Lines, comparison, select, table, targets

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"

_USERS = "--records 10000 --owner-sizes 100 1000 --measure warm --users"
RUNS = {
    "1k": "--records 1000 --owner-sizes 100 1000 --measure writes warm cold",
    "10k": "--records 10000 --owner-sizes 100 1000 --measure writes warm cold",
    "10k-10-users": f"{_USERS} 10",
    "10k-4000-users": f"{_USERS} 4000",
    "100k": "--records 100000 --owner-sizes 100 1000 10000 50000",
}
"""The command line of each run."""

_BUSY = (
    " **The machine was busy with other work: times are several times what they would be otherwise,"
    " and factors are rough.**"
)
_START, _END = "<!-- generated: figures -->\n", "<!-- end: figures -->"
_ALL = "all of them"  # the benchmark's own process
_TABLES = {
    "recall.warm": "Searching the records of one user, in memory",
    "recall.cold": "The first search of a user whose records are not in memory",
    "open": "Opening what is on disk, once",
    "recall.first": "The first search after opening, once",
    "log_turn": "Logging two messages",
    "remember": "Keeping a note",
    "put": "Writing one item",
    "put_100": "Writing 100 items in one call",
    "delete": "Deleting an item",
    "graph_turn.added": "What memory adds to a turn of a graph, beside an upsert of two rows",
    "import": "Importing `langgraph_memory`, `langgraph.graph` and `chromadb`",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure unless lines are given, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.performance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="*", type=Path, help="files with lines of benchmarks.latency")
    parser.add_argument("--page", type=Path, default=PAGE, help="what to write")
    options = parser.parse_args(arguments)
    files = options.runs or measure(ROOT / "build" / "performance")
    write(
        [json.loads(line) for file in files for line in file.read_text().splitlines()], options.page
    )


def measure(folder: Path) -> list[Path]:
    """Run everything, and return the files with the lines."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, command in RUNS.items():
        files.append(folder / f"{name}.jsonl")
        with files[-1].open("w", encoding="utf-8") as file:
            run = [sys.executable, "-m", "benchmarks.latency", *command.split()]
            subprocess.run(run, check=True, stdout=file, cwd=ROOT)
    return files


def write(lines: Lines, page: Path) -> None:
    """Write the plots, and the page's generated part."""
    folder = page.parent / "plots"
    folder.mkdir(exist_ok=True)
    for plot in plots(lines):
        draw(plot, folder / f"{plot.name}.svg")
    before, rest = page.read_text(encoding="utf-8").split(_START)
    _, after = rest.split(_END)
    figures = "\n\n".join(_sections(lines))
    page.write_text(f"{before}{_START}{figures}\n{_END}{after}", encoding="utf-8")


def _sections(lines: Lines) -> Iterator[str]:
    yield _machine(lines)
    yield f"## Targets\n\nIn the largest collection that was measured.\n\n{targets(lines)}"
    yield "## How a search grows"
    for plot in plots(lines):
        yield f"![{plot.title}: the median of a search, by {plot.label}](plots/{plot.name}.svg)"
    yield "## All figures"
    for name, title in _TABLES.items():
        if select(lines, name):
            yield f"### {title}\n\n{comparison(lines, name)}"
    yield f"### Peak memory of a process that opens it and searches 8 users\n\n{_memory(lines)}"


def _machine(lines: Lines) -> str:
    machines = select(lines, "machine")
    first = machines[0]
    load = ", ".join(f"{machine['load'] or 0.0:.1f}" for machine in machines)
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    commands = [" ".join(line["arguments"]) for line in select(lines, "run")]
    busy = max(machine["load"] or 0.0 for machine in machines) > first["cores"]
    return (
        f"{first['system']}, {first['cores']} cores, Python {first['python']}, {versions}. "
        f"Load average when each run began: {load}.{_BUSY if busy else ''}\n\n```bash\n"
        + "\n".join(f"python -m benchmarks.latency {command}" for command in commands)
        + "\n```"
    )


def _memory(lines: Lines) -> str:
    found = select(lines, "memory.reader")
    libraries = [each for each in LIBRARIES if select(found, library=each)]
    rows = []
    for records in sorted({line["records"] for line in found}):
        peaks = select(lines, "memory.peak", records=records)[:1]
        megabytes = {
            line["library"]: f"{line['megabytes']:,.0f} MB"
            for line in (*select(found, records=records), *peaks)
        }
        rows.append([f"{records:,}", *(megabytes.get(each, "") for each in (*libraries, _ALL))])
    return table(["records", *libraries, _ALL], rows)


if __name__ == "__main__":
    main()
