"""Which days a question is about: "last May", "上周五", "hace tres días". Pure.

Only what can be reckoned from today: for "before my birthday" somebody has to know the birthday.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, lru_cache

from langgraph_memory.text.time_words import (
    AGO,
    CHINESE_WEEK,
    CHINESE_WEEKDAY,
    DID,
    DONE,
    DOUBTFUL,
    IN,
    LAST,
    MONTHS,
    NUMBERS,
    PASSED,
    PAST,
    PERIODS,
    SINCE,
    THIS,
    UNITS,
    WEEKDAYS,
    either,
    plain,
)

Span = tuple[int, int]
"""The first and the last of some days, as proleptic ordinals (`date.toordinal`)."""

READ = 2_000
"""Characters of a question that are read: what is longer is a document."""

NEAR = 7
"""Days by which a span may miss the memory, and still tell its nearest messages from others."""

YEARS = 50
"""Latest years of a memory in which a date without a year is looked for."""

DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class Times:
    """What a question says of time, and the rest of it.

    Attributes:
        spans: The days that it may mean; empty if it tells none that the memory holds.
        question_without: The question without the words that told them, whose place is in no
            comparison of words: a message of May seldom says "May".
    """

    spans: tuple[Span, ...]
    question_without: str


def spans_in(question: str, now: datetime, days: Span) -> Times:
    """Find the days that a question speaks of.

    Known are dates ("7 May", "2023-05-07", "in May", "5月7号") and times as seen from today
    ("yesterday", "two weeks ago", "last Friday", "去年五月"), in the languages of `time_words`. A
    date without a year is looked for in each year of the memory. A weekday alone is the latest one
    where what was said or done on it is asked ("what did we talk about on Tuesday?"), and else
    nothing. Nothing is found for a year alone, which is most often what a question is about ("the
    2017 tax return"), for today and what is to come, for seasons, and for dates that the memory
    does not reach.

    Args:
        question: In any language, or several.
        now: The moment of asking, in the time zone of whoever asks.
        days: The first and the last day that the memory holds.

    Example:
        >>> found = spans_in("What did I cook last Friday?", datetime(2026, 5, 20), (1, 800_000))
        >>> [date.fromordinal(day).isoformat() for day in found.spans[0]]
        ['2026-05-15', '2026-05-15']
        >>> found.question_without
        'What did I cook ?'
    """
    left, told, found = plain(question[:READ]), list[Span](), list[Span]()
    if not _hint(left.isascii()).search(left):
        return Times((), question)
    for word, form, beside in _doubtful():
        if word in left and not beside.search(left):
            left = form.sub(_blank(len(word)), left)
    for form, read in _forms():
        for match in form.finditer(left):
            start, end = match.span("told" if "told" in form.groupindex else 0)
            left = f"{left[:start]}{_blank(end - start)}{left[end:]}"
            spans = [span for span in read(match, now.date(), days) if _touch(span, days)]
            if spans:
                found += spans
                told.append((start, end))
    if not found:
        return Times((), question)
    rest = question
    for start, end in sorted(told, reverse=True):
        rest = f"{rest[:start]} {rest[end:]}"
    return Times(tuple(dict.fromkeys(found)), re.sub(r"\s{2,}", " ", rest).strip())


def _blank(length: int) -> str:
    """Return what is in the place of words that have been read."""
    return "\0" * length


def _touch(span: Span, days: Span) -> bool:
    return span[0] - NEAR <= days[1] and days[0] <= span[1] + NEAR


# -- words, and what they stand for ---------------------------------------------------------------

_BESIDE = re.compile(r"\(\?<?[=!](?:[^()]|\([^()]*\))*\)")  # what an expression sees around a word


def _any_of(lines: Iterable[Sequence[str]]) -> str:
    return either(word for line in lines for word in line)


def _line(lines: Iterable[Sequence[str]]) -> Callable[[str], int]:
    """Return what tells in which line of a table a word stands."""
    forms = [either(_BESIDE.sub("", word) for word in line) for line in lines]

    @lru_cache
    def line(word: str) -> int:
        return next(n for n, form in enumerate(forms) if re.fullmatch(form, word))

    return line


_UNITS, _PERIODS = list(UNITS), [(unit, back) for unit, back, _ in PERIODS]
_month, _weekday, _number = _line(MONTHS), _line(WEEKDAYS), _line(NUMBERS)
_unit, _period = _line(UNITS.values()), _line(words for _, _, words in PERIODS)
_SIGNS = "一二三四五六日天"


def _counted(word: str) -> int:
    """Return the number that digits, a word, or Chinese signs up to 99 stand for."""
    if word.isdecimal():
        return int(word)
    tens, ten, ones = word.partition("十")
    if not ten:
        return _number(word) + 1
    return 10 * (_number(tens) + 1 if tens else 1) + (_number(ones) + 1 if ones else 0)


# -- what a form means ----------------------------------------------------------------------------


def _date(match: re.Match[str], today: date, days: Span) -> list[Span]:
    """Read a month, perhaps with its day, with its year or a word for it."""
    of = match.groupdict()
    month = _counted(of["numbered"]) if of.get("numbered") else _month(of["month"]) + 1
    first, last = date.fromordinal(days[0]).year, date.fromordinal(days[1]).year
    years: Iterable[int] = range(max(first, last - YEARS + 1), last + 1)
    if of.get("year"):
        years = [int(of["year"])]
    elif of.get("period"):
        years = [today.year - _PERIODS[_period(of["period"])][1]]
    elif of.get("last"):
        years = [today.year - (month >= today.month)]
    elif of.get("this"):
        years = [today.year]
    day = _counted(of["day"]) if of.get("day") else None
    return [span for year in years for span in _days_of(year, month, day)]


def _days_of(year: int, month: int, day: int | None = None) -> list[Span]:
    """Return the span of a day or of a whole month; of none if there is no such."""
    if not (1 <= year <= 9999 and 1 <= month <= 12):
        return []
    start, length = date(year, month, 1).toordinal(), calendar.monthrange(year, month)[1]
    if day is None:
        return [(start, start + length - 1)]
    return [(start + day - 1, start + day - 1)] if 1 <= day <= length else []


def _ago(match: re.Match[str], today: date, days: Span) -> list[Span]:
    """Read "two weeks ago": that day, and half of a week to either side."""
    size = DAYS[_UNITS[_unit(match["unit"])]]
    day = today.toordinal() - size * (_counted(match["count"]) if match["count"] else 1)
    return [(day - size // 2, day + size // 2)]


def _until_now(match: re.Match[str], today: date, days: Span) -> list[Span]:
    """Read "the last two weeks"."""
    size = DAYS[_UNITS[_unit(match["unit"])]]
    return [(today.toordinal() - size * _counted(match["count"]), today.toordinal())]


def _before(match: re.Match[str], today: date, days: Span) -> list[Span]:
    """Read the name of a day, a month or a year that is over, or of a weekend."""
    unit, back = _PERIODS[_period(match["period"])]
    if unit == "day":
        return [(today.toordinal() - back,) * 2]
    if unit == "weekend":
        monday = _monday(today, back)
        return [(monday + 5, monday + 6)]
    if unit == "month":
        year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
        return _days_of(year, month + 1)
    january, december = (_days_of(today.year - back, month) for month in (1, 12))
    return [(january[0][0], december[0][1])] if january else []


def _week(match: re.Match[str], today: date, days: Span) -> list[Span]:
    """Read the name of a week that is over, perhaps with a day of it."""
    monday = _monday(today, _PERIODS[_period(match["period"])][1])
    name = match["before"] or match["after"] or match["sign"]
    if not name:
        return [(monday, monday + 6)]
    return [(monday + _day_of_week(name),) * 2]


def _day_of_week(name: str) -> int:
    return min(_SIGNS.index(name), 6) if name in _SIGNS else _weekday(name)


def _monday(today: date, back: int) -> int:
    return today.toordinal() - today.weekday() - 7 * back


def _last_weekday(match: re.Match[str], today: date, days: Span) -> list[Span]:
    """Read "last Friday": the latest one before today."""
    back = (today.weekday() - _day_of_week(match["weekday"] or match["sign"]) - 1) % 7 + 1
    day = today.toordinal() - back
    return [(day, day)]


# -- the forms: what one of them has read is there for none that follow ---------------------------

_Reader = Callable[[re.Match[str], date, Span], list[Span]]


def _periods(*units: str) -> str:
    return f"(?P<period>{_any_of(words for unit, _, words in PERIODS if unit in units)})"


_MONTH = f"(?P<month>{_any_of(MONTHS)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|[º°]|\.(?!\s?ma(?:y|r|rch)\b)|-?го)?"
_YEAR = r"(?P<year>\d{4})(?!\d)"
_OF = r"(?:(?:of|de[lrs]?|d[ao]|dell[ao]|من)\s)?(?:la\s|the\s|(?:dell|l)['’])?"
_OF_YEAR = rf"(?:,?\s?{_OF}(?:{_YEAR}|{_periods('year')}))"
_ONES = "[一二三四五六七八九]"
_SIGN = f"(?:{_ONES}?十{_ONES}?|{_ONES})"
_LAST = f"(?:(?P<last>{either(LAST)})|(?P<this>{either(THIS)}))"
_IN = f"(?:{_LAST}|{either(IN)})"
_COUNT = rf"(?P<count>(?<!\d)\d{{1,3}}|{_SIGN}|{_any_of(NUMBERS)})"
_UNIT = f"(?P<unit>{_any_of(UNITS.values())})"
_WEEKDAY = _any_of(WEEKDAYS)

_FORMS: tuple[tuple[str, _Reader], ...] = (
    (r"(?<!\d)(?P<year>\d{4})[-/.](?P<numbered>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)", _date),
    (rf"(?<![\d.])(?P<day>\d{{1,2}})\.\s?(?P<numbered>\d{{1,2}})\.\s?{_YEAR}", _date),
    (r"\b(?:am|vom|zum)\s(?P<day>\d{1,2})\.\s?(?P<numbered>\d{1,2})\.(?!\s?\d)", _date),
    (
        rf"(?:(?:(?P<year>(?<!\d)\d{{4}})\s?[年년]|{_periods('year')})[的の]?\s?|{_LAST}\s?)?"
        rf"(?P<numbered>(?<![\d.])\d{{1,2}}|{_SIGN})\s?[月월]份?"
        rf"(?:\s?(?P<day>\d{{1,2}}|{_SIGN})\s?[日号號일])?",
        _date,
    ),
    (rf"(?<![\d.,:]){_DAY}\s?(?:(?:of|de|من)\s)?{_MONTH}{_OF_YEAR}?", _date),
    (rf"{_MONTH}\.?\s(?:the\s)?{_DAY}(?![\d:]){_OF_YEAR}?", _date),
    (rf"{_MONTH}{_OF_YEAR}", _date),
    (rf"{_periods('year')},?\s{either(IN)}\s{_MONTH}", _date),
    (rf"{_IN}(?:\s|-){_MONTH}", _date),
    (rf"{_MONTH}\s(?P<last>{either(PASSED)})", _date),
    (rf"{_COUNT}\s?{_UNIT}\s?{either(AGO)}", _ago),
    (rf"{either(SINCE)}\s(?:{_COUNT}\s|(?<=[\u0620-\u06d3]\s)){_UNIT}", _ago),
    (rf"{either(PAST)}\s?(?:的|の)?{_COUNT}\s?{_UNIT}", _until_now),
    (rf"{_COUNT}\s{either(PAST)}\s{_UNIT}", _until_now),
    (_periods("day", "weekend", "month", "year"), _before),
    (
        rf"(?:(?P<before>{_WEEKDAY}),?\s(?:на\s|{_OF}))?{_periods('week')}"
        rf"(?:[的の]?\s?(?:(?:on|am)\s)?(?P<after>{_WEEKDAY})|(?P<sign>{CHINESE_WEEKDAY}))?",
        _week,
    ),
    (rf"{either(LAST)}\s?(?P<weekday>{_WEEKDAY})(?!\s(?:of|im|de[ls]?|do|в)\s)", _last_weekday),
    (rf"(?P<weekday>{_WEEKDAY})\s{either(PASSED)}", _last_weekday),
    (
        rf"{either(DID)}\s(?P<told>(?P<weekday>{_WEEKDAY}))"
        r"(?!\s(?:morning|afternoon|evening|night)s|.*\0)",
        _last_weekday,
    ),
    (
        rf"(?P<told>(?:(?<![上下这這本每个個期]){CHINESE_WEEK}(?P<sign>{CHINESE_WEEKDAY})"
        rf"|(?P<weekday>{_WEEKDAY}))(?=(?:{DONE}))(?!.*\0))",
        _last_weekday,
    ),
)


@cache
def _forms() -> list[tuple[re.Pattern[str], _Reader]]:
    """Return the forms, compiled when the first such question comes: it takes 50 milliseconds."""
    return [(re.compile(form), read) for form, read in _FORMS]


@cache
def _doubtful() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    return [
        (word, re.compile(either([word])), re.compile(either([beside])))
        for word, beside in DOUBTFUL.items()
    ]


@cache
def _hint(ascii: bool) -> re.Pattern[str]:
    """Return what is in whatever a form reads; most questions have none of it.

    Args:
        ascii: Whether it need be right about ASCII alone, which has a third of the words.
    """
    tables = (*MONTHS, *WEEKDAYS, *UNITS.values(), *(words for _, _, words in PERIODS))
    words = [word for line in tables for word in line if not ascii or word.isascii()]
    return re.compile(rf"[\d月월]|{CHINESE_WEEK}{CHINESE_WEEKDAY}|{either(words)}")
