"""A text held to a number of words, in any script. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
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
