"""What a LangGraph filter means, in one place.

A filter is `{key: condition}`; all conditions must hold. A condition is a value, or operators:
`{"$gt": 3, "$lt": 9}`. The meaning, the same on every path:

- A key with periods that a value does not have as it is, is a path into it, as for `SqliteStore`:
  `{"metadata.project": "x"}` finds `{"metadata": {"project": "x"}}`.
- A missing key is `None`: `{"x": None}` finds items without `x`, `{"x": {"$ne": 1}}` too.
- A dict without operators finds a dict that contains it; a list finds a list of the same length.
- `$gt`, `$gte`, `$lt` and `$lte` compare numbers with numbers and strings with strings (so ISO 8601
  times of one zone compare as times); anything else does not match.
- `$in`, `$nin` and `$exists`, which LangGraph does not have, are understood in an `ExtendedFilter`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph_memory.errors import ConfigurationError

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_CONTRACT = ("$eq", "$ne", *_ORDER)
_EXTENDED = (*_CONTRACT, "$in", "$nin", "$exists")
_MISSING = object()


class ExtendedFilter(dict[str, Any]):
    """A filter that may use three more operators than LangGraph's: `$in`, `$nin` and `$exists`.

    `{"$in": [...]}` finds what equals one of a list, `{"$nin": [...]}` what equals none,
    `{"$exists": True}` what has the key, also if it holds `None`. Other stores do not know them:
    a plain dict, which works on any store, refuses them.

    Example:
        >>> from langgraph_memory import ChromaStore
        >>> with ChromaStore.in_memory() as store:
        ...     store.put(("shop",), "1", {"roast": "dark"})
        ...     store.put(("shop",), "2", {"roast": "light"})
        ...     found = store.search(("shop",), filter=ExtendedFilter(roast={"$in": ["dark"]}))
        ...     [item.key for item in found]
        ['1']
    """


def matches(value: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """Whether a value meets every condition of a filter.

    Raises:
        ConfigurationError: If an operator is met that the filter cannot use.

    Example:
        >>> matches({"kind": "fact", "importance": 0.7}, {"importance": {"$gte": 0.5, "$lt": 0.9}})
        True
    """
    allowed = _allowed(filter)
    return all(_meets(_at(value, key), condition, allowed) for key, condition in filter.items())


def check_filter(filter: Mapping[str, Any]) -> None:
    """Refuse a filter that `matches` would refuse, without a value to try it on.

    Raises:
        ConfigurationError: If the filter uses an operator that it cannot use.
    """
    allowed = _allowed(filter)
    for condition in filter.values():
        _check_condition(condition, allowed)


def _allowed(filter: Mapping[str, Any]) -> Sequence[str]:
    return _EXTENDED if isinstance(filter, ExtendedFilter) else _CONTRACT


def _check_condition(condition: Any, allowed: Sequence[str]) -> None:
    if isinstance(condition, Mapping):
        if _has_operators(condition):
            for name, operand in condition.items():
                _apply(name, None, operand, allowed)
        for inner in condition.values():
            _check_condition(inner, allowed)
    elif _is_list(condition):
        for inner in condition:
            _check_condition(inner, allowed)


def _meets(value: Any, condition: Any, allowed: Sequence[str]) -> bool:
    if isinstance(condition, Mapping):
        if _has_operators(condition):
            return all(_apply(name, value, operand, allowed) for name, operand in condition.items())
        return isinstance(value, Mapping) and all(
            _meets(_at(value, key), inner, allowed) for key, inner in condition.items()
        )
    if _is_list(condition):
        return (
            _is_list(value)
            and len(value) == len(condition)
            and all(
                _meets(mine, theirs, allowed) for mine, theirs in zip(value, condition, strict=True)
            )
        )
    return bool((None if value is _MISSING else value) == condition)


def _at(value: Mapping[str, Any], key: str) -> Any:
    """Return what a value has under a key, or where the path leads that it is."""
    found = value.get(key, _MISSING)
    if found is not _MISSING or not isinstance(key, str) or "." not in key:
        return found
    found = value
    for label in key.split("."):
        found = found.get(label, _MISSING) if isinstance(found, Mapping) else _MISSING
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _has_operators(condition: Mapping[str, Any]) -> bool:
    return any(isinstance(key, str) and key.startswith("$") for key in condition)


def _apply(name: str, value: Any, operand: Any, allowed: Sequence[str]) -> bool:
    if name not in allowed:
        extra = "" if name not in _EXTENDED else "; ExtendedFilter, of ChromaStore only, has it"
        raise ConfigurationError(
            f"unsupported filter operator {name!r}; there are {', '.join(allowed)}{extra}"
        )
    if name == "$eq":
        return _meets(value, operand, allowed)
    if name == "$ne":
        return not _meets(value, operand, allowed)
    if name in ("$in", "$nin"):
        if not _is_list(operand):
            raise ConfigurationError(f"{name} takes a list, got {operand!r}")
        return any(_meets(value, each, allowed) for each in operand) == (name == "$in")
    if name == "$exists":
        if not isinstance(operand, bool):
            raise ConfigurationError(f"$exists takes true or false, got {operand!r}")
        return (value is not _MISSING) == operand
    numbers = isinstance(value, (int, float)) and isinstance(operand, (int, float))
    strings = isinstance(value, str) and isinstance(operand, str)
    return (numbers or strings) and _ORDER[name](value, operand)
