"""Messages to a request for notes, and the answer to candidates. Pure.

The model proposes and the code decides. A candidate has to quote one of the messages that were to
be read: so nothing comes out of examples, system prompts, tool output or what was recalled, none of
which are among them. Whatever else is wrong with an item is put right or costs that item alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.models import EXTRACTION, escaped, items_of
from langgraph_memory.notes.proposal_filter import drawn_text, proposed_aliases
from langgraph_memory.records import (
    KINDS,
    Kind,
    Message,
    Speaker,
    long_date,
    normalise,
    united,
)
from langgraph_memory.redaction import Redact, no_redaction
from langgraph_memory.text import clean, has_han, query_tokens

MAX_CANDIDATES = 30
"""Taken of one answer; a model that gives more is running away."""

_SHOWN_CHARACTERS = 12_000  # of one message in the request
_SLOT_CHARACTERS = 60
_SUPPORT = 0.6  # share of a bare string's words that a message must have
_OWN_WORDS = frozenset(query_tokens("the user's 用户"))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note that a model proposes, after it was checked against what was said."""

    text: str
    kind: Kind
    slot: str | None
    """What the note gives the one value of, such as "home city"."""
    importance: float
    """0 (trivial) to 1 (critical)."""
    quote: str
    """Words of the message that it comes from."""
    said_by: Speaker
    """Whose words they are."""
    valid_from: datetime
    """When it was said, or a later day from which it holds."""
    valid_until: datetime | None
    """The end of the last day on which it holds, if there is one."""
    sources: tuple[str, ...]
    """Ids of the message records that it comes from."""
    aliases: tuple[str, ...] = ()
    """Other ways to ask for it, without facts of their own."""


Accept = Callable[[Candidate], Candidate | None]
"""From a candidate to what is kept in its place (`dataclasses.replace` makes it), or `None`."""


class ExtractedNote(BaseModel):
    """One note."""

    message: int = Field(description="The number of the message that it rests on")
    quote: str = Field(description="Words of that message, copied letter by letter")
    text: str = Field(description="One self-contained sentence, in the language of the message")
    kind: Kind
    slot: str | None = Field(description="The attribute that it gives the one value of, or null")
    importance: float = Field(description="0 trivial, 0.5 useful, 1 critical")
    valid_from: str | None = Field(description="YYYY-MM-DD if it begins to hold later, or null")
    valid_until: str | None = Field(description="YYYY-MM-DD, the last day it is of use, or null")
    aliases: list[str] = Field(
        default_factory=list, description="Up to five short ways in which the user may ask for it"
    )


class Extracted(BaseModel):
    """The notes worth keeping; an empty list if there are none."""

    notes: list[ExtractedNote]


def extraction_request(
    messages: Sequence[Message], time_zone: str = "UTC", earlier: Sequence[Message] = ()
) -> list[BaseMessage]:
    """Return what to ask a model for the notes in some messages.

    Args:
        messages: To be read, oldest first.
        time_zone: In which their times are shown, and relative dates are meant.
        earlier: What was said just before, so that a short answer can be understood.
    """
    zone = zone_of(time_zone)
    parts = []
    if earlier:
        before = "\n".join(_format_message(message, zone, "") for message in earlier)
        parts.append(f"<earlier>\n{before}\n</earlier>\nOnly for understanding: no notes of it.\n")
    parts += [_format_message(message, zone, f' n="{i}"') for i, message in enumerate(messages, 1)]
    parts.append(f"\nThe notes of messages 1 to {len(messages)}, if any. Times are in {time_zone}.")
    if any(has_han(message.text) for message in messages if message.role == "user"):
        parts.append("用户说中文的地方，笔记也用中文写。")
    return [SystemMessage(EXTRACTION), HumanMessage("\n".join(parts))]


def candidates(
    answer: object,
    messages: Sequence[Message],
    time_zone: str = "UTC",
    redact: Redact = no_redaction,
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of a model's answer, and what was wrong with it.

    Args:
        answer: A message, a text, an `Extracted`, a dict or a list, however broken.
        messages: Those that were to be read, in the order of the request.
        time_zone: The one of the request.
        redact: Takes secrets out of a text.

    Returns:
        Those that can be kept, and one line for each fault, without any of the texts.

    Raises:
        UnreadableAnswer: If nothing of the answer can be read.
    """
    read = partial(_candidate, messages=messages, zone=zone_of(time_zone), redact=redact)
    return read_items(answer, MAX_CANDIDATES, read)


def read_items(
    answer: object, most: int, read: Callable[[object], Candidate | str]
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of an answer, and what was wrong with it; as for `candidates`.

    Args:
        answer: What a model answered, however broken.
        most: How many items are read.
        read: Returns an item as a candidate, or what is wrong with it.

    Raises:
        UnreadableAnswer: If nothing of the answer can be read.
    """
    items, problems = items_of(answer, "text")
    if len(items) > most:
        problems.append(f"{len(items)} items; those after the first {most} are left out")
    kept = []
    for number, item in enumerate(items[:most], 1):
        found = read(item)
        if isinstance(found, Candidate):
            kept.append(found)
        else:
            problems.append(f"item {number}: {found}")
    return kept, problems


def admitted(
    proposed: Sequence[Candidate], accept: Accept | None, min_importance: float
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates that the caller's own rules let through, and why not the others.

    Raises:
        ConfigurationError: If `accept` returns something else than a candidate or `None`.
    """
    kept, problems = [], []
    for number, candidate in enumerate(proposed, 1):
        if candidate.importance < min_importance:
            problems.append(f"candidate {number}: not important enough")
            continue
        decided = candidate if accept is None else accept(candidate)
        if decided is None:
            problems.append(f"candidate {number}: refused by accept=")
        elif isinstance(decided, Candidate):
            kept.append(_checked(replace(decided, sources=candidate.sources)))
        else:
            raise ConfigurationError(f"accept= returns a Candidate or None, got {decided!r}")
    return kept, problems


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name in the IANA database.

    Raises:
        ConfigurationError: If there is none of this name.
    """
    if name == "UTC":
        return UTC  # also where no database is installed
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise ConfigurationError(
            f"time_zone= is a name such as 'Europe/Vienna' or 'UTC', got {name!r}"
        ) from error


def _format_message(message: Message, zone: tzinfo, number: str) -> str:
    said = f"{message.created_at.astimezone(zone):%Y-%m-%d %A %H:%M}"
    speaker = message.speaker if message.speaker != message.role else ""
    quoted = escaped(speaker).replace('"', "&quot;")
    name = f' name="{quoted}"' if speaker else ""
    text = message.text
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]} [...]"
    return f'<message{number} role="{message.role}"{name} time="{said}">{escaped(text)}</message>'


# -- one item ------------------------------------------------------------------------------------


def _candidate(
    item: object, messages: Sequence[Message], zone: tzinfo, redact: Redact
) -> Candidate | str:
    """Return an item as a candidate, or what is wrong with it."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {"text": item}
    text, problem = drawn_text(fields.get("text"), redact)
    if problem:
        return problem
    if isinstance(item, Mapping):
        quote = clean(fields["quote"]) if isinstance(fields.get("quote"), str) else ""
        source = _quoted(quote, fields.get("message"), messages)
    else:
        source = _most_like(text, messages)
        quote = source.text[:200] if source else ""
    if source is None:
        return "no message says what it quotes"
    kind = fields.get("kind")
    if source.role == "assistant" and kind == "preference":
        return "it takes the assistant's words for the user's preference"
    said = source.created_at
    begins = _day(fields.get("valid_from"), zone)
    ends = _day(fields.get("valid_until"), zone)
    slot = slot_of(fields.get("slot"), redact)
    starts = max(said, begins) if begins is not None else said
    over = None if ends is None else _next_day(ends, zone)
    return Candidate(
        text=_dated(text, said.astimezone(zone)),
        kind=kind if kind in KINDS else "fact",
        slot=slot,
        importance=importance_of(fields.get("importance")),
        quote=redact(quote),
        said_by=source.role,
        valid_from=starts,
        valid_until=over if over is not None and over > starts else None,
        sources=(source.id,),
        aliases=proposed_aliases(fields.get("aliases"), [text, slot or "", quote], redact),
    )


_FOLDED = str.maketrans("’‘‛“”„「」『』«»–—−‐‑", '\'\'\'"""""""""-----')
_GAP = re.compile(r"\[\.\.\.\]|\.\.\.")
_EDGES = " \"'.,;:!?。，、；：！？()（）"


def _folded(text: str) -> str:
    """Return a text as quotes are compared: without case, width, white space and kind of marks."""
    return re.sub(r"\s+", "", normalise(text).translate(_FOLDED))


def _quoted(quote: str, number: object, messages: Sequence[Message]) -> Message | None:
    """Return the message that a quote is from: the one that is named, else one of the user's."""
    parts = [part.strip(_EDGES) for part in _GAP.split(_folded(quote))]
    parts = [part for part in parts if part]
    if not parts:
        return None
    short = sum(character.isalnum() for part in parts for character in part) < 2
    named = number - 1 if isinstance(number, int) else -1
    order = sorted(range(len(messages)), key=lambda i: (i != named, messages[i].role != "user"))
    for i in order:
        said = _folded(messages[i].text)
        if said.strip(_EDGES) == parts[0] if short else all(part in said for part in parts):
            return messages[i]
    return None


def _most_like(text: str, messages: Sequence[Message]) -> Message | None:
    """Return the message with most words of a text, if it has enough to have said it."""
    words = set(query_tokens(text)) - _OWN_WORDS
    if not words:
        return None
    shares = [len(words & set(query_tokens(m.text))) / len(words) for m in messages]
    best = max(range(len(messages)), key=lambda i: shares[i], default=None)
    return messages[best] if best is not None and shares[best] >= _SUPPORT else None


def slot_of(given: object, redact: Redact) -> str | None:
    """Return a slot that a model names; small ones write "null" for none, others a sentence."""
    if not isinstance(given, str):
        return None
    slot = redact(clean(given))
    empty = normalise(slot) in ("", "null", "none", "n/a", "无")
    return None if empty or len(slot) > _SLOT_CHARACTERS or "[redacted" in slot else slot


def importance_of(given: object) -> float:
    """Return the importance that a model gave, from 0 to 1; .5 where it gave none."""
    try:
        value = float(given) if isinstance(given, (int, float, str)) else math.nan
    except (ValueError, OverflowError):  # a number of hundreds of digits
        value = math.nan
    return 0.5 if math.isnan(value) or isinstance(given, bool) else min(max(value, 0.0), 1.0)


def _day(given: object, zone: tzinfo) -> datetime | None:
    """Return the beginning of the day that a model gave, or `None` if it gave none that exists."""
    if not isinstance(given, str):
        return None
    try:
        day = date.fromisoformat(given.strip()[:10])
        return datetime.combine(day, time(), zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _next_day(day: datetime, zone: tzinfo) -> datetime | None:
    try:
        following = day.astimezone(zone).date() + timedelta(days=1)
        return datetime.combine(following, time(), zone).astimezone(UTC)
    except OverflowError:
        return None


_UNIT = r"(?:week(?:end)?|month|quarter|year|spring|summer|autumn|fall|winter|\w+day)"
_RELATIVE = re.compile(
    rf"\b(?:today|tonight|tomorrow|yesterday|(?:next|last|this|coming) {_UNIT}"
    r"|in (?:\d+|an?|one|two|three|a few) (?:day|week|month|year)s?"
    r"|(?:\d+|an?|one|two|three|a few) (?:day|week|month|year)s? ago)\b"
    r"|[今明昨后前]天|今晚|明早|[上下本这]个?(?:周|星期|礼拜|月)|[今明去前后]年",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")


def _dated(text: str, said: datetime) -> str:
    """Return a text that still has a relative date with the day from which it is reckoned."""
    if not _RELATIVE.search(text) or _YEAR.search(text):
        return text
    if has_han(text):
        return f"{text}（{said.year}年{said.month}月{said.day}日说的）"
    return f"{text} (said on {long_date(said)})"


def _checked(candidate: Candidate) -> Candidate:
    """Refuse what `accept=` cannot have meant."""
    if not isinstance(candidate.text, str) or not candidate.text.strip():
        raise ConfigurationError(f"accept= returned a candidate without text: {candidate!r}")
    if candidate.kind not in KINDS:
        raise ConfigurationError(f"accept= returned an unknown kind: {candidate.kind!r}")
    if not isinstance(candidate.slot, str | None):
        raise ConfigurationError(f"accept= returned a slot that is no text: {candidate.slot!r}")
    if not all(isinstance(alias, str) for alias in candidate.aliases):
        raise ConfigurationError(f"accept= returned aliases that are no texts: {candidate!r}")
    return replace(
        candidate,
        text=clean(candidate.text),
        slot=clean(candidate.slot or "") or None,
        importance=importance_of(candidate.importance),
        aliases=united(map(clean, candidate.aliases)),
    )
