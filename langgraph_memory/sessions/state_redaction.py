"""What checkpoints keep, without secrets: values of all types that LangGraph stores.

What is kept has the types, the structure and the ids of what was given, which stays as it is: a
run goes on with what it has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.store.base import Item
from langgraph.types import Send
from pydantic import BaseModel

from langgraph_memory.redaction import Redact, beside, check_redact, redact_secrets, redacted_blocks

T = TypeVar("T")

_NOT_READ = frozenset(["id", "type", "tool_call_id", "tool_use_id", "call_id", "index"])
"""Of a message: what others refer to, and what tells how it is read."""
_CALLS = ("tool_calls", "invalid_tool_calls")
_BLOCKS = frozenset(["content", *_CALLS])
"""Of a message: what is made of blocks, each with an id and a type of its own."""
_IDS = frozenset(["thread_id", "user_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"])
"""Of a config: by these a thread is found again."""
_REMEMBERED = 100_000
"""How many texts and messages are known to have no secret: some 15 MB."""


class StateRedactor:
    """Takes secrets out of what a saver is given to keep.

    A thread's messages come again with each step: which of them have no secret is remembered, by
    what they hold. Those that have one are kept without it, and so come back without it.
    """

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._clean: set[tuple[object, ...]] = set()

    def checkpoint(self, given: Checkpoint) -> Checkpoint:
        """Return a checkpoint without secrets in its channels."""
        return {**given, "channel_values": self._named(given["channel_values"])}

    def writes(self, given: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Return what nodes wrote, without secrets."""
        return [(channel, self.value(each, channel)) for channel, each in given]

    def metadata(self, given: CheckpointMetadata) -> CheckpointMetadata:
        """Return the metadata of a checkpoint without secrets."""
        kept: CheckpointMetadata = self._named(given)
        return kept

    def config(self, given: RunnableConfig) -> RunnableConfig:
        """Return a run's config without secrets: a saver adds its texts to the metadata."""
        parts: Any = {key: given[key] for key in ("metadata", "configurable") if key in given}
        for key, part in parts.items():
            texts = {name: each for name, each in part.items() if isinstance(each, str)}
            parts[key] = {**part, **self._changed(texts, _IDS)}
        return {**given, **parts}

    def value(self, value: Any, name: str = "") -> Any:
        """Return any value without secrets, itself if it has none.

        Args:
            value: What LangGraph can store. Numbers, bytes and types that are not known stay.
            name: What it is called, which may tell what it is.
        """
        match value:
            case Enum():
                return value
            case str():
                return self._text(value, name)
            case dict():
                return self._mapping(value)
            case BaseMessage():
                return self._message(value)
            case list() | tuple() | set() | frozenset() | deque():
                return self._sequence(value, name)
            case BaseModel():
                changed = self._changed(_attributes(value))
                return value.model_copy(update=changed) if changed else value
            case BaseException():  # of which savers keep how it is shown
                shown = self._redact(repr(value))
                return value if shown == repr(value) else shown
            case Send():
                return _with(value, self._changed({"arg": value.arg}))
            case Item():
                return _with(value, self._changed({"value": value.value}))
            case _ if is_dataclass(value) and not isinstance(value, type):
                return _with(
                    value, self._changed({f.name: getattr(value, f.name) for f in fields(value)})
                )
        return value

    def _text(self, text: str, name: str) -> str:
        known = (name, len(text), hash(text))
        if known in self._clean:
            return text
        kept = beside(name, text, self._redact)
        if kept == text:
            self._remember(known)
            return text
        return kept

    def _message(self, message: BaseMessage) -> BaseMessage:
        attributes = _attributes(message)
        shown = repr(attributes)
        known = (type(message), message.id, len(shown), hash(shown))
        if known in self._clean:
            return message
        changed = self._changed(attributes, _NOT_READ | _BLOCKS)
        blocks = {"content": self._content(message.content)}
        blocks |= {key: self._blocks(attributes[key]) for key in _CALLS if key in attributes}
        changed |= {key: each for key, each in blocks.items() if each is not attributes[key]}
        if changed:
            return message.model_copy(update=changed)
        self._remember(known)
        return message

    def _content(self, content: Any) -> Any:
        """Return the content of a message, of which a secret may stand in several blocks."""
        if isinstance(content, str):
            return self._text(content, "")
        return redacted_blocks(self._blocks(content), self._redact)

    def _blocks(self, blocks: list[Any]) -> list[Any]:
        kept = [self._block(each) for each in blocks]
        return blocks if _same(kept, blocks) else kept

    def _block(self, block: Any) -> Any:
        if not isinstance(block, dict):
            return self.value(block)
        changed = self._changed(block, _NOT_READ)
        return {**block, **changed} if changed else block

    def _mapping(self, given: dict[Any, Any]) -> dict[Any, Any]:
        kept = {
            self._text(key, "") if isinstance(key, str) else key: self.value(
                each, key if isinstance(key, str) else ""
            )
            for key, each in given.items()
        }
        if len(kept) == len(given) and _same(kept.values(), given.values()) and _same(kept, given):
            return given
        if type(given) is dict:
            return kept
        other = copy(given)  # an ordered one, say, or one with a default
        other.clear()
        other.update(kept)
        return other

    def _sequence(self, given: Any, name: str) -> Any:
        kept = [self.value(each, name) for each in given]
        if _same(kept, given):
            return given
        if isinstance(given, deque):
            return deque(kept, given.maxlen)
        return given._make(kept) if hasattr(given, "_make") else type(given)(kept)

    def _named(self, given: Any) -> Any:
        """Return a mapping of LangGraph's, the keys of which are to stay."""
        return {**given, **self._changed(given, _IDS)}

    def _changed(
        self, given: Mapping[str, Any], apart: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """Return the values that have a secret, without it."""
        kept = ((k, v, self.value(v, k)) for k, v in given.items() if k not in apart)
        return {key: new for key, old, new in kept if new is not old}

    def _remember(self, known: tuple[object, ...]) -> None:
        if len(self._clean) >= _REMEMBERED:
            self._clean.clear()
        self._clean.add(known)


def state_redactor(redact: bool | Redact) -> StateRedactor | None:
    """Return what takes secrets out of checkpoints, if anything does.

    Raises:
        ConfigurationError: If `redact` is no function of a text, and not `True` or `False`.
    """
    if isinstance(redact, bool):
        return StateRedactor(redact_secrets) if redact else None
    check_redact(redact)
    return StateRedactor(redact)


def _attributes(model: BaseModel) -> dict[str, Any]:
    return {**vars(model), **(model.__pydantic_extra__ or {})}


def _same(kept: Iterable[Any], given: Iterable[Any]) -> bool:
    return all(new is old for new, old in zip(kept, given, strict=True))


def _with(value: T, changed: Mapping[str, Any]) -> T:
    """Return a copy in which some attributes are others, though it may be frozen."""
    if not changed:
        return value
    other = copy(value)
    for name, each in changed.items():
        object.__setattr__(other, name, each)
    return other
