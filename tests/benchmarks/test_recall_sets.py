"""The labelled sets for recall are what their page says, so that a figure from them can be read."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SETS = Path(__file__).parents[2] / "benchmarks" / "sets"
PAGE = (SETS / "README_recall.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\S+)\.jsonl` \|.*\| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
COUNTS = {name: (int(notes), int(questions)) for name, notes, questions in ROWS}
RECALL = sorted(name for name in COUNTS if name.startswith("recall_"))

HAN, LATIN = "[\u4e00-\u9fff]", "[A-Za-z]"
SCRIPTS = {
    "ar": "[\u0600-\u06ff]",
    "en": LATIN,
    "en_everyday": LATIN,
    "es": LATIN,
    "ja": "[\u3040-\u30ff]",
    "ko": "[\uac00-\ud7a3]",
    "mixed": f"{HAN}|{LATIN}",
    "ru": "[\u0400-\u04ff]",
    "zh": HAN,
    "zh_everyday": HAN,
}

Rows = list[dict[str, Any]]


def read(name: str) -> Rows:
    lines = (SETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def notes_and_questions(name: str) -> tuple[Rows, Rows]:
    rows = read(name)
    assert {row["kind"] for row in rows} == {"note", "question"}
    notes = [row for row in rows if row["kind"] == "note"]
    return notes, [row for row in rows if row["kind"] == "question"]


def folded(text: str) -> str:
    """What is left of a text when case, spaces and punctuation do not count."""
    return re.sub(r"\W", "", text).casefold()


def assert_distinct(values: list[str]) -> None:
    assert [value for value, times in Counter(values).items() if times > 1] == []


def test_each_recall_file_is_on_the_page() -> None:
    assert sorted(path.stem for path in SETS.glob("recall_*.jsonl")) == RECALL
    assert sorted(f"recall_{language}" for language in SCRIPTS) == RECALL


@pytest.mark.parametrize("name", RECALL)
def test_recall_has_the_stated_counts(name: str) -> None:
    notes, questions = notes_and_questions(name)
    assert (len(notes), len(questions)) == COUNTS[name]


@pytest.mark.parametrize("name", RECALL)
def test_recall_questions_name_notes_that_exist(name: str) -> None:
    notes, questions = notes_and_questions(name)
    assert_distinct([row["id"] for row in notes + questions])
    known = {row["id"] for row in notes}
    for question in questions:
        assert question["answers"], question
        assert_distinct(question["answers"])
        assert known.issuperset(question["answers"]), question


@pytest.mark.parametrize("name", RECALL)
def test_recall_texts_are_never_told_twice(name: str) -> None:
    assert_distinct([folded(row["text"]) for row in read(name)])


@pytest.mark.parametrize("name", RECALL)
def test_recall_texts_are_in_their_script(name: str) -> None:
    script = re.compile(SCRIPTS[name.removeprefix("recall_")])
    assert [row["text"] for row in read(name) if not script.search(row["text"])] == []


def test_mixed_recall_crosses_languages() -> None:
    notes, questions = notes_and_questions("recall_mixed")
    chinese = {row["id"]: bool(re.search(HAN, row["text"])) for row in notes + questions}
    crossing = [q for q in questions if any(chinese[a] != chinese[q["id"]] for a in q["answers"])]
    assert len(crossing) >= len(questions) / 2


def test_followups_have_the_stated_counts() -> None:
    rows = read("followups")
    assert Counter(row["language"] for row in rows) == {"zh": 23, "en": 23}
    assert (sum(len(row["notes"]) for row in rows), len(rows)) == COUNTS["followups"]
    assert {len(row["notes"]) for row in rows} <= set(range(6, 11))
    assert {len(row["messages"]) for row in rows} <= {2, 3, 4}


def test_followups_name_notes_of_their_own() -> None:
    rows = read("followups")
    assert_distinct([row["id"] for row in rows])
    assert_distinct([note["id"] for row in rows for note in row["notes"]])
    for row in rows:
        assert row["answers"], row["id"]
        assert {note["id"] for note in row["notes"]}.issuperset(row["answers"]), row["id"]


def test_followups_end_with_the_user_and_take_turns() -> None:
    for row in read("followups"):
        turns = [message["role"] for message in row["messages"]]
        assert turns == ["assistant", "user", "assistant", "user"][-len(turns) :], row["id"]


def test_followups_do_not_repeat_a_note_and_are_in_their_script() -> None:
    for row in read("followups"):
        texts = [each["text"] for each in row["notes"] + row["messages"]]
        assert_distinct([folded(text) for text in texts])
        assert all(re.search(SCRIPTS[row["language"]], text) for text in texts), row["id"]


def test_offtopic_has_the_stated_counts_and_scripts() -> None:
    rows = read("offtopic")
    kinds = Counter((row["kind"], row["language"]) for row in rows)
    assert kinds == {("offtopic", "zh"): 30, ("offtopic", "en"): 30, ("nonsense", "zxx"): 20}
    assert (0, len(rows)) == COUNTS["offtopic"]
    assert_distinct([row["id"] for row in rows])
    assert_distinct([row["text"] for row in rows])
    for row in rows:
        assert row["kind"] == "nonsense" or re.search(SCRIPTS[row["language"]], row["text"]), row


def test_offtopic_questions_are_in_no_other_set() -> None:
    elsewhere = {folded(row["text"]) for name in RECALL for row in read(name)}
    assert [row for row in read("offtopic") if folded(row["text"]) in elsewhere] == []
