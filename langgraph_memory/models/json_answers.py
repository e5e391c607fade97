"""What a model meant to answer: JSON out of whatever it wrote, the only place that mends it. Pure.

Read are the arguments of tool calls, broken ones too, and texts: with thoughts, fences and prose
around the JSON, cut off, badly escaped, several values one after the other. What was cut off in the
middle is left out, and all that is whole is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import json_repair
from langchain_core.messages import AIMessage
from pydantic import BaseModel

CUT_OFF = "the answer was cut off; its last item is left out"

DECODER = json.JSONDecoder(strict=False)
"""Of JSON as models write it: with plain line breaks in its texts."""

_READ_CHARACTERS = 100_000
_REPAIRED_CHARACTERS = 16_000  # takes up to 1.6 s, which grows with the square
# It asserts what not every text keeps to, such as a fence inside a broken string.
_NOT_REPAIRED = (ValueError, RecursionError, AssertionError, LookupError, TypeError, AttributeError)
_WIDE = re.compile(r'((?<!\\)["\]}])\s*([：，])\s*(?=["\[{}]|null|None)')
_THOUGHTS = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought)>.*", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"</(?:think|thinking|thought)>", re.IGNORECASE)
_OBJECT = re.compile(r"\{\s*\"[^\"]*\"\s*:")
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
# A brace in prose ("Hello {name}") begins no JSON.
_BEGINNING = re.compile(r"[\[{](?=\s*[\"'“\[{\]}])")


class UnreadableAnswer(ValueError):
    """There is no JSON in an answer, or none of the kind that was asked for."""


def items_of(answer: object, key: str) -> tuple[list[Any], list[str]]:
    """Return the items of an answer, and what was wrong with it as a whole.

    Args:
        answer: A message, a text, a Pydantic object, a dict or a list.
        key: The field that makes a dict an item; a dict without it contains items.

    Raises:
        UnreadableAnswer: If there is nothing to be read.

    Example:
        >>> items_of('Sure: {"notes": [{"text": "Drinks tea"}, {"text": "Drin', "text")
        ([{'text': 'Drinks tea'}], ['the answer was cut off; its last item is left out'])
    """
    if isinstance(answer, AIMessage):
        parts = _said(answer)
    else:
        parts = [answer.model_dump() if isinstance(answer, BaseModel) else answer]
    items: list[Any] = []
    problems: list[str] = []
    for part in parts:
        try:
            found, cut = _parsed(part, key) if isinstance(part, str) else (_items(part, key), False)
        except RecursionError:
            raise UnreadableAnswer("the answer is nested too deeply") from None
        if cut:
            found = found[:-1]
            problems.append(CUT_OFF)
        if cut and not found:
            raise UnreadableAnswer("the answer was cut off before its first item was complete")
        items += found
    return items, problems


def text_of_answer(answer: object) -> str:
    """Return an answer as the text to show to the model that gave it."""
    parts = _said(answer) if isinstance(answer, AIMessage) else [answer]
    return "\n".join(
        part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, default=str)
        for part in parts
    )


def without_thoughts(text: str) -> str:
    """Return a text without what the model thought before, or between, what it answers."""
    text = _THOUGHTS.sub("", text)
    return _OPEN_THOUGHT.sub("", _END_OF_THOUGHT.split(text)[-1])


def repaired(text: str) -> Any:
    """Return what broken JSON was meant to say, or `None` if that cannot be told in good time."""
    if len(text) > _REPAIRED_CHARACTERS:
        return None
    narrow = _WIDE.sub(lambda m: m[1] + (":" if m[2] == "：" else ","), text)
    try:
        return json_repair.loads(narrow)
    except _NOT_REPAIRED:
        return None


def _said(message: AIMessage) -> list[Any]:
    """Return the arguments of a message's tool calls, or its text if it has none."""
    calls: list[Any] = [call["args"] for call in message.tool_calls]
    calls += [call["args"] or "" for call in message.invalid_tool_calls]
    return calls or [str(message.text)]


def _parsed(text: str, key: str) -> tuple[list[Any], bool]:
    """Return the items in a text, and whether the last one was cut off."""
    text = without_thoughts(text[:_READ_CHARACTERS])
    fenced = [block for block in _FENCE.findall(text) if _BEGINNING.search(block)]
    text = "\n".join(fenced) if fenced else text
    start = _BEGINNING.search(text)
    if start is None:
        raise UnreadableAnswer("there is no JSON in the answer")
    text = text[start.start() :]
    items: list[Any] = []
    while _BEGINNING.match(text):
        try:
            value, end = DECODER.raw_decode(text)
        except ValueError:
            mended = repaired(text)
            if mended is None:
                return [*items, *_whole_items(text, key)], False
            return [*items, *_items(mended, key)], _is_cut_off(text)
        items += _items(value, key)
        text = text[end:].lstrip(" \t\r\n,;")
    return items, False


def _whole_items(text: str, key: str) -> list[Any]:
    """Return the items of broken JSON that are whole as they are."""
    items: list[Any] = []
    end = 0
    for beginning in _OBJECT.finditer(text):
        if beginning.start() < end:
            continue
        try:
            value, after = DECODER.raw_decode(text, beginning.start())
        except ValueError:
            continue
        if key in value:
            items.append(value)
            end = after
    if not items:
        raise UnreadableAnswer("there is no whole item in the answer")
    return items


def _is_cut_off(text: str) -> bool:
    """Whether broken JSON ends within an item, and not in prose after the last one."""
    tail = text[max(text.rfind("}"), text.rfind("]")) + 1 :]
    return any(sign in tail for sign in "{[\"'")


def _items(value: Any, key: str) -> list[Any]:
    """Return the items in a JSON value, whatever they are wrapped into."""
    if isinstance(value, list):
        return [item for each in value for item in _items_of_element(each, key)]
    if isinstance(value, str) and _BEGINNING.match(value.strip()):
        return _parsed(value, key)[0]  # JSON in JSON
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(f"expected a list of items, got {type(value).__name__}")
    if key in value:
        return [value]
    contents = [each for each in value.values() if each]
    if not contents:
        return []
    for each in contents:
        if isinstance(each, list | Mapping) or (isinstance(each, str) and _BEGINNING.match(each)):
            return _items(each, key)
    raise UnreadableAnswer(f"no item has the field {key!r}, and there is no list of items")


def _items_of_element(element: Any, key: str) -> list[Any]:
    """Return what an element of a list comes to: itself, or the items that it wraps."""
    if isinstance(element, Mapping) and key not in element:
        wraps = any(isinstance(each, list) for each in element.values())
        return _items(element, key) if wraps else [element]
    return [element]
