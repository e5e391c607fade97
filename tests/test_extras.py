"""What needs an extra says which, in an environment that has the core alone."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = ("mcp", "mcp_types", "psycopg", "psycopg_pool")
CORE_ALONE = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"


def run_with_core_alone(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CORE_ALONE + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_mcp_server_names_its_extra() -> None:
    done = run_with_core_alone("import langgraph_memory.mcp_server")
    assert done.returncode == 1
    assert "pip install 'langgraph-memory-chroma[mcp]'" in done.stderr


def test_sessions_in_postgres_name_theirs() -> None:
    done = run_with_core_alone(
        "from langgraph_memory import open_sessions; open_sessions('postgresql://me:hunter2@h/db')"
    )
    assert done.returncode == 1
    assert "pip install 'langgraph-memory-chroma[postgres]'" in done.stderr


@pytest.mark.parametrize("options", [["--user", "ana"], ["--http", "127.0.0.1:0"]])
def test_the_command_names_it_in_one_sentence(options: list[str], tmp_path: Path) -> None:
    arguments = ["mcp", "--path", str(tmp_path / "memory"), *options]
    code = f"from langgraph_memory.cli.__main__ import main; sys.exit(main({arguments!r}))"
    done = run_with_core_alone(code)
    assert done.returncode == 1
    assert done.stderr.startswith("langgraph-memory: the MCP server needs the extra mcp")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "memory").exists()
