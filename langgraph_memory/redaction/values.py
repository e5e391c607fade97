"""Values: in quotes, or up to white space."""

from __future__ import annotations

import re

from langgraph_memory.redaction.naming import Span

LONGEST = 4_096
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
EAST = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
RUN = re.compile(rf"[^\s{EAST}،؛؟]{{1,{LONGEST}}}")
WORD = re.compile(rf"{QUOTED.pattern} | (?P<run>[^\s{EAST}،؛؟“”„«»`]{{1,{LONGEST}}})", re.VERBOSE)
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}
_TRAILING = ".,;:)]}>\"'’”»*_|"


def group_span(match: re.Match[str]) -> Span:
    """Return where the only group is that took part in a match."""
    return next(match.span(i) for i in range(1, match.re.groups + 1) if match.span(i)[0] >= 0)


def trimmed(text: str, span: Span) -> Span:
    """Return a value without the punctuation after it, and the bracket that it stands in."""
    start, end = span
    while end > start and (text[end - 1] in _TRAILING or text[end - 1].isspace()):
        opening = _OPENING.get(text[end - 1])
        if opening and opening in text[start : end - 1]:
            break
        end -= 1
    return start, end
