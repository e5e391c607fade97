"""What a run is to save, as data that can wait on disk. Pure.

It is what a turn is kept by: what was said, without secrets; the names of the tools; the tokens;
the notes that the model proposed. What tools were given and returned, and attachments, are not in
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    messages_from_dict,
    messages_to_dict,
)

from langgraph_memory.episodes import turns_before
from langgraph_memory.memory import Content
from langgraph_memory.messages import current_turn, is_handoff_back, is_summary, text_of
from langgraph_memory.notes import worth_keeping
from langgraph_memory.redaction import Redact
from langgraph_memory.text import replace_surrogates


@dataclass(frozen=True, slots=True)
class Saving:
    """What a run is to save of a conversation."""

    messages: Sequence[BaseMessage]
    """All of the state, with ids."""
    over: bool = False
    """Whether the turn is over; else it is only what was said until now."""
    proposed: Sequence[object] = ()
    """What the model proposes to remember of the turn."""
    episodes: bool = False
    """Whether an episode is logged if it was a task."""
    began: datetime | None = None
    stopped: int = 0

    def content(self, redact: Redact, waiting: Iterable[Content]) -> dict[str, Any]:
        """Return it as JSON.

        Args:
            redact: Takes secrets out of a text.
            waiting: What waits of the same thread: messages that are in it are left out, unless
                they belong to the task that this turn is about.
        """
        known = {_same(message) for content in waiting for message in content.get("messages", ())}
        task = len(self.messages) - len(self._task()) if self.over else len(self.messages)
        reduced = [
            (place, dict(message))
            for place, said in enumerate(self.messages)
            for message in messages_to_dict(list(_reduced(said, redact)))
            if place >= task or _same(message) not in known
        ]
        return {
            "messages": [message for _, message in reduced],
            "places": [place for place, _ in reduced],
            "over": self.over,
            "proposed": worth_keeping(self.proposed, redact)[0],
            "episodes": self.episodes,
            "began": None if self.began is None else self.began.isoformat(),
            "stopped": self.stopped,
        }

    @classmethod
    def of(cls, content: Content) -> Saving:
        """Return what `content` made JSON of, each message in its place."""
        began = content["began"]
        return cls(
            list(_placed(messages_from_dict(list(content["messages"])), content["places"])),
            content["over"],
            content["proposed"],
            content["episodes"],
            None if began is None else datetime.fromisoformat(began),
            content["stopped"],
        )

    def _task(self) -> Sequence[BaseMessage]:
        """Return the latest turn, with those that it may go on with."""
        return [current_turn(self.messages), *turns_before(self.messages)][-1]


def _reduced(message: BaseMessage, redact: Redact) -> Iterator[BaseMessage]:
    if is_summary(message) or is_handoff_back(message):
        return
    if not isinstance(message, (HumanMessage, AIMessage)):
        return
    said: dict[str, Any] = {
        "content": redact(replace_surrogates(text_of(message))),
        "id": message.id,
        "name": None if message.name is None else redact(replace_surrogates(message.name)),
    }
    if "timestamp" in message.additional_kwargs:
        said["additional_kwargs"] = {"timestamp": str(message.additional_kwargs["timestamp"])}
    if isinstance(message, HumanMessage):
        yield HumanMessage(**said)
    else:
        calls = [{**call, "args": {}} for call in message.tool_calls]
        yield AIMessage(**said, tool_calls=calls, usage_metadata=message.usage_metadata)


def _same(message: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return by what a reduced message is known; one that was edited is another."""
    return message["data"]["id"], message["data"]["content"]


def _placed(messages: Sequence[BaseMessage], places: Sequence[int]) -> Iterator[BaseMessage]:
    """Yield messages, with something unsaid in each place that was left out."""
    next_place = 0
    for message, place in zip(messages, places, strict=True):
        for left_out in range(next_place, place):
            yield SystemMessage("", id=f"left out {left_out}")
        yield message
        next_place = place + 1
