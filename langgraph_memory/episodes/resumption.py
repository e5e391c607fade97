"""Which task a turn goes on with: a run that stopped may be taken up by a new message. Pure.

Instead of resuming a run that was interrupted, or trying one again that failed, people send a
message: "yes", "go on", "the blue one". The task is then the one that was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_memory.episodes.tasks import is_go_ahead
from langgraph_memory.messages import begins_turn, starts_of_turns, text_of
from langgraph_memory.records import Episode, Record


def turns_before(messages: Sequence[BaseMessage]) -> Iterator[list[BaseMessage]]:
    """Yield the turns that the latest one may go on with, each from its user's message to the end.

    The first is the turn before the latest, if that is a go-ahead; the second the one before, if
    the first is a go-ahead as well. Whether they stopped before they were over is another question.
    """
    for start, former in pairwise(starts_of_turns(messages)):
        if not is_go_ahead(text_of(messages[start])):
            return
        yield list(messages[former:])


def goes_on(earlier: Sequence[BaseMessage], record: Record | None) -> bool:
    """Whether an earlier turn is not over, so that the next one goes on with its task.

    Args:
        earlier: One that `turns_before` yields.
        record: The episode that is kept of it, if there is one.
    """
    return is_stopped(record) or not is_answered(earlier)


def is_answered(messages: Sequence[BaseMessage]) -> bool:
    """Whether the first turn of some messages ends with an answer, and not with a tool's call."""
    ends = next((i for i, message in enumerate(messages) if i and begins_turn(message)), None)
    last = [*messages[:ends]][-1:]
    return any(isinstance(message, AIMessage) and not message.tool_calls for message in last)


def is_stopped(record: Record | None) -> bool:
    """Whether what is kept of a turn says that it has stopped, and may go on."""
    return isinstance(record, Episode) and record.outcome == "interrupted"
