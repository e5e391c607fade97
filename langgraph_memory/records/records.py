"""What a memory holds: frozen records, and their values in a store.

A record's value is a plain JSON dict, so that it can lie in any LangGraph store and be read there.
Its `search_text` is what is embedded.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from langgraph_memory.records.clock import as_utc
from langgraph_memory.records.owners import Owner, RecordType

Kind = Literal["preference", "fact", "instruction", "decision", "lesson"]
"""What a note is; a `lesson` is what reflection draws from episodes."""
KINDS: tuple[Kind, ...] = get_args(Kind)

Status = Literal["active", "superseded", "proposed", "archived"]
"""Of a note. `superseded` gave way to another, `proposed` waits for a person's approval, `archived`
was put away: none of these is recalled."""
STATUSES: tuple[Status, ...] = get_args(Status)

Speaker = Literal["user", "assistant"]
"""The role of who said something."""
SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)

Outcome = Literal["completed", "success", "partial", "failure", "cancelled", "interrupted"]
"""How a task ended. `completed`: no error, and nobody judged it; `interrupted`: it may go on."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

GLOBAL_ID = 16
"""Characters from which on a message's id is one in all threads, as UUIDs and the ids of providers
are; shorter ones are a client's own count, that begins anew in each thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A record: its fields, and their form in a store."""

    type: ClassVar[RecordType]

    id: str
    """Its key; given once, it never changes."""
    owner: Owner
    """Whose it is: `owner.kind` and `owner.id`."""
    created_at: datetime
    """When it was said, ended or added, in UTC."""

    def to_value(self) -> dict[str, Any]:
        """Return the record as a JSON dict; its id and owner are the item's key and namespace."""
        return {name: _json_of(getattr(self, name)) for name in _form_of(type(self)).names}

    @classmethod
    def from_value(cls, owner: Owner, key: str, value: Mapping[str, Any]) -> Self:
        """Read a record from a store; fields that a later version added are passed over."""
        names, times, tuples, get = _form_of(cls)
        try:
            known = dict(zip(names, get(value), strict=True))
        except KeyError:  # written before there was one of them
            known = {name: value[name] for name in names if name in value}
        for name in times:
            if known.get(name) is not None:
                known[name] = datetime.fromisoformat(known[name])
        for name in tuples:
            if name in known:
                known[name] = tuple(known[name])
        for name in ("metadata", "replaced"):
            if known.get(name):
                known[name] = deepcopy(known[name])  # the store's own, else
        return cls(id=key, owner=owner, **known)


class _Form(NamedTuple):
    """The fields of a record that lie in its value, and those that JSON has no type for."""

    names: Mapping[str, None]
    """In the order in which they are written."""
    times: tuple[str, ...]
    tuples: tuple[str, ...]
    get: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    """Returns all of them; raises KeyError if one is missing."""


def _form_of(cls: Any) -> _Form:
    form = _FORMS.get(cls)
    if form is None:
        types = {f.name: str(f.type) for f in fields(cls) if f.name not in ("id", "owner")}
        form = _FORMS[cls] = _Form(
            dict.fromkeys(types),
            tuple(name for name, type in types.items() if type.startswith("datetime")),
            tuple(name for name, type in types.items() if type.startswith("tuple")),
            itemgetter(*types),
        )
    return form


_FORMS: dict[Any, _Form] = {}  # a recall reads fifty records


def _json_of(content: Any) -> Any:
    if isinstance(content, datetime):  # of one zone, so that texts compare as times do
        return as_utc(content, "clock=").isoformat()
    if isinstance(content, tuple):
        return deepcopy(list(content))
    return deepcopy(dict(content)) if isinstance(content, Mapping) else content


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(_Stored):
    """One self-contained sentence worth keeping."""

    type: ClassVar[RecordType] = "note"

    text: str
    kind: Kind = "fact"
    slot: str | None = None
    """What the note says a value of, such as "home city": an owner has one active note for it."""
    importance: float = 0.5
    """0 (trivial) to 1 (critical)."""
    pinned: bool = False
    """Whether it is in every prompt."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON values of the caller's own."""
    aliases: tuple[str, ...] = ()
    """Other ways to say it, or to ask for it: it is found by them, and they are not shown."""
    status: Status = "active"
    version: int = 1
    """Counts the texts that this note has had; older ones are kept as `id@1`, `id@2`, ..."""
    mentions: int = 1
    """How often it was said."""
    author: str = ""
    """The user who gave this version its text; for a user's own note that user."""
    changed_by: str | None = None
    """Who last said it again, changed it or brought it back, if that was not its author."""
    updated_at: datetime
    """When it was last said or changed."""
    valid_from: datetime
    """Since when it holds."""
    valid_until: datetime | None = None
    """When it was superseded, or will be over; `None` while it holds."""
    own_end: datetime | None = None
    """When a version that was superseded would have been over by itself."""
    superseded_by: str | None = None
    """The id of the note that took its place."""
    sources: tuple[str, ...] = ()
    """Ids of the messages that it comes from; of a lesson, ids of episodes."""
    quote: str = ""
    """The words of a message that it rests on."""
    said_by: Speaker = "user"
    """Whose words they are."""
    reason: str = ""
    """Why it is as it is: "said before", "a new value for 'home city'", ..."""
    revision: int = 0
    """Counts the changes that left the text of this version as it was."""
    replaced: tuple[Mapping[str, Any], ...] = ()
    """What the last of those changes replaced, each with its `change` id and its `action`, so that
    they can be undone; the latest last."""
    restores: int | None = None
    """The older version that this one brought back, where a change was undone."""

    @property
    def change_id(self) -> str:
        """The id of the change that made the note what it is."""
        version = f"{self.id.partition('@')[0]}@{self.version}"
        return f"{version}.{self.revision}" if self.revision else version

    def is_over(self, at: datetime) -> bool:
        """Whether the note holds no longer at a moment."""
        return self.valid_until is not None and self.valid_until <= at

    def to_value(self) -> dict[str, Any]:
        """Return the note as a JSON dict, with the digests by which others like it are found.

        Its aliases are embedded together with the text, as a second text: alone they are so short
        that they come near to any question (docs/writing.md), and in the one text they would
        dilute it.
        """
        text = self.text if self.slot is None else f"{self.slot}: {self.text}"
        return {
            **_Stored.to_value(self),
            "search_text": text,
            "search_aliases": "\n".join((text, *self.aliases)) if self.aliases else None,
            "text_digest": text_digest(self.kind, self.text),
            "slot_digest": None if self.slot is None else slot_digest(self.slot),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(_Stored):
    """One message as it was said: the evidence behind the notes."""

    type: ClassVar[RecordType] = "message"

    text: str
    speaker: str
    """The message's name, else its role."""
    role: Speaker
    thread_id: str
    message_id: str
    """The message's own id in its thread."""
    position: int
    """Its place among the messages it was logged with; orders those of one moment."""
    edited_at: datetime | None = None
    """When its text was last replaced by another."""

    @classmethod
    def id_of(cls, thread_id: str, message_id: str) -> str:
        """Return the id of a message: it is one record, however often it is logged.

        A message whose own id nobody else has (`GLOBAL_ID`) is one in all threads of a user: a
        thread that was forked from another holds it as well.
        """
        if len(message_id) >= GLOBAL_ID:
            return record_id("message", message_id)
        return cls.id_in(thread_id, message_id)

    @staticmethod
    def id_in(thread_id: str, message_id: str) -> str:
        """Return the id of what a message says in one thread, if it says that there alone."""
        return record_id("message", thread_id, message_id)

    def to_value(self) -> dict[str, Any]:
        """Return the message as a JSON dict, with the text that is embedded.

        Who said it, and when, is not in it: that is compared by itself.
        """
        return {**_Stored.to_value(self), "search_text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(_Stored):
    """The record of one finished task."""

    type: ClassVar[RecordType] = "episode"

    task: str
    """What was to be done."""
    approach: str = ""
    """How it was done, such as the tools that were called."""
    outcome: Outcome = "completed"
    duration_ms: int | None = None
    token_cost: int | None = None
    """Tokens that the models reported."""
    quality_score: float | None = None
    """0 to 1; `None` until somebody judges it."""
    notes: str = ""
    error: str | None = None
    """What went wrong: the last line of a traceback."""
    thread_id: str | None = None
    lessons: tuple[str, ...] = ()
    """Ids of the notes that were drawn from it."""
    reflected_at: datetime | None = None
    """When it was last looked at for lessons; `None` while that is still to be done."""

    @staticmethod
    def id_of(thread_id: str | None, turn_id: str) -> str:
        """Return the id of a turn's episode: a turn has one, however often it is logged."""
        return record_id("episode", thread_id or "", turn_id)

    @property
    def text(self) -> str:
        """The episode as it is shown."""
        parts = {
            "Task": self.task,
            "Approach": self.approach,
            "Outcome": f"{self.outcome}: {self.error}" if self.error else self.outcome,
            "Notes": self.notes,
        }
        return "\n".join(f"{name}: {part}" for name, part in parts.items() if part)

    def to_value(self) -> dict[str, Any]:
        """Return the episode as a JSON dict, with the text that is embedded beside its task.

        Neither headings nor the outcome are in it: they make all episodes alike.
        """
        told = (self.task, self.approach, self.notes, self.error)
        return {**_Stored.to_value(self), "search_text": "\n".join(filter(None, told))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(_Stored):
    """That some messages were looked through for notes: what no such record names is still to do.

    Of episodes that were looked at for lessons there is one too, without a thread. It is written
    with its notes, in one batch, and holds nothing that was said. Another, also without a thread,
    names the groups of notes that a model was asked to merge.
    """

    type: ClassVar[RecordType] = "extraction"

    thread_id: str
    messages: tuple[str, ...]
    """Ids of the messages, or of the episodes; digests of the groups."""
    notes: tuple[str, ...] = ()
    """Ids of the notes that were added or changed."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """`calls` of models, and the tokens that they reported."""
    problems: tuple[str, ...] = ()
    """What was wrong with the model's answer, and why candidates were left out."""

    @staticmethod
    def id_of(thread_id: str, messages: Iterable[str]) -> str:
        """Return the id of an extraction: the same messages meet in one record."""
        return record_id("extraction", thread_id, *messages)

    @property
    def text(self) -> str:
        """What was wrong."""
        return "\n".join(self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(_Stored):
    """A text that somebody gave to know, and which of its editions holds.

    Chunks of other editions are not there for any verb: so a text is replaced in one step, by the
    write of this record, however many chunks it has.
    """

    type: ClassVar[RecordType] = "source"

    source: str
    """Its name: a path, a URL, a title."""
    edition: str
    """A digest of the text and of how it was split."""
    chunks: int
    """How many documents it was split into."""
    author: str = ""
    """The user who added it."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON values of the caller's own."""

    @staticmethod
    def id_of(source: str) -> str:
        """Return the id of a source: an owner has one of each name."""
        return record_id("source", source)

    @property
    def text(self) -> str:
        """Its name."""
        return self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(_Stored):
    """A chunk of a text that somebody gave to know."""

    type: ClassVar[RecordType] = "document"

    text: str
    source: str
    """The name of what it is a part of."""
    edition: str
    """The edition of the source that it belongs to."""
    position: int
    """Its place among the chunks of the source, from 0."""
    start: int
    """Characters of the source's text before it; of the text without secrets, where there were."""
    heading: str = ""
    """The headings that it stands under, outermost first: "Returns > Damaged goods"."""
    author: str = ""
    """The user who added it."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON values of the caller's own."""

    @staticmethod
    def id_of(source: str, edition: str, position: int) -> str:
        """Return the id of a chunk; it begins with its source's."""
        return f"{Source.id_of(source)}-{edition}-{position}"

    def to_value(self) -> dict[str, Any]:
        """Return the chunk as a JSON dict, with what is embedded: it names source and headings."""
        name = PurePosixPath(self.source).stem or self.source
        search_text = "\n".join(filter(None, (name, self.heading, self.text)))
        return {**_Stored.to_value(self), "search_text": search_text}


Record = Note | Message | Episode | Document | Source | Extraction
"""Whatever a memory holds."""
RECORD_CLASSES: dict[RecordType, type[Record]] = {
    "note": Note,
    "message": Message,
    "episode": Episode,
    "document": Document,
    "source": Source,
    "extraction": Extraction,
}


_MONTHS = (
    "January February March April May June July August September October November December"
).split()


def long_date(moment: datetime) -> str:
    """Return a date as people write it, so that "in May" finds it.

    Example:
        >>> from datetime import UTC
        >>> long_date(datetime(2026, 5, 2, tzinfo=UTC))
        '2 May 2026'
    """
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def record_id(type: RecordType, *content: str | int) -> str:
    """Return the id of a record that its content names: the same content meets in one row.

    Example:
        >>> record_id("message", "monday", "m-1") == record_id("message", "monday", "m-1")
        True
    """
    address = json.dumps([type, *content]).encode()
    return hashlib.blake2b(address, digest_size=12).hexdigest()


def normalise(text: str) -> str:
    """Return a text as duplicates are compared: white space, case and width folded."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.split()).casefold()


def text_digest(kind: str, text: str) -> str:
    """Return by what notes of the same kind and text are found."""
    return record_id("note", "text", kind, normalise(text))


def slot_digest(slot: str) -> str:
    """Return by what the note of a slot is found."""
    return record_id("note", "slot", normalise(slot))


CRITICAL = 0.8
"""The importance from which on a note never fades, never gives way to one that says the same, and
is never put away for want of room."""


def is_kept_anyway(note: Note) -> bool:
    """Whether a note is pinned or critical: it is put away only when it is over."""
    return note.pinned or note.importance >= CRITICAL
