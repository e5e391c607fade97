"""Secrets that are known by what they are called."""

from __future__ import annotations

from collections.abc import Iterator

from langgraph_memory.redaction.assigned import (
    assigned_value,
    assignment,
    row_of_words,
    value_below,
)
from langgraph_memory.redaction.naming import Name, Span, names_in
from langgraph_memory.redaction.told import value_before, value_next, value_told


def named_spans(text: str) -> Iterator[Span]:
    """Yield where the values are of secrets that a text names, in order, none twice."""
    done = 0
    for name in names_in(text):
        if name.start < done:
            continue  # it is part of a value
        span = _value_after(name) or value_before(name, done)
        if span is not None:
            yield span
            done = span[1]
            if new := value_next(name, span):
                yield new
                done = new[1]


def _value_after(name: Name) -> Span | None:
    if name.is_phrase:
        return row_of_words(name)
    found = assignment(name)
    if found is None:
        return value_below(name, name.end) or value_told(name)
    if span := assigned_value(name, found):
        return span
    return value_told(name) if found["by"] in ":：|" else None
