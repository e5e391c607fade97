"""Tools by which a model keeps a memory itself: remember, recall, forget, list_memories.

Whose memory it is comes from the run, never from what the model writes; what the model is shown are
the first characters of ids, and it reaches no record of anybody else with any id. What it did wrong
is answered by a sentence that says what to do. What is read, and in which words it is told, is in
`tool_texts`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Generic, TypeVar, get_args

from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import get_runtime

from langgraph_memory import tool_texts
from langgraph_memory.checks import count
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.memory import Memory
from langgraph_memory.messages import calls_before, messages_with_call
from langgraph_memory.operations import ALL
from langgraph_memory.ranking import Quotas, select
from langgraph_memory.records import Change, Recalled, Record
from langgraph_memory.runs import Run, Scopes, check_memory, run_of
from langgraph_memory.scope import Owner, OwnerKind, RecordType, Scope
from langgraph_memory.tool_texts import TOOLS_PROMPT as TOOLS_PROMPT

logger = logging.getLogger(__name__)
A = TypeVar("A", bound=tool_texts.Asked)

PAGE = 20
"""Notes that `list_memories` shows at once."""

_OWN: tuple[RecordType, ...] = ("note", "message", "episode")
"""What can be forgotten one by one; a document is a part of its source."""


def memory_tools(
    memory: Memory,
    *,
    user: Scope | None = None,
    project: Scope | None = None,
    agent: Scope | None = None,
    owner: OwnerKind = "user",
    quotas: Quotas | None = None,
    limit_per_run: int = 10,
) -> list[BaseTool]:
    """Return the tools `remember`, `recall`, `forget` and `list_memories`, for any agent.

    They work in `create_agent`, in a `ToolNode`, and called by a node of yours; outside of a graph
    if `user=` is an id. `TOOLS_PROMPT` tells the model what is worth keeping.

    Args:
        memory: The memory. Without a store of its own it uses the run's.
        user: The user, or a function of state and config; else the run's own (see `scope`).
        project: A project that `recall` reads beside the user's memory, in the same way.
        agent: An agent that it reads beside it, in the same way.
        owner: Whose notes the other three tools write, list and delete: those of the run's user, or
            of its `"project"` or `"agent"`.
        quotas: How many hits of each type `recall` returns.
        limit_per_run: How often each tool may be called after one message of the user.

    Example:
        >>> from langgraph_memory.store.chroma import ChromaStore
        >>> with Memory(ChromaStore.in_memory()) as memory:
        ...     remember, recall, *_ = memory_tools(memory, user="c-2291")
        ...     _ = remember.invoke({"text": "Drinks decaf after noon"})
        ...     "Drinks decaf" in recall.invoke({"query": "decaf coffee"})
        True
    """
    check_memory(memory)
    count("limit_per_run", limit_per_run)
    if owner not in get_args(OwnerKind):
        raise ConfigurationError(f"owner= is 'user', 'project' or 'agent', got {owner!r}")
    desk = _Desk(memory, Scopes(user, project, agent), owner, quotas or Quotas(), limit_per_run)
    return [
        _tool(desk, _Remember()),
        _tool(desk, _Recall()),
        _tool(desk, _Forget()),
        _tool(desk, _List()),
    ]


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a tool."""

    run: Run
    owner: Owner
    messages: Sequence[BaseMessage]
    quotas: Quotas

    @property
    def memory(self) -> Memory:
        return self.run.memory

    @property
    def whose(self) -> dict[str, Any]:
        """The arguments by which a verb is about the owner's records."""
        more: dict[str, Any] = {} if self.owner.kind == "user" else {self.owner.kind: self.owner.id}
        return {"user": self.run.user, **more}


@dataclass(frozen=True, slots=True)
class _Desk:
    """What all calls of all tools have in common."""

    memory: Memory
    scopes: Scopes
    owner: OwnerKind
    quotas: Quotas
    limit: int

    def open(self, name: str, runtime: ToolRuntime | None) -> _Call:
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
        return _Call(run, self._owner_of(run), messages, self.quotas)

    def _owner_of(self, run: Run) -> Owner:
        id = {"user": run.user, "project": run.project, "agent": run.agent}[self.owner]
        if id is None:
            raise ConfigurationError(
                f"these tools write to a {self.owner}, and the run names none: pass "
                f"memory_tools(..., {self.owner}=), or {self.owner}_id in the run's configurable"
            )
        return Owner(self.owner, id)


class _Verb(Generic[A]):
    """What one tool does: `call` and `acall` differ by `await` alone."""

    name: str
    asks: type[A]
    failed: str
    """What the model is told when the store fails."""

    def call(self, call: _Call, asked: A) -> str:
        raise NotImplementedError

    async def acall(self, call: _Call, asked: A) -> str:
        raise NotImplementedError


class _Remember(_Verb[tool_texts.Remember]):
    name, asks, failed = "remember", tool_texts.Remember, tool_texts.NOT_SAVED

    def call(self, call: _Call, asked: tool_texts.Remember) -> str:
        started = perf_counter()
        texts, how = self._kept(call, asked)
        return self._told(call, call.memory.keep_proposed(texts, **how), started)

    async def acall(self, call: _Call, asked: tool_texts.Remember) -> str:
        started = perf_counter()
        texts, how = self._kept(call, asked)
        return self._told(call, await call.memory.akeep_proposed(texts, **how), started)

    def _kept(self, call: _Call, asked: tool_texts.Remember) -> tuple[list[str], dict[str, Any]]:
        redact = call.memory.redact
        text = tool_texts.worth_saving(asked.text, redact)
        slot = tool_texts.slot_of(asked.slot, redact)
        sources = call.run.source_ids(call.messages)
        return [text], {"kind": asked.kind, "slot": slot, "sources": sources, **call.whose}

    def _told(self, call: _Call, changes: Sequence[Change], started: float) -> str:
        if not changes:
            return tool_texts.NOTHING_NEW
        call.run.tell("memory.saved", [change.record for change in changes], started)
        return tool_texts.saved(changes[0])


class _Recall(_Verb[tool_texts.Recall]):
    name, asks, failed = "recall", tool_texts.Recall, tool_texts.NOT_READ

    def call(self, call: _Call, asked: tool_texts.Recall) -> str:
        started = perf_counter()
        found = call.memory.recall(asked.query, **call.run.recall_args(call.messages))
        return self._told(call, found, started)

    async def acall(self, call: _Call, asked: tool_texts.Recall) -> str:
        started = perf_counter()
        found = await call.memory.arecall(asked.query, **call.run.recall_args(call.messages))
        return self._told(call, found, started)

    def _told(self, call: _Call, found: Recalled, started: float) -> str:
        asked_for = select(replace(found, profile=()), call.quotas)  # else it takes hits away
        text, records = tool_texts.recalled(asked_for, call.owner)
        call.run.tell("memory.recalled", records, started)
        return text


class _Forget(_Verb[tool_texts.Forget]):
    name, asks, failed = "forget", tool_texts.Forget, tool_texts.NOT_DELETED

    def call(self, call: _Call, asked: tool_texts.Forget) -> str:
        records = call.memory.list(types=_OWN, limit=ALL, **call.whose)
        record = tool_texts.named(asked.id, records)
        return self._told(record, call.memory.forget(record.id, **call.whose).ids)

    async def acall(self, call: _Call, asked: tool_texts.Forget) -> str:
        records = await call.memory.alist(types=_OWN, limit=ALL, **call.whose)
        record = tool_texts.named(asked.id, records)
        return self._told(record, (await call.memory.aforget(record.id, **call.whose)).ids)

    def _told(self, record: Record, gone: Sequence[str]) -> str:
        if record.id not in gone:  # another call was first
            raise ToolException(tool_texts.not_found(record.id))
        return tool_texts.forgotten(record)


class _List(_Verb[tool_texts.List]):
    name, asks, failed = "list_memories", tool_texts.List, tool_texts.NOT_READ

    def call(self, call: _Call, asked: tool_texts.List) -> str:
        found = call.memory.list(contains=asked.contains, limit=ALL, **call.whose)
        return tool_texts.listed(found, asked.page, PAGE)

    async def acall(self, call: _Call, asked: tool_texts.List) -> str:
        found = await call.memory.alist(contains=asked.contains, limit=ALL, **call.whose)
        return tool_texts.listed(found, asked.page, PAGE)


def _tool(desk: _Desk, verb: _Verb[A]) -> BaseTool:
    # LangGraph injects `runtime` by its type; `None` lets a tool be called without a graph.
    def call(runtime: ToolRuntime = None, **asked: Any) -> str:  # type: ignore[assignment]  # see above
        opened = desk.open(verb.name, runtime)
        try:
            opened.memory.warm_up()
            return verb.call(opened, verb.asks(**asked))
        except (ToolException, ConfigurationError):
            raise
        except Exception as error:  # whatever a store raises; told, logged, streamed
            raise _failure(opened, verb, error) from error

    async def acall(runtime: ToolRuntime = None, **asked: Any) -> str:  # type: ignore[assignment]  # as above
        opened = desk.open(verb.name, runtime)
        try:
            await opened.memory.awarm_up()
            return await verb.acall(opened, verb.asks(**asked))
        except (ToolException, ConfigurationError):
            raise
        except Exception as error:  # as above
            raise _failure(opened, verb, error) from error

    return StructuredTool.from_function(
        call,
        acall,
        name=verb.name,
        description=verb.asks.description(),
        args_schema=verb.asks,
        handle_tool_error=True,
        handle_validation_error=tool_texts.wrong_arguments,
    )


def _failure(call: _Call, verb: _Verb[A], error: Exception) -> ToolException:
    logger.warning("the tool %s failed; the model is told so", verb.name, exc_info=error)
    call.run.write({"type": "memory.failed", "user": call.run.user, "error": repr(error)})
    return ToolException(verb.failed)


def _surrounding_run(memory: Memory, scopes: Scopes) -> Run:
    """Return the run of the node that called a tool by itself, or one of no graph."""
    try:
        runtime: Any = get_runtime()
    except RuntimeError:
        runtime = None
    return run_of(memory, scopes, {}, ensure_config(), runtime)
