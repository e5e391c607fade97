"""What a record may be made of: arguments as they are given, and values as they were stored.

An argument is refused, with a message that names it, or returned as it is kept.

Whether a stored value is a readable record is decided here alone, before anything is made of it. A
user's namespace may hold what other code put there, or what was damaged since. Such a row is passed
over as if it were not there, logged once, and listed by `doctor`.
"""

from __future__ import annotations

import inspect
import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from functools import cache
from numbers import Real
from typing import Any, NamedTuple

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records.clock import as_utc
from langgraph_memory.records.owners import RecordType, owner_of
from langgraph_memory.records.records import (
    KINDS,
    OUTCOMES,
    RECORD_CLASSES,
    SPEAKERS,
    STATUSES,
    normalise,
)
from langgraph_memory.redaction import Redact
from langgraph_memory.text import replace_surrogates

MAX_ALIASES = 10
"""Of a note: all of them share one vector."""
MAX_ALIAS_CHARACTERS = 200
"""Of an alias: it says a note in other words, and is not a note itself."""

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
    if (longest := max(map(len, kept), default=0)) > MAX_ALIAS_CHARACTERS:
        raise ConfigurationError(
            f"aliases= are of {MAX_ALIAS_CHARACTERS} characters at most, got one of {longest}: "
            "they are other words for the note, such as 'k8s'; what else it says belongs "
            "into its text"
        )
    return united(kept)


def united(*groups: Iterable[str]) -> tuple[str, ...]:
    """Return the aliases of several texts that say the same, each once; the first ones stay.

    Example:
        >>> united(("k8s",), ("K8S", "the cluster"))
        ('k8s', 'the cluster')
    """
    distinct: dict[str, str] = {}
    for group in groups:
        for alias in group:
            distinct.setdefault(normalise(alias), alias)
    return tuple(distinct.values())[:MAX_ALIASES]


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


# -- stored values ---------------------------------------------------------------------------------


logger = logging.getLogger(__name__)

MAX_DEPTH = 256
"""How deeply a value may be nested: Python reads no more than some hundred levels."""

_MOST_TOLD = 10_000
"""Namespaces that are kept in mind as told of; after so many, they are told of again."""

Flaw = str | None
"""What is wrong with a value, in words that tell nothing of its content; `None` if nothing is."""


def flaw(type: RecordType, value: Any) -> Flaw:
    """Return what keeps a stored value from being read as a record; `None` if nothing does.

    Fields that a later version added are passed over, and so are those that are missing and have a
    default.

    Args:
        type: What the record should be.
        value: What a store holds.

    Example:
        >>> flaw("note", {"text": "Ana is vegan", "importance": None})
        'importance is None'
    """
    if not isinstance(value, Mapping):
        return f"the value is {_kind(value)}"
    for name, check in _checks(type).fields.items():
        if name in value and (wrong := check(value[name])) is not None:
            return f"{name} {wrong}"
    for name in _checks(type).required:
        if name not in value:
            return f"{name} is missing"
    return None


def flaw_in(namespace: tuple[str, ...], value: Any) -> Flaw:
    """Return what is wrong with a value in a namespace; nothing is where no records lie."""
    owned = owner_of(namespace)
    return None if owned is None else flaw(owned[1], value)


def tell_once(where: str, key: object, wrong: str) -> None:
    """Log that a row is passed over: for each place once in a process, whatever else lies there.

    Args:
        where: The namespace, as `part` in Chroma has it.
        key: Of the item.
        wrong: What is wrong with it.
    """
    if where in _told:
        return
    if len(_told) >= _MOST_TOLD:
        _told.clear()
    _told.add(where)
    logger.warning(
        "passed over a row that holds no readable record: %s in %s: %s; "
        "store.delete(namespace, key) removes it. There may be more there: doctor lists them all",
        repr(key)[:80],
        where[:200],
        wrong,
    )


_told: set[str] = set()


def depth(value: Any, level: int = 0) -> int:
    """Return how deeply a JSON value is nested; beyond `MAX_DEPTH` it is not looked at."""
    if level > MAX_DEPTH or not isinstance(value, (dict, list, tuple)):
        return level
    inner = value.values() if isinstance(value, dict) else value
    return max((depth(each, level + 1) for each in inner), default=level + 1)


# -- fields --


def _kind(value: Any) -> str:
    return "None" if value is None else f"of the type {type(value).__name__}"


def _text(value: Any) -> Flaw:
    return None if isinstance(value, str) else f"is {_kind(value)}"


def _flag(value: Any) -> Flaw:
    return None if isinstance(value, bool) else f"is {_kind(value)}"


def _count(value: Any) -> Flaw:
    if not isinstance(value, int) or isinstance(value, bool):
        return f"is {_kind(value)}"
    return None if abs(value) < 2**31 else "is out of bounds"  # a column has four bytes for it


def _number(value: Any) -> Flaw:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return f"is {_kind(value)}"
    return None if abs(value) < 2**63 else "is out of bounds"  # and so is NaN


def _time(value: Any) -> Flaw:
    if not isinstance(value, str):
        return f"is {_kind(value)}"
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return "is no ISO 8601 time"
    if moment.tzinfo is None:
        return "has no time zone"
    if not 1 < moment.year < 9999:
        try:
            as_utc(moment)
        except ConfigurationError:
            return "is outside the years 1 to 9999 in UTC"
    return None


def _one_of(*known: str) -> Callable[[Any], Flaw]:
    def check(value: Any) -> Flaw:
        if value in known:
            return None
        return "is an unknown one" if isinstance(value, str) else f"is {_kind(value)}"

    return check


def _texts(value: Any) -> Flaw:
    if not isinstance(value, (list, tuple)):
        return f"is {_kind(value)}"
    return (
        None if all(isinstance(each, str) for each in value) else "holds something else than texts"
    )


def _mapping(value: Any) -> Flaw:
    if not isinstance(value, Mapping):
        return f"is {_kind(value)}"
    return "is nested too deeply" if value and depth(dict(value)) > MAX_DEPTH else None


def _counts(value: Any) -> Flaw:
    if not isinstance(value, Mapping):
        return f"is {_kind(value)}"
    return next(filter(None, map(_number, value.values())), None)


def _replaced(value: Any) -> Flaw:
    """Check what a note keeps of earlier states of itself: parts of its own value."""
    if not isinstance(value, (list, tuple)):
        return f"is {_kind(value)}"
    for each in value:
        if not isinstance(each, Mapping) or not all(
            isinstance(each.get(name), str) for name in ("change", "action")
        ):
            return "holds something else than changes"
        for name, check in _checks("note").fields.items():
            if name in each and (wrong := check(each[name])) is not None:
                return f"holds a change in which {name} {wrong}"
    return None


def _or_none(check: Callable[[Any], Flaw]) -> Callable[[Any], Flaw]:
    return lambda value: None if value is None else check(value)


_BY_ANNOTATION: dict[str, Callable[[Any], Flaw]] = {
    "str": _text,
    "bool": _flag,
    "int": _count,
    "float": _number,
    "datetime": _time,
    "tuple[str, ...]": _texts,
    "tuple[Mapping[str, Any], ...]": _replaced,
    "Mapping[str, Any]": _mapping,
    "Mapping[str, int]": _counts,
    "Kind": _one_of(*KINDS),
    "Status": _one_of(*STATUSES),
    "Speaker": _one_of(*SPEAKERS),
    "Outcome": _one_of(*OUTCOMES),
    "str | None": _or_none(_text),
    "int | None": _or_none(_number),
    "float | None": _or_none(_number),
    "datetime | None": _or_none(_time),
}


class _Checks(NamedTuple):
    """How the fields of a type of records are checked, and which have to be there."""

    fields: Mapping[str, Callable[[Any], Flaw]]
    required: tuple[str, ...]


@cache
def _checks(type: RecordType) -> _Checks:
    stored = [f for f in fields(RECORD_CLASSES[type]) if f.name not in ("id", "owner")]
    return _Checks(
        {f.name: _BY_ANNOTATION[str(f.type)] for f in stored},
        tuple(f.name for f in stored if f.default is MISSING and f.default_factory is MISSING),
    )
