"""The benchmark of languages: notes and follow-ups that are found, and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import languages
from benchmarks.languages import NoteMemory, NoteSet, followups, measure
from langgraph_memory.notes.proposal_filter import proposed_aliases
from langgraph_memory.redaction import no_redaction
from langgraph_memory.testing import HashingEmbeddings

NOTES = {
    "n1": "Trains for a marathon in Porto",
    "n2": "Keeps bees behind the garage",
    "n3": "Allergic to walnuts",
    "n4": "Plays the oboe on Thursdays",
}
QUESTIONS = [
    ("Who keeps bees behind a garage?", frozenset({"n2"})),
    ("Is anybody allergic to walnuts?", frozenset({"n3", "n4"})),
    ("Trains for a marathon in Porto", frozenset({"n4"})),
]
FOLLOWUPS: list[dict[str, Any]] = [
    {
        "id": "f1",
        "language": "en",
        "notes": [{"id": f"f1-{name}", "text": text} for name, text in NOTES.items()],
        "messages": [
            {"role": "user", "text": "What behind the garage do I keep, bees?"},
            {"role": "assistant", "text": "Bees."},
            {"role": "user", "text": "How many?"},
        ],
        "answers": ["f1-n2"],
    }
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One language with four notes, and one follow-up."""
    monkeypatch.setattr(languages, "NOTE_SETS", ("en",))
    monkeypatch.setattr(languages, "note_set", lambda name: NoteSet(name, NOTES, QUESTIONS))
    monkeypatch.setattr(languages, "read", lambda name: FOLLOWUPS)


@pytest.mark.usefixtures("small")
def test_hits_are_counted_beside_those_of_the_cosine_alone() -> None:
    lines = [line for line in measure(HashingEmbeddings()) if line["name"] == "language"]
    assert [line["call"] for line in lines] == ["cosine alone", "Memory.recall"]
    for line in lines:
        assert (line["language"], line["questions"], line["hit@1"]) == ("en", 3, 0.6667)


@pytest.mark.usefixtures("small")
def test_a_follow_up_is_found_by_what_was_said_before() -> None:
    noted = NoteMemory(HashingEmbeddings())
    with noted.memory:
        first = {(line["query"], line["language"]): line["hit@1"] for line in followups(noted)}
    for query in ("with the answer before it", "as the nodes ask"):
        assert first[query, "en"] == first[query, "all"] == 1


@pytest.mark.usefixtures("small")
def test_the_command_prints_a_json_object_a_line_and_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    languages.main(["--embed", "hashing"])
    out, tables = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert {line["embedder"] for line in lines} == {"hashing"}
    assert "| set | questions | cosine alone, `hashing` | Memory.recall, `hashing` |" in tables
    assert "| with the answer before it | en | 1 | 1.000 / 1.000 |" in tables


def test_a_set_with_aliases_is_asked_again_with_them_and_told_by_halves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = [("walnuts in sport", frozenset({"n1"})), ("Allergic to walnuts", frozenset({"n3"}))]
    rows = {
        "aliases_zh_everyday.jsonl": [{"id": "n1", "aliases": ["walnuts in sport"]}],
    }
    monkeypatch.setattr(languages, "NOTE_SETS", ("zh_everyday",))
    monkeypatch.setattr(languages, "note_set", lambda name: NoteSet(name, NOTES, asked, ["a", "b"]))
    monkeypatch.setattr(languages, "read", rows.__getitem__)
    monkeypatch.setattr(languages, "followups", lambda noted: ())
    hits = {
        (line["call"], line["half"]): (line["questions"], line["hit@1"])
        for line in measure(HashingEmbeddings())
    }
    assert hits["Memory.recall", None] == (2, 0.5)
    assert hits["Memory.recall", "a"] == (1, 0)
    assert hits["with aliases", "a"] == hits["with aliases", "b"] == (1, 1)


def test_the_aliases_of_a_set_are_of_its_notes() -> None:
    aliases = {row["id"]: row["aliases"] for row in languages.read("aliases_zh_everyday.jsonl")}
    notes = languages.note_set("zh_everyday").notes
    assert aliases.keys() == notes.keys()
    for id, given in aliases.items():
        assert proposed_aliases(given, [notes[id]], no_redaction) == tuple(given)
        assert len(given) == 3


@pytest.mark.parametrize("language", languages.NOTE_SETS)
def test_every_language_has_a_set(language: str) -> None:
    notes = languages.note_set(language)
    assert all(right <= notes.notes.keys() for _, right in notes.questions)
