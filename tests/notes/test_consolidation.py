"""What becomes of an owner's notes: fewer of them, and nothing lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory.notes.consolidation import (
    ChangeBatch,
    consolidation_batches,
    has_faded,
    left,
    merge_writes,
    remaining,
    strength,
)
from langgraph_memory.notes.history import undone
from langgraph_memory.notes.model_merge import Merge
from langgraph_memory.notes.reconciliation import kept_version
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import KINDS, Note, normalise

START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(days=2_000)
YEAR = timedelta(days=365)

State = dict[str, Note]


def note(text: str, id: str = "", *, importance: float = 0.5, days: int = 2_000) -> Note:
    said = START + timedelta(days=days)
    return Note(
        id=id or text,
        owner=Owner("user", "ana"),
        text=text,
        importance=importance,
        created_at=said,
        updated_at=said,
        valid_from=said,
        sources=(f"message about {id or text}",),
    )


def state(notes: list[Note]) -> State:
    return {each.id: each for each in notes}


def applied(before: State, batches: list[ChangeBatch]) -> State:
    """The notes once changes were written, as `change_ops` writes them."""
    after = dict(before)
    for batch in batches:
        for change in batch:
            new, old = change.record, change.previous
            assert isinstance(new, Note)
            assert isinstance(old, Note)
            assert after[new.id] == old
            after[new.id] = new
            if new.version > old.version:
                past = kept_version(old, new)
                after[past.id] = past
    return after


def active(notes: State) -> State:
    return {id: each for id, each in notes.items() if each.status == "active"}


# -- fading --------------------------------------------------------------------------------------

IMPORTANCES = st.floats(0, 1)
DAYS = st.integers(0, 5_000)
ANY = st.builds(
    lambda importance, kind, slot, pinned, again: replace(
        note("tea", importance=importance, days=0),
        kind=kind,
        slot=slot,
        pinned=pinned,
        updated_at=START + timedelta(days=again),
    ),
    IMPORTANCES,
    st.sampled_from(KINDS),
    st.sampled_from([None, "drink"]),
    st.booleans(),
    DAYS,
)


@given(ANY, DAYS, DAYS)
def test_strength_never_grows_with_age(one: Note, days: int, more: int) -> None:
    then = START + timedelta(days=days)
    later = then + timedelta(days=more)
    assert 0 <= strength(one, later) <= strength(one, then) <= one.importance
    assert has_faded(one, later) or not has_faded(one, then)


@given(ANY, IMPORTANCES, DAYS)
def test_what_is_more_important_is_stronger_and_fades_later(
    one: Note, importance: float, days: int
) -> None:
    now = START + timedelta(days=days)
    more = replace(one, importance=max(importance, one.importance))
    assert strength(more, now) >= strength(one, now)
    assert has_faded(one, now) or not has_faded(more, now)


@given(ANY, DAYS)
def test_pinned_and_critical_notes_instructions_and_slots_never_fade(one: Note, days: int) -> None:
    now = START + timedelta(days=days)
    for spared in (
        replace(one, pinned=True),
        replace(one, importance=0.8),
        replace(one, kind="instruction"),
        replace(one, slot="drink"),
    ):
        assert not has_faded(spared, now)


def test_an_old_allergy_stays_and_gossip_that_is_restated_fades() -> None:
    allergy = note("Is allergic to penicillin", importance=1, days=0)
    gossip = replace(note("The neighbour is moody", importance=0.1, days=0), updated_at=NOW)
    useful = replace(note("Drinks decaf", days=0), updated_at=NOW)
    for each, faded in ((allergy, False), (gossip, True), (useful, False)):
        assert has_faded(each, NOW) is faded


def test_a_useful_note_survives_two_years_and_a_trivial_one_a_season() -> None:
    useful, trivial = note("Drinks decaf", days=0), note("Had a bun", importance=0, days=0)
    assert not has_faded(useful, START + 2 * YEAR)
    assert has_faded(useful, START + 3 * YEAR)
    assert not has_faded(trivial, START + timedelta(days=89))
    assert has_faded(trivial, START + timedelta(days=90))


# -- the whole plan ------------------------------------------------------------------------------

TEXTS = [
    "Has a dog",
    "has a dog.",
    "The user has dogs",
    "Has a dog called Bruno",
    "No dog",
    "茶",
    "用户喜欢茶了",
    "喜欢茶",
]
NOTES = st.lists(
    st.builds(
        lambda text, slot, importance, pinned, days, kind, end, by: replace(
            note(text, importance=importance, days=days),
            slot=slot,
            pinned=pinned,
            kind=kind,
            said_by=by,
            valid_until=None if end is None else START + timedelta(days=end),
        ),
        st.sampled_from(TEXTS),
        st.sampled_from([None, None, None, "pet", "drink"]),
        st.sampled_from([0.0, 0.3, 0.5, 0.9]),
        st.booleans(),
        st.sampled_from([0, 1_000, 1_990]),
        st.sampled_from(["fact", "fact", "instruction"]),
        st.sampled_from([None, None, None, 1_999, 3_000]),
        st.sampled_from(["user", "user", "assistant"]),
    ),
    max_size=9,
).map(lambda notes: state([replace(each, id=f"n{i}") for i, each in enumerate(notes)]))
LIMITS = st.sampled_from([0, 2, 1_000])


@given(NOTES, LIMITS)
def test_a_second_time_changes_nothing_and_the_active_notes_are_never_more(
    notes: State, limit: int
) -> None:
    batches = consolidation_batches(notes.values(), NOW, limit)
    after = applied(notes, batches)
    assert consolidation_batches(after.values(), NOW, limit) == []
    assert len(active(after)) <= len(active(notes))
    assert len(active(after)) == left(notes.values(), batches)
    assert after.keys() >= notes.keys()
    kept = [each for each in active(after).values() if not (each.pinned or each.importance >= 0.8)]
    assert not kept or len(active(after)) <= limit


@given(NOTES)
def test_what_says_the_same_keeps_all_sources_and_is_no_more_important_than_any(
    notes: State,
) -> None:
    for kept, *others in consolidation_batches(notes.values(), NOW, 1_000):
        one = kept.record
        assert isinstance(one, Note)
        group = [each for each in (c.previous for c in (kept, *others)) if isinstance(each, Note)]
        assert set(one.sources) == {source for each in group for source in each.sources}
        if others:
            assert one.mentions == sum(each.mentions for each in group)
            assert one.importance == max(each.importance for each in group)
            assert one.pinned == any(each.pinned for each in group)
            assert {change.action for change in others} == {"retire"}


@given(NOTES, LIMITS)
def test_pinned_and_critical_notes_are_only_put_away_when_they_are_over(
    notes: State, limit: int
) -> None:
    for batch in consolidation_batches(notes.values(), NOW, limit):
        for change in batch:
            old = change.previous
            assert isinstance(old, Note)
            if change.action != "update" and (old.pinned or old.importance >= 0.8):
                assert change.action == "archive"
                assert old.is_over(NOW)


@given(NOTES, LIMITS, st.data())
def test_from_any_interruption_a_second_run_goes_on_to_the_same_end(
    notes: State, limit: int, data: st.DataObject
) -> None:
    batches = consolidation_batches(notes.values(), NOW, limit)
    done = data.draw(st.integers(0, len(batches)))
    part = applied(notes, batches[:done])
    assert applied(part, consolidation_batches(part.values(), NOW, limit)) == applied(
        notes, batches
    )


@given(NOTES, LIMITS)
def test_all_of_it_can_be_taken_back_from_the_latest_change_to_the_first(
    notes: State, limit: int
) -> None:
    said = {(each.kind, normalise(each.text)): each for each in notes.values()}
    slots = {each.slot: each for each in said.values() if each.slot is not None}
    # As `remember` leaves them: one active note for a text, and one for a slot.
    alone = [each for each in said.values() if each.slot is None or slots[each.slot] is each]
    notes = state(alone)
    batches = consolidation_batches(alone, NOW, limit)
    now = applied(notes, batches)
    for kept, *_ in reversed(batches):
        changes = undone(kept.id, list(now.values()), NOW)
        now = applied(now, [[change] for change in changes])
    assert {each.text for each in active(now).values()} == {each.text for each in notes.values()}
    for id, before in notes.items():
        again = now[id]
        for name in ("text", "slot", "importance", "pinned", "mentions", "sources", "metadata"):
            assert getattr(again, name) == getattr(before, name)


@given(NOTES)
def test_writes_keep_the_order_and_change_no_record_twice(notes: State) -> None:
    batches = consolidation_batches(notes.values(), NOW, 2)
    parts = list(merge_writes(batches))
    assert [change for part in parts for change in part] == [c for b in batches for c in b]
    for part in parts:
        assert len({change.record.id for change in part}) == len(part)


def test_hundreds_of_repetitions_become_one_note() -> None:
    notes = [note("Has a dog" + "!" * (i % 2), f"n{i}") for i in range(450)]
    after = applied(state(notes), consolidation_batches(notes, NOW, 1_000))
    [one] = active(after).values()
    assert one.mentions == 450
    assert len(one.sources) == 450


# -- what a model says ---------------------------------------------------------------------------

BLUE, COLOUR = note("Likes blue"), note("Blue is the best colour", importance=0.7)


def test_a_models_text_is_a_new_version_of_the_best_note() -> None:
    merge = Merge((BLUE, COLOUR), "Likes the colour blue best")
    [batch] = consolidation_batches([BLUE, COLOUR], NOW, 9, [merge])
    after = applied(state([BLUE, COLOUR]), [batch])
    [one] = active(after).values()
    assert (one.text, one.version, one.importance) == (merge.text, 2, 0.7)
    assert after[f"{one.id}@1"].text == COLOUR.text
    assert after[BLUE.id].superseded_by == one.id
    for change in undone(batch[0].id, list(after.values()), NOW):
        after[change.record.id] = change.record
    assert {each.text for each in active(after).values()} == {BLUE.text, COLOUR.text}


@pytest.mark.parametrize(
    "changed",
    [
        replace(BLUE, text="Likes red", version=2),
        replace(BLUE, kind="preference"),
        replace(BLUE, slot="colour"),
        replace(BLUE, status="archived"),
        None,
    ],
    ids=["edited", "kind", "slot", "archived", "forgotten"],
)
def test_an_answer_about_a_note_that_has_changed_since_is_passed_over(changed: Note | None) -> None:
    notes = [COLOUR] if changed is None else [changed, COLOUR]
    assert (
        consolidation_batches(notes, NOW, 9, [Merge((BLUE, COLOUR), "Likes the colour blue best")])
        == []
    )


def test_a_mention_meanwhile_does_not_count_as_a_change() -> None:
    mentioned = replace(BLUE, mentions=2, revision=1)
    [batch] = consolidation_batches(
        [mentioned, COLOUR], NOW, 9, [Merge((BLUE, COLOUR), "Likes the colour blue")]
    )
    one = batch[0].record
    assert isinstance(one, Note)
    assert one.mentions == 3


@pytest.mark.parametrize("kept", [replace(BLUE, pinned=True), replace(BLUE, importance=1.0)])
def test_a_model_does_not_word_anew_what_is_pinned_or_critical(kept: Note) -> None:
    """Not even if it became that after the model was asked."""
    assert (
        consolidation_batches([kept, COLOUR], NOW, 9, [Merge((BLUE, COLOUR), "Likes light blue")])
        == []
    )
    [batch] = consolidation_batches(
        [kept, COLOUR], NOW, 9, [Merge((BLUE, COLOUR), "The user likes BLUE.")]
    )
    [one] = active(applied(state([kept, COLOUR]), [batch])).values()
    assert (one.id, one.text, one.version) == (kept.id, kept.text, 1)
    assert (one.pinned, one.importance) == (kept.pinned, max(kept.importance, COLOUR.importance))
    also = replace(COLOUR, pinned=True)
    assert consolidation_batches([kept, also], NOW, 9, [Merge((BLUE, COLOUR), "Likes blue")]) == []


def test_a_models_text_that_there_is_already_is_no_second_note() -> None:
    there = note("Likes the colour blue.")
    merge = Merge((BLUE, COLOUR), "likes the colour blue")
    notes = state([BLUE, COLOUR, there])
    after = applied(notes, consolidation_batches(notes.values(), NOW, 9, [merge]))
    assert len(active(after)) == 1
    assert consolidation_batches(after.values(), NOW, 9) == []


def test_a_model_is_asked_about_what_is_left_and_not_about_what_is_over() -> None:
    over = replace(note("Is in Porto"), valid_until=START)
    plain = note("likes BLUE")
    assert [each.text for each in remaining([BLUE, plain, COLOUR, over], NOW)].count(
        "Likes blue"
    ) < 2
    assert len(remaining([BLUE, plain, COLOUR, over], NOW)) == 2
