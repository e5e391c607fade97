"""Secrets out of a text, before it is embedded, stored or sent to a model.

What is looked for, in this order, each in a module of its own:

- `forms`: what has a published form, or stands where a secret does;
- `named_spans`: values of what is called a secret: `assigned` in files, `told` in sentences.
  `naming` finds the names, `looks` judges the values;
- `column_spans`: what stands below such a name in a table;
- `codes`: codes that open something, and card numbers.

`parts` does the same with JSON, and with texts in parts. `personal` is on request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.redaction.assigned import (
    assigned_value,
    assignment,
    column_spans,
    row_of_words,
    value_below,
)
from langgraph_memory.redaction.codes import card_spans, without_codes
from langgraph_memory.redaction.forms import without_forms
from langgraph_memory.redaction.naming import Extent, Name, names_in, names_secret
from langgraph_memory.redaction.personal import PERSONAL_KINDS, PersonalKind, without_personal
from langgraph_memory.redaction.told import value_before, value_next, value_told

Redact = Callable[[str], str]
"""Takes secrets out of a text."""

_WORDS = re.compile(r"\s*+(?:(?!\w{15})[^\W\d_]++(?:['’][^\W\d_]{1,9}+)*+[,.;?!]?+(?:\s++|\Z))*+")


def redact_secrets(text: str) -> str:
    """Replace keys, tokens, passwords and card numbers by what they are.

    A guard against the common forms, not a proof: a password that is a word of a language passes
    where a sentence tells it without quotes.

    Example:
        >>> redact_secrets("my password is hunter2, thanks")
        'my password is [redacted], thanks'
        >>> redact_secrets("use AKIAIOSFODNN7EXAMPLE please")
        'use [redacted key] please'
        >>> redact_secrets("the password is required")
        'the password is required'
    """
    if _WORDS.fullmatch(text) and not names_secret(text):
        return text
    return _without_secrets(text)


def _without_secrets(text: str) -> str:
    text = without_forms(text)
    if names_secret(text):
        text = _without(text, named_spans)
        text = _without(text, column_spans)
    return _without(without_codes(text), card_spans, "[redacted card number]")


def redactor(*kinds: PersonalKind) -> Redact:
    """Return what takes out secrets, and what is personal of some kinds: for `Memory(redact=)`.

    Args:
        *kinds: `"phone"` and `"email"`; `"address"` (a street with a number); `"iban"`, `"ssn"`
            (United States), `"identity"` (numbers of Chinese, Spanish, French, Italian and
            Brazilian identity cards) and `"pin"` (also where nothing but the word
            stands before it). What has a check digit of its own is checked. Without any, secrets
            alone go.

    Raises:
        ConfigurationError: If there is no such kind.

    Example:
        >>> redactor("phone", "email")("Call +49 30 901820, or write to ana@example.com")
        'Call [redacted phone number], or write to [redacted e-mail address]'
    """
    if not all(kind in PERSONAL_KINDS for kind in kinds):
        # What was given may be a text with a secret: it is never shown.
        raise ConfigurationError(
            f"redactor takes kinds ({', '.join(map(repr, PERSONAL_KINDS))}) and returns the "
            "function for redact=: redact=redactor('phone')"
        )
    return lambda text: without_personal(redact_secrets(text), kinds)


def check_redact(given: object) -> None:
    """Refuse what takes no secrets out of a text.

    Raises:
        ConfigurationError: If it is no function of a text.
    """
    if given is redactor:
        raise ConfigurationError("redactor makes what redact= takes: redact=redactor('phone')")
    if not callable(given):
        raise ConfigurationError(
            "redact= takes a function of a text, such as redactor('phone') of "
            "langgraph_memory.redaction returns. A memory takes secrets out by default, and None "
            f"keeps them. Got {given!r}"
        )


def no_redaction(text: str) -> str:
    """Return a text as it is."""
    return text


def _without(text: str, spans: Callable[[str], Iterator[Extent]], mark: str = "[redacted]") -> str:
    parts, done = [], 0
    for start, end in spans(text):
        parts += [text[done:start], mark]
        done = end
    return "".join([*parts, text[done:]]) if parts else text


def named_spans(text: str) -> Iterator[Extent]:
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


def _value_after(name: Name) -> Extent | None:
    if name.is_phrase:
        return row_of_words(name)
    found = assignment(name)
    if found is None:
        return value_below(name, name.end) or value_told(name)
    if span := assigned_value(name, found):
        return span
    return value_told(name) if found["by"] in ":：|" else None
