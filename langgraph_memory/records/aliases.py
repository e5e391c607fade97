"""The other words of a note: short ways to say it, or to ask for it. Pure.

They are searched and never shown. So what a model proposes may be worded freely, but must not add
facts: numbers, names or days that are not in what was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from langgraph_memory.records.records import normalise
from langgraph_memory.redaction import Redact
from langgraph_memory.text import HAN, KANA, clean, has_number, has_time

MAX_ALIASES = 10
"""Of a note: all of them share one vector."""
MAX_CHARACTERS = 200
"""Of an alias: it says a note in other words, and is not a note itself."""
MAX_PROPOSED = 5
"""Taken of what a model proposes for one note."""

_PROPOSED_CHARACTERS = 80
_PROPOSED_WORDS = 12

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_I = re.compile(r"i(?:['’]\w+)?")
_CJK = KANA + HAN
_SIGN = re.compile(f"[{_CJK}]")
# What asks for a number or a day gives none, and "k8s" and "i18n" are words.
_NO_FACT = re.compile(
    "(?:星期|礼拜|禮拜)?[几幾数數몇]|(?<![A-Za-z0-9])[A-Za-z]{1,3}[0-9]{1,2}[A-Za-z]*(?![0-9])"
)
_GERMAN = re.compile(r"\b(?:der|das|eine?|ist|wer|wie|wann|welche[rsn]?|meine?|nutzer(?:in)?)\b")


def united(*groups: Iterable[str]) -> tuple[str, ...]:
    """Return the aliases of several texts that say the same, each once; the first ones stay.

    Example:
        >>> united(("k8s",), ("K8S", "the cluster"))
        ('k8s', 'the cluster')
    """
    distinct: dict[str, str] = {}
    for group in groups:
        for alias in group:
            distinct.setdefault(normalise(alias), alias)
    return tuple(distinct.values())[:MAX_ALIASES]


def proposed(given: object, said: Sequence[str], redact: Redact) -> tuple[str, ...]:
    """Return, of what a model gives as aliases, those that bring no facts of their own.

    Args:
        given: A list, or whatever the model made of it.
        said: The note, and the words that it rests on.
        redact: Takes secrets out of a text.

    Example:
        >>> given = ["What is in my coffee?", "drinks oat milk", "Buys milk at 9", "For my Anna"]
        >>> proposed(given, ["Drinks oat milk."], redact=str)
        ('What is in my coffee?', 'drinks oat milk')
    """
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list):
        return ()
    texts = (redact(clean(each)) for each in given if isinstance(each, str))
    told = set(map(normalise, said))
    new = (text for text in texts if _is_short(text) and normalise(text) not in told)
    return united(text for text in new if not _adds_facts(text, "\n".join(said)))[:MAX_PROPOSED]


def _is_short(text: str) -> bool:
    if not any(map(str.isalnum, text)) or "[redacted" in text:
        return False
    return len(text) <= _PROPOSED_CHARACTERS and len(_WORD.findall(text)) <= _PROPOSED_WORDS


def _adds_facts(text: str, said: str) -> bool:
    """Whether a text has a number, a day or a name that was not said."""
    new = _NO_FACT.sub(" ", _not_in(text, said))
    return has_number(new) or has_time(new) or any(_names(text, said))


def _not_in(text: str, said: str) -> str:
    """Return a text without the words, and the Chinese characters, that were said."""
    known = set(_words(said))
    rest = _WORD.sub(lambda word: " " if word[0].casefold() in known else word[0], text)
    return _SIGN.sub(lambda sign: " " if sign[0] in said else sign[0], rest)


def _names(text: str, said: str) -> Iterator[str]:
    """Yield the words that are written as a name inside a text, and were not said.

    In German each noun is, so it says nothing there.
    """
    if _GERMAN.search(said.casefold()) or _GERMAN.search(text.casefold()):
        return
    known = set(_words(said))
    for word in list(_WORD.finditer(text))[1:]:
        folded = word[0].casefold()
        if word[0][0].isupper() and folded not in known and not _I.fullmatch(folded):
            yield word[0]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
