"""Which days a question means, in the languages of the tables."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langgraph_memory.time_words import MONTHS, WEEKDAYS, plain
from langgraph_memory.times import READ, YEARS, spans_in

NOW = datetime(2026, 5, 20, 21, tzinfo=UTC)  # a Wednesday
MEMORY = (date(2024, 7, 1).toordinal(), date(2026, 5, 19).toordinal())

# A question, and the days it means; "-" for none.
LABELLED = """
What did Nate do on 25 March, 2025? | 2025-03-25
What happened on March 25th, 2025? | 2025-03-25
Who called on the 7th of May? | 2025-05-07 2026-05-07
Where was I on 2025-03-25? | 2025-03-25
What did I cook in March 2025? | 2025-03-01..2025-03-31
What did I cook in August? | 2024-08-01..2024-08-31 2025-08-01..2025-08-31
Who came in the second week of November? | 2024-11-01..2024-11-30 2025-11-01..2025-11-30
What did we do between 3 Aug and 9 Aug 2025? | 2024-08-03 2025-08-03 2025-08-09
What did I plant last May? | 2025-05-01..2025-05-31
What did I plant last March? | 2026-03-01..2026-03-31
What did I plant in May last year? | 2025-05-01..2025-05-31
What did I tell you yesterday? | 2026-05-19
What did I dream last night? | 2026-05-19
Who wrote the day before yesterday? | 2026-05-18
Which file did I open this morning? | 2026-05-20
What did we eat last week? | 2026-05-11..2026-05-17
Where were we last weekend? | 2026-05-16..2026-05-17
What did I spend last month? | 2026-04-01..2026-04-30
What did I learn last year? | 2025-01-01..2025-12-31
What did I say two weeks ago? | 2026-05-03..2026-05-09
Who visited three days ago? | 2026-05-17
Who visited a couple of months ago? | 2026-03-06..2026-04-05
What did I read in the last 10 days? | 2026-05-10..2026-05-20
Whom did I meet last Friday? | 2026-05-15
Whom did I meet last Monday? | 2026-05-18
Whom did I meet on Monday of last week? | 2026-05-11
2025年3月25日我做了什么？ | 2025-03-25
２０２５年３月２５日我做了什么？ | 2025-03-25
5月7号谁打来的电话？ | 2025-05-07 2026-05-07
八月我们去了哪里？ | 2024-08-01..2024-08-31 2025-08-01..2025-08-31
去年十二月二十三号发生了什么？ | 2025-12-23
去年五月我们去了哪里？ | 2025-05-01..2025-05-31
昨天我说了什么？ | 2026-05-19
前天谁来过？ | 2026-05-18
上周花了多少钱？ | 2026-05-11..2026-05-17
上周一共花了多少钱？ | 2026-05-11..2026-05-17
上周五我们吃了什么？ | 2026-05-15
上个星期一我们吃了什么？ | 2026-05-11
上周末去哪儿了？ | 2026-05-16..2026-05-17
上个月买了什么？ | 2026-04-01..2026-04-30
三天前谁来过？ | 2026-05-17
十二天前谁来过？ | 2026-05-08
两个月前我在忙什么？ | 2026-03-06..2026-04-05
最近三天我吃了什么药？ | 2026-05-17..2026-05-20
去年我学了什么？ | 2025-01-01..2025-12-31
昨日は何を食べた？ | 2026-05-19
おととい誰が来た？ | 2026-05-18
先週の金曜日に何を食べましたか？ | 2026-05-15
先月どこに行った？ | 2026-04-01..2026-04-30
三日前に誰が来た？ | 2026-05-17
二週間前の話を教えて | 2026-05-03..2026-05-09
去年の8月はどこにいた？ | 2025-08-01..2025-08-31
어제 뭐 먹었지? | 2026-05-19
지난주에 누구를 만났어? | 2026-05-11..2026-05-17
지난주 금요일에 뭐 했지? | 2026-05-15
지난달에 어디 갔어? | 2026-04-01..2026-04-30
3일 전에 누가 왔어? | 2026-05-17
작년 8월에 어디 있었지? | 2025-08-01..2025-08-31
2025년 3월 25일에 뭐 했지? | 2025-03-25
Что я говорил вчера? | 2026-05-19
Что было на прошлой неделе? | 2026-05-11..2026-05-17
Что мы делали в прошлую пятницу? | 2026-05-15
Куда мы ездили в прошлом месяце? | 2026-04-01..2026-04-30
Кто приходил две недели назад? | 2026-05-03..2026-05-09
Где мы были в августе прошлого года? | 2025-08-01..2025-08-31
Что было 25 марта 2025 года? | 2025-03-25
ماذا قلت أمس؟ | 2026-05-19
ماذا فعلنا الأسبوع الماضي؟ | 2026-05-11..2026-05-17
من زارنا قبل ثلاثة أيام؟ | 2026-05-17
من زارنا قبل يومين؟ | 2026-05-18
أين كنا في أغسطس؟ | 2024-08-01..2024-08-31 2025-08-01..2025-08-31
ماذا أكلنا يوم الجمعة الماضي؟ | 2026-05-15
¿Qué dije ayer? | 2026-05-19
¿Qué hicimos la semana pasada? | 2026-05-11..2026-05-17
¿Qué hicimos el viernes pasado? | 2026-05-15
¿Adónde fuimos el fin de semana pasado? | 2026-05-16..2026-05-17
¿Quién vino hace dos semanas? | 2026-05-03..2026-05-09
¿Quién vino hace un mes? | 2026-04-05..2026-05-05
¿Dónde estuvimos en agosto del año pasado? | 2025-08-01..2025-08-31
¿Qué pasó el 25 de marzo de 2025? | 2025-03-25
我在May 2025说了什么？ | 2025-05-01..2025-05-31
上个月的 meeting 讲了什么？ | 2026-04-01..2026-04-30
May I march on for a second? | -
Do you think this may work, or may last two days? | -
以前年轻的时候我住哪儿？ | -
Does April like June, or is she August's friend? | -
What did I deduct in the 2023 tax return? | -
What did I do before my birthday? | -
What do I play on Mondays? | -
What should I eat today, and what next week? | -
Who signed the treaty of 7 May 1945? | -
What was on 31 February 2025, or on 2025-13-01? | -
Which bus is number 25? | -
生日前要准备什么？ | -
今天吃什么？ | -
我在上海的房子几楼？ | -
¿Qué hago los martes? | -
""".strip().splitlines()

SPANISH = """
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
""".split()


def days(text: str) -> list[tuple[int, int]]:
    """Read "2025-03-01..2025-03-31 2026-01-01"."""
    spans = [span.split("..") for span in text.split() if span != "-"]
    return [
        (date.fromisoformat(span[0]).toordinal(), date.fromisoformat(span[-1]).toordinal())
        for span in spans
    ]


@pytest.mark.parametrize("line", LABELLED)
def test_a_question_means_these_days(line: str) -> None:
    question, _, expected = line.partition(" | ")
    assert sorted(spans_in(question, NOW, MEMORY).spans) == sorted(days(expected))


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("What did Ana cook in May?", "What did Ana cook ?"),
        ("Last Friday, what did Ana cook?", ", what did Ana cook?"),
        ("去年五月我们去了İzmir？", "我们去了İzmir？"),
        ("¿Qué hicimos la semana pasada en SORIA?", "¿Qué hicimos la en SORIA?"),
        ("  two  spaces, no date ", "  two  spaces, no date "),
        ("Who signed the treaty of 7 May 1945?", "Who signed the treaty of 7 May 1945?"),
    ],
)
def test_the_words_that_told_are_taken_out_and_all_others_stay(question: str, rest: str) -> None:
    assert spans_in(question, NOW, MEMORY).question_without == rest


def test_today_is_where_the_user_is() -> None:
    late = datetime(2026, 5, 20, 23, tzinfo=UTC)
    early = late.astimezone(ZoneInfo("Asia/Shanghai"))
    assert spans_in("yesterday", late, MEMORY).spans == tuple(days("2026-05-19"))
    assert spans_in("昨天", early, MEMORY).spans == tuple(days("2026-05-20"))


def test_last_month_of_january_is_december() -> None:
    january = datetime(2026, 1, 31, tzinfo=UTC)
    assert spans_in("last month", january, MEMORY).spans == tuple(days("2025-12-01..2025-12-31"))


def test_a_memory_of_a_thousand_years_is_looked_through_for_the_latest_only() -> None:
    assert len(spans_in("in May", NOW, (1, MEMORY[1])).spans) == YEARS


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)))
def test_every_way_to_write_a_date_means_that_day(day: date) -> None:
    month = MONTHS[day.month - 1][0]
    for text in (
        f"{day.day} {month} {day.year}",
        f"{month.title()} {day.day}, {day.year}",
        f"the {day.day}th of {month} {day.year}",
        f"el {day.day} de {SPANISH[day.month - 1]} de {day.year}",
        day.isoformat(),
        f"{day.day:02}.{day.month:02}.{day.year}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.year}년 {day.month}월 {day.day}일",
    ):
        assert spans_in(f"x {text}?", NOW, (1, 800_000)).spans == ((day.toordinal(),) * 2,), text


@given(st.datetimes(), st.integers(0, 6))
def test_last_weekday_is_one_of_the_seven_days_before_today(now: datetime, weekday: int) -> None:
    name, today = WEEKDAYS[weekday][0], now.date().toordinal()
    for (first, last), *more in [spans_in(f"last {name}", now, (1, 4_000_000)).spans]:
        assert not more
        assert first == last
        assert 1 <= today - first <= 7
        assert first % 7 == date(2024, 1, 1 + weekday).toordinal() % 7


WORDS = [
    *{word.rstrip("?？؟") for line in LABELLED for word in line.partition(" | ")[0].split()},
    *"年月日号號上个周末星期礼拜十二三两前的の일월년전0179３７-./:,\0",
    *"0 31 32 99 999 0000 2025 9999 ٢٠٢٥".split(),
]


@given(
    st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=8),
    st.sampled_from(["", " "]),
    st.datetimes(),
    st.tuples(st.integers(1, 3_652_059), st.integers(1, 3_652_059)),
)
@example(["二三天前"], "", NOW, (1, 1))
def test_any_text_at_any_time_gives_days_near_the_memory(
    words: list[str], space: str, now: datetime, ends: tuple[int, int]
) -> None:
    question, memory = space.join(words), (min(ends), max(ends))
    found = spans_in(question, now, memory)
    for first, last in found.spans:
        assert first <= last
        assert first - 7 <= memory[1]
        assert memory[0] <= last + 7
    if not found.spans:
        assert found.question_without == question
    assert len(found.question_without) <= len(question)


@given(st.text(st.characters(exclude_categories=())))
def test_plain_text_keeps_each_character_in_its_place(text: str) -> None:
    assert len(plain(text)) == len(text)


def test_what_is_too_long_for_a_question_is_not_read_to_its_end() -> None:
    assert spans_in("a" * READ + " yesterday", NOW, MEMORY).spans == ()
    assert spans_in("yesterday " + "a" * 1_000_000, NOW, MEMORY).spans != ()


def test_dates_a_day_apart_from_the_memory_still_count() -> None:
    memory = (MEMORY[0], (NOW.date() - timedelta(2)).toordinal())
    assert spans_in("yesterday", NOW, memory).spans == tuple(days("2026-05-19"))
