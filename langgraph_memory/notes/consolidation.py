"""Keeping what an owner's notes say, in fewer notes: a pure decision over all of them.

In this order: what is over is put away; what says the same becomes one note; what has faded is put
away, and then what is least useful among too many. Nothing is deleted: `undo` takes each change
back. Each step is decided over the notes as the steps before it leave them, and each batch of
changes stands for itself. So if not all batches are applied, deciding again gives those that are
left.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from types import MappingProxyType

from langgraph_memory.notes.history import archived, taken_apart
from langgraph_memory.notes.model_merge import Merge
from langgraph_memory.notes.reconciliation import recorded, retired
from langgraph_memory.notes.similarity import (
    compared_words,
    same_words,
    slot_name,
    without_end,
)
from langgraph_memory.records import Change, Note, is_kept_anyway, normalise, united
from langgraph_memory.retrieval import recency

USEFUL = 0.5
"""The importance from which on saying a note again renews it. `remember` gives it by default."""


@dataclass(frozen=True, slots=True)
class Fading:
    """When a note that nobody said again is put away; chosen to be slow, not measured.

    By these values a note of importance .5 fades after 2.3 years, one of .3 after 1.6 years, one of
    .2 after a year, and a trivial one (up to .1) after 90 days.
    """

    half_life_days: float = 365.0
    """After how many days the strength of a note has halved."""
    below: float = 0.1
    """The strength below which a note has faded."""
    spared_days: float = 90.0
    """No note fades that is younger than this, however trivial it is."""


FADING = Fading()

_TOGETHER = 200  # changes written at once: others wait for so long at most

ChangeBatch = Sequence[Change]
"""Changes that belong together: the note that is kept, then those that it takes the place of."""


def consolidation_batches(
    notes: Iterable[Note],
    now: datetime,
    max_notes: int,
    merges: Sequence[Merge] = (),
    fading: Fading = FADING,
) -> list[ChangeBatch]:
    """Decide what becomes of an owner's notes.

    Args:
        notes: All notes of one owner; those that are not active are passed over.
        now: The present moment.
        max_notes: How many of them may be active; pinned and critical ones stay in any case.
        merges: What a model said of notes that say the same in other words.
        fading: How fast notes fade.

    Returns:
        Batches, to be applied one after the other, each as a whole.
    """
    work = _begun(notes, now)
    for merge in merges:
        work.merge_told(merge)
    if merges:
        work.merge_repeated()  # a new text may be one that there is
    work.put_away([note for note in work.notes.values() if has_faded(note, now, fading)], "faded")
    work.put_away(least_useful(work.notes.values(), now, max_notes, fading), "least useful")
    return work.batches


def remaining(notes: Iterable[Note], now: datetime) -> list[Note]:
    """Return the active notes that are not over, without those that repeat another."""
    return list(_begun(notes, now).notes.values())


def _begun(notes: Iterable[Note], now: datetime) -> _Work:
    """Decide what needs neither a model nor a limit."""
    work = _Work(notes, now)
    work.put_away([note for note in work.notes.values() if note.is_over(now)], "it is over")
    work.merge_repeated()
    return work


def merge_writes(batches: Iterable[ChangeBatch]) -> Iterator[ChangeBatch]:
    """Yield the changes of batches in order, in so few writes that none changes a record twice."""
    write: list[Change] = []
    ids: set[str] = set()
    for batch in batches:
        touched = {change.record.id for change in batch}
        if write and (len(write) + len(batch) > _TOGETHER or touched & ids):
            yield write
            write, ids = [], set()
        write += batch
        ids |= touched
    if write:
        yield write


def left(notes: Iterable[Note], batches: Iterable[ChangeBatch]) -> int:
    """Return how many notes are active once changes are applied."""
    changed = [change.record for batch in batches for change in batch]
    after = {note.id: note for note in (*notes, *changed)}
    return sum(isinstance(note, Note) and note.status == "active" for note in after.values())


# -- fading --------------------------------------------------------------------------------------


def strength(note: Note, now: datetime, fading: Fading = FADING) -> float:
    """Return how much a note is worth keeping, 0 to 1: its importance, halved by each half-life.

    A useful note is renewed when it is said again. A trivial one is as old as its text: saying it
    again does not make it important. What holds until it is taken back does not age: an
    instruction, and the value of a slot.

    Example:
        >>> from datetime import UTC, timedelta
        >>> from langgraph_memory.records.owners import Owner
        >>> said = datetime(2026, 1, 1, tzinfo=UTC)
        >>> note = Note(
        ...     id="a1b2",
        ...     owner=Owner("user", "ana"),
        ...     text="Drinks tea",
        ...     created_at=said,
        ...     updated_at=said,
        ...     valid_from=said,
        ... )
        >>> strength(note, said), strength(note, said + timedelta(days=365))
        (0.5, 0.25)
    """
    if _holds_until_taken_back(note):
        return note.importance
    return note.importance * recency(_moment(note), now, fading.half_life_days)


def has_faded(note: Note, now: datetime, fading: Fading = FADING) -> bool:
    """Whether a note was said too long ago for what it is worth."""
    if is_kept_anyway(note) or _holds_until_taken_back(note):
        return False
    age_days = (now - _moment(note)).total_seconds() / 86_400
    return age_days >= fading.spared_days and strength(note, now, fading) < fading.below


def least_useful(
    notes: Iterable[Note], now: datetime, max_notes: int, fading: Fading = FADING
) -> list[Note]:
    """Return the notes to put away so that `max_notes` are left, the least useful first."""
    found = list(notes)
    spare = [note for note in found if not is_kept_anyway(note)]
    spare.sort(key=lambda note: (strength(note, now, fading), note.updated_at, note.id))
    return spare[: max(len(found) - max_notes, 0)]


def _holds_until_taken_back(note: Note) -> bool:
    return note.kind == "instruction" or note.slot is not None


def _moment(note: Note) -> datetime:
    """Return from when on a note ages; one that was put away and brought back begins anew."""
    if note.importance >= USEFUL:
        return note.updated_at
    return note.created_at if note.version == 1 else note.valid_from


# -- which notes say the same --------------------------------------------------------------------


def best_first(notes: Iterable[Note]) -> list[Note]:
    """Return notes by which of them is to be kept: what is pinned or critical, then the user's own.

    Then the longest, the most important, the newest. It decides about text and id alone: a note
    that others are merged into is as important as any of them.
    """
    return sorted(notes, key=_goodness, reverse=True)


Apart = Mapping[str, Set[str]]
"""By notes' ids: two that share anything here are not to be one."""


def are_apart(note: Note, other: Note, apart: Apart) -> bool:
    """Whether two notes are to stay two, whatever they say."""
    return not apart.get(note.id, frozenset()).isdisjoint(apart.get(other.id, ()))


def repeated(notes: Iterable[Note], apart: Apart = MappingProxyType({})) -> Iterator[list[Note]]:
    """Yield the groups of two and more notes that say the same, in each the best note first.

    Each of a group says what its best says, compared with it directly: there are no chains. So
    what is best in its group is like none of the others, and looking again finds nothing. What is
    pinned or critical is nowhere but best, and the words of an assistant do not take the place of a
    user's.

    Args:
        notes: Active notes of one owner.
        apart: Which of them are to stay apart.

    Example:
        >>> from datetime import UTC, datetime
        >>> from langgraph_memory.records.owners import Owner
        >>> def note(text):
        ...     now, ana = datetime.now(UTC), Owner("user", "ana")
        ...     return Note(
        ...         id=text, owner=ana, text=text, created_at=now, updated_at=now, valid_from=now
        ...     )
        >>> said = ["Has a dog.", "The user has a dog", "Has a dog called Bruno.", "Has no dog."]
        >>> [[each.text for each in group] for group in repeated(map(note, said))]
        [['The user has a dog', 'Has a dog.']]
    """
    groups: list[_Group] = []
    found: dict[Hashable, list[_Group]] = {}
    for note in best_first(notes):
        about = (note.kind, note.valid_until)
        keys = ((about, without_end(note.text)), (about, compared_words(note.text)))
        near = (group for key in keys for group in found.get(key, ()))
        group = next((group for group in near if group.takes(note, apart)), None)
        if group is not None:
            group.add(note)
            continue
        groups.append(_Group([note], slot_name(note)))
        for key in keys:
            found.setdefault(key, []).append(groups[-1])
    yield from (group.notes for group in groups if len(group.notes) > 1)


@dataclass(slots=True)
class _Group:
    notes: list[Note]
    slot: str | None

    def takes(self, note: Note, apart: Apart) -> bool:
        if is_kept_anyway(note):
            return False
        slot = slot_name(note)
        fits = None in (self.slot, slot) or self.slot == slot
        if note.id in apart and any(are_apart(note, each, apart) for each in self.notes):
            return False
        return fits and self.notes[0].said_by in ("user", note.said_by)

    def add(self, note: Note) -> None:
        self.notes.append(note)
        self.slot = self.slot or slot_name(note)


def _goodness(note: Note) -> tuple[object, ...]:
    by_user, length = note.said_by == "user", len(compared_words(note.text))
    worth = (note.pinned, note.importance, len(note.text), note.updated_at)
    return (is_kept_anyway(note), by_user, length, *worth, note.id)


# -- merging -------------------------------------------------------------------------------------


def merged_notes(notes: Sequence[Note], now: datetime, text: str | None = None) -> ChangeBatch:
    """Decide how notes that say the same become one.

    The best of them stays, with the sources and mentions of all; the others give way to it, and
    undoing its change brings them back.

    Args:
        notes: Two or more, the best first; of one kind and without two different slots.
        now: The present moment.
        text: What the one note is to say, if not what the best of them says: a new version of it.
    """
    best, *others = notes
    together = "merged with a note that says the same"
    if len(others) > 1:
        together = f"merged with {len(others)} notes that say the same"
    new = replace(
        best,
        slot=next((note.slot for note in notes if note.slot is not None), None),
        importance=max(note.importance for note in notes),
        pinned=any(note.pinned for note in notes),
        mentions=sum(note.mentions for note in notes),
        sources=tuple(dict.fromkeys(id for note in notes for id in note.sources)),
        metadata={key: value for note in (*others, best) for key, value in note.metadata.items()},
        aliases=united(*(note.aliases for note in notes)),
        created_at=min(note.created_at for note in notes),
        updated_at=max(note.updated_at for note in notes),
    )
    if text is None or normalise(text) == normalise(best.text):
        kept = recorded(Change("update", new, best, together))
    else:
        new = replace(new, text=text, version=best.version + 1, valid_from=now)
        kept = recorded(Change("supersede", new, best, together))
    one = kept.record
    return [kept, *(retired(note, one, now, "another note says the same") for note in others)]


class _Work:
    """The active notes as they will be, while it is decided what becomes of them."""

    def __init__(self, notes: Iterable[Note], now: datetime) -> None:
        every = list(notes)
        self.notes = {note.id: note for note in every if note.status == "active"}
        self.apart = taken_apart(every)
        self.now = now
        self.batches: list[ChangeBatch] = []

    def put_away(self, notes: Iterable[Note], reason: str) -> None:
        for note in notes:
            self._apply([archived(note, self.now, reason)])

    def merge_repeated(self) -> None:
        for best, *others in list(repeated(self.notes.values(), self.apart)):
            for start in range(0, len(others), _TOGETHER - 1):
                part = others[start : start + _TOGETHER - 1]
                self._apply(merged_notes([self.notes[best.id], *part], self.now))

    def merge_told(self, merge: Merge) -> None:
        current = [self.notes.get(note.id) for note in merge.notes]
        notes = [note for note in current if note is not None]
        if any(are_apart(one, other, self.apart) for one, other in combinations(notes, 2)):
            return
        if list(map(_as_judged, notes)) != list(map(_as_judged, merge.notes)):
            return
        best, *others = best_first(notes)
        if not is_kept_anyway(best):
            self._apply(merged_notes([best, *others], self.now, merge.text))
        elif same_words(merge.text, best.text) and not any(map(is_kept_anyway, others)):
            self._apply(merged_notes([best, *others], self.now))

    def _apply(self, batch: ChangeBatch) -> None:
        self.batches.append(batch)
        for change in batch:
            note = change.record
            if note.status == "active":
                self.notes[note.id] = note
            else:
                self.notes.pop(note.id, None)


def _as_judged(note: Note) -> tuple[object, ...]:
    """Return what an answer about a note depends on."""
    return (note.id, note.version, note.text, note.kind, note.slot, note.valid_until)
