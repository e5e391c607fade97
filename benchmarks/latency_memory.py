"""How much memory a process needs that opens what was written and searches it, library by library.

Run by the benchmark, each time in a fresh interpreter: the benchmark's own holds all libraries.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.latency_bench import QUESTIONS, Bench, close_peers, openers, our_directory
from benchmarks.latency_data import PreparedEmbeddings
from benchmarks.latency_timing import OURS
from langgraph_memory import ChromaStore, Memory

SEARCHED_USERS = 8


def measure_memory(bench: Bench) -> None:
    """Measure the peak of each library; nothing of the bench is open any more afterwards."""
    bench.store.close()
    close_peers(bench)
    users = bench.owners.ordinary[:SEARCHED_USERS]
    for library in [OURS, *bench.installed]:
        command = [sys.executable, "-m", "benchmarks.latency_memory", library, str(bench.folder)]
        root = Path(__file__).resolve().parents[1]
        done = subprocess.run([*command, *users], check=True, stdout=subprocess.PIPE, cwd=root)
        facts = {"call": f"opened, {len(users)} users searched", **json.loads(done.stdout)}
        bench.report.line("memory.reader", library, **facts)


def peak_megabytes() -> float | None:
    """Return the most memory that this process has had, where the system says so."""
    try:
        # Not `getrusage`: on Linux a child starts out with its parent's peak.
        lines = Path("/proc/self/status").read_text().splitlines()
    except FileNotFoundError:
        return _peak_of_usage()
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return round(int(peak) / 1024, 1)


def _peak_of_usage() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)


def main(library: str, folder: str, *users: str) -> None:
    """Open a library's records, search them, and print the peak."""
    embeddings = PreparedEmbeddings("hashing")
    if library == OURS:
        memory = Memory(ChromaStore(our_directory(Path(folder)), embed=embeddings))
        for user in users:
            memory.recall(QUESTIONS[0], user=user)
        memory.close()
    else:
        peer = openers(Path(folder), embeddings)[library]()
        for user in users:
            peer.search(QUESTIONS[0], user)
        peer.close()
    print(json.dumps({"megabytes": peak_megabytes()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
