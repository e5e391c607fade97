"""How long a text is, in tokens and in words, and how it is cut to a number of words."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, Protocol

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.text.chinese import HAN, HANGUL, KANA, WIDE

logger = logging.getLogger(__name__)


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


_SPACELESS = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{KANA}{HAN}{HANGUL}"


_SIGN = re.compile(f"[{_SPACELESS}]")


_LETTER = re.compile(r"\w")


_LONGEST_WORD = 20  # characters; what is longer is counted as several words


_SENTENCE = re.compile(
    r".+?(?:[。！？；…]++[”’」』）]*+|(?<![.!?;])[.!?;]++[\"'”’)\]]*+(?=\s|\Z)|\n|\Z)\s*+",
    re.DOTALL,
)


def count_words(text: str) -> int:
    """Return how many words a text has; two signs of a script without spaces count as one.

    Example:
        >>> count_words("A kilo of Colombia."), count_words("一公斤哥伦比亚咖啡豆")
        (4, 5)
    """
    lengths = [(len(word), _LETTER.search(word)) for word in _SIGN.sub(" ", text).split()]
    words = sum(ceil(n / _LONGEST_WORD) if letter else n // _LONGEST_WORD for n, letter in lengths)
    return words + ceil(len(_SIGN.findall(text)) / 2)


def shortened(text: str, max_words: int) -> str:
    """Return a text that has at most so many words, cut at the end of a sentence if there is one.

    Example:
        >>> shortened("Ana likes tea. She lives in Lima, near the sea.", 5)
        'Ana likes tea.'
    """
    if count_words(text) <= max_words:
        return text
    cut = _fitting([match[0] for match in _SENTENCE.finditer(text)], max_words)
    return cut if count_words(cut) else _fitting(_pieces(text), max_words) + " …"


def _pieces(text: str) -> list[str]:
    return re.findall(rf"[{_SPACELESS}]\s*|[^\s{_SPACELESS}]{{1,{_LONGEST_WORD}}}\s*|\s+", text)


def _fitting(parts: Sequence[str], max_words: int) -> str:
    """Return as many parts from the first on as have together at most so many words."""
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high + 1) // 2
        if count_words("".join(parts[:middle])) <= max_words:
            low = middle
        else:
            high = middle - 1
    return "".join(parts[:low]).strip()
