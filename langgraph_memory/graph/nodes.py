"""Memory around a node of any graph: `recall_node` before it and `remember_node` after it, or
`with_memory`, which wraps the node itself.

What was recalled reaches the model in a copy of the latest user message, and never the stored
messages. A recall that fails lets the agent answer without memory, and says so in the log and in
the stream; a missing user, or memory that cannot be saved, is an error.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
)
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.config import get_config
from langgraph.graph import MessagesState
from langgraph.types import Command, Overwrite
from pydantic import BaseModel

from langgraph_memory.episodes import is_answered, is_go_ahead
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.graph.owner_ids import OwnerIdSource
from langgraph_memory.graph.recall import SHOWING, OnError, RecallOptions, ablock_for, block_for
from langgraph_memory.graph.run import Run, Scopes, check_memory, check_writing, current_run
from langgraph_memory.memory import Memory
from langgraph_memory.messages import (
    MARK,
    Inject,
    Taken,
    as_messages,
    check_inject,
    current_turn,
    field_of,
    injected,
    last_user_message,
    structured_in,
    take_proposal,
    with_ids,
    with_new_ids,
    with_new_messages,
    without_block,
)
from langgraph_memory.records import record_id
from langgraph_memory.retrieval import Quotas, queries_of
from langgraph_memory.text import CountTokens
from langgraph_memory.twins import Either, twins

logger = logging.getLogger(__name__)

Node = Callable[..., Any] | Runnable[Any, Any]
"""What calls the model: a function, an async function, or a runnable."""
NodeT = TypeVar("NodeT", bound=Node)


def _beside(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Keep what was recalled for several agents, each apart; parallel branches may both write."""
    if not new:
        return {}  # the turn is over
    if "agents" not in old:
        return new  # else a version without agents left it, of a turn that was never finished
    return {**old, **new, "agents": {**old["agents"], **new.get("agents", {})}}


class MemoryState(MessagesState, total=False):
    """LangGraph's `MessagesState` with a channel for what was recalled."""

    memory: Annotated[dict[str, Any], _beside]
    """What `recall_node` found, until `remember_node` clears it."""


def recall_node(
    memory: Memory,
    *,
    user: OwnerIdSource | None = None,
    project: OwnerIdSource | None = None,
    agent: OwnerIdSource | None = None,
    query: Callable[[Any], str] | None = None,
    quotas: Quotas | None = None,
    max_tokens: int = 1000,
    count_tokens: CountTokens | None = None,
    timeout: float | None = 2.0,
    on_error: OnError = "log",
) -> Runnable[Any, dict[str, Any]]:
    """Return a node that recalls, to stand before the one that calls the model.

    It writes the channel `memory` of `MemoryState`, always, so that nothing stale is used. Of
    several agents each has a node of its own, and is read by `messages_with_memory(agent=...)`.

    Args:
        memory: The memory.
        user: The user, or a function of state and config; else `user_id` of the run's context or
            configurable, or the authenticated user.
        project: A project to read beside the user's memory, in the same way.
        agent: An agent to read beside it, in the same way.
        query: What to recall, from a state without `messages`. Else it is the latest user message,
            and once more with the answer before it where that message says little.
        quotas: How many hits of each type have their place in the block.
        max_tokens: How long the block may be.
        count_tokens: Counts its tokens: a function of a text, or the chat model that will read it;
            by default four characters are one token, or one that is Chinese.
        timeout: How many seconds to wait for the store; `None` waits for ever.
        on_error: `"log"` answers without memory when recalling fails; `"raise"` does not.
    """
    check_memory(memory)
    quotas = Quotas() if quotas is None else quotas
    how = RecallOptions(quotas, max_tokens, timeout, on_error, count_tokens)
    scopes = Scopes(user, project, agent)

    def prepare(state: Any) -> tuple[Run, list[BaseMessage], list[str], dict[str, Any]]:
        run = current_run(memory, scopes, state)
        messages = [] if query is not None else _messages(state)
        queries = queries_of(messages) if query is None else [query(state)]
        written = {
            "query": queries[0],
            "turn": uuid.uuid4().hex,
            "began": run.memory.clock().isoformat(),
            "asked": _asked(messages),
        }
        return run, messages, queries, {**written, "stopped": _stopped(state, written)}

    def told(run: Run, written: dict[str, Any], block: str) -> dict[str, Any]:
        if block:
            SHOWING.recalled(written["turn"], memory)
        # The run's own agent is the only one; one of the node may stand beside others.
        named = agent is not None and run.agent is not None
        to_whom = {"agents": {run.agent: block}} if named else {"block": block, "agents": {}}
        return {"memory": {**written, **to_whom}}

    async def _recall(state: Any, config: RunnableConfig) -> dict[str, Any]:
        run, messages, queries, written = prepare(state)
        return told(run, written, await Either(block_for, ablock_for, run, queries, messages, how))

    recall, arecall = twins(_recall)
    return RunnableLambda(recall, arecall, name="recall")


def remember_node(
    memory: Memory,
    *,
    user: OwnerIdSource | None = None,
    reply: Callable[[Any], str] | None = None,
    from_reply: bool = False,
    episodes: bool = True,
    background: bool = False,
) -> Runnable[Any, dict[str, Any]]:
    """Return a node that keeps the turn, to stand after the one that calls the model.

    It keeps every message of the state that is not kept yet, and one episode of the run. A replay,
    a resume or a parallel branch keeps nothing twice. If a model has answered without
    `messages_with_memory`, so that nothing of what was recalled was shown to it, a warning says so,
    once for a memory.

    Args:
        memory: The memory.
        user: The user, or a function of state and config; else `user_id` of the run's context or
            configurable, or the authenticated user.
        reply: The answer, from a state without `messages`; the question is `recall_node`'s query.
        from_reply: Whether to remember what a structured reply (`SavingReply`) proposes, and to
            leave its plain text in the messages. It may also lie in the state, as `reply` or
            `structured_response`, beside a message with its text.
        episodes: Whether to log an episode for a turn that is a task.
        background: Whether the run ends when the turn is kept. What follows, the extraction of
            notes, is then done in a thread of the memory, and not seen in the run's stream.
    """
    check_writing(memory, "remember_node")
    scopes = Scopes(user)

    def prepare(state: Any) -> tuple[Run, Taken, dict[str, Any], dict[str, Any]]:
        run = current_run(memory, scopes, state)
        recalled: Mapping[str, Any] = field_of(state, "memory") or {}
        began = recalled.get("began")
        known = {
            "began": began and datetime.fromisoformat(began),
            "stopped": len(recalled.get("stopped") or ()),
        }
        cleared: dict[str, Any] = {"memory": {}}
        messages = _messages(state) if reply is None else _exchange(recalled, reply(state))
        taken = take_proposal(messages, structured_in(state)) if from_reply else Taken(messages)
        marked = [m for m in messages if MARK in m.additional_kwargs]
        if reply is None and is_answered(current_turn(messages)):
            _warn_if_forgotten(recalled)
        # The node may have returned the copy that memory was put into.
        if reply is None and (changes := [*map(_put_back, marked), *taken.changes]):
            cleared["messages"] = changes
        return run, taken, known, cleared

    async def _remember(state: Any, config: RunnableConfig) -> dict[str, Any]:
        run, turn, known, cleared = prepare(state)
        await run.save(turn, episodes=episodes, background=background, **known)
        return cleared

    remember, aremember = twins(_remember)
    return RunnableLambda(remember, aremember, name="remember")


def messages_with_memory(
    state: object, *, agent: str | None = None, inject: Inject = "user"
) -> list[BaseMessage]:
    """Return the messages to call the model with: the state's, with memory put into a copy.

    Args:
        state: The state of a node after `recall_node`.
        agent: The agent that calls the model, where `recall_node(agent=...)` recalled for several.
        inject: `"user"` puts the block before the text of the latest user message (so the prompt's
            beginning stays cacheable, and tool calls stay beside their results); `"system"` puts
            it into the first system message.

    Raises:
        ConfigurationError: If the state has no memory that was recalled for this node; the message
            names the fix.
    """
    check_inject(inject)
    recalled = field_of(state, "memory")
    block = _block_for(agent, recalled)
    SHOWING.shown(str(recalled.get("turn")))
    return injected(_messages(state), block, inject)


def _warn_if_forgotten(recalled: Mapping[str, Any]) -> None:
    if SHOWING.forgotten(recalled.get("turn", "")):
        logger.warning(
            "what recall_node found was not shown to the model in this run: call the model with "
            "messages_with_memory(state) instead of state['messages']. If you read "
            "state['memory'] yourself, nothing is wrong. This is said once"
        )


def _asked(messages: Sequence[BaseMessage]) -> str | None:
    """Return the id of what the user said last, by which runs of one turn are known."""
    latest = last_user_message(messages)
    return None if latest is None else latest.id


def _stopped(state: Any, written: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the turns before that were recalled for and never kept, if this one goes on with them.

    Each has its `turn` and its `query`, the earliest first.
    """
    left: Mapping[str, Any] = field_of(state, "memory") or {}
    if "turn" not in left:
        return []
    earlier = list(left.get("stopped") or ())
    if (left.get("asked"), left["query"]) == (written["asked"], written["query"]):
        return earlier  # it was recalled for another agent in this turn
    if not is_go_ahead(written["query"]):
        return []
    return [*earlier, {"turn": left["turn"], "query": left["query"]}]


def _block_for(agent: str | None, recalled: Any) -> str:
    """Return what was recalled for an agent; for none, what was recalled for none or the only one.

    So no agent is ever shown what was recalled for another.
    """
    found: Mapping[str, Any] = recalled if isinstance(recalled, Mapping) else {}
    agents: Mapping[str, str] = found.get("agents") or {}
    if agent is not None and str(agent) in agents:
        return agents[str(agent)]
    if agent is None and "block" in found:
        return str(found["block"])
    if agent is None and len(agents) == 1:
        return next(iter(agents.values()))
    if agent is not None or agents:
        raise ConfigurationError(
            f"this state holds what was recalled for the agents {sorted(agents)}, and nothing for "
            f"agent={agent!r}. Say which of them this node is, "
            "messages_with_memory(state, agent='...'), and let recall_node(memory, agent='...') "
            "of that agent run before it"
        )
    raise ConfigurationError(
        "this state holds no recalled memory. Build the graph with StateGraph(MemoryState), or "
        "add `memory: Annotated[dict, ...]` as MemoryState has it to your own state, also to "
        "the one that this node is typed on; and let recall_node run before this node"
    )


def with_memory(
    node: NodeT,
    memory: Memory,
    *,
    user: OwnerIdSource | None = None,
    project: OwnerIdSource | None = None,
    agent: OwnerIdSource | None = None,
    quotas: Quotas | None = None,
    max_tokens: int = 1000,
    count_tokens: CountTokens | None = None,
    timeout: float | None = 2.0,
    on_error: OnError = "log",
    from_reply: bool = False,
    episodes: bool = True,
    background: bool = False,
    inject: Inject = "user",
) -> NodeT:
    """Wrap the node that calls the model, so that it recalls before and remembers after.

    The wrapped node has the name and the parameters of the original, and works on a plain
    `MessagesState`. What the user said is kept at once, also if the model fails. In a tool loop the
    turn is recalled for anew at each call, and is remembered when the answer is there. A compiled
    graph as the node keeps what it is given, the block too, in checkpoints of its own.

    Args:
        node: A function, an async function or a runnable, that takes a state with `messages`.
        memory: The memory.
        user: As for `recall_node`.
        project: As for `recall_node`.
        agent: As for `recall_node`.
        quotas: As for `recall_node`.
        max_tokens: As for `recall_node`.
        count_tokens: As for `recall_node`.
        timeout: As for `recall_node`.
        on_error: As for `recall_node`.
        from_reply: As for `remember_node`; the state never holds anything but the plain reply.
        episodes: As for `remember_node`.
        background: As for `remember_node`.
        inject: As for `messages_with_memory`.
    """
    check_writing(memory, "with_memory")
    check_inject(inject)
    quotas = Quotas() if quotas is None else quotas
    how = RecallOptions(quotas, max_tokens, timeout, on_error, count_tokens)
    scopes = Scopes(user, project, agent)
    around = _Around(memory, scopes, how, from_reply, episodes, background, inject)
    wrapped: NodeT = _wrapped(node, around)
    return wrapped


def _wrapped(node: Any, around: _Around) -> Any:
    if isinstance(node, Runnable):
        return _wrapped_runnable(node, around)
    if not callable(node) or inspect.isgeneratorfunction(node) or inspect.isasyncgenfunction(node):
        raise ConfigurationError(
            f"with_memory wraps a function or a runnable that returns a state update, got {node!r}"
        )
    if inspect.iscoroutinefunction(node) or inspect.iscoroutinefunction(
        getattr(node, "__call__", None)  # noqa: B004  # an instance with an async __call__
    ):
        return _wrapped_coroutine(node, around)

    def wrapper(state: Any, *args: Any, **kwargs: Any) -> Any:
        turn = around.begin(state)
        return around.end(turn, node(turn.state, *args, **kwargs))

    return _named_like(node, wrapper)


def _wrapped_coroutine(node: Callable[..., Awaitable[Any]], around: _Around) -> Any:
    async def wrapper(state: Any, *args: Any, **kwargs: Any) -> Any:
        turn = await around.abegin(state)
        return await around.aend(turn, await node(turn.state, *args, **kwargs))

    return _named_like(node, wrapper)


def _named_like(node: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Give a wrapper the name and the parameters of what it wraps; LangGraph reads both."""
    wrapper.__name__ = type(node).__name__  # of an object, which has no name of its own
    return functools.wraps(node)(wrapper)


def _wrapped_runnable(node: Runnable[Any, Any], around: _Around) -> Runnable[Any, Any]:
    def call(state: Any, config: RunnableConfig) -> Any:
        turn = around.begin(state)
        return around.end(turn, node.invoke(turn.state, config))

    async def acall(state: Any, config: RunnableConfig) -> Any:
        turn = await around.abegin(state)
        return await around.aend(turn, await node.ainvoke(turn.state, config))

    return RunnableLambda(call, acall, name=node.get_name())


@dataclasses.dataclass(frozen=True, slots=True)
class _Turn:
    """One call of a wrapped node."""

    run: Run
    messages: list[BaseMessage]
    """As they stand in the state."""
    state: Any
    """What the node is given."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Around:
    """What `with_memory` does before and after a node."""

    memory: Memory
    scopes: Scopes
    how: RecallOptions
    from_reply: bool
    episodes: bool
    background: bool
    inject: Inject

    async def _begin(self, state: Any) -> _Turn:
        run, messages = self._run(state)
        if _begins_turn(messages):
            await run.log_at_once(messages)
        queries = queries_of(messages)
        block = await Either(block_for, ablock_for, run, queries, messages, self.how)
        return self._turn(run, messages, state, block)

    begin, abegin = twins(_begin)

    async def _end(self, turn: _Turn, result: Any) -> Any:
        result, answer = _answered(turn.messages, result, self.from_reply)
        if answer is not None:
            await turn.run.save(answer, episodes=self.episodes, background=self.background)
        return result

    end, aend = twins(_end)

    def _run(self, state: Any) -> tuple[Run, list[BaseMessage]]:
        node = (get_config().get("metadata") or {}).get("langgraph_node")
        return current_run(self.memory, self.scopes, state, node), _messages(state)

    def _turn(self, run: Run, messages: list[BaseMessage], state: Any, block: str) -> _Turn:
        given = _with_messages(state, injected(messages, block, self.inject))
        return _Turn(run, messages, given)


def _begins_turn(messages: Sequence[BaseMessage]) -> bool:
    return bool(messages) and messages[-1] is last_user_message(messages)


def _answered(
    messages: Sequence[BaseMessage], result: Any, from_reply: bool
) -> tuple[Any, Taken | None]:
    """Return a node's result as it goes into the state, and all messages if it is the answer."""
    returned: list[BaseMessage] = []
    proposed: list[object] = []
    beside = list(structured_in(result)) if from_reply else []

    def cleaned(value: Any) -> Any:
        if isinstance(value, Overwrite):
            return Overwrite(cleaned(value.value))
        given = (without_block(message) for message in as_messages(value))
        own = with_new_ids(message for message in given if not _is_only_block(message))
        taken = take_proposal(own, beside) if from_reply else Taken(own)
        returned.extend(taken.messages)
        proposed.extend(taken.proposed)
        return taken.messages

    result = _map_messages(result, cleaned)
    answer = next((m for m in reversed(returned) if isinstance(m, AIMessage)), None)
    if answer is None or answer.tool_calls:
        return result, None
    return result, Taken(with_new_messages(messages, returned), proposed=tuple(proposed))


def _map_messages(update: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a change to the messages in what a node may return, whatever form that has."""
    if isinstance(update, Command):
        return dataclasses.replace(update, update=_map_messages(update.update, change))
    if isinstance(update, list):
        return [_map_messages(each, change) for each in update]
    if isinstance(update, tuple) and len(update) == 2 and update[0] == "messages":
        return ("messages", change(update[1]))
    if isinstance(update, tuple):
        return tuple(_map_messages(each, change) for each in update)
    messages = field_of(update, "messages")
    if messages is None or isinstance(update, str):
        return update
    return _with_messages(update, change(messages))


def _is_only_block(message: BaseMessage) -> bool:
    """Whether a system message was made for a block, which has been taken out of it."""
    return isinstance(message, SystemMessage) and not message.content


def _put_back(message: BaseMessage) -> BaseMessage:
    original = without_block(message)
    return RemoveMessage(message.id or "") if _is_only_block(original) else original


def _exchange(recalled: Mapping[str, Any], answer: str) -> list[BaseMessage]:
    """Return the turn of a state without messages: what was asked, and the answer."""
    if "turn" not in recalled:
        raise ConfigurationError(
            "remember_node(reply=...) takes the question from recall_node: let it run before, and "
            "give the state the channel `memory` of MemoryState"
        )
    turn = recalled["turn"]
    reply_id = record_id("message", turn, "reply", answer)  # several agents may answer
    asked = [*recalled.get("stopped", ()), recalled]
    said = [HumanMessage(each["query"], id=each["turn"]) for each in asked]
    return [*said, AIMessage(answer, id=reply_id)]


def _messages(state: Any) -> list[BaseMessage]:
    messages = field_of(state, "messages")
    if messages is None:
        raise ConfigurationError(
            "this state has no `messages`: pass query= to recall_node and reply= to remember_node"
        )
    return with_ids(as_messages(messages))


def _with_messages(state: Any, messages: list[BaseMessage]) -> Any:
    if isinstance(state, Mapping):
        return {**state, "messages": messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={"messages": messages})
    return dataclasses.replace(state, messages=messages)
