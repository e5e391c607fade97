"""Whose memory it is: owners, their namespaces, and how a run says who its user is.

An owner's id may be any text. LangGraph refuses some texts as namespace labels (a period, NUL,
nothing at all), so an id is encoded into a label, reversibly: two ids never share a namespace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

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
