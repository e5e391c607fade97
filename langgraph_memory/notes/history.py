"""What became of a note, and taking it back: decisions over all notes of one owner. Pure.

A note is `id`, its older versions are `id@1`, `id@2`, ... Nothing is taken out of this chain: what
is undone or restored goes on it as a new version, so the past stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from langgraph_memory.errors import ConfigurationError, RecordNotFoundError
from langgraph_memory.notes.reconciliation import reconciled, recorded, retired
from langgraph_memory.records import Change, Note, check_record_id

Decision = Callable[[Sequence[Note], datetime], list[Change]]
"""From all notes of an owner, and the present moment, to what is to be changed."""

_CHANGE_ID = re.compile(r"([^@]+)@(\d+)(?:\.\d+)?")


def history_of(id: str, notes: Sequence[Note]) -> list[Note]:
    """Return all versions of a note, oldest first; none if there is no such note."""
    whole = _whole_id(check_record_id(id))
    return sorted((note for note in notes if _whole_id(note.id) == whole), key=_version)


def facts(notes: Sequence[Note], now: datetime) -> dict[str, str]:
    """Return what active notes say for their slots, those that are known longest first."""
    holding = [note for note in notes if _is_active(note) and not note.is_over(now)]
    known = sorted(holding, key=lambda note: (note.created_at, note.updated_at))
    return {note.slot: note.text for note in known if note.slot is not None}


def restored(id: str, notes: Sequence[Note], now: datetime) -> list[Change]:
    """Decide how a version becomes active again: as a new version of its note.

    Raises:
        RecordNotFoundError: If there is no such version.
        ConfigurationError: If it is active, waits for approval, or another note took its place.
    """
    rows = _rows(notes)
    old, current = rows.get(check_record_id(id)), rows.get(_whole_id(id))
    if current is not None and id == f"{current.id}@{current.version}":
        old = current
    if old is None or current is None:
        raise RecordNotFoundError(f"the user has no note, and no version of one, {id!r}")
    if current.status == "proposed":
        raise ConfigurationError(f"the note {id!r} is proposed: approve it, or reject it")
    if old is current and old.status == "active":
        raise ConfigurationError(f"{id!r} is active already; an older version is such as 'a1b2@1'")
    new = _next_version(old, current, now)
    new = replace(
        new,
        valid_until=None if new.is_over(now) else new.valid_until,  # it is wanted now
        pinned=old.pinned or current.pinned,
        reason=f"version {old.version} restored",
    )
    return [Change("restore", new, current, new.reason), *_giving_way(new, notes, now)]


def undone(change_id: str, notes: Sequence[Note], now: datetime) -> list[Change]:
    """Decide how what a change did is taken back.

    What made a version is undone as long as the note is in that version, or was brought back to it
    by undoing what came after. What left the text alone is undone the latest first.

    Returns:
        The changes; the first is about the note whose change it was.

    Raises:
        RecordNotFoundError: If there is no such note, or the version to go back to was forgotten.
        ConfigurationError: If the change was undone, something else was changed since, or another
            note took the place of what would come back.
    """
    id, version = _parse(change_id)
    rows = _rows(notes)
    current = rows.get(id)
    if current is None:
        raise RecordNotFoundError(f"the user has no note with the id {id!r}")
    gave_way = _retired_by(change_id, notes)
    if current.replaced and current.replaced[-1]["change"] == change_id:
        return [change for note in (current, *gave_way) for change in _taken_back(note, notes, now)]
    made_a_version = change_id == f"{id}@{version}" and version in _in_effect(current, rows)
    if not made_a_version or _had_ended(current):
        raise ConfigurationError(_not_undoable(change_id, current))
    before = rows.get(f"{id}@{version - 1}")
    if version > 1 and before is None:
        raise RecordNotFoundError(f"the version before {change_id!r} was forgotten")
    changes = _gone_back(current, before, notes, now)
    return [*changes, *(change for note in gave_way for change in _taken_back(note, notes, now))]


def approved(id: str, notes: Sequence[Note], now: datetime) -> list[Change]:
    """Decide what becomes of a proposed note that somebody approves: what `remember` would do.

    Where it adds nothing but a mention, or takes a slot over, the proposal itself is archived.

    Raises:
        RecordNotFoundError: If there is no proposed note with this id.
    """
    proposal = _proposal(id, notes)
    candidate = replace(
        proposal, status="active", valid_from=max(proposal.valid_from, now), updated_at=now
    )
    first, *others = reconciled(candidate, list(filter(_is_active, notes)), ())
    if first.action != "add":
        settled = replace(proposal, superseded_by=first.record.id)
        return [first, *others, archived(settled, now, "approved", proposal)]
    return [recorded(Change("add", candidate, proposal, "approved"))]


def rejected(id: str, notes: Sequence[Note], now: datetime) -> list[Change]:
    """Decide what becomes of a proposed note that somebody rejects: it is archived.

    Raises:
        RecordNotFoundError: If there is no proposed note with this id.
    """
    return [archived(_proposal(id, notes), now, "rejected")]


def archived(note: Note, now: datetime, reason: str, previous: Note | None = None) -> Change:
    """Put a note away; one that was only proposed has held at no time.

    Args:
        note: The note.
        now: The moment until which it held.
        reason: Why.
        previous: The note as it lies in the store, if `note` differs from it.
    """
    end = note.valid_from if note.status == "proposed" else now
    if note.valid_until is not None:
        end = min(note.valid_until, end)
    away = replace(note, status="archived", valid_until=end, updated_at=now)
    return recorded(Change("archive", away, previous or note, reason))


def taken_apart(notes: Sequence[Note]) -> dict[str, set[str]]:
    """Return the changes that made one of several notes and were taken back, by the notes' ids.

    Notes that share such a change are apart by somebody's will, until the one that came back gets
    another text.
    """
    rows = _rows(notes)
    found: dict[str, set[str]] = {}
    for note in filter(_is_active, notes):
        before = rows.get(f"{note.id}@{note.version - 1}")
        last = before.replaced[-1] if before is not None and before.replaced else {}
        if last.get("action") == "retire" and last["by"] is not None:
            for id in (note.id, _whole_id(last["by"])):
                found.setdefault(id, set()).add(last["by"])
    return found


# -- parts of the above --


def _rows(notes: Sequence[Note]) -> dict[str, Note]:
    return {note.id: note for note in notes}


def _whole_id(id: str) -> str:
    return id.partition("@")[0]


def _version(note: Note) -> int:
    return note.version


def _is_active(note: Note) -> bool:
    return note.status == "active"


def _parse(change_id: str) -> tuple[str, int]:
    match = _CHANGE_ID.fullmatch(change_id) if isinstance(change_id, str) else None
    if match is None:
        got = repr(change_id) if isinstance(change_id, str) else f"a {type(change_id).__name__}"
        raise ConfigurationError(
            f"undo takes the id of a change of a note, such as 'a1b2@2' (Change.id), got {got}; "
            "a rating is no such change: rate the episode again"
        )
    return match[1], int(match[2])


def _proposal(id: str, notes: Sequence[Note]) -> Note:
    note = _rows(notes).get(check_record_id(id))
    if note is None or note.status != "proposed":
        raise RecordNotFoundError(f"the user has no proposed note with the id {id!r}")
    return note


def _next_version(old: Note, current: Note, now: datetime) -> Note:
    """Return what an older version said, as the next version of its note."""
    return replace(
        old,
        id=current.id,
        version=current.version + 1,
        status="proposed" if current.status == "proposed" else "active",
        updated_at=now,
        valid_from=now,
        valid_until=old.own_end,
        own_end=None,
        superseded_by=None,
        revision=0,
        replaced=(),
        restores=None,
    )


def _in_effect(current: Note, rows: Mapping[str, Note]) -> Iterator[int]:
    """Yield the version that a note is in, and those that undoing brought it back to."""
    note: Note | None = current
    while note is not None:
        yield note.version
        note = None if note.restores is None else rows.get(f"{current.id}@{note.restores}")


def _had_ended(version: Note) -> bool:
    """Whether a version was put away before the next one was made."""
    return bool(version.replaced) and version.replaced[-1]["action"] in ("archive", "retire")


def _taken_back(note: Note, notes: Sequence[Note], now: datetime) -> list[Change]:
    """Undo the latest change that left a note's text alone."""
    last = note.replaced[-1]
    if last["action"] == "add":  # it was approved
        return [archived(note, now, "undone")]
    old = Note.from_value(note.owner, note.id, {**note.to_value(), **last})
    old = replace(old, replaced=note.replaced[:-1], updated_at=now, reason="undone")
    if last.get("status") != "active":
        return [Change("update", replace(old, revision=note.revision + 1), note, "undone")]
    new = replace(
        _next_version(old, note, now),
        valid_until=old.valid_until,
        replaced=old.replaced,
        restores=note.version,
    )
    gone = _giving_way(new, notes, now, note.superseded_by)
    return [Change("restore", new, note, "undone"), *gone]


def _gone_back(
    current: Note, before: Note | None, notes: Sequence[Note], now: datetime
) -> list[Change]:
    """Return to the version before; where there was none, or it had ended, to no active one."""
    if before is None or _had_ended(before):
        return [archived(current, now, "undone")]
    new = replace(
        _next_version(before, current, now),
        replaced=before.replaced,
        restores=before.version,
        reason="undone",
    )
    return [Change("restore", new, current, "undone"), *_giving_way(new, notes, now)]


def _retired_by(change_id: str, notes: Sequence[Note]) -> list[Note]:
    """Return the notes that gave way to what a change made."""
    whole = [note for note in notes if "@" not in note.id and _had_ended(note)]
    return [note for note in whole if note.replaced[-1]["by"] == change_id]


def _giving_way(
    new: Note, notes: Sequence[Note], now: datetime, successor: str | None = None
) -> list[Change]:
    """Decide what becomes of an active note that says what comes back.

    One without a slot gives way to one with, as where a note is remembered. The successor into
    whose slot the text moved may say the same.

    Raises:
        ConfigurationError: If another note has the slot by now, or says this of another.
    """
    if not _is_active(new):
        return []
    others = [note for note in notes if _is_active(note) and note.id not in (new.id, successor)]
    rival = reconciled(new, others, ())[0].previous
    if isinstance(rival, Note) and rival.slot is None and new.slot is not None:
        return [retired(rival, new, now)]
    if rival is not None:
        raise ConfigurationError(
            f"{new.text!r} cannot come back beside the note {rival.id!r}, which took its place "
            "since: undo, edit or forget that one first"
        )
    return []


def _not_undoable(change_id: str, current: Note) -> str:
    latest = f"{current.id}@{current.version}"
    latest = current.replaced[-1]["change"] if current.replaced else latest
    return (
        f"{change_id!r} cannot be undone: it was already, or the note was changed since. "
        f"The change to undo first is {latest!r}; restore brings any older version back"
    )
