"""What verbs return of what they did: changes of records, receipts of deletions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal

from typing_extensions import TypeVar

from langgraph_memory.records.records import Episode, Note, Record, Source

Action = Literal["add", "reinforce", "supersede", "update", "retire", "archive", "restore"]
"""What was done: `reinforce` is what was said again, `retire` what gave way to a like one."""


Changed_co = TypeVar("Changed_co", bound=Note | Episode, default=Note, covariant=True)


@dataclass(frozen=True, slots=True)
class Change(Generic[Changed_co]):
    """What was done to one record: a note, or a rated episode."""

    action: Action
    record: Changed_co
    """The record as it is now."""
    previous: Changed_co | None = None
    """The record as it was before."""
    reason: str = ""
    """Why it was done, in a few words."""

    @property
    def id(self) -> str:
        """What `undo` takes: the note's id with its version, `a1b2@2`.

        A change that leaves the text as it is makes no version; it is counted: `a1b2@2.1`.
        """
        return self.record.change_id if isinstance(self.record, Note) else self.record.id


Tie = Literal["source", "same", "drawn"]
"""How a record is tied to a deleted one: as a `source` of it, by saying the `same`, or as what was
`drawn` from it."""


@dataclass(frozen=True, slots=True)
class Also:
    """A record that is not deleted and still says, or may say, what was deleted."""

    record: Record
    tie: Tie
    """How it is tied to what was deleted."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What became of the bytes of erased users, and of all that is not theirs."""

    others: tuple[int, int] = (0, 0)
    """How many records of others there were before, and are afterwards."""
    marks: int = 0
    """Salted digests that stay, so that an old thread does not bring back what was erased."""
    pending: bool = False
    """Whether the files of the memory are overwritten and searched at the next opening."""
    closed: float = 0.0
    """For how many seconds reads and writes of all users had to wait."""
    verified: bool = False
    """Whether all files of the memory, and of the sessions if there are any, were searched."""
    found: Mapping[str, int] = field(default_factory=dict)
    """How often an id, a text or a vector of them was found afterwards, by file; empty if nowhere.
    Not looked for are texts of less than eight bytes."""
    unverified: tuple[str, ...] = ()
    """What was not searched, and why, in words."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was deleted."""

    ids: tuple[str, ...] = ()
    """Ids of the records."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many records of each type; of `erase`, also of threads (`session`) and of marks of what
    was forgotten before (`mark`)."""
    also: tuple[Also, ...] = ()
    """What else says what a deleted note said, and is not deleted: messages, episodes, lessons and
    other notes, documents."""
    given: tuple[Note | Source, ...] = ()
    """Of `erase`: what the users gave to projects and agents. It is theirs, and stays; to delete it
    too is for you to decide."""
    erased: Erased | None = None
    """Of `erase`: what became of the files."""
