"""A rolling summary for any graph: recent messages as they are, older ones folded into a text.

`summary_node` moves what is old from the channel `messages` into the channel `summary`;
`messages_with_summary` puts the summary before what is left. Where a memory is given, what leaves
the messages is kept in it first.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph import MessagesState
from langgraph.types import Overwrite

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.graph.owner_ids import OwnerIdSource
from langgraph_memory.graph.run import Run, Scopes, check_memory, current_run
from langgraph_memory.graph.summarising import SUMMARY_ID, Folded, fold, older_part, summary_block
from langgraph_memory.memory import Memory
from langgraph_memory.messages import as_messages, field_of, with_ids
from langgraph_memory.models import TAG_MEMORY, ChatCaller, ChatModel
from langgraph_memory.records import check_count
from langgraph_memory.twins import Either, blocking, twins

logger = logging.getLogger(__name__)

_CONFIG: RunnableConfig = {
    "tags": [TAG_NOSTREAM, TAG_MEMORY],
    "run_name": "summary",
    "metadata": {"lc_source": "summarization"},  # as LangChain marks its own
}


def _latest(old: str, new: str) -> str:
    return new


class SummaryState(MessagesState, total=False):
    """LangGraph's `MessagesState` with a channel for the summary of what is no longer in it."""

    summary: Annotated[str, _latest]
    """What was folded, as a text; empty until something is."""


def summary_node(
    model: ChatModel | str,
    *,
    memory: Memory | None = None,
    user: OwnerIdSource | None = None,
    fold_above: int = 12,
    keep: int = 6,
    max_words: int = 200,
) -> Runnable[Any, dict[str, Any]]:
    """Return a node that keeps a conversation short, to stand at the start or the end of a graph.

    It folds whole turns, and never the one that is going on. When the summariser fails, the old
    summary and all messages stay, and it is tried again in the next run.

    Args:
        model: The summariser, a cheap one will do; or its name for `init_chat_model`.
        memory: Where what was said is kept before it leaves the messages; a run without a
            checkpointer keeps nothing here, since whoever calls it has the messages.
        user: Whose memory it is, as for `recall_node`.
        fold_above: How many messages there may be before any are folded, without system messages.
        keep: How many messages stay at least; the first of them is always one of the user.
        max_words: How long the summary may be; two Chinese characters count as a word. A longer one
            is asked for again, and then cut at the end of a sentence.

    Raises:
        ConfigurationError: At a run, if the state has no channel `summary`, or a reducer of
            `messages` other than LangGraph's `add_messages`, and so does not remove what it should;
            if the model cannot be used, in the first run.
    """
    if not isinstance(model, (str, Runnable)):
        raise ConfigurationError(f"model= is a chat model or the name of one, got {model!r}")
    if memory is not None:
        check_memory(memory)
    keep = check_count("keep", keep, least=1)
    window = _Window(check_count("fold_above", fold_above, least=keep), keep)
    max_words = check_count("max_words", max_words, least=10)
    asker = ChatCaller(model)

    def prepare(state: Any) -> tuple[_Part, Run | None]:
        run = None if memory is None else current_run(memory, Scopes(user), state)
        return window.of(state), run if run is not None and run.resumable else None

    async def _summarise(state: Any, config: RunnableConfig) -> dict[str, Any]:
        # One that cannot be used is to fail in the first run, not weeks later.
        await blocking(asker.resolve)
        part, run = prepare(state)
        if not part.older:
            return {}
        if run is not None:
            await run.log_at_once(part.older)
        started = perf_counter()
        steps = fold(part.summary, part.older, max_words)
        try:
            request = next(steps)
            while True:
                request = steps.send(await _ask(asker, request))
        except StopIteration as done:
            return part.update(done.value, started)

    summarise, asummarise = twins(_summarise)
    return RunnableLambda(summarise, asummarise, name="summary")


def messages_with_summary(
    state: object, messages: Sequence[BaseMessage] | None = None
) -> list[BaseMessage]:
    """Return the messages to call the model with: the state's, with the summary before them.

    It is a message of its own after the system prompt, marked so that it is never taken for
    something that the user said. It changes only when something is folded, so that the beginning
    of the prompt stays cacheable.

    Args:
        state: The state of a graph with a `summary_node`.
        messages: Others than the state's: `messages_with_memory(state)`.

    Raises:
        ConfigurationError: If the state has no channel `summary`; the message names the fix.
    """
    summary = _summary(state)
    given = as_messages(field_of(state, "messages") if messages is None else messages)
    given = [message for message in given if message.id != SUMMARY_ID]
    if not summary:
        return given
    marked = HumanMessage(
        summary_block(summary), id=SUMMARY_ID, additional_kwargs={"lc_source": "summarization"}
    )
    said = (i for i, message in enumerate(given) if not isinstance(message, SystemMessage))
    start = next(said, len(given))
    return [*given[:start], marked, *given[start:]]


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a state that may be folded."""

    summary: str
    messages: list[BaseMessage]
    """All of the state, each with an id."""
    older: list[BaseMessage]
    named: bool
    """Whether all messages have their ids in the state too, so that they can be removed by them."""

    def update(self, folded: Folded, started: float) -> dict[str, Any]:
        """Return what becomes of the state, and tell the log and the stream."""
        told = {"messages": len(folded.messages), "ms": round(1000 * (perf_counter() - started), 1)}
        if folded.messages:
            get_stream_writer()({"type": "summary.folded", "summary": folded.summary, **told})
        if folded.error is not None:
            get_stream_writer()({"type": "summary.failed", "error": repr(folded.error), **told})
            logger.warning("the summariser failed; its messages stay", exc_info=folded.error)
        if not folded.messages:
            return {}
        return {"summary": folded.summary, "messages": self._without(folded.messages)}

    def _without(self, folded: Sequence[BaseMessage]) -> Any:
        gone = {message.id for message in folded} | {SUMMARY_ID}  # a node may have returned that
        if not self.named:
            return Overwrite([message for message in self.messages if message.id not in gone])
        return [RemoveMessage(message.id or "") for message in self.messages if message.id in gone]


@dataclass(frozen=True, slots=True)
class _Window:
    fold_above: int
    keep: int

    def of(self, state: Any) -> _Part:
        """Return which part of a state is to be folded."""
        found = as_messages(field_of(state, "messages"))
        if any(isinstance(message, RemoveMessage) for message in found):
            raise ConfigurationError(
                "the state holds a RemoveMessage: its `messages` have a reducer that removes none. "
                "Give them add_messages, as MessagesState does"
            )
        messages = with_ids(found)
        older = older_part(messages, self.fold_above, self.keep)
        return _Part(_summary(state), messages, older, all(message.id for message in found))


async def _ask(asker: ChatCaller, request: list[BaseMessage]) -> object:
    try:
        model = asker.resolve()
        return await Either(model.invoke, model.ainvoke, request, _CONFIG)
    except ConfigurationError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a provider's client raises
        return error


def _summary(state: Any) -> str:
    summary = field_of(state, "summary")
    if not isinstance(summary, str):
        raise ConfigurationError(
            f"this state holds no summary, got {summary!r}. Build the graph with "
            "StateGraph(SummaryState), mix it in (class State(MemoryState, SummaryState)), or add "
            "`summary` as SummaryState has it to your own state, also to the one that this node "
            "is typed on"
        )
    return summary
