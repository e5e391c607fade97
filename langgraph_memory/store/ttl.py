"""How long an item may live."""

from __future__ import annotations

from typing import Any

from langgraph_memory.errors import ConfigurationError

LONGEST = 1e300
"""Minutes that an item can be given to live: the end of a longer life is no finite number."""


def check_ttl(minutes: Any) -> None:
    """Refuse anything but a time to live.

    Raises:
        ConfigurationError: If it is not a positive number of minutes, `LONGEST` at most.
    """
    number = isinstance(minutes, (int, float)) and not isinstance(minutes, bool)
    if not number or not 0 < minutes <= LONGEST:
        raise ConfigurationError(
            f"ttl is a number of minutes above 0 and up to {LONGEST:g}, got {minutes!r}"
        )
