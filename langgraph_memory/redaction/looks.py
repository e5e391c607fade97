"""Values: where one begins and ends, and what it looks like.

It looks like a password, like a key, or like what only stands for one.
"""

from __future__ import annotations

import re
from itertools import pairwise

from langgraph_memory.redaction.naming import STANDS_FOR, Extent

_STANDS_FOR = re.compile(
    r"""
    [*•…·●x_#?.-]+ | \*+\w{1,4}
    | [$%@#!]?[{<\[(]{1,2}.*[}>\])]{1,2} | \$[({].* | <.* | \{\{.* | [$%]\w+%? | %\(\w+\)s
    | !(?:vault|secret|ref|sub|env)\b.*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CODE = re.compile(
    r"""
    [A-Za-z_][\w.]*(?:\[["'\w.-]*\]?)*\(.*          # a call
    | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:[\[(].*)?    # a.b.c
    | [A-Za-z_]\w*\[.*                               # a[...]
    | [A-Za-z_]\w*::.*
    | [A-Z][a-z]+-[A-Z][a-z]+[A-Za-z]*               # a command of PowerShell
    | (?:process\.env|os\.environ|env|ENV|System)\b\W.*
    | &?(?:self|this|args|opts|options|config|settings|params|req|request|data|user|form|props
        |event|ctx|state) (?:\.|->|\[).*
    | [/~.][/\w.-]*/[\w./-]*                         # a path
    | [a-z]+://\S* | (?:vault|secret|secrets|op|ssm|arn|env|file|sops|ref):\S+
    | =+.*
    """,
    re.VERBOSE,
)
_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z]+(?:_[A-Z]+)+")
"""What is called so in code."""

_COMMON = re.compile(
    r"""
    [#$€£¥]?\d{1,3}(?:[.,]\d+)*\+?[%°]?[A-Za-z]{0,9}\+?                # 128k, 12px, 90days, 20%
    | \d+(?:st|nd|rd|th|s|ms|kb|mb|gb|bit|bits|px|km|kg|min|x|k|d|h|m|er|th|ª|º)
    | v?\d+(?:[.:/_-]\d+)+[A-Za-z]{0,3}\d{0,2}(?:[+-][\d:]+)?
    | \d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?
    | [QHWVvKMSBCTFLG]\d{1,3} | \d{1,2}(?:am|pm|h\d*)
    | (?:sha|md|base|utf|oauth|http|ipv|aes|rsa|iso|ec|es|hs|rs|ps|tls|ssl|sp|nist|argon
        |pbkdf|bcrypt|scrypt|x|pkcs|crc|python|java|web|php|node|fido|u|saml|ntlm|kerberos|wpa|wep|smb
        |cp|latin|rfc|cve|ean|h|s|k|i|c|f|mp|int|uint|str|float)
      [-_.]?\d[\d.v-]*[a-z]{0,2}
    | (?:sp|iso|rfc|nist|din|en|iec|ieee|fips)[-_ ]?\d[\w.-]* 
    | \d?fa | mfa | totp | 1password\d* | keepass\w* | bitwarden\d* | lastpass\d*
    | gpt-?\d.* | claude-?.* | llama-?.* | gemini-?.* | mistral-?.* | o\d(?:-\w+)*
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                       # e-mail
    | (?:https?|ftp|file|git|ssh)://.* | www\..*
    | [\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|de|fr|es|cn|jp|ai)(?:/.*)?
    | [\w./-]+\.(?:pdf|docx?|xlsx?|txt|md|py|js|ts|json|ya?ml|toml|ini|csv|tsv|png
        |jpe?g|gif|svg|html?|xml|sql|sh|go|rs|java|zip|gz|log|env|kdbx?|pem|crt|key|cfg|conf)
    | [~.]?(?:/[\w.-]+)+/?
    | [A-Za-z_][\w.]*\(.*                                                # a call
    | (?:19|20)\d\d
    | [A-Z][a-z]?\+\+\d* | [A-Z]\#\d*
    | [A-Za-z_][\w.-]*=(?!=?$).*                                         # an argument
    | [<>=!|&+*/%^~-]+ | \W+\w?\W*
    | \^.*\$                                                              # a pattern
    | \[redacted.*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LONG = 200
"""Characters that no common word has."""
_SPECIAL = re.compile(r"[!@#$%^&*+=?~|<>]")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+")
_HUMP = re.compile("[a-zß-ÿ][A-ZÀ-Þ]")
_HEX = re.compile(r"[0-9a-fA-F]{16,}")


def is_placeholder(word: str) -> bool:
    """Whether a value only stands for one: `********`, `<your token>`, `${KEY}`, "required"."""
    if "[redacted" in word or _STANDS_FOR.fullmatch(word):
        return True
    if len(word) > _LONG:
        return False
    return all(part in STANDS_FOR for part in re.split(r"[\W_]+", word.lower()) if part)


def is_code(word: str) -> bool:
    """Whether a value is no literal: a call, an attribute, a path."""
    return len(word) < _LONG and bool(_CODE.fullmatch(word) or _NAME.fullmatch(word))


def is_row(word: str) -> bool:
    """Whether words and short numbers are put together by hyphens, as in the key of a cache."""
    parts = re.split("[-_]", word)
    words = [part for part in parts if part.isalpha() and part.islower() and len(part) < 13]
    short = all(part in words or len(part) < 4 for part in parts)
    return short and sum(len(part) > 3 for part in words) > 1


def is_like_password(word: str) -> bool:
    """Whether a word looks like a password: no word of a language, and nothing that is common."""
    if _is_plain(word) or len(word) < 4:
        return False
    if _is_common(word) or is_placeholder(word):
        return False
    letters, digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
    if not letters:
        return digits and len(word) <= 12 and word.strip("#*").isdigit()
    return digits or _is_broken(word)


def is_strong(word: str) -> bool:
    """Whether a word can hardly be anything but a password, wherever it stands."""
    if _is_plain(word) or len(word) < 6:
        return False
    if _is_common(word) or is_placeholder(word):
        return False
    letters, digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
    inner = _SPECIAL.search(word.rstrip("?!"), 1)
    return letters and digits and (inner is not None or word[-1] in "!#*$" or _changes(word) > 3)


def is_like_key(word: str) -> bool:
    """Whether a word looks like a key or a token: long enough, and of no language."""
    if len(word) < 6 or _is_common(word) or is_placeholder(word) or is_code(word):
        return False
    letters, digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
    if " " in word or not ((letters and digits) or (len(word) >= 12 and _is_broken(word))):
        return bool(_HEX.fullmatch(word))
    return len(word) < 12 or len(word) < 4 * len(_PARTS.findall(word))


def _is_common(word: str) -> bool:
    """Whether a word has a form of things that are spoken of everywhere."""
    return len(word) < _LONG and _COMMON.fullmatch(word) is not None


def _is_plain(word: str) -> bool:
    """Whether a word is of letters alone, as languages write it: most are, and told soon."""
    return word.isalpha() and (word.islower() or word[1:].islower())


def _is_broken(word: str) -> bool:
    """Whether letters alone cannot be a word: signs among them, or capitals within."""
    if _SPECIAL.search(word[:-1], 1):
        return True
    return len(word) > 7 and len(_HUMP.findall(word)) > 1


def _changes(word: str) -> int:
    """Return how often letters and digits take turns."""
    return sum(a.isdigit() != b.isdigit() for a, b in pairwise(word))


# -- where a value begins and ends -----------------------------------------------------------------


LONGEST_VALUE = 4_096
"""Characters of a value at most."""
CLOSERS = r"(?:\\?[\"'`]|[*_\])}»”』」]){0,4}"
"""What may end a name: quotes, brackets, bold type."""
QUOTED = re.compile(
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
# Wider than what `text` calls CJK: a value ends at punctuation and wide forms, too.
EAST = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
RUN = re.compile(rf"[^\s{EAST}،؛؟]{{1,{LONGEST_VALUE}}}")
WORD = re.compile(
    rf"{QUOTED.pattern} | (?P<run>[^\s{EAST}،؛؟“”„«»`]{{1,{LONGEST_VALUE}}})", re.VERBOSE
)
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}
_TRAILING = ".,;:)]}>\"'’”»*_|"


def group_span(match: re.Match[str]) -> Extent:
    """Return where the only group is that took part in a match."""
    return next(match.span(i) for i in range(1, match.re.groups + 1) if match.span(i)[0] >= 0)


def trimmed(text: str, span: Extent) -> Extent:
    """Return a value without the punctuation after it, and the bracket that it stands in."""
    start, end = span
    while end > start and (text[end - 1] in _TRAILING or text[end - 1].isspace()):
        opening = _OPENING.get(text[end - 1])
        if opening and opening in text[start : end - 1]:
            break
        end -= 1
    return start, end
