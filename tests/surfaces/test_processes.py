"""One process after the other on the same folder: the second goes on where the first stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from langgraph_memory import ChromaStore, Memory
from tests.surfaces.graphs import AGAIN, ORDER, said, tasks

ROOT = Path(__file__).parents[2]
TO_CONFIRM = "Two kilos of Sidamo for a French press, please confirm."


def in_a_process(path: Path, kind: str, *steps: dict[str, str]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.surfaces.customer", str(path), kind],
        input="\n".join(json.dumps(step) for step in steps),
        cwd=ROOT,
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("kind", ["nodes", "with_memory", "middleware"])
def test_a_second_process_knows_what_was_said_and_goes_on_with_what_was_begun(
    tmp_path: Path, kind: str
) -> None:
    """With the embedded default, warnings as errors, and LangGraph's strict deserialisation."""
    first, begun = in_a_process(
        tmp_path,
        kind,
        {"user": "ana", "thread": "monday", "text": ORDER},
        {"user": "cleo", "thread": "order", "text": TO_CONFIRM},
    )
    assert "Colombia" not in first["answer"]
    assert begun["waiting"]
    known, other, confirmed, later = in_a_process(
        tmp_path,
        kind,
        {"user": "ana", "thread": "tuesday", "text": AGAIN},
        {"user": "bo", "thread": "wednesday", "text": AGAIN},
        {"user": "cleo", "thread": "order", "resume": "yes"},
        {"user": "cleo", "thread": "later", "text": AGAIN},
    )
    assert ORDER in known["answer"]
    assert "Colombia" not in other["answer"]
    assert "Sidamo" not in other["answer"]
    assert not confirmed["waiting"]
    assert TO_CONFIRM in later["answer"]
    with Memory(ChromaStore(tmp_path)) as memory:
        assert said(memory, "cleo")[0] == f"user: {TO_CONFIRM}"
        assert len(said(memory, "cleo")) == 4
        assert tasks(memory, "cleo") == [TO_CONFIRM, AGAIN]
        assert len(said(memory, "ana")) == 4
        assert said(memory, "bo")[0] == f"user: {AGAIN}"
        assert len(said(memory, "bo")) == 2
