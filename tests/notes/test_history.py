"""What became of a note, and taking it back: nothing is lost, and the past stays as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.store.base import BaseStore

from langgraph_memory import Memory
from langgraph_memory.errors import ConfigurationError, RecordNotFoundError
from langgraph_memory.notes.history import archived, restored
from langgraph_memory.notes.reconciliation import UNDOABLE
from langgraph_memory.records.records import Note
from langgraph_memory.retrieval.query import PROFILE_NOTES
from langgraph_memory.testing import ManualClock
from tests.proposals import propose, texts

if TYPE_CHECKING:
    from tests.conftest import Verbs


def without_times(note: Note) -> Note:
    """A note, but for when and why it came to be so."""
    return replace(
        note,
        version=0,
        revision=0,
        restores=None,
        replaced=(),
        reason="",
        updated_at=note.created_at,
        valid_from=note.created_at,
    )


# -- the history ---------------------------------------------------------------------------------

CITIES = {
    "english": ("home city", ["Lives in Rosario", "Lives in Lima", "Lives in Quito"]),
    "chinese": ("居住地", ["住在罗萨里奥", "住在利马", "住在基多"]),
}


@pytest.mark.parametrize("language", CITIES)
async def test_the_history_of_a_note_tells_each_text_its_time_and_its_reason(
    memory: Verbs, clock: ManualClock, language: str
) -> None:
    slot, said = CITIES[language]
    moments = []
    for text in said:
        change = await memory.remember(text, user="ana", slot=slot)
        moments.append(clock())
        clock.advance(days=30)
    chain = await memory.history(change.record.id, user="ana")
    assert texts(chain) == said
    assert [note.version for note in chain] == [1, 2, 3]
    assert [note.valid_from for note in chain] == moments
    assert [note.valid_until for note in chain] == [*moments[1:], None]
    assert [note.status for note in chain] == ["superseded", "superseded", "active"]
    assert [note.reason for note in chain] == ["", *[f"a new value for {slot!r}"] * 2]
    assert await memory.history(chain[0].id, user="ana") == chain


async def test_a_reason_is_kept_on_the_note_and_said_by_the_change(memory: Verbs) -> None:
    added = await memory.remember("Drinks mate", user="ana")
    changes = [
        await memory.remember("drinks MATE", user="ana"),
        await memory.edit(added.record.id, user="ana", importance=0.9),
        await memory.remember("Drinks mate", user="ana", slot="drink"),
        await memory.edit(added.record.id, user="ana", text="Drinks tea"),
    ]
    for change in changes:
        assert change.reason
        assert change.record.reason == change.reason
    assert (await memory.get(added.record.id, user="ana")).reason == "edited"
    assert changes[0].reason == "said before"


async def test_every_change_of_a_note_has_an_id_of_its_own(memory: Verbs) -> None:
    added = await memory.remember("Drinks mate", user="ana", slot="drink")
    id = added.record.id
    changes = [
        added,
        await memory.remember("Drinks mate", user="ana", slot="drink"),
        await memory.pin(id, user="ana"),
        await memory.remember("Drinks tea", user="ana", slot="drink"),
        await memory.edit(id, user="ana", importance=0.9),
        await memory.undo(f"{id}@2.1", user="ana"),
        await memory.undo(f"{id}@2", user="ana"),
    ]
    assert [change.id for change in changes] == [
        f"{id}@{state}" for state in ("1", "1.1", "1.2", "2", "2.1", "2.2", "3")
    ]


async def test_a_note_that_does_not_exist_has_no_history(memory: Verbs) -> None:
    assert await memory.history("none", user="ana") == []


async def test_the_history_goes_with_a_forgotten_note_whatever_became_of_it(
    memory: Verbs, clock: ManualClock
) -> None:
    for city in ("Rosario", "Lima"):
        change = await memory.remember(f"Lives in {city}", user="ana", slot="home city")
        clock.advance(days=1)
    id = change.record.id
    await memory.undo(change.id, user="ana")
    await memory.undo(f"{id}@1", user="ana")
    assert texts(await memory.list(user="ana", status="archived")) == ["Lives in Rosario"]
    receipt = await memory.forget(id, user="ana")
    assert set(receipt.ids) == {id, f"{id}@1", f"{id}@2"}
    assert await memory.history(id, user="ana") == []
    assert await memory.list(user="ana", status=None) == []


# -- undo ----------------------------------------------------------------------------------------


async def test_an_addition_that_is_undone_is_archived(memory: Verbs, clock: ManualClock) -> None:
    change = await memory.remember("喜欢手冲咖啡", user="ana")
    clock.advance(days=1)
    undone = await memory.undo(change.id, user="ana")
    assert (undone.action, undone.reason, undone.record.status) == ("archive", "undone", "archived")
    assert await memory.list(user="ana") == []
    assert await memory.list(user="ana", status="archived") == [undone.record]
    clock.advance(days=1)
    again = await memory.undo(undone.id, user="ana")
    assert (again.action, again.record.status, again.record.version) == ("restore", "active", 2)
    assert texts(await memory.list(user="ana")) == ["喜欢手冲咖啡"]


async def test_a_superseded_text_comes_back_as_a_new_version(
    memory: Verbs, clock: ManualClock
) -> None:
    await memory.remember("Lives in Rosario", user="ana", slot="home city", metadata={"sure": True})
    clock.advance(days=1)
    change = await memory.remember("Lives in Lima", user="ana", slot="home city")
    clock.advance(days=1)
    undone = await memory.undo(change.id, user="ana")
    note = undone.record
    assert (undone.action, note.text, note.version) == ("restore", "Lives in Rosario", 3)
    assert (note.valid_from, note.valid_until, note.metadata) == (clock(), None, {"sure": True})
    assert texts(await memory.history(note.id, user="ana")) == [
        "Lives in Rosario",
        "Lives in Lima",
        "Lives in Rosario",
    ]
    assert (await memory.undo(undone.id, user="ana")).record.text == "Lives in Lima"


async def test_case_17_a_merge_is_reversible_in_all_that_it_changed(
    memory: Verbs, clock: ManualClock
) -> None:
    note = (await memory.remember("Apple", user="ana", metadata={"a": 1})).record
    clock.advance(days=1)
    merged = await memory.remember(
        "apple", user="ana", slot="employer", importance=0.9, pinned=True, metadata={"b": 2}
    )
    assert (merged.action, merged.record.mentions, merged.record.slot) == (
        "reinforce",
        2,
        "employer",
    )
    clock.advance(days=1)
    undone = await memory.undo(merged.id, user="ana")
    assert without_times(undone.record) == without_times(note)
    assert await memory.get(note.id, user="ana") == undone.record
    assert await memory.facts(user="ana") == {}
    assert undone.record.reason == "undone"


async def test_case_17_a_note_whose_text_moved_into_a_slot_comes_back_with_the_undo(
    memory: Verbs, clock: ManualClock
) -> None:
    free = (await memory.remember("Drinks mate", user="ana")).record
    await memory.remember("Drinks tea", user="ana", slot="drink")
    clock.advance(days=1)
    change = await memory.remember("Drinks mate", user="ana", slot="drink")
    assert texts(await memory.list(user="ana")) == ["Drinks mate"]
    retired = await memory.get(free.id, user="ana")
    assert (retired.status, retired.reason) == ("superseded", "its text moved into a slot")
    clock.advance(days=1)
    await memory.undo(change.id, user="ana")
    active = await memory.list(user="ana")
    assert {note.text: note.slot for note in active} == {"Drinks mate": None, "Drinks tea": "drink"}


async def test_what_was_retired_comes_back_first_if_its_own_change_is_undone_first(
    memory: Verbs,
) -> None:
    free = (await memory.remember("Drinks mate", user="ana")).record
    await memory.remember("Drinks tea", user="ana", slot="drink")
    change = await memory.remember("Drinks mate", user="ana", slot="drink")
    retire_id = (await memory.get(free.id, user="ana")).change_id
    undone = await memory.undo(retire_id, user="ana")
    assert (undone.record.id, undone.record.status) == (free.id, "active")
    await memory.undo(change.id, user="ana")
    assert sorted(texts(await memory.list(user="ana"))) == ["Drinks mate", "Drinks tea"]


async def test_all_changes_of_a_slot_are_undone_from_the_last_to_the_first(
    memory: Verbs, clock: ManualClock
) -> None:
    changes = []
    for text in ("Rosario", "Lima", "Lima", "Quito"):
        changes.append(await memory.remember(text, user="ana", slot="home city"))
        clock.advance(days=1)
    facts = []
    for change in reversed(changes):
        await memory.undo(change.id, user="ana")
        facts.append((await memory.facts(user="ana")).get("home city"))
        clock.advance(days=1)
    assert facts == ["Lima", "Lima", "Rosario", None]


@pytest.mark.parametrize("said_again", [False, True], ids=["supersede", "reinforce"])
async def test_what_was_undone_cannot_be_undone_twice_and_nothing_is_changed(
    memory: Verbs, said_again: bool
) -> None:
    await memory.remember("Lives in Rosario", user="ana", slot="home city")
    city = "Rosario" if said_again else "Lima"
    change = await memory.remember(f"Lives in {city}", user="ana", slot="home city")
    await memory.undo(change.id, user="ana")
    before = await memory.history(change.record.id, user="ana")
    with pytest.raises(ConfigurationError, match="cannot be undone: it was already"):
        await memory.undo(change.id, user="ana")
    assert await memory.history(change.record.id, user="ana") == before


async def test_an_older_change_is_not_undone_over_a_newer_one_and_the_error_says_what_is(
    memory: Verbs,
) -> None:
    await memory.remember("Lives in Rosario", user="ana", slot="home city")
    wrong = await memory.remember("Lives in Lima", user="ana", slot="home city")
    change = await memory.remember("Lives in Quito", user="ana", slot="home city")
    with pytest.raises(ConfigurationError, match=f"to undo first is '{change.id}'"):
        await memory.undo(wrong.id, user="ana")
    assert await memory.facts(user="ana") == {"home city": "Lives in Quito"}


async def test_an_edit_is_undone_whether_it_changed_the_text_or_not(memory: Verbs) -> None:
    note = (await memory.remember("Drinks mate", user="ana", importance=0.3)).record
    text = await memory.edit(note.id, user="ana", text="Drinks tea", kind="preference")
    rest = await memory.edit(note.id, user="ana", importance=0.9, metadata={"by": "hand"})
    await memory.undo(rest.id, user="ana")
    now = await memory.get(note.id, user="ana")
    assert (now.text, now.importance, now.metadata) == ("Drinks tea", 0.3, {})
    await memory.undo(text.id, user="ana")
    assert without_times(await memory.get(note.id, user="ana")) == without_times(note)


async def test_the_latest_of_many_mentions_are_taken_back_one_by_one(memory: Verbs) -> None:
    changes = [await memory.remember("Drinks mate", user="ana") for _ in range(UNDOABLE + 2)]
    for left, change in zip(range(UNDOABLE + 1, 1, -1), reversed(changes), strict=False):
        assert (await memory.undo(change.id, user="ana")).record.mentions == left
    with pytest.raises(ConfigurationError, match="cannot be undone"):
        await memory.undo(changes[1].id, user="ana")


async def test_nothing_comes_back_beside_the_note_that_took_its_place(memory: Verbs) -> None:
    change = await memory.remember("Lives in Rosario", user="ana", slot="home city")
    gone = await memory.undo(change.id, user="ana")
    other = await memory.remember("Lives in Lima", user="ana", slot="home city")
    for verb, id in (("undo", gone.id), ("restore", gone.record.id)):
        with pytest.raises(ConfigurationError, match=f"beside the note '{other.record.id}'"):
            await getattr(memory, verb)(id, user="ana")
    await memory.undo(other.id, user="ana")
    await memory.undo(gone.id, user="ana")
    assert await memory.facts(user="ana") == {"home city": "Lives in Rosario"}


async def test_a_text_that_was_forgotten_does_not_come_back(memory: Verbs) -> None:
    await memory.remember("Lives in Rosario", user="ana", slot="home city")
    change = await memory.remember("Lives in Lima", user="ana", slot="home city")
    await memory.forget(f"{change.record.id}@1", user="ana")
    with pytest.raises(RecordNotFoundError, match="was forgotten"):
        await memory.undo(change.id, user="ana")
    assert texts(await memory.list(user="ana", status=None)) == ["Lives in Lima"]


@pytest.mark.parametrize("id", [5, None, "", "a1b2", "a1b2@", "a1b2@x", "@1", "a@1@2"])
async def test_what_is_no_id_of_a_change_is_refused(memory: Verbs, id: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Change\.id"):
        await memory.undo(id, user="ana")


async def test_of_many_that_undo_one_change_at_once_one_does_and_the_others_are_told(
    chroma_memory: Memory,
) -> None:
    chroma_memory.remember("Lives in Rosario", user="ana", slot="home city")
    change = chroma_memory.remember("Lives in Lima", user="ana", slot="home city")

    def undo(_: int) -> str:
        try:
            return chroma_memory.undo(change.id, user="ana").action
        except ConfigurationError:
            return "refused"

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(undo, range(8))) == [*["refused"] * 7, "restore"]
    assert len(chroma_memory.history(change.record.id, user="ana")) == 3


# -- restore and pin -----------------------------------------------------------------------------


async def test_an_older_version_becomes_active_again_as_a_new_one(
    memory: Verbs, clock: ManualClock
) -> None:
    for city in ("罗萨里奥", "利马", "基多"):
        change = await memory.remember(f"住在{city}", user="ana", slot="居住地")
        clock.advance(days=1)
    id = change.record.id
    await memory.pin(id, user="ana")
    restored = await memory.restore(f"{id}@1", user="ana")
    assert (restored.action, restored.reason) == ("restore", "version 1 restored")
    assert (restored.record.text, restored.record.version) == ("住在罗萨里奥", 4)
    assert restored.record.pinned  # what a person wants to see is not taken away
    assert texts(await memory.list(user="ana")) == ["住在罗萨里奥"]
    assert (await memory.undo(restored.id, user="ana")).record.text == "住在基多"


async def test_a_note_that_was_put_away_is_restored_by_the_id_that_a_list_shows(
    memory: Verbs,
) -> None:
    change = await memory.remember("Drinks mate", user="ana")
    await memory.undo(change.id, user="ana")
    [away] = await memory.list(user="ana", status="archived")
    await memory.restore(away.id, user="ana")
    assert texts(await memory.list(user="ana")) == ["Drinks mate"]
    assert await memory.list(user="ana", status="archived") == []


def test_a_note_that_was_over_ends_no_later_when_put_away_and_holds_again_when_restored(
    chroma_memory: Memory, clock: ManualClock
) -> None:
    note = chroma_memory.remember("Is in Porto this week", user="ana").record
    over = replace(note, valid_until=clock())
    clock.advance(days=2)
    away = archived(over, clock(), "no longer").record
    assert away.valid_until == over.valid_until
    back = restored(away.id, [away], clock())[0].record
    assert (back.status, back.valid_until) == ("active", None)


async def test_what_is_active_or_does_not_exist_is_not_restored(memory: Verbs) -> None:
    change = await memory.remember("Drinks mate", user="ana")
    for id in (change.record.id, change.id):
        with pytest.raises(ConfigurationError, match="is active already"):
            await memory.restore(id, user="ana")
    for id in (f"{change.record.id}@2", "none", "none@1"):
        with pytest.raises(RecordNotFoundError, match="no version"):
            await memory.restore(id, user="ana")


async def test_a_pinned_note_is_in_every_prompt_until_it_is_pinned_no_longer(
    memory: Verbs,
) -> None:
    fact = (await memory.remember("Fact", user="ana")).record
    for number in range(PROFILE_NOTES):
        await memory.remember(f"More important {number}", user="ana", importance=0.9)

    async def profile() -> list[str]:
        return texts((await memory.recall("x", user="ana")).profile)

    assert "Fact" not in await profile()
    pin = await memory.pin(fact.id, user="ana")
    assert (await profile())[0] == "Fact"
    await memory.undo(pin.id, user="ana")
    assert "Fact" not in await profile()
    await memory.pin(fact.id, user="ana")
    await memory.pin(fact.id, user="ana", pinned=False)
    assert "Fact" not in await profile()


# -- facts ---------------------------------------------------------------------------------------


async def test_facts_are_the_values_that_slots_have_now(memory: Verbs, clock: ManualClock) -> None:
    for slot, value in [
        ("home city", "Rosario"),
        ("最喜欢的豆子", "哥伦比亚"),
        ("home city", "Córdoba"),
    ]:
        await memory.remember(value, user="ana", slot=slot)
        clock.advance(days=1)
    await memory.remember("Has a moka pot", user="ana")
    await memory.remember("Lima", user="ben", slot="home city")
    facts = await memory.facts(user="ana")
    assert list(facts.items()) == [("home city", "Córdoba"), ("最喜欢的豆子", "哥伦比亚")]


# -- approval ------------------------------------------------------------------------------------


async def test_a_proposed_note_counts_from_when_it_is_approved(
    memory: Verbs, store: BaseStore, clock: ManualClock
) -> None:
    proposal = propose(store, "Drinks mate", clock())
    asked = clock.advance(days=1)
    assert (await memory.recall("Drinks mate", user="ana")).profile == ()
    assert await memory.list(user="ana", status="proposed") == [proposal]
    clock.advance(days=1)
    change = await memory.approve(proposal.id, user="ana")
    assert (change.action, change.reason, change.record.id) == ("add", "approved", proposal.id)
    assert change.record.valid_from == clock()
    assert texts((await memory.recall("Drinks mate", user="ana")).profile) == ["Drinks mate"]
    assert (await memory.recall("Drinks mate", user="ana", as_of=asked)).profile == ()
    undone = await memory.undo(change.id, user="ana")
    assert (undone.action, undone.record.status) == ("archive", "archived")


async def test_an_approved_note_reinforces_one_that_says_the_same(
    memory: Verbs, store: BaseStore, clock: ManualClock
) -> None:
    note = (await memory.remember("Drinks mate", user="ana")).record
    proposal = propose(store, "drinks MATE", clock())
    change = await memory.approve(proposal.id, user="ana")
    assert (change.action, change.record.id, change.record.mentions) == ("reinforce", note.id, 2)
    [settled] = await memory.list(user="ana", status="archived")
    assert (settled.id, settled.superseded_by, settled.reason) == (proposal.id, note.id, "approved")
    await memory.undo(change.id, user="ana")
    assert [note.mentions for note in await memory.list(user="ana")] == [1]


async def test_an_approved_value_takes_its_slot_over(
    memory: Verbs, store: BaseStore, clock: ManualClock
) -> None:
    old = (await memory.remember("Lives in Rosario", user="ana", slot="home city")).record
    proposal = propose(store, "Lives in Lima", clock.advance(days=1), slot="Home city")
    change = await memory.approve(proposal.id, user="ana")
    assert (change.action, change.record.id) == ("supersede", old.id)
    assert texts(await memory.history(old.id, user="ana")) == ["Lives in Rosario", "Lives in Lima"]
    assert texts(await memory.list(user="ana")) == ["Lives in Lima"]
    await memory.undo(change.id, user="ana")
    assert texts(await memory.list(user="ana")) == ["Lives in Rosario"]


async def test_a_rejected_note_was_known_at_no_time_and_can_be_proposed_again(
    memory: Verbs, store: BaseStore, clock: ManualClock
) -> None:
    proposal = propose(store, "Drinks mate", clock())
    clock.advance(days=1)
    change = await memory.reject(proposal.id, user="ana")
    assert (change.action, change.record.status) == ("archive", "archived")
    assert change.reason == change.record.reason == "rejected"
    for moment in (None, proposal.created_at, clock()):
        recalled = await memory.recall("Drinks mate", user="ana", as_of=moment)
        assert (recalled.profile, recalled.hits) == ((), ())
    with pytest.raises(RecordNotFoundError, match="no proposed note"):
        await memory.approve(proposal.id, user="ana")
    assert (await memory.undo(change.id, user="ana")).record.status == "proposed"
    assert (await memory.approve(proposal.id, user="ana")).record.status == "active"


@pytest.mark.parametrize("verb", ["approve", "reject"])
async def test_only_proposed_notes_are_approved_or_rejected(memory: Verbs, verb: str) -> None:
    note = (await memory.remember("Drinks mate", user="ana")).record
    for id in (note.id, "none"):
        with pytest.raises(RecordNotFoundError, match="no proposed note"):
            await getattr(memory, verb)(id, user="ana")
    with pytest.raises(ConfigurationError, match="id="):
        await getattr(memory, verb)(None, user="ana")


async def test_a_proposed_note_is_neither_restored_nor_edited(
    memory: Verbs, store: BaseStore, clock: ManualClock
) -> None:
    proposal = propose(store, "Drinks mate", clock())
    with pytest.raises(ConfigurationError, match="approve it"):
        await memory.restore(proposal.id, user="ana")
    with pytest.raises(RecordNotFoundError):
        await memory.edit(proposal.id, user="ana", text="Drinks tea")


# -- what is hidden, and whose it is -------------------------------------------------------------


async def test_only_active_notes_come_up_unless_others_are_asked_for(
    memory: Verbs, store: BaseStore, clock: ManualClock
) -> None:
    """However many there are of the others: they take no place among the hits."""
    for number in range(40):
        change = await memory.remember(f"Drinks mate {number}", user="ana", pinned=True)
        await memory.undo(change.id, user="ana")
        propose(store, f"Drinks mate at {number}", clock())
    await memory.remember("Drinks mate at home", user="ana", slot="drink", pinned=True)
    await memory.remember("Drinks mate outside", user="ana", slot="drink")
    recalled = await memory.recall("Drinks mate", user="ana", min_relevance=0)
    for found in (
        recalled.profile,
        [hit.record for hit in recalled],
        await memory.list(user="ana"),
    ):
        assert texts(found) == ["Drinks mate outside"]
    assert (await memory.count(user="ana"))["note"] == 1
    statuses = {"archived": 40, "proposed": 40, "superseded": 1, "active": 1}
    for status, number in statuses.items():
        assert len(await memory.list(user="ana", status=status)) == number
    assert len(await memory.list(user="ana", status=None)) == sum(statuses.values())


@pytest.mark.parametrize("owner", ["user", "project", "agent"])
async def test_nothing_of_anybody_else_is_found_or_changed(memory: Verbs, owner: str) -> None:
    theirs: dict[str, str] = {"user": "ana"} if owner == "user" else {"user": "ana", owner: "x"}
    others: list[dict[str, str]] = [{"user": "an"}, {"user": "ana", "project": "y"}]
    await memory.remember("Rosario", slot="home city", **theirs)
    change = await memory.remember("Lima", slot="home city", **theirs)
    id = change.record.id
    for other in others:
        assert await memory.history(id, **other) == []
        assert await memory.facts(**other) == {}
        calls = {"undo": change.id, "restore": f"{id}@1", "pin": id, "approve": id, "reject": id}
        for verb, argument in calls.items():
            with pytest.raises(RecordNotFoundError):
                await getattr(memory, verb)(argument, **other)
    assert await memory.facts(**theirs) == {"home city": "Lima"}
    await memory.pin(id, **theirs)
    await memory.restore(f"{id}@1", **theirs)
    assert texts(await memory.history(id, **theirs)) == ["Rosario", "Lima", "Rosario"]
    assert await memory.facts(**theirs) == {"home city": "Rosario"}


@pytest.mark.parametrize("user", [None, "", 1.5])
async def test_a_user_has_to_be_named(memory: Verbs, user: Any) -> None:
    calls: dict[str, list[str]] = {verb: ["a@1"] for verb in ("history", "undo", "restore", "pin")}
    for verb, arguments in {**calls, "approve": ["a"], "reject": ["a"], "facts": []}.items():
        with pytest.raises(ConfigurationError, match="user"):
            await getattr(memory, verb)(*arguments, user=user)


# -- cases that users of memory met --------------------------------------------------------------


@pytest.mark.parametrize(
    ("slot", "loves", "hates"),
    [
        ("chinese food", "Loves Chinese food", "Hates Chinese food"),
        ("中餐", "爱吃中餐", "讨厌中餐"),
    ],
)
async def test_case_2_a_changed_mind_is_active_and_the_old_one_in_the_history(
    memory: Verbs, clock: ManualClock, slot: str, loves: str, hates: str
) -> None:
    await memory.remember(loves, user="ana", kind="preference", slot=slot)
    clock.advance(days=1)
    change = await memory.remember(hates, user="ana", kind="preference", slot=slot)
    assert texts(await memory.list(user="ana")) == [hates]
    assert texts(await memory.history(change.record.id, user="ana")) == [loves, hates]


async def test_case_3_a_text_that_is_there_makes_no_version_and_a_new_one_is_stored(
    memory: Verbs,
) -> None:
    note = (await memory.remember("Lives in Lima", user="ana", slot="home city")).record
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    await memory.edit(note.id, user="ana", text="Lives in Lima")
    assert texts(await memory.history(note.id, user="ana")) == ["Lives in Lima"]
    await memory.edit(note.id, user="ana", text="Lives in Quito")
    assert texts(await memory.history(note.id, user="ana")) == ["Lives in Lima", "Lives in Quito"]


async def test_case_5_a_fact_about_the_same_thing_retires_no_other_and_nor_does_its_undo(
    memory: Verbs,
) -> None:
    facts = {"employer": "Works at Acme", "Acme's city": "Acme is in Lima", None: "Acme pays well"}
    for slot, text in facts.items():
        await memory.remember(text, user="ana", slot=slot)
    change = await memory.remember("Acme was bought by Globex", user="ana")
    assert sorted(texts(await memory.list(user="ana"))) == sorted(
        [*facts.values(), change.record.text]
    )
    await memory.undo(change.id, user="ana")
    assert sorted(texts(await memory.list(user="ana"))) == sorted(facts.values())


async def test_case_16_the_new_employer_comes_up_and_the_old_one_if_the_past_is_asked_for(
    memory: Verbs, clock: ManualClock
) -> None:
    await memory.remember("Works at Acme", user="ana", slot="employer")
    then = clock()
    clock.advance(days=120)
    change = await memory.remember("Works at Globex", user="ana", slot="employer")
    question = "Where does Ana work? Works at"
    now = await memory.recall(question, user="ana", min_relevance=0)
    assert texts(now) == texts(now.profile) == ["Works at Globex"]
    past = await memory.recall(question, user="ana", min_relevance=0, as_of=then)
    assert texts(past) == texts(past.profile) == ["Works at Acme"]
    chain = await memory.history(change.record.id, user="ana")
    assert texts(chain) == ["Works at Acme", "Works at Globex"]


async def test_the_past_stays_as_it_was_whatever_is_taken_back_later(
    memory: Verbs, clock: ManualClock
) -> None:
    known: dict[datetime, list[str]] = {}

    async def note_down() -> None:
        known[clock()] = texts((await memory.recall("city", user="ana")).profile)
        clock.advance(days=1)

    first = await memory.remember("Lives in Rosario", user="ana", slot="home city")
    await note_down()
    second = await memory.remember("Lives in Lima", user="ana", slot="home city")
    await note_down()
    for step in (
        lambda: memory.undo(second.id, user="ana"),
        lambda: memory.undo(first.id, user="ana"),
        lambda: memory.restore(f"{first.record.id}@2", user="ana"),
        lambda: memory.edit(first.record.id, user="ana", text="Lives in Quito"),
    ):
        await step()
        await note_down()
    assert list(known.values()) == [
        ["Lives in Rosario"],
        ["Lives in Lima"],
        ["Lives in Rosario"],
        [],
        ["Lives in Lima"],
        ["Lives in Quito"],
    ]
    for moment, expected in known.items():
        then = await memory.recall("city Lives in", user="ana", as_of=moment, min_relevance=0)
        assert texts(then.profile) == texts(then) == expected
