"""What a LangGraph filter means, in one place.

A filter is `{key: condition}`; all conditions must hold. A condition is a value, or operators:
`{"$gt": 3, "$lt": 9}`. The meaning, the same on every path:

- A missing key is `None`: `{"x": None}` finds items without `x`, `{"x": {"$ne": 1}}` too.
- A dict without operators finds a dict that contains it; a list finds a list of the same length.
- `$gt`, `$gte`, `$lt` and `$lte` compare numbers with numbers and strings with strings (so ISO 8601
  times of one zone compare as times); anything else does not match.
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


def matches(value: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """Whether a value meets every condition of a filter.

    Raises:
        ConfigurationError: If an operator that LangGraph does not have is met.

    Example:
        >>> matches({"kind": "fact", "importance": 0.7}, {"importance": {"$gte": 0.5, "$lt": 0.9}})
        True
    """
    return all(_meets(value.get(key), condition) for key, condition in filter.items())


def check_filter(filter: Mapping[str, Any]) -> None:
    """Refuse a filter that `matches` would refuse, without a value to try it on.

    Raises:
        ConfigurationError: If the filter uses an operator that LangGraph does not have.
    """
    for condition in filter.values():
        _check_condition(condition)


def _check_condition(condition: Any) -> None:
    if isinstance(condition, Mapping):
        if _has_operators(condition):
            for name, operand in condition.items():
                _apply(name, None, operand)
        for inner in condition.values():
            _check_condition(inner)
    elif _is_list(condition):
        for inner in condition:
            _check_condition(inner)


def _meets(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if _has_operators(condition):
            return all(_apply(name, value, operand) for name, operand in condition.items())
        return isinstance(value, Mapping) and all(
            _meets(value.get(key), inner) for key, inner in condition.items()
        )
    if _is_list(condition):
        return (
            _is_list(value)
            and len(value) == len(condition)
            and all(_meets(mine, theirs) for mine, theirs in zip(value, condition, strict=True))
        )
    return bool(value == condition)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _has_operators(condition: Mapping[str, Any]) -> bool:
    return any(isinstance(key, str) and key.startswith("$") for key in condition)


def _apply(name: str, value: Any, operand: Any) -> bool:
    if name == "$eq":
        return _meets(value, operand)
    if name == "$ne":
        return not _meets(value, operand)
    compare = _ORDER.get(name)
    if compare is None:
        raise ConfigurationError(
            f"unsupported filter operator {name!r}; there are $eq, $ne, $gt, $gte, $lt and $lte"
        )
    numbers = isinstance(value, (int, float)) and isinstance(operand, (int, float))
    strings = isinstance(value, str) and isinstance(operand, str)
    return (numbers or strings) and compare(value, operand)
