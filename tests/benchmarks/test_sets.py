"""The labelled sets: well-formed and balanced as their README says; not that labels are right."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from typing import Any

import pytest

from benchmarks.labelled import read
from langgraph_memory.redaction import redact_secrets

RELATIONS = ("same", "update", "contradiction", "additive", "unrelated")


PAIRS = read("pairs.jsonl")
DIALOGUES = read("dialogues.jsonl")
each_dialogue = pytest.mark.parametrize("dialogue", DIALOGUES, ids=[d["id"] for d in DIALOGUES])


def test_pairs_are_balanced_by_relation_language_and_half() -> None:
    counts = Counter((pair["relation"], pair["language"], pair["half"]) for pair in PAIRS)
    assert counts == {
        (relation, language, half): each
        for relation in RELATIONS
        for language, each in (("en", 14), ("zh", 14), ("mixed", 1))
        for half in "ab"
    }


def test_a_pair_has_two_texts_and_slots_that_are_words_or_null() -> None:
    for pair in PAIRS:
        assert list(pair) == "id language old new relation slot_old slot_new half".split()
        assert all(pair[text] == pair[text].strip() != "" for text in ("old", "new"))
        assert pair["old"] != pair["new"]
        assert all(pair[slot] is None or pair[slot].strip() for slot in ("slot_old", "slot_new"))


def test_slots_agree_with_the_relation() -> None:
    """One value replaces another only in the same slot, and others leave it alone."""
    for pair in PAIRS:
        old, new = pair["slot_old"], pair["slot_new"]
        if pair["relation"] in ("additive", "unrelated"):
            assert old is None or old != new, pair["id"]
        else:
            assert old == new, pair["id"]


def test_no_pair_is_there_twice() -> None:
    assert len({frozenset((pair["old"], pair["new"])) for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("records", [PAIRS, DIALOGUES], ids=["pairs", "dialogues"])
def test_ids_are_unique(records: list[dict[str, Any]]) -> None:
    assert len({record["id"] for record in records}) == len(records)


def test_dialogues_are_balanced_by_language_and_some_have_nothing_to_keep() -> None:
    counts = Counter(dialogue["language"] for dialogue in DIALOGUES)
    assert counts == {"en": 34, "zh": 34, "mixed": 4}
    nothing = Counter(dialogue["language"] for dialogue in DIALOGUES if not dialogue["keep"])
    assert nothing == {"en": 8, "zh": 8, "mixed": 1}


def test_notes_are_as_many_as_stated_by_kind_and_role() -> None:
    notes = [note for dialogue in DIALOGUES for note in dialogue["keep"]]
    kinds = {"fact": 71, "instruction": 33, "preference": 21, "decision": 13}
    assert Counter(note["kind"] for note in notes) == kinds
    assert Counter(note["role"] for note in notes) == {"user": 134, "assistant": 4}
    assert sum(len(dialogue["leave"]) for dialogue in DIALOGUES) == 141


@each_dialogue
def test_a_dialogue_begins_with_the_user_and_takes_turns(dialogue: dict[str, Any]) -> None:
    assert list(dialogue) == "id language time messages keep leave".split()
    assert datetime.fromisoformat(dialogue["time"]).tzinfo is not None
    roles = [message["role"] for message in dialogue["messages"]]
    assert 2 <= len(roles) <= 8
    assert roles == [("user", "assistant")[i % 2] for i in range(len(roles))]
    assert all(message["text"].strip() for message in dialogue["messages"])
    assert dialogue["leave"]
    assert all(text.strip() for text in dialogue["leave"])


@each_dialogue
def test_a_note_quotes_a_message_of_its_role(dialogue: dict[str, Any]) -> None:
    for note in dialogue["keep"]:
        assert list(note) == "text kind quote role slot valid_until".split()
        assert note["quote"]
        said = [m["text"] for m in dialogue["messages"] if m["role"] == note["role"]]
        assert any(note["quote"] in text for text in said)


@each_dialogue
def test_no_note_ends_before_it_was_said(dialogue: dict[str, Any]) -> None:
    said = datetime.fromisoformat(dialogue["time"]).date()
    for note in dialogue["keep"]:
        assert note["valid_until"] is None or date.fromisoformat(note["valid_until"]) >= said


@each_dialogue
def test_a_dialogue_keeps_a_note_and_a_slot_once_and_no_secret(dialogue: dict[str, Any]) -> None:
    texts = [note["text"] for note in dialogue["keep"]]
    slots = [note["slot"] for note in dialogue["keep"] if note["slot"] is not None]
    assert len(set(texts)) == len(texts)
    assert len(set(slots)) == len(slots)
    assert not set(texts) & set(dialogue["leave"])
    assert all(redact_secrets(text) == text for text in texts)
