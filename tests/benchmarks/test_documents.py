"""The benchmark of documents, on a small one."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import documents


@pytest.mark.slow
def test_it_times_adding_and_replacing_beside_langchain_chroma(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["documents", "--chunks", "20"])
    documents.main()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["what"] for line in lines] == [
        "add",
        "add again",
        "replace",
        "langchain-chroma add_texts",
    ]
    assert all(line["seconds"] >= 0 for line in lines)
