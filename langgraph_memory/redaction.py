"""Secrets out of a text, before it is embedded, stored or sent to a model."""

from __future__ import annotations

import re
from collections.abc import Callable

Redact = Callable[[str], str]
"""Takes secrets out of a text."""

_SECRETS = (
    (
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    ),
    ("token", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    ("key", r"\b(?:sk|pk|rk)[-_](?=[\w-]*\d)[\w-]{16,}"),
    ("key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("key", r"\bAIza[\w-]{35}"),
    ("token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,})"),
    ("token", r"\bxox[abprs]-[\w-]{10,}"),
    ("token", r"(?<=\b[Bb]earer )(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}"),
    ("password", r"(?<=://)[^\s/:@]*:[^\s/@]+(?=@)"),
)
# ASCII, so that a secret ends where Chinese text goes on.
_PATTERNS = [(name, re.compile(pattern, re.ASCII)) for name, pattern in _SECRETS]
_NAMED = re.compile(
    r"((?:passwd|passphrase|api[ _-]?key|secret[ _-]?(?:access[ _-]?)?key"
    r"|(?:access|auth)[ _-]?token|client[ _-]?secret|密码|口令"
    r"|passwor[dt]|kennwort|contraseña|mot de passe|senha|пароль|パスワード|비밀번호)"
    r"[\"'`*_]{0,3}\s*(?:is\b|是|为|[:=：]>?)[*_]{0,3}+\s*+)(?!\[redacted)"  # also **bold**
    r"(?:\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|[^\s,;，。；]+)",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<!\d)(?<!\d\.)\d+(?:[ -]\d+)*(?![\d])")
_CARD_DIGITS = range(13, 20)


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
    return _DIGITS.sub(_redact_cards, text)


def no_redaction(text: str) -> str:
    """Return a text as it is."""
    return text


def _redact_cards(match: re.Match[str]) -> str:
    """Replace what is a card number among groups of digits that stand together."""
    parts = re.split(r"([ -])", match.group())  # groups at even places, separators between
    i = 0
    while i < len(parts):
        longest = i + 2 * _CARD_DIGITS.stop  # a digit in each group at least
        for end in range(min(len(parts), longest - 1), i, -2):
            if _is_card("".join(parts[i:end:2])):
                parts[i:end] = ["[redacted card number]"]
                break
        i += 2
    return "".join(parts)


def _is_card(digits: str) -> bool:
    """Whether digits pass Luhn's check (ISO/IEC 7812-1): of order numbers few do, cards all."""
    if len(digits) not in _CARD_DIGITS or digits[0] not in "23456":
        return False
    doubled = (sum(divmod(2 * int(d), 10)) if i % 2 else int(d) for i, d in enumerate(digits[::-1]))
    return sum(doubled) % 10 == 0
