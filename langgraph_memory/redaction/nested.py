"""Secrets out of JSON: a value is read beside its name, as a text would say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
    kept = _beside(name, text, redact) if name else redact(text)
    return value if kept == text else kept


def _beside(name: str, text: str, redact: Callable[[str], str]) -> str:
    before = redact(f"{name}: ")
    said = redact(f"{name}: {text}")
    return said.removeprefix(before) if said.startswith(before) else redact(text)
