"""The measure of extracted notes: it finds what is right, and says what is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from benchmarks import extraction
from benchmarks.dialogues import Dialogue, Label, dialogues
from benchmarks.extraction import extracted, faults_of
from benchmarks.extraction_scores import score, secrets_in
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel

NOW = datetime(2026, 5, 18, 12, tzinfo=UTC)
MOVED = "The user moved to Graz."
TEA = "The user drinks green tea."
DIALOGUE = Dialogue(
    id="en-00",
    language="en",
    began=NOW,
    turns=(
        (
            HumanMessage("I moved to Graz and only drink green tea. Is it haunted?", id="1"),
            AIMessage("By the smell of coffee. I send the list every Friday.", id="2"),
        ),
        (HumanMessage("My password is tulip-2231, and I might sell the car.", id="3"),),
    ),
    keep=(
        Label(MOVED, "I moved to Graz", "user", {}),
        Label(TEA, "only drink green tea", "user", {}),
    ),
    leave=("The user will sell the car.",),
)


def note(text: str, quote: str, said_by: Any = "user") -> Note:
    return Note(
        id="",
        owner=Owner("user", "ana"),
        text=text,
        created_at=NOW,
        updated_at=NOW,
        valid_from=NOW,
        quote=quote,
        said_by=said_by,
    )


def test_a_note_finds_the_label_whose_words_it_quotes_in_whatever_words_of_its_own() -> None:
    scored = score(DIALOGUE, [note("Lives in Graz now.", "moved to graz and")])
    assert (scored.kept, scored.missed) == ([MOVED], [TEA])
    assert sum(scored.counts().values()) == 2


def test_a_quote_of_everything_finds_only_what_the_note_says() -> None:
    quote = "I moved to Graz and only drink green tea"
    assert score(DIALOGUE, [note("Drinks green tea.", quote)]).kept == [TEA]
    assert score(DIALOGUE, [note("Moved to Graz, drinks green tea.", quote)]).kept == [MOVED, TEA]


def test_the_same_words_of_somebody_else_find_nothing() -> None:
    said = note(MOVED, "I moved to Graz", said_by="assistant")
    scored = score(DIALOGUE, [said])
    assert (scored.kept, scored.invented) == ([], [MOVED])


def test_what_is_to_be_left_is_counted_apart_from_what_matches_nothing() -> None:
    notes = [
        note("The user sells the car.", "I might sell the car"),
        note("The user believes in ghosts.", "Is it haunted?"),
    ]
    scored = score(DIALOGUE, notes)
    assert scored.careless == ["The user sells the car."]
    assert scored.invented == ["The user believes in ghosts."]


def test_a_note_in_another_language_finds_its_label_and_is_in_the_wrong_language() -> None:
    scored = score(DIALOGUE, [note("用户搬到了格拉茨 Graz。", "I moved to Graz")])
    assert scored.kept == [MOVED]
    assert scored.wrong_language == ["用户搬到了格拉茨 Graz。"]


def test_a_secret_is_found_in_text_and_quote() -> None:
    assert secrets_in(["My password is tulip-2231, and so on", "no"]) == {"tulip-2231"}
    texts = ["The password is tulip-2231.", "Has a password."]
    notes = [note(texts[0], "none"), note(texts[1], "is tulip-2231"), note("Has a car.", "car")]
    assert score(DIALOGUE, notes).secrets == texts


def test_turns_in_which_the_model_fails_are_counted() -> None:
    model = ScriptedChatModel([OSError("gone")] * 20)
    scored, costs = extracted(DIALOGUE, model, HashingEmbeddings(dims=64))
    assert scored.missed == [MOVED, TEA]
    assert costs["failed"] == 2


def test_a_broken_measure_is_told() -> None:
    summary = dict.fromkeys(
        ("missed", "careless", "invented", "wrong_language", "secrets", "failed", "refused"), 0
    )
    assert faults_of({"model": "faithful", **summary}) == []
    assert faults_of({"model": "careless", **summary}) == ["careless: 0 refused"]
    assert faults_of({"model": "faithful", **summary, "missed": 2}) == ["faithful: 2 missed"]


def test_time_zones_have_the_offset_of_the_dialogue() -> None:
    from langgraph_memory.notes.extraction import zone_of

    for dialogue in dialogues():
        assert zone_of(dialogue.time_zone).utcoffset(None) == dialogue.began.utcoffset()


@pytest.mark.slow
def test_the_scripts_are_scored_as_they_deserve(capsys: pytest.CaptureFixture[str]) -> None:
    extraction.main(["--limit", "8"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len([line for line in lines if line["name"] == "dialogue"]) == 16
    totals = {line["model"]: line for line in lines if line.get("language") == "all"}
    labels = sum(len(dialogue.keep) for dialogue in dialogues(8))
    for model, total in totals.items():
        assert (total["kept"], total["missed"], total["recall"]) == (labels, 0, 1.0)
        assert total["careless"] == total["invented"] == 0
        assert (total["refused"] > 0) == (model == "careless")
    assert {line["language"] for line in lines if line["name"] == "summary"} == {
        "en",
        "zh",
        "mixed",
        "all",
    }
