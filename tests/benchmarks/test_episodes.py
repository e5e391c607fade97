"""The figures about recalled episodes: those in the documentation are those that are measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import episodes
from benchmarks.episodes import FLOORS, WEIGHTS, Logs, Task, answers, answers_table, score, tasks_of
from langgraph_memory import UniversalSentenceEncoder

PAGE = Path(__file__).parents[2] / "docs" / "episodes.md"


@pytest.mark.slow
def test_the_page_has_the_table_of_a_run(encoder: UniversalSentenceEncoder) -> None:
    logs = Logs(encoder)
    with logs.memory:
        table = answers_table(answers(logs, tasks_of("b")))
    assert table in PAGE.read_text(encoding="utf-8")


def task(*relevant: str) -> Task:
    return Task("code", "en", "Ship it", relevant, "a")


def test_answers_are_counted_against_the_labels() -> None:
    found = [
        (task("e1"), ["e1", "e2"]),
        (task("e1", "e3"), ["e2", "e4", "e3"]),
        (task("e1"), ["e2", "e3", "e4"]),
        (task("e1"), []),
        (task(), []),
        (task(), ["e2"]),
    ]
    assert score(found) == {"tasks": 4, "hit@1": 0.25, "hit@3": 0.5, "refused": 1, "of": 2}
    assert score([]) == {"tasks": 0, "hit@1": None, "hit@3": None, "refused": 0, "of": 0}


@pytest.mark.slow
def test_the_command_prints_a_json_object_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tasks_of("a")[:6]
    monkeypatch.setattr(episodes, "tasks_of", lambda half: few)
    episodes.main(["--embed", "hashing", "--half", "a"])
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in capsys.readouterr().out.splitlines()
    ]
    assert {line["half"] for line in lines} == {"a"}
    languages = {(line["name"], line.get("text"), line.get("language")) for line in lines}
    for name, text in (("recall_episodes", None), ("dense", "whole"), ("dense", "task")):
        for language in ("en", "zh", "mixed", "all"):
            assert (name, text, language) in languages
    names = ("lexical", "floor")
    values = {name: [line["value"] for line in lines if line["name"] == name] for name in names}
    assert values == {"lexical": list(WEIGHTS), "floor": list(FLOORS)}
    refused = [line["offtopic_refused"] for line in lines if line["name"] == "floor"]
    assert refused == sorted(refused)
