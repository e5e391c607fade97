"""Values that a sentence tells: "my password was ...", "set it to ...", "... is my password"."""

from __future__ import annotations

import re

from langgraph_memory.redaction.assigned import is_prose
from langgraph_memory.redaction.looks import (
    CLOSERS,
    EAST,
    WORD,
    group_span,
    is_code,
    is_like_key,
    is_like_password,
    is_placeholder,
    is_row,
    is_strong,
    trimmed,
)
from langgraph_memory.redaction.naming import ASSIGNED, BARE, COMPOUNDS, Extent, Name

_AFTER = 120
"""Characters after a name in which its value is looked for."""
_BEFORE = 60
_LONG_KEY = 20
_TOLD = 200
"""Characters of a value in a sentence at most."""
_CLOSED = re.compile(CLOSERS)
_BE = (
    "is was are be been being becomes became equals now its it's it’s that's that’s still "
    "currently stays remains reads es era será fue sea sigue siendo ahora c'est c’est est était "
    "sera reste maintenant ist war lautet lautete heißt heisst hieß sei wäre jetzt nun bleibt é "
    "foi era será agora è sarà ora это был была будет теперь هي هو كان called = : - – — ："
)
_TO = "to as a à en por par pour auf zu in into con para per на в with"
_ADVERBS = (
    "now still just simply currently probably always actually previously formerly today again the "
    "jetzt nun noch bisher früher immer aktuell derzeit vorher das ahora antes siempre actualmente "
    "maintenant toujours avant désormais actuellement le ancora"
)
_IS = re.compile(
    rf"(?:(?<![^\W\d_])(?:{'|'.join(map(re.escape, sorted(_BE.split(), key=len, reverse=True)))})"
    rf"(?:\s+(?:{'|'.join(_ADVERBS.split())}))?"
    r"|['’]s|[是为為成到即叫了用作就は가는은를을がをに：:=＝→—–-])\s*$"
)
_FROM = re.compile(r"(?<![^\W\d_])(?:from|de|von|desde|depuis|da)\s*$|[从從把]\s*$")
_ONWARD = re.compile(
    r"[\s\"'”»」]{0,3}(?:to|into|a|en|à|auf|zu|zum|in|改成|改為|改为|换成|換成|到|から)[了]?\s?(?=\S)"
)
_INTO = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(_TO.split())})\s*$")
_CHANGED = re.compile(
    r"\b(?:set|chang|reset|switch|updat|rotat|mov|renam|made|made|turn|cambi|actualiz|pus[eo]|pon|mud|alter|modif"
    r"|remplac|mis\b|mett|geänd|änder|gesetzt|setz|zurückges|umgestellt|wähl|смени|измени|поменя|постав|установ"
    r"|aggiorn|impost|modific|troc|defin|restable)"
)
_PRONOUN = re.compile(
    r"(?:\bit\b|\bit['’]s|\bone\b|\bla\b|\blo\b|\bl['’]|\bes\b|\bthis\b|现在|改成|c['’]est|\bnow\b|\bahora\b)"
)
_USER = re.compile(
    r"\b(?:user(?:name)?|login|usuario|benutzer|utilisateur|account|usr|root|admin|wi-?fi|router|server|ssh|vpn|nas|db)\b"
)
_SENTENCE_END = re.compile(r"[.!?。！？؟](?=\s|$|[\u3000-\u9fff])|\n")
_FOLLOWED = re.compile(  # "hunter2 is my password"
    rf"""
    \s*["'`”»“」』]?[ ]?
    (?: (?:[^\W\d_]{{2,9}}\s?)?[,，]\s?
        (?:that['’]s|that\sis|this\sis|it['’]s|das\sist|c['’]est|es)\s(?:[^\W\d_]{{1,12}}\s){{0,2}}
      | (?:is|was|as|for|es|era|como|de|est|était|comme|ist|war|als|é|è|come|это|как
        |—|-|,|that's|is\s+still)\s
        (?:[^\W\d_]{{1,12}}\s){{0,3}} (?:[^\W\d_]{{1,12}}-)?
      | \s?[{EAST}]{{0,4}}[，,]\s?[这這那它]?是[{EAST}]{{0,4}}
      | [是作为為当當做就]{{1,3}}\s?(?:[{EAST}]{{0,6}})
      | [はがを]\s?(?:[{EAST}]{{0,6}}の)?
      | (?:이|가|은|는)\s(?:제|내)\s )
    """,
    re.VERBOSE,
)
_UNITS = re.compile(
    r"\s?(?:char|digit|day|year|time|letter|symbol|month|week|hour|minute|second|位|个|文字|桁|caract|dígit|zeichen|tage|jours|jahre|años|개|자|символ|%)"
)


def value_told(name: Name) -> Extent | None:
    """Return where a sentence after a name tells its value."""
    if not name.is_word or _is_not_told(name) or COMPOUNDS.match(name.lowered, name.end):
        return None
    limit = min(name.limit, name.end + _AFTER)
    start = _CLOSED.match(name.text, name.end).end()  # type: ignore[union-attr]  # nothing will do
    for word in WORD.finditer(name.text, start, limit + _TOLD):
        if word.start() >= limit:
            return None
        span, quoted = _told(name.text, word)
        value = name.text[slice(*span)]
        between = name.lowered[name.end : word.start()]
        if "[redacted" in word.group():
            return None
        if _is_told(name, value, quoted, between, span):
            return span
    return None


def value_next(name: Name, span: Extent) -> Extent | None:
    """Return where the new value is, where one was changed from another."""
    onward = _ONWARD.match(name.lowered, span[1])
    word = WORD.match(name.text, onward.end()) if onward else None
    if word is None or not name.is_password:
        return None
    new, quoted = _told(name.text, word)
    return new if quoted or is_like_password(name.text[slice(*new)]) else None


def _told(text: str, word: re.Match[str]) -> tuple[Extent, bool]:
    if word["run"] is None:
        return group_span(word), True
    start, end = trimmed(text, word.span())
    while end - 1 > start and text[end - 1] == "?":
        end -= 1
    return (start, end), False


def _is_told(name: Name, value: str, quoted: bool, between: str, span: Extent) -> bool:
    strong = name.is_password and not quoted and is_strong(value) and _is_apart(name, span[0])
    if strong and len(between) < _BEFORE and not _SENTENCE_END.search(between):
        return True
    if not ((quoted and name.is_password) or _looks(name, value)) or is_placeholder(value):
        return False
    if is_prose(value) if quoted else (":" in value and is_code(value)):
        return False
    if value.isdigit() and _UNITS.match(name.lowered, span[1]):
        return False
    return _is_connected(name, between, span)


def _looks(name: Name, value: str) -> bool:
    if name.is_password:
        return is_like_password(value)
    if name.word in BARE and is_row(value):
        return False
    return is_like_key(value) and len(value) >= name.least


def _is_apart(name: Name, start: int) -> bool:
    """Whether a word is one of its own: `password@host` has none."""
    text = name.text
    return start > name.end or not (text[start].isascii() and text[start - 1].isascii())


def _is_connected(name: Name, between: str, span: Extent) -> bool:
    """Whether what is between a name and a word says that the word is the value."""
    if between.endswith("\n") and between.count("\n") == 1:  # a message in two parts
        return bool(_IS.search(between)) or _is_answer(name, between, span)
    if not name.is_password and between.strip() in ("?", "？"):
        value = name.text[slice(*span)]
        return len(value) >= _LONG_KEY and value.lower() != value != value.upper()
    *earlier, clause = _SENTENCE_END.split(between)
    if len(earlier) > 1 or (earlier and not _PRONOUN.search(clause)):
        return False
    if not clause.strip(" \t,*_`\"'[({（" if name.is_password else " \t"):
        return not earlier and _is_apart(name, span[0])
    if _IS.search(clause):
        return True
    around = name.lowered[max(name.line, name.start - 50) : name.end + len(between) + 60]
    changed = _INTO.search(clause) or _FROM.search(clause)
    return bool(changed and _CHANGED.search(around))


def _is_not_told(name: Name) -> bool:
    """Whether a word is mostly something else in a sentence."""
    if name.word == "pass" and _USER.search(name.lowered, name.line, name.end + 40):
        return False
    return name.word in ASSIGNED


def _is_answer(name: Name, between: str, span: Extent) -> bool:
    """Whether a question for a password is answered by the only word of the next line."""
    asked = name.is_password and between[-2:-1] in "?？"
    return asked and not name.text[span[1] : span[1] + 40].partition("\n")[0].strip(" .!")


def value_before(name: Name, done: int) -> Extent | None:
    """Return where the value is of which a sentence says that it is the secret."""
    if not name.is_password or not name.is_word or name.word in ASSIGNED:
        return None
    low = max(done, name.line, name.start - _BEFORE)
    for word in WORD.finditer(name.text, low, name.start):
        span, quoted = _told(name.text, word)
        if quoted or is_like_password(name.text[slice(*span)]):
            said = _FOLLOWED.fullmatch(name.lowered, span[1], name.start)
            if said or (not quoted and is_strong(name.text[slice(*span)])):
                return span
    return None
