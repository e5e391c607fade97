"""A stored item, its address, and its value as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records import MAX_DEPTH, depth
from langgraph_memory.text import replace_surrogates

T = TypeVar("T")


Namespace = tuple[str, ...]


Address = tuple[Namespace, str]
"""Where an item is: its namespace and its key."""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item with what a search needs of it: its texts, and a vector for each (or none)."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    texts: tuple[str, ...]
    vectors: NDArray[np.float32]
    """Shape `(indexed texts, dimensions)`."""
    order: int = 0
    """Grows from write to write, whatever the clock says."""
    size: int = 0
    """Characters of the value as JSON."""
    ttl: float | None = None
    """Minutes to live after the last put or, where reads refresh it, the last read."""
    expires: float = math.inf
    """When it ended, in seconds since 1970, unless a read has prolonged it since."""
    read: list[Any] = dataclasses.field(default_factory=list, compare=False, repr=False)
    """What its value was last read as, kept by who read it: an item does not change."""


def part_of(namespace: Namespace) -> str:
    """Return a namespace as the metadata value `part`."""
    return json.dumps(list(namespace))


def copy_json(value: T) -> T:
    """Copy a JSON value, so that a caller who changes theirs does not change ours."""
    if isinstance(value, dict):
        return {key: copy_json(inner) for key, inner in value.items()}  # type: ignore[return-value]
    if isinstance(value, (list, tuple)):
        return [copy_json(inner) for inner in value]  # type: ignore[return-value]
    return value


def encode_value(value: Mapping[str, Any]) -> str:
    """Return a value as JSON text.

    Raises:
        ConfigurationError: If it holds something that JSON does not have, or is nested too deeply.
    """
    try:
        if depth(value) > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        return replace_surrogates(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"a store keeps JSON values (dict, list, str, int, float, bool, None): {error}"
        ) from error
