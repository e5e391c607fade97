"""What is found, and what is refused, as plots."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.locomo_data import CATEGORIES
from benchmarks.performance_plots import svg
from benchmarks.performance_tables import Lines, select

_LOOKS = {
    "ours": ("Memory.recall", "#0b6e4f", "o"),
    "bm25": ("BM25 alone", "#6bbf59", "s"),
    "langgraph": ("LangGraph InMemoryStore", "#7a7a7a", "v"),
    "langgraph-dated": ("... with dates", "#3366cc", "v"),
    "langchain-chroma": ("langchain-chroma", "#e08e0b", "^"),
    "langmem": ("langmem", "#8e44ad", "P"),
    "mem0": ("mem0 on Chroma", "#c0392b", "D"),
}
_SHADES = ("#3366cc", "#6bbf59", "#e08e0b", "#7a7a7a", "#8e44ad")


@dataclass(frozen=True)
class Plot:
    """A picture of some lines."""

    name: str
    title: str
    lines: Lines
    draw_on: Callable[[Any, Lines], None]

    def draw(self, path: Path) -> None:
        """Write it as SVG."""
        with svg(path, self.title) as axes:
            self.draw_on(axes, self.lines)


def locomo_plots(lines: Lines) -> list[Plot]:
    """Return what shows which messages are found."""
    measured = select(lines, "locomo", conversation="all", captions=True)
    plots = [
        Plot("recall-depth", "Evidence among the first messages", measured, _depths),
        Plot("recall-categories", "Evidence among the first ten messages", measured, _categories),
    ]
    return [plot for plot in plots if plot.lines]


def floor_plots(lines: Lines) -> list[Plot]:
    """Return what shows which questions are refused: a plot for each type and set."""
    curves = select(lines, "floor.curve")
    sets = dict.fromkeys((line["type"], line["set"]) for line in curves)
    return [
        Plot(
            re.sub(r"\W+", "-", f"floor {type}s {name}").casefold(),
            f"{type.capitalize()}s: {name}",
            select(curves, type=type, set=name),
            _floors,
        )
        for type, name in sets
    ]


def _depths(axes: Any, lines: Lines) -> None:
    for name, (label, color, marker) in _LOOKS.items():
        for line in select(lines, category="all", contender=name):
            depths = range(1, len(line["curve"]) + 1)
            axes.plot(depths, line["curve"], label=label, color=color, marker=marker, markersize=4)
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set(xlabel="messages", ylabel="recall of the evidence", ylim=(0, 1))


def _categories(axes: Any, lines: Lines) -> None:
    shown = [name for name in _LOOKS if select(lines, contender=name)]
    width = 0.8 / max(len(shown), 1)
    places = range(len(CATEGORIES))
    for number, name in enumerate(shown):
        label, color, _ = _LOOKS[name]
        of_category = (select(lines, contender=name, category=c) for c in CATEGORIES.values())
        heights = [found[0]["R@10"] if found else None for found in of_category]
        beside = [place + (number - (len(shown) - 1) / 2) * width for place in places]
        bars = [(x, y) for x, y in zip(beside, heights, strict=True) if y is not None]
        axes.bar(*zip(*bars, strict=True), width=width, label=label, color=color)
    axes.set_xticks(places, list(CATEGORIES.values()))
    axes.set(ylabel="recall of the evidence", ylim=(0, 1))


def _floors(axes: Any, lines: Lines) -> None:
    floors = [line["floor"] for line in lines]
    lost = [line["lost"] for line in lines]
    axes.plot(floors, lost, label="answerable:\nevidence lost", color="#c0392b", linewidth=2.5)
    for group, color in zip(lines[0]["refused"], _SHADES, strict=False):
        refused = [line["refused"][group] for line in lines]
        axes.plot(floors, refused, label=f"{group}:\nrefused", color=color)
    axes.set(xlabel="floor", ylabel="share of the questions", ylim=(0, 1.02))
