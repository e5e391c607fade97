"""Whose memory it is: owners, their namespaces, and how a run says who its user is.

An owner's id may be any text. LangGraph refuses some texts as namespace labels (a period, NUL,
nothing at all), so an id is encoded into a label, reversibly: two ids never share a namespace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from langgraph_memory.errors import ConfigurationError, MissingUserError

OwnerKind = Literal["user", "project", "agent"]
"""Who may own a record."""
RecordType = Literal["note", "episode", "message", "document", "source", "extraction"]
"""What a record is. A `source` says which documents hold, and `extraction` is the package's own
book-keeping."""
RECORD_TYPES: tuple[RecordType, ...] = get_args(RecordType)

TYPES: tuple[RecordType, ...] = ("note", "message", "episode", "document")
"""The types of what is known."""

ROOT = "memory"
"""First label of every namespace of this package."""

Scope = str | Callable[[Any, Mapping[str, Any]], str | None]
"""An id, or a function of a run's state and config that returns it."""

_UNSAFE = re.compile("[%.\x00-\x1f\x7f\ud800-\udfff]")
_ESCAPE = re.compile("%(?:u([0-9A-F]{4})|([0-9A-F]{2}))")


def encode_label(text: str) -> str:
    """Encode any text as a legal namespace label.

    Periods, `%`, control characters and lone surrogates become `%XX` or `%uXXXX`; all else stays
    as it is. `decode_label` gives the text back.

    Example:
        >>> encode_label("ana@example.com"), encode_label("100 %")
        ('ana@example%2Ecom', '100 %25')
    """

    def escape(match: re.Match[str]) -> str:
        code = ord(match.group())
        return f"%{code:02X}" if code < 256 else f"%u{code:04X}"

    return _UNSAFE.sub(escape, text)


def decode_label(label: str) -> str:
    """Return the text that `encode_label` made `label` from."""
    return _ESCAPE.sub(lambda match: chr(int(match.group(1) or match.group(2), 16)), label)


def check_id(kind: OwnerKind, value: object) -> str:
    """Return an owner's id as text.

    Raises:
        MissingUserError: If a user's id is missing or empty.
        ConfigurationError: If another id is empty, or an id is neither text nor an integer.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return value
    if kind == "user" and (value is None or value == ""):
        raise MissingUserError(
            f"memory belongs to a user, got {value!r}; pass user=, for example user='c-2291'"
        )
    raise ConfigurationError(
        f"{kind}= takes a non-empty string or an integer, got {value!r} ({type(value).__name__})"
    )


def check_record_id(value: object) -> str:
    """Return a record's id; refuse what is none, by which nothing would be found.

    Raises:
        ConfigurationError: If it is no text, such as the record itself.
    """
    if isinstance(value, str):
        return value
    raise ConfigurationError(
        "id= is the id of a record, such as note.id or change.record.id; "
        f"got an object of the type {type(value).__name__}"
    )


@dataclass(frozen=True, slots=True)
class Owner:
    """To whom a record belongs: a user, a project or an agent."""

    kind: OwnerKind
    id: str

    def namespace(self, type: RecordType) -> tuple[str, str, str, str]:
        """Return the namespace of this owner's records of one type."""
        return (ROOT, self.kind, encode_label(self.id), type)


@lru_cache(maxsize=4096)  # a recall asks for each record that it reads
def owner_of(namespace: tuple[str, ...]) -> tuple[Owner, RecordType] | None:
    """Return the owner and type of a namespace, or `None` if it is not one of this package."""
    match namespace:
        case ("memory", "user" | "project" | "agent" as kind, label, type) if type in RECORD_TYPES:
            return Owner(kind, decode_label(label)), type
    return None


def readers(user: object, project: object = None, agent: object = None) -> list[Owner]:
    """Return the owners whose memory one call reads: its user's, its project's, its agent's."""
    owners = [Owner("user", check_id("user", user))]
    if project is not None:
        owners.append(Owner("project", check_id("project", project)))
    if agent is not None:
        owners.append(Owner("agent", check_id("agent", agent)))
    return owners


def writer(user: object, project: object = None, agent: object = None) -> Owner:
    """Return the one owner that a new record belongs to.

    Raises:
        ConfigurationError: If both a project and an agent are named.
    """
    owners = readers(user, project, agent)
    if len(owners) > 2:
        raise ConfigurationError("a record belongs to one owner; pass project= or agent=, not both")
    return owners[-1]


def run_owner_id(
    kind: OwnerKind, given: Scope | None, state: Any, config: Mapping[str, Any], runtime: Any
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


def field_of(state: Any, name: str) -> Any:
    """Return a field of a state or a context, a mapping or an object; `None` if it has none."""
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def run_user(given: Scope | None, state: Any, config: Mapping[str, Any], runtime: Any) -> str:
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
