"""Which speakers a question names."""

from __future__ import annotations

import pytest

from langgraph_memory.retrieval.message_window import Speakers

NAMES = ("Zoë Marin", "user", "李小明", "Ana de la Cruz", "Ana Bell", "たなか")
ODD = ("", "🦊", "王", "Will", "B", "a.*c")


@pytest.fixture
def speakers() -> Speakers:
    speakers = Speakers()
    for name in (*NAMES, *ODD, *NAMES):
        speakers.number(name)
    return speakers


def test_each_name_has_one_number(speakers: Speakers) -> None:
    names = (*NAMES, *ODD)
    assert [speakers.number(name) for name in names] == list(range(len(names)))
    assert len(speakers) == len(names)


@pytest.mark.parametrize(
    ("question", "named", "rest"),
    [
        ("What does Zoë drink?", {"Zoë Marin"}, "What does   drink?"),
        ("zoë marin's cat", {"Zoë Marin"}, "   's cat"),
        ("李小明喝什么茶？", {"李小明"}, " 喝什么茶?"),
        ("たなかさんは？", {"たなか"}, " さんは?"),
        ("Did Ana call?", {"Ana de la Cruz", "Ana Bell"}, "Did   call?"),
        ("Is Bell or the user at home?", {"Ana Bell", "user"}, "Is   or the   at home?"),
        ("Anatomy and bells of users", set(), "Anatomy and bells of users"),
        ("What is the name?", set(), "What is the name?"),
        ("国王在哪里?", set(), "国王在哪里?"),
        ("Will B win the 🦊?", set(), "Will B win the 🦊?"),
    ],
)
def test_a_name_is_any_whole_word_of_it(
    speakers: Speakers, question: str, named: set[str], rest: str
) -> None:
    numbers, left = speakers.named_in(question, range(len(speakers)))
    assert numbers == {NAMES.index(name) for name in named}
    assert left == rest


def test_who_said_nothing_that_is_left_is_not_named(speakers: Speakers) -> None:
    question = "Did Ana or 李小明 call?"
    assert speakers.named_in(question, {4}) == ({4}, "Did   or 李小明 call?")
