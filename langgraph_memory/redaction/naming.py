"""Where a text names a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langgraph_memory.redaction.words import BARE, KEYS, PASSWORDS, PHRASES, begins_word, names

Span = tuple[int, int]
"""Where a part of a text begins and ends."""

NAMES = names()
"""For texts in lower case."""

_LINE = 150
"""Characters of a line before a name that are looked at."""
_PASSWORDS = frozenset(PASSWORDS)
_PHRASES = frozenset(PHRASES)
_KNOWN = _PASSWORDS | _PHRASES | frozenset(KEYS)
_FOR = re.compile(r"\s(?:for|to|of|on|für|zu|de|del|para|pour|du)\s(?:[^\W_]{1,12}[\s-]){0,3}")
_KATAKANA = re.compile("[ァ-ヶー]")
_IDENTIFIER = "".join(filter(str.isalnum, map(chr, range(128)))) + "_.-"


class Name(NamedTuple):
    """Where a text names a secret."""

    text: str
    lowered: str
    start: int
    end: int
    word: str
    limit: int
    """Where the next name is: there its value has begun."""

    @property
    def is_password(self) -> bool:
        """Whether its value may be any word."""
        if self.word in _PASSWORDS:
            return True
        return self.is_variable if self.word == "secret" else self.is_queried

    @property
    def is_phrase(self) -> bool:
        """Whether its value is a row of words."""
        return self.word in _PHRASES

    @property
    def line(self) -> int:
        """Where its line begins, unless that is far away."""
        low = max(0, self.start - _LINE)
        return max(low, self.text.rfind("\n", low, self.start) + 1)

    @property
    def begin(self) -> int:
        """Where the identifier begins that it is part of."""
        before = self.text[max(self.line, self.start - 60) : self.start]
        return self.start - len(before) + len(before.rstrip(_IDENTIFIER))

    @property
    def is_word(self) -> bool:
        """Whether it stands in a sentence, and not in an address or an expression."""
        return self.begin == 0 or self.text[self.begin - 1] not in "/=?&.$@\\"

    @property
    def is_queried(self) -> bool:
        """Whether it is a key or token among the parameters of a URL."""
        before = self.text[max(0, self.begin - 1) : self.begin]
        return before in ("?", "&") and self.word not in BARE

    @property
    def is_variable(self) -> bool:
        """Whether it is part of a name of the environment, such as `DB_PASSWORD`."""
        identifier = self.text[self.begin : self.end]
        return identifier.isupper() and self.text[self.end : self.end + 1] == "="

    @property
    def least(self) -> int:
        """How long its value is at least, where words of other meanings are not to be taken."""
        bare = self.word == "key" or self.begin == self.start
        return 20 if bare and self.word in BARE else 6


def names_secret(text: str) -> bool:
    """Whether a text has the name of a secret anywhere in it."""
    return NAMES.search(lower(text)) is not None


def names_in(text: str) -> Iterator[Name]:
    """Yield where a text names secrets, in order."""
    lowered = lower(text)
    found: list[re.Match[str]] = []
    for match in NAMES.finditer(lowered):
        if _is_name(text, match) and not (found and _is_purpose(found[-1], match)):
            found.append(match)
    limits = [*(match.start() for match in found), len(text)]
    for match, limit in zip(found, limits[1:], strict=True):
        yield Name(text, lowered, match.start(), match.end(), known(match.group()), limit)


def _is_purpose(name: re.Match[str], other: re.Match[str]) -> bool:
    """Whether a word only says what a password is for: that of my SSH key."""
    between = other.string[name.end() : other.start()][:40]
    return known(other.group()) in BARE and _FOR.fullmatch(between) is not None


def lower(text: str) -> str:
    """Return a text in lower case, with each character in its place."""
    return text.replace("\u0130", "I").lower()  # the only one that is longer in lower case


def known(found: str) -> str:
    """Return the name that was found, without what identifiers and plurals have after it."""
    while found not in _KNOWN:
        found = found[:-1]
    return found


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word is a name: no part of another word, or of a mark."""
    if not begins_word(text, match.start(), known(match.group())):
        return False
    if text[max(0, match.start() - 7) : match.start() - 1].lower() == "public":
        return False
    if match.group() == "パス" and _KATAKANA.match(text, match.end()):
        return False  # a passport, say
    before = text[max(0, match.start() - 18) : match.start()]
    return before.rfind("[redacted ") <= before.rfind("]")
