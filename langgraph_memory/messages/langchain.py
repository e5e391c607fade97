"""LangChain messages: which are part of what was said, their words, how a block gets into them.

Logged is what the user and the agent said. Never logged as said: system messages, tool output,
summaries, memory that was put into a prompt, and the notice with which an agent hands back.

Of content in blocks, kept is what is written, refused or transcribed, and what an attachment is
called: an image, a recording or a file has a name or a caption that people refer to. Its data is
never read.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
    convert_to_messages,
)

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records import GLOBAL_ID, record_id
from langgraph_memory.text import CLOSE, OPEN

MARK = "langgraph_memory_block"
"""In `additional_kwargs` of a copy of a message that a block was put before."""

M = TypeVar("M", bound=BaseMessage)
Inject = Literal["user", "system"]
"""Where a block goes: before the text of the latest user message, or into the system prompt."""

_TEXT = rf"{re.escape(OPEN)}\n(?:(?!{re.escape(CLOSE)}).)*\n{re.escape(CLOSE)}"
_BLOCK = re.compile(rf"\A{_TEXT}\n\n|\n\n{_TEXT}\Z", re.DOTALL)


def as_messages(messages: object) -> list[BaseMessage]:
    """Return messages in any of LangChain's forms as message objects.

    Raises:
        ConfigurationError: If they are none.
    """
    given: Iterable[MessageLikeRepresentation]
    pair = isinstance(messages, tuple) and len(messages) == 2 and isinstance(messages[0], str)
    if pair or isinstance(messages, (str, Mapping, BaseMessage)):
        given = [messages]  # type: ignore[list-item]  # checked by what follows
    elif isinstance(messages, Iterable):
        given = messages
    else:
        raise ConfigurationError(f"expected messages, got {type(messages).__name__}")
    if isinstance(given, list) and all(
        issubclass(type, BaseMessage) for type in {*map(type, given)}
    ):
        return given  # as in most states, where there may be thousands
    try:
        return convert_to_messages(given)
    except (ValueError, NotImplementedError) as error:
        raise ConfigurationError(f"these are not messages: {error}") from error


def begins_turn(message: BaseMessage) -> bool:
    """Whether a message is one that the user sent, with or without text."""
    return isinstance(message, HumanMessage) and not is_summary(message)


def is_said(message: BaseMessage) -> bool:
    """Whether a message is something that the user or the agent said in words."""
    spoken = isinstance(message, (HumanMessage, AIMessage)) and not is_summary(message)
    return spoken and not is_handoff_back(message) and bool(text_of(message).strip())


def is_summary(message: BaseMessage) -> bool:
    """Whether a message is a summary: of ours, or of LangChain's `SummarizationMiddleware`."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def is_handoff_back(message: BaseMessage) -> bool:
    """Whether a message is the notice that langgraph-supervisor writes when a worker is done."""
    return bool(message.response_metadata.get("__is_handoff_back"))


def text_of(message: BaseMessage) -> str:
    """Return what a message says, without the block of memory that was put before it."""
    return words(without_block(message))


def last_user_message(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """Return the latest message that the user sent."""
    turn = current_turn(messages)
    return turn[0] if turn and isinstance(turn[0], HumanMessage) else None


def current_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages from the latest one of the user on."""
    start = next(starts_of_turns(messages), None)
    return [] if start is None else list(messages[start:])


def starts_of_turns(messages: Sequence[BaseMessage]) -> Iterator[int]:
    """Yield where turns begin, the latest first."""
    return (i for i in reversed(range(len(messages))) if begins_turn(messages[i]))


def messages_with_call(state: Any, call_id: str | None) -> list[BaseMessage]:
    """Return the messages of a state, of whatever form, among which a tool was called."""
    values = [state] if isinstance(state, list) else _values(state)
    lists = [value for value in values if isinstance(value, list)]
    return next((list(each) for each in lists if call_id in _call_ids(each)), [])


def calls_before(messages: Sequence[BaseMessage], name: str, call_id: str | None) -> int:
    """Return how often a tool was called in the current turn before a call."""
    turn = current_turn(messages) or messages
    ids = [id for called, id in _calls(turn) if called == name]
    return len(ids) - 1 - ids[::-1].index(call_id) if call_id in ids else len(ids)


def _values(state: Any) -> Iterable[Any]:
    return (state if isinstance(state, Mapping) else getattr(state, "__dict__", {})).values()


def _call_ids(messages: Sequence[Any]) -> list[str | None]:
    return [id for _, id in _calls(messages)]


def _calls(messages: Sequence[Any]) -> Iterator[tuple[str, str | None]]:
    for message in messages:
        if isinstance(message, AIMessage):
            yield from ((call["name"], call["id"]) for call in message.tool_calls)


def with_ids(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return messages that all have an id.

    One without gets it from its type, its text and its place among the messages equal to it, so
    that the same list gives the same ids again. It is short: an id in its thread alone.
    """
    messages = list(messages)
    ids = [message.id for message in messages]
    if all(ids):
        return messages
    equal: Counter[tuple[str, str]] = Counter()
    named = []
    for message in messages:
        if message.id:
            named.append(message)
            continue
        content = (message.type, text_of(message))
        id = record_id("message", *content, equal[content])[: GLOBAL_ID - 1]
        equal[content] += 1
        named.append(message.model_copy(update={"id": id}))
    return named


def with_new_ids(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return new messages, each with an id that no other has."""
    return [m if m.id else m.model_copy(update={"id": str(uuid.uuid4())}) for m in messages]


def with_new_messages(
    messages: Sequence[BaseMessage], new: Iterable[BaseMessage]
) -> list[BaseMessage]:
    """Return messages with new ones: in the place of those with the same id, or at the end."""
    by_id = {message.id: message for message in messages}
    for message in new:
        by_id[message.id] = message
    return list(by_id.values())


def tool_names(messages: Iterable[BaseMessage]) -> list[str]:
    """Return the names of the tools that were called, in order, each once."""
    asked = (m for m in messages if isinstance(m, AIMessage) and not is_handoff_back(m))
    return list(dict.fromkeys(call["name"] for m in asked for call in m.tool_calls))


def token_cost(messages: Iterable[BaseMessage]) -> int | None:
    """Return the tokens that the models reported, or `None` if they reported none."""
    usages = [m.usage_metadata for m in messages if isinstance(m, AIMessage) and m.usage_metadata]
    return sum(usage["total_tokens"] for usage in usages) if usages else None


def injected(messages: list[BaseMessage], block: str, inject: Inject) -> list[BaseMessage]:
    """Return messages with a block put into a copy of one of them.

    That is the latest user message, or, where there is none or `inject` says so, the first system
    message, wherever it stands; a new one if there is none.
    """
    if not block:
        return messages
    latest = last_user_message(messages)
    if inject == "user" and latest is not None:
        copy = with_block(latest, block)
        return [copy if message is latest else message for message in messages]
    place = _system_place(messages)
    if place is None:
        return [with_block(SystemMessage(""), block), *messages]
    return [*messages[:place], with_block(messages[place], block), *messages[place + 1 :]]


def _system_place(messages: Sequence[BaseMessage]) -> int | None:
    places = (i for i, message in enumerate(messages) if isinstance(message, SystemMessage))
    return next(places, None)


def check_inject(inject: str) -> None:
    """Refuse a place that a block cannot be put into."""
    if inject not in ("user", "system"):
        raise ConfigurationError(f"inject= is 'user' or 'system', got {inject!r}")


def with_block(message: M, block: str) -> M:
    """Return a copy of a message with a block of memory, marked as such.

    It stands before what a user said, and after a system prompt, whose beginning is cached. It
    takes the place of one that is there, as where an agent with memory works in a node with memory.
    """
    message = without_block(message)
    if isinstance(message, SystemMessage):
        content = _content_and(message, f"\n\n{block}")
    elif isinstance(message.content, str):
        content = f"{block}\n\n{message.content}"
    else:
        content = [{"type": "text", "text": f"{block}\n\n"}, *message.content]
    marked = {**message.additional_kwargs, MARK: True}
    return message.model_copy(update={"content": content, "additional_kwargs": marked})


def with_instructions(messages: list[BaseMessage], text: str) -> list[BaseMessage]:
    """Return messages whose first system message goes on with a text; without one, it is one."""
    place = _system_place(messages)
    if place is None:
        return [SystemMessage(text), *messages]
    prompt = messages[place]
    content = _content_and(prompt, f"\n\n{text}")
    longer = prompt.model_copy(update={"content": content})
    return [*messages[:place], longer, *messages[place + 1 :]]


def _content_and(prompt: BaseMessage, text: str) -> Any:
    content = prompt.content
    if isinstance(content, str):
        return content + text
    return [*content, {"type": "text", "text": text}]


def without_block(message: M) -> M:
    """Return a message as it was before `with_block`; any other message is returned as it is."""
    if MARK not in message.additional_kwargs:
        return message
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key != MARK}
    content = _content_without_block(message.content)
    return message.model_copy(update={"content": content, "additional_kwargs": kwargs})


def _content_without_block(content: Any) -> Any:
    """Cut the block off where it stands; a node may have changed the message it was given."""
    if isinstance(content, str):
        return _BLOCK.sub("", content, count=1)
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return [
        part
        for part, text in zip(content, texts, strict=True)
        if not (isinstance(text, str) and _BLOCK.fullmatch(text))
    ]


def field_of(state: Any, name: str) -> Any:
    """Return a field of a state or a context, a mapping or an object; `None` if it has none."""
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


# -- the words in a message ------------------------------------------------------------------------


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
