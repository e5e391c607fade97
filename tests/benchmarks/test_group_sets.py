"""The labelled memories for merging: as their README says; not that labels are right."""

from __future__ import annotations

import re
from collections import Counter
from math import comb

from benchmarks.labelled import read
from langgraph_memory.records.records import KINDS, normalise

HAN, LATIN = re.compile("[\u4e00-\u9fff]"), re.compile("[a-z]{3}")


MEMORIES = read("groups.jsonl")
LABELS = [
    (memory["notes"], group, best)
    for memory in MEMORIES
    for group, best in zip(memory["groups"], memory["best"], strict=True)
]


def test_memories_are_balanced_by_language_and_half() -> None:
    counts = Counter((memory["language"], memory["half"]) for memory in MEMORIES)
    each = {"en": 18, "zh": 18, "mixed": 4}
    assert counts == {(language, half): n for language, n in each.items() for half in "ab"}


def test_memories_and_notes_are_well_formed() -> None:
    assert len({memory["id"] for memory in MEMORIES}) == len(MEMORIES)
    for memory in MEMORIES:
        assert list(memory) == "id language notes groups best half".split()
        for note in memory["notes"]:
            assert list(note) == "text kind slot importance".split()
            assert note["text"] == note["text"].strip() != ""
            assert note["kind"] in KINDS
            assert 0 <= note["importance"] <= 1


def test_a_memory_has_no_text_and_no_slot_twice() -> None:
    """It could not be: one slot has one active note, and equal words are one note."""
    for memory in MEMORIES:
        texts = [normalise(note["text"]) for note in memory["notes"]]
        slots = [normalise(note["slot"]) for note in memory["notes"] if note["slot"]]
        assert len(set(texts)) == len(texts), memory["id"]
        assert len(set(slots)) == len(slots), memory["id"]


def test_groups_are_a_partition_of_the_notes() -> None:
    for memory in MEMORIES:
        indexes = [index for group in memory["groups"] for index in group]
        assert sorted(indexes) == list(range(len(memory["notes"]))), memory["id"]
        assert all(memory["groups"]), memory["id"]


def test_counts_are_as_stated() -> None:
    sizes = [len(memory["notes"]) for memory in MEMORIES]
    assert (min(sizes), max(sizes), sum(sizes)) == (3, 8, 387)
    assert Counter(len(group) for _, group, _ in LABELS) == {1: 200, 2: 83, 3: 7}
    assert sum(comb(len(group), 2) for _, group, _ in LABELS) == 104
    assert sum(comb(size, 2) for size in sizes) == 798
    assert sum(len(memory["groups"]) == len(memory["notes"]) for memory in MEMORIES) == 6


def test_kinds_and_slots_of_a_group_differ_as_often_as_stated() -> None:
    merged = [[notes[i] for i in group] for notes, group, _ in LABELS if len(group) > 1]
    assert sum(len({note["kind"] for note in notes}) > 1 for notes in merged) == 3
    assert sum(len({note["slot"] for note in notes} - {None}) > 1 for notes in merged) == 3


def test_best_is_a_note_of_its_group_and_not_always_the_newest_or_the_longest() -> None:
    chosen = [(notes, group, best) for notes, group, best in LABELS if best is not None]
    assert len(chosen) == 30
    assert all(best in group and len(group) > 1 for _, group, best in chosen)
    assert sum(best == max(group) for _, group, best in chosen) == 13
    longest = [max(group, key=lambda i: len(notes[i]["text"])) for notes, group, _ in chosen]
    assert sum(best == i for (_, _, best), i in zip(chosen, longest, strict=True)) == 27


def test_texts_are_in_their_language_and_mixed_memories_in_both() -> None:
    for memory in MEMORIES:
        chinese = {bool(HAN.search(note["text"])) for note in memory["notes"]}
        expected = {"en": {False}, "zh": {True}, "mixed": {True, False}}
        assert chinese == expected[memory["language"]], memory["id"]
        if memory["language"] == "mixed":
            assert any(LATIN.search(note["text"]) for note in memory["notes"])


def test_no_merge_is_a_pair_of_the_other_set() -> None:
    """Thresholds are chosen on `pairs.jsonl`: what is measured here has to be new."""
    known = {frozenset((pair["old"], pair["new"])) for pair in read("pairs.jsonl")}
    for notes, group, _ in LABELS:
        pairs = {frozenset((notes[i]["text"], notes[j]["text"])) for i in group for j in group}
        assert not pairs & known
