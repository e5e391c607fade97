"""The page of the benchmark's figures, from lines that were never measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import latency, performance
from benchmarks.latency_timing import OURS
from benchmarks.performance_plots import plots
from benchmarks.performance_tables import comparison, targets

Lines = list[dict[str, Any]]

CALLS = {OURS: "Memory.recall", "mem0": "Memory.search, filters user_id"}


def warm(records: int, owner: int, milliseconds: float, users: int = 10, **facts: Any) -> Lines:
    """Return the lines of ours and of a peer that takes ten times as long."""
    shared = {
        "name": "recall.warm",
        "records": records,
        "users": users,
        "owner_records": owner,
        "threads": 1,
        "embedding": False,
        "n": 40,
        **facts,
    }
    ours = {"library": OURS, "median_ms": milliseconds, "p95_ms": 2 * milliseconds}
    peer = {"library": "mem0", "median_ms": 10 * milliseconds, "p95_ms": 99.0, "ratio": 0.1}
    return [shared | {"call": CALLS[OURS]} | ours, shared | {"call": CALLS["mem0"]} | peer]


@pytest.fixture
def lines() -> Lines:
    machine = {"system": "Linux", "cores": 2, "load": 0.5, "python": "3.11", "versions": {"a": "1"}}
    return [
        {"name": "run", "library": OURS, "arguments": ["--records", "1000"]},
        {"name": "machine", "library": "", **machine},
        *warm(1_000, 100, 0.5),
        *warm(10_000, 100, 0.6),
        *warm(10_000, 1_000, 0.8, users=20),
        *warm(10_000, 1_000, 0.9, users=4_000),
        *warm(100_000, 100, 0.7, users=100),
        *warm(100_000, 1_000, 1.5, users=100),
        {"name": "memory.reader", "library": OURS, "records": 100_000, "megabytes": 150.2},
        {"name": "memory.peak", "library": "all of them", "records": 100_000, "megabytes": 3_000.0},
    ]


def test_a_peer_stands_beside_us_with_how_many_times_as_long_it_takes(lines: Lines) -> None:
    head, _, first, *_ = comparison(lines, "recall.warm").splitlines()
    assert head == "| records | users | the user's | langgraph_memory | mem0 |"
    assert first == "| 1,000 | 10 | 100 | 0.5 / 1 | 5 / 99 (10x) |"


def test_what_was_measured_once_has_no_percentile(lines: Lines) -> None:
    *_, row = comparison(warm(1_000, 100, 0.5, n=1), "recall.warm").splitlines()
    assert row == "| 0.5 | 5 (10x) |"


def test_targets_are_judged_in_the_largest_collection(lines: Lines) -> None:
    rows = targets(lines)
    assert "| warm recall, owner with 1,000 records | at most 1 ms | 1.5 | **no** |" in rows
    assert (
        "| warm recall beside mem0, threads: 1 | at least 20 times faster | 10 | **no** |" in rows
    )
    met = targets(warm(100_000, 1_000, 0.9))
    assert "| warm recall, owner with 1,000 records | at most 1 ms | 0.9 | yes |" in met


def test_a_plot_lets_one_thing_grow(lines: Lines) -> None:
    curves = {plot.name: plot.curves()[CALLS[OURS]] for plot in plots(lines)}
    assert curves == {
        "records": [(1_000, 0.5), (10_000, 0.6), (100_000, 0.7)],
        "users": [(20, 0.8), (4_000, 0.9)],
        "owner": [(100, 0.7), (1_000, 1.5)],
    }


def test_the_page_keeps_its_text_and_gets_the_same_figures_again(
    lines: Lines, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="not installed: pip install --group bench")
    page, run = tmp_path / "page.md", tmp_path / "run.jsonl"
    page.write_text("before\n<!-- generated: figures -->\nold\n<!-- end: figures -->\nafter\n")
    run.write_text("\n".join(map(json.dumps, lines)))
    written = []
    for _ in range(2):
        performance.main([str(run), "--page", str(page)])
        files = [page, *sorted((tmp_path / "plots").iterdir())]
        written.append([file.read_text() for file in files])
    first, again = written
    assert first == again
    assert first[0].startswith("before\n")
    assert first[0].endswith("after\n")
    assert "old" not in first[0]
    assert "| 100,000 | 150 MB | 3,000 MB |" in first[0]
    assert [name for name in ("records", "users", "owner") if f"plots/{name}.svg" in first[0]] == [
        "records",
        "users",
        "owner",
    ]
    assert "mem0 on Chroma" in first[1]


def test_the_page_says_whether_the_machine_was_busy(
    lines: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(performance, "draw", lambda plot, path: None)
    page = tmp_path / "page.md"
    for load, busy in ((0.5, False), (2.5, True)):
        page.write_text("<!-- generated: figures -->\n<!-- end: figures -->\n")
        lines[1]["load"] = load
        performance.write(lines, page)
        assert ("busy with other work" in page.read_text()) is busy


def test_every_run_is_one_that_the_benchmark_takes() -> None:
    for command in performance.RUNS.values():
        latency.options_of(command.split())
