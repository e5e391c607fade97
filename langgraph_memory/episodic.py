"""What is decided about episodes: how a task ended. Pure."""

from __future__ import annotations

import traceback
from typing import NamedTuple

from langgraph.errors import GraphBubbleUp

from langgraph_memory.records import Outcome


class Ending(NamedTuple):
    """How a task ended that raised."""

    outcome: Outcome
    error: str | None = None


def ending(error: BaseException) -> Ending | None:
    """Return how a task ended that an exception left, or `None` if it goes on.

    What is no `Exception` (a cancelled task, Ctrl-C, a generator that was closed, the process that
    ends) is no fault of the task. LangGraph's interrupts only stop it until it is resumed.
    """
    if isinstance(error, GraphBubbleUp):
        return None
    if not isinstance(error, Exception):
        return Ending("cancelled")
    return Ending("failure", error_line(error))


def error_line(error: BaseException) -> str:
    """Return what the last line of an exception's traceback says, without notes added to it.

    Example:
        >>> error_line(TimeoutError("no answer from the shop"))
        'TimeoutError: no answer from the shop'
    """
    told = traceback.TracebackException(type(error), error, None)
    told.__notes__ = None
    return list(told.format_exception_only())[-1].strip()
