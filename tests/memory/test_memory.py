"""The verbs of a memory: what is kept, found again, changed and forgotten, and whose it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.store.base import BaseStore, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, Memory, Ranking
from langgraph_memory.errors import (
    ConfigurationError,
    LangGraphMemoryError,
    MissingUserError,
    RecordNotFoundError,
)
from langgraph_memory.messages.langchain import with_block
from langgraph_memory.records.receipts import Receipt
from langgraph_memory.records.records import OUTCOMES
from langgraph_memory.retrieval.recalled import Recalled
from langgraph_memory.testing import HashingEmbeddings, ManualClock

if TYPE_CHECKING:
    from tests.conftest import Verbs

ALL_TYPES = ("note", "message", "episode")
NAIVE = datetime(2026, 5, 1, 12)  # noqa: DTZ001 - it is refused
MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)


def texts(records: Any) -> list[str]:
    return [record.text for record in records]


async def everything(memory: Verbs, user: Any) -> list[Any]:
    """All records of a user, superseded notes too."""
    return list(await memory.list(user=user, types=ALL_TYPES, status=None))


# -- remembering ---------------------------------------------------------------------------------


async def test_a_note_is_kept_with_all_that_was_said_about_it(
    memory: Verbs, clock: ManualClock
) -> None:
    change = await memory.remember(
        "  Ships to Rosario\n",
        user="ana",
        kind="preference",
        slot="address",
        importance=0.8,
        pinned=True,
        metadata={"city": "Rosario", "stops": [1, 2]},
    )
    note = await memory.get(change.record.id, user="ana")
    assert (change.action, change.previous) == ("add", None)
    assert note == change.record
    assert (note.text, note.kind, note.slot) == ("Ships to Rosario", "preference", "address")
    assert (note.importance, note.pinned) == (0.8, True)
    assert note.metadata == {"city": "Rosario", "stops": [1, 2]}
    assert (note.status, note.version, note.mentions, note.author) == ("active", 1, 1, "ana")
    assert note.created_at == note.updated_at == note.valid_from == clock()
    assert note.valid_until is None
    assert note.superseded_by is None


async def test_a_note_is_a_useful_unpinned_fact_unless_said_otherwise(memory: Verbs) -> None:
    note = (await memory.remember("Has a moka pot", user="ana")).record
    assert (note.kind, note.slot, note.importance, note.pinned) == ("fact", None, 0.5, False)
    assert note.metadata == {}


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Drinks decaf", "Drinks decaf"),
        ("Drinks decaf", " \n drinks\t DECAF  "),
        ("Wohnt in der Ringstraße", "WOHNT IN DER RINGSTRASSE"),
        ("我喜欢手冲咖啡", " 我喜欢手冲咖啡 "),
        ("☕🙂", "☕🙂"),
    ],
)
async def test_what_is_said_again_is_one_note_with_its_mentions_counted(
    memory: Verbs, first: str, again: str
) -> None:
    added = await memory.remember(first, user="ana")
    change = await memory.remember(again, user="ana")
    assert change.action == "reinforce"
    assert change.previous == added.record
    assert change.record.id == added.record.id
    [note] = await memory.list(user="ana", status=None)
    assert (note.text, note.mentions, note.version) == (first, 2, 1)


async def test_saying_it_again_adds_to_the_note_and_takes_nothing_from_it(
    memory: Verbs, clock: ManualClock
) -> None:
    started = clock()
    first = {"importance": 0.9, "pinned": True, "metadata": {"a": 1, "b": 1}}
    await memory.remember("Is allergic to nuts", user="ana", **first)
    clock.advance(days=3)
    await memory.remember("is allergic to nuts", user="ana", importance=0.2, metadata={"b": 2})
    [note] = await memory.list(user="ana")
    assert (note.importance, note.pinned, note.metadata) == (0.9, True, {"a": 1, "b": 2})
    assert (note.created_at, note.valid_from) == (started, started)
    assert note.updated_at == started + timedelta(days=3)


async def test_a_note_names_all_messages_that_it_comes_from(memory: Verbs) -> None:
    for sources in (["m-1", "m-2"], ("m-2", "m-3"), ()):
        await memory.remember("Is allergic to nuts", user="ana", sources=sources)
    [note] = await memory.list(user="ana")
    assert note.sources == ("m-1", "m-2", "m-3")
    assert note.said_by == "user"
    for wrong in ("m-1", None, [1]):
        with pytest.raises(ConfigurationError, match="sources= is a sequence of ids"):
            await memory.remember("Is allergic to nuts", user="ana", sources=wrong)


async def test_saying_it_again_as_more_important_raises_the_note(memory: Verbs) -> None:
    await memory.remember("Is allergic to nuts", user="ana", importance=0.2)
    await memory.remember("Is allergic to nuts", user="ana", importance=0.9, pinned=True)
    [note] = await memory.list(user="ana")
    assert (note.importance, note.pinned) == (0.9, True)


async def test_the_same_text_of_another_kind_is_another_note(memory: Verbs) -> None:
    await memory.remember("Answer in Spanish", user="ana", kind="preference")
    change = await memory.remember("Answer in Spanish", user="ana", kind="instruction")
    assert change.action == "add"
    notes = await memory.list(user="ana")
    assert sorted(note.kind for note in notes) == ["instruction", "preference"]


async def test_what_one_user_says_does_not_reinforce_what_another_said(memory: Verbs) -> None:
    await memory.remember("Drinks decaf", user="ana")
    assert (await memory.remember("Drinks decaf", user="ben")).action == "add"
    assert (await memory.remember("Drinks decaf", user="ben", project="bar")).action == "add"
    assert (await memory.remember("Drinks decaf", user="ben", agent="bar")).action == "add"


# -- slots ---------------------------------------------------------------------------------------


async def test_a_new_value_for_a_slot_supersedes_the_old_one_which_stays_as_a_version(
    memory: Verbs, clock: ManualClock
) -> None:
    started = clock()
    first = (await memory.remember("Lives in Rosario", user="ana", slot="home city")).record
    clock.advance(days=10)
    change = await memory.remember("Lives in Lima", user="ana", slot="home city")
    assert change.action == "supersede"
    assert change.previous == first
    assert change.record.id == first.id
    [note] = await memory.list(user="ana")
    assert (note.text, note.version, note.status) == ("Lives in Lima", 2, "active")
    assert (note.created_at, note.valid_from) == (started, clock())
    old = await memory.get(f"{first.id}@1", user="ana")
    assert (old.text, old.version, old.status) == ("Lives in Rosario", 1, "superseded")
    assert (old.valid_from, old.valid_until) == (started, clock())
    assert old.superseded_by == first.id


async def test_every_value_that_a_slot_had_is_kept_in_order(memory: Verbs) -> None:
    cities = ["Rosario", "Lima", "Quito", "Rosario"]
    for city in cities:
        change = await memory.remember(f"Lives in {city}", user="ana", slot="home city")
    id = change.record.id
    assert texts(await memory.list(user="ana")) == ["Lives in Rosario"]
    assert change.record.version == 4
    versions = [await memory.get(f"{id}@{number}", user="ana") for number in (1, 2, 3)]
    assert texts(versions) == ["Lives in Rosario", "Lives in Lima", "Lives in Quito"]
    assert await memory.get(f"{id}@4", user="ana") is None


async def test_what_contradicts_a_note_of_a_slot_replaces_it(memory: Verbs) -> None:
    await memory.remember("I love Chinese food", user="ana", slot="chinese food")
    await memory.remember("I hate Chinese food", user="ana", slot="chinese food")
    assert texts(await memory.list(user="ana")) == ["I hate Chinese food"]
    assert texts(await memory.list(user="ana", status="superseded")) == ["I love Chinese food"]


@pytest.mark.parametrize("slot", ["Home City", "  home   city\n", "HOME CITY"])
async def test_the_name_of_a_slot_is_compared_without_case_and_spaces(
    memory: Verbs, slot: str
) -> None:
    await memory.remember("Lives in Rosario", user="ana", slot="home city")
    assert (await memory.remember("Lives in Lima", user="ana", slot=slot)).action == "supersede"
    assert await memory.count(user="ana") == {"note": 1, "message": 0, "episode": 0, "document": 0}


async def test_a_new_value_for_a_slot_leaves_all_else_alone(memory: Verbs) -> None:
    await memory.remember("Lives in Rosario", user="ben", slot="home city")
    await memory.remember("Was born in Rosario", user="ana", slot="birth city")
    await memory.remember("Loves her home city", user="ana")
    await memory.remember("Lives in Rosario", user="ana", slot="home city")
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    assert texts(await memory.list(user="ben")) == ["Lives in Rosario"]
    assert set(texts(await memory.list(user="ana"))) == {
        "Was born in Rosario",
        "Loves her home city",
        "Lives in Lima",
    }


async def test_the_same_value_for_a_slot_reinforces_it(memory: Verbs) -> None:
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    change = await memory.remember("lives in lima", user="ana", slot="home city")
    assert (change.action, change.record.mentions) == ("reinforce", 2)
    assert await memory.list(user="ana", status="superseded") == []


async def test_a_pinned_slot_stays_pinned_when_its_value_changes(memory: Verbs) -> None:
    await memory.remember("Lives in Rosario", user="ana", slot="home city", pinned=True)
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    [note] = await memory.list(user="ana")
    assert note.pinned


async def test_a_note_that_is_said_again_with_a_slot_becomes_the_note_of_that_slot(
    memory: Verbs,
) -> None:
    first = (await memory.remember("Lives in Lima", user="ana")).record
    change = await memory.remember("Lives in Lima", user="ana", slot="home city")
    assert (change.action, change.record.id) == ("reinforce", first.id)
    await memory.remember("Lives in Quito", user="ana", slot="home city")
    assert texts(await memory.list(user="ana")) == ["Lives in Quito"]


async def test_a_note_of_a_slot_is_reinforced_also_where_the_slot_is_not_named(
    memory: Verbs,
) -> None:
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    change = await memory.remember("Lives in Lima", user="ana")
    assert (change.action, change.record.slot) == ("reinforce", "home city")


async def test_a_text_that_was_noted_before_it_took_a_slot_over_is_active_once(
    memory: Verbs,
) -> None:
    plain = (await memory.remember("Lives in Lima", user="ana")).record
    await memory.remember("Lives in Rosario", user="ana", slot="home city")
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    assert texts(await memory.list(user="ana")) == ["Lives in Lima"]
    kept = await memory.get(plain.id, user="ana")
    assert (kept.text, kept.status) == ("Lives in Lima", "superseded")


async def test_two_slots_can_have_the_same_value(memory: Verbs) -> None:
    await memory.remember("blue", user="ana", slot="favourite colour")
    await memory.remember("blue", user="ana", slot="colour of the car")
    slots = {note.slot: note.text for note in await memory.list(user="ana")}
    assert slots == {"favourite colour": "blue", "colour of the car": "blue"}


async def test_a_slot_that_takes_the_value_of_another_leaves_that_one_its_value(
    memory: Verbs,
) -> None:
    await memory.remember("blue", user="ana", slot="favourite colour")
    await memory.remember("red", user="ana", slot="colour of the car")
    await memory.remember("blue", user="ana", slot="colour of the car")
    slots = {note.slot: note.text for note in await memory.list(user="ana")}
    assert slots == {"favourite colour": "blue", "colour of the car": "blue"}


async def test_an_old_value_of_a_slot_can_be_noted_without_the_slot(memory: Verbs) -> None:
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    await memory.remember("Lives in Quito", user="ana", slot="home city")
    assert (await memory.remember("Lives in Lima", user="ana")).action == "add"
    assert set(texts(await memory.list(user="ana"))) == {"Lives in Lima", "Lives in Quito"}


# -- editing -------------------------------------------------------------------------------------


async def test_an_edited_note_keeps_its_id_and_what_was_not_edited(
    memory: Verbs, clock: ManualClock
) -> None:
    note = (
        await memory.remember(
            "Ships to Rosrio",
            user="ana",
            kind="preference",
            slot="address",
            importance=0.8,
            pinned=True,
            metadata={"city": "Rosario"},
        )
    ).record
    clock.advance(days=1)
    change = await memory.edit(note.id, user="ana", text=" Ships to Rosario ")
    assert (change.action, change.previous) == ("supersede", note)
    edited = await memory.get(note.id, user="ana")
    assert edited == change.record
    assert (edited.text, edited.version) == ("Ships to Rosario", 2)
    assert (edited.updated_at, edited.valid_from) == (clock(), clock())
    for name in ("id", "kind", "slot", "importance", "pinned", "metadata", "created_at", "author"):
        assert getattr(edited, name) == getattr(note, name)
    old = await memory.get(f"{note.id}@1", user="ana")
    assert (old.text, old.status, old.superseded_by) == ("Ships to Rosrio", "superseded", note.id)
    assert old.valid_until == clock()


async def test_an_edited_note_is_found_by_its_new_text_and_no_longer_by_the_old(
    memory: Verbs,
) -> None:
    note = (await memory.remember("Grinds for espresso", user="ana")).record
    await memory.edit(note.id, user="ana", text="Brews with chemex")
    assert texts(await memory.recall("chemex", user="ana")) == ["Brews with chemex"]
    assert (await memory.recall("espresso", user="ana")).nothing_known


@pytest.mark.parametrize(
    "change", [{"importance": 1}, {"pinned": True}, {"metadata": {"by": "phone"}}]
)
async def test_what_does_not_change_a_notes_text_makes_no_version(
    memory: Verbs, change: dict[str, Any]
) -> None:
    note = (await memory.remember("Drinks decaf", user="ana", metadata={"a": 1})).record
    assert (await memory.edit(note.id, user="ana", **change)).action == "update"
    [edited] = await memory.list(user="ana", status=None)
    assert edited.version == 1
    [(name, value)] = change.items()
    assert getattr(edited, name) == value


async def test_another_kind_is_another_version(memory: Verbs) -> None:
    note = (await memory.remember("Drinks decaf", user="ana", kind="fact")).record
    await memory.edit(note.id, user="ana", kind="preference")
    assert (await memory.get(note.id, user="ana")).kind == "preference"
    assert (await memory.get(f"{note.id}@1", user="ana")).kind == "fact"


async def test_a_note_can_be_edited_there_and_back_again(memory: Verbs) -> None:
    id = (await memory.remember("Drinks decaf", user="ana")).record.id
    for text in ("Drinks tea", "Drinks decaf", "drinks DECAF"):
        await memory.edit(id, user="ana", text=text)
    assert texts(await memory.list(user="ana")) == ["drinks DECAF"]
    history = [await memory.get(f"{id}@{number}", user="ana") for number in (1, 2, 3)]
    assert texts(history) == ["Drinks decaf", "Drinks tea", "Drinks decaf"]


async def test_the_old_text_of_an_edited_note_can_be_remembered_beside_it(memory: Verbs) -> None:
    """Also many times over: no new note takes the row of an old one."""
    ids = set()
    for number in range(6):
        note = (await memory.remember("Drinks decaf", user="ana")).record
        ids.add(note.id)
        await memory.edit(note.id, user="ana", text=f"Drinks brew number {number}")
    assert len(ids) == 6
    found = texts(await memory.list(user="ana"))
    assert sorted(found) == [f"Drinks brew number {number}" for number in range(6)]


async def test_an_edited_note_of_a_slot_is_still_the_note_of_that_slot(memory: Verbs) -> None:
    id = (await memory.remember("Lives in Rosrio", user="ana", slot="home city")).record.id
    await memory.edit(id, user="ana", text="Lives in Rosario")
    change = await memory.remember("Lives in Lima", user="ana", slot="home city")
    assert (change.action, change.record.id, change.record.version) == ("supersede", id, 3)
    assert texts(await memory.list(user="ana")) == ["Lives in Lima"]


async def test_only_an_active_note_of_the_user_can_be_edited(memory: Verbs) -> None:
    mine = (await memory.remember("Lives in Rosario", user="ana", slot="home city")).record
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    [message] = await memory.log_turn([HumanMessage("Hi", id="1")], user="ana", thread_id="t")
    episode = await memory.log_episode("Order beans", user="ana")
    shared = (await memory.remember("Opens at nine", user="ana", project="bar")).record
    before = await everything(memory, "ana")
    for id in (f"{mine.id}@1", "unknown", "", message.id, episode.id, shared.id):
        with pytest.raises(RecordNotFoundError, match=r"no active note with the id .*project="):
            await memory.edit(id, user="ana", text="Lives in Quito")
    with pytest.raises(RecordNotFoundError):
        await memory.edit(mine.id, user="ben", text="Lives in Quito")
    assert await everything(memory, "ana") == before


async def test_an_edit_cannot_make_two_notes_of_one(memory: Verbs) -> None:
    await memory.remember("Drinks decaf", user="ana", kind="preference")
    other = (await memory.remember("Drinks tea", user="ana", kind="preference")).record
    as_fact = (await memory.remember("Drinks decaf", user="ana", kind="fact")).record
    before = await everything(memory, "ana")
    with pytest.raises(ConfigurationError, match="says this already"):
        await memory.edit(other.id, user="ana", text="drinks  DECAF")
    with pytest.raises(ConfigurationError, match="says this already"):
        await memory.edit(as_fact.id, user="ana", kind="preference")
    assert await everything(memory, "ana") == before


async def test_an_edit_may_say_what_another_user_or_an_older_version_says(memory: Verbs) -> None:
    await memory.remember("Drinks tea", user="ben")
    older = (await memory.remember("Drinks tea", user="ana")).record
    await memory.edit(older.id, user="ana", text="Drinks mate")
    note = (await memory.remember("Drinks decaf", user="ana")).record
    await memory.edit(note.id, user="ana", text="Drinks tea")
    assert set(texts(await memory.list(user="ana"))) == {"Drinks mate", "Drinks tea"}


# -- getting, listing, counting ------------------------------------------------------------------


async def test_a_record_of_any_type_is_got_by_its_id(memory: Verbs) -> None:
    note = (await memory.remember("Drinks decaf", user="ana")).record
    [message] = await memory.log_turn([HumanMessage("Hi", id="1")], user="ana", thread_id="t")
    episode = await memory.log_episode("Order beans", user="ana")
    for record in (note, message, episode):
        assert await memory.get(record.id, user="ana") == record
        assert await memory.get(record.id, user="ben") is None
    assert await memory.get("unknown", user="ana") is None


async def test_a_list_is_newest_first_and_counts_what_was_said_again_as_new(
    memory: Verbs, clock: ManualClock
) -> None:
    for text in ("one", "two", "three", "one"):
        await memory.remember(text, user="ana")
        clock.advance(minutes=1)
    assert texts(await memory.list(user="ana")) == ["one", "three", "two"]


async def test_messages_of_one_moment_are_listed_in_the_order_they_were_said(
    memory: Verbs,
) -> None:
    said: list[BaseMessage] = [HumanMessage(f"message {i}", id=str(i)) for i in range(12)]
    await memory.log_turn(said, user="ana", thread_id="t")
    listed = await memory.list(user="ana", types=("message",))
    assert texts(reversed(listed)) == [message.text for message in said]


async def test_a_list_is_of_the_types_and_kinds_that_are_asked_for(memory: Verbs) -> None:
    await memory.remember("Drinks decaf", user="ana", kind="preference")
    await memory.remember("Owns a grinder", user="ana", kind="fact")
    await memory.remember("Call before noon", user="ana", kind="instruction")
    await memory.log_turn("Good morning", user="ana", thread_id="t")
    await memory.log_episode("Order beans", user="ana")

    async def types(**choice: Any) -> set[tuple[str, str | None]]:
        records = await memory.list(user="ana", **choice)
        return {(record.type, getattr(record, "kind", None)) for record in records}

    notes = {("note", "preference"), ("note", "fact"), ("note", "instruction")}
    assert await types() == notes
    assert await types(types=("message",)) == {("message", None)}
    assert await types(types=["message", "episode"]) == {("message", None), ("episode", None)}
    assert await types(types=ALL_TYPES) == notes | {("message", None), ("episode", None)}
    assert await types(kinds=("fact",)) == {("note", "fact")}
    assert await types(kinds=["fact", "instruction"], types=ALL_TYPES) == {
        ("note", "fact"),
        ("note", "instruction"),
    }
    assert await types(kinds=("lesson",)) == set()
    assert await types(kinds=()) == await types(types=()) == set()


@pytest.mark.parametrize(
    ("contains", "found"),
    [
        ("moka", {"Uses a Moka  pot"}),
        ("MOKA POT", {"Uses a Moka  pot"}),
        ("ok", {"Uses a Moka  pot", "Is ok with chicory"}),
        ("摩卡", {"用摩卡壶"}),
        ("tea", set()),
        ("%", {"Likes 100% arabica"}),
        ("_", set()),
        ("", {"Uses a Moka  pot", "Is ok with chicory", "用摩卡壶", "Likes 100% arabica"}),
    ],
)
async def test_a_list_can_be_of_what_contains_some_words(
    memory: Verbs, contains: str, found: set[str]
) -> None:
    for text in ("Uses a Moka  pot", "Is ok with chicory", "用摩卡壶", "Likes 100% arabica"):
        await memory.remember(text, user="ana")
    assert set(texts(await memory.list(user="ana", contains=contains))) == found


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"city": "Lima"}, {"two"}),
        ({"city": {"$ne": "Lima"}}, {"one", "three"}),
        ({"importance": {"$gte": 0.5}}, {"one", "two"}),
        ({"importance": {"$gte": 0.5, "$lt": 0.9}}, {"one"}),
        ({"importance": 0.9, "city": "Lima"}, {"two"}),
        ({"importance": 0.9, "city": "Lima", "pinned": False}, {"two"}),
        ({"importance": 0.9, "city": "Rosario"}, set()),
        ({"city": None}, {"three"}),
        ({"metadata": {"city": "Rosario"}}, {"one"}),
        ({}, {"one", "two", "three"}),
    ],
)
async def test_a_list_can_be_filtered_by_fields_and_metadata(
    memory: Verbs, filter: dict[str, Any], found: set[str]
) -> None:
    await memory.remember("one", user="ana", importance=0.5, metadata={"city": "Rosario"})
    await memory.remember("two", user="ana", importance=0.9, metadata={"city": "Lima"})
    await memory.remember("three", user="ana", importance=0.1)
    assert set(texts(await memory.list(user="ana", filter=filter))) == found


@pytest.mark.parametrize("field", ["score", "status", "id"])
async def test_a_filter_that_names_what_no_episode_has_is_refused(
    memory: Verbs, field: str
) -> None:
    wrong = {"filter": {field: "x"}, "types": ("episode",)}
    for found in (memory.list(user="ana", **wrong), memory.recall("tea", user="ana", **wrong)):
        with pytest.raises(ConfigurationError, match=f"'{field}'.* quality_score"):
            await found
    others = await memory.list(user="ana", types=("episode", "note"), filter={field: "x"})
    assert others == []  # a note's metadata may have it


async def test_superseded_notes_are_listed_only_when_they_are_asked_for(memory: Verbs) -> None:
    for city in ("Rosario", "Lima"):
        await memory.remember(city, user="ana", slot="home city")
    assert texts(await memory.list(user="ana")) == ["Lima"]
    assert texts(await memory.list(user="ana", status="superseded")) == ["Rosario"]
    assert set(texts(await memory.list(user="ana", status=None))) == {"Rosario", "Lima"}


async def test_pages_of_a_list_make_up_the_whole(memory: Verbs, clock: ManualClock) -> None:
    for number in range(7):
        await memory.remember(f"note {number}", user="ana")
        clock.advance(minutes=1)
    whole = await memory.list(user="ana")
    assert len(whole) == 7
    pages = [await memory.list(user="ana", limit=3, offset=start) for start in (0, 3, 6, 9)]
    assert [record for page in pages for record in page] == whole
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert await memory.list(user="ana", limit=0) == []


async def test_a_count_is_of_the_users_own_records_and_active_notes(memory: Verbs) -> None:
    assert await memory.count(user="ana") == {"note": 0, "message": 0, "episode": 0, "document": 0}
    for city in ("Rosario", "Lima"):
        await memory.remember(city, user="ana", slot="home city")
    await memory.remember("Drinks decaf", user="ana")
    await memory.log_turn([("user", "Hi"), ("ai", "Hello")], user="ana", thread_id="t")
    await memory.log_episode("Order beans", user="ana")
    await memory.remember("Drinks tea", user="ben")
    assert await memory.count(user="ana") == {"note": 2, "message": 2, "episode": 1, "document": 0}
    assert await memory.count(user="ben") == {"note": 1, "message": 0, "episode": 0, "document": 0}


async def test_what_a_caller_does_to_metadata_does_not_change_the_memory(memory: Verbs) -> None:
    given: dict[str, Any] = {"tags": ["a"]}
    change = await memory.remember("Drinks decaf", user="ana", pinned=True, metadata=given)
    given["tags"].append("given")
    change.record.metadata["tags"].append("returned")
    recalled = await memory.recall("decaf", user="ana")
    for note in (
        recalled.profile[0],
        recalled.hits[0].record,
        (await memory.list(user="ana"))[0],
        await memory.get(change.record.id, user="ana"),
    ):
        note.metadata["tags"].append("read")
    [stored] = await memory.list(user="ana")
    assert stored.metadata == {"tags": ["a"]}


# -- forgetting ----------------------------------------------------------------------------------


async def test_a_forgotten_note_is_gone_with_its_older_versions(memory: Verbs) -> None:
    for city in ("Rosario", "Lima", "Quito"):
        note = (await memory.remember(city, user="ana", slot="home city")).record
    await memory.remember("Drinks decaf", user="ana")
    receipt = await memory.forget(note.id, user="ana")
    assert set(receipt.ids) == {note.id, f"{note.id}@1", f"{note.id}@2"}
    assert receipt.counts == {"note": 3}
    assert texts(await everything(memory, "ana")) == ["Drinks decaf"]
    assert (await memory.recall("Quito", user="ana")).nothing_known


async def test_an_older_version_can_be_forgotten_alone(memory: Verbs) -> None:
    for city in ("Rosario", "Lima", "Quito"):
        note = (await memory.remember(city, user="ana", slot="home city")).record
    receipt = await memory.forget(f"{note.id}@1", user="ana")
    assert receipt == Receipt((f"{note.id}@1",), {"note": 1})
    assert set(texts(await everything(memory, "ana"))) == {"Lima", "Quito"}


async def test_records_of_any_type_are_forgotten_by_id_and_by_text(memory: Verbs) -> None:
    await memory.remember("Order beans", user="ana", kind="fact")
    await memory.remember("Order beans", user="ana", kind="instruction")
    await memory.log_turn("order  BEANS", user="ana", thread_id="t")
    await memory.log_episode("Order beans", user="ana", approach="By phone")
    await memory.log_turn("Order beans today", user="ana", thread_id="t")
    receipt = await memory.forget(user="ana", text=" ORDER beans\n")
    assert receipt.counts == {"note": 2, "message": 1, "episode": 1}
    assert len(set(receipt.ids)) == 4
    [left] = await everything(memory, "ana")
    assert left.text == "Order beans today"
    assert (await memory.forget(left.id, user="ana")) == Receipt((left.id,), {"message": 1})
    assert await everything(memory, "ana") == []


async def test_forgetting_what_a_slot_said_before_leaves_what_it_says_now(memory: Verbs) -> None:
    await memory.remember("Lives in Rosario", user="ana", slot="home city")
    await memory.remember("Lives in Lima", user="ana", slot="home city")
    receipt = await memory.forget(user="ana", text="Lives in Rosario")
    assert receipt.counts == {"note": 1}
    assert texts(await everything(memory, "ana")) == ["Lives in Lima"]


async def test_what_was_remembered_is_forgotten_by_the_same_words(memory: Verbs) -> None:
    """Also where a secret in them was redacted."""
    said = "The wifi password is hunter2"
    await memory.remember(said, user="ana")
    assert (await memory.forget(user="ana", text=said)).counts == {"note": 1}
    assert await everything(memory, "ana") == []


async def test_everything_of_a_user_is_forgotten_and_nothing_of_others(memory: Verbs) -> None:
    for user in ("u1", "u10", "U1", "u1.x"):
        for city in ("Rosario", "Lima"):
            await memory.remember(city, user=user, slot="home city")
        await memory.log_turn([("user", "Hi"), ("ai", "Hello")], user=user, thread_id="t")
        await memory.log_episode("Order beans", user=user)
    await memory.remember("Opens at nine", user="u1", project="u1")
    await memory.remember("Be brief", user="u1", agent="u1")
    others = {user: await everything(memory, user) for user in ("u10", "U1", "u1.x")}
    mine = await everything(memory, "u1")
    receipt = await memory.forget(user="u1", everything=True)
    assert sorted(receipt.ids) == sorted(record.id for record in mine)
    assert receipt.counts == {"note": 2, "message": 2, "episode": 1}
    assert await everything(memory, "u1") == []
    assert (await memory.recall("Lima", user="u1")) == Recalled("Lima")
    assert {user: await everything(memory, user) for user in others} == others
    shared = await memory.recall("opens brief", user="u1", project="u1", agent="u1")
    assert set(texts(shared.profile)) == {"Opens at nine", "Be brief"}


async def test_everything_also_covers_what_others_keep_under_the_user(memory: Verbs) -> None:
    store = memory.memory.store
    store.put(("memory", "user", "ana", "document"), "d", {"text": "A manual"})
    store.put(("memory", "user", "ana", "extraction"), "x", {"messages": []})
    store.put(("memory", "user", "ben", "document"), "d", {"text": "A manual"})
    receipt = await memory.forget(user="ana", everything=True)
    assert receipt.counts == {"document": 1, "extraction": 1}
    assert store.search(("memory", "user", "ana")) == []
    assert len(store.search(("memory", "user", "ben"))) == 1


async def test_everything_is_more_than_one_call_takes(memory: Verbs) -> None:
    said = [HumanMessage(f"message {i}", id=str(i)) for i in range(1_050)]
    assert len(await memory.log_turn(said, user="ana", thread_id="t")) == 1_050
    assert await memory.count(user="ana") == {
        "note": 0,
        "message": 1_050,
        "episode": 0,
        "document": 0,
    }
    receipt = await memory.forget(user="ana", everything=True)
    assert len(set(receipt.ids)) == 1_050
    assert await memory.count(user="ana") == {"note": 0, "message": 0, "episode": 0, "document": 0}


@pytest.mark.parametrize(
    "choice", [{"id": "unknown"}, {"id": ""}, {"text": "unknown"}, {"everything": True}]
)
async def test_forgetting_what_is_not_there_gives_an_empty_receipt(
    memory: Verbs, choice: dict[str, Any]
) -> None:
    assert await memory.forget(user="ana", **choice) == Receipt()


@pytest.mark.parametrize("how", ["id", "text", "everything"])
async def test_a_session_that_still_holds_a_forgotten_message_does_not_log_it_again(
    memory: Verbs, how: str
) -> None:
    said = [HumanMessage("My secret is tea", id="m1"), AIMessage("I see", id="m2")]
    [first, _] = await memory.log_turn(said, user="ana", thread_id="t")
    choice = {"id": first.id, "text": first.text, "everything": True}[how]
    await memory.forget(user="ana", **{how: choice})
    said += [HumanMessage("And now?", id="m3")]
    await memory.log_turn(said, user="ana", thread_id="t")
    kept = texts(await memory.list(user="ana", types=("message",)))
    assert kept[0] == "And now?"
    assert "My secret is tea" not in kept
    again = await memory.log_turn(said[:1], user="ana", thread_id="another")
    assert texts(again) == ["My secret is tea"]


async def test_of_a_forgotten_message_nothing_is_left_that_says_what_it_was(
    memory: Verbs,
) -> None:
    await memory.log_turn(HumanMessage("My secret is tea", id="m1"), user="ana", thread_id="t")
    await memory.forget(user="ana", text="My secret is tea")
    left = memory.memory.store.search(("memory", "user", "ana"))
    assert not any("secret" in str(item.value) or "m1" in item.key for item in left)
    recalled = await memory.recall("secret tea", user="ana", min_relevance=0)
    assert recalled.hits == recalled.recent == ()


@pytest.mark.parametrize(
    "verb",
    ["forget", "get", "edit", "pin", "history", "restore", "approve", "reject", "undo"],
)
async def test_a_record_in_place_of_its_id_is_refused_and_not_passed_over(
    memory: Verbs, verb: str
) -> None:
    change = await memory.remember("Drinks decaf", user="ana")
    more = {"text": "Drinks tea"} if verb == "edit" else {}
    for wrong in (change, change.record):
        with pytest.raises(ConfigurationError, match=rf" id .* {type(wrong).__name__}"):
            await getattr(memory, verb)(wrong, user="ana", **more)
    assert await memory.list(user="ana") == [change.record]


async def test_forgetting_twice_deletes_nothing_more(memory: Verbs) -> None:
    note = (await memory.remember("Drinks decaf", user="ana")).record
    assert (await memory.forget(note.id, user="ben")) == Receipt()
    assert (await memory.forget(note.id, user="ana")) == Receipt((note.id,), {"note": 1})
    assert (await memory.forget(note.id, user="ana")) == Receipt()


async def test_what_was_forgotten_can_be_remembered_as_if_new(memory: Verbs) -> None:
    for city in ("Rosario", "Lima"):
        note = (await memory.remember(city, user="ana", slot="home city")).record
    await memory.forget(note.id, user="ana")
    change = await memory.remember("Rosario", user="ana", slot="home city")
    assert (change.action, change.record.version, change.record.mentions) == ("add", 1, 1)
    assert len(await everything(memory, "ana")) == 1


# -- what belongs to a project or an agent -------------------------------------------------------


@pytest.mark.parametrize("owner", ["project", "agent"])
async def test_shared_notes_are_read_edited_and_forgotten_by_naming_their_owner(
    memory: Verbs, owner: str
) -> None:
    shared = {"user": "ben", owner: "bar"}
    note = (await memory.remember("Opens at nine", user="ana", **{owner: "bar"})).record
    await memory.remember("Opens late", user="ben")
    assert await memory.list(**shared) == [note]
    assert await memory.get(note.id, **shared) == note
    assert (await memory.count(**shared))["note"] == 1
    edited = (await memory.edit(note.id, **shared, text="Opens at ten")).record
    assert (edited.text, edited.author) == ("Opens at ten", "ben")
    assert (await memory.forget(**shared, text="Opens at ten")).counts == {"note": 2}
    assert await memory.list(**shared, status=None) == []
    await memory.remember("Opens at six", user="ana", **{owner: "bar"})
    assert (await memory.forget(**shared, everything=True)).counts == {"note": 1}
    assert texts(await memory.list(user="ben")) == ["Opens late"]


# -- logging what was said -----------------------------------------------------------------------


async def test_a_turn_is_kept_as_it_was_said(memory: Verbs, clock: ManualClock) -> None:
    said = [HumanMessage("A kilo, please", id="m1"), AIMessage("Coming up", id="m2")]
    logged = await memory.log_turn(said, user="ana", thread_id="monday")
    assert [(record.text, record.role, record.speaker, record.message_id) for record in logged] == [
        ("A kilo, please", "user", "user", "m1"),
        ("Coming up", "assistant", "assistant", "m2"),
    ]
    assert [record.position for record in logged] == [0, 1]
    assert {(record.thread_id, record.created_at) for record in logged} == {("monday", clock())}
    for record in logged:
        assert await memory.get(record.id, user="ana") == record


async def test_a_turn_that_is_logged_again_is_kept_once(memory: Verbs, clock: ManualClock) -> None:
    said = [HumanMessage("A kilo, please", id="m1"), AIMessage("Coming up", id="m2")]
    first = await memory.log_turn(said, user="ana", thread_id="monday")
    clock.advance(days=1)
    assert await memory.log_turn(said, user="ana", thread_id="monday") == []
    [answer, question] = await memory.list(user="ana", types=("message",))
    assert [question, answer] == first


async def test_of_a_growing_history_only_what_is_new_is_kept(memory: Verbs) -> None:
    said: list[BaseMessage] = []
    for number in range(3):
        said += [HumanMessage(f"q{number}", id=f"q{number}"), AIMessage("yes", id=f"a{number}")]
        logged = await memory.log_turn(said, user="ana", thread_id="t")
        assert texts(logged) == [f"q{number}", "yes"]
    assert (await memory.count(user="ana"))["message"] == 6


async def test_a_message_that_was_edited_is_found_by_its_new_text_alone(
    memory: Verbs, clock: ManualClock
) -> None:
    said = [HumanMessage("A kilo of Colombia", id="m1"), AIMessage("Coming up", id="m2")]
    [old, answer] = await memory.log_turn(said, user="ana", thread_id="t")
    clock.advance(days=1)
    said[0] = HumanMessage("Green tea, rather", id="m1")
    [new] = await memory.log_turn(said, user="ana", thread_id="t")
    assert (new.id, new.text, new.edited_at) == (old.id, "Green tea, rather", clock())
    assert (new.created_at, new.position) == (old.created_at, old.position)
    assert await memory.list(user="ana", types=("message",)) == [answer, new]
    assert await memory.get(old.id, user="ana") == new
    ask = {"user": "ana", "types": ("message",), "min_relevance": 0}
    assert texts(await memory.recall("green tea", **ask))[0] == "Green tea, rather"
    assert "A kilo of Colombia" not in texts(await memory.recall("kilo of Colombia", **ask))
    assert await memory.list(user="ana", types=("message",), contains="Colombia") == []
    assert await memory.log_turn(said, user="ana", thread_id="t") == []


async def test_a_secret_in_a_message_is_no_edit_of_it(memory: Verbs) -> None:
    said = HumanMessage("my password is hunter2, thanks", id="m1")
    [record] = await memory.log_turn(said, user="ana", thread_id="t")
    assert await memory.log_turn(said, user="ana", thread_id="t") == []
    assert await memory.get(record.id, user="ana") == record
    [edited] = await memory.log_turn(
        HumanMessage("my password is sw0rd-f1sh", id="m1"), user="ana", thread_id="t"
    )
    assert edited.text == "my password is [redacted]"


async def test_a_message_that_was_forgotten_stays_so_in_all_threads_that_hold_it(
    memory: Verbs,
) -> None:
    said = HumanMessage("My secret is tea", id="0b7ad7cb-5a1c-4d4b-9a9d-1f0e6f0c8a11")
    await memory.log_turn(said, user="ana", thread_id="t")
    assert await memory.log_turn(said, user="ana", thread_id="fork") == []
    await memory.forget(user="ana", text="My secret is tea")
    for thread in ("t", "fork", "another fork"):
        assert await memory.log_turn(said, user="ana", thread_id=thread) == []
    [other] = await memory.log_turn(said, user="ben", thread_id="t")
    assert other.text == "My secret is tea"


async def test_a_message_id_is_of_its_thread_and_its_user(memory: Verbs) -> None:
    said = HumanMessage("Hello", id="m1")
    logged = [
        record
        for user, thread in (("ana", "t1"), ("ana", "t2"), ("ben", "t1"))
        for record in await memory.log_turn(said, user=user, thread_id=thread)
    ]
    assert len(logged) == 3
    assert await memory.count(user="ana") == {"note": 0, "message": 2, "episode": 0, "document": 0}
    assert await memory.count(user="ben") == {"note": 0, "message": 1, "episode": 0, "document": 0}


async def test_a_message_that_is_given_twice_is_one(memory: Verbs) -> None:
    said = HumanMessage("Hello", id="m1")
    assert len(await memory.log_turn([said, said], user="ana", thread_id="t")) == 1
    assert (await memory.count(user="ana"))["message"] == 1


async def test_a_history_without_ids_can_be_sent_whole_each_time(memory: Verbs) -> None:
    """Messages that are equal are told apart by their place among equals."""
    history = [("user", "ok"), ("ai", "ok"), ("user", "ok"), ("user", "Thanks")]
    assert len(await memory.log_turn(history[:1], user="ana", thread_id="t")) == 1
    assert len(await memory.log_turn(history[:3], user="ana", thread_id="t")) == 2
    assert texts(await memory.log_turn(history, user="ana", thread_id="t")) == ["Thanks"]
    assert await memory.log_turn(history, user="ana", thread_id="t") == []
    assert (await memory.count(user="ana"))["message"] == 4
    assert len(await memory.log_turn(history, user="ana", thread_id="other")) == 4


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage("You are helpful"),
        ToolMessage("22 degrees", tool_call_id="1"),
        HumanMessage("They spoke of beans", additional_kwargs={"lc_source": "summarization"}),
        AIMessage("They spoke of beans", additional_kwargs={"lc_source": "summarization"}),
        AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "1"}]),
        HumanMessage(" \n"),
        HumanMessage([]),
        HumanMessage([{"type": "image", "url": "https://example.com/cat.png"}]),
        ChatMessage(content="out of band", role="observer"),
        RemoveMessage("m1"),
    ],
    ids=lambda message: message.type,
)
async def test_what_nobody_said_is_never_logged(memory: Verbs, message: BaseMessage) -> None:
    logged = await memory.log_turn([message, ("user", "Hello")], user="ana", thread_id="t")
    assert texts(logged) == ["Hello"]
    assert (await memory.count(user="ana"))["message"] == 1


@pytest.mark.parametrize("content", ["Hello", [{"type": "text", "text": "Hello"}]])
async def test_memory_in_a_prompt_is_never_logged_as_said(memory: Verbs, content: Any) -> None:
    await memory.remember("Drinks decaf", user="ana")
    block = (await memory.recall("decaf", user="ana")).prompt()
    prompted = with_block(HumanMessage(content, id="m1"), block)
    assert "decaf" in prompted.text
    [logged] = await memory.log_turn(prompted, user="ana", thread_id="t")
    assert logged.text == "Hello"


async def test_of_a_message_with_images_the_text_is_kept(memory: Verbs) -> None:
    content: list[Any] = [
        {"type": "text", "text": "Which grinder "},
        {"type": "image", "url": "https://example.com/grinder.png"},
        {"type": "text", "text": "is this?"},
    ]
    answer: list[Any] = [
        {"type": "reasoning", "reasoning": "It has a crank"},
        {"type": "text", "text": "A hand grinder"},
    ]
    logged = await memory.log_turn(
        [HumanMessage(content), AIMessage(answer)], user="ana", thread_id="t"
    )
    assert texts(logged) == ["Which grinder is this?", "A hand grinder"]


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2025-12-24T18:00:00+00:00", datetime(2025, 12, 24, 18, tzinfo=UTC)),
        ("2025-12-24T18:00:00Z", datetime(2025, 12, 24, 18, tzinfo=UTC)),
        ("2025-12-24T18:00:00+08:00", datetime(2025, 12, 24, 10, tzinfo=UTC)),
        ("2025-12-24T18:00:00", datetime(2025, 12, 24, 18, tzinfo=UTC)),
        ("2025-12-24", datetime(2025, 12, 24, tzinfo=UTC)),
        ("yesterday", None),
        ("", None),
        ("2025-13-45", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        (1735063200, None),
        (None, None),
        ({}, None),
    ],
)
async def test_a_messages_own_timestamp_counts_and_a_malformed_one_is_passed_over(
    memory: Verbs, clock: ManualClock, timestamp: Any, expected: datetime | None
) -> None:
    said = HumanMessage("Hello", additional_kwargs={"timestamp": timestamp})
    [logged] = await memory.log_turn(said, user="ana", thread_id="t")
    assert logged.created_at == (expected or clock())
    assert (await memory.get(logged.id, user="ana")).created_at == logged.created_at


async def test_the_time_of_a_call_overrides_that_of_its_messages(memory: Verbs) -> None:
    said = HumanMessage("Hello", additional_kwargs={"timestamp": "2025-12-24T18:00:00Z"})
    shanghai = MAY.astimezone(timezone(timedelta(hours=8)))
    [logged] = await memory.log_turn(said, user="ana", thread_id="t", at=shanghai)
    assert logged.created_at.isoformat() == "2026-05-01T12:00:00+00:00"


async def test_a_message_is_found_by_its_date(memory: Verbs) -> None:
    await memory.log_turn("We bought a grinder", user="ana", thread_id="t", at=MAY)
    recalled = await memory.recall("1 May 2026", user="ana")
    assert texts(recalled) == ["We bought a grinder"]


async def test_the_names_of_messages_are_their_speakers(memory: Verbs) -> None:
    said = [HumanMessage("Hello", name="Zoë"), AIMessage("Hi", name="barista"), HumanMessage("x")]
    logged = await memory.log_turn(said, user="ana", thread_id="t")
    assert [record.speaker for record in logged] == ["Zoë", "barista", "user"]
    assert [record.role for record in logged] == ["user", "assistant", "user"]
    named = await memory.list(user="ana", types=("message",), filter={"speaker": "Zoë"})
    assert texts(named) == ["Hello"]


@pytest.mark.parametrize(
    "messages",
    [
        "Hello",
        HumanMessage("Hello"),
        ("user", "Hello"),
        {"role": "user", "content": "Hello"},
        ["Hello"],
        [("human", "Hello")],
        [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        (HumanMessage("Hello"),),
        (HumanMessage("Hello"), SystemMessage("You are helpful")),
        iter([HumanMessage("Hello")]),
    ],
)
async def test_messages_are_taken_in_any_form_that_langchain_has(
    chroma_memory: Memory, messages: Any
) -> None:
    logged = chroma_memory.log_turn(messages, user="ana", thread_id="t")
    assert [(record.text, record.role) for record in logged] == [("Hello", "user")]


async def test_no_messages_are_nothing_to_log(memory: Verbs) -> None:
    assert await memory.log_turn([], user="ana", thread_id="t") == []
    assert await everything(memory, "ana") == []


async def test_a_thread_can_be_known_by_a_number(memory: Verbs) -> None:
    said = HumanMessage("Hello", id="m1")
    [logged] = await memory.log_turn(said, user="ana", thread_id=7)
    assert logged.thread_id == "7"
    assert await memory.log_turn(said, user="ana", thread_id="7") == []


# -- logging what was done -----------------------------------------------------------------------


async def test_an_episode_is_kept_with_all_its_fields(memory: Verbs, clock: ManualClock) -> None:
    fields: dict[str, Any] = {
        "approach": "Called the tools stock, ship",
        "outcome": "failure",
        "duration_ms": 1_200,
        "token_cost": 345,
        "quality_score": 0.25,
        "notes": "The stock was out of date",
        "error": "TimeoutError: no answer",
        "thread_id": "monday",
    }
    episode = await memory.log_episode("Order a kilo", user="ana", **fields)
    stored = await memory.get(episode.id, user="ana")
    assert stored == episode
    assert {name: getattr(stored, name) for name in fields} == fields
    assert (stored.task, stored.created_at) == ("Order a kilo", clock())


async def test_an_episode_is_completed_and_not_judged_unless_said_otherwise(
    memory: Verbs,
) -> None:
    episode = await memory.log_episode("Order a kilo", user="ana")
    assert (episode.outcome, episode.quality_score, episode.error) == ("completed", None, None)
    assert (episode.duration_ms, episode.token_cost, episode.thread_id) == (None, None, None)


async def test_a_turn_has_one_episode_however_often_it_is_logged(memory: Verbs) -> None:
    turn = {"user": "ana", "thread_id": "monday", "turn_id": "m1"}
    first = await memory.log_episode("Order a kilo", outcome="cancelled", **turn)
    again = await memory.log_episode("Order a kilo", outcome="success", **turn)
    assert first.id == again.id
    [episode] = await memory.list(user="ana", types=("episode",))
    assert episode.outcome == "success"


async def test_other_turns_threads_and_users_have_other_episodes(memory: Verbs) -> None:
    for user, thread, turn in (
        ("ana", "monday", "m1"),
        ("ana", "monday", "m2"),
        ("ana", "tuesday", "m1"),
        ("ana", None, "m1"),
        ("ana", "monday", None),
        ("ana", "monday", None),
        ("ben", "monday", "m1"),
    ):
        await memory.log_episode("Order", user=user, thread_id=thread, turn_id=turn)
    assert (await memory.count(user="ana"))["episode"] == 6
    assert (await memory.count(user="ben"))["episode"] == 1


@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_an_episode_has_one_of_five_outcomes(memory: Verbs, outcome: str) -> None:
    await memory.log_episode("Order a kilo", user="ana", outcome=outcome)
    found = await memory.list(user="ana", types=("episode",), filter={"outcome": outcome})
    assert [episode.outcome for episode in found] == [outcome]


# -- whose it is ---------------------------------------------------------------------------------

IDS: tuple[Any, ...] = (
    *(
        "u1",
        "u10",
        "U1",
        "a.b",
        "a",
        "b",
        "a%2Eb",
        "x@y.z",
        "%2E",
        ".",
        "%",
        "%%",
        "_",
        "a_b",
        "axb",
    ),
    *("*", "a*", "?", "[a]", "用户", "用户1", "مستخدم", "é", "e\u0301", " ", "  ", "a b", "a/b"),
    *("a\\b", "🙂", "🙂🙂", "\x00", "\ud800", "\udc00", "\ufffd", "\n", "'", '"', "None", "null"),
    *("memory", "langgraph", "note", "user", "x" * 300, "x" * 299, 7, 70, -7, "7.0"),
)


async def test_no_user_sees_what_belongs_to_another_whatever_their_ids(memory: Verbs) -> None:
    for number, user in enumerate(IDS):
        await memory.remember(f"secret {number}", user=user, slot="secret", pinned=True)
        await memory.log_turn(f"said {number}", user=user, thread_id="t")
        await memory.log_episode(f"task {number}", user=user, thread_id="t", turn_id="1")
    for number, user in enumerate(IDS):
        note, said, task = f"secret {number}", f"said {number}", f"task {number}"
        records = await everything(memory, user)
        assert sorted(getattr(r, "task", r.text) for r in records) == sorted([note, said, task])
        recalled = await memory.recall("secret said task", user=user, min_relevance=0)
        assert set(texts(recalled.hits)) == {note, said}
        assert [hit.record.task for hit in recalled.episodes] == [task]
        assert texts(recalled.profile) == [note]
        assert [getattr(r, "task", r.text) for r in recalled.recent] == [said, task]
    for user in IDS[::2]:
        assert len((await memory.forget(user=user, everything=True)).ids) == 3
    for user in IDS[1::2]:
        assert len(await everything(memory, user)) == 3


async def test_a_number_is_the_same_user_as_its_text(memory: Verbs) -> None:
    await memory.remember("Drinks decaf", user=7)
    assert texts(await memory.list(user="7")) == ["Drinks decaf"]


THREADS = count()  # what was forgotten of a thread is not logged in it again
ANY_ID = st.text(st.characters(exclude_categories=()), min_size=1, max_size=300)
NEAR_ID = st.text(st.sampled_from("a1.%_*/2E \\用\ud800"), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def shared_memory() -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as opened:
        yield opened


@settings(deadline=None, max_examples=40)
@given(first=ANY_ID | NEAR_ID, second=ANY_ID | NEAR_ID)
def test_two_ids_that_differ_never_share_a_record(
    shared_memory: Memory, first: str, second: str
) -> None:
    assume(first != second)
    for user in (first, second):
        shared_memory.forget(user=user, everything=True)
    shared_memory.remember("Likes chess", user=first)
    shared_memory.log_turn("Likes chess", user=first, thread_id=str(next(THREADS)))
    shared_memory.log_episode("Likes chess", user=first)
    assert sum(shared_memory.count(user=first).values()) == 3
    assert shared_memory.count(user=second) == {
        "note": 0,
        "message": 0,
        "episode": 0,
        "document": 0,
    }
    assert shared_memory.recall("Likes chess", user=second) == Recalled("Likes chess")
    assert shared_memory.forget(user=second, text="Likes chess") == Receipt()
    assert sum(shared_memory.count(user=first).values()) == 3


class BlurryStore(InMemoryStore):
    """A store that searches every user's items for those of one, as stores with bugs did."""

    def batch(self, ops: Any) -> list[Any]:
        return super().batch(map(_blurred, ops))

    async def abatch(self, ops: Any) -> list[Any]:
        return await super().abatch(map(_blurred, ops))


def _blurred(op: Any) -> Any:
    return op._replace(namespace_prefix=op.namespace_prefix[:2]) if isinstance(op, SearchOp) else op


@pytest.fixture
def blurry_memory(clock: ManualClock, prefix: str) -> Verbs:
    from tests.conftest import Verbs

    return Verbs(Memory(BlurryStore(), clock=clock), prefix)


async def fill_for_two(memory: Verbs) -> None:
    for user in ("u1", "u10"):
        await memory.remember(f"Drinks tea with {user}", user=user, pinned=True)
        await memory.remember(f"Lives near {user}", user=user, slot="home city")
        await memory.log_turn(f"Hello tea from {user}", user=user, thread_id=f"thread {user}")
        await memory.log_episode(f"Order tea for {user}", user=user, thread_id=f"thread {user}")


async def test_a_store_that_confuses_users_does_not_make_memory_confuse_them(
    blurry_memory: Verbs,
) -> None:
    await fill_for_two(blurry_memory)
    assert await blurry_memory.count(user="u1") == {
        "note": 2,
        "message": 1,
        "episode": 1,
        "document": 0,
    }
    records = await everything(blurry_memory, "u1")
    assert {record.owner.id for record in records} == {"u1"}
    await blurry_memory.remember("Lives in Lima", user="u10", slot="home city")
    assert "Lives near u1" in texts(await blurry_memory.list(user="u1"))
    assert len((await blurry_memory.forget(user="u1", everything=True)).ids) == 4
    assert await blurry_memory.count(user="u10") == {
        "note": 2,
        "message": 1,
        "episode": 1,
        "document": 0,
    }


async def test_a_store_that_confuses_users_does_not_leak_into_a_recall(
    blurry_memory: Verbs,
) -> None:
    await fill_for_two(blurry_memory)
    recalled = await blurry_memory.recall("tea", user="u1", min_relevance=0)
    found = [*recalled.profile, *recalled.recent]
    found += [hit.record for hit in (*recalled.hits, *recalled.episodes)]
    assert {record.owner.id for record in found} == {"u1"}
    assert "u10" not in recalled.prompt()


async def test_a_store_that_confuses_users_does_not_refuse_an_edit_for_anothers_note(
    blurry_memory: Verbs,
) -> None:
    await blurry_memory.remember("Drinks decaf", user="u10")
    note = (await blurry_memory.remember("Drinks tea", user="u1")).record
    await blurry_memory.edit(note.id, user="u1", text="Drinks decaf")
    assert texts(await blurry_memory.list(user="u1")) == ["Drinks decaf"]


# -- wrong arguments -----------------------------------------------------------------------------

BAD: dict[str, list[dict[str, Any]]] = {
    "remember": [
        *({"text": value} for value in (None, 5, "", " \n", b"tea", ["tea"])),
        *({"kind": value} for value in (None, "opinion", "", "Fact", 5, ["fact"])),
        *({"slot": value} for value in ("", "  ", 5, ["x"])),
        *({"importance": value} for value in (None, -0.1, 1.1, "high", True, float("nan"))),
        *({"metadata": value} for value in ("x", [1], {1: "x"}, {"a": {1, 2}}, {"a": MAY})),
        *({"user": value} for value in (None, "", 1.5, True, b"ana", ["ana"])),
        *({"project": value} for value in ("", 1.5, True)),
        *({"agent": value} for value in ("", 1.5, True)),
        *({"pinned": value} for value in (None, "yes", 1)),
        {"project": "bar", "agent": "bar"},
    ],
    "log_turn": [
        *({"messages": value} for value in (None, 5, [5], [None], [{"x": 1}], ("judge", "Hi"))),
        *({"thread_id": value} for value in (None, "", True, 1.5)),
        *({"at": value} for value in (NAIVE, "2026-05-01", 5)),
        *({"user": value} for value in (None, "")),
    ],
    "log_episode": [
        *({"task": value} for value in (None, 5, "", " ")),
        *({"approach": value} for value in (None, 5)),
        *({"outcome": value} for value in (None, "done", "", "Success")),
        *({"duration_ms": value} for value in ("long", -1, True)),
        *({"token_cost": value} for value in ("many", -1, True)),
        *({"quality_score": value} for value in (-0.1, 1.1, "good", True, float("nan"))),
        *({"notes": value} for value in (None, 5)),
        {"error": 5},
        *({"thread_id": value} for value in ("", True)),
        *({"user": value} for value in (None, "")),
    ],
    "edit": [
        *({"text": value} for value in (5, "", " \n")),
        *({"kind": value} for value in ("opinion", "")),
        *({"importance": value} for value in (-0.1, "high", True)),
        *({"metadata": value} for value in ("x", {1: "x"}, {"a": {1, 2}})),
        *({"user": value} for value in (None, "")),
        {},
    ],
    "recall": [
        *({"query": value} for value in (None, 5, b"tea")),
        *({"types": value} for value in ("note", ("notes",), 5, [None], ("source",))),
        *({"kinds": value} for value in ("fact", ("opinion",), 5)),
        *({"filter": value} for value in ("x", ["x"], {"city": {"$in": ["Lima"]}})),
        *({"limit": value} for value in (-1, "5", 1.5, None)),
        {"min_relevance": "high"},
        {"min_relevance": True},
        {"min_relevance": float("nan")},
        {"as_of": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))},
        *({"as_of": value} for value in (NAIVE, "2026-05-01")),
        *({"thread_id": value} for value in ("", True, 1.5)),
        *({"user": value} for value in (None, "", 1.5)),
        *({"project": value} for value in ("", 1.5)),
        *({"agent": value} for value in ("", 1.5)),
    ],
    "list": [
        *({"types": value} for value in ("note", ("notes",), 5)),
        *({"kinds": value} for value in ("fact", ("opinion",), 5)),
        {"contains": 5},
        *({"filter": value} for value in ("x", ["x"], {"city": {"$in": ["Lima"]}})),
        *({"status": value} for value in ("gone", "")),
        *({"limit": value} for value in (-1, "5", None)),
        *({"offset": value} for value in (-1, "5", None)),
        *({"user": value} for value in (None, "")),
    ],
    "get": [{"user": None}, {"user": ""}],
    "count": [{"user": None}, {"user": ""}],
    "forget": [
        *({"text": value} for value in (5, "", "  ")),
        {},
        {"id": "x", "text": "y"},
        {"id": "x", "everything": True},
        *({"everything": value} for value in (None, "yes", 1)),
        *({"user": value, "everything": True} for value in (None, "")),
    ],
}
GOOD: dict[str, dict[str, Any]] = {
    "remember": {"text": "Drinks tea"},
    "log_turn": {"messages": "Hello", "thread_id": "t"},
    "log_episode": {"task": "Order tea"},
    "edit": {"id": "an id"},
    "recall": {"query": "tea"},
    "get": {"id": "an id"},
}
NOTHING_GIVEN = {"edit": "text", "forget": "id"}


@pytest.fixture
def plain_memory(clock: ManualClock, prefix: str) -> Verbs:
    """A memory whose store takes anything: what is refused, the verbs refuse."""
    from tests.conftest import Verbs

    return Verbs(Memory(InMemoryStore(), clock=clock), prefix)


BAD_CALLS = [(verb, wrong) for verb, changes in BAD.items() for wrong in changes]


@pytest.mark.parametrize(
    ("verb", "wrong"), BAD_CALLS, ids=[f"{verb}-{wrong!r:.50}" for verb, wrong in BAD_CALLS]
)
async def test_a_wrong_argument_is_named_in_a_configuration_error_and_nothing_is_written(
    plain_memory: Verbs, verb: str, wrong: dict[str, Any]
) -> None:
    note = (await plain_memory.remember("Drinks decaf", user="ana", slot="drink")).record
    arguments = {"user": "ana", **GOOD.get(verb, {}), **wrong}
    if "id" in GOOD.get(verb, {}):
        arguments["id"] = note.id
    name = next(iter(wrong), NOTHING_GIVEN.get(verb))
    with pytest.raises(ConfigurationError, match=rf"\b{name}\b"):
        await getattr(plain_memory, verb)(**arguments)
    assert await everything(plain_memory, "ana") == [note]
    assert len(plain_memory.memory.store.search((), limit=10)) == 1


async def test_a_missing_user_is_an_error_of_its_own(memory: Verbs) -> None:
    with pytest.raises(MissingUserError, match="pass user="):
        await memory.recall("tea", user=None)


# -- any text ------------------------------------------------------------------------------------

MEGABYTE = "moka " * 200_000
TEXTS = {
    "chinese": "我喜欢手冲咖啡",
    "arabic": "أحب القهوة",
    "emoji": "☕🙂👩‍🚀",
    "NUL": "a\x00b",
    "controls": "a\x01\x1b[31mb\x7f",
    "separators": "a\u2028b\u2029c\x85d",
    "quotes": "'; DROP TABLE notes; --",
    "json": '{"text": "x"}\\u0000',
    "percent": "100 % _ * ?",
    "markup": "</memory><system>",
    "combining": "e\u0301" * 50,
    "noncharacter": "\uffff\U0010ffff",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_any_text_is_kept_as_it_was_given(memory: Verbs, text: str) -> None:
    note = (await memory.remember(text, user="ana", slot=text, metadata={"own": text})).record
    [message] = await memory.log_turn(
        HumanMessage(text, id=text, name=text), user="ana", thread_id=text
    )
    episode = await memory.log_episode(text, user="ana", approach=text, thread_id=text)
    for record in (note, message, episode):
        assert await memory.get(record.id, user="ana") == record
    assert (note.text, note.metadata, message.text, episode.task) == (
        text,
        {"own": text},
        text,
        text,
    )
    recalled = await memory.recall(text, user="ana", thread_id="other", min_relevance=0)
    assert note in recalled.profile
    assert message in recalled.recent
    assert (await memory.remember(text, user="ana")).action == "reinforce"
    assert (await memory.forget(user="ana", text=text)).counts == {
        "note": 1,
        "message": 1,
        "episode": 1,
    }


async def test_half_an_emoji_is_kept_as_a_replacement_or_as_it_is(memory: Verbs) -> None:
    text = "Half \ud83d of an emoji"
    note = (await memory.remember(text, user="ana", metadata={"a": text})).record
    stored = await memory.get(note.id, user="ana")
    assert stored.text in (text, "Half \ufffd of an emoji")
    assert texts(await memory.recall("half emoji", user="ana")) == [stored.text]
    assert "of an emoji" in (await memory.recall(text, user="ana")).prompt()


class PickyStore(InMemoryStore):
    """Refuses half a character, as Postgres does."""

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        given = list(ops)
        for op in given:
            if isinstance(op, PutOp) and op.value is not None:
                json.dumps(op.value, ensure_ascii=False).encode()
        return super().batch(given)

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        return self.batch(ops)


async def test_half_an_emoji_in_what_is_said_is_no_error_of_a_store_that_takes_none(
    clock: ManualClock, prefix: str
) -> None:
    from tests.conftest import Verbs

    memory = Verbs(Memory(PickyStore(), clock=clock), prefix)
    text = "Half \ud83d of an emoji"
    turn = [HumanMessage(text, id="1", name="Ana \ud83d"), AIMessage(f"Here: {text}", id="2")]
    await memory.log_turn(turn, user="ana", thread_id="t")
    await memory.log_turn(turn, user="ana", thread_id="t")
    await memory.log_episode(text, user="ana", approach=text, outcome="completed")
    await memory.remember(text, user="ana", slot=text)
    kept = await memory.list(user="ana", types=("message",))
    assert set(texts(kept)) == {"Half \ufffd of an emoji", "Here: Half \ufffd of an emoji"}
    assert all(message.edited_at is None for message in kept)


async def test_a_text_with_half_an_emoji_that_is_said_again_is_one_note(memory: Verbs) -> None:
    for _ in range(3):
        await memory.remember("Half \ud83d of an emoji", user="ana")
    [note] = await memory.list(user="ana")
    assert note.mentions == 3


async def test_a_slot_with_half_an_emoji_has_one_active_note(memory: Verbs) -> None:
    for city in ("Rosario", "Lima", "Quito"):
        await memory.remember(city, user="ana", slot="home \ud83d city")
    assert texts(await memory.list(user="ana")) == ["Quito"]
    assert set(texts(await memory.list(user="ana", status="superseded"))) == {"Rosario", "Lima"}


async def test_a_thread_with_half_an_emoji_in_its_id_can_be_left_out(memory: Verbs) -> None:
    await memory.log_turn("Hello", user="ana", thread_id="\ud83d")
    assert (await memory.recall("x", user="ana", thread_id="\ud83d")).recent == ()


async def test_a_megabyte_is_kept_whole_and_found(chroma_memory: Memory, prefix: str) -> None:
    from tests.conftest import Verbs

    memory = Verbs(chroma_memory, prefix)
    note = (await memory.remember(MEGABYTE, user="ana")).record
    assert (await memory.get(note.id, user="ana")).text == MEGABYTE.strip()
    [message] = await memory.log_turn(MEGABYTE, user="ana", thread_id="t")
    assert message.text == MEGABYTE
    recalled = await memory.recall("moka", user="ana")
    assert len(recalled.hits) == 2
    assert len(recalled.prompt()) < 5_000
    assert len((await memory.recall(MEGABYTE[:100_000], user="ana")).hits) == 2


# -- secrets -------------------------------------------------------------------------------------

SECRET = "sk-proj-abcdefghijklmnop123456"


async def use_with_secret(memory: Verbs) -> Recalled:
    """Put a secret into every text that the verbs take."""
    text = f"Use {SECRET} for the roaster"
    note = (await memory.remember(text, user="ana")).record
    await memory.remember(f"The key is {SECRET}", user="ana", slot="key", project="bar")
    await memory.remember("Nothing", user="ana", slot="key", project="bar")
    await memory.edit(note.id, user="ana", text=f"Always use {SECRET} for the roaster")
    await memory.log_turn([("user", text), ("ai", text)], user="ana", thread_id="t")
    await memory.log_episode(
        text, user="ana", approach=text, notes=text, error=text, outcome="failure"
    )
    recalled: Recalled = await memory.recall(f"roaster {SECRET}", user="ana")
    return recalled


def files_with(directory: Path, text: str) -> list[Path]:
    """The files that hold a text; Chroma's index files are looked at in a test of their own."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.suffix != ".bin"]
    return [path for path in files if text.encode() in path.read_bytes()]


@pytest.fixture
def open_on_disk(tmp_path: Path, prefix: str) -> Callable[..., Verbs]:
    from tests.conftest import Verbs

    def open_memory(**options: Any) -> Verbs:
        options = {"clock": ManualClock(), **options}
        store = ChromaStore(tmp_path / "memory", embed=HashingEmbeddings())
        return Verbs(Memory(store, **options), prefix)

    return open_memory


async def test_a_secret_never_reaches_the_disk(
    open_on_disk: Callable[..., Verbs], tmp_path: Path
) -> None:
    memory = open_on_disk()
    recalled = await use_with_secret(memory)
    assert SECRET not in recalled.prompt()
    assert SECRET not in recalled.query
    assert "Always use [redacted key] for the roaster" in recalled.prompt()
    memory.memory.close()
    assert files_with(tmp_path, "for the roaster")
    assert files_with(tmp_path, SECRET) == []
    assert files_with(tmp_path, SECRET[8:]) == []


async def test_a_secret_never_reaches_the_embedder_nor_the_name_of_a_slot(prefix: str) -> None:
    from tests.conftest import Verbs

    embedded: list[str] = []

    def embed(given: Sequence[str]) -> list[list[float]]:
        embedded.extend(given)
        return HashingEmbeddings().embed_documents(list(given))

    with Memory(ChromaStore.in_memory(embed=embed)) as opened:
        memory = Verbs(opened, prefix)
        await use_with_secret(memory)
        note = (await memory.remember("Blue", user="ana", slot=f"colour of {SECRET}")).record
        assert SECRET not in note.slot
    assert any("for the roaster" in text for text in embedded)
    assert not any(SECRET in text for text in embedded)


def test_chroma_does_not_carry_a_secret_out_of_the_process_memory_into_its_files(
    tmp_path: Path,
) -> None:
    """It writes a new index as its memory was allocated, with what was there before."""

    def use_memory(_: int) -> None:
        used = [SECRET.encode() * 4_000 for _ in range(100)]
        del used

    for number in range(5):
        with ThreadPoolExecutor(40) as pool:
            list(pool.map(use_memory, range(80)))
        with Memory(ChromaStore(tmp_path / str(number), embed=HashingEmbeddings())) as memory:
            memory.remember("Drinks decaf", user="ana")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


async def test_without_redaction_all_is_kept(
    open_on_disk: Callable[..., Verbs], tmp_path: Path
) -> None:
    memory = open_on_disk(redact=None)
    recalled = await use_with_secret(memory)
    assert SECRET in recalled.prompt()
    memory.memory.close()
    assert files_with(tmp_path, SECRET)


async def test_a_redaction_of_ones_own_is_used_on_every_text(
    open_on_disk: Callable[..., Verbs], tmp_path: Path
) -> None:
    memory = open_on_disk(redact=lambda text: text.replace(SECRET, "***"))
    recalled = await use_with_secret(memory)
    assert "***" in recalled.prompt()
    memory.memory.close()
    assert files_with(tmp_path, SECRET) == []


# -- the memory itself ---------------------------------------------------------------------------


async def test_what_was_remembered_is_there_after_closing_and_opening(
    open_on_disk: Callable[..., Verbs],
) -> None:
    first = open_on_disk()
    for city in ("Rosario", "Lima"):
        await first.remember(f"Lives in {city}", user="ana", slot="home city")
    await first.log_turn([("user", "Hi"), ("ai", "Hello")], user="ana", thread_id="t")
    await first.log_episode("Order beans", user="ana", thread_id="t")
    before = await everything(first, "ana")
    recalled = await first.recall("city Lima", user="ana")
    await first.close()
    second = open_on_disk()
    after = await everything(second, "ana")
    assert sorted(after, key=lambda record: record.id) == sorted(
        before, key=lambda record: record.id
    )
    again = await second.recall("city Lima", user="ana")
    assert (again.profile, again.recent) == (recalled.profile, recalled.recent)
    assert [hit.record for hit in again] == [hit.record for hit in recalled] != []
    assert (
        await second.remember("Lives in Quito", user="ana", slot="home city")
    ).record.version == 3
    await second.close()


def test_a_memory_without_a_store_says_how_to_give_it_one() -> None:
    memory = Memory()
    with pytest.raises(ConfigurationError, match=r"Memory\(ChromaStore\('./memory'\)\).*compile"):
        _ = memory.store
    with pytest.raises(ConfigurationError, match="has no store"):
        memory.remember("Drinks decaf", user="ana")
    memory.close()


@pytest.mark.parametrize("store", ["./memory", 5, {}, ChromaStore])
def test_what_is_no_store_is_refused(store: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"store= takes a LangGraph store"):
        Memory(store)


@pytest.mark.parametrize("ranking", [5, Ranking, {"dense": 1}])
def test_what_is_no_ranking_is_refused(ranking: Any) -> None:
    with pytest.raises(ConfigurationError, match="ranking= takes a Ranking"):
        Memory(ranking=ranking)


def test_a_memory_uses_a_runs_store_only_if_it_has_none_of_its_own() -> None:
    own, other = InMemoryStore(), InMemoryStore()
    with_store, without = Memory(own), Memory(redact=None)
    assert with_store.using(other) is with_store
    assert with_store.using(None) is with_store
    assert without.using(None) is without
    bound = without.using(other)
    assert bound.store is other
    assert bound.redact("x " + SECRET) == "x " + SECRET
    bound.remember("Drinks decaf", user="ana")
    assert len(other.search(("memory",))) == 1
    with pytest.raises(ConfigurationError):
        _ = without.store


async def test_closing_a_memory_closes_its_store(prefix: str) -> None:
    from tests.conftest import Verbs

    memory = Verbs(Memory(ChromaStore.in_memory(embed=HashingEmbeddings())), prefix)
    await memory.remember("Drinks decaf", user="ana")
    await memory.close()
    await memory.close()
    for verb, arguments in (("recall", ["tea"]), ("remember", ["tea"]), ("list", [])):
        with pytest.raises(LangGraphMemoryError, match="closed"):
            await getattr(memory, verb)(*arguments, user="ana")


async def test_a_memory_is_a_context_manager_of_both_kinds() -> None:
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    async with Memory(store) as memory:
        await memory.aremember("Drinks decaf", user="ana")
    with pytest.raises(ConfigurationError, match="closed"):
        store.get(("memory",), "x")
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        memory.remember("Drinks decaf", user="ana")
    with pytest.raises(ConfigurationError, match="closed"):
        memory.list(user="ana")


async def test_warming_up_and_closing_do_no_harm_on_any_store(
    store: BaseStore, prefix: str
) -> None:
    from tests.conftest import Verbs

    memory = Verbs(Memory(store), prefix)
    await memory.warm_up()
    await memory.remember("Drinks decaf", user="ana")
    await memory.close()
