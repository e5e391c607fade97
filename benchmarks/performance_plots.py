"""How the cost of a search grows, as plots: with records, with users, and with records per user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.performance_tables import Lines, select

SMALL_OWNER = 100
USUAL_OWNER = 1_000
FEW_RECORDS = 10_000

_LOOKS = {
    "Memory.recall": ("Memory.recall", "#0b6e4f", "o"),
    "ChromaStore.search": ("ChromaStore.search", "#6bbf59", "o"),
    "InMemoryStore.search": ("LangGraph InMemoryStore", "#7a7a7a", "v"),
    "query, where user": ("Chroma, where user", "#3366cc", "s"),
    "similarity_search, filter user": ("langchain-chroma", "#e08e0b", "^"),
    "Memory.search, filters user_id": ("mem0 on Chroma", "#c0392b", "D"),
}


@dataclass(frozen=True)
class Plot:
    """A curve for each library: the median of a warm search while one thing grows."""

    name: str
    title: str
    across: str
    """The fact of a line that grows."""
    label: str
    lines: Lines

    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """Return the points of each call, by what grows; of several at one place the last."""
        points: dict[str, dict[int, float]] = {}
        for line in self.lines:
            points.setdefault(line["call"], {})[line[self.across]] = line["median_ms"]
        return {call: sorted(found.items()) for call, found in points.items()}


def plots(lines: Lines) -> list[Plot]:
    """Choose from all lines what shows how the cost grows."""
    warm = select(lines, "recall.warm", threads=1, embedding=False)
    most = max(
        (line["records"] for line in warm if line["owner_records"] == SMALL_OWNER), default=0
    )
    found = [
        Plot(
            "records",
            f"An owner with {SMALL_OWNER} records",
            "records",
            "records in the collection",
            select(warm, owner_records=SMALL_OWNER),
        ),
        Plot(
            "users",
            f"An owner with {USUAL_OWNER:,} of {FEW_RECORDS:,} records",
            "users",
            "users in the collection",
            select(warm, records=FEW_RECORDS, owner_records=USUAL_OWNER),
        ),
        Plot(
            "owner",
            f"A collection of {most:,} records or more",
            "owner_records",
            "records of the owner who is searched",
            [line for line in warm if line["records"] >= most],
        ),
    ]
    return [plot for plot in found if plot.lines]


def draw(plot: Plot, path: Path) -> None:
    """Write a plot as SVG."""
    with svg(path, plot.title) as axes:
        curves = plot.curves()
        for call, (label, color, marker) in _LOOKS.items():
            if points := curves.get(call):
                across, medians = zip(*points, strict=True)
                axes.plot(across, medians, label=label, color=color, marker=marker)
        axes.set(xscale="log", yscale="log", xlabel=plot.label)
        axes.set_ylabel("median, ms")
        _say_numbers(axes.xaxis, sorted({place for found in curves.values() for place, _ in found}))
        axes.yaxis.set_major_formatter("{x:g}")


@contextmanager
def svg(path: Path, title: str) -> Iterator[Any]:
    """Give axes to draw on, and write them as SVG: the same points give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Text stays text, which keeps the file small; ids would be random.
    with rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        yield axes
        axes.set(title=title)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right center", frameon=False)
        figure.savefig(path, metadata={"Date": None})


def _say_numbers(axis: Any, places: Sequence[int]) -> None:
    axis.set_ticks(places, [f"{place:,}" for place in places])
    axis.set_ticks([], minor=True)
