"""Asking a chat model for a structured answer, again if need be.

The model is asked by `with_structured_output`, at temperature 0 where that can be set. One that
cannot is asked for JSON in words; one that fails is asked in another way. An answer that cannot be
read goes back to the model with what was wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from pydantic import BaseModel, ValidationError

from langgraph_memory.errors import ConfigurationError, ModelError
from langgraph_memory.models.json_answers import UnreadableAnswer, text_of_answer
from langgraph_memory.twins import Either, blocking

T = TypeVar("T")

ChatModel = BaseChatModel | Runnable[Any, Any]
"""A chat model of LangChain, or a chain that ends in one."""

TAG_MEMORY = "langgraph_memory"
"""On the calls of models that a memory makes for itself."""

_SHOWN_CHARACTERS = 4_000  # of an answer that could not be read
_REFUSED = (400, 404, 422)  # HTTP: what was asked for in this way will be refused again


@dataclass(slots=True)
class ModelAnswer(Generic[T]):
    """What asking came to."""

    value: T
    usage: dict[str, int]
    """`calls`, and the tokens that the models reported, of failed attempts too."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How a model is asked; what it refuses is left out."""

    structured: bool = True
    cold: bool = True
    """At temperature 0."""

    def after(self, error: Exception) -> _Way:
        """Return how to ask after an error."""
        about_it = not isinstance(error, ValidationError) and "temperature" in str(error).lower()
        if self.cold and about_it:
            return replace(self, cold=False)
        return replace(self, structured=False)


@dataclass(slots=True)
class ChatCaller:
    """A chat model, as the memory asks it."""

    model: ChatModel | str
    _resolved: ChatModel | None = field(default=None, init=False)
    _way: _Way = field(default=_Way(), init=False)

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        schema: type[BaseModel],
        read: Callable[[object], T],
        retries: int,
    ) -> ModelAnswer[T]:
        """Ask until an answer can be read; for both forms, see `twins`.

        Args:
            messages: The question.
            schema: The form of the answer.
            read: Makes something of an answer, or raises `UnreadableAnswer`.
            retries: How often to ask again.

        Raises:
            ModelError: If no attempt succeeded; the last error is its cause.
            ConfigurationError: If there is no such model.
        """
        if self._resolved is None:
            await blocking(self.resolve)  # imports the provider's client
        model, way = self.resolve(), self._way
        usage: dict[str, int] = {"calls": 0}
        shown: list[BaseMessage] = []
        failure: Exception | None = None
        for _ in range(retries + 1):
            asked = _cold(model) if way.cold else model
            structured = _structured(asked, schema) if way.structured else None
            request = list(messages) if structured else _in_words(messages, schema)
            usage["calls"] += 1
            try:
                answer = _raw(await _invoke(structured or asked, [*request, *shown], schema))
            except Exception as error:  # noqa: BLE001  # whatever a provider's client raises
                failure, way = error, way.after(error)
                if _will_recur(error):
                    self._way = way
                continue
            _count(usage, answer)
            try:
                return ModelAnswer(read(answer), usage)
            except UnreadableAnswer as error:
                failure = error
                shown = _correction(answer, error)
        raise ModelError(
            f"the model gave no usable answer in {retries + 1} attempts; the last one: {failure!r}",
            usage,
        ) from failure

    def resolve(self) -> ChatModel:
        """Return the model; one that was given by name is made at first use.

        Raises:
            ConfigurationError: If LangChain knows no such model, or it lacks a package or a key.
        """
        if self._resolved is None:
            self._resolved = _named(self.model) if isinstance(self.model, str) else self.model
        return self._resolved


def _invoke(
    model: Runnable[Any, Any], request: list[BaseMessage], schema: type[BaseModel]
) -> Either[Any]:
    # The run's own stream of tokens is the user's, and its cost is that of the task.
    config: RunnableConfig = {
        "tags": [TAG_NOSTREAM, TAG_MEMORY],
        "run_name": schema.__name__,
    }
    return Either(model.invoke, model.ainvoke, request, config)


def _will_recur(error: Exception) -> bool:
    """Whether asking in this way again will fail again.

    A server that takes no notice of the form that is asked for answers in another one, which
    OpenAI's client raises as a `ValidationError` of what it has read.
    """
    refused = getattr(error, "status_code", None) in _REFUSED
    return refused or isinstance(error, ValidationError)


def _named(name: str) -> ChatModel:
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(name)
    except Exception as error:  # a client may raise anything at its making
        raise ConfigurationError(
            f"model={name!r} cannot be used: {str(error).rstrip('.')}. Pass a name that "
            "LangChain's init_chat_model knows, such as 'openai:gpt-4o-mini', with its package "
            "installed and its key set; or a chat model"
        ) from error


def _cold(model: ChatModel) -> ChatModel:
    """Return a model at temperature 0, if it has one to be set."""
    if isinstance(model, BaseModel) and "temperature" in type(model).model_fields:
        return model.model_copy(update={"temperature": 0.0})
    return model


def _structured(model: ChatModel, schema: type[BaseModel]) -> Runnable[Any, Any] | None:
    """Return the model as it answers in a form, or `None` if it cannot."""
    make = getattr(model, "with_structured_output", None)
    if make is None:
        return None
    try:
        runnable: Runnable[Any, Any] = make(schema, include_raw=True)
    except (NotImplementedError, TypeError, ValueError):  # it has no tools, or not this form of it
        return None
    return runnable


def _raw(answer: object) -> object:
    """Return the message that a structured answer was read from, where there is one."""
    if isinstance(answer, dict) and "raw" in answer:
        return answer["raw"] if answer["raw"] is not None else answer.get("parsed")
    return answer


def _count(usage: dict[str, int], answer: object) -> None:
    reported = getattr(answer, "usage_metadata", None) or {}
    for name in ("input_tokens", "output_tokens", "total_tokens"):
        if isinstance(reported.get(name), int):
            usage[name] = usage.get(name, 0) + reported[name]


def _in_words(messages: Sequence[BaseMessage], schema: type[BaseModel]) -> list[BaseMessage]:
    """Return a question that says in words which form its answer has."""
    form = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    asked = f"Answer with JSON of this JSON schema, and with nothing else:\n{form}"
    return [*messages[:-1], HumanMessage(f"{messages[-1].text}\n\n{asked}")]


def _correction(answer: object, error: UnreadableAnswer) -> list[BaseMessage]:
    """Return an answer that could not be read, and what to say about it."""
    said = text_of_answer(answer)[:_SHOWN_CHARACTERS].strip() or "(nothing)"
    return [
        AIMessage(said),
        HumanMessage(f"This answer could not be read: {error}. Answer again, with JSON alone."),
    ]
