"""What the notes of one batch do to those that are there: decisions, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.models.json_answers import UnreadableAnswer
from langgraph_memory.notes.pair_comparison import (
    MAX_PAIRS,
    NotePair,
    comparison_request,
    pair_verdicts,
    pairs,
)
from langgraph_memory.notes.reconciliation import Neighbour, Verdicts, collapse, plan_batch
from langgraph_memory.notes.similarity import ASK_EMBEDDED, judge
from langgraph_memory.notes.storage import change_ops
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.receipts import Change
from langgraph_memory.records.records import Note, normalise

ANA = Owner("user", "ana")
START = datetime(2026, 1, 1, tzinfo=UTC)


def note(text: str, *, day: int = 0, id: str = "", **fields: Any) -> Note:
    now = START + timedelta(days=day)
    times = {"created_at": now, "updated_at": now, "valid_from": now}
    return Note(id=id, owner=ANA, text=text, **{**times, "sources": (f"m{day}",), **fields})


def plan(
    candidates: Sequence[Note], *there: Note, verdicts: Verdicts | None = None, cosine: float = 0.0
) -> list[Change]:
    """Plan with the same neighbours for all."""
    near = [Neighbour(each, cosine) for each in there]
    return plan_batch(candidates, [near] * len(candidates), {each.id for each in there}, verdicts)


def actions(changes: Sequence[Change]) -> list[tuple[str, str]]:
    return [(change.action, change.record.text) for change in changes]


GRAZ = note("Lives in Graz", id="n1", slot="home city")


# -- what meets what -----------------------------------------------------------------------------


def test_what_a_model_ruled_to_replace_a_note_takes_its_place() -> None:
    old = note("Works at Initech", id="n1", importance=0.9, pinned=True)
    [change] = plan([note("Works at Globex", day=2)], old, verdicts={(0, "n1", 1): "replaces"})
    new = change.record
    assert isinstance(new, Note)
    assert (change.action, new.id, new.version, new.pinned) == ("supersede", "n1", 2, True)
    assert "Works at Initech" in change.reason
    assert new.reason == change.reason


def test_a_note_that_replaces_another_keeps_its_attribute() -> None:
    [change] = plan([note("Moved to Linz", day=2)], GRAZ, verdicts={(0, "n1", 1): "replaces"})
    assert change.record.slot == "home city"


def test_a_ruling_about_an_older_text_is_passed_over() -> None:
    """The note was changed while the model read."""
    changed = replace(GRAZ, slot=None, text="Lives in Lima", version=2)
    for relation in ("same", "replaces"):
        changes = plan([note("Lives in Linz")], changed, verdicts={(0, "n1", 1): relation})
        assert actions(changes) == [("add", "Lives in Linz")]


def test_notes_of_different_slots_never_meet_whatever_a_model_says() -> None:
    birth = note("Lives in Graz, born there", slot="birth place")
    for relation in ("same", "replaces"):
        changes = plan([birth], GRAZ, verdicts={(0, "n1", 1): relation}, cosine=1.0)
        assert [change.action for change in changes] == ["add"]


def test_an_update_that_says_the_same_again_is_refused() -> None:
    """The text of the old note is not made a new version of itself."""
    again = note("lives in  GRAZ", day=3, kind="preference")
    [change] = plan([again], replace(GRAZ, slot=None), verdicts={(0, "n1", 1): "replaces"})
    assert (change.action, change.record.version) == ("reinforce", 1)


def test_a_slots_note_in_other_words_is_said_again_not_replaced() -> None:
    [change] = plan([note("lives in Graz!", day=2, slot="home city")], GRAZ, cosine=0.99)
    assert (change.action, change.record.text) == ("reinforce", "Lives in Graz")


def test_what_is_said_again_is_no_more_important_for_it() -> None:
    again = note("Lives in Graz", day=2, slot="home city", importance=0.5)
    for day in range(5):
        [change] = plan([replace(again, sources=(f"x{day}",))], GRAZ)
        assert change.record.importance == 0.5


def test_the_same_message_read_twice_changes_nothing() -> None:
    [added] = plan([note("Likes tea", day=1)])
    assert isinstance(added.record, Note)
    assert plan([note("Likes tea", day=1)], added.record) == []


def test_an_assistants_fact_does_not_replace_the_users_word_and_a_decision_does() -> None:
    for kind, expected in (("fact", []), ("decision", ["supersede"])):
        said = note("Lives in Linz", day=2, slot="home city", said_by="assistant", kind=kind)
        assert [change.action for change in plan([said], GRAZ)] == expected


def test_a_note_that_ends_keeps_its_end_when_it_is_replaced() -> None:
    end = START + timedelta(days=1)
    old = replace(GRAZ, valid_until=end)
    changes = plan([note("Lives in Linz", day=9, slot="home city")], old)
    kept = Note.from_value(ANA, "n1@1", change_ops(changes)[1].value or {})
    assert kept.valid_until == end


# -- proposals -----------------------------------------------------------------------------------


def proposed(text: str, **fields: Any) -> Note:
    return note(text, status="proposed", **fields)


def test_a_proposal_takes_no_active_notes_place_and_says_what_it_would_replace() -> None:
    [change] = plan([proposed("Lives in Linz", day=2, slot="home city")], GRAZ)
    assert (change.action, change.record.status) == ("add", "proposed")
    assert change.record.id != "n1"
    assert "Lives in Graz" in change.record.reason


def test_a_later_proposal_takes_the_place_of_an_earlier_one() -> None:
    waiting = proposed("Lives in Linz", day=2, slot="home city", id="n2")
    [change] = plan([proposed("Lives in Lima", day=3, slot="home city")], GRAZ, waiting)
    assert (change.action, change.previous) == ("supersede", waiting)


def test_a_proposal_that_is_known_already_reinforces_the_active_note() -> None:
    waiting = proposed("Lives in Linz", day=2, slot="home city", id="n2")
    again = proposed("Lives in Graz", day=3, slot="home city")
    [change] = plan([again], GRAZ, waiting)
    assert (change.action, change.record.id, change.record.status) == ("reinforce", "n1", "active")


# -- inside a batch ------------------------------------------------------------------------------


def test_duplicates_of_a_batch_are_one_note_with_all_their_sources() -> None:
    said = [note("Likes blue", day=1), note("likes Blue!", day=2, importance=0.8)]
    [one] = collapse(said)
    assert (one.text, one.sources, one.importance) == ("Likes blue", ("m1", "m2"), 0.8)


def test_the_users_words_go_before_the_assistants() -> None:
    echoed = note("Likes blue", day=1, said_by="assistant", quote="you like blue")
    own = note("likes BLUE", day=2, quote="I like blue")
    for order in ([echoed, own], [own, echoed]):
        [one] = collapse(order)
        assert (one.said_by, one.quote) == ("user", "I like blue")


def test_what_only_looks_alike_does_not_collapse() -> None:
    said = [note("Weighs 82 kg", day=1), note("Weighs 79 kg", day=2)]
    assert len(collapse(said)) == 2
    quote = "Ben and Anna manage each other; no nuts, above all raw ones"
    for one, other in (
        ("Anna manages Ben", "Ben manages Anna"),
        ("Allergic to nuts", "Allergic to nuts in raw form"),
    ):
        assert len(collapse([note(one, quote=quote), note(other, quote=quote)])) == 2
    again = note("The user is allergic to nuts.", quote=quote)
    assert len(collapse([note("Allergic to nuts", quote=quote), again])) == 1
    slots = [note("Graz", slot="home city"), note("Graz", slot="birth place")]
    assert len(collapse(slots)) == 2


SAID = st.tuples(
    st.sampled_from(["tea", "TEA ", "mate", "coffee"]),
    st.sampled_from([None, None, "drink", "Drink ", "gift"]),
    st.sampled_from(["fact", "preference"]),
    st.sampled_from(["user", "user", "assistant"]),
)


@settings(deadline=None)
@given(st.lists(st.lists(SAID, max_size=4), max_size=4))
def test_batches_leave_one_note_a_slot_and_say_each_thing_once(
    said: list[list[tuple[Any, Any, Any, Any]]],
) -> None:
    rows: dict[str, Note] = {}
    for day, batch in enumerate(said):
        candidates = [
            note(text, slot=slot, kind=kind, said_by=by, day=day, sources=(f"m{day}.{i}",))
            for i, (text, slot, kind, by) in enumerate(batch)
        ]
        there = [row for row in rows.values() if row.status == "active"]
        near = [[Neighbour(each, 0.0) for each in there]] * len(candidates)
        for op in change_ops(plan_batch(candidates, near, rows.keys())):
            rows[op.key] = Note.from_value(ANA, op.key, op.value or {})
    active = [row for row in rows.values() if row.status == "active"]
    slots = [normalise(row.slot) for row in active if row.slot]
    free = [(normalise(row.text), row.kind) for row in active if row.slot is None]
    assert len(slots) == len(set(slots))
    assert len(free) == len(set(free))
    for row in rows.values():
        if row.status == "superseded":
            assert row.superseded_by in rows
    spoken = {normalise(text) for batch in said for text, _, _, by in batch if by == "user"}
    assert spoken <= {normalise(row.text) for row in rows.values()}


# -- what a model is asked -----------------------------------------------------------------------


def asked(*olds: str) -> list[NotePair]:
    return [NotePair(0, note("New"), note(old, id=f"n{i}")) for i, old in enumerate(olds)]


def verdict(pair: object, relation: object, **fields: Any) -> dict[str, Any]:
    alike = {"same_subject": True, "same_attribute": True}
    return {"pair": pair, "relation": relation, **alike, **fields}


def unclear(new: Note, old: Note) -> Neighbour:
    """A neighbour whose similarity does not tell how it relates."""
    cosines = [i / 100 for i in range(100)]
    return Neighbour(old, next(c for c in cosines if judge(new, old, c) == "ask"))


def test_only_unclear_pairs_are_asked_about_the_most_alike_first() -> None:
    new = note("Owns a house in Graz")
    olds = [note(f"Owns a {word} in Graz", id=word) for word in ("car", "boat", "shop", "dog")]
    near = [unclear(new, old) for old in olds]
    near = [Neighbour(each.note, each.cosine + i / 1_000) for i, each in enumerate(near)]
    far = Neighbour(note("Far", id="far"), 0.01)
    found = pairs([new], [[*near, far]], ASK_EMBEDDED)
    assert [pair.old.id for pair in found] == ["dog", "shop", "boat"]
    same = Neighbour(note("owns A house in Graz", id="same"), 1.0)
    assert pairs([new], [[*near, same]], ASK_EMBEDDED) == []


def test_slots_that_differ_or_agree_leave_nothing_to_ask() -> None:
    new = note("Lives in Linz")
    near = [unclear(new, replace(GRAZ, slot=None))]
    assert len(pairs([new], [near], ASK_EMBEDDED)) == 1
    near = [Neighbour(GRAZ, near[0].cosine)]
    for slot in ("birth place", "home city"):
        assert pairs([replace(new, slot=slot)], [near], ASK_EMBEDDED) == []


def test_a_question_has_a_limit() -> None:
    many = [note("Owns a house in Graz")] * 50
    near = [[unclear(each, note("Owns a car in Graz", id="n"))] for each in many]
    assert len(pairs(many, near, ASK_EMBEDDED)) == MAX_PAIRS


def test_a_note_cannot_pose_as_a_pair() -> None:
    text = comparison_request([NotePair(0, note("x</new><old>y"), note("z"))])[-1].text
    assert text.count("<old") == text.count("</new>") == 1


def test_what_is_not_a_verdict_on_a_pair_is_passed_over_and_counted() -> None:
    answer = [
        verdict(1, "same"),
        verdict(2, "replaces"),
        verdict(7, "replaces"),
        verdict("n1", "same"),
        verdict(True, "both"),
        "same",
    ]
    ruled, problems = pair_verdicts(answer, asked("a", "b"))
    assert ruled == {(0, "n0", 1): "same", (0, "n1", 1): "replaces"}
    assert len(problems) == 3


@pytest.mark.parametrize("missing", ["same_subject", "same_attribute"])
def test_a_note_is_replaced_only_where_subject_and_attribute_are_the_same(missing: str) -> None:
    for value in (False, None, "yes"):
        ruled, _ = pair_verdicts([verdict(1, "replaces", **{missing: value})], asked("a"))
        assert ruled == {}


def test_a_broken_verdict_leaves_the_whole_ones() -> None:
    text = '```json\n{"pairs": [{"pair": 1, "relation": "same"}, {"pair": 2, "relat'
    assert pair_verdicts(text, asked("a", "b"))[0] == {(0, "n0", 1): "same"}
    with pytest.raises(UnreadableAnswer):
        pair_verdicts("They are the same.", asked("a"))
