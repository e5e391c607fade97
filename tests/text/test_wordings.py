"""When two texts say the same in the same words."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from langgraph_memory.text.phrasing import wording

WORDS = st.lists(
    st.sampled_from("i live in graz nuts 咖啡 straße чай قهوة café ohne zucker 7".split())
    | st.text("bcdefghjklmnopqruvwxyz", min_size=2, max_size=6),
    min_size=1,
    max_size=8,
)
EMPTY = st.lists(st.sampled_from("a an the am is are just please also so really".split()))
BETWEEN = st.sampled_from([" ", "  ", ", ", "! ", " – ", "… ", "\n", " (", ") ", "。", "、", '" '])
CHANGES = st.sampled_from("not never no don't i you she he they we 8 9.7 不 没 нет nicht".split())


@given(st.data(), WORDS, EMPTY)
def test_case_punctuation_and_empty_words_make_no_difference(
    data: st.DataObject, words: list[str], empty: list[str]
) -> None:
    spoken = list(words)
    for word in empty:
        spoken.insert(data.draw(st.integers(0, len(spoken))), word)
    said = "".join(
        word + data.draw(BETWEEN)
        for word in (
            data.draw(st.sampled_from([str.upper, str.title, str.casefold]))(word)
            for word in spoken
        )
    )
    assert wording(said) == wording(" ".join(words))


@given(WORDS, CHANGES)
def test_negation_pronouns_and_numbers_make_another_wording(words: list[str], more: str) -> None:
    assume(more not in words)
    assert wording(" ".join([*words, more])) != wording(" ".join(words))


def _said_once(words: list[str]) -> list[str]:
    return list(dict.fromkeys(word.casefold() for word in words))


@given(WORDS, WORDS)
def test_other_words_are_another_wording(one: list[str], other: list[str]) -> None:
    same = _said_once(one) == _said_once(other)
    assert (wording(" ".join(one)) == wording(" ".join(other))) == same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("I'm allergic to nuts.", "i am ALLERGIC to nuts", True),
        ("Tom is taller than Ana", "Ana is taller than Tom", False),
        ("It’s ten", "It is ten", True),
        ("I'm allergic to nuts", "She's allergic to nuts", False),
        ("I can eat nuts", "I can't eat nuts", False),
        ("我对花生过敏了。", "我对花生过敏", True),
        ("我对花生过敏", "我对花生不过敏", False),
        ("我对花生过敏", "他对花生过敏", False),
        ("Ｃａｆé", "CAFÉ", True),
        ("The train leaves at 10:12", "The train leaves at 12:10", False),
        ("It weighs 3.5 kg", "It weighs 5.3 kg", False),
        ("On 3/4/2026", "On 4/3/2026", False),
        ("I know C", "I know C++", False),
        ("👍", "👎", False),
        ("?!", "?!  ", True),
        ("the", "a", False),
        ("\ud800 nuts", "nuts", True),
    ],
)
def test_what_is_said_in_other_forms(one: str, other: str, same: bool) -> None:
    assert (wording(one) == wording(other)) == same


def test_a_long_text_is_compared_as_a_short_one_is() -> None:
    text = "I live in Graz. " * 60_000
    assert wording(text) == wording("i live in graz")
