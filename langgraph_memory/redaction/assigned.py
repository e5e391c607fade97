"""Values that are assigned: `password=...`, `"password": "..."`, below a heading, in a column."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langgraph_memory.redaction.looks import (
    CLOSERS,
    QUOTED,
    RUN,
    group_span,
    is_code,
    is_like_key,
    is_like_password,
    is_placeholder,
    is_row,
    trimmed,
)
from langgraph_memory.redaction.naming import (
    ASSIGNED,
    BARE,
    NAMES,
    PASSWORDS,
    Extent,
    Name,
    known,
    lower,
)

_ASSIGNED = re.compile(
    rf"""
    {CLOSERS} (?:[ \t]?[(（][^()（）\n]{{0,40}}[)）])? [*_]{{0,2}} [ \t]{{0,20}}
    (?P<by>
        :[ ][|>][-+]?\n(?=[ \t])|=>|->|→|:=|===?|!==?|[=＝]|:{{1,2}}|：
        | [*_]{{0,2}}\s?[|]
        | >(?=[^<\s])
        | \((?=\s?["'])
        | ["'],?[ ]?(?:value[ ]?[=:]|,|\))[ ]?(?=["'])
        | ["']?,\s{{0,40}}["']?value["']?\s?:
        | </key>\s{{0,40}}<string>
        | \n[ \t]{{1,40}}value:
    )
    [*_]{{0,2}} [ \t]{{0,40}}
    (?: [A-Za-z_][\w.\[\]]{{0,30}}[?]? [ ]? = [ ]? (?=["']))?   # password: str = "..."
    # The first of several.
    (?: [\[{{(] [ ]? (?: (?:"[\w@. -]{{1,40}}"|'[\w@. -]{{1,40}}') [ ]? : [ ]? )? (?=["']) )?
    (?: [fbru@$] (?=["']) | (?:new[ ]\w{{1,20}})?\( (?=["']) )?
    """,
    re.VERBOSE,
)
_TO_TAG = re.compile(r"[^<\n]{1,300}")
_TO_BAR = re.compile(r"[^|\n]{1,300}")
_TO_AND = re.compile(r"[^&\s\"'#<>]{1,300}")
_SEMICOLON = re.compile(r".*;\s?\Z", re.DOTALL)
_TO_SEMICOLON = re.compile(r"[^\n\"']{1,100}?(?=;\s?[A-Za-z][\w ]{0,30}=|;?\s*(?:\n|\Z))")
_TO_LINE_END = re.compile(r"(?P<first>[^\W_]+)(?:[ ][^\W_]+){1,7}(?=[ \t]*(?:\n|\Z))")
_ODD_QUOTED = re.compile(
    r"(['\"])(?P<value>[^\n]{1,200})\1(?=[ \t]*(?:[,;)}\]]?[ \t]*(?:\n|\Z)|#))"
)
"""Quotes with one like them within."""
_IN_FOURS = re.compile(r"(?:[a-z]{4} ){3}[a-z]{4}(?!\w)")  # as Google shows passwords of apps
_ROW = re.compile(
    r"[\"'*_`]{0,3}[\s:=：是は-]{0,6}(?:is|are|es|est|ist|lautet|是)?[\s:：\"'`]{1,6}"
    r"(?P<row>(?:\d{0,2}[.)]?\s?[a-z]{3,12}[ ,\n]{1,2}){5,}[a-z]{3,12})"
)
_HEADING = re.compile(r"[ \t>#*_\-\d.]*(?:[^\W\d_]+[ -]){0,2}")
_BELOW = re.compile(
    r"[*_:：#]{0,4}[ \t]*(?:\n[=-]{3,}[ \t]*)?(?:\n[ \t>]*){1,2}"
    r"(?:```\w{0,12}\n)?(?:[-*+][ ]+)?[*_]{0,2}"
    r"(?P<value>[^\s]{4,200})[ \t]*(?=\n|\Z)"
)
_ADVICE = re.compile(
    r"(?:enter|please|your|type|choose|must|at least|see|ask|the same|invalid|min|max|use "
    r"|bitte|geben|introdu|escrib|entre|saisi|votre|ihr|tu |su |请|輸入|输入)"
)
_GOES_ON = re.compile(r"[ \t]+\w")


def assignment(name: Name) -> re.Match[str] | None:
    """Return what comes between a name and the value that is assigned to it, if one is."""
    return _ASSIGNED.match(name.text, name.end)


def row_of_words(name: Name) -> Extent | None:
    """Return where the words of a seed phrase are."""
    row = _ROW.match(name.text, name.end)
    return row.span("row") if row else None


def assigned_value(name: Name, found: re.Match[str]) -> Extent | None:
    """Return where an assigned value is; it may be any word, unless it only stands for one."""
    by, start = found["by"].strip(), found.end()
    weak = by in ("|", "(") or by.endswith((",", ")"))
    weak = weak or (name.word in ASSIGNED and by in ":：" and name.begin == name.start)
    if quoted := QUOTED.match(name.text, start):
        span = _quoted(name.text, quoted)
        value = name.text[slice(*span)]
        return span if not is_prose(value) and _is_value(name, value, weak) else None
    span = _unquoted(name, by, start)
    value = name.text[slice(*span)]
    if not value:
        return value_below(name, start)
    if (is_code(value) and not name.is_variable) or _is_prose_from(name, span, by):
        return None
    return span if _is_value(name, value, weak) else None


def value_below(name: Name, start: int) -> Extent | None:
    """Return the only word of the next line, where a name is all that is in its own."""
    if not _HEADING.fullmatch(name.text[name.line : name.begin]) or name.word in ASSIGNED:
        return None
    below = _BELOW.match(name.text, start)
    if below is None:
        return None
    span = trimmed(name.text, below.span("value"))
    if quoted := QUOTED.match(name.text, span[0]):
        span = group_span(quoted)
    value = name.text[slice(*span)]
    return span if _is_value(name, value, weak=True) else None


def _is_value(name: Name, value: str, weak: bool) -> bool:
    if is_placeholder(value) or len(value) < (4 if value.isdigit() else 3):
        return False
    if not name.is_password:
        if name.word in BARE and is_row(value):
            return False
        return is_like_key(value) and len(value) >= (16 if weak else name.least)
    return is_like_password(value) or not weak


def _is_sentence(text: str, start: int) -> bool:
    """Whether words up to the end of a line are the value of a variable."""
    words = _TO_LINE_END.match(text, start)
    return words is not None and not words["first"].lower().startswith(("change", "your"))


def _quoted(text: str, quoted: re.Match[str]) -> Extent:
    odd = text[quoted.end() : quoted.end() + 1].isalnum()
    longer = _ODD_QUOTED.match(text, quoted.start()) if odd else None
    return longer.span("value") if longer else group_span(quoted)


def _unquoted(name: Name, by: str, start: int) -> Extent:
    """Return where an unquoted value is: how far it goes depends on what it is part of."""
    text = name.text
    before = text[name.begin - 1 : name.begin]
    if by == ">" or by.startswith("<"):
        pattern = _TO_TAG
    elif by == "|":
        pattern = _TO_BAR
    elif before in ("?", "&") and before:
        pattern = _TO_AND
    elif by == "=" and (
        _SEMICOLON.match(text[max(0, name.begin - 3) : name.begin])
        and _TO_SEMICOLON.match(text, start)
    ):
        pattern = _TO_SEMICOLON
    elif name.is_variable and name.is_password and _is_sentence(text, start):
        pattern = _TO_LINE_END
    elif _IN_FOURS.match(text, start):
        pattern = _IN_FOURS
    else:
        pattern = RUN
    match = pattern.match(text, start)
    return trimmed(text, match.span()) if match else (start, start)


def is_prose(value: str) -> bool:
    """Whether a quoted text says something of a secret, such as "Enter your password"."""
    lowered = lower(value)
    return " " in value and bool(NAMES.search(lowered) or _ADVICE.match(lowered))


def _is_prose_from(name: Name, span: Extent, by: str) -> bool:
    """Whether a sentence begins with a value: "Password: ask Tom"."""
    value = name.text[slice(*span)]
    plain = value.isalpha() and not (name.is_variable and by == "=")
    return plain and bool(_GOES_ON.match(name.text, span[1]))


# -- columns of a table ---------------------------------------------------------------------------


_BETWEEN = [re.compile(each) for each in (r"\|", r"\t", r";", r",", r"(?<=\S)[ ]{2,}(?=\S)")]
_LOOSE = _BETWEEN[3:]
"""What is between words of any text, too: in such columns a password looks like one."""
_TITLE = re.compile(r"[\w /.()'’-]*")
_CELL = 30
"""Characters that the name of a column has at most."""


def column_spans(text: str) -> Iterator[Extent]:
    """Yield where the values are in the columns of tables that a secret gives its name to."""
    columns: dict[int, bool] = {}
    between, size, start = _BETWEEN[0], 0, 0
    for line in text.splitlines(keepends=True):
        cells = _cells(line, between) if columns else []
        if columns and len(cells) == size:
            yield from _values(text, start, cells, columns, between in _LOOSE)
        else:
            columns = {}
            for between in _BETWEEN:
                cells = _cells(line, between)
                if columns := _columns(line, cells):
                    size = len(cells)
                    break
        start += len(line)


def _cells(line: str, between: re.Pattern[str]) -> list[Extent]:
    """Return where the cells of a line are, without the white space around them."""
    edges = [0, *(edge for m in between.finditer(line) for edge in m.span()), len(line)]
    return [_stripped(line, edges[i], edges[i + 1]) for i in range(0, len(edges), 2)]


def _stripped(line: str, start: int, end: int) -> Extent:
    cell = line[start:end]
    lead = len(cell) - len(cell.lstrip(" \t*_`\"'"))
    kept = cell.strip(" \t\r\n*_`\"'")
    return start + lead, start + lead + len(kept)


def _columns(line: str, cells: list[Extent]) -> dict[int, bool]:
    """Return the columns of secrets, by their places, and whether they are of passwords."""
    titles = [line[start:end] for start, end in cells]
    if sum(map(bool, titles)) < 2 or max(map(len, titles)) > _CELL:
        return {}
    if not all(map(_TITLE.fullmatch, titles)):
        return {}
    columns = {}
    for i, (start, end) in enumerate(cells):
        for match in NAMES.finditer(lower(line[start:end])):
            word = known(match.group())
            if match.end() == end - start and word not in BARE | ASSIGNED:
                columns[i] = word in PASSWORDS
    return columns


def _values(
    text: str, start: int, cells: list[Extent], columns: dict[int, bool], loose: bool
) -> Iterator[Extent]:
    for i, is_password in columns.items():
        span = start + cells[i][0], start + cells[i][1]
        value = text[slice(*span)]
        if is_placeholder(value) or " " in value:
            continue
        if is_like_password(value) or not loose if is_password else is_like_key(value):
            yield span
