"""Text that UTF-8 can hold."""

from __future__ import annotations


def replace_surrogates(text: str) -> str:
    """Return `text` with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean(text: str) -> str:
    """Return a text of an answer as it can be stored."""
    return replace_surrogates(text).strip()
