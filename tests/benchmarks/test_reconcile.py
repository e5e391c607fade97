"""The figures about comparing notes: those in the documentation are those that are measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import reconcile
from benchmarks.reconcile import Pair, decisions, labelled_pairs, merges, note, tables
from langgraph_memory.models.embedder import Embedder
from langgraph_memory.notes.similarity import ASK_EMBEDDED

PAGE = Path(__file__).parents[2] / "docs" / "writing.md"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


@pytest.mark.slow
def test_the_page_has_the_tables_of_a_run(embedder: Embedder) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [table for table in tables(embedder) if table not in page] == []


@pytest.mark.parametrize(("slots", "found"), [(False, 0.9), (True, 0.97)], ids=["bare", "slots"])
def test_nothing_is_merged_wrongly_and_hardly_anything_to_find_is_apart(
    embedder: Embedder, slots: bool, found: float
) -> None:
    pairs = labelled_pairs(embedder, slots)
    for half in "ab":
        line = decisions([pair for pair in pairs if pair.half == half], ASK_EMBEDDED)
        assert line["same_precision"] == 1
        assert line["wrongly_merged"] == {}
        assert line["without_model"]["wrongly_merged"] == 0
        assert line["found"] >= found


def pair(old: str, new: str, cosine: float, relation: str, slot: str | None = None) -> Pair:
    return Pair(note(old, slot), note(new, slot), cosine, relation, "en", "a")


def test_decisions_are_counted_against_the_labels() -> None:
    pairs = [
        pair("Drinks tea", "drinks tea.", 0.9, "same"),
        pair("Drinks tea", "Tea it is", 0.8, "same"),
        pair("Has a cat", "has a cat", 0.9, "unrelated"),
        pair("In Graz", "In Linz", 0.1, "update", slot="home city"),
        pair("In Graz", "In Linz", 0.1, "contradiction"),
        pair("Has a dog", "Has a cat", 0.9, "additive"),
    ]
    line = decisions(pairs, ASK_EMBEDDED)
    assert line["judged"]["same"] == {"same": 1, "ask": 1, "apart": 0}
    assert (line["same_precision"], line["same_recall"]) == (0.5, 0.5)
    assert line["wrongly_merged"] == {"unrelated": 1}
    assert (line["found"], line["in_vain"]) == (0.75, 0.5)
    assert line["without_model"] == {"wrongly_merged": 1, "duplicates": 1, "outdated": 1}
    assert merges([], pairs)["same_precision"] is None


def test_the_command_prints_a_json_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    reconcile.main(["--embed", "hashing", "--half", "a"])
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in capsys.readouterr().out.splitlines()
    ]
    assert {line["name"] for line in lines} == {
        "band",
        "decisions",
        "cosine",
        "guarded",
        "ask_from",
        "memory",
    }
    assert {line["half"] for line in lines if "half" in line} == {"a"}
    measured = {(line["language"], line["slots"]) for line in lines if line["name"] == "decisions"}
    assert measured == {
        (language, slots) for language in ("en", "zh", "mixed", "all") for slots in (False, True)
    }
