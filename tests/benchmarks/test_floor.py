"""The benchmark of floors: who is asked what, and what a floor loses and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import floor
from benchmarks.floor import Judged, at_floor, lines_of, messages_judged, threshold
from benchmarks.floor_questions import Asked
from benchmarks.languages import NoteSet
from benchmarks.locomo_data import read
from langgraph_memory.testing import HashingEmbeddings
from tests.benchmarks.made_up import write

HASHING = HashingEmbeddings()


def judged(evidence: float, group: str = "answerable", user: str = "u", **facts: Any) -> Judged:
    found = {"found": float(group == "answerable"), "kept": 1.0, "refused": False, **facts}
    return Judged(Asked(user, group, "?"), evidence, **found)


def test_a_floor_loses_what_is_answerable_and_refuses_what_is_not() -> None:
    line = at_floor(
        [
            judged(0.4),
            judged(0.6),
            judged(0.8, found=0.5),
            judged(0.3, found=0.0),  # its evidence does not come back anyway
            judged(0.2, "nonsense"),
            judged(0.7, "nonsense"),
        ],
        0.5,
    )
    assert line == {
        "questions": 4,
        "recall": 0.375,
        "recall_without": 0.625,
        "lost": 0.3333,
        "refused": {"nonsense": 0.5},
    }


def test_the_threshold_loses_three_in_a_hundred() -> None:
    answerable = [judged(number / 100) for number in range(101)]
    assert threshold(answerable) == pytest.approx(0.03)
    assert at_floor(answerable, threshold(answerable))["lost"] == pytest.approx(0.03, abs=0.001)


def test_what_is_left_out_is_judged_by_the_others_floor() -> None:
    everything = [judged(0.9, user="high"), judged(0.1, user="low"), judged(0.5, "nonsense", "low")]
    first, own = lines_of(everything, {"type": "note"})
    assert first["name"] == "floor.threshold"
    assert first["left_out"]["lost"] == 0.5
    assert first["left_out"]["refused"] == {"nonsense": 1.0}
    assert (own["name"], own["refused"]) == ("floor.default", {"nonsense": 0.0})


def test_conversations_are_asked_about_themselves_and_about_others(tmp_path: Path) -> None:
    found = messages_judged(HASHING, read(write(tmp_path)))
    by_group: dict[str, list[Judged]] = {}
    for each in found:
        by_group.setdefault(each.asked.group, []).append(each)
    assert [each.found for each in by_group["answerable"]] == [1.0] * 4
    others = [(each.asked.user, each.asked.text) for each in by_group["other people's"]]
    assert ("bread", "When did Ruben adopt a tortoise?") in others
    assert [each.asked.text for each in by_group["adversarial"]] == ["Which goat did Bene adopt?"]
    symbols = [e for e in by_group["nonsense"] if not any(map(str.isalnum, e.asked.text))]
    assert symbols
    assert all(each.refused for each in symbols)


def test_the_command_prints_a_json_object_a_line_and_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [("Who keeps bees?", frozenset({"n1"}))]
    notes = NoteSet("en", {"n1": "Keeps bees", "n2": "Plays the oboe"}, questions)
    monkeypatch.setattr(floor, "LANGUAGES", ("en",))
    monkeypatch.setattr(floor, "note_set", lambda language: notes)
    floor.main(["--data", str(write(tmp_path)), "--embed", "hashing"])
    out, tables = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    thresholds = [line for line in lines if line["name"] == "floor.threshold"]
    assert [(line["type"], line["set"]) for line in thresholds] == [
        ("message", "LoCoMo"),
        ("note", "LoCoMo's observations"),
        ("note", "the sets of eight languages"),
    ]
    assert [line["questions"] for line in thresholds] == [4, 3, 1]
    assert thresholds[2]["refused"].keys() == {"everyday en", "nonsense"}
    assert len([line for line in lines if line["name"] == "floor.default"]) == 3
    assert tables.count("as `recall` is") == 3
