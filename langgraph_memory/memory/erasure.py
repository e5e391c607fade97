"""The erasure of users: what is deleted, what is given by them, what is searched for. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp

from langgraph_memory.memory.deletion import Deletion
from langgraph_memory.messages import ERASED, erased_mark_ops
from langgraph_memory.models import Vectors
from langgraph_memory.records import (
    RECORD_TYPES,
    ROOT,
    Erased,
    Note,
    Owner,
    Receipt,
    Source,
    owner_of,
)
from langgraph_memory.sessions import Session
from langgraph_memory.store import (
    ALL,
    Namespace,
    NewestOp,
    Overwritten,
    Sought,
    forgotten_namespace,
    forms_of,
    lying_in,
    pieces_of_text,
    pieces_of_vectors,
    read_record,
    texts_of,
)
from langgraph_memory.text import replace_surrogates


@dataclass(slots=True)
class Erasure:
    """What is known of an erasure while it goes on.

    Args:
        owners: Whose records; users all of them.
    """

    owners: Sequence[Owner]
    ids: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    given: dict[tuple[Owner, str], Note | Source] = field(default_factory=dict)
    marks: int = 0
    pieces: set[bytes] = field(default_factory=set)

    @property
    def users(self) -> list[str]:
        """The ids of the users."""
        return [owner.id for owner in self.owners]

    def deletion(self, owner: Owner) -> Deletion:
        """Return the deletion of all that one of them has."""
        return Deletion(owner, whole=True)

    def ended(self, deletion: Deletion) -> None:
        """Count what was deleted."""
        receipt = deletion.receipt
        self.ids += receipt.ids
        self.counts.update(receipt.counts)

    # -- what is searched for afterwards --

    def saw_items(self, items: Iterable[Any]) -> None:
        """Note the texts of items that are deleted."""
        for item in items:
            for text in texts_of(item.value):
                self.pieces.update(pieces_of_text(text))

    def saw_vectors(self, vectors: Iterable[Vectors]) -> None:
        """Note the vectors of what is deleted."""
        self.pieces.update(pieces_of_vectors(vectors))

    def saw_sessions(self, sessions: Sequence[Session]) -> None:
        """Note threads that are deleted."""
        for session in sessions:
            for text in (session.thread_id, session.title or ""):
                self.pieces.update(pieces_of_text(text))
        if sessions:
            self.counts["session"] += len(sessions)

    @property
    def sought(self) -> Sought:
        """All that is to be nowhere any more."""
        forms = forms_of(self.users)
        return Sought(forms.own, frozenset(self.pieces) | forms.shared)

    # -- marks --

    def mark_ops(self, salt: str, owner: Owner, items: Iterable[Any]) -> list[PutOp]:
        """Return the operations that keep digests of messages, and of what was forgotten."""
        said = owner.namespace("message")
        keys = {
            item.key: None
            for item in items
            if tuple(item.namespace) in (said, forgotten_namespace(said))
        }
        self.marks += len(keys)
        return erased_mark_ops(salt, owner, keys)

    # -- what the users gave away --

    def given_ops(self, listed: Sequence[Namespace]) -> list[Any]:
        """Return the operations that bring what the users wrote in others' namespaces."""
        return [
            NewestOp(namespace, {name: user}, ALL) for namespace, name, user in self._asked(listed)
        ]

    def saw_given(self, listed: Sequence[Namespace], found: Sequence[Any]) -> None:
        """Note what `given_ops` found."""
        asked = self._asked(listed)
        for (namespace, name, user), items in zip(asked, found, strict=True):
            for record in map(read_record, lying_in(namespace, items)):
                if isinstance(record, (Note, Source)) and getattr(record, name) == user:
                    self.given[record.owner, record.id] = record

    def _asked(self, listed: Iterable[Namespace]) -> list[tuple[Namespace, str, str]]:
        asked = []
        for namespace in listed:
            owned = owner_of(tuple(namespace))
            if owned is None or owned[0].kind == "user" or owned[1] not in ("note", "source"):
                continue
            names = ("author", "changed_by") if owned[1] == "note" else ("author",)
            asked += [(tuple(namespace), name, user) for name in names for user in self.users]
        return asked

    # -- the end --

    def receipt(
        self, others: tuple[int, int], files: Overwritten, unverified: Sequence[str]
    ) -> Receipt:
        """Return what was deleted, and what became of the files."""
        reasons = list(unverified)
        if files.elsewhere:
            reasons.insert(
                0, f"the files of {files.elsewhere} were neither overwritten nor searched"
            )
        if files.pending:
            reasons.insert(0, "the memory's files are overwritten and searched at the next opening")
        erased = Erased(
            others=others,
            marks=self.marks,
            pending=files.pending,
            closed=files.closed,
            verified=not reasons,
            found=files.found,
            unverified=tuple(reasons),
        )
        return Receipt(
            tuple(self.ids), dict(self.counts), given=tuple(self.given.values()), erased=erased
        )


EVERYBODY = ListNamespacesOp((MatchCondition("prefix", (ROOT,)),), limit=ALL)
"""Brings all namespaces of this package."""


def namespaces_of(owner: Owner, deletion: Deletion) -> list[Namespace]:
    """Return where something of an owner may be: also what a store does not list."""
    usual: list[Namespace] = [owner.namespace(type) for type in RECORD_TYPES]
    marks = [forgotten_namespace(owner.namespace("message"))]
    return list(dict.fromkeys([*usual, *marks, *deletion.namespaces]))


def is_beside(namespace: Namespace, owners: Sequence[Owner]) -> bool:
    """Whether a namespace is none of some owners', nor one of marks of the erased."""
    roots = [owner.namespace("note")[:3] for owner in owners]
    return namespace[:3] not in roots and namespace[:2] != ERASED


def is_text(user: str) -> bool:
    """Whether an id is Unicode text, without a surrogate that stands alone."""
    return replace_surrogates(user) == user
