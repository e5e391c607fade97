"""LangChain messages: which of them are part of what was said, and how a block gets into them.

Logged is what the user and the agent said. Never logged as said: system messages, tool output,
summaries, and memory that was put into a prompt.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    convert_to_messages,
)

from langgraph_memory.clock import parse_time
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records import Message, record_id
from langgraph_memory.scope import Owner

MARK = "langgraph_memory_block"
"""In `additional_kwargs` of a message that a block was put before: how many characters of it."""

Redact = Callable[[str], str]

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def as_messages(messages: object) -> list[BaseMessage]:
    """Return messages in any of LangChain's forms as message objects.

    Raises:
        ConfigurationError: If they are none.
    """
    given: Iterable[MessageLikeRepresentation]
    if isinstance(messages, (str, tuple, Mapping, BaseMessage)):
        given = [messages]  # type: ignore[list-item]  # checked by what follows
    elif isinstance(messages, Iterable):
        given = messages
    else:
        raise ConfigurationError(f"expected messages, got {type(messages).__name__}")
    try:
        return convert_to_messages(given)
    except (ValueError, NotImplementedError) as error:
        raise ConfigurationError(f"these are not messages: {error}") from error


def is_said(message: BaseMessage) -> bool:
    """Whether a message is something that the user or the agent said."""
    if not isinstance(message, (HumanMessage, AIMessage)):
        return False
    if message.additional_kwargs.get("lc_source") == "summarization":
        return False
    return bool(text_of(message).strip())


def text_of(message: BaseMessage) -> str:
    """Return a message's text, without the block of memory that was put before it."""
    return str(without_block(message).text)


def last_user_message(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """Return the latest message that the user said; it begins the current turn."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and is_said(message):
            return message
    return None


def current_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages from the latest one of the user on."""
    start = last_user_message(messages)
    places = [i for i, message in enumerate(messages) if message is start]
    return list(messages[places[-1] :]) if places else []


def turn_id(message: BaseMessage) -> str:
    """Return by what a turn is known: the id of its user's message, or one from its content."""
    return message.id or record_id("message", text_of(message))


def message_records(
    messages: Sequence[BaseMessage],
    *,
    owner: Owner,
    thread_id: str,
    at: datetime | None,
    now: datetime,
    redact: Redact,
) -> list[Message]:
    """Return the records of the messages that were said.

    A message's id is its own; one without gets an id from its role, its text and its place among
    the messages equal to it. Its time is `at`, else an ISO 8601 `additional_kwargs["timestamp"]`,
    else `now`.
    """
    equal: Counter[tuple[str, str]] = Counter()
    records = []
    for position, message in enumerate(messages):
        if not is_said(message):
            continue
        text = text_of(message)
        role = "user" if isinstance(message, HumanMessage) else "assistant"
        message_id = message.id or record_id("message", role, text, equal[role, text])
        equal[role, text] += 1
        records.append(
            Message(
                id=Message.id_of(thread_id, message_id),
                owner=owner,
                created_at=at or _timestamp(message) or now,
                text=redact(text),
                speaker=message.name or role,
                role=role,  # type: ignore[arg-type]  # one of two literals
                thread_id=thread_id,
                message_id=message_id,
                position=position,
            )
        )
    return records


def tool_names(messages: Iterable[BaseMessage]) -> list[str]:
    """Return the names of the tools that were called, in order, each once."""
    calls = (call["name"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls)
    return list(dict.fromkeys(calls))


def token_cost(messages: Iterable[BaseMessage]) -> int | None:
    """Return the tokens that the models reported, or `None` if they reported none."""
    usages = [m.usage_metadata for m in messages if isinstance(m, AIMessage) and m.usage_metadata]
    return sum(usage["total_tokens"] for usage in usages) if usages else None


def with_block(message: HumanMessage, block: str) -> HumanMessage:
    """Return a copy of a message with a block of memory before its text, marked as such."""
    prefix = f"{block}\n\n"
    content: str | list[Any]
    if isinstance(message.content, str):
        content = prefix + message.content
    else:
        content = [{"type": "text", "text": prefix}, *message.content]
    marked = {**message.additional_kwargs, MARK: len(prefix)}
    return message.model_copy(update={"content": content, "additional_kwargs": marked})


def without_block(message: BaseMessage) -> BaseMessage:
    """Return a message as it was before `with_block`; any other message is returned as it is."""
    length = message.additional_kwargs.get(MARK)
    if not isinstance(length, int):
        return message
    content = message.content[length:] if isinstance(message.content, str) else message.content[1:]
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key != MARK}
    return message.model_copy(update={"content": content, "additional_kwargs": kwargs})


def with_ids(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return messages that all have an id, so that what is logged is what the state will hold."""
    return [
        message if message.id else message.model_copy(update={"id": str(uuid.uuid4())})
        for message in messages
    ]


def _timestamp(message: BaseMessage) -> datetime | None:
    given = message.additional_kwargs.get("timestamp")
    if not isinstance(given, str):
        return None
    try:
        return parse_time(given)
    except ValueError:  # a client's malformed time must not stop the conversation
        return None


def is_small_talk(text: str, tools: Sequence[str]) -> bool:
    """Whether a turn is not worth an episode: no tool was called, and it is three words or fewer.

    A CJK character counts as half a word.

    Example:
        >>> is_small_talk("Thanks, bye!", []), is_small_talk("谢谢你", [])
        (True, True)
        >>> is_small_talk("Send me the same as last time.", [])
        False
    """
    cjk = len(_CJK.findall(text))
    words = len(re.findall(r"\w+", _CJK.sub(" ", text)))
    return not tools and words + cjk / 2 <= 3
