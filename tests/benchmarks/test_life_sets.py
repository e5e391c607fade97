"""The sets of a month with an agent are what their page says, so that a figure can be read."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.labelled import SETS, read

PAGE = (SETS / "README_life.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\w\w) \|((?: \d+ \|)+)$", PAGE, re.MULTILINE)
COUNTS = {language: [int(number) for number in re.findall(r"\d+", row)] for language, row in ROWS}
SCRIPTS = {"en": "[A-Za-z]", "es": "[A-Za-z]", "ja": "[\u3040-\u9fff]", "zh": "[\u4e00-\u9fff]"}
KINDS = set("fact preference instruction constraint plan number equipment decision".split())
COMMON = set(
    "about could does from give have like make many much must need should take tell that them there"
    " they this what when where which will with would como cual cuales cuando desde donde esta este"
    " hasta para porque puedo sobre tengo tiene".split()
)

languages = pytest.mark.parametrize("language", sorted(SCRIPTS))


def content(text: str) -> set[str]:
    """The stems of a text's longer words; of Han and Katakana, the pairs of characters."""
    words = re.findall(r"[0-9a-záéíóúñü]+", text.casefold())
    runs = re.findall("[\u4e00-\u9fff\u30a0-\u30ff]+", text)
    stems = {w[:5] for w in words if (len(w) > 3 or w.isdigit()) and w not in COMMON}
    return stems | {run[i : i + 2] for run in runs for i in range(len(run) - 1)}


def texts(language: str) -> list[str]:
    facts = read(f"life/facts_{language}.jsonl")
    crowd = read(f"life/crowd_{language}.jsonl")
    others = read(f"life/notes_{language}.jsonl") + read(f"life/offtopic_{language}.jsonl")
    told = [text for row in facts for text in (row["fact"], row["note"], *row["questions"])]
    return told + [row["text"] for row in crowd + others]


def test_each_file_is_on_the_page() -> None:
    kinds = ("facts", "crowd", "notes", "offtopic")
    named = {f"{kind}_{language}.jsonl" for kind in kinds for language in COUNTS}
    assert {path.name for path in Path(SETS / "life").iterdir()} == named
    assert set(COUNTS) == set(SCRIPTS)


@languages
def test_a_language_has_the_stated_counts(language: str) -> None:
    facts, crowd = read(f"life/facts_{language}.jsonl"), read(f"life/crowd_{language}.jsonl")
    kinds = Counter(row["kind"] for row in crowd)
    others = [len(read(f"life/{kind}_{language}.jsonl")) for kind in ("notes", "offtopic")]
    asked = sum(len(row["questions"]) for row in facts)
    assert [len(facts), asked, len(crowd), kinds.pop("statement"), *others] == COUNTS[language]
    assert kinds == {"order": 50, "small talk": 50, "question": 50}
    assert Counter(row["half"] for row in facts) == {"a": 12, "b": 12}


@languages
def test_half_of_the_questions_have_no_word_of_their_fact(language: str) -> None:
    for row in read(f"life/facts_{language}.jsonl"):
        told = content(row["fact"]) | content(row["note"])
        free = [text for text in row["questions"] if not content(text) & told]
        assert len(free) * 2 >= len(row["questions"]) >= 4, row["id"]


@languages
def test_texts_are_in_their_script_and_told_once(language: str) -> None:
    every = texts(language)
    assert [text for text, times in Counter(every).items() if times > 1] == []
    assert [text for text in every if not re.search(SCRIPTS[language], text)] == []


@languages
def test_rows_are_complete(language: str) -> None:
    facts = read(f"life/facts_{language}.jsonl")
    crowd = read(f"life/crowd_{language}.jsonl")
    others = read(f"life/notes_{language}.jsonl") + read(f"life/offtopic_{language}.jsonl")
    ids = [row["id"] for row in facts + crowd + others]
    assert len(set(ids)) == len(ids)
    assert {row["language"] for row in facts + crowd + others} == {language}
    assert {row["kind"] for row in facts} <= KINDS
    assert all(row[key].strip() for row in facts for key in ("answer_repeats", "answer_vague"))
    assert all(row["answer"].strip() for row in crowd)


def test_everyday_notes_have_one_right_note_for_each_question() -> None:
    rows = read("recall_en_everyday.jsonl")
    half = {row["id"]: row["half"] for row in rows}
    assert len(half) == len(rows)
    assert Counter(row["kind"] for row in rows) == {"note": 34, "question": 42}
    for row in rows:
        if row["kind"] == "question":
            (answer,) = row["answers"]
            assert half[answer] == row["half"], row["id"]


def test_a_narrower_note_is_another_text_than_the_general_one() -> None:
    rows = read("narrower.jsonl")
    assert Counter(row["language"] for row in rows) == {"en": 20, "zh": 20}
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({text for row in rows for text in (row["general"], row["narrower"])}) == 80
