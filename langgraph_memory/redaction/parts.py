"""Secrets out of JSON, and out of a text in parts, such as the blocks of a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langgraph_memory.redaction.naming import names_secret


def redacted_parts(parts: Sequence[str], redact: Callable[[str], str]) -> list[str]:
    """Return as many parts without secrets, also where two of them tell one, or hold one half each.

    Example:
        >>> from langgraph_memory.redaction import redact_secrets
        >>> redacted_parts(["My password is", "hunter2", "Bye"], redact_secrets)
        ['My password is', '[redacted]', 'Bye']
    """
    kept = [redact(part) for part in parts]
    for between in ("\n", ""):
        for i in range(len(kept) - 1):
            kept[i : i + 2] = _across(kept[i : i + 2], between, redact)
        kept = _across(kept, between, redact)
    return kept


def redacted_blocks(blocks: list[Any], redact: Callable[[str], str]) -> list[Any]:
    """Return the blocks of a message without secrets in their texts, or the list as it is.

    Example:
        >>> from langgraph_memory.redaction import redact_secrets
        >>> redacted_blocks(["My password is", {"type": "text", "text": "hunter2"}], redact_secrets)
        ['My password is', {'type': 'text', 'text': '[redacted]'}]
    """
    told = {i: text for i, block in enumerate(blocks) if (text := _text_in(block))}
    kept = dict(zip(told, redacted_parts([*told.values()], redact), strict=True))
    if kept == told:
        return blocks
    return [
        block if kept.get(i) == told.get(i) else _with_text(block, kept[i])
        for i, block in enumerate(blocks)
    ]


def _text_in(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) else block
    return text if isinstance(text, str) else ""


def _with_text(block: Any, text: str) -> Any:
    return {**block, "text": text} if isinstance(block, dict) else text


def _across(parts: list[str], between: str, redact: Callable[[str], str]) -> list[str]:
    """Return the parts of one text, in which all goes from the first secret to the last."""
    whole = between.join(parts)
    said = redact(whole)
    if said == whole:
        return parts
    start = _in_common(whole, said)
    room = min(len(whole), len(said)) - start
    same = min(room, _in_common(whole[::-1], said[::-1]))
    mark, stop = said[start : len(said) - same], len(whole) - same
    kept, begin = [], 0
    for part in parts:
        end = begin + len(part)
        low, high = (min(max(place - begin, 0), len(part)) for place in (start, stop))
        here = low < high  # the mark stands in the first part that loses something
        kept.append(part[:low] + (mark if here else "") + part[high:])
        mark = "" if here else mark
        begin = end + len(between)
    return kept


def _in_common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


# -- JSON: a value is read beside its name, as a text would say it ---------------------------------


def redacted(value: Any, redact: Callable[[str], str], name: str = "") -> Any:
    """Return a JSON value without secrets in its keys, its texts and its numbers.

    Args:
        value: What JSON can hold.
        redact: Takes secrets out of a text.
        name: What the value is called, which may tell what it is.

    Example:
        >>> from langgraph_memory.redaction import redact_secrets
        >>> redacted({"db": {"password": "hunter2", "port": 5432}}, redact_secrets)
        {'db': {'password': '[redacted]', 'port': 5432}}
    """
    if isinstance(value, dict):
        return {redact(key): redacted(each, redact, key) for key, each in value.items()}
    if isinstance(value, list):
        return [redacted(each, redact, name) for each in value]
    if value is None or isinstance(value, bool | float):
        return value
    text = str(value)
    kept = beside(name, text, redact)
    return value if kept == text else kept


def beside(name: str, text: str, redact: Callable[[str], str]) -> str:
    """Return a text without secrets, of which its name may tell that it is one."""
    kept = redact(text)
    if not names_secret(name):
        return kept
    before, said = redact(f"{name}: "), redact(f"{name}: {kept}")
    return said.removeprefix(before) if said.startswith(before) else kept
