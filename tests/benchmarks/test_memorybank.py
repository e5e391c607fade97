"""The benchmark of MemoryBank's people: what it reads, logs and prints, on a made-up person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import memorybank

TOLD = {
    " Ida ": {
        "history": {
            "2023-05-01": [{"query": "I bought a red kayak.", "response": "Lovely."}],
            "2023-05-03": [{"query": "It rained.", "response": "Oh dear."}],
        }
    }
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for language in memorybank.LANGUAGES:
        (tmp_path / f"{language}.json").write_text(json.dumps(TOLD), encoding="utf-8")
        asked = json.dumps({"Ida": ["Which kayak did I buy, the red kayak?"]})
        (tmp_path / f"questions_{language}.jsonl").write_text(asked, encoding="utf-8")
    return tmp_path


def test_the_command_reports_a_line_a_language(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memorybank.main(["--data", str(folder), "--embed", "hashing"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["language"], line["people"], line["questions"]) for line in lines] == [
        ("en", 1, 1),
        ("cn", 1, 1),
    ]
    assert all(line["nothing"] == 0 and line["tokens"] > 0 for line in lines)


def test_the_blocks_of_one_person_can_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--data", str(folder), "--embed", "hashing", "--language", "en", "--read", "Ida"]
    memorybank.main(argv)
    out = capsys.readouterr().out
    assert out.startswith("# Which kayak did I buy, the red kayak?")
    assert "- [2023-05-01] user: I bought a red kayak." in out
