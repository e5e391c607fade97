"""Secrets out of a text, before it is embedded, stored or sent to a model."""

from __future__ import annotations

import re

_SECRETS = (
    (
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    ),
    ("token", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    ("key", r"\b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9_-]{16,}"),
    ("key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("key", r"\bAIza[\w-]{35}"),
    ("token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,})"),
    ("token", r"\bxox[abprs]-[\w-]{10,}"),
)
_NAMED = re.compile(
    r"((?:password|passwd|passphrase|api[ _-]?key|secret[ _-]?key|access[ _-]?token|密码|口令)"
    r"\s*(?:is\b|是|为|[:=：])\s*)(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s,;，。；]+)",
    re.IGNORECASE,
)
_PATTERNS = [(name, re.compile(pattern)) for name, pattern in _SECRETS]
_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")


def redact_secrets(text: str) -> str:
    """Replace keys, tokens, passwords and card numbers by what they are.

    A guard against the common forms, not a proof: a secret that looks like a word passes.

    Example:
        >>> redact_secrets("my password is hunter2, thanks")
        'my password is [redacted], thanks'
        >>> redact_secrets("use AKIAIOSFODNN7EXAMPLE please")
        'use [redacted key] please'
    """
    for name, pattern in _PATTERNS:
        text = pattern.sub(f"[redacted {name}]", text)
    text = _NAMED.sub(r"\1[redacted]", text)
    return _CARD.sub(_redact_card, text)


def no_redaction(text: str) -> str:
    """Return a text as it is."""
    return text


def _redact_card(match: re.Match[str]) -> str:
    digits = [int(char) for char in match.group() if char.isdigit()]
    # Luhn's check (ISO/IEC 7812-1): an order number rarely passes, a card number always does.
    doubled = [sum(divmod(2 * d, 10)) if i % 2 else d for i, d in enumerate(reversed(digits))]
    return "[redacted card number]" if sum(doubled) % 10 == 0 else match.group()
