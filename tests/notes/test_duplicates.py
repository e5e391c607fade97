"""Notes that say the same in nearly the same words, and those that only look like it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory.notes.consolidation import repeated
from langgraph_memory.notes.similarity import may_be_one, same_words
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import KINDS, Note, is_kept_anyway

START = datetime(2026, 1, 1, tzinfo=UTC)


def note(text: str, id: str = "", slot: str | None = None) -> Note:
    return Note(
        id=id or text,
        owner=Owner("user", "ana"),
        text=text,
        slot=slot,
        created_at=START,
        updated_at=START,
        valid_from=START,
    )


def groups(*notes: Note) -> list[list[str]]:
    return [[each.id for each in group] for group in repeated(notes)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user lives in Graz.", "lives in graz"),
        ("My sister lives in Graz", "The user's sister lives in Graz."),
        ("Do not deploy on Fridays.", "Never deploy on Fridays!"),
        ("I have a dog", "Has dogs"),
        ("HAS DOGS IN GRAZ", "has dogs in graz"),
        ("Can't swim.", "The user cannot swim"),
        ("In winter, the user drinks tea", "drinks tea in winter"),
        ("Worked in Graz", "The user worked in Graz."),
        ("In the winter, drinks dark roasts.", "Drinks dark roast in winter"),
        ("喜欢浅烘焙的咖啡豆", "用户喜欢浅烘焙的咖啡豆。"),
        ("我妈妈喜欢茶", "用户的妈妈喜欢茶"),
        ("用户搬到上海了。", "搬到上海啦"),
        ("Живет в Граце.", "живет в Граце"),
    ],
)
def test_nearly_the_same_words_are_one_group(one: str, other: str) -> None:
    assert list(map(sorted, groups(note(one, "1"), note(other, "2")))) == [["1", "2"]]


NARROWER = [
    ("Allergic to nuts", "Allergic to nuts in raw form"),
    ("Allergic to nuts", "Allergic to raw nuts"),
    ("The user has a dog.", "Has a dog called Bruno."),
    ("Likes hiking.", "Likes hiking, above all in the Alps."),
    ("Eats meat.", "Eats meat on Sundays."),
    ("Takes vitamins", "Takes vitamin A"),
    ("Wakes at 7", "Wakes at 7 am"),
    ("Flies to Lisbon on 12 May 2026.", "Flies to Lisbon on 12 May 2026 at 7:40."),
    ("Drinks no coffee", "Drinks no coffee after noon"),
    ("Works in the office", "Works in the office of Anna"),
    ("Keeps the TV at 50'", 'Keeps the TV at 50"'),
    ("Wears a size", "Wears a size S"),
    ("Writes for IT", "Writes for"),
    ("对坚果过敏", "对生的坚果过敏"),
    ("用户的体检在6月5日。", "用户的体检在6月5日上午。"),
    ("喜欢喝茶", "不喜欢喝茶了"),
    ("用户喜欢茶", "用户们喜欢茶"),
    ("我喜欢茶", "我们喜欢茶"),
    ("对花生过敏", "对花生过敏吗"),
    ("吃药", "吃了药"),
    ("Живет в Граце.", "Живет в Граце, у реки."),
]


@pytest.mark.parametrize(("general", "narrower"), NARROWER)
def test_a_condition_a_place_a_time_a_number_or_a_name_more_is_another_note(
    general: str, narrower: str
) -> None:
    assert groups(note(general), note(narrower)) == []
    assert groups(replace(note(general), pinned=True, importance=1.0), note(narrower)) == []


TEXTS = st.sampled_from(
    [
        "The user is allergic to nuts",
        "In winter, drinks tea",
        "I'm a nurse!",
        "用户喜欢喝茶了。",
        "a",
    ]
)
CONTENT = st.sampled_from("raw Bruno 5 not only Graz if A IT before 不 了 绿 们 wine's".split())


@given(TEXTS, st.lists(st.tuples(st.integers(0, 9), CONTENT), min_size=1, max_size=4))
def test_words_of_content_more_never_say_the_same(text: str, more: list[tuple[int, str]]) -> None:
    parts = text.split(" ") if " " in text else list(text)
    for place, word in more:
        parts.insert(place % len(parts) + 1 if word in ("A", "了") else place, word)
    assert not same_words(text, " ".join(parts))


def test_what_is_pinned_or_critical_gives_way_to_nothing_and_takes_others_in() -> None:
    plain = note("The user is allergic to nuts.", "plain")
    pinned = replace(note("allergic to nuts", "pinned"), pinned=True)
    critical = replace(note("Is allergic to nuts!", "critical"), importance=0.8)
    assert groups(plain, pinned) == [["pinned", "plain"]]
    assert groups(plain, critical) == [["critical", "plain"]]
    assert groups(critical, pinned) == []
    assert len(groups(plain, pinned, critical)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefers tabs to spaces.", "Prefers spaces to tabs."),
        ("Is allergic to walnuts.", "Is allergic to hazelnuts."),
        ("Lives in Graz.", "The user's sister lives in Graz."),
        ("Can swim.", "Can't swim."),
        ("Eats meat.", "Eats meat only on Sundays."),
        ("Works for Osprey.", "Worked for Osprey."),
        ("Is a nurse.", "Was a nurse."),
        ("Likes coffee.", "Likes coffee cups."),
        ("Smokes a pipe.", "Smokes a pipe no longer."),
        ("Orders 250 g of decaf a month.", "Orders 500 g of decaf a month."),
        ("The API runs on Python 3.11.", "The API runs on Python 31.1."),
        ("It is -5 degrees.", "It is 5 degrees."),
        ("Is allergic to nuts?", "Is allergic to nuts."),
        ("Users want a dark mode.", "The user wants a dark mode."),
        ("The user interface is dark.", "The interface is dark."),
        ("User settings are kept.", "Settings are kept."),
        ("用户数据库用 Postgres", "数据库用 Postgres"),
        ("Anna manages Ben.", "Ben manages Anna."),
        ("Likes 🍎.", "Likes 🍏."),
        ("对青霉素过敏。", "对青霉素不过敏。"),
        ("喜欢咖啡。", "喜欢咖啡杯。"),
        ("爱喝茶。", "妻子爱喝茶。"),
        ("每周一游泳。", "每周五游泳。"),
        ("吃肉。", "吃肉，但周一不吃。"),
        ("Mag Kaffee", "Mag Kaffee, außer abends"),
        ("Trinkt Kaffee", "Trinkt Kaffee in der Regel nicht"),
        ("Isst Fisch", "Isst Fisch, kein Fleisch"),
        ("Aime le café", "Aime le café, mais pas le soir"),
        ("Come pescado", "Come pescado, pero solo los viernes"),
        ("Gosta de café", "Gosta de café, menos à noite"),
        ("Любит кофе", "Любит кофе, но только утром"),
        ("コーヒーが好き", "コーヒーが好き、ただし朝だけ"),
        ("커피를 좋아한다", "커피를 좋아한다, 아침에만"),
        ("يحب القهوة", "يحب القهوة، صباحا فقط"),
        ("the", "I am"),
    ],
)
def test_what_only_looks_alike_stays_apart(one: str, other: str) -> None:
    assert groups(note(one), note(other)) == []


def test_two_slots_two_kinds_and_two_ends_are_never_one() -> None:
    text, day = "Rosario", timedelta(days=1)
    home, birth = note(text, "1", "home city"), note(text, "2", "birth place")
    assert groups(home, birth) == []
    assert groups(home, replace(birth, slot="Home  City")) == [["2", "1"]]
    assert groups(home, replace(birth, slot=None, kind="decision")) == []
    assert groups(home, replace(birth, slot=None, valid_until=START + day)) == []
    assert groups(note(text, "3"), home, birth) == [["3", "2"]]


def test_the_words_of_an_assistant_do_not_take_the_place_of_the_users() -> None:
    said, echo = note("Has a dog.", "said"), note("The user has a dog.", "echo")
    assert groups(said, replace(echo, said_by="assistant")) == [["said", "echo"]]
    assert groups(replace(said, said_by="assistant"), echo) == [["echo", "said"]]
    assert groups(said, replace(echo, said_by="assistant", importance=1.0)) == []


WORDS = st.sampled_from("tea dog not only in the a Graz 5 6 likes ， 不 喝 茶 called Bruno".split())
NOTES = st.lists(
    st.builds(
        lambda words, slot, kind, by, n: replace(
            note(" ".join(words), slot=slot), kind=kind, said_by=by, importance=n
        ),
        st.lists(WORDS, min_size=1, max_size=5),
        st.sampled_from([None, None, "pet", "Pet", "drink"]),
        st.sampled_from(KINDS[:2]),
        st.sampled_from(["user", "user", "assistant"]),
        st.sampled_from([0.2, 0.5, 0.9]),
    ),
    max_size=8,
).map(lambda notes: [replace(each, id=str(i)) for i, each in enumerate(notes)])


@given(NOTES)
def test_each_note_is_in_one_group_at_most_and_no_group_has_two_slots(notes: list[Note]) -> None:
    found = [each for group in repeated(notes) for each in group]
    assert len({each.id for each in found}) == len(found)
    for best, *others in repeated(notes):
        assert all(may_be_one(best, other) for other in others)
        assert not any(map(is_kept_anyway, others))
        assert len({each.slot.casefold() for each in (best, *others) if each.slot}) < 2


@given(NOTES.flatmap(lambda notes: st.tuples(st.just(notes), st.permutations(notes))))
def test_the_order_in_which_notes_come_makes_no_difference(
    orders: tuple[list[Note], list[Note]],
) -> None:
    one, other = orders
    assert groups(*one) == groups(*other)


def test_a_long_text_is_no_sentence_and_has_to_be_equal() -> None:
    long = ("likes tea " * 100_000).strip()
    assert groups(note(long, "1"), note(f"{long}.", "2"), note(f"{long}, hot", "3")) == [["2", "1"]]
