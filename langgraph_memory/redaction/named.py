"""Secrets that are known by what they are called: `password=...`, "my password was ..."."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langgraph_memory.redaction.looks import (
    is_code,
    is_like_key,
    is_like_password,
    is_placeholder,
    is_strong,
)
from langgraph_memory.redaction.words import (
    ASSIGNED,
    BARE,
    COMPOUNDS,
    KEYS,
    PASSWORDS,
    PHRASES,
    begins_word,
    names,
)

_AFTER = 120
"""Characters after a name in which its value is looked for."""
_BEFORE = 60
_LONGEST = 4_096
"""Characters of a value at most."""
_TOLD = 200
"""Characters of a value in a sentence at most."""
_LINE = 150
"""Characters of a line before a name that are looked at."""

Span = tuple[int, int]


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
        return self.word in _PASSWORDS

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
    def is_variable(self) -> bool:
        """Whether it is part of a name of the environment, such as `DB_PASSWORD`."""
        identifier = self.text[self.begin : self.end]
        return identifier.isupper() and self.text[self.end : self.end + 1] == "="

    @property
    def least(self) -> int:
        """How long its value is at least, where words of other meanings are not to be taken."""
        bare = self.word == "key" or self.begin == self.start
        return 20 if bare and self.word in BARE else 6


NAMES = names()
"""For texts in lower case."""
_PASSWORDS = frozenset(PASSWORDS)
_PHRASES = frozenset(PHRASES)
_KNOWN = _PASSWORDS | _PHRASES | frozenset(KEYS)
_IDENTIFIER = "".join(filter(str.isalnum, map(chr, range(128)))) + "_.-"

_CLOSERS = r"(?:\\?[\"'`]|[*_\])}»”』」]){0,4}"
_ASSIGNED = re.compile(
    rf"""
    {_CLOSERS} (?:[ \t]?[(（][^()（）\n]{{0,40}}[)）])? [*_]{{0,2}} [ \t]{{0,20}}
    (?P<by>
        =>|->|→|:=|===?|!==?|[=＝]|:{{1,2}}|：
        | [*_]{{0,2}}\s?[|]
        | >(?=[^<\s])
        | \((?=\s?["'])
        | ["'],?[ ]?(?:value[ ]?[=:]|,|\))[ ]?(?=["'])
        | ["']?,\s{{0,40}}["']?value["']?\s?:
        | </key>\s{{0,40}}<string>
        | \n[ \t]{{1,40}}value:
    )
    [*_]{{0,2}} [ \t]{{0,40}}
    (?: [A-Za-z_][\w.\[\]]{{0,30}}[?]? [ ]? = [ ]? (?=["']))?   # password: str = "..."
    (?: [fbru@$] (?=["']) | (?:new[ ]\w{{1,20}})?\( (?=["']) )?
    """,
    re.VERBOSE,
)
_CLOSED = re.compile(_CLOSERS)
_QUOTED = re.compile(
    r"""
      \\"(?P<v0>[^"\\\n]{1,300})\\"
    | "(?P<v1>(?:[^"\\\n]|\\.){1,300})"
    | (?<![A-Za-z])'(?P<v2>(?:[^'\\\n]|\\.){1,300})'
    | `(?P<v3>[^`\n]{1,300})` | “(?P<v4>[^”\n]{1,300})” | „(?P<v5>[^“”\n]{1,300})[“”]
    | «[ \u00a0\u202f]?(?P<v6>[^»\n]{1,300}?)[ \u00a0\u202f]?» | 「(?P<v7>[^」\n]{1,300})」
    | 『(?P<v8>[^』\n]{1,300})』 | ‘(?P<v9>[^’\n]{1,300})’
    """,
    re.VERBOSE,
)
_EAST = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_RUN = re.compile(rf"[^\s{_EAST}،؛؟]{{1,{_LONGEST}}}")
_WORD = re.compile(rf"{_QUOTED.pattern} | (?P<run>[^\s{_EAST}،؛؟“”„«»`]{{1,{_LONGEST}}})", re.VERBOSE)
_TO_TAG = re.compile(r"[^<\n]{1,300}")
_TO_BAR = re.compile(r"[^|\n]{1,300}")
_TO_AND = re.compile(r"[^&\s\"'#<>]{1,300}")
_SEMICOLON = re.compile(r".*;\s?\Z", re.DOTALL)
_TO_SEMICOLON = re.compile(r"[^;\n\"']{1,100}(?=;)")
_IN_FOURS = re.compile(r"(?:[a-z]{4} ){3}[a-z]{4}(?!\w)")  # as Google shows passwords of apps
_ROW = re.compile(
    r"[\"'*_`]{0,3}[\s:=：是は-]{0,6}(?:is|are|es|est|ist|lautet|是)?[\s:：\"'`]{1,6}"
    r"(?P<row>(?:\d{0,2}[.)]?\s?[a-z]{3,12}[ ,\n]{1,2}){5,}[a-z]{3,12})"
)
_HEADING = re.compile(r"[ \t>#*_\-\d.]*(?:[^\W\d_]+[ -]){0,2}")
_BELOW = re.compile(
    r"[*_:：#]{0,4}[ \t]*(?:\n[=-]{3,}[ \t]*)?(?:\n[ \t>]*){1,2}(?:[-*+][ ]+)?[*_]{0,2}"
    r"(?P<value>[^\s]{4,200})[ \t]*(?=\n|\Z)"
)
_ADVICE = re.compile(
    r"(?:enter|please|your|type|choose|must|at least|see|ask|the same|no |not |invalid|min|max|use |bitte|geben"
    r"|introdu|escrib|entre|saisi|votre|ihr|tu |su |请|輸入|输入)"
)
_GOES_ON = re.compile(r"[ \t]+\w")
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}
_TRAILING = ".,;:)]}>\"'’”»*_|"

_BE = (
    "is was are be been being becomes became equals now its it's it’s that's that’s still currently "
    "stays remains reads es era será fue sea sigue siendo ahora c'est c’est est était sera reste "
    "maintenant ist war lautet lautete heißt heisst hieß sei wäre jetzt nun bleibt é foi era será "
    "agora è sarà ora это был была будет теперь هي هو كان called = : - – — ："
)
_TO = "to as a à en por par pour auf zu in into con para per на в with"
_IS = re.compile(
    rf"(?:(?<![^\W\d_])(?:{'|'.join(map(re.escape, sorted(_BE.split(), key=len, reverse=True)))})"
    r"(?:\s+(?:now|still|just|simply|currently|probably|jetzt|nun|noch|ahora|maintenant|toujours|ancora))?"
    r"|[是为為成到即叫了用作就は가는은를을がをに：:=＝→—–-])\s*$"
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
_SENTENCE_END = re.compile(r"[.!?。！？؟](?=\s|$|[\u3000-\u9fff])|\n")
_FOLLOWED = re.compile(  # "hunter2 is my password"
    rf"""
    \s*["'`”»“」』]?[ ]?
    (?: (?:is|was|as|for|es|era|como|de|est|était|comme|ist|war|als|é|como|è|come|это|как|—|-|,|that's|is\s+still)\s
        (?:[^\W\d_]{{1,12}}\s){{0,3}} (?:[^\W\d_]{{1,12}}-)?
      | [是作为為当當做就]{{1,3}}\s?(?:[{_EAST}]{{0,6}})
      | [はがを]\s?(?:[{_EAST}]{{0,6}}の)?
      | (?:이|가|은|는)\s(?:제|내)\s )
    """,
    re.VERBOSE,
)
_UNITS = re.compile(
    r"\s?(?:char|digit|day|year|time|letter|symbol|month|week|hour|minute|second|位|个|文字|桁|caract|dígit|zeichen|tage|jours|jahre|años|개|자|символ|%)"
)


def names_secret(text: str) -> bool:
    """Whether a text has the name of a secret anywhere in it."""
    return NAMES.search(lower(text)) is not None


def named_spans(text: str) -> Iterator[Span]:
    """Yield where the values are of secrets that a text names, in order, none twice."""
    lowered = lower(text)
    found = [m for m in NAMES.finditer(lowered) if _is_name(text, m)]
    limits = [*(m.start() for m in found[1:]), len(text)][: len(found)]
    done = 0
    for match, limit in zip(found, limits, strict=True):
        if match.start() < done:
            continue  # it is part of a value
        name = Name(text, lowered, match.start(), match.end(), known(match.group()), limit)
        span = _value_after(name) or _value_before(name, done)
        if span is not None:
            yield span
            done = span[1]


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word is a name: no part of another word, or of a mark."""
    if not begins_word(text, match.start(), known(match.group())):
        return False
    return "[redacted " not in text[max(0, match.start() - 18) : match.start()]


def lower(text: str) -> str:
    """Return a text in lower case, with each character in its place."""
    return text.replace("\u0130", "I").lower()  # the only one that is longer in lower case


def known(found: str) -> str:
    """Return the name that was found, without what identifiers and plurals have after it."""
    while found not in _KNOWN:
        found = found[:-1]
    return found


# -- a value that is assigned --


def _value_after(name: Name) -> Span | None:
    if name.word in _PHRASES:
        row = _ROW.match(name.text, name.end)
        return row.span("row") if row else None
    assigned = _ASSIGNED.match(name.text, name.end)
    if assigned is None:
        return _value_below(name, name.end) or _value_told(name)
    if span := _assigned_value(name, assigned["by"].strip(), assigned.end()):
        return span
    return _value_told(name) if assigned["by"] in ":：|" else None


def _assigned_value(name: Name, by: str, start: int) -> Span | None:
    """Return where an assigned value is; it may be any word, unless it only stands for one."""
    weak = by in ("|", "(") or by.endswith((",", ")"))
    if quoted := _QUOTED.match(name.text, start):
        span = _group(quoted)
        value = name.text[slice(*span)]
        return span if not _is_prose(value) and _is_value(name, value, weak) else None
    span = _unquoted(name, by, start)
    value = name.text[slice(*span)]
    if not value:
        return _value_below(name, start)
    if is_code(value) and not name.is_variable or _is_prose_from(name, span, by):
        return None
    return span if _is_value(name, value, weak) else None


def _is_value(name: Name, value: str, weak: bool) -> bool:
    if is_placeholder(value) or len(value) < (4 if value.isdigit() else 3):
        return False
    if not name.is_password:
        return is_like_key(value) and len(value) >= (16 if weak else name.least)
    return is_like_password(value) if weak else name.word not in ASSIGNED or not value.isdigit()


def _unquoted(name: Name, by: str, start: int) -> Span:
    """Return where an unquoted value is: how far it goes depends on what it is part of."""
    text = name.text
    before = text[name.begin - 1 : name.begin]
    if by == ">" or by.startswith("<"):
        pattern = _TO_TAG
    elif by == "|":
        pattern = _TO_BAR
    elif before in ("?", "&") and before:
        pattern = _TO_AND
    elif by == "=" and (_SEMICOLON.match(text[max(0, name.begin - 3) : name.begin]) and _TO_SEMICOLON.match(text, start)):
        pattern = _TO_SEMICOLON
    elif _IN_FOURS.match(text, start):
        pattern = _IN_FOURS
    else:
        pattern = _RUN
    match = pattern.match(text, start)
    return _trimmed(text, match.span()) if match else (start, start)


def _trimmed(text: str, span: Span) -> Span:
    """Return a value without the punctuation after it, and the bracket that it stands in."""
    start, end = span
    while end > start and (text[end - 1] in _TRAILING or text[end - 1].isspace()):
        opening = _OPENING.get(text[end - 1])
        if opening and opening in text[start : end - 1]:
            break
        end -= 1
    return start, end


def _is_prose(value: str) -> bool:
    """Whether a quoted text says something of a secret, such as "Enter your password"."""
    lowered = lower(value)
    return " " in value and bool(NAMES.search(lowered) or _ADVICE.match(lowered))


def _is_prose_from(name: Name, span: Span, by: str) -> bool:
    """Whether a sentence begins with a value: "Password: ask Tom"."""
    value = name.text[slice(*span)]
    plain = value.isalpha() and not (name.is_variable and by == "=")
    return plain and bool(_GOES_ON.match(name.text, span[1]))


def _value_below(name: Name, start: int) -> Span | None:
    """Return the only word of the next line, where a name is all that is in its own."""
    if not _HEADING.fullmatch(name.text[name.line : name.begin]) or name.word in ASSIGNED:
        return None
    below = _BELOW.match(name.text, start)
    if below is None:
        return None
    span = _trimmed(name.text, below.span("value"))
    if quoted := _QUOTED.match(name.text, span[0]):
        span = _group(quoted)
    value = name.text[slice(*span)]
    return span if _is_value(name, value, weak=True) else None


# -- a value that is told --


def _value_told(name: Name) -> Span | None:
    """Return where a sentence after a name tells its value."""
    if not name.is_word or name.word in ASSIGNED or COMPOUNDS.match(name.lowered, name.end):
        return None
    limit = min(name.limit, name.end + _AFTER)
    start = _CLOSED.match(name.text, name.end).end()  # type: ignore[union-attr]  # nothing will do
    for word in _WORD.finditer(name.text, start, limit + _TOLD):
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


def _told(text: str, word: re.Match[str]) -> tuple[Span, bool]:
    if word["run"] is None:
        return _group(word), True
    start, end = _trimmed(text, word.span())
    while end - 1 > start and text[end - 1] == "?":
        end -= 1
    return (start, end), False


def _is_told(name: Name, value: str, quoted: bool, between: str, span: Span) -> bool:
    if name.is_password and not quoted and is_strong(value) and _is_apart(name, span[0]):
        return len(between) < _BEFORE and not _SENTENCE_END.search(between)
    if not (quoted and name.is_password or _looks(name, value)) or is_placeholder(value):
        return False
    if quoted and _is_prose(value):
        return False
    if value.isdigit() and _UNITS.match(name.lowered, span[1]):
        return False
    return _is_connected(name, between, span)


def _looks(name: Name, value: str) -> bool:
    if name.is_password:
        return is_like_password(value)
    return is_like_key(value) and len(value) >= name.least


def _is_apart(name: Name, start: int) -> bool:
    """Whether a word is one of its own: `password@host` has none."""
    text = name.text
    return start > name.end or not (text[start].isascii() and text[start - 1].isascii())


def _is_connected(name: Name, between: str, span: Span) -> bool:
    """Whether what is between a name and a word says that the word is the value."""
    *earlier, clause = _SENTENCE_END.split(between)
    if len(earlier) > 1 or earlier and not _PRONOUN.search(clause):
        return False
    if not clause.strip(" \t,*_`\"'[({（" if name.is_password else " \t"):
        return not earlier and _is_apart(name, span[0])
    if _IS.search(clause):
        return True
    around = name.lowered[max(name.line, name.start - 50) : name.end + len(between) + 60]
    return bool(_INTO.search(clause) and _CHANGED.search(around))


def _value_before(name: Name, done: int) -> Span | None:
    """Return where the value is of which a sentence says that it is the secret."""
    if not name.is_password or not name.is_word or name.word in ASSIGNED:
        return None
    low = max(done, name.line, name.start - _BEFORE)
    for word in _WORD.finditer(name.text, low, name.start):
        span, quoted = _told(name.text, word)
        if quoted or is_like_password(name.text[slice(*span)]):
            said = _FOLLOWED.fullmatch(name.lowered, span[1], name.start)
            if said or not quoted and is_strong(name.text[slice(*span)]):
                return span
    return None


def _group(match: re.Match[str]) -> Span:
    """Return where the only group is that took part in a match."""
    return next(match.span(i) for i in range(1, match.re.groups + 1) if match.span(i)[0] >= 0)
