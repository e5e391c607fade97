"""What a `Memory`, or an `EpisodeRecorder`, is made with: checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.documents import BaseDocumentCompressor
from langchain_core.runnables import Runnable

from langgraph_memory.episodes import Evaluator, IsTask, is_task
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.memory.delivery import Delivery
from langgraph_memory.memory.outbox import Outbox
from langgraph_memory.models import ChatModel
from langgraph_memory.notes import Accept, ExtractionSettings, zone_of
from langgraph_memory.records import check_count, check_flag, check_unit
from langgraph_memory.retrieval import Ranking, Rewrite, Rewriter


def evaluator(given: Evaluator | None) -> Evaluator | None:
    """Refuse what cannot be called in the background."""
    called = (given, getattr(given, "__call__", None))  # noqa: B004  # of an object it is that
    if given is not None and (not callable(given) or any(map(inspect.iscoroutinefunction, called))):
        raise ConfigurationError(
            "evaluator= is a plain function of an episode and its messages that returns a score "
            f"from 0 to 1; got {given!r}"
        )
    return given


def delivery(given: str | Path | Outbox | None) -> Delivery | None:
    """Return what keeps what cannot be saved, if anything does."""
    if given is None:
        return None
    if not isinstance(given, (str, Path, Outbox)) or not str(given):
        raise ConfigurationError(f"outbox= is the path of a file, or an Outbox; got {given!r}")
    return Delivery(given if isinstance(given, Outbox) else Outbox(given))


def ranking(given: Ranking | None) -> Ranking:
    """Return how what is found is ranked."""
    if given is not None and not isinstance(given, Ranking):
        raise ConfigurationError(f"ranking= takes a Ranking(...), got {given!r}")
    return given or Ranking()


def task_rule(given: IsTask | None) -> IsTask:
    """Return the rule of which turns are worth an episode."""
    if given is not None and not callable(given):
        raise ConfigurationError(
            f"is_task= is a function of what was asked and the tools' names, got {given!r}"
        )
    return given or is_task


def task_reader(given: Callable[[Any], str] | None) -> Callable[[Any], str] | None:
    """Refuse what cannot tell a recorder from a graph's input what is to be done."""
    if given is not None and not callable(given):
        raise ConfigurationError(
            "task= is a function of the graph's input that returns a text, such as "
            f"lambda given: given['ticket']; got {given!r}"
        )
    return given


def reranker(given: BaseDocumentCompressor | None) -> BaseDocumentCompressor | None:
    """Refuse what reorders nothing."""
    if given is not None and not isinstance(given, BaseDocumentCompressor):
        raise ConfigurationError(
            "reranker= is a LangChain document compressor, such as CrossEncoderReranker or "
            f"CohereRerank; got {given!r}"
        )
    return given


def rewriter(given: Rewrite | ChatModel | str | None) -> Rewriter | None:
    """Return what rewrites questions, if anything does."""
    if given is None:
        return None
    asked = isinstance(given, Runnable) or (isinstance(given, str) and given.strip())
    if not asked and (not callable(given) or inspect.iscoroutinefunction(given)):
        raise ConfigurationError(
            "rewrite= is a chat model, the name of one, or a plain function of a text that returns "
            f"a question or several; got {given!r}"
        )
    return Rewriter.of(given)


def extracting(
    *,
    every_n_turns: int,
    retries: int,
    accept: Accept | None,
    review: bool,
    min_importance: float,
    time_zone: str,
) -> ExtractionSettings:
    """Return how notes are extracted."""
    if accept is not None and not callable(accept):
        raise ConfigurationError(f"accept= is a function of a Candidate, got {accept!r}")
    zone_of(time_zone)
    return ExtractionSettings(
        check_count("every_n_turns", every_n_turns, least=1),
        check_count("retries", retries),
        accept,
        check_flag("review", review),
        check_unit("min_importance", min_importance),
        time_zone,
    )


def chat_model(model: object) -> ChatModel | str:
    """Refuse what cannot be asked."""
    if isinstance(model, Runnable) or (isinstance(model, str) and model.strip()):
        return model
    raise ConfigurationError(
        f"model= is a chat model, or a name such as 'openai:gpt-4o-mini'; got {model!r}"
    )


def reflect_every(number: object) -> int | None:
    """Refuse anything but a number of episodes."""
    return None if number is None else check_count("reflect_every", number, least=1)
