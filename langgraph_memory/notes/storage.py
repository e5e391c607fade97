"""Notes and the operations of a store that read and write them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.store.base import PutOp

from langgraph_memory.errors import ConfigurationError, RecordNotFoundError
from langgraph_memory.notes.reconciliation import candidate_ids, kept_version
from langgraph_memory.records import Change, Note, Owner, check_record_id, slot_digest, text_digest
from langgraph_memory.store import (
    ALL,
    NewestOp,
    get_op,
    put_op,
    read_notes,
    read_record,
)


def neighbour_ops(candidate: Note) -> dict[str, Any]:
    """Return what has to be read before a note can be remembered, by what it is."""
    namespace = candidate.owner.namespace("note")
    digests = {"text_digest": text_digest(candidate.kind, candidate.text)}
    if candidate.slot is not None:
        digests["slot_digest"] = slot_digest(candidate.slot)
    return {id: get_op(namespace, id) for id in candidate_ids(candidate)} | {
        name: NewestOp(namespace, {name: digest, "status": "active"}, ALL)
        for name, digest in digests.items()
    }


def neighbours(candidate: Note, found: Mapping[str, Any]) -> tuple[list[Note], set[str]]:
    """Return the notes that `neighbour_ops` found, and which of the candidate's ids are taken."""
    taken = {id for id in candidate_ids(candidate) if found[id] is not None}
    lists = [found[name] for name in ("text_digest", "slot_digest") if name in found]
    namespace = candidate.owner.namespace("note")
    return read_notes([namespace] * len(lists), lists), taken


def edit_ops(owner: Owner, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has to be read before a note can be edited, by what it is."""
    namespace = owner.namespace("note")
    ops: dict[str, Any] = {"note": get_op(namespace, check_record_id(id))}
    if "text" in changes or "kind" in changes:
        ops["active"] = NewestOp(namespace, {"status": "active"}, ALL)
    return ops


def edited_note(id: str, found: Mapping[str, Any]) -> Note:
    """Return the note that `edit_ops` found.

    Raises:
        RecordNotFoundError: If there is no active note with this id.
    """
    record = None if found["note"] is None else read_record(found["note"])
    if not isinstance(record, Note) or record.status != "active":
        raise RecordNotFoundError(
            f"there is no active note with the id {id!r} here; one of a project or an agent is "
            "found with project= or agent=, and other types of records are not edited"
        )
    return record


def refuse_duplicate(change: Change, found: Mapping[str, Any]) -> None:
    """Refuse an edit that would make two notes of one.

    Raises:
        ConfigurationError: If another active note has the kind and text already.
    """
    new = change.record
    digest = text_digest(new.kind, new.text)
    for other in read_notes([new.owner.namespace("note")], [found.get("active", ())]):
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
