"""Replies that say themselves what is worth keeping: the model proposes, the code decides.

Here is what such a reply looks like, where it is found, how it may be written, and how its text is
shown while it streams; which of its proposals are kept is decided in `notes/proposal_filter`. What
the model reads is the docstring and the field descriptions of `SavingReply`, and its instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
    message_chunk_to_message,
)
from langgraph.types import Command
from pydantic import BaseModel, Field

from langgraph_memory.messages.langchain import current_turn, field_of, text_of
from langgraph_memory.models import DECODER, repaired, without_thoughts
from langgraph_memory.text import replace_surrogates

_INSTRUCTIONS = """\
Answer with one JSON object and nothing else:
{"reply": "what the user reads", "save_to_memory": null}

save_to_memory lists what the user told you in this message and what will still matter in another \
conversation, weeks from now: who they are, lasting preferences, decisions, plans, corrections. \
Each item is one short sentence that is clear by itself, about the user, in the user's language. \
It is null when there is nothing, and mostly there is nothing.

Never save questions, requests, small talk, what matters only today, what you said or what you \
are, guesses, what stands in <memory> already, passwords, keys or card numbers.

Examples:

User: 我叫小明，是一名后端开发工程师
{"reply": "你好，小明！", "save_to_memory": ["用户叫小明", "用户是一名后端开发工程师"]}

User: Please show me code in TypeScript from now on, not in JavaScript.
{"reply": "Sure, TypeScript it is.", "save_to_memory": "The user prefers TypeScript to JavaScript"}

User: I moved: send everything to Córdoba now, no longer to Rosario. And what is the time there?
{"reply": "Noted. I cannot see a clock.", "save_to_memory": ["The user moved from Rosario to \
Córdoba"]}

User: What is the capital of France?
{"reply": "Paris.", "save_to_memory": null}

User: 谢谢，今天好累，明天见！
{"reply": "不客气，早点休息，明天见！", "save_to_memory": null}

User: My password is hunter2. Why can I not log in?
{"reply": "I will not keep the password. Is caps lock on?", "save_to_memory": null}
"""


class SavingReply(BaseModel):
    """Your answer to the user, and what of their message has to be remembered."""

    reply: str = Field(
        description="What the user reads: your whole answer, as plain text, in their language."
    )
    save_to_memory: str | list[str] | None = Field(
        default=None,
        description=(
            "What the user told you about themselves in this message and what will still matter "
            "in another conversation, in their language: a sentence, or a list of sentences with "
            "one fact each. null if there is nothing; no questions, small talk or passwords, and "
            "nothing that you said."
        ),
    )

    @staticmethod
    def instructions() -> str:
        """Return a text for the system prompt: the form, what to keep, what not, and examples."""
        return _INSTRUCTIONS


@dataclass(frozen=True, slots=True)
class Taken:
    """A conversation whose last answer is plain text, and what that answer proposed to keep."""

    messages: list[BaseMessage]
    changes: tuple[BaseMessage, ...] = ()
    """What LangGraph's `add_messages` has to be told."""
    proposed: tuple[object, ...] = ()
    """Whatever the model wrote there: not only texts, and nothing is checked."""


def take_proposal(messages: Sequence[BaseMessage], given: Iterable[object] = ()) -> Taken:
    """Take the structured reply out of the answer of the current turn.

    It is looked for in the last message of the model: a call of the tool `SavingReply`,
    `additional_kwargs["parsed"]`, JSON in its text; and among what else was `given`, if that says
    the same as its text. A message that holds none, or calls other tools too, is left alone.

    Args:
        messages: All of them, or those that a node returned.
        given: Structured replies that a state holds beside its messages.
    """
    turn = current_turn(messages) or messages
    answer = next((m for m in reversed(turn) if isinstance(m, AIMessage)), None)
    reply = None if answer is None else _reply_in(answer, given)
    if answer is None or reply is None:
        return Taken(list(messages))
    plain = _plain(answer, reply.text)
    place = next(i for i, message in enumerate(messages) if message is answer)
    before, after = messages[:place], messages[place + 1 :]
    # A tool's result without its call is refused by most models.
    calls = {call["id"] for call in (*answer.tool_calls, *answer.invalid_tool_calls)}
    results = [m for m in after if isinstance(m, ToolMessage) and m.tool_call_id in calls]
    kept = [message for message in after if message not in results]
    changes = (plain,) if plain is not answer else ()
    removed = (RemoveMessage(message.id) for message in results if message.id)
    return Taken([*before, plain, *kept], (*changes, *removed), reply.proposed)


def structured_in(state: Any) -> Iterator[object]:
    """Return what a state, or what a node returns, holds where structured replies lie."""
    if isinstance(state, Command):
        yield from structured_in(state.update)
    elif isinstance(state, list):
        for part in state:
            yield from structured_in(part)
    else:
        for name in ("structured_response", "reply"):
            yield field_of(state, name)


def _reply_in(answer: AIMessage, given: Iterable[object]) -> Reply | None:
    calls = [
        *((call["name"], read_reply(call["args"])) for call in answer.tool_calls),
        *((call["name"], repaired_reply(call["args"] or "")) for call in answer.invalid_tool_calls),
    ]
    if calls:
        replies = [reply for name, reply in calls if _is_ours(name, reply)]
        return replies[0] if len(replies) == len(calls) else None
    text = text_of(answer)
    found = read_reply(answer.additional_kwargs.get("parsed")) or reply_in_text(text)
    if found is not None:
        return found
    beside = (read_reply(value) for value in given)
    return next((r for r in beside if r is not None and r.text.strip() == text.strip()), None)


def _is_ours(tool: str | None, reply: Reply | None) -> bool:
    """Whether a reply came by our tool; one of a class derived from ours has both fields."""
    return reply is not None and (tool == SavingReply.__name__ or reply.complete)


def _plain(answer: AIMessage, text: str) -> AIMessage:
    """Return an answer with its text alone; it keeps its id, its usage and its metadata."""
    unstructured = not (answer.tool_calls or answer.invalid_tool_calls)
    extra = answer.additional_kwargs.keys() & {"parsed", "tool_calls", "function_call"}
    if unstructured and not extra and text_of(answer).strip() == text.strip():
        return answer
    whole: Any = message_chunk_to_message(answer)
    kwargs = {key: each for key, each in answer.additional_kwargs.items() if key not in extra}
    content = text if isinstance(answer.content, str) else [{"type": "text", "text": text}]
    plain: AIMessage = whole.model_copy(
        update={
            "content": content,
            "tool_calls": [],
            "invalid_tool_calls": [],
            "additional_kwargs": kwargs,
        }
    )
    return plain


# -- how a reply is written: an object, or JSON however broken -------------------------------------


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
    if isinstance(value, Mapping) and value.get("name") == SavingReply.__name__:
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
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return repaired_reply(text[start:]), len(text)
    return read_reply(value), end


def _proposals(value: object) -> tuple[object, ...]:
    if isinstance(value, str) and _LIST.match(value):
        value = repaired(value)  # small models write the list as a text
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


# -- a reply while it streams ----------------------------------------------------------------------


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
