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
from tests.graph.graphs import AGAIN, ORDER, said, tasks

ROOT = Path(__file__).parents[2]
KINDS = ("nodes", "with_memory", "middleware")
TO_CONFIRM = "Two kilos of Sidamo for a French press, please confirm."


def in_a_process(path: Path, *steps: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return what came of the steps in one process, for each shape of an agent."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.graph.customer", str(path), *KINDS],
        input="\n".join(json.dumps(step) for step in steps),
        cwd=ROOT,
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {kind: [step for step in told if step["shape"] == kind] for kind in KINDS}


@pytest.mark.slow
def test_a_second_process_knows_what_was_said_and_goes_on_with_what_was_begun(
    tmp_path: Path,
) -> None:
    """With the embedded default, warnings as errors, and LangGraph's strict deserialisation."""
    before = in_a_process(
        tmp_path,
        {"user": "ana", "thread": "monday", "text": ORDER},
        {"user": "cleo", "thread": "order", "text": TO_CONFIRM},
    )
    after = in_a_process(
        tmp_path,
        {"user": "ana", "thread": "tuesday", "text": AGAIN},
        {"user": "bo", "thread": "wednesday", "text": AGAIN},
        {"user": "cleo", "thread": "order", "resume": "yes"},
        {"user": "cleo", "thread": "later", "text": AGAIN},
    )
    for kind in KINDS:
        first, begun = before[kind]
        assert "Colombia" not in first["answer"], kind
        assert begun["waiting"], kind
        known, other, confirmed, later = after[kind]
        assert ORDER in known["answer"], kind
        assert "Colombia" not in other["answer"], kind
        assert "Sidamo" not in other["answer"], kind
        assert not confirmed["waiting"], kind
        assert TO_CONFIRM in later["answer"], kind
        with Memory(ChromaStore(tmp_path / kind)) as memory:
            assert said(memory, "cleo")[0] == f"user: {TO_CONFIRM}"
            assert len(said(memory, "cleo")) == 4
            assert tasks(memory, "cleo") == [TO_CONFIRM, AGAIN]
            assert len(said(memory, "ana")) == 4
            assert said(memory, "bo")[0] == f"user: {AGAIN}"
            assert len(said(memory, "bo")) == 2
