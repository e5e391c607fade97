"""What filters and namespace conditions mean: the contract as plain functions.

- A missing key is `None`.
- A dict in a filter finds a dict that contains it; a list finds a list of the same length, element
  by element; all else is equal as in JSON, where `1` is `1.0` and `true` is no number.
- `$gt`, `$gte`, `$lt` and `$lte` compare numbers with numbers and text with text, which covers ISO
  8601 times; anything else does not match.
- Several keys, and several operators of one key, must all hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph.store.base import ListNamespacesOp, MatchCondition

Namespace = tuple[str, ...]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def meets_filter(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether a value meets all conditions of a filter.

    Raises:
        ValueError: If the filter has an operator that LangGraph does not have.

    Example:
        >>> meets_filter({"n": 9, "tags": ["a"]}, {"n": {"$gt": 3, "$lt": 10}, "tags": ["a"]})
        True
    """
    return _all(_meets(value.get(key), wanted) for key, wanted in (filter or {}).items())


def _all(conditions: Iterable[bool]) -> bool:
    """Whether all hold; each is looked at, since an unknown operator is an error in any case."""
    return min(conditions, default=True)


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return _all(_applies(name, value, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and _all(
            _meets(value.get(key), inner) for key, inner in wanted.items()
        )
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(wanted)
            and all(_meets(mine, theirs) for mine, theirs in zip(value, wanted, strict=True))
        )
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _applies(name: str, value: Any, operand: Any) -> bool:
    if name == "$eq":
        return _meets(value, operand)
    if name == "$ne":
        return not _meets(value, operand)
    if name not in _ORDER:
        raise ValueError(
            f"got the filter operator {name!r}; there are $eq, $ne, $gt, $gte, $lt and $lte"
        )
    comparable = all(map(_is_number, (value, operand))) or all(
        isinstance(each, str) for each in (value, operand)
    )
    return comparable and _ORDER[name](value, operand)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def choose_namespaces(namespaces: set[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return those that meet all conditions, cut to the depth, each once, sorted, one page.

    Example:
        >>> op = ListNamespacesOp((MatchCondition("prefix", ("a", "*")),), max_depth=2)
        >>> choose_namespaces({("a",), ("a", "b", "c"), ("a", "b", "d"), ("b", "b")}, op)
        [('a', 'b')]
    """
    conditions = op.match_conditions or ()
    found = {
        namespace[: op.max_depth]
        for namespace in namespaces
        if all(_meets_condition(namespace, condition) for condition in conditions)
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def _meets_condition(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    labels = namespace[start : start + len(path)]
    return all(want in ("*", label) for want, label in zip(path, labels, strict=True))
