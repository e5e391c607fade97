"""What a new note, or a batch of them, does to those that are there: pure decisions."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from langgraph_memory.notes.similarity import (
    same_slot,
    same_text,
    same_words,
    says_the_same,
    slots_differ,
)
from langgraph_memory.records import (
    Change,
    Note,
    normalise,
    record_id,
    united,
)

UNDOABLE = 10
"""How many changes of one version can be undone, beside the one that made it."""

_BOOKKEEPING = {"updated_at", "revision", "replaced", "reason"}
_BOOKKEEPING |= {"search_text", "search_aliases", "slot_digest"}


def reconciled(
    candidate: Note, neighbours: Collection[Note], taken: Collection[str]
) -> list[Change]:
    """Decide what becomes of a note that is to be remembered.

    The same kind and text is one note, said again. A new text for a slot takes the slot's note
    over; the old text stays under `id@1`. Anything else is added.

    Args:
        candidate: The new note; its id is set here.
        neighbours: Active notes of the same owner with the same text or the same slot.
        taken: Ids that other notes of the owner have.

    Returns:
        The changes; the first is about the candidate itself.
    """
    twin = next((note for note in neighbours if same_text(note, candidate)), None)
    holder = next((note for note in neighbours if same_slot(note, candidate)), None)
    return decide(candidate, twin, holder, taken)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A note that is there, and how like a candidate it is."""

    note: Note
    cosine: float


Relation = Literal["same", "replaces"]
Verdicts = Mapping[tuple[int, str, int], Relation]
"""What a model said of a candidate (its place) and a note (its id and version)."""


def collapse(candidates: Iterable[Note]) -> list[Note]:
    """Return candidates of one batch, as they were said, without duplicates.

    The first keeps its text; the user's words go before the assistant's.
    """
    kept: list[Note] = []
    for candidate in candidates:
        for place, note in enumerate(kept):
            same = says_the_same(candidate, note) or _says_no_more(candidate, note)
            if not slots_differ(note, candidate) and same:
                kept[place] = _joined(note, candidate)
                break
        else:
            kept.append(candidate)
    return kept


def _says_no_more(candidate: Note, note: Note) -> bool:
    """Whether two candidates word what was said once in the same words."""
    quotes = {normalise(candidate.quote), normalise(note.quote)}
    if len(quotes) > 1 or quotes == {""}:
        return False
    return same_words(candidate.text, note.text)


def plan_batch(
    candidates: Sequence[Note],
    neighbours: Sequence[Sequence[Neighbour]],
    taken: Collection[str],
    verdicts: Verdicts | None = None,
    places: Sequence[int] | None = None,
) -> list[Change]:
    """Decide what becomes of the candidates of one batch, one after the other.

    What says the same reinforces, a slot's new value supersedes, and so does what a model found to
    replace a note; all else is added. What the assistant said neither reinforces a note (it repeats
    what it was told) nor, as a mere fact, takes the place of the user's words. A candidate that is
    to be approved first takes no active note's place. What was said before the note whose place it
    would take is kept as past.

    Args:
        candidates: In the order in which they were said; their ids are set here.
        neighbours: For each, notes of its owner with the same text or slot, or like it.
        taken: Ids that the owner's notes have.
        verdicts: What a model said of pairs that their words do not settle.
        places: Which of the candidates are still wanted; else all.
    """
    work = _Work(neighbours, taken)
    for i in range(len(candidates)) if places is None else places:
        candidate = candidates[i]
        near = sorted(neighbours[i], key=lambda neighbour: -neighbour.cosine)
        twin, holder = work.met(i, candidate, near, verdicts or {})
        for change in _decided(candidate, twin, holder, work.taken):
            work.apply(change)
    return work.changes


class _Work:
    """The notes as they will be, while the candidates of a batch are decided."""

    def __init__(self, neighbours: Sequence[Sequence[Neighbour]], taken: Collection[str]) -> None:
        self.notes = {each.note.id: each.note for near in neighbours for each in near}
        self.taken = set(taken) | self.notes.keys()
        self.changes: list[Change] = []

    def met(
        self, place: int, candidate: Note, near: Sequence[Neighbour], verdicts: Verdicts
    ) -> tuple[Note | None, Note | None]:
        """Return the note that says the same as a candidate, and the one whose place it takes."""
        holders = [note for note in self.notes.values() if same_slot(note, candidate)]
        holders.sort(key=lambda note: note.status != candidate.status)  # a proposal's is proposed
        holder = next(iter(holders), None)
        twin = next((n for n in self.notes.values() if same_text(n, candidate)), None)
        for each in near:
            note = self.notes.get(each.note.id)
            if note is None or note.version != each.note.version:
                continue  # this batch gave it another text
            if slots_differ(note, candidate):
                continue
            verdict = verdicts.get((place, note.id, note.version))
            if twin is None and (
                says_the_same(candidate, note)
                or verdict == "same"
                or (verdict == "replaces" and normalise(note.text) == normalise(candidate.text))
            ):
                twin = note
            elif holder is None and verdict == "replaces":
                holder = note
        return twin, holder

    def apply(self, change: Change) -> None:
        note = change.record
        self.taken.add(note.id)
        if note.status in ("active", "proposed"):
            self.notes[note.id] = note
        else:
            self.notes.pop(note.id, None)
        if change.action == "reinforce":
            for i, earlier in enumerate(self.changes):
                if earlier.record.id == note.id:
                    self.changes[i] = whole = _as_one(earlier, note)
                    self.notes[note.id] = whole.record
                    return
        self.changes.append(change)


def _as_one(earlier: Change, note: Note) -> Change:
    """Return a change of a batch as it is once the batch has said its note again."""
    if earlier.previous is None:
        whole = replace(note, reason=earlier.reason, revision=0, replaced=())
        return replace(earlier, record=whole)
    return recorded(replace(earlier, record=note))


def _decided(
    candidate: Note, twin: Note | None, holder: Note | None, taken: Collection[str]
) -> list[Change]:
    waits = candidate.status == "proposed"
    if twin is not None and (
        holder is None or holder.id == twin.id or (waits and twin.status == "active")
    ):
        if candidate.said_by == "assistant":  # an echo
            return []
        if _is_counted(twin, candidate):
            return _completed(twin, candidate)
        return decide(candidate, twin, None, taken)
    if holder is None:
        return decide(candidate, None, None, taken)
    if candidate.said_by == "assistant" and candidate.kind == "fact" and holder.said_by == "user":
        return []
    if waits and holder.status == "active":
        reason = f"it would replace {holder.text!r}"
        new = replace(candidate, id=free_id(candidate, taken), reason=reason)
        return [Change("add", new, None, reason)]
    if candidate.updated_at < min(holder.valid_from, holder.updated_at):
        return [_past(candidate, holder, taken)]
    return decide(candidate, twin, holder, taken)


def _completed(note: Note, candidate: Note) -> list[Change]:
    """Decide what another reading of the same messages adds to a note: it counts no mention."""
    whole = replace(_with_all(note, candidate), quote=note.quote or candidate.quote)
    return [] if whole == note else [recorded(Change("update", whole, note, "read again"))]


def _past(candidate: Note, holder: Note, taken: Collection[str]) -> Change:
    reason = "said before what holds now"
    note = replace(
        candidate,
        id=free_id(candidate, taken),
        status="superseded",
        valid_from=min(candidate.valid_from, holder.valid_from),
        valid_until=holder.valid_from,
        superseded_by=holder.id,
        reason=reason,
    )
    return Change("add", note, None, reason)


def _joined(note: Note, other: Note) -> Note:
    users_own = (note.said_by, other.said_by) == ("assistant", "user")
    return _with_all(other, note) if users_own else _with_all(note, other)


def _with_all(note: Note, other: Note) -> Note:
    """Return a note with what another that says the same has beside its text."""
    new = (id for id in dict.fromkeys(other.sources) if id not in note.sources)
    return replace(
        note,
        slot=note.slot or other.slot,
        importance=max(note.importance, other.importance),
        aliases=united(note.aliases, other.aliases),
        valid_until=note.valid_until or other.valid_until,
        sources=(*note.sources, *new),
    )


def decide(
    candidate: Note, twin: Note | None, holder: Note | None, taken: Collection[str]
) -> list[Change]:
    """Decide what becomes of a note, once it is known which others it meets.

    Args:
        candidate: The new note; its id is set here.
        twin: The note that says the same, if there is one.
        holder: The note whose place it takes: of the same slot, or of the same attribute.
        taken: Ids that other notes of the owner have.

    Returns:
        The changes; the first is about the candidate itself.
    """
    now = candidate.updated_at
    if twin is not None and (holder is None or holder == twin):
        if twin.is_over(now):
            again = replace(candidate, aliases=united(candidate.aliases, twin.aliases))
            return [_supersede(twin, again, "said again after it was over")]
        return [_reinforce(twin, candidate, now)]
    if holder is None:
        return [Change("add", replace(candidate, id=free_id(candidate, taken)))]
    if twin is None:
        return [_supersede(holder, candidate)]
    aliases = united(candidate.aliases, twin.aliases)
    change = _supersede(holder, replace(candidate, aliases=aliases))
    return [change, retired(twin, change.record, now)]


def retired(
    note: Note, new: Note, now: datetime, reason: str = "its text moved into a slot"
) -> Change:
    """Decide that a note gives way to one that says the same."""
    old = replace(kept_version(note, new, now), id=note.id)
    return recorded(Change("retire", old, note, reason), by=new.change_id)


def kept_version(old: Note, new: Note, now: datetime | None = None) -> Note:
    """Return a note as it is kept once another, or a new version of it, took its place."""
    end = now or new.valid_from
    if old.valid_until is not None:
        end = min(end, old.valid_until)
    if old.status == "proposed":
        end = old.valid_from  # it held at no time
    return replace(
        old,
        id=f"{old.id}@{old.version}",
        status="superseded",
        valid_until=max(end, old.valid_from),
        own_end=old.valid_until,
        superseded_by=new.id,
    )


def edited(note: Note, changes: Mapping[str, Any], now: datetime, user: str) -> Change:
    """Decide what editing a note does: a new text or kind is a new version, of whoever edits it."""
    new = replace(note, **changes, updated_at=now)
    if (new.text, new.kind) == (note.text, note.kind):
        change = Change("update", new, note, "edited")
    else:
        new = replace(new, version=note.version + 1, valid_from=now, author=user)
        change = Change("supersede", new, note, "edited")
    return signed([recorded(change)], user)[0]


def signed(changes: Iterable[Change], user: str) -> list[Change]:
    """Return changes of notes with who made them: whoever is not a note's author is named on it."""
    return [replace(change, record=_signed(change.record, user)) for change in changes]


def _signed(note: Note, user: str) -> Note:
    return replace(note, changed_by=None if note.author == user else user)


def recorded(change: Change, by: str | None = None) -> Change:
    """Write on a note why it was changed, and what it takes to undo that.

    A new version needs nothing: the one before it is kept. Any other change is counted, and the
    note keeps what it replaced.

    Args:
        change: What is done.
        by: The change that it comes with, and is undone with.
    """
    new, old = change.record, change.previous
    if old is None:
        return change
    new = replace(new, reason=change.reason)
    if new.version > old.version:
        return replace(change, record=replace(new, revision=0, replaced=(), restores=None))
    new = replace(new, revision=old.revision + 1)
    before, after = old.to_value(), new.to_value()
    names = [name for name in before if before[name] != after[name] and name not in _BOOKKEEPING]
    replaced = {"change": new.change_id, "action": change.action, "by": by}
    replaced |= {name: before[name] for name in names}
    return replace(change, record=replace(new, replaced=(*old.replaced, replaced)[-UNDOABLE:]))


def _reinforce(note: Note, candidate: Note, now: datetime) -> Change:
    said_again = replace(
        _with_all(note, candidate),
        mentions=note.mentions + (not _is_counted(note, candidate)),
        pinned=note.pinned or candidate.pinned,
        metadata={**note.metadata, **candidate.metadata},
        updated_at=max(note.updated_at, now),
        valid_until=candidate.valid_until or note.valid_until,
        reason="said before",
    )
    return recorded(Change("reinforce", said_again, note, said_again.reason))


def _is_counted(note: Note, candidate: Note) -> bool:
    """Whether a candidate comes from where the note does: a turn that is saved once more."""
    return bool(candidate.sources) and set(candidate.sources) <= set(note.sources)


def _supersede(holder: Note, candidate: Note, reason: str | None = None) -> Change:
    slot = candidate.slot or holder.slot
    reason = reason or _why_superseded(holder, slot)
    new = replace(
        candidate,
        id=holder.id,
        slot=slot,
        version=holder.version + 1,
        pinned=holder.pinned or candidate.pinned,
        created_at=holder.created_at,
        reason=reason,
    )
    return recorded(Change("supersede", new, holder, reason))


def _why_superseded(holder: Note, slot: str | None) -> str:
    return f"a new value for {slot!r}" if slot else f"it replaces {holder.text!r}"


def candidate_ids(candidate: Note) -> list[str]:
    """Return the ids that a new note may get: named by its content, the first that is free.

    So two writers of the same note meet in one row. More than one, since a note keeps its id when
    it is edited.
    """
    content = (
        ("text", candidate.kind, normalise(candidate.text))
        if candidate.slot is None
        else ("slot", normalise(candidate.slot))
    )
    return [record_id("note", *content, attempt) for attempt in range(4)]


def free_id(candidate: Note, taken: Collection[str]) -> str:
    """Return an id for a new note that no other has."""
    free = (id for id in candidate_ids(candidate) if id not in taken)
    return next(free, uuid.uuid4().hex[:24])
