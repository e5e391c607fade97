"""Which speakers a question names."""

from __future__ import annotations

import pytest

from langgraph_memory.speakers import Speakers

NAMES = ("Zoë Marin", "user", "李小明", "Ana de la Cruz", "Ana Bell", "たなか")


@pytest.fixture
def speakers() -> Speakers:
    speakers = Speakers()
    for name in (*NAMES, *NAMES):
        speakers.number(name)
    return speakers


def test_each_name_has_one_number(speakers: Speakers) -> None:
    assert [speakers.number(name) for name in NAMES] == list(range(len(NAMES)))
    assert len(speakers) == len(NAMES)


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
    ],
)
def test_a_name_is_any_whole_word_of_it(
    speakers: Speakers, question: str, named: set[str], rest: str
) -> None:
    numbers, left = speakers.named_in(question)
    assert numbers == {NAMES.index(name) for name in named}
    assert left == rest
