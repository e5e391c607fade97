"""The block of memory for a run: recalled within a time, filled to a budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import BaseMessage

from langgraph_memory.errors import ConfigurationError, StoreAwayError
from langgraph_memory.graph.events import Step
from langgraph_memory.graph.run import Run
from langgraph_memory.graph.timeouts import awithin, within
from langgraph_memory.messages import is_said, text_of
from langgraph_memory.retrieval import Block, Quotas, Recalled, in_turn, memory_block
from langgraph_memory.text import CountTokens, check_counter

logger = logging.getLogger(__name__)

OnError = Literal["log", "raise"]
"""What becomes of a recall that fails."""

_WITHOUT = "recall failed; the agent answers without memory"


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How a run recalls."""

    quotas: Quotas
    max_tokens: int
    timeout: float | None
    """Seconds; `None` waits for ever."""
    on_error: OnError
    count_tokens: CountTokens | None = None

    def __post_init__(self) -> None:
        check_counter(self.count_tokens)
        if self.on_error not in ("log", "raise"):
            raise ConfigurationError(f"on_error= is 'log' or 'raise', got {self.on_error!r}")
        if not isinstance(self.quotas, Quotas):
            raise ConfigurationError(f"quotas= is Quotas(notes=5, ...), got {self.quotas!r}")
        if not isinstance(self.max_tokens, int) or self.max_tokens <= 0:
            raise ConfigurationError(f"max_tokens= is a number of tokens, got {self.max_tokens!r}")
        if self.timeout is not None and not (
            isinstance(self.timeout, (int, float)) and self.timeout > 0
        ):
            raise ConfigurationError(f"timeout= is a time in seconds, got {self.timeout!r}")

    @property
    def time_to_rewrite(self) -> float | None:
        """Half of the time: if it is not enough, the other half is for the query as it was."""
        return None if self.timeout is None else self.timeout / 2


def block_for(
    run: Run, queries: Sequence[str], known: Sequence[BaseMessage], how: RecallOptions
) -> str:
    """Return the block for a run; an empty one if recalling fails and errors are logged.

    Args:
        run: Whose it is.
        queries: What to recall; the hits of several take turns.
        known: Messages that the model sees anyway.
        how: Quotas, budget and time.
    """
    try:
        with run.step("recall") as step:
            run.memory.warm_up()
            recalled = within(how.timeout, lambda: _recalled(run, queries, known, how))
            return _told(step, recalled, _block(recalled, how, _seen(run, known)))
    except ConfigurationError:
        raise
    except Exception as error:  # whatever a store raises; logged and streamed
        if how.on_error == "raise":
            raise
        _log(error)
        return ""


async def ablock_for(
    run: Run, queries: Sequence[str], known: Sequence[BaseMessage], how: RecallOptions
) -> str:
    """Async form of `block_for`."""
    try:
        async with run.step("recall") as step:
            await run.memory.awarm_up()
            recalling = _arecalled(run, queries, known, how)
            recalled = await awithin(how.timeout, recalling)
            return _told(
                step, recalled, await asyncio.to_thread(_block, recalled, how, _seen(run, known))
            )
    except ConfigurationError:
        raise
    except Exception as error:  # as above
        if how.on_error == "raise":
            raise
        _log(error)
        return ""


def _log(error: Exception) -> None:
    """Log that a recall failed; of a server that is away the store has told already."""
    logger.warning(_WITHOUT, exc_info=None if isinstance(error, StoreAwayError) else error)


def _recalled(
    run: Run, queries: Sequence[str], known: Sequence[BaseMessage], how: RecallOptions
) -> Recalled:
    asked = run.recall_args(known)
    rewritten = _rewritten(run, queries, how)
    return in_turn([run.memory.recall(query, **asked) for query in rewritten])


async def _arecalled(
    run: Run, queries: Sequence[str], known: Sequence[BaseMessage], how: RecallOptions
) -> Recalled:
    asked = run.recall_args(known)
    rewritten = await _arewritten(run, queries, how)
    return in_turn([await run.memory.arecall(query, **asked) for query in rewritten])


def _rewritten(run: Run, queries: Sequence[str], how: RecallOptions) -> Sequence[str]:
    rewriter = run.memory.rewriter
    if rewriter is None or not queries[-1].strip():
        return queries
    try:
        return within(how.time_to_rewrite, lambda: rewriter.rewrite(queries[-1]))
    except Exception as error:  # noqa: BLE001  # whatever a model or a function raises
        logger.warning("a query could not be rewritten; it is asked as it is: %r", error)
        return queries


async def _arewritten(run: Run, queries: Sequence[str], how: RecallOptions) -> Sequence[str]:
    rewriter = run.memory.rewriter
    if rewriter is None or not queries[-1].strip():
        return queries
    try:
        rewriting = rewriter.arewrite(queries[-1])
        return await awithin(how.time_to_rewrite, rewriting)
    except Exception as error:  # noqa: BLE001  # as above
        logger.warning("a query could not be rewritten; it is asked as it is: %r", error)
        return queries


def _told(step: Step, recalled: Recalled, block: Block) -> str:
    told = {"nothing_known": recalled.nothing_known, "tokens": block.tokens}
    step.tell("memory.recalled", block.records, **told)
    return block.text


def _block(recalled: Recalled, how: RecallOptions, seen: Sequence[str] = ()) -> Block:
    return memory_block(recalled, how.max_tokens, how.count_tokens, how.quotas, seen)


def _seen(run: Run, known: Sequence[BaseMessage]) -> Sequence[str]:
    """Return the texts that the model sees anyway, where their ids do not tell.

    Without a checkpointer a client sends its history anew, under new ids.
    """
    return () if run.resumable else [text_of(message) for message in known if is_said(message)]
