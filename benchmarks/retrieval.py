"""Measure how well is recalled, and write docs/retrieval.md with its plots.

    python -m benchmarks.retrieval --data locomo10.json       # all runs, ten minutes, and the page
    python -m benchmarks.retrieval build/retrieval/*.jsonl     # the page alone, from lines of runs

Each run is `benchmarks.locomo`, `benchmarks.languages` or `benchmarks.floor` in a process of its
own. The lines are kept in `build/retrieval`; what stands in the page outside of its generated part
is left as it is. LoCoMo's data is not in this repository (`benchmarks/locomo_data.py`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.performance_tables import Lines, select, table
from benchmarks.retrieval_plots import Plot, floor_plots, locomo_plots
from benchmarks.retrieval_tables import (
    floor_tables,
    followups_table,
    languages_table,
    locomo_tables,
    share,
)

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "retrieval.md"

RUNS = {
    "locomo": "locomo --data {data} --cross-validate",
    "locomo-text": "locomo --data {data} --no-captions --only ours bm25 --cross-validate",
    "languages": "languages",
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
    """Write the plots, and the page's generated part."""
    folder = page.parent / "plots"
    folder.mkdir(exist_ok=True)
    for plot in (*locomo_plots(lines), *floor_plots(lines)):
        plot.draw(folder / f"{plot.name}.svg")
    before, rest = page.read_text(encoding="utf-8").split(_START)
    _, after = rest.split(_END)
    figures = "\n\n".join(_sections(lines))
    page.write_text(f"{before}{_START}{figures}\n{_END}{after}", encoding="utf-8")


def _sections(lines: Lines) -> Iterator[str]:
    machine = select(lines, "machine")[0]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    embedders = {line["embedder"] for line in lines if "embedder" in line}
    yield f"Embedder: {', '.join(sorted(embedders))}. Python {machine['python']}, {versions}."
    yield f"### Targets\n\n{targets(lines)}"
    yield "### LoCoMo, pictures with their captions"
    yield from map(_picture, locomo_plots(lines))
    yield from locomo_tables([line for line in lines if line.get("captions", True)])
    if without := [line for line in lines if line.get("captions") is False]:
        yield "### LoCoMo, without captions"
        yield from locomo_tables(without)
    yield f"### Languages\n\n{languages_table(lines)}"
    yield f"### Follow-ups\n\n{followups_table(lines)}"
    yield "### Floors"
    yield from map(_picture, floor_plots(lines))
    yield from floor_tables(lines)


def _picture(plot: Plot) -> str:
    return f"![{plot.title}](plots/{plot.name}.svg)"


def targets(lines: Lines) -> str:
    """Return a table of what is aimed at, and what was measured."""
    rows = [
        [what, f"{'+' if is_margin else ''}{share(aim)}", share(got), _met(got, aim)]
        for what, aim, got, is_margin in _targets(lines)
    ]
    return table(["what", "aimed at", "measured", "met"], rows)


def _targets(lines: Lines) -> Iterator[tuple[str, float, float, bool]]:
    """Yield what is measured, what is aimed at, how much it is, and whether it is a difference."""
    whole = {"conversation": "all", "category": "all"}
    for line in select(lines, "cross-validated", **whole):
        pictures = "with captions" if line["captions"] else "without captions"
        what = f"R@10, weights chosen on other conversations, {pictures}"
        yield f"{what} (at least)", 0.745, line["R@10"], False
        yield what, 0.78, line["R@10"], False
    recalls = {
        line["contender"]: line["R@10"] for line in select(lines, "locomo", captions=True, **whole)
    }
    ours, _ = recalls.pop("ours", None), recalls.pop("bm25", None)
    if ours is not None and recalls:
        best = max(recalls, key=lambda name: recalls[name])
        yield f"R@10 above the best of the peers ({best})", 0.25, ours - recalls[best], True
    for name, asked in (("zh", "in other words than theirs"), ("zh_everyday", "as people ask")):
        for line in select(lines, "language", call="Memory.recall", language=name):
            yield f"Chinese notes, asked {asked} (`{name}`), hit@1", 0.85, line["hit@1"], False
            yield f"Chinese notes, asked {asked} (`{name}`), hit@3", 0.95, line["hit@3"], False
    for line in select(lines, "floor.threshold", type="message"):
        refused = line["left_out"]["refused"]
        for group in ("other people's", "everyday en", "everyday zh", "nonsense"):
            if group in refused:
                aim = 1.0 if group == "nonsense" else 0.9
                yield f"{group} questions refused at 3 % lost", aim, refused[group], False


def _met(measured: float, aim: float) -> str:
    return "yes" if round(measured, 3) >= aim else "**no**"


if __name__ == "__main__":
    main()
