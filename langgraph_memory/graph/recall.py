"""The block of memory for a run: recalled within a time, filled to a budget."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeVar
from weakref import WeakSet, ref

from langchain_core.messages import BaseMessage

from langgraph_memory.errors import ConfigurationError, StoreAwayError
from langgraph_memory.graph.run import Run
from langgraph_memory.memory import Memory
from langgraph_memory.messages import is_said, text_of
from langgraph_memory.retrieval import Block, Quotas, Recalled, in_turn, memory_block
from langgraph_memory.text import CountTokens, check_counter
from langgraph_memory.twins import Either, Steps, adrive, blocking, drive, twins

logger = logging.getLogger(__name__)

T = TypeVar("T")

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


async def _block_for(
    run: Run, queries: Sequence[str], known: Sequence[BaseMessage], how: RecallOptions
) -> str:
    """Return the block for a run; an empty one if recalling fails and errors are logged.

    Args:
        run: Whose it is.
        queries: What to recall; the hits of several take turns.
        known: Messages that the model sees anyway.
        how: Quotas, budget and time.
    """
    memory = run.memory
    try:
        async with run.step("recall") as step:
            await Either(memory.warm_up, memory.awarm_up)
            recalled = await within(how.timeout, partial(_recalled, run, queries, known, how))
            block = await blocking(_block, recalled, how, _seen(run, known))
            told = {"nothing_known": recalled.nothing_known, "tokens": block.tokens}
            step.tell("memory.recalled", block.records, **told)
            return block.text
    except ConfigurationError:
        raise
    except Exception as error:  # whatever a store raises; logged and streamed
        if how.on_error == "raise":
            raise
        _log(error)
        return ""


block_for, ablock_for = twins(_block_for)


def _log(error: Exception) -> None:
    """Log that a recall failed; of a server that is away the store has told already."""
    logger.warning(_WITHOUT, exc_info=None if isinstance(error, StoreAwayError) else error)


async def _recalled(
    run: Run, queries: Sequence[str], known: Sequence[BaseMessage], how: RecallOptions
) -> Recalled:
    memory, asked = run.memory, run.recall_args(known)
    rewritten = await _rewritten(run, queries, how)
    found = [await Either(memory.recall, memory.arecall, each, **asked) for each in rewritten]
    return in_turn(found)


async def _rewritten(run: Run, queries: Sequence[str], how: RecallOptions) -> Sequence[str]:
    rewriter = run.memory.rewriter
    if rewriter is None or not queries[-1].strip():
        return queries

    async def rewrite() -> Sequence[str]:
        return await Either(rewriter.rewrite, rewriter.arewrite, queries[-1])

    try:
        return await within(how.time_to_rewrite, rewrite)
    except Exception as error:  # noqa: BLE001  # whatever a model or a function raises
        logger.warning("a query could not be rewritten; it is asked as it is: %r", error)
        return queries


def _block(recalled: Recalled, how: RecallOptions, seen: Sequence[str] = ()) -> Block:
    return memory_block(recalled, how.max_tokens, how.count_tokens, how.quotas, seen)


def _seen(run: Run, known: Sequence[BaseMessage]) -> Sequence[str]:
    """Return the texts that the model sees anyway, where their ids do not tell.

    Without a checkpointer a client sends its history anew, under new ids.
    """
    return () if run.resumable else [text_of(message) for message in known if is_said(message)]


# -- giving up on what takes too long --


def within(seconds: float | None, steps: Callable[[], Steps[T]]) -> Either[T]:
    """Return what waits for some steps, and gives up after some seconds.

    Raises:
        TimeoutError: If they took longer. In a task they are cancelled; else they go on in a thread
            that ends with the process.
    """
    return Either(_within, _awithin, seconds, steps)


def _within(seconds: float | None, steps: Callable[[], Steps[T]]) -> T:
    if seconds is None:
        return drive(steps())
    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def call() -> None:
        try:
            outcome.put((drive(steps()), None))
        except BaseException as error:  # noqa: BLE001  # handed to the caller's thread, which raises it
            outcome.put((None, error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(call,), daemon=True, name="recall").start()
    try:
        result, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"recall took longer than {seconds} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # there was no error, so it is the result


async def _awithin(seconds: float | None, steps: Callable[[], Steps[T]]) -> T:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await adrive(steps())
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(f"recall took longer than {seconds} s") from None
        raise


# -- whether it was shown --


MAX_TURNS = 1_000
"""How many turns that were recalled for are known; of more, the oldest are forgotten."""


class _RecalledFor(NamedTuple):
    turn: str
    memory: ref[Memory]


class Showing:
    """What was recalled in this process, and not shown yet.

    What is recalled lies in the state, and `messages_with_memory` puts it into a prompt. Authors of
    graphs forget that most often. Nobody can see whether a node reads the state by itself, so a
    memory is told about once, and never if anything of it was shown before. Safe to call from
    several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, _RecalledFor] = {}
        self._settled: WeakSet[Memory] = WeakSet()  # shown, or told about

    def recalled(self, turn: str, memory: Memory) -> None:
        """Note that a node recalled something for a turn."""
        with self._lock:
            if memory in self._settled:
                return
            if len(self._turns) >= MAX_TURNS:
                del self._turns[next(iter(self._turns))]
            self._turns[turn] = _RecalledFor(turn, ref(memory))

    def shown(self, turn: str) -> None:
        """Note that what was recalled for a turn was put into messages."""
        self._settle(turn)

    def forgotten(self, turn: str) -> bool:
        """Whether nothing showed what was recalled for a turn in this run; true once a memory.

        A state that was read from a checkpoint holds an equal text, and not the same one: the run
        was stopped then, and what another process showed is not known here.
        """
        with self._lock:
            known = self._turns.get(turn)
        return known is not None and known.turn is turn and self._settle(turn)

    def _settle(self, turn: str) -> bool:
        """Note that a turn's memory is not to be told about; return whether it was before."""
        with self._lock:
            known = self._turns.pop(turn, None)
            memory = None if known is None else known.memory()
            if memory is None or memory in self._settled:
                return False
            self._settled.add(memory)
            return True


SHOWING = Showing()
"""That of this process: a state says nothing of what was done with it."""
