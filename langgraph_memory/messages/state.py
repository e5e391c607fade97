"""A field of a graph's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def field_of(state: Any, name: str) -> Any:
    """Return a field of a state or a context, a mapping or an object; `None` if it has none."""
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)
