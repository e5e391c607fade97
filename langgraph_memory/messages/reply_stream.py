"""The reply out of the tokens of a structured answer, while they come."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from langgraph_memory.messages.structured_reply import SavingReply, take_proposal
from langgraph_memory.text import replace_surrogates

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_OPENINGS = tuple(
    f'{fence}{{"{name}":' for fence in ("", "```", "```json") for name in SavingReply.model_fields
)
_MAYBE = (*_OPENINGS, "<think>", "<thinking>")
_REPLY = re.compile(r'(?<!\\)"reply"\s*:\s*"((?:[^"\\]+|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])*)')
_HALF_PAIR = re.compile("[\ud800-\udbff]\\Z")


class ReplyStream:
    """Turns what `stream_mode="messages"` brings into what the user reads, token by token.

    One is for one run. Text that is no structured reply passes through.

    Example:
        >>> from langchain_core.messages import AIMessageChunk
        >>> tokens = ['{"reply": "Hi', ', 小明!"', ', "save_to_memory": ["用户叫', '小明"]}']
        >>> stream = ReplyStream()
        >>> [stream.feed(AIMessageChunk(token, id="1")) for token in tokens]
        ['Hi', ', 小明!', '', '']
    """

    def __init__(self) -> None:
        self._answers: dict[str | None, _Answer] = {}

    def feed(self, message: BaseMessage) -> str:
        """Return what to show for the next message or chunk of one; mostly a few characters."""
        if not isinstance(message, AIMessage):
            return ""
        if not isinstance(message, AIMessageChunk):
            return self._whole(message)
        answer = self._answers.setdefault(message.id, _Answer())
        answer.written += message.text
        for call in message.tool_call_chunks:
            answer.tool = call["name"] or answer.tool
            if answer.tool == SavingReply.__name__:
                answer.written += call["args"] or ""
        reply = _reply_so_far(answer.written)
        new, answer.shown = reply[len(answer.shown) :], reply
        return new

    def _whole(self, message: AIMessage) -> str:
        """Return the text of a message, unless it was shown: nodes make one of what streamed."""
        [plain] = take_proposal([message]).messages
        text = str(plain.text)
        shown = any(text.strip() == answer.shown.strip() for answer in self._answers.values())
        return "" if shown else text


@dataclass(slots=True)
class _Answer:
    """One message, as far as it came."""

    written: str = ""
    shown: str = ""
    tool: str | None = None


def _reply_so_far(written: str) -> str:
    spoken = _THOUGHT.sub("", written)
    if spoken.lstrip().startswith("<think"):
        return ""
    compact = re.sub(r"\s", "", spoken[:200])
    if any(opening.startswith(compact) for opening in _MAYBE):
        return ""  # it may become JSON
    if not compact.startswith(_OPENINGS):
        return spoken
    match = _REPLY.search(spoken)
    if match is None:
        return ""
    reply: str = json.loads(f'"{match[1]}"', strict=False)
    return replace_surrogates(_HALF_PAIR.sub("", reply))
