"""The forms in which a model writes a structured reply: an object, or JSON however broken. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import BaseModel

from langgraph_memory.models import repaired, without_thoughts
from langgraph_memory.text import replace_surrogates

TOOL = "SavingReply"
"""The tool that a structured output calls; small models write such a call as text."""

_FENCE = re.compile(r"```\w*")
_OBJECT = re.compile(r"""\{\s*["'“]?\w+["'”]?\s*[:：]""")
_LIST = re.compile(r"""\s*\[\s*["'“]""")
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,4})?\Z")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a structured reply says, before anything of it is judged."""

    text: str
    proposed: tuple[object, ...]
    complete: bool
    """Whether it has both fields, and not `reply` alone."""


def read_reply(value: object) -> Reply | None:
    """Return the reply that an object is, if it is one."""
    if isinstance(value, BaseModel):
        value = dict(value)
    if isinstance(value, Mapping) and value.get("name") == TOOL:
        value = value.get("arguments") or value.get("parameters")  # a tool call, written as text
    if not isinstance(value, Mapping):
        return None
    text = value.get("reply")
    if not isinstance(text, str) or not text.strip():
        return None
    complete = "save_to_memory" in value
    return Reply(replace_surrogates(text), _proposals(value.get("save_to_memory")), complete)


def reply_in_text(text: str) -> Reply | None:
    """Return the reply that stands in a text as JSON, however broken.

    Where other words stand around it, it has to have both fields: an example in JSON that somebody
    asked for is no reply.
    """
    if not text.lstrip().startswith(("{", "```")):
        text = without_thoughts(text)
    position = 0
    while match := _OBJECT.search(text, position):
        reply, position = _reply_at(text, match.start())
        if reply is None:
            continue
        around = text[: match.start()] + text[position:]
        if reply.complete or not _FENCE.sub("", around).strip():
            return reply
    return None


def repaired_reply(text: str) -> Reply | None:
    """Return the reply that broken JSON was meant to be, without a note that was cut off."""
    value = repaired(text)
    objects = value if isinstance(value, list) else [value]
    reply = next((found for each in objects if (found := read_reply(each)) is not None), None)
    if reply is None or not reply.proposed or not isinstance(reply.proposed[-1], str):
        return reply
    written, end = text.rstrip("` \n\t"), reply.proposed[-1].strip()[-10:]
    cut_off = written.endswith(end) or _HALF_ESCAPE.search(written)
    return replace(reply, proposed=reply.proposed[:-1]) if cut_off else reply


def _reply_at(text: str, start: int) -> tuple[Reply | None, int]:
    """Return the reply that begins at a place, and where it ends."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return repaired_reply(text[start:]), len(text)
    return read_reply(value), end


def _proposals(value: object) -> tuple[object, ...]:
    if isinstance(value, str) and _LIST.match(value):
        value = repaired(value)  # small models write the list as a text
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)
