"""What a new note does to those that are there: decisions, without a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.notes.reconciliation import candidate_ids, edited, kept_version, reconciled
from langgraph_memory.notes.storage import change_ops
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.receipts import Change
from langgraph_memory.records.records import Kind, Note, Status, normalise

ANA = Owner("user", "ana")
START = datetime(2026, 1, 1, tzinfo=UTC)


def note(
    text: str,
    *,
    slot: str | None = None,
    kind: Kind = "fact",
    day: int = 0,
    id: str = "",
    importance: float = 0.5,
) -> Note:
    now = START + timedelta(days=day)
    return Note(
        id=id,
        owner=ANA,
        text=text,
        kind=kind,
        slot=slot,
        importance=importance,
        author="ana",
        created_at=now,
        updated_at=now,
        valid_from=now,
    )


def note_of(change: Change) -> Note:
    return change.record


# -- a plan --------------------------------------------------------------------------------------


def test_a_note_like_no_other_is_added_under_an_id_that_its_content_names() -> None:
    [change] = reconciled(note("Drinks tea"), [], set())
    [again] = reconciled(note(" drinks  TEA ", day=5), [], set())
    assert (change.action, change.previous) == ("add", None)
    assert change.record.id == again.record.id == candidate_ids(note("Drinks tea"))[0]


def test_a_taken_id_is_passed_over_however_many_are_taken() -> None:
    candidate = note("Drinks tea")
    ids: set[str] = set()
    for _ in range(8):
        [change] = reconciled(candidate, [], ids)
        assert change.record.id not in ids
        ids.add(change.record.id)


def test_the_ids_of_different_notes_differ() -> None:
    notes = [
        note("tea"),
        note("coffee"),
        note("tea", kind="preference"),
        note("coffee", slot="tea"),
        note("coffee", slot="coffee"),
    ]
    ids = [id for one in notes for id in candidate_ids(one)]
    assert len(set(ids)) == len(ids)
    assert not any("@" in id for id in ids)


def test_a_slot_names_the_id_of_its_note_whatever_the_value() -> None:
    one, other = note("Lima", slot="Home  city"), note("Quito", slot="home CITY", kind="decision")
    assert candidate_ids(one) == candidate_ids(other)


def test_the_decision_changes_no_note_that_it_was_given() -> None:
    there = note("Drinks tea", id="n1")
    candidate = note("Drinks tea", day=3)
    before = (replace(there), replace(candidate))
    [change] = reconciled(candidate, [there], {"n1"})
    assert (there, candidate) == before
    assert (change.action, note_of(change).mentions, change.previous) == ("reinforce", 2, there)
    assert note_of(change).updated_at == candidate.updated_at


def test_what_a_message_says_is_counted_once_however_often_it_is_saved() -> None:
    there = replace(note("Drinks tea", id="n1"), sources=("m1",))
    [again] = reconciled(replace(note("drinks tea"), sources=("m1",)), [there], {"n1"})
    assert (again.action, note_of(again).mentions) == ("reinforce", 1)
    [later] = reconciled(replace(note("drinks tea"), sources=("m2",)), [note_of(again)], {"n1"})
    assert (note_of(later).mentions, note_of(later).sources) == (2, ("m1", "m2"))


def test_a_new_value_for_a_slot_takes_its_note_over() -> None:
    there = replace(note("Lives in Lima", slot="city", id="n1"), version=3, mentions=4)
    [change] = reconciled(note("Lives in Quito", slot="CITY", day=3), [there], {"n1"})
    new = note_of(change)
    assert (change.action, change.previous) == ("supersede", there)
    assert (new.id, new.version, new.mentions, new.text) == ("n1", 4, 1, "Lives in Quito")
    assert (new.created_at, new.valid_from) == (there.created_at, START + timedelta(days=3))


def test_a_kept_version_says_until_when_it_held_and_what_followed() -> None:
    old = replace(note("Lives in Lima", slot="city", id="n1"), version=3)
    new = note("Lives in Quito", slot="city", id="n1", day=3)
    kept = kept_version(old, new)
    assert (kept.id, kept.status, kept.superseded_by) == ("n1@3", "superseded", "n1")
    assert kept.valid_until == new.valid_from
    unchanged = replace(kept, id="n1", status="active", superseded_by=None, valid_until=None)
    assert unchanged == old


@pytest.mark.parametrize(
    ("status", "until", "held_until"),
    [("active", None, 3), ("active", 2, 2), ("archived", 1, 1), ("proposed", None, 0)],
)
def test_a_kept_version_held_no_longer_than_it_did(
    status: Status, until: int | None, held_until: int
) -> None:
    end = None if until is None else START + timedelta(days=until)
    old = replace(note("Lives in Lima", id="n1"), status=status, valid_until=end)
    kept = kept_version(old, note("Lives in Quito", id="n1", day=3))
    assert kept.valid_until == START + timedelta(days=held_until)


@pytest.mark.parametrize("changes", [{"text": "Drinks mate"}, {"kind": "preference"}])
def test_an_edit_of_text_or_kind_is_a_new_version(changes: dict[str, str]) -> None:
    there = note("Drinks tea", slot="drink", id="n1", importance=0.8)
    later = START + timedelta(days=3)
    change = edited(there, changes, later, "ana")
    new = note_of(change)
    assert (change.action, new.id, new.version) == ("supersede", "n1", 2)
    assert (new.valid_from, new.updated_at, new.created_at) == (later, later, START)
    assert (new.slot, new.importance) == ("drink", 0.8)


def test_an_edit_that_changes_no_text_is_no_new_version() -> None:
    there = note("Drinks tea", id="n1")
    change = edited(there, {"text": "Drinks tea", "pinned": True}, START + timedelta(days=3), "ana")
    assert (change.action, note_of(change).version) == ("update", 1)
    assert note_of(change).valid_from == START


# -- any sequence of notes -----------------------------------------------------------------------

SAID = st.tuples(
    st.sampled_from(["tea", "TEA ", "mate", "coffee"]),
    st.sampled_from([None, None, "drink", "Drink ", "gift"]),
    st.sampled_from(["fact", "preference"]),
)


def remember_all(said: Iterable[tuple[str, str | None, Kind]]) -> dict[str, Note]:
    """Remember notes one after the other, applying each plan as a store would."""
    rows: dict[str, Note] = {}
    for day, (text, slot, kind) in enumerate(said):
        candidate = note(text, slot=slot, kind=kind, day=day)
        active = [row for row in rows.values() if row.status == "active"]
        taken = {id for id in candidate_ids(candidate) if id in rows}
        for op in change_ops(reconciled(candidate, active, taken)):
            assert op.value is not None
            rows[op.key] = Note.from_value(ANA, op.key, op.value)
    return rows


@settings(deadline=None)
@given(st.lists(SAID, max_size=12))
def test_a_slot_always_says_what_was_said_for_it_last(
    said: Sequence[tuple[str, str | None, Kind]],
) -> None:
    last = {normalise(slot): normalise(text) for text, slot, _ in said if slot is not None}
    active = [row for row in remember_all(said).values() if row.status == "active"]
    slots = [(normalise(row.slot), normalise(row.text)) for row in active if row.slot is not None]
    assert sorted(slots) == sorted(last.items())


@settings(deadline=None)
@given(st.lists(SAID, max_size=12))
def test_no_text_that_was_ever_said_is_lost(
    said: Sequence[tuple[str, str | None, Kind]],
) -> None:
    rows = remember_all(said).values()
    kept = {(normalise(row.text), row.kind) for row in rows}
    assert kept == {(normalise(text), kind) for text, _, kind in said}
    assert sum(row.mentions for row in rows) == len(said)


@settings(deadline=None)
@given(st.lists(SAID, max_size=12))
def test_what_is_said_without_a_slot_is_active_until_a_slot_takes_it(
    said: Sequence[tuple[str, str | None, Kind]],
) -> None:
    """And is active once: the same text and kind is one note of no slot."""
    rows = remember_all(said)
    active = [row for row in rows.values() if row.status == "active"]
    free = [(normalise(row.text), row.kind) for row in active if row.slot is None]
    assert len(set(free)) == len(free)
    if said and said[-1][1] is None:
        text, _, kind = said[-1]
        assert (normalise(text), kind) in {(normalise(row.text), row.kind) for row in active}


@settings(deadline=None)
@given(st.lists(SAID, max_size=12))
def test_superseded_versions_are_numbered_and_point_at_what_followed(
    said: Sequence[tuple[str, str | None, Kind]],
) -> None:
    rows = remember_all(said)
    for row in rows.values():
        if row.status == "active":
            assert (row.valid_until, row.superseded_by) == (None, None)
            older = [rows[f"{row.id}@{number}"] for number in range(1, row.version)]
            assert [version.version for version in older] == list(range(1, row.version))
            assert all(version.superseded_by == row.id for version in older)
        else:
            assert row.superseded_by in rows
            assert row.valid_until is not None
            assert row.valid_from <= row.valid_until
