"""A chat model that says what a test wrote down for it, and remembers what it was asked."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ToolCall,
    message_chunk_to_message,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, PrivateAttr
from pydantic_core import to_jsonable_python

from langgraph_memory.errors import ConfigurationError

Answer = str | AIMessage | BaseException | Mapping[str, Any] | BaseModel
"""Text, a message, an error to raise, or a structured output."""

Response = Answer | Callable[[list[BaseMessage]], Answer]
"""An answer, or a function of the messages that returns one."""

# Kana, Han and their punctuation, which stand without spaces.
_CJK = "\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"
_CJK += "\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_CJK}]\s*|[^\s{_CJK}]+\s*|\s+")


def word_chunks(text: str) -> list[str]:
    """Cut a text into words with their spaces, and CJK text into characters.

    Example:
        >>> word_chunks("Good morning, 早安")
        ['Good ', 'morning, ', '早', '安']
    """
    return _TOKEN.findall(text)


class ScriptedChatModel(BaseChatModel):
    """A chat model that gives the responses of a script, in order, one for each call.

    A response is

    - a text;
    - an `AIMessage`, with tool calls, usage or anything else (a copy is given out);
    - an exception, which is raised;
    - a dict or Pydantic object, the structured output: it becomes a call of the tool that
      `with_structured_output` or `bind_tools` bound, or JSON text where none is bound;
    - a function that takes the messages and returns one of these.

    Where a message brings no usage, words are counted. Streams are cut into words. A call after
    the last response is an `AssertionError`. Safe to call from several threads, and from async
    code, where functions run in a thread, so they may block.

    Example:
        >>> model = ScriptedChatModel(["Hello!", lambda messages: messages[-1].text.upper()])
        >>> model.invoke("Hi").text, model.invoke("tea").text
        ('Hello!', 'TEA')
        >>> [messages[-1].text for messages in model.calls]
        ['Hi', 'tea']
    """

    responses: tuple[Any, ...]
    """The script: each item is a `Response`."""

    model_name: str = "scripted"
    """The name in each answer's metadata."""

    _script: _Script = PrivateAttr()

    def __init__(self, responses: Sequence[Response], **kwargs: Any) -> None:
        """Take the script.

        Raises:
            ConfigurationError: If `responses` is no list of possible responses.
        """
        if isinstance(responses, str):
            raise ConfigurationError(f"responses= takes a list, got the text {responses!r}")
        for position, response in enumerate(responses, 1):
            if isinstance(response, type) or not callable(response):
                _check(response, f"response {position}")
        super().__init__(**{"responses": tuple(responses), **kwargs})
        self._script = _Script(self.responses)

    @property
    def calls(self) -> list[list[BaseMessage]]:
        """The messages of each call so far, as they were then."""
        return self._script.calls()

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with tools; it shares script and `calls` with this one.

        Args:
            tools: As `BaseChatModel.bind_tools` takes them.
            tool_choice: The name of the tool that a structured output is for.
            **kwargs: Bound to each call, as `response_format=` is.
        """
        formatted = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=formatted, tool_choice=tool_choice, **kwargs)

    def get_num_tokens(self, text: str) -> int:
        """Return the number of words; the default would download a tokenizer."""
        return len(word_chunks(text))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = self._next_message(messages, kwargs)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(self._next_message(messages, kwargs)):
            yield ChatGenerationChunk(message=chunk)

    def _next_message(self, messages: list[BaseMessage], bound: Mapping[str, Any]) -> AIMessage:
        response = self._script.take(messages)
        if callable(response):
            response = response(list(messages))
            _check(response, "what the function returned")
        if isinstance(response, BaseException):
            raise response
        message = _message(response, bound)
        if message.usage_metadata is None:
            message.usage_metadata = _usage(messages, message)
        message.response_metadata = {
            "model_name": self.model_name,
            "finish_reason": "tool_calls" if message.tool_calls else "stop",
            **message.response_metadata,
        }
        return message


class _Script:
    """The responses and who asked for them; copies of a model share it."""

    def __init__(self, responses: Sequence[Response]) -> None:
        self._responses = responses
        self._calls: list[list[BaseMessage]] = []
        self._lock = Lock()

    def calls(self) -> list[list[BaseMessage]]:
        with self._lock:
            return [list(messages) for messages in self._calls]

    def take(self, messages: Sequence[BaseMessage]) -> Response:
        seen = [_snapshot(message) for message in messages]
        with self._lock:
            self._calls.append(seen)
            number = len(self._calls)
        if number > len(self._responses):
            raise AssertionError(
                f"the script of this ScriptedChatModel has {len(self._responses)} responses, "
                f"and this is call {number}; give it one response for each call "
                f"(last message: {seen[-1].text[:80] if seen else None!r})"
            )
        return self._responses[number - 1]


def _snapshot(message: BaseMessage) -> BaseMessage:
    # Graphs set ids on messages later. A tool's artifact may be anything, also not copyable.
    artifact = getattr(message, "artifact", None)
    return copy.deepcopy(message, {id(artifact): artifact})


def _check(response: object, what: str) -> None:
    other_message = isinstance(response, BaseMessage) and not isinstance(response, AIMessage)
    if other_message or not isinstance(
        response, str | AIMessage | BaseException | Mapping | BaseModel
    ):
        raise ConfigurationError(
            f"{what} is {response!r}; it must be a text, an AIMessage, an exception instance, a "
            "dict or a Pydantic object, or in the script a function that returns one of these"
        )


def _message(answer: str | AIMessage | Mapping[str, Any] | BaseModel, bound: Any) -> AIMessage:
    """Make a new message of an answer."""
    if isinstance(answer, str):
        return AIMessage(answer)
    if isinstance(answer, AIMessageChunk):
        answer = message_chunk_to_message(answer)
    if isinstance(answer, AIMessage):
        return copy.deepcopy(answer)
    # Only what JSON can say: a model could not answer more, and a stream could not carry it.
    value = to_jsonable_python(answer, by_alias=True)
    tool = _tool_for(answer, bound)
    if tool is None:
        return AIMessage(json.dumps(value, ensure_ascii=False))
    return AIMessage("", tool_calls=[ToolCall(name=tool, args=value, id=f"call_{uuid4().hex}")])


def _tool_for(answer: Mapping[str, Any] | BaseModel, bound: Mapping[str, Any]) -> str | None:
    """Return the name of the bound tool that a structured output is for, if one is bound."""
    if bound.get("response_format") is not None:
        return None
    tools = [tool.get("function", tool) for tool in bound.get("tools") or ()]
    names: list[str] = [tool["name"] for tool in tools if "name" in tool]
    choice = bound.get("tool_choice")
    forced = choice.get("function", choice).get("name") if isinstance(choice, dict) else choice
    for name in names:
        if name in (type(answer).__name__, forced):
            return name
    if len(names) > 1:
        raise ConfigurationError(
            f"a {type(answer).__name__} is the structured output of one tool, and these are "
            f"bound: {', '.join(names)}; answer with an AIMessage with tool_calls"
        )
    return names[0] if names else None


def _usage(messages: Sequence[BaseMessage], answer: AIMessage) -> UsageMetadata:
    """Count words."""
    read = sum(len(word_chunks(message.text)) for message in messages)
    arguments = [json.dumps(call["args"], ensure_ascii=False) for call in answer.tool_calls]
    written = sum(len(word_chunks(text)) for text in (answer.text, *arguments))
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _chunks(message: AIMessage) -> Iterator[AIMessageChunk]:
    """Cut a message into chunks which add up to it; the last one carries the metadata."""
    content = message.content
    pieces: list[Any] = (
        list(word_chunks(content)) if isinstance(content, str) else [[block] for block in content]
    )
    for piece in pieces:
        yield AIMessageChunk(content=piece, id=message.id)
    for index, (name, arguments, call_id) in enumerate(_raw_tool_calls(message)):
        first, *rest = word_chunks(arguments) or [""]
        start = tool_call_chunk(name=name, args=first, id=call_id, index=index)
        later = [tool_call_chunk(args=piece, index=index) for piece in rest]
        for part in (start, *later):
            yield AIMessageChunk(content="", tool_call_chunks=[part], id=message.id)
    yield AIMessageChunk(
        content="" if isinstance(content, str) else [],
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        name=message.name,
        id=message.id,
        chunk_position="last",
    )


def _raw_tool_calls(message: AIMessage) -> Iterator[tuple[str | None, str, str | None]]:
    for call in message.tool_calls:
        yield call["name"], json.dumps(call["args"], ensure_ascii=False), call["id"]
    for broken in message.invalid_tool_calls:
        yield broken["name"], broken["args"] or "", broken["id"]
