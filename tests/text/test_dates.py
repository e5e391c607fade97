"""Which days a question means, in the languages of the tables."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langgraph_memory.text.dates import READ, YEARS, spans_in
from langgraph_memory.text.time_words import MONTHS, WEEKDAYS, plain

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
Was habe ich gestern Abend gesagt? | 2026-05-19
Wer hat vorgestern angerufen? | 2026-05-18
Was haben wir letzte Woche gegessen? | 2026-05-11..2026-05-17
Wen habe ich letzten Freitag getroffen? | 2026-05-15
Wen habe ich am Freitag letzter Woche getroffen? | 2026-05-15
Wo waren wir am letzten Wochenende? | 2026-05-16..2026-05-17
Was habe ich im letzten Monat ausgegeben? | 2026-04-01..2026-04-30
Was habe ich letztes Jahr im August gemacht? | 2025-08-01..2025-08-31
Wo war ich im März letzten Jahres? | 2025-03-01..2025-03-31
Was war im Mai? | 2025-05-01..2025-05-31 2026-05-01..2026-05-31
Wer kam vor zwei Wochen? | 2026-05-03..2026-05-09
Wer kam vor einem Monat? | 2026-04-05..2026-05-05
Was war vor ein paar Tagen? | 2026-05-17
Was las ich in den letzten 10 Tagen? | 2026-05-10..2026-05-20
Was aß ich am 7. Mai, und was am 25.3.2025 und am 3. 8.? | 2024-08-03 2025-03-25 2025-05-07 \
2025-08-03 2026-05-07
Qu'est-ce que j'ai dit hier soir ? | 2026-05-19
Qu’avons-nous mangé avant-hier ? | 2026-05-18
Qui ai-je vu vendredi dernier ? | 2026-05-15
Qu'a-t-on fait la semaine dernière, et le lundi de la semaine passée ? | 2026-05-11..2026-05-17 \
2026-05-11
Où étions-nous le week-end dernier ? | 2026-05-16..2026-05-17
Qui est venu il y a trois jours ? | 2026-05-17
Qui est venu il y a un mois ? | 2026-04-05..2026-05-05
Qui est venu il y a sept jours ? | 2026-05-13
Qu'ai-je lu ces trois derniers jours, et depuis sept jours ? | 2026-05-17..2026-05-20 \
2026-05-13..2026-05-20
Où étais-je en août de l'année dernière ? | 2025-08-01..2025-08-31
Où étais-je en mars, et le 1er mai ? | 2025-03-01..2025-03-31 2026-03-01..2026-03-31 \
2025-05-01 2026-05-01
Cosa ho detto ieri sera? | 2026-05-19
Chi ha chiamato l'altro ieri? | 2026-05-18
Cosa abbiamo fatto la settimana scorsa? | 2026-05-11..2026-05-17
Cosa abbiamo fatto il venerdì della scorsa settimana? | 2026-05-15
Chi ho visto domenica scorsa? | 2026-05-17
Chi ho visto lo scorso weekend? | 2026-05-16..2026-05-17
Chi è venuto tre giorni fa, e chi due settimane fa? | 2026-05-17 2026-05-03..2026-05-09
Chi è venuto sei mesi fa? | 2025-11-06..2025-12-06
Cosa ho letto negli ultimi tre giorni? | 2026-05-17..2026-05-20
Dove eravamo ad agosto dell'anno scorso? | 2025-08-01..2025-08-31
Dove eravamo a marzo? | 2025-03-01..2025-03-31 2026-03-01..2026-03-31
O que eu disse ontem à noite? | 2026-05-19
Quem ligou anteontem? | 2026-05-18
O que fizemos na semana passada? | 2026-05-11..2026-05-17
O que fizemos na sexta-feira passada, e na segunda passada? | 2026-05-15 2026-05-18
O que fizemos na terça da semana passada? | 2026-05-12
Quem veio há duas semanas? | 2026-05-03..2026-05-09
Quem veio três dias atrás? | 2026-05-17
Quem veio no mês passado? | 2026-04-01..2026-04-30
O que li nos últimos três dias? | 2026-05-17..2026-05-20
Onde estávamos em agosto do ano passado? | 2025-08-01..2025-08-31
Onde estávamos em março? | 2025-03-01..2025-03-31 2026-03-01..2026-03-31
What did we talk about on April 29th? | 2025-04-29 2026-04-29
Worüber sprachen wir am 29. April? | 2025-04-29 2026-04-29
De quoi avons-nous parlé le 29 avril ? | 2025-04-29 2026-04-29
Di cosa abbiamo parlato il 29 aprile? | 2025-04-29 2026-04-29
Sobre o que falamos em 29 de abril? | 2025-04-29 2026-04-29
¿De qué hablamos el 29 de abril? | 2025-04-29 2026-04-29
О чём мы говорили 29 апреля? | 2025-04-29 2026-04-29
عن ماذا تحدثنا في 29 أبريل؟ | 2025-04-29 2026-04-29
4月29日我们聊了什么？ | 2025-04-29 2026-04-29
4月29日に何を話しましたか？ | 2025-04-29 2026-04-29
4월 29일에 무슨 얘기 했지? | 2025-04-29 2026-04-29
What did we talk about last year in August? | 2025-08-01..2025-08-31
What was said in Sept at home? | 2024-09-01..2024-09-30 2025-09-01..2025-09-30
What did we talk about on Tuesday? | 2026-05-19
What did Nate cook on Wednesday? | 2026-05-13
Worüber haben wir am Dienstag gesprochen? | 2026-05-19
De quoi avons-nous parlé mardi ? | 2026-05-19
¿De qué hablamos el martes? | 2026-05-19
Di cosa abbiamo parlato martedì? | 2026-05-19
Sobre o que falamos na terça-feira? | 2026-05-19
O que eu disse na terça? | 2026-05-19
О чём мы говорили во вторник? | 2026-05-19
ماذا قلت يوم الثلاثاء؟ | 2026-05-19
周二我们聊了什么？ | 2026-05-19
我们星期二说过什么？ | 2026-05-19
火曜日に何を話しましたか？ | 2026-05-19
화요일에 무슨 얘기 했지? | 2026-05-19
What did we talk about on Tuesday, 28 April? | 2025-04-28 2026-04-28
Did I tell you that the dentist is on Tuesday? | -
Did I mention the dentist on Tuesday? | -
What did we do on Tuesday nights? | -
What will we talk about on Tuesday? | -
Habe ich am Dienstag frei? | -
Haben wir am Dienstag geöffnet? | -
Was it on Tuesday that the dentist has time? | -
De quoi parlons-nous mardi ? On se parle mardi ? On mange mardi ? | -
¿Hablamos el martes? | -
Falamos na terça-feira? | -
下周二我们聊什么？周二的会我准备了什么？ | -
每周二我说了什么？ | -
火曜日に何をしたい？ | -
May I march on for a second? | -
It costs 29. May I pay, and who is the last Friday of the list? | -
Was kann ich hier speichern, und wie lange ist es schon hier? | -
Was mache ich morgen, und was jeden Morgen? | -
Was hängt vor der Tür, und was war vor Jahren? | -
What did I read about Mars last year in the news? | 2025-01-01..2025-12-31
Who landed on Mars, and who is Mai? | -
Cosa non ho mai mangiato? | -
Sei stato bene? Chi ha tre anni? Che tempo fa? | -
Quem é a segunda da lista, e o que sei? | -
¿Cuál fue la segunda pasada, y quién es? | -
What did I do with Marco in the segunda? | -
Il y a combien de chats, et quand est la fin ? | -
Let 'em march on: im may be late? | -
Who runs the ad campaign, and on which tag? | -
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

SPANISH, GERMAN, FRENCH, ITALIAN, PORTUGUESE = (
    months.split()
    for months in """
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
Januar Februar März April Mai Juni Juli August September Oktober November Dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
""".strip().splitlines()
)


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
        f"am {day.day}. {GERMAN[day.month - 1]} {day.year}",
        f"le {day.day}{'er' * (day.day == 1)} {FRENCH[day.month - 1]} {day.year}",
        f"il {day.day} {ITALIAN[day.month - 1]} {day.year}",
        f"em {day.day} de {PORTUGUESE[day.month - 1]} de {day.year}",
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
