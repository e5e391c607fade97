"""What a store offers for the erasure of users, and what is searched for afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from langgraph_memory.models import Vectors
from langgraph_memory.store.items import Namespace
from langgraph_memory.store.traces import own_forms, shared_forms


@dataclass(frozen=True, slots=True)
class Overwritten:
    """What became of the files of a store."""

    found: Mapping[str, int] = field(default_factory=dict)
    """How often something of the users was found still, by file."""
    closed: float = 0.0
    """For how many seconds reads and writes had to wait."""
    pending: bool = False
    """Whether it is done at the next opening."""
    elsewhere: str = ""
    """Where files lie that could neither be overwritten nor searched, in words."""


class ErasingStore(Protocol):
    """What a store offers to whom erases users; `ChromaStore` does."""

    def vectors(self, namespaces: Sequence[Namespace]) -> Iterable[Vectors]: ...

    def count_beside(self, namespaces: Sequence[Namespace]) -> int: ...

    def wipe(self, namespaces: Sequence[Namespace], user: str) -> None: ...

    def overwrite(
        self, users: Sequence[str], sought: Sought, files: Sequence[Path], *, later: bool
    ) -> Overwritten: ...


def forms_of(users: Sequence[str]) -> Sought:
    """Return what is searched for of users of whom no more than the ids is known."""
    own = frozenset(form for user in users for form in own_forms(user))
    shared = frozenset(form for user in users for form in shared_forms(user))
    return Sought(own, shared - own)


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for."""

    own: frozenset[bytes] = frozenset()
    """What nobody else's record can hold: it is to be nowhere."""
    shared: frozenset[bytes] = frozenset()
    """What others may have said too: it is to be nowhere if no remaining record holds it."""
