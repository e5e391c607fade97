"""Tools by which a model keeps a memory itself: remember, recall, forget, list_memories.

Whose memory it is comes from the run, never from what the model writes; what the model is shown are
the first characters of ids, and it reaches no record of anybody else with any id. What it did wrong
is answered by a sentence that says what to do. What each does is in `tool_verbs`, in which words it
is told in `tool_texts`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

from langchain_core.runnables import ensure_config
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import get_runtime

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.graph import tool_actions, tool_texts
from langgraph_memory.graph.owner_ids import OwnerIdSource
from langgraph_memory.graph.run import Run, Scopes, check_memory, run_of
from langgraph_memory.graph.tool_actions import Call, Verb
from langgraph_memory.graph.tool_texts import TOOLS_PROMPT as TOOLS_PROMPT
from langgraph_memory.memory import Memory
from langgraph_memory.messages import calls_before, messages_with_call
from langgraph_memory.records import Owner, OwnerKind, check_count
from langgraph_memory.retrieval import Quotas
from langgraph_memory.twins import Either, twins

logger = logging.getLogger(__name__)
A = TypeVar("A", bound=tool_texts.ToolArguments)

_NO_FAILURE = (ToolException, ConfigurationError, GraphBubbleUp)
"""What is raised on purpose; the last by `interrupt`, as in an `accept` that asks a person."""


def memory_tools(
    memory: Memory,
    *,
    user: OwnerIdSource | None = None,
    project: OwnerIdSource | None = None,
    agent: OwnerIdSource | None = None,
    owner: OwnerKind = "user",
    quotas: Quotas | None = None,
    limit_per_run: int = 10,
) -> list[BaseTool]:
    """Return the tools `remember`, `recall`, `forget` and `list_memories`, for any agent.

    They work in `create_agent`, in a `ToolNode`, and called by a node of yours; outside of a graph
    if `user=` is an id. `TOOLS_PROMPT` tells the model what is worth keeping.

    Args:
        memory: The memory. Without a store of its own it uses the run's. One that is only read has
            `recall` and `list_memories` alone.
        user: The user, or a function of state and config; else `user_id` of the run's context or
            configurable, or the authenticated user.
        project: A project that `recall` reads beside the user's memory, in the same way.
        agent: An agent that it reads beside it, in the same way.
        owner: Whose notes the other three tools write, list and delete: those of the run's user, or
            of its `"project"` or `"agent"`.
        quotas: How many hits of each type have their place in what `recall` shows.
        limit_per_run: How often each tool may be called after one message of the user.

    Example:
        >>> from langgraph_memory import ChromaStore, Memory
        >>> with Memory(ChromaStore.in_memory()) as memory:
        ...     remember, recall, *_ = memory_tools(memory, user="c-2291")
        ...     _ = remember.invoke({"text": "Drinks decaf after noon"})
        ...     "Drinks decaf" in recall.invoke({"query": "decaf coffee"})
        True
    """
    check_memory(memory)
    check_count("limit_per_run", limit_per_run)
    if owner not in get_args(OwnerKind):
        raise ConfigurationError(f"owner= is 'user', 'project' or 'agent', got {owner!r}")
    toolkit = _Toolkit(
        memory, Scopes(user, project, agent), owner, quotas or Quotas(), limit_per_run
    )
    return [_tool(toolkit, verb) for verb in _VERBS if not (memory.read_only and verb.writes)]


_VERBS: Sequence[Verb[Any]] = (
    tool_actions.RememberAction(),
    tool_actions.RecallAction(),
    tool_actions.ForgetAction(),
    tool_actions.ListAction(),
)


@dataclass(frozen=True, slots=True)
class _Toolkit:
    """What all calls of all tools have in common."""

    memory: Memory
    scopes: Scopes
    owner: OwnerKind
    quotas: Quotas
    limit: int

    def open(self, name: str, runtime: ToolRuntime | None) -> tuple[Run, Call]:
        """Return a call, unless the run has made too many of the tool.

        Raises:
            ToolException: If it has; by the calls that the state holds, so that runs side by side
                do not count each other's, and a resumed one goes on.
        """
        if isinstance(runtime, ToolRuntime):  # else it is missing, or the model wrote it
            run = run_of(self.memory, self.scopes, runtime.state, runtime.config, runtime)
            messages = messages_with_call(runtime.state, runtime.tool_call_id)
            if calls_before(messages, name, runtime.tool_call_id) >= self.limit:
                raise ToolException(tool_texts.used_up(name, self.limit))
        else:
            run, messages = _surrounding_run(self.memory, self.scopes), []
        return run, Call(
            run.memory,
            run.user,
            self._owner_of(run),
            self.quotas,
            run.recall_args(messages),
            run.turn(messages).exchange[:1],
        )

    def _owner_of(self, run: Run) -> Owner:
        id = {"user": run.user, "project": run.project, "agent": run.agent}[self.owner]
        if id is None:
            raise ConfigurationError(
                f"these tools write to a {self.owner}, and the run names none: pass "
                f"memory_tools(..., {self.owner}=), or {self.owner}_id in the run's configurable"
            )
        return Owner(self.owner, id)


def _tool(toolkit: _Toolkit, verb: Verb[A]) -> BaseTool:
    # LangGraph injects `runtime` by its type; `None` lets a tool be called without a graph.
    async def _call(runtime: ToolRuntime = None, **asked: Any) -> str:  # type: ignore[assignment]  # see above
        run, opened = toolkit.open(verb.name, runtime)
        memory = opened.memory
        try:
            async with run.step(verb.step) as step:
                await Either(memory.warm_up, memory.awarm_up)
                return await verb.act(replace(opened, tell=step.tell), verb.asks(**asked))
        except _NO_FAILURE:
            raise
        except Exception as error:  # whatever a store raises; told, logged, streamed
            raise _failure(verb, error) from error

    call, acall = twins(_call)
    return StructuredTool.from_function(
        call,
        acall,
        name=verb.name,
        description=verb.asks.description(),
        args_schema=verb.asks,
        handle_tool_error=True,
        handle_validation_error=tool_texts.wrong_arguments,
    )


def _failure(verb: Verb[A], error: Exception) -> ToolException:
    logger.warning("the tool %s failed; the model is told so", verb.name, exc_info=error)
    return ToolException(verb.failed)


def _surrounding_run(memory: Memory, scopes: Scopes) -> Run:
    """Return the run of the node that called a tool by itself, or one of no graph."""
    try:
        runtime: Any = get_runtime()
    except RuntimeError:
        runtime = None
    return run_of(memory, scopes, {}, ensure_config(), runtime)
