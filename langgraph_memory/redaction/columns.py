"""Secrets in a table, below the name of their column."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langgraph_memory.redaction.looks import is_like_key, is_like_password, is_placeholder
from langgraph_memory.redaction.naming import ASSIGNED, BARE, NAMES, PASSWORDS, Span, known, lower

_BETWEEN = [re.compile(each) for each in (r"\|", r"\t", r";", r",", r"(?<=\S)[ ]{2,}(?=\S)")]
_LOOSE = _BETWEEN[3:]
"""What is between words of any text, too: in such columns a password looks like one."""
_TITLE = re.compile(r"[\w /.()'’-]*")
_CELL = 30
"""Characters that the name of a column has at most."""


def column_spans(text: str) -> Iterator[Span]:
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


def _cells(line: str, between: re.Pattern[str]) -> list[Span]:
    """Return where the cells of a line are, without the white space around them."""
    edges = [0, *(edge for m in between.finditer(line) for edge in m.span()), len(line)]
    return [_stripped(line, edges[i], edges[i + 1]) for i in range(0, len(edges), 2)]


def _stripped(line: str, start: int, end: int) -> Span:
    cell = line[start:end]
    lead = len(cell) - len(cell.lstrip(" \t*_`\"'"))
    kept = cell.strip(" \t\r\n*_`\"'")
    return start + lead, start + lead + len(kept)


def _columns(line: str, cells: list[Span]) -> dict[int, bool]:
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
    text: str, start: int, cells: list[Span], columns: dict[int, bool], loose: bool
) -> Iterator[Span]:
    for i, is_password in columns.items():
        span = start + cells[i][0], start + cells[i][1]
        value = text[slice(*span)]
        if is_placeholder(value) or " " in value:
            continue
        if is_like_password(value) or not loose if is_password else is_like_key(value):
            yield span
