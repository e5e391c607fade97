"""The rooms in CONTRIBUTING.md, by which a newcomer finds the way."""

from __future__ import annotations

import re
from pathlib import Path

import langgraph_memory

ROOT = Path(__file__).parents[2]
PACKAGE = Path(langgraph_memory.__file__).parent


def test_the_map_is_the_list_of_folders() -> None:
    drawn = re.findall(
        r"^\| `(\w+)/` \|", ROOT.joinpath("CONTRIBUTING.md").read_text("utf-8"), re.M
    )
    folders = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    assert sorted(drawn) == sorted(folders)
