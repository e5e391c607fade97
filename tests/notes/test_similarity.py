"""How notes compare: what is merged, what a model is asked about, what is left alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from langgraph_memory.models.embedder import Embedder
from langgraph_memory.notes.similarity import (
    ASK_ALWAYS,
    ASK_EMBEDDED,
    Judgement,
    judge,
    threshold_of,
)
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import KINDS, Kind, Note
from langgraph_memory.testing import HashingEmbeddings

START = datetime(2026, 1, 1, tzinfo=UTC)
LETTERS = st.characters(categories=["L"])
WORDS = st.text(LETTERS, min_size=1, max_size=6)
SENTENCES = st.lists(WORDS, min_size=1, max_size=6)
COSINES = st.floats(-1, 1)
EXACTLY_ALIKE = 1.0


def note(text: str, *, slot: str | None = None, kind: Kind = "fact") -> Note:
    return Note(
        id="",
        owner=Owner("user", "ana"),
        text=text,
        slot=slot,
        kind=kind,
        created_at=START,
        updated_at=START,
        valid_from=START,
    )


NOTES = st.builds(
    note,
    st.sampled_from(["Drinks tea", "drinks TEA.", "Drinks no tea", "喝茶。", "喝茶"]) | st.text(),
    slot=st.sampled_from([None, "drink", "Drink", "breakfast"]),
    kind=st.sampled_from(KINDS),
)


@given(NOTES, NOTES, COSINES)
def test_it_makes_no_difference_which_note_is_the_new_one(a: Note, b: Note, cosine: float) -> None:
    judgement = judge(a, b, cosine)
    assert judgement in get_args(Judgement)
    assert judge(b, a, cosine) == judgement


@given(NOTES, COSINES)
def test_a_note_said_again_is_the_same_whatever_its_vector(one: Note, cosine: float) -> None:
    assert judge(one, one, cosine) == "same"
    assert judge(one, replace(one, slot=None), cosine) == "same"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("the user lives in graz", "The user lives in Graz."),
        ("Prefers  dark roast!!", " prefers dark\troast"),
        ("喜欢喝茶！", "喜欢喝茶。"),
        ("订５００克", "订500克。"),
    ],
)
def test_case_width_white_space_and_final_punctuation_do_not_count(new: str, old: str) -> None:
    assert judge(note(new), note(old), 0.1) == "same"


@given(SENTENCES, SENTENCES, st.integers(0, 10**6), st.integers(0, 10**6))
def test_notes_whose_numbers_differ_are_never_the_same(
    before: list[str], after: list[str], one: int, other: int
) -> None:
    assume(one != other)
    new, old = (note(" ".join([*before, str(number), *after])) for number in (one, other))
    assert judge(new, old, EXACTLY_ALIKE) == "ask"


@given(SENTENCES, st.data())
def test_a_word_more_is_another_note_as_a_negation_is_in_any_language(
    words: list[str], data: st.DataObject
) -> None:
    where = data.draw(st.integers(0, len(words)))
    longer = [*words[:where], data.draw(WORDS), *words[where:]]
    assert judge(note(" ".join(longer)), note(" ".join(words)), EXACTLY_ALIKE) == "ask"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Prefers spaces to tabs.", "Prefers tabs to spaces."),
        ("Can't swim.", "Can swim."),
        ("对青霉素不过敏。", "对青霉素过敏。"),
        ("My brother lives in Graz.", "My sister lives in Graz."),
        ("Is allergic to walnuts.", "Is allergic to hazelnuts."),
        ("Orders 500 g a month.", "Orders 500 kg a month."),
        ("The API runs on Python 3.11.", "The API runs on Python 31.1."),
        ("Writes C++.", "Writes C."),
        ("It is -5 degrees.", "It is 5 degrees."),
        ("Commit messages end with .", "Commit messages end with !"),
        ("Is allergic to nuts?", "Is allergic to nuts."),
        ("Likes 🍎.", "Likes 🍏."),
        ("住在成都", "住在成都高新区"),
    ],
)
def test_what_reads_alike_and_is_not_the_same_is_asked_about(new: str, old: str) -> None:
    assert judge(note(new), note(old), 0.99) == "ask"


@given(NOTES, NOTES, COSINES, COSINES)
def test_more_alike_is_never_further_apart(a: Note, b: Note, one: float, other: float) -> None:
    low, high = sorted((one, other))
    if judge(a, b, low) != "apart":
        assert judge(a, b, high) == judge(a, b, low)


@given(NOTES, NOTES, COSINES)
def test_a_shared_slot_is_never_apart(a: Note, b: Note, cosine: float) -> None:
    assert judge(replace(a, slot="Home city"), replace(b, slot="home  city"), cosine) != "apart"


@given(NOTES, COSINES)
def test_two_kinds_or_two_slots_are_never_the_same(one: Note, cosine: float) -> None:
    """ "Rosario" as home city and as birth place are two notes."""
    home, birth = replace(one, slot="home city"), replace(one, slot="birth place")
    assert judge(home, birth, cosine) != "same"
    fact, preference = replace(one, kind="fact"), replace(one, kind="preference")
    assert judge(fact, preference, cosine) != "same"


# -- embedders -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


def test_the_embedded_default_is_known_by_its_name_and_others_are_not(embedder: Embedder) -> None:
    assert threshold_of(embedder.fingerprint.embedder) == ASK_EMBEDDED
    assert threshold_of(Embedder(HashingEmbeddings()).fingerprint.embedder) == ASK_ALWAYS
    assert threshold_of("OpenAIEmbeddings:text-embedding-3-small") == ASK_ALWAYS


@given(NOTES, NOTES, COSINES)
def test_with_an_embedder_that_nobody_measured_nothing_is_apart(
    a: Note, b: Note, cosine: float
) -> None:
    judgement = judge(a, b, cosine, ASK_ALWAYS)
    assert judgement == ("same" if judge(a, b, cosine) == "same" else "ask")


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("Works at B.", "Works at A.", "ask"),
        ("I hate Chinese food.", "I love Chinese food.", "ask"),
        ("我讨厌中国菜。", "我喜欢中国菜。", "ask"),
        ("The user's favourite colour is blue.", "Likes blue.", "ask"),
        ("Blue is what the user likes best.", "Likes blue.", "ask"),
        ("最喜欢蓝色。", "Likes the colour blue.", "ask"),
        ("likes BLUE", "Likes blue.", "same"),
        ("Eats an apple a day.", "Works at Apple.", "ask"),
        ("Has a sister in Graz.", "Drinks oat milk.", "apart"),
        ("对猫毛过敏。", "后端用 Go 写。", "apart"),
    ],
)
def test_what_users_of_memories_reported(
    embedder: Embedder, new: str, old: str, expected: Judgement
) -> None:
    notes = note(new), note(old)
    one, other = embedder.embed([each.to_value()["search_text"] for each in notes], [])[0]
    assert judge(*notes, float(one @ other)) == expected
