"""The page of the figures of recall, from lines that were never measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import floor, languages, locomo, retrieval
from benchmarks.retrieval import PAGE, RUNS, targets
from benchmarks.retrieval_tables import locomo_tables

Lines = list[dict[str, Any]]

WHOLE = {"conversation": "all", "category": "all"}


def found(share: float, **facts: Any) -> dict[str, Any]:
    scores = dict.fromkeys(("R@5", "R@10", "R@20", "all@10", "hit@10", "MRR"), share)
    extra = {"questions": 9, "tokens": 100, "lowest": share - 0.1, "highest": share + 0.1}
    facts = {"captions": True, "embedder": "default", **facts}
    return {"name": "locomo", **WHOLE, **scores, **extra, "curve": [share] * 20, **facts}


def contender(name: str, call: str, share: float) -> Lines:
    who = {"contender": name, "library": name, "call": call}
    return [
        found(share, **who),
        found(share / 2, **who, category="multi-hop"),
        found(share, **who, conversation="boat"),
    ]


@pytest.fixture
def lines() -> Lines:
    weights = {"lexical": 0.1, "dense": 1.5}
    refused = {"other people's": 0.65, "nonsense": 1.0}
    at_floor = {"questions": 9, "lost": 0.03, "recall": 0.7, "recall_without": 0.8}
    of_messages = {"type": "message", "set": "LoCoMo", **at_floor, "refused": refused}
    return [
        {"name": "machine", "python": "3.11", "versions": {"a": "1"}},
        *contender("ours", "Memory.recall", 0.8),
        *contender("langgraph", "InMemoryStore.search", 0.4),
        *contender("bm25", "BM25", 0.7),
        {"name": "missing", "contender": "mem0", "error": "not installed"},
        found(0.76, name="cross-validated", weights=weights, conversation="boat"),
        found(0.76, name="cross-validated", weights=None),
        found(0.79, name="defaults", weights=weights),
        found(0.7, name="without", weight="dense"),
        found(0.75, captions=False, contender="ours", library="ours", call="Memory.recall"),
        *(
            {"name": "language", "call": call, "language": name, "hit@1": first, "hit@3": 0.95}
            for call in ("Memory.recall", "cosine alone")
            for name, first in (("zh", 0.5), ("zh_everyday", 0.875))
        ),
        {"name": "followup", "query": "it", "language": "zh", "questions": 4}
        | {"hit@1": 0.5, "hit@3": 0.75},
        {"name": "floor.threshold", "floor": 0.615, **of_messages}
        | {"left_out": {**at_floor, "refused": refused}},
        *({"name": "floor.curve", "floor": each, **of_messages} for each in (0.5, 0.6)),
        {"name": "floor.default", **of_messages},
    ]


def test_contenders_stand_by_what_they_find(lines: Lines) -> None:
    whole, by_category, by_conversation, weights, missing = locomo_tables(lines)
    assert [row.split(" | ")[1] for row in whole.splitlines()[2:]] == [
        "Memory.recall",
        "Memory.recall",
        "BM25",
        "InMemoryStore.search",
    ]
    assert "| .700 to .900 |" in whole
    assert by_category.splitlines()[0] == "| R@10 (questions) | multi-hop (9) | all (9) |"
    assert "| BM25 | .350 | .700 |" in by_category
    assert by_conversation.splitlines()[0] == "| R@10 (questions) | boat (9) |"
    assert "lexical 0.1, dense 1.5" in weights
    assert "without dense" in weights
    assert missing == "mem0 is left out: not installed"


def test_targets_are_judged(lines: Lines) -> None:
    rows = targets(lines)
    captioned = "R@10, weights chosen on other conversations, with captions"
    assert f"| {captioned} (at least) | .745 | .760 | yes |" in rows
    assert f"| {captioned} | .780 | .760 | **no** |" in rows
    assert "| R@10 above the best of the peers (langgraph) | +.250 | .400 | yes |" in rows
    other, everyday = (
        "Chinese notes, asked in other words than theirs (`zh`)",
        "Chinese notes, asked as people ask (`zh_everyday`)",
    )
    assert f"| {other}, hit@1 | .850 | .500 | **no** |" in rows
    assert f"| {other}, hit@3 | .950 | .950 | yes |" in rows
    assert f"| {everyday}, hit@1 | .850 | .875 | yes |" in rows
    assert "| other people's questions refused at 3 % lost | .900 | .650 | **no** |" in rows
    assert "| nonsense questions refused at 3 % lost | 1.000 | 1.000 | yes |" in rows


def test_the_page_keeps_its_text_and_gets_the_same_figures_again(
    lines: Lines, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="not installed: pip install -e '.[bench]'")
    page, run = tmp_path / "page.md", tmp_path / "run.jsonl"
    page.write_text("before\n<!-- generated: figures -->\nold\n<!-- end: figures -->\nafter\n")
    run.write_text("\n".join(map(json.dumps, lines)))
    written = []
    for _ in range(2):
        retrieval.main([str(run), "--page", str(page)])
        plots = sorted((tmp_path / "plots").iterdir())
        written.append([file.read_text() for file in (page, *plots)])
    assert written[0] == written[1]
    text = written[0][0]
    assert (text.startswith("before\n"), text.endswith("after\n")) == (True, True)
    assert "old" not in text
    names = [path.stem for path in plots]
    assert names == ["floor-messages-locomo", "recall-categories", "recall-depth"]
    assert all(f"plots/{name}.svg" in text for name in names)


def test_figures_need_lines_or_data(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        retrieval.main([])
    assert "expected either --data, or files" in capsys.readouterr().err


def test_every_run_is_one_that_its_benchmark_takes(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text("[]")
    modules = {"locomo": locomo, "languages": languages, "floor": floor}
    for command in RUNS.values():
        name, *options = (each.format(data=data) for each in command.split())
        modules[name]._options(options)


def test_the_page_has_a_place_for_figures() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split("<!-- generated: figures -->\n")
    figures, after = rest.split("<!-- end: figures -->\n")
    assert before
    assert figures
    assert after
