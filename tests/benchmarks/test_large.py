"""The benchmark of what is too large for memory, on a namespace that is not."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import large


@pytest.mark.slow
def test_it_tells_how_near_each_kind_of_search_comes_to_brute_force(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "QUESTIONS", 3)
    monkeypatch.setattr(sys, "argv", ["large", "--records", "1200"])
    large.main()
    lines = {line["name"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert lines.keys() == large.SEARCHES.keys()
    assert not lines["one namespace"]["exact"]
    assert lines["a filter that 1 in 1,000 meets"]["exact"]
    assert all(line["recall"] > 0.9 for line in lines.values())
