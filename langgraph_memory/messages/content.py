"""The words in a message's content, in whatever blocks it comes.

Kept is what is written, refused or transcribed, and what an attachment is called: an image, a
recording or a file has a name or a caption that people refer to. Its data is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

_KINDS = {
    "text": "",
    "input_text": "",
    "output_text": "",
    "refusal": "",
    "text-plain": "file",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "media": "file",
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
}
"""Blocks that hold words, by their type: LangChain's own, and those of OpenAI, Anthropic, Google
and Bedrock, whose blocks name their type by their only key. Reasoning and tools are not among
them."""

_WORDS = ("text", "refusal", "transcript")
_NAMES = ("filename", "file_name", "name", "title")
_CAPTIONS = ("caption", "description", "alt_text", "alt", "context")
_INNER = ("extras", "metadata", "source")

_DATA = re.compile(
    r"data:[\w.+/-]{0,99}(?:;[\w.+-]{1,99}=[\w.+-]{1,99}){0,9};base64,[\w+/=-]*", re.A
)


def words(message: BaseMessage) -> str:
    """Return what a message says.

    Example:
        >>> from langchain_core.messages import HumanMessage
        >>> receipt = {"type": "image", "base64": "iVBO...", "extras": {"filename": "receipt.png"}}
        >>> words(HumanMessage([{"type": "text", "text": "What did I pay?"}, receipt]))
        'What did I pay?\\n[image: receipt.png]'
    """
    content = message.content
    if isinstance(content, str):
        text = _without_data(content)
    else:
        # A model's text comes in pieces, cut wherever a citation begins; a person's in parts.
        text = _joined(map(_block_words, content), "" if isinstance(message, AIMessage) else "\n")
    return text or _spoken(message)


def _joined(parts: Iterable[str], between: str) -> str:
    text = ""
    for part in parts:
        seamless = not text or not part or text[-1].isspace() or part[0].isspace()
        text += part if seamless else between + part
    return text


def _block_words(block: Any) -> str:
    if isinstance(block, str):
        return _without_data(block)
    if not isinstance(block, Mapping):
        return ""
    if block.get("type") == "non_standard":
        return _block_words(block.get("value"))
    type = block.get("type") or next((key for key in _KINDS if key in block), "")
    if not isinstance(type, str) or type not in _KINDS:
        return ""
    fields = list(_fields(block, type))
    called = [_first(fields, names) for names in (_NAMES, _CAPTIONS)] if _KINDS[type] else []
    label = ", ".join(filter(str.strip, called))
    written = _first(fields, _WORDS) or _plain_source(block)
    return "\n".join(filter(None, [label and f"[{_KINDS[type]}: {label}]", written]))


def _fields(block: Mapping[str, Any], type: str) -> Iterator[Mapping[str, Any]]:
    """Yield a block, and what it holds that may name it."""
    yield block
    for key in (type, *_INNER):
        if isinstance(inner := block.get(key), Mapping):
            yield inner


def _first(fields: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str:
    found = (each.get(name) for name in names for each in fields)
    texts = (_without_data(text) for text in found if isinstance(text, str))
    return next(filter(None, texts), "")


def _plain_source(block: Mapping[str, Any]) -> str:
    """Return a document that is given as text, in Anthropic's form."""
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") == "text":
        data = source.get("data")
        return data if isinstance(data, str) else ""
    return ""


def _without_data(text: str) -> str:
    return _DATA.sub("", text) if ";base64," in text else text


def _spoken(message: BaseMessage) -> str:
    """Return the transcript of an answer that a model of OpenAI's spoke."""
    audio = message.additional_kwargs.get("audio")
    transcript = audio.get("transcript") if isinstance(audio, Mapping) else None
    return transcript if isinstance(transcript, str) else ""
