"""Single arguments: refused, or returned as they are kept. Each message names the argument."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records.aliases import MAX_ALIASES, MAX_CHARACTERS, united
from langgraph_memory.redaction import Redact
from langgraph_memory.text import replace_surrogates

_RECORD_ID = re.compile(r"[0-9a-f]{24,32}(?:@\d+)?")


def check_text(name: str, given: object, redact: Redact) -> str:
    """Return a text as it is kept: without secrets, and without what cannot be stored."""
    if not isinstance(given, str) or not given.strip():
        raise ConfigurationError(f"{name}= is a non-empty text, got {given!r}")
    return redact(replace_surrogates(given)).strip()


def check_aliases(given: object, redact: Redact) -> tuple[str, ...]:
    """Return the other words of a note as they are kept, each once."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigurationError(f"aliases= is a sequence of texts such as ('k8s',), got {given!r}")
    kept = [check_text("aliases", alias, redact) for alias in given]
    if len(kept) > MAX_ALIASES:
        raise ConfigurationError(f"aliases= are {MAX_ALIASES} at most, got {len(kept)}")
    if (longest := max(map(len, kept), default=0)) > MAX_CHARACTERS:
        raise ConfigurationError(
            f"aliases= are of {MAX_CHARACTERS} characters at most, got one of {longest}: they are "
            "other words for the note, such as 'k8s'; what else it says belongs into its text"
        )
    return united(kept)


def check_any_text(name: str, given: object, redact: Redact) -> str:
    """Return a text that may be empty as it is kept."""
    if not isinstance(given, str):
        raise ConfigurationError(f"{name}= is a text, got {given!r}")
    return redact(replace_surrogates(given))


def check_thread_id(given: object) -> str:
    """Return the id of a thread as text."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    if not isinstance(given, str) or not given:
        raise ConfigurationError(f"thread_id= is a non-empty text, got {given!r}")
    return replace_surrogates(given)


def check_turn_id(given: object) -> str | None:
    """Return the id of the message that began a turn as text, if it has one."""
    if isinstance(given, bool) or not isinstance(given, str | int | None):
        raise ConfigurationError(f"turn_id= is the id of a message, got {given!r}")
    return None if given in (None, "") else str(given)


def check_ids(name: str, given: Any, redact: Redact) -> tuple[str, ...]:
    """Return the ids of a sequence; those that are not ids of records are kept without secrets."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    found = tuple(given) if several else (None,)
    if not all(isinstance(id, str) for id in found):
        raise ConfigurationError(f"{name}= is a sequence of ids, got {given!r}")
    texts = map(replace_surrogates, found)
    return tuple(text if _RECORD_ID.fullmatch(text) else redact(text) for text in texts)


def check_one_of(name: str, given: object, choices: Sequence[str]) -> None:
    """Refuse what is not among the choices."""
    if given not in choices:
        raise ConfigurationError(f"{name}= is one of {', '.join(choices)}; got {given!r}")


def check_each_of(name: str, given: object, choices: Sequence[str]) -> None:
    """Refuse anything but a sequence of choices."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigurationError(f"{name}= is a sequence such as ({given!r},), got {given!r}")
    for value in given:
        check_one_of(name, value, choices)


def check_flag(name: str, given: object) -> bool:
    """Return what is true or false."""
    if not isinstance(given, bool):
        raise ConfigurationError(f"{name}= is True or False, got {given!r}")
    return given


def check_unit(name: str, given: object) -> float:
    """Return a number from 0 to 1 as a float: Chroma finds a whole number by other filters."""
    number = isinstance(given, Real) and not isinstance(given, bool)  # also one of numpy's
    if not number or not 0 <= given <= 1:  # type: ignore[operator]  # it is a number
        raise ConfigurationError(f"{name}= is a number from 0 to 1, got {given!r}")
    return float(given)  # type: ignore[arg-type]  # as above


def check_number(name: str, given: object) -> None:
    """Refuse anything but a number, and NaN."""
    real = isinstance(given, Real) and not isinstance(given, bool)
    if not real or math.isnan(given):  # type: ignore[arg-type]  # it is a number
        raise ConfigurationError(f"{name}= is a number, got {given!r}")


def check_count(name: str, given: object, least: int = 0) -> int:
    """Return a whole number of `least` or more."""
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise ConfigurationError(f"{name}= is a whole number of {least} or more, got {given!r}")
    return given


def check_progress(given: object) -> None:
    """Refuse what cannot be called, before the work begins that it would be told of."""
    if given is not None and (not callable(given) or inspect.iscoroutinefunction(given)):
        raise ConfigurationError(
            "on_progress= is a plain function of what is done and of all there is to do, such as "
            f"print; got {given!r}"
        )
