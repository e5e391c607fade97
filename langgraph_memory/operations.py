"""Records to operations of a store, and a store's answers to records.

A store with `supports_hybrid` gives the newest items of exactly one namespace; of any other
LangGraph store all items under it are asked for, and those of other namespaces are passed over: a
store may take a namespace for a prefix of another, or a label for a pattern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Literal, cast

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langgraph_memory.clock import as_utc
from langgraph_memory.errors import ConfigurationError, RecordNotFoundError, StoreError
from langgraph_memory.reconcile import candidate_ids, kept_version
from langgraph_memory.records import (
    RECORD_CLASSES,
    Change,
    Episode,
    Message,
    Note,
    Receipt,
    Record,
    slot_digest,
    text_digest,
)
from langgraph_memory.scope import ROOT, Owner, check_record_id, encode_label, owner_of
from langgraph_memory.sound import flaw_in, tell_once
from langgraph_memory.store.ops import NewestOp
from langgraph_memory.store.rows import Namespace, StoredItem, part_of

FIELDS = frozenset(f.name for cls in RECORD_CLASSES.values() for f in fields(cls))

CHUNK = 1_000
"""Records written or deleted in one call, where they need not land together."""

ALL = 1_000_000
"""More items than one namespace holds."""

_ON_REQUEST = {"on_request": True}  # in the mark of a message that somebody wanted deleted

_EDITS = "edits"  # the key of their latest one; no id of a record

_MOST_DELETIONS = 5  # of one item: a document that is being added may write it again


def get_op(namespace: Namespace, id: str) -> GetOp:
    """Return the operation that reads an item, which does not live longer for it."""
    return GetOp(namespace, id, refresh_ttl=False)


def put_op(record: Record, ttl: float | None = None) -> PutOp:
    """Return the operation that writes a record, for good or for some minutes."""
    namespace, value = record.owner.namespace(record.type), record.to_value()
    unsearched = record.type in ("source", "extraction")
    index: Literal[False] | list[str] = False if unsearched else ["search_text"]
    if isinstance(record, Episode) and record.task != value["search_text"]:
        index = ["search_text", "task"]  # what was asked is found also where much was done
    if isinstance(record, Note) and record.aliases:
        index = ["search_text", "search_aliases"]
    return PutOp(namespace, record.id, value, index, ttl)


def forget_ops(records: Sequence[Record]) -> list[PutOp]:
    """Return the operations that delete records.

    Of messages, digests of their ids stay, so that they are not logged and processed again.
    """
    return [
        op for record in records for op in _forget(record.owner.namespace(record.type), record.id)
    ]


def _forget(namespace: Namespace, key: str) -> list[PutOp]:
    deletion = PutOp(namespace, key, None)
    mark = PutOp(forgotten(namespace), key, _ON_REQUEST, index=False)
    return [deletion, mark] if namespace[-1] == "message" else [deletion]


def mark_op(message: Message) -> PutOp:
    """Return the operation that keeps a digest of a message's id, whatever becomes of the message.

    A session may hold the message still: without the mark, its next turn would log it again.
    """
    return PutOp(forgotten(message.owner.namespace(message.type)), message.id, {}, index=False)


def retire_ops(messages: Sequence[Message]) -> list[PutOp]:
    """Return the operations that delete messages which have served, unasked."""
    gone = [PutOp(m.owner.namespace(m.type), m.id, None) for m in messages]
    return [*gone, *map(mark_op, messages)]


def message_ids(thread_id: str, message_id: str) -> list[str]:
    """Return the ids that the record of a message may have."""
    ids = (Message.id_in(thread_id, message_id), Message.id_of(thread_id, message_id))
    return list(dict.fromkeys(ids))


def mark_read_ops(owner: Owner, ids: Sequence[str]) -> list[GetOp]:
    """Return the operations that read the marks which some messages may have."""
    return [get_op(forgotten(owner.namespace("message")), id) for id in ids]


def on_request(marks: Sequence[Any]) -> bool:
    """Whether somebody wanted a message to be forgotten, as its marks say."""
    return any(mark is not None and mark.value == _ON_REQUEST for mark in marks)


def forgotten(namespace: Namespace) -> Namespace:
    """Return where the ids of an owner's deleted messages are kept, and nothing else of them.

    Beside them lies a name for the latest edit of a message, if there was one.
    """
    return (*namespace, "forgotten")


def edits_read_op(owner: Owner) -> GetOp:
    """Return the operation that reads the name of the latest edit of an owner's messages."""
    return get_op(forgotten(owner.namespace("message")), _EDITS)


def edits_in(found: Any) -> str | None:
    """Return the name of the latest edit; `None` if there was none."""
    return None if found is None else str(found.value.get("name"))


def edit_op(owner: Owner, name: str) -> PutOp:
    """Return the operation that names an edit of an owner's messages, so that others notice it."""
    return PutOp(forgotten(owner.namespace("message")), _EDITS, {"name": name}, index=False)


def batches(ops: Sequence[PutOp], hybrid: bool) -> Iterator[Sequence[PutOp]]:
    """Return operations in batches of `CHUNK` at most.

    LangGraph's `InMemoryStore` refuses a batch in which two texts are equal: for stores that are
    not ours such a batch is split.
    """
    batch: list[PutOp] = []
    texts: set[str] = set()
    for op in ops:
        own = set() if hybrid else _embedded(op)
        if len(batch) == CHUNK or texts & own:
            yield batch
            batch, texts = [], set()
        batch.append(op)
        texts |= own
    if batch:
        yield batch


def _embedded(op: PutOp) -> set[str]:
    return {op.value[field] for field in op.index or ()} if op.value is not None else set()


def value_filter(filter: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter on records as one on their values.

    A key that some record has as a field is that field, also where a path leads into it
    ("metadata.project"); any other is one of a note's metadata.
    A moment is compared as it is stored: as text, in UTC.

    Raises:
        ConfigurationError: If a filter names metadata in both ways, or a moment without a zone.
    """
    filter = _stored(filter)
    own = {key: each for key, each in filter.items() if key.partition(".")[0] in FIELDS}
    metadata = {key: each for key, each in filter.items() if key not in own}
    if metadata and "metadata" in own:
        raise ConfigurationError(
            f"filter= names metadata twice: put {', '.join(map(repr, metadata))} into 'metadata'"
        )
    return {**own, "metadata": metadata} if metadata else own


def _stored(condition: Any) -> Any:
    if isinstance(condition, datetime):
        return as_utc(condition, "filter=").isoformat()
    if isinstance(condition, Mapping):
        return {key: _stored(inner) for key, inner in condition.items()}
    return condition


def newest_op(
    namespace: Namespace,
    filter: dict[str, Any] | None,
    limit: int,
    hybrid: bool,
    by: str | None = None,
) -> NewestOp | SearchOp:
    """Return the operation that brings the newest items of a namespace, or all if it must."""
    if hybrid:
        return NewestOp(namespace, filter, limit, by)
    return SearchOp(namespace, filter=filter, limit=ALL, refresh_ttl=False)


def all_ops(namespaces: Sequence[Namespace], hybrid: bool) -> list[Any]:
    """Return the operations that bring all items of some namespaces."""
    return [newest_op(namespace, None, ALL, hybrid) for namespace in namespaces]


def read_record(item: Any) -> Record | None:
    """Return the record that an item holds, or `None` if it is none of ours.

    What is there and cannot be read is told of once. A store's own item remembers its record: a
    recall reads a hundred, and mostly the same ones.
    """
    read = item.read if isinstance(item, StoredItem) else []
    if read:
        return cast(Record, read[0])
    owned = owner_of(tuple(item.namespace))
    if owned is None or not is_sound(item):
        return None
    owner, type = owned
    record = RECORD_CLASSES[type].from_value(owner, item.key, item.value)
    if not (item.value.get("metadata") or item.value.get("replaced")):  # which a caller may change
        read.append(record)
    return record


def is_sound(item: Any) -> bool:
    """Whether an item holds a readable record, if it lies where records do; it is told of else."""
    if isinstance(item, StoredItem):
        return True  # our own operations bring no others
    wrong = flaw_in(tuple(item.namespace), item.value)
    if wrong is not None:
        tell_once(part_of(item.namespace), item.key, wrong)
    return wrong is None


def sound_or_none(item: Any) -> Any:
    """Return what a store gave for an id, or `None` if that is nothing, or no readable record."""
    return item if item is not None and is_sound(item) else None


def lying_in(namespace: Namespace, items: Iterable[Any]) -> list[Any]:
    """Return the items that lie in exactly a namespace and hold a readable record."""
    return [item for item in items if tuple(item.namespace) == namespace and is_sound(item)]


def read_records(namespaces: Sequence[Namespace], results: Sequence[Any]) -> list[Record]:
    """Return the records among the items that lie in exactly the namespaces asked for."""
    return [
        record
        for namespace, items in zip(namespaces, results, strict=True)
        for item in items
        if tuple(item.namespace) == namespace and (record := read_record(item)) is not None
    ]


# -- notes --


def read_notes(namespaces: Sequence[Namespace], results: Sequence[Any]) -> list[Note]:
    """Return the notes among the items that lie in exactly the namespaces asked for."""
    records = read_records(namespaces, results)
    return [record for record in records if isinstance(record, Note)]


OWNERS = ListNamespacesOp((MatchCondition("prefix", (ROOT,)),), limit=ALL)
"""Brings the namespaces among which `owners_of` finds those of what is kept in order."""


def owners_of(listed: Any) -> list[Owner]:
    """Return who has notes or documents, of namespaces that a store listed; each once, in order."""
    found = [(owner_of(namespace), namespace) for namespace in map(tuple, listed)]
    own = {
        owner
        for owned, namespace in found
        if owned is not None
        for owner, type in [owned]
        if type in ("note", "document") and owner.namespace(type) == namespace
    }
    return sorted(own, key=lambda owner: (owner.kind, owner.id))


def neighbour_ops(candidate: Note, hybrid: bool) -> list[Any]:
    """Return what has to be read before a note can be remembered."""
    namespace = candidate.owner.namespace("note")
    digests = {"text_digest": text_digest(candidate.kind, candidate.text)}
    if candidate.slot is not None:
        digests["slot_digest"] = slot_digest(candidate.slot)
    return [
        *(get_op(namespace, id) for id in candidate_ids(candidate)),
        *(
            newest_op(namespace, {name: digest, "status": "active"}, ALL, hybrid)
            for name, digest in digests.items()
        ),
    ]


def neighbours(candidate: Note, found: Sequence[Any]) -> tuple[list[Note], set[str]]:
    """Return the notes that `neighbour_ops` found, and which of the candidate's ids are taken."""
    ids = candidate_ids(candidate)
    taken = {id for id, item in zip(ids, found, strict=False) if item is not None}
    lists = found[len(ids) :]
    namespace = candidate.owner.namespace("note")
    return read_notes([namespace] * len(lists), lists), taken


def edit_ops(owner: Owner, id: str, changes: Mapping[str, Any], hybrid: bool) -> list[Any]:
    """Return what has to be read before a note can be edited."""
    namespace = owner.namespace("note")
    ops: list[Any] = [get_op(namespace, check_record_id(id))]
    if "text" in changes or "kind" in changes:
        ops.append(newest_op(namespace, {"status": "active"}, ALL, hybrid))
    return ops


def edited_note(id: str, found: Sequence[Any]) -> Note:
    """Return the note that `edit_ops` found.

    Raises:
        RecordNotFoundError: If there is no active note with this id.
    """
    record = None if found[0] is None else read_record(found[0])
    if not isinstance(record, Note) or record.status != "active":
        raise RecordNotFoundError(
            f"there is no active note with the id {id!r} here; one of a project or an agent is "
            "found with project= or agent=, and other types of records are not edited"
        )
    return record


def refuse_duplicate(change: Change, found: Sequence[Any]) -> None:
    """Refuse an edit that would make two notes of one.

    Raises:
        ConfigurationError: If another active note has the kind and text already.
    """
    new = change.record
    digest = text_digest(new.kind, new.text)
    for other in read_records([new.owner.namespace("note")] * len(found[1:]), found[1:]):
        assert isinstance(other, Note)
        if other.id != new.id and text_digest(other.kind, other.text) == digest:
            raise ConfigurationError(f"the note {other.id!r} says this already: {new.text!r}")


def change_ops(changes: Sequence[Change]) -> list[PutOp]:
    """Return the operations that apply changes, as one batch."""
    ops = []
    for change in changes:
        ops.append(put_op(change.record))
        old = change.previous
        if old is not None and change.record.version > old.version:
            ops.append(put_op(kept_version(old, change.record)))
    return ops


# -- everything of an owner --


class Deletion:
    """The deletion of all that an owner has, of whatever type.

    Args:
        owner: Whose records.
        whole: Whether the marks of what was forgotten go too, and none are made.
    """

    def __init__(self, owner: Owner, *, whole: bool = False) -> None:
        self._root = (ROOT, owner.kind, encode_label(owner.id))
        self._whole = whole
        self.namespaces: list[Namespace] = []
        """Those that were listed last."""
        self._deleted: Counter[tuple[Namespace, str]] = Counter()

    @property
    def list_op(self) -> ListNamespacesOp:
        """The operation that brings the owner's namespaces."""
        return ListNamespacesOp((MatchCondition("prefix", self._root),), limit=ALL)

    def read_ops(self, listed: Any) -> list[Any]:
        """Return the operations that bring all items of the namespaces that were listed."""
        # A store may take a label for a pattern, and list what is another owner's.
        own = [tuple(ns) for ns in listed if tuple(ns[: len(self._root)]) == self._root]
        self.namespaces = [ns for ns in own if self._whole or ns[-1] != forgotten(ns)[-1]]
        return all_ops(self.namespaces, hybrid=False)  # with unreadable items

    def items(self, results: Sequence[Any]) -> list[Any]:
        """Return the items among the store's answers that are the owner's."""
        return [
            item
            for namespace, items in zip(self.namespaces, results, strict=True)
            for item in items
            if tuple(item.namespace) == namespace
        ]

    def delete_ops(self, items: Sequence[Any]) -> list[PutOp]:
        """Return the operations that delete items; none when there is nothing left.

        Raises:
            StoreError: If the store still holds what it was told to delete.
        """
        addresses = [(tuple(item.namespace), item.key) for item in items]
        self._deleted.update(addresses)
        if any(self._deleted[address] > _MOST_DELETIONS for address in addresses):
            raise StoreError(
                "the store still holds what it was told to delete, or others keep writing it"
            )
        if self._whole:
            return [PutOp(namespace, key, None) for namespace, key in addresses]
        return [op for address in addresses for op in _forget(*address)]

    @property
    def receipt(self) -> Receipt:
        """What was deleted."""
        marks = [key for namespace, key in self._deleted if namespace[-1] == forgotten(())[-1]]
        records = [address for address in self._deleted if address[0][-1] != forgotten(())[-1]]
        counts = Counter(namespace[-1] for namespace, _ in records)
        if marks:
            counts["mark"] = len(marks)
        return Receipt(tuple(key for _, key in records), dict(counts))
