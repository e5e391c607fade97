"""The measurement of turns in long threads: each way of adding memory beside the graph without."""

from __future__ import annotations

import json

import pytest

from benchmarks import threads


@pytest.mark.slow
def test_each_way_has_a_line_beside_the_same_graph_without_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    threads.main(["--messages", "2", "6", "--turns", "1"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    measured = {(line["way"], line["messages"], line["async"]) for line in lines}
    assert len(measured) == len(lines) == len(threads.WAYS) * 2 * 2
    assert {line["way"] for line in lines if "growth" in line} == {*threads.WITHOUT}
    assert all(line["cpu_ms"] > 0 and line["first_ms"] > 0 for line in lines)
