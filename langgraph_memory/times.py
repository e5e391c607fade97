"""TEMPORARY: to be replaced by the module of branch e-times (English only)."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

MONTHS = ("january february march april may june july august september october november "
          "december").split()
_M = "(" + "|".join(MONTHS) + ")"
_D = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATES = (
    (re.compile(rf"\b{_D}(?: of)? {_M}(?:,? *(\d{{4}}))?\b", re.I), "dmy"),
    (re.compile(rf"\b{_M} {_D}(?!\d)(?:,? *(\d{{4}}))?\b", re.I), "mdy"),
    (re.compile(rf"\b{_M},? *(\d{{4}})\b", re.I), "my"),
    (re.compile(rf"\b(?:in|during|of|since|last|this|by|until|from|early|late|mid|for|before|"
                rf"after|around)[ -]{_M}\b", re.I), "m"),
    (re.compile(r"\b((?:19|20)\d\d)\b"), "y"),
)
TEMPORAL = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|ago|last (?:night|week|month|year|summer|winter|spring|"
    r"fall|weekend|mon|tue|wed|thu|fri|sat|sun)\w*|next \w+|this (?:week|month|weekend|morning|year"
    r"|summer)|weekend|recently|just|since|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"(?:19|20)\d\d)\b", re.I)
NUMBER = re.compile(
    r"\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten|once|twice|first|second|couple|few|"
    r"several|dozen)\b", re.I)
ASKS_WHEN = re.compile(r"\bwhen\b|what (date|year|month|day)|how long|how often", re.I)
ASKS_NUMBER = re.compile(r"how (many|much|old|long|often)", re.I)


def dates_in(question: str):
    """Return [(year | None, month | None, day | None)] and the question without them."""
    found = []
    for pattern, kind in _DATES:
        def take(m, kind=kind):
            g = m.groups()
            if kind in ("dmy", "mdy"):
                d, mo = (g[0], g[1]) if kind == "dmy" else (g[1], g[0])
                found.append((int(g[2]) if g[2] else None, MONTHS.index(mo.lower()) + 1, int(d)))
            elif kind == "my":
                found.append((int(g[1]), MONTHS.index(g[0].lower()) + 1, None))
            elif kind == "m":
                found.append((None, MONTHS.index(g[0].lower()) + 1, None))
            else:
                found.append((int(g[0]), None, None))
            return " "
        question = pattern.sub(take, question)
    return found, re.sub(r"\s{2,}", " ", question).strip()


Span = tuple
def spans(found, years):
    """Days from and to; a date without a year is looked for in each year of the memory.
    A year alone is no span: within a memory it tells too little (measured: nothing)."""
    out = []
    for y, m, d in found:
        for yy in ([y] if y else years):
            try:
                if d:
                    out.append((date(yy, m, d).toordinal(),) * 2)
                elif m:
                    end = date(yy + (m == 12), m % 12 + 1, 1) - timedelta(1)
                    out.append((date(yy, m, 1).toordinal(), end.toordinal()))
            except ValueError:
                continue
    return out




def has_time(text): return TEMPORAL.search(text) is not None
def has_number(text): return NUMBER.search(text) is not None
def asks_time(q): return ASKS_WHEN.search(q) is not None
def asks_number(q): return ASKS_NUMBER.search(q) is not None


class Times:
    def __init__(self, spans, question_without): self.spans, self.question_without = spans, question_without


def spans_in(question, now, days):
    found, rest = dates_in(question)
    years = range(date.fromordinal(days[0]).year, date.fromordinal(days[1]).year + 1)
    return Times(tuple(spans(found, years)), rest)
