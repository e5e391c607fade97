"""The map in CONTRIBUTING.md, by which a newcomer finds the way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import langgraph_memory

MAP = Path(__file__).parents[2] / "CONTRIBUTING.md"
PACKAGE = Path(langgraph_memory.__file__).parent
NAME = re.compile(r"(?:^|  |► |, )(\w+)(?=$|  |,)")

FILES = {
    ".".join(file.relative_to(PACKAGE).with_suffix("").parts): file
    for folder in (".", "cli", "redaction", "store", "verbs")
    for file in PACKAGE.joinpath(folder).glob("*.py")
    if not file.stem.startswith("__")
}


def drawn() -> dict[str, int]:
    """Return the line on which each module is drawn."""
    places: dict[str, int] = {}
    folder = ""
    text = MAP.read_text("utf-8").split("```text\n")[1].split("```")[0]
    for number, line in enumerate(text.splitlines()):
        if begun := re.search(r"► (\w+)/", line):
            folder = f"{begun[1]}."
        elif "►" in line or "▼" in line:
            folder = ""
        for name in NAME.findall(line):
            places.setdefault(f"{folder}{name}", number)
    return places


def imported(module: str) -> Iterator[str]:
    """Yield the modules that one needs in order to be imported itself."""
    for node in ast.parse(FILES[module].read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in (node.module, *names):
                if (inner := name.removeprefix("langgraph_memory.")) in FILES:
                    yield inner


def test_the_map_shows_every_module() -> None:
    assert FILES.keys() - drawn().keys() == set()


def test_a_module_imports_only_what_stands_below_it_or_in_its_own_folder() -> None:
    places = drawn()
    upwards = {
        f"{module} -> {other}"
        for module in FILES
        for other in imported(module)
        if places[other] < places[module]
        and not ("." in module and module.split(".")[0] == other.split(".")[0])
    }
    assert upwards == set()
