"""The figures of the page of recall, from lines that were never measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import floor, languages, life, locomo, retrieval
from benchmarks.retrieval import PAGE, RUNS
from benchmarks.retrieval_tables import languages_table, life_tables, locomo_tables

Lines = list[dict[str, Any]]

WHOLE = {"conversation": "all", "category": "all"}


def found(share: float, **facts: Any) -> dict[str, Any]:
    scores = dict.fromkeys(("R@5", "R@10", "R@20"), share)
    return {"name": "locomo", **WHOLE, **scores, "questions": 9, "tokens": 100, **facts}


def contender(name: str, call: str, share: float) -> Lines:
    who = {"contender": name, "library": name, "call": call}
    return [found(share, **who), found(share / 2, **who, category="multi-hop")]


def month(held: float, contender: str = "ours", budget: Any = 1_000, **facts: Any) -> Lines:
    of = {"language": "en", "half": "b", "mode": "messages", "crowd": 300, "notes": 0, **facts}
    who = {"name": "life", "contender": contender, "budget": budget, **of}
    days = {"all": held, "1-10": held + 0.01, "11-20": held, "21-30": held - 0.01}
    return [{**who, "days": each, "held": share} for each, share in days.items()]


@pytest.fixture
def lines() -> Lines:
    refused = {"other people's": 0.65, "nonsense": 1.0}
    at_floor = {"questions": 9, "lost": 0.03, "recall": 0.7, "refused": refused}
    of_messages = {"type": "message", "set": "LoCoMo", **at_floor}
    block = {"evidence": 0.9, "answer_words": 0.8, "nothing": 0.0, "tokens": 940.0}
    of_set = {"name": "language", "language": "zh", "questions": 4}
    return [
        {"name": "machine", "python": "3.11", "versions": {"a": "1"}},
        *month(0.95),
        *month(0.31, "langchain-chroma", "equal"),
        *month(0.99, half="a"),
        *month(0.97, mode="notes", notes=40),
        {"name": "life.other", "language": "en", "half": "b", "mode": "messages", "crowd": 300}
        | {"notes": 0, "nothing": 0.86, "offtopic_tokens": 410.0},
        *contender("bm25", "BM25", 0.7),
        *contender("ours", "Memory.recall", 0.8),
        {"name": "missing", "contender": "mem0", "error": "not installed"},
        {"name": "locomo.block", "category": "all", "questions": 9, **block},
        *(
            {**of_set, "embedder": embedder, "call": call, "half": half}
            | {"hit@1": 0.5, "hit@3": 1}
            for half in (None, "a", "b")
            for embedder, call in (("default", "Memory.recall"), ("e5", "Memory.recall"))
        ),
        {"name": "followup", "query": "it", "language": "zh", "questions": 4}
        | {"embedder": "default", "hit@1": 0.5, "hit@3": 0.75},
        {"name": "floor.threshold", "floor": 0.615, **of_messages},
        {"name": "floor.default", **of_messages},
    ]


def test_months_stand_beside_those_of_peers(lines: Lines) -> None:
    beside, by_days, others = life_tables([line for line in lines if line.get("half") == "b"])
    assert "| messages, 300 other turns | .950 / .310 |" in beside
    assert "| messages, 300 other turns | .960 / .940 |" in by_days
    assert "| 40 notes | .980 / .960 |" in by_days
    assert "| messages, 300 other turns | .860; 410 |" in others


def test_contenders_stand_by_what_they_find(lines: Lines) -> None:
    block, whole, missing = locomo_tables(lines)
    assert "| all | 9 | .900 | .800 | .000 | 940 |" in block
    assert "| Memory.recall | .800 | .800 | .800 | .400 | 100 |" in whole.splitlines()[2]
    assert "| BM25 |" in whole.splitlines()[3]
    assert missing == "mem0 is left out: not installed"


def test_sets_stand_by_halves_and_embedders(lines: Lines) -> None:
    head, _, *rows = languages_table(lines).splitlines()
    assert head == "| set | questions | Memory.recall | Memory.recall, `e5` |"
    assert rows[0] == "| zh | 4 | .500 / 1.000 | .500 / 1.000 |"
    assert [row.split(" | ")[0] for row in rows[1:]] == ["| zh, half a", "| zh, half b"]


def test_the_page_keeps_its_text_and_gets_the_same_figures_again(
    lines: Lines, tmp_path: Path
) -> None:
    page, run = tmp_path / "page.md", tmp_path / "run.jsonl"
    page.write_text("before\n<!-- generated: figures -->\nolder\n<!-- end: figures -->\nafter\n")
    run.write_text("\n".join(map(json.dumps, lines)))
    written = []
    for _ in range(2):
        retrieval.main([str(run), "--page", str(page)])
        written.append(page.read_text())
    assert written[0] == written[1]
    text = written[0]
    assert (text.startswith("before\n"), text.endswith("after\n")) == (True, True)
    assert "older" not in text
    assert ".990" not in text  # half a is to choose with
    assert "| messages: LoCoMo (9) | .61, 3 % lost | .030 | .650 | 1.000 |" in text


def test_figures_need_lines_or_data(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        retrieval.main([])
    assert "expected either --data, or files" in capsys.readouterr().err


def test_every_run_is_one_that_its_benchmark_takes(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text("[]")
    modules = {"life": life, "locomo": locomo, "languages": languages, "floor": floor}
    for command in RUNS.values():
        name, *options = (each.format(data=data) for each in command.split())
        modules[name]._options(options)


def test_the_page_has_a_place_for_figures() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split("<!-- generated: figures -->\n")
    figures, after = rest.split("<!-- end: figures -->\n")
    assert before
    assert figures
    assert after
