"""The map in CONTRIBUTING.md, by which a newcomer finds the way."""

from __future__ import annotations

import re
from pathlib import Path

import langgraph_memory

MAP = Path(__file__).parents[2] / "CONTRIBUTING.md"
PACKAGE = Path(langgraph_memory.__file__).parent


def test_the_map_shows_every_module() -> None:
    drawn = set(re.findall(r"\w+", MAP.read_text("utf-8").split("```text")[1].split("```")[0]))
    files = [*PACKAGE.glob("*.py"), *PACKAGE.glob("store/*.py"), *PACKAGE.glob("verbs/*.py")]
    assert {file.stem for file in files} - {"__init__"} - drawn == set()
