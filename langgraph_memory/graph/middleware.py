"""Memory for `create_agent`: recalled before the model is called, kept after the agent.

What was recalled reaches the model in a copy of the latest user message, and never the state, a
stream or a checkpoint: the state names the block alone, in a channel that is not kept, and it is
recalled anew where it is absent, as after an interrupt. Of the turn that is going on the state
keeps an outline, so that it is known whole where a summary has taken the place of its messages.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Protocol

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.channels import UntrackedValue
from langgraph.runtime import Runtime
from langgraph.types import Command

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.graph.owner_ids import OwnerIdSource
from langgraph_memory.graph.recall import OnError, RecallOptions, ablock_for, block_for
from langgraph_memory.graph.run import Run, Scopes, check_writing, current_run
from langgraph_memory.graph.tool_texts import TOOLS_PROMPT
from langgraph_memory.memory import Memory
from langgraph_memory.messages import (
    Inject,
    Taken,
    check_inject,
    current_turn,
    injected,
    outline_of,
    structured_in,
    take_proposal,
    whole,
    with_ids,
    with_instructions,
)
from langgraph_memory.retrieval import Quotas, queries_of
from langgraph_memory.text import CountTokens
from langgraph_memory.twins import Either, twins

_MAX_BLOCKS = 1024  # some 4 kB each

Purpose = tuple[str, str | None, str | None, str | None]
"""What a block was recalled for: a user, a project, an agent, and the turn's first message."""


class BlockCache:
    """What was recalled in the runs that are going on; of those that stopped, the latest few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[str, tuple[Purpose, str]] = {}  # oldest first

    def add(self, purpose: Purpose, block: str) -> str:
        """Keep a block, and return by what it is found."""
        key = str(uuid.uuid4())
        with self._lock:
            if len(self._blocks) >= _MAX_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[key] = purpose, block
        return key

    def get(self, key: str | None, purpose: Purpose) -> str | None:
        """Return a block, if it was recalled for that."""
        with self._lock:
            found = self._blocks.get(key or "")
        return found[1] if found is not None and found[0] == purpose else None

    def drop(self, key: str | None) -> None:
        """Keep a block no longer."""
        with self._lock:
            self._blocks.pop(key or "", None)


class MemoryAgentState(AgentState[Any]):
    """An agent's state, with what memory needs to know until the turn is over."""

    memory_recalled: NotRequired[Annotated[str, UntrackedValue(str), PrivateStateAttr]]
    """By what the middleware finds the block that was recalled in this run."""

    memory_turn: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr]]
    """The outline of the turn that is going on; empty between turns."""


class MakesTools(Protocol):
    """Returns tools for the memory of somebody, as `memory_tools` does."""

    def __call__(
        self,
        memory: Memory,
        /,
        *,
        user: OwnerIdSource | None,
        project: OwnerIdSource | None,
        agent: OwnerIdSource | None,
    ) -> Sequence[BaseTool]: ...


class MemoryMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Long-term memory for an agent of `create_agent`.

    It recalls once a run, before the first call of the model, and again after an interrupt. What
    the user said is kept before the model is asked; what the agent answered, the notes and the
    episode when the turn is over. Give it as the first middleware: it then sees what the others
    made of a message, such as one that `PIIMiddleware` redacted, and is not asked again by those
    that retry.

    Args:
        memory: The memory.
        user: The user, or a function of state and config; else `user_id` of the run's context or
            configurable, or the authenticated user.
        project: A project to read beside the user's memory, in the same way.
        agent: An agent to read beside it, in the same way.
        tools: `memory_tools` lets the model remember, recall and forget itself, for the same user,
            project and agent; `partial(memory_tools, owner="project")` for its project.
        tools_prompt: What the system prompt then says of the tools; the agent's own comes first.
        quotas: How many hits of each type have their place in the block.
        max_tokens: How long the block may be.
        count_tokens: Counts its tokens: a function of a text, or the chat model that will read it;
            by default four characters are one token, or one that is Chinese.
        timeout: How many seconds to wait for the store; `None` waits for ever.
        on_error: `"log"` answers without memory when recalling fails; `"raise"` does not.
        from_reply: Whether to remember what a structured reply (`response_format=SavingReply`)
            proposes, and to leave its plain text in the messages.
        episodes: Whether to log an episode for a turn that is a task.
        background: Whether the run ends when the turn is kept; the extraction of notes is then
            done in a thread of the memory.
        inject: `"user"` puts the block before the text of the latest user message, `"system"`
            into the system prompt, or the first system message of the state.

    Raises:
        MissingUserError: In a run that names no user, before any model is called.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langgraph_memory import ChromaStore, Memory
        >>> from langgraph_memory.testing import RecallingChatModel
        >>> with Memory(ChromaStore.in_memory()) as memory:
        ...     agent = create_agent(RecallingChatModel(), middleware=[MemoryMiddleware(memory)])
        ...     asked = {"messages": [("user", "Ship the order to Rosario.")]}
        ...     _ = agent.invoke(asked, {"configurable": {"user_id": "c-2291"}})
        ...     memory.count(user="c-2291")["message"]
        2
    """

    state_schema = MemoryAgentState

    def __init__(
        self,
        memory: Memory,
        *,
        user: OwnerIdSource | None = None,
        project: OwnerIdSource | None = None,
        agent: OwnerIdSource | None = None,
        tools: MakesTools | None = None,
        tools_prompt: str = TOOLS_PROMPT,
        quotas: Quotas | None = None,
        max_tokens: int = 1000,
        count_tokens: CountTokens | None = None,
        timeout: float | None = 2.0,
        on_error: OnError = "log",
        from_reply: bool = False,
        episodes: bool = True,
        background: bool = False,
        inject: Inject = "user",
    ) -> None:
        check_writing(memory, "MemoryMiddleware")
        check_inject(inject)
        super().__init__()
        self.tools = _made(tools, memory, user=user, project=project, agent=agent)
        self._tools_prompt = tools_prompt
        self._memory = memory
        self._scopes = Scopes(user, project, agent)
        quotas = Quotas() if quotas is None else quotas
        self._how = RecallOptions(quotas, max_tokens, timeout, on_error, count_tokens)
        self._from_reply = from_reply
        self._episodes = episodes
        self._background = background
        self._inject = inject
        self._blocks = BlockCache()

    # -- the run begins: whose it is, and what was said before --

    async def _before_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """Keep the history that a run brings along, before a summary takes its place."""
        await self._run(state).log_earlier(with_ids(state["messages"]))

    before_agent, abefore_agent = twins(_before_agent)

    # -- each call of the model --

    async def _wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> ExtendedModelResponse[Any]:
        """Recall if that is not done yet, and call the model with the block in its messages."""
        call = self._call(request)
        block = call.recalled
        if block is None:
            await call.run.log_at_once(call.turn)
            asked = call.run, queries_of(call.messages), request.messages, self._how
            block = await Either(block_for, ablock_for, *asked)
        response = await Either(handler, handler, self._prompted(request, block))
        return self._with_state(call, response, block)

    wrap_model_call, awrap_model_call = twins(_wrap_model_call)

    # -- the turn is over --

    async def _after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        """Keep the turn."""
        run, turn = self._run(state), self._taken(state)
        await run.save(turn, episodes=self._episodes, background=self._background)
        self._blocks.drop(state.get("memory_recalled"))
        return _cleared(turn)

    after_agent, aafter_agent = twins(_after_agent)

    # -- parts of the above --

    def _run(self, state: Any) -> Run:
        return current_run(self._memory, self._scopes, state)

    def _call(self, request: ModelRequest[Any]) -> _Call:
        state: Any = request.state
        messages = whole(with_ids(request.messages), state.get("memory_turn"))
        run, turn = self._run(state), current_turn(messages)
        recalled = self._blocks.get(state.get("memory_recalled"), _purpose(run, turn))
        return _Call(run, messages, turn, recalled)

    def _with_state(
        self, call: _Call, response: ModelResponse[Any], block: str
    ) -> ExtendedModelResponse[Any]:
        """Return a response, and what the state is to hold until the next call."""
        update: dict[str, Any] = {"memory_turn": outline_of(call.turn)}
        if call.recalled is None:
            update["memory_recalled"] = self._blocks.add(_purpose(call.run, call.turn), block)
        return ExtendedModelResponse(response, Command(update=update))

    def _prompted(self, request: ModelRequest[Any], block: str) -> ModelRequest[Any]:
        system = [] if request.system_message is None else [request.system_message]
        messages: list[BaseMessage] = [*system, *request.messages]
        if self.tools and self._tools_prompt:
            messages = with_instructions(messages, self._tools_prompt)
        messages = injected(messages, block, self._inject)
        first = messages[0] if messages else None
        if isinstance(first, SystemMessage):
            return request.override(system_message=first, messages=_any(messages[1:]))
        return request.override(messages=_any(messages))

    def _taken(self, state: Any) -> Taken:
        messages = whole(with_ids(state["messages"]), state.get("memory_turn"))
        return (
            take_proposal(messages, structured_in(state)) if self._from_reply else Taken(messages)
        )


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of the model."""

    run: Run
    messages: list[BaseMessage]
    """What the model is asked with, and what a summary has removed of this turn."""
    turn: list[BaseMessage]
    recalled: str | None
    """The block, if it was recalled for this turn earlier in the run."""


def _made(
    tools: MakesTools | None, memory: Memory, **whose: OwnerIdSource | None
) -> list[BaseTool]:
    if tools is None:
        return []
    if not callable(tools):
        raise ConfigurationError(
            f"tools= is memory_tools, or what makes tools as it does, got {tools!r}; tools of your "
            "own go into create_agent(tools=...)"
        )
    return [*tools(memory, **whose)]


def _purpose(run: Run, turn: Sequence[BaseMessage]) -> Purpose:
    return run.user, run.project, run.agent, turn[0].id if turn else None


def _cleared(turn: Taken) -> dict[str, Any]:
    cleared: dict[str, Any] = {"memory_turn": []}
    return {**cleared, "messages": list(turn.changes)} if turn.changes else cleared


def _any(messages: list[BaseMessage]) -> list[Any]:
    return messages
