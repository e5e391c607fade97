"""What a readable record is: decided here alone, before anything is made of a stored value. Pure.

A user's namespace may hold what other code put there, or what was damaged since. Such a row is
passed over as if it were not there, told of once, and listed by `doctor`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records.clock import as_utc
from langgraph_memory.records.owners import RecordType, owner_of
from langgraph_memory.records.records import KINDS, OUTCOMES, RECORD_CLASSES, SPEAKERS, STATUSES

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
