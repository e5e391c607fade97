"""How many tokens a text has: about, or as the model itself counts."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from math import ceil
from typing import Any, Protocol

from langgraph_memory.errors import ConfigurationError

logger = logging.getLogger(__name__)

WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]")
"""Characters of which each is about a token."""


class CountingModel(Protocol):
    """A model that counts tokens; LangChain's chat models do."""

    def get_num_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""


CountTokens = Callable[[str], int] | CountingModel
"""A function that counts the tokens of a text, or a chat model, which can."""


def approximate_tokens(text: str) -> int:
    """Return about how many tokens a text has: a wide character is one, four others are one.

    Example:
        >>> approximate_tokens("ground for a moka pot"), approximate_tokens("摩卡壶")
        (6, 3)
    """
    return ceil(quarter_tokens(text) / 4)


def quarter_tokens(text: str) -> int:
    """Return four times as much, not rounded: of two texts together it is the sum of theirs."""
    return len(text) + 3 * len(WIDE.findall(text))


def check_counter(given: object) -> None:
    """Refuse what counts nothing."""
    if not (given is None or callable(given) or hasattr(given, "get_num_tokens")):
        raise ConfigurationError(
            "count_tokens= is a chat model or a function of a text that returns its number of "
            f"tokens; got {given!r}"
        )


def counter_of(given: CountTokens | None) -> Callable[[str], int]:
    """Return how to count; where that fails it is logged, and counted about from then on."""
    if given is None:
        return approximate_tokens
    count: Any = getattr(given, "get_num_tokens", None) or given
    failed = False

    def counted(text: str) -> int:
        nonlocal failed
        if failed:
            return approximate_tokens(text)
        try:
            return int(count(text))
        except Exception as error:  # noqa: BLE001  # whatever a tokenizer raises, or lacks
            failed = True
            logger.warning("tokens could not be counted; their number is guessed: %r", error)
            return approximate_tokens(text)

    return counted
