"""What memory does in a run, as runs of LangChain inside of it: tracers show them, with no content.

LangChain calls a run of anything but a model or a tool a chain; it tells its callbacks of them. So
whatever traces a graph already (LangSmith, OpenTelemetry, Langfuse) shows these too. They are told
by hand: a `RunnableLambda` would show what its function is given and returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from typing import Any

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

from langgraph_memory.models import TAG_MEMORY
from langgraph_memory.twins import Either

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
