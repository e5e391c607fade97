"""The outline of a turn that is going on, for when a summary takes the place of its messages. Pure.

It is what a turn is kept by: what was said, the names of the tools, the tokens. What the tools were
given and returned, and attachments, are not in it, since it lies in every checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    messages_from_dict,
    messages_to_dict,
)

from langgraph_memory.messages.langchain import (
    begins_turn,
    current_turn,
    is_handoff_back,
    text_of,
    with_new_messages,
)


def outline_of(turn: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return the outline of a turn, as plain data.

    Dicts, since LangGraph streams every message that a node writes, under whatever key.
    """
    return messages_to_dict(list(_outlined(turn)))


def whole(
    messages: Sequence[BaseMessage], outline: Sequence[Mapping[str, Any]] | None
) -> list[BaseMessage]:
    """Return messages, with those of the turn that are in its outline alone.

    Args:
        messages: Those that are left, all with ids.
        outline: That of the last turn that was begun. If another one has begun since, it is passed
            over: that turn is over, or has come to nothing.
    """
    begun = messages_from_dict([dict(message) for message in outline or ()])
    left = current_turn(messages)
    if not begun or (left and left[0].id != begun[0].id):
        return list(messages)
    before = messages[: len(messages) - len(left)] if left else ()
    return [*before, *with_new_messages(begun, left or messages)]


def _outlined(turn: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    for message in turn:
        if begins_turn(message):
            yield HumanMessage(text_of(message), id=message.id, name=message.name)
        elif isinstance(message, AIMessage) and not is_handoff_back(message):
            yield AIMessage(
                text_of(message),
                id=message.id,
                name=message.name,
                tool_calls=[{**call, "args": {}} for call in message.tool_calls],
                usage_metadata=message.usage_metadata,
            )
