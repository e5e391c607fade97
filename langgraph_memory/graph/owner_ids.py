"""Whose memory a run uses: the user, project and agent, from its configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from langgraph_memory.errors import ConfigurationError, MissingUserError
from langgraph_memory.messages import field_of
from langgraph_memory.records import OwnerKind, check_id

OwnerIdSource = str | Callable[[Any, RunnableConfig], str | None]
"""An id, or a function of a run's state and config that returns it."""


def run_owner_id(
    kind: OwnerKind, given: OwnerIdSource | None, state: Any, config: RunnableConfig, runtime: Any
) -> str | None:
    """Find an owner's id for one run, or `None` if the run names none.

    It is `given` (text, or a function of state and config), else what `runtime.context`,
    `config["configurable"]` and, for the user, the authenticated user of a LangGraph server say.

    Raises:
        ConfigurationError: If these name different ones: one's words would go into the other's
            memory.
    """
    if given is not None:
        value = given(state, config) if callable(given) else given
        return None if value is None and kind != "user" else check_id(kind, value)
    name = f"{kind}_id"
    configurable = config.get("configurable") or {}
    sources = {
        "context": field_of(getattr(runtime, "context", None), name),
        "configurable": field_of(configurable, name),
        "authenticated": _authenticated_user(configurable, runtime) if kind == "user" else None,
    }
    named = {where: check_id(kind, id) for where, id in sources.items() if id is not None}
    if len(set(named.values())) > 1:
        said = " and ".join(f"{id!r} ({where})" for where, id in named.items())
        raise ConfigurationError(
            f"this run names more than one {kind}: {said}. Let them agree, or say which it is: "
            f"{kind}= of the node"
        )
    return next(iter(named.values()), None)


def run_user(given: OwnerIdSource | None, state: Any, config: RunnableConfig, runtime: Any) -> str:
    """Find the user of one run; there is no default.

    Raises:
        MissingUserError: If nothing in the run names a user; the message shows the line to add.
    """
    try:
        user = run_owner_id("user", given, state, config, runtime)
    except MissingUserError:  # an empty id, as a LangGraph server without `auth` writes it
        user = None
    if user is None:
        raise MissingUserError(
            "this run does not say whose memory it uses. Add one of:\n"
            '  graph.invoke(..., {"configurable": {"thread_id": "...", "user_id": "c-2291"}})\n'
            '  graph.invoke(..., context={"user_id": "c-2291"})   # with context_schema=\n'
            '  recall_node(memory, user=lambda state, config: state["customer"])'
            "   # or with_memory, MemoryMiddleware, memory_tools"
        )
    return user


def _authenticated_user(configurable: Mapping[str, Any], runtime: Any) -> object:
    server_user = getattr(getattr(runtime, "server_info", None), "user", None)
    identity: object = getattr(server_user, "identity", None)
    if identity is not None:
        return identity
    # Where nobody has to say who they are, a server writes an empty id: nobody is authenticated.
    return configurable.get("langgraph_auth_user_id") or None
