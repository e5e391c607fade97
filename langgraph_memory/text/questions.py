"""Whether a text asks, by its question marks. Pure."""

from __future__ import annotations

import re

QUESTION_MARKS = ("?", "？", "؟")

_QUESTION_MARK = re.compile("[?？؟]")
_ENDS_ASKING = re.compile(r"[?？؟][\"'”’)\]*_\s]*\Z")


def has_question(text: str) -> bool:
    """Whether a text has a question mark."""
    return _QUESTION_MARK.search(text) is not None


def ends_asking(text: str) -> bool:
    """Whether a text ends with a question mark; quotes and brackets may close behind it.

    Example:
        >>> ends_asking('She asked: "When?"'), ends_asking("When? At nine.")
        (True, False)
    """
    return _ENDS_ASKING.search(text) is not None
