"""What a run is told of its memory: events on its custom stream, and their sum for tracers.

Tracers see each step as a run of LangChain inside of the one that is going on, with no content.
LangChain calls a run of anything but a model or a tool a chain; it tells its callbacks of them. So
whatever traces a graph already (LangSmith, OpenTelemetry, Langfuse) shows these too. They are told
by hand: a `RunnableLambda` would show what its function is given and returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from time import perf_counter
from types import TracebackType
from typing import Any, Literal, NotRequired, Self, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    BaseCallbackManager,
    CallbackManagerForChainRun,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
    var_child_runnable_config,
)
from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from typing_extensions import TypedDict  # as Pydantic wants it before Python 3.12

from langgraph_memory.errors import LangGraphMemoryError
from langgraph_memory.models import TAG_MEMORY
from langgraph_memory.notes import Refused
from langgraph_memory.records import Record, RecordType
from langgraph_memory.redaction import Redact
from langgraph_memory.twins import Either

EventType = Literal[
    "memory.recalled", "memory.saved", "memory.waiting", "memory.refused", "memory.failed"
]


class MemoryItem(TypedDict):
    """What an event is about: a record, or a note that was refused."""

    type: RecordType
    text: str
    id: NotRequired[str]
    """Of the record; a refused note has none."""
    reason: NotRequired[str]
    """Why a note was refused."""


class MemoryEvent(TypedDict):
    """What memory writes to the custom stream of a run; plain data, that JSON can hold."""

    type: EventType
    user: str
    project: NotRequired[str]
    """If the run names one."""
    agent: NotRequired[str]
    """If the run names one."""
    items: list[MemoryItem]
    """What was recalled, and stands in the prompt; what was saved or refused. Nothing of what
    failed, or waits in the outbox."""
    ms: float
    """Milliseconds since the recall, or the saving, began."""
    nothing_known: NotRequired[bool]
    """Of `memory.recalled`: whether nothing was relevant to the question."""
    tokens: NotRequired[int]
    """Of `memory.recalled` by a node or the middleware: how long the block is."""
    usage: NotRequired[Mapping[str, int]]
    """What a model that extracts notes was asked: `calls`, and the tokens that it reported."""
    error: NotRequired[str]
    """Of `memory.failed`."""


Tell = Callable[..., None]
"""Like `Step.tell`."""


_Run = CallbackManagerForChainRun | AsyncCallbackManagerForChainRun


class Trace:
    """A run inside of the one that is going on; nothing at all where nobody traces that.

    Models that are called before it ends are called by it.

    Args:
        name: What tracers call it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._run: Any = None
        self._token: Token[RunnableConfig | None] | None = None

    async def start(self) -> None:
        """Begin."""
        if (config := _traced_config()) is not None:
            await Either(self._start, self._astart, config)

    async def end(self, outputs: Mapping[str, Any], error: BaseException | None) -> None:
        """End, with what tracers show of what came of it, or with an error."""
        if (run := self._run) is not None:
            self._leave()
            end = run.on_chain_end if error is None else run.on_chain_error
            await Either(end, end, dict(outputs) if error is None else error)

    def _start(self, config: RunnableConfig) -> None:
        manager = get_callback_manager_for_config(config)
        manager.add_tags([TAG_MEMORY], inherit=False)
        self._enter(config, manager.on_chain_start(None, {}, name=self._name))

    async def _astart(self, config: RunnableConfig) -> None:
        manager = get_async_callback_manager_for_config(config)
        manager.add_tags([TAG_MEMORY], inherit=False)
        self._enter(config, await manager.on_chain_start(None, {}, name=self._name))

    def _enter(self, config: RunnableConfig, run: _Run) -> None:
        self._run = run
        inside = patch_config(config, callbacks=run.get_child())
        self._token = var_child_runnable_config.set(inside)

    def _leave(self) -> None:
        if self._token is not None:
            var_child_runnable_config.reset(self._token)


def _traced_config() -> RunnableConfig | None:
    """Return the config of the run that is going on, if anybody is told of what it does."""
    config = var_child_runnable_config.get()
    callbacks = None if config is None else config.get("callbacks")
    told = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks
    return config if told else None


class Step:
    """Something that memory does in a run, begun and ended by `async with` in what has twins.

    It tells of it on the custom stream; an error is told, and raised. Tracers are shown how many
    records of each type it was about, and not which.

    Args:
        name: What tracers call it.
        write: Writes to the custom stream.
        whose: The user, and the project and agent if there are any.
        redact: Takes secrets out of what an error says.
    """

    def __init__(
        self, name: str, write: Callable[[Any], None], whose: Mapping[str, str], redact: Redact
    ) -> None:
        self._write = write
        self._redact = redact
        self._whose = whose
        self._started = perf_counter()
        self._trace = Trace(name)
        self._sum: dict[str, Any] = {}
        self._error: BaseException | None = None

    async def __aenter__(self) -> Self:
        await self._trace.start()
        return self

    async def __aexit__(
        self, kind: object, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended(error)
        await self._trace.end(self._sum, self._error)

    def tell(self, type: EventType, records: Sequence[Record], **more: Any) -> None:
        """Tell what was recalled or saved."""
        items: list[MemoryItem] = [{"id": r.id, "type": r.type, "text": r.text} for r in records]
        self._tell(type, items, **more)

    def refused(self, notes: Sequence[Refused]) -> None:
        """Tell which notes that a model proposed are not kept."""
        items: list[MemoryItem] = [
            {"type": "note", "text": note.text, "reason": note.reason} for note in notes
        ]
        self._tell("memory.refused", items)

    def failed(self, error: BaseException, **more: Any) -> None:
        """Tell of an error."""
        said = self._redact(repr(error))
        # Tracers show what an error says, and that of a server may repeat the key it was given.
        self._error = error if said == repr(error) else LangGraphMemoryError(said)
        self._tell("memory.failed", [], error=said, **more)

    def _tell(self, type: EventType, items: list[MemoryItem], **more: Any) -> None:
        event = {"type": type, **self._whose, "items": items, "ms": self._ms(), **more}
        self._write(cast(MemoryEvent, event))
        counted = Counter(item["type"] for item in items)
        self._sum |= {type.removeprefix("memory."): dict(counted), **more}

    def _ended(self, error: BaseException | None) -> None:
        self._sum["ms"] = self._ms()
        if isinstance(error, ToolException):
            return  # what a model did wrong; it is told
        if isinstance(error, Exception) and not isinstance(error, GraphBubbleUp):
            self.failed(error)
        elif error is not None:  # it was interrupted or cancelled, and did not fail
            self._error = error

    def _ms(self) -> float:
        return round(1000 * (perf_counter() - self._started), 1)
