"""A text cut into chunks that say where they stand: Markdown by its headings, code, prose.

langchain-text-splitters does the cutting, and drops nothing: the pieces it makes are the text again
when they are put together, so every chunk's offset is known, however often its words occur.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.text import quarter_tokens

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

CHUNK_TOKENS = 200
"""How long a chunk is at most, by `approximate_tokens`: 800 letters, or 200 Chinese characters. A
line of the memory block takes 250, and the three documents of a prompt leave room for the rest."""

VERSION = 1
"""Counts the ways of splitting: the same text split otherwise is another edition."""

MARKDOWN, TEXT = "markdown", "text"

SUFFIXES = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".py": "python",
    ".js": "js",
    ".jsx": "js",
    ".ts": "ts",
    ".tsx": "ts",
    ".java": "java",
    ".kt": "kotlin",
    ".go": "go",
    ".rs": "rust",
    ".rb": "ruby",
    ".php": "php",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".cs": "csharp",
    ".scala": "scala",
    ".swift": "swift",
    ".lua": "lua",
    ".hs": "haskell",
    ".ex": "elixir",
    ".r": "r",
    ".ps1": "powershell",
    ".sol": "sol",
    ".proto": "proto",
    ".html": "html",
    ".htm": "html",
    ".tex": "latex",
    ".rst": "rst",
}
"""The language of a source by the suffix of its name; any other is plain text."""

_AFTER_SENTENCE = (
    r"(?<=[。！？；…])(?![。！？；…”’」』）])"
    r"|(?<=[。！？；…][”’」』）])"
    r"|(?<=[.!?;])\s"
)
_AFTER_CLAUSE = r"(?<=[，、：])|(?<=[,:])\s"
_JOINING = "\u0300-\u036f\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"  # accents, parts of an emoji
_BETWEEN_SIGNS = f"(?<!\u200d)(?![{_JOINING}])"
_PROSE = (r"\r?\n\r?\n", r"\r?\n", _AFTER_SENTENCE, _AFTER_CLAUSE, r"\s", _BETWEEN_SIGNS, "")
"""Where to cut, the best place first; the last is between any two characters."""

_HEADING_CHARACTERS = 200  # every chunk has it; a line that begins with "#" may be a whole file

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}(?![^\n]*`)|~{3,})")  # no code within a line
_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?:(?!---|\.\.\.)[ \t]*\S[^\n]*\n)*+(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?![^\s])")


class Chunk(NamedTuple):
    """A part of a text: `text == whole[start : start + len(text)]`."""

    start: int
    """Characters of the whole before it."""
    text: str
    heading: str = ""
    """The headings that it stands under, outermost first: "Returns > Damaged goods"."""


def split(text: str, language: str) -> list[Chunk]:
    """Return the chunks of a text; they cover all of it but white space, and nothing twice.

    Args:
        text: Any text; line ends stay as they are.
        language: As `language_of` gives it.
    """
    splitter = _splitter(language)
    sections = _sections(text) if language == MARKDOWN else [Chunk(0, text)]
    chunks = []
    for start, section, heading in sections:
        for piece in splitter.split_text(section):
            trimmed = _trimmed(start, piece)
            if trimmed.text:
                chunks.append(trimmed._replace(heading=heading))
            start += len(piece)
    return chunks


def language_of(source: str, language: str | None) -> str:
    """Return by which rules a source is split: what is asked for, else what its suffix says.

    Raises:
        ConfigurationError: If there is no such language.
    """
    if language is None:
        return SUFFIXES.get(PurePosixPath(source).suffix.lower(), TEXT)
    known = {TEXT, *_code_languages()}
    if language not in known:
        raise ConfigurationError(
            f"language= is one of {', '.join(sorted(known))}; got {language!r}"
        )
    return language


@cache
def _code_languages() -> list[str]:
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    without = ["cobol", "visualbasic6"]  # rules that find nothing, or too much
    for language in Language:
        try:
            RecursiveCharacterTextSplitter.get_separators_for_language(language)
        except ValueError:  # it is named there, and has no rules yet
            without.append(language.value)
    return [language.value for language in Language if language.value not in without]


@lru_cache(maxsize=64)
def _splitter(language: str) -> RecursiveCharacterTextSplitter:
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    first: list[str] = []
    if language not in (MARKDOWN, TEXT):
        own = RecursiveCharacterTextSplitter.get_separators_for_language(Language(language))
        first = [separator for separator in own if separator.strip()]
    return RecursiveCharacterTextSplitter(
        separators=[*first, *_PROSE],
        is_separator_regex=True,
        keep_separator=True,
        strip_whitespace=False,
        chunk_size=4 * CHUNK_TOKENS,
        chunk_overlap=0,
        length_function=quarter_tokens,
    )


def _trimmed(start: int, piece: str) -> Chunk:
    """Return a piece without the white space around it; a whole line keeps its indentation."""
    text = piece.rstrip()
    blank = len(text) - len(text.lstrip())
    begin = text.rfind("\n", 0, blank) + 1 or blank
    return Chunk(start + begin, text[begin:])


def _sections(text: str) -> Iterator[Chunk]:
    """Yield the parts of a Markdown text that stand under one heading.

    A heading that is followed by another at once stands at the beginning of the latter's part.
    """
    path: dict[int, str] = {}
    front = _FRONT_MATTER.match(text)
    start, at, fence = 0, front.end() if front else 0, ""
    has_body = front is not None
    for line in _LINE.findall(text, at):
        heading = None if fence else _HEADING.match(line)
        if heading:
            if has_body:
                yield Chunk(start, text[start:at], _joined(path))
                start, has_body = at, False
            level = len(heading[1])
            path = {depth: title for depth, title in path.items() if depth < level}
            path[level] = _title(line[heading.end() :])
        elif line.strip():
            has_body = True
            fence = _fence_after(line, fence)
        at += len(line)
    yield Chunk(start, text[start:], _joined(path))


def _title(rest: str) -> str:
    """Return how a heading begins, without the `#` that may close it."""
    title = rest.strip()
    opened = title.rstrip("#")
    return (opened.rstrip() if not opened or opened[-1].isspace() else title)[:_HEADING_CHARACTERS]


def _joined(path: dict[int, str]) -> str:
    return " > ".join(title for title in path.values() if title)


def _fence_after(line: str, fence: str) -> str:
    """Return the fence of the code block that goes on after a line; empty if none does."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence
