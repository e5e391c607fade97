"""Secrets out of JSON: a value is read beside its name, as a text would say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langgraph_memory.redaction.naming import names_secret


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
