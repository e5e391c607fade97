"""The figures about merging notes: those in the documentation are those that are measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.consolidation import Labelled, kept_apart, labelled_memories, measure, score, table
from langgraph_memory.models.embedder import Embedder
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.notes.similarity import ASK_EMBEDDED

PAGE = Path(__file__).parents[2] / "docs" / "consolidation.md"


@pytest.fixture(scope="module")
def memories(encoder: UniversalSentenceEncoder) -> list[Labelled]:
    return labelled_memories(Embedder(encoder))


@pytest.mark.slow
def test_the_page_has_the_table_of_a_run(memories: list[Labelled]) -> None:
    half = [memory for memory in memories if memory.half == "b"]
    assert table(half, ASK_EMBEDDED) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("half", ["a", "b"])
def test_the_rule_is_right_where_it_merges_and_a_model_is_asked_about_nearly_all(
    memories: list[Labelled], half: str
) -> None:
    of_half = [memory for memory in memories if memory.half == half]
    lines = {
        line["way"]: line for line in measure(of_half, ASK_EMBEDDED) if line["language"] == "all"
    }
    assert lines["rule"]["precision"] >= 0.95
    assert lines["rule"]["recall"] > 0
    assert lines["asked"]["recall"] >= 0.85
    assert lines["cosine 0.92"]["precision"] < 0.95


def test_a_score_counts_pairs_and_the_notes_that_are_left(memories: list[Labelled]) -> None:
    memory = memories[0]
    a, b, c, d, *_ = memory.notes
    small = replace(memory, notes=(a, b, c, d), groups=[[a.id, b.id], [c.id], [d.id]], best={})
    small = replace(small, best={a.id: b.id, b.id: b.id})
    assert score([small], [[[b, a]]]) == {
        "together": 1,
        "wrong": 0,
        "precision": 1.0,
        "recall": 1.0,
        "best": "1 of 1",
    }
    wrong = score([small], [[[a, b, c]]])
    assert (wrong["together"], wrong["wrong"], wrong["best"]) == (3, 2, "0 of 1")
    assert score([small], [[]])["precision"] is None


def test_general_and_narrower_notes_that_stay_two_are_counted_by_language() -> None:
    pairs = [
        {"language": "en", "general": "Has a dog", "narrower": "Has a dog called Bruno"},
        {"language": "en", "general": "Has a dog", "narrower": "The user has a dog."},
        {"language": "zh", "general": "喜欢茶", "narrower": "喜欢热茶"},
    ]
    found = {line["language"]: (line["narrower"], line["apart"]) for line in kept_apart(pairs)}
    assert found == {"en": (2, 0.5), "zh": (1, 1.0), "all": (3, 0.667)}
