"""Records to operations of a store, and a store's answers to records.

A store with `supports_hybrid` gives the newest items of exactly one namespace; of any other
LangGraph store all items under it are asked for, and those of other namespaces are passed over: a
store may take a namespace for a prefix of another, or a label for a pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import GetOp, PutOp, SearchOp

from langgraph_memory.errors import ConfigurationError, RecordNotFoundError, StoreError
from langgraph_memory.reconcile import candidate_ids, kept_version
from langgraph_memory.records import (
    RECORD_CLASSES,
    Change,
    Note,
    Receipt,
    Record,
    slot_digest,
    text_digest,
)
from langgraph_memory.scope import ROOT, Owner, encode_label, owner_of
from langgraph_memory.store.ops import NewestOp

CHUNK = 1_000
"""Records written or deleted in one call, where they need not land together."""

ALL = 1_000_000
"""More items than one namespace holds."""

Namespace = tuple[str, ...]


def get_op(record: Record) -> GetOp:
    """Return the operation that looks a record up."""
    return GetOp(record.owner.namespace(record.type), record.id)


def put_op(record: Record) -> PutOp:
    """Return the operation that writes a record."""
    namespace = record.owner.namespace(record.type)
    return PutOp(namespace, record.id, record.to_value(), index=["search_text"])


def delete_op(record: Record) -> PutOp:
    """Return the operation that deletes a record."""
    return PutOp(record.owner.namespace(record.type), record.id, None)


def chunks(ops: Sequence[PutOp]) -> Iterable[Sequence[PutOp]]:
    """Return operations in pieces of `CHUNK`."""
    return (ops[start : start + CHUNK] for start in range(0, len(ops), CHUNK))


def newest_op(
    namespace: Namespace, filter: dict[str, Any] | None, limit: int, hybrid: bool
) -> NewestOp | SearchOp:
    """Return the operation that brings the newest items of a namespace, or all if it must."""
    if hybrid:
        return NewestOp(namespace, filter, limit)
    return SearchOp(namespace, filter=filter, limit=ALL)


def all_ops(namespaces: Sequence[Namespace], hybrid: bool) -> list[Any]:
    """Return the operations that bring all items of some namespaces."""
    return [newest_op(namespace, None, ALL, hybrid) for namespace in namespaces]


def read_record(item: Any) -> Record | None:
    """Return the record that an item holds, or `None` if it is none of ours."""
    owned = owner_of(tuple(item.namespace))
    if owned is None or owned[1] not in RECORD_CLASSES:
        return None
    owner, type = owned
    return RECORD_CLASSES[type].from_value(owner, item.key, item.value)


def read_records(namespaces: Sequence[Namespace], results: Sequence[Any]) -> list[Record]:
    """Return the records among the items that lie in exactly the namespaces asked for."""
    return [
        record
        for namespace, items in zip(namespaces, results, strict=True)
        for item in items
        if tuple(item.namespace) == namespace and (record := read_record(item)) is not None
    ]


# -- notes --


def neighbour_ops(candidate: Note, hybrid: bool) -> list[Any]:
    """Return what has to be read before a note can be remembered."""
    namespace = candidate.owner.namespace("note")
    digests = {"text_digest": text_digest(candidate.kind, candidate.text)}
    if candidate.slot is not None:
        digests["slot_digest"] = slot_digest(candidate.slot)
    return [
        *(GetOp(namespace, id) for id in candidate_ids(candidate)),
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
    records = read_records([namespace] * len(lists), lists)
    return [record for record in records if isinstance(record, Note)], taken


def edit_ops(owner: Owner, id: str, changes: Mapping[str, Any], hybrid: bool) -> list[Any]:
    """Return what has to be read before a note can be edited."""
    namespace = owner.namespace("note")
    ops: list[Any] = [GetOp(namespace, id)]
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
        raise RecordNotFoundError(f"the user has no active note with the id {id!r}")
    return record


def refuse_duplicate(change: Change, found: Sequence[Any]) -> None:
    """Refuse an edit that would make two notes of one.

    Raises:
        ConfigurationError: If another active note has the kind and text already.
    """
    new = change.record
    assert isinstance(new, Note)
    digest = text_digest(new.kind, new.text)
    for item in (item for items in found[1:] for item in items):
        if item.key != new.id and item.value.get("text_digest") == digest:
            raise ConfigurationError(f"the note {item.key!r} says this already: {new.text!r}")


def change_ops(changes: Sequence[Change]) -> list[PutOp]:
    """Return the operations that apply changes, as one batch."""
    ops = []
    for change in changes:
        ops.append(put_op(change.record))
        old = change.previous
        if change.action == "supersede" and isinstance(old, Note):
            assert isinstance(change.record, Note)
            ops.append(put_op(kept_version(old, change.record)))
    return ops


# -- everything of an owner --


def everything_op(owner: Owner) -> SearchOp:
    """Return the operation that brings a page of all that an owner has, of whatever type."""
    return SearchOp(_root(owner), limit=CHUNK)


class Erasure:
    """The deletion of all that an owner has, page by page."""

    def __init__(self, owner: Owner) -> None:
        self._root = _root(owner)
        self._deleted: dict[tuple[Namespace, str], None] = {}

    def delete_ops(self, page: Any) -> list[PutOp]:
        """Return the operations that delete a page of items; none when there is nothing left.

        Raises:
            StoreError: If the store still holds what it was told to delete.
        """
        addresses = [(tuple(item.namespace), item.key) for item in page]
        mine = [a for a in addresses if a[0][: len(self._root)] == self._root]
        if any(address in self._deleted for address in mine):
            raise StoreError("the store still holds what it was told to delete")
        self._deleted |= dict.fromkeys(mine)
        return [PutOp(namespace, key, None) for namespace, key in mine]

    @property
    def receipt(self) -> Receipt:
        """What was deleted."""
        counts: dict[str, int] = {}
        for namespace, _ in self._deleted:
            counts[namespace[-1]] = counts.get(namespace[-1], 0) + 1
        return Receipt(tuple(key for _, key in self._deleted), counts)


def _root(owner: Owner) -> Namespace:
    return (ROOT, owner.kind, encode_label(owner.id))
