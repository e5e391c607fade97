"""Records and their values in a store: what is written is read back, and ids are stable."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.records.owners import Owner
from langgraph_memory.records.receipts import Receipt
from langgraph_memory.records.records import (
    KINDS,
    OUTCOMES,
    STATUSES,
    Episode,
    Extraction,
    Message,
    Note,
    Record,
    long_date,
    normalise,
    record_id,
    slot_digest,
    text_digest,
)
from langgraph_memory.retrieval.recalled import Hit, Recalled

ANA = Owner("user", "ana")
MAY = datetime(2026, 5, 2, 18, 30, tzinfo=UTC)

NOTE = Note(id="n1", owner=ANA, text="Drinks tea", created_at=MAY, updated_at=MAY, valid_from=MAY)
EPISODE = Episode(id="e1", owner=ANA, task="Order tea", created_at=MAY)
MESSAGE = Message(
    id="m1",
    owner=ANA,
    created_at=MAY,
    text="Tea, please",
    speaker="Zoë",
    role="user",
    thread_id="monday",
    message_id="1",
    position=0,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
TIMES = st.datetimes(timezones=st.just(UTC))
UNIT = st.floats(0, 1)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


TEXTS = st.lists(ANY_TEXT, max_size=3).map(tuple)


RECORDS: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        Note,
        id=ANY_TEXT,
        owner=st.just(ANA),
        created_at=TIMES,
        text=ANY_TEXT,
        kind=st.sampled_from(KINDS),
        slot=optional(ANY_TEXT),
        importance=UNIT,
        pinned=st.booleans(),
        metadata=st.dictionaries(ANY_TEXT, JSON, max_size=3),
        status=st.sampled_from(STATUSES),
        version=st.integers(1),
        mentions=st.integers(1),
        author=ANY_TEXT,
        updated_at=TIMES,
        valid_from=TIMES,
        valid_until=optional(TIMES),
        superseded_by=optional(ANY_TEXT),
        sources=TEXTS,
        quote=ANY_TEXT,
        said_by=st.sampled_from(["user", "assistant"]),
        reason=ANY_TEXT,
        revision=st.integers(0),
        replaced=st.lists(st.dictionaries(ANY_TEXT, JSON, max_size=3), max_size=3).map(tuple),
        restores=optional(st.integers(1)),
    ),
    st.builds(
        Extraction,
        id=ANY_TEXT,
        owner=st.just(ANA),
        created_at=TIMES,
        thread_id=ANY_TEXT,
        messages=TEXTS,
        notes=TEXTS,
        usage=st.dictionaries(ANY_TEXT, st.integers(0), max_size=3),
        problems=TEXTS,
    ),
    st.builds(
        Message,
        id=ANY_TEXT,
        owner=st.just(ANA),
        created_at=TIMES,
        text=ANY_TEXT,
        speaker=ANY_TEXT,
        role=st.sampled_from(["user", "assistant"]),
        thread_id=ANY_TEXT,
        message_id=ANY_TEXT,
        position=st.integers(0),
    ),
    st.builds(
        Episode,
        id=ANY_TEXT,
        owner=st.just(ANA),
        created_at=TIMES,
        task=ANY_TEXT,
        approach=ANY_TEXT,
        outcome=st.sampled_from(OUTCOMES),
        duration_ms=optional(st.integers(0)),
        token_cost=optional(st.integers(0)),
        quality_score=optional(UNIT),
        notes=ANY_TEXT,
        error=optional(ANY_TEXT),
        thread_id=optional(ANY_TEXT),
    ),
)


@settings(deadline=None, max_examples=60)
@given(RECORDS)
def test_a_record_is_read_back_from_its_value_as_json(record: Record) -> None:
    value = json.loads(json.dumps(record.to_value()))
    assert type(record).from_value(record.owner, record.id, value) == record
    # The package's own books are not searched.
    assert isinstance(value.get("search_text"), str) or record.type == "extraction"


@pytest.mark.parametrize("record", [NOTE, MESSAGE, EPISODE], ids=lambda record: record.type)
def test_fields_that_a_later_version_adds_are_passed_over(record: Record) -> None:
    value = {**record.to_value(), "colour": "green"}
    assert type(record).from_value(record.owner, record.id, value) == record


@pytest.mark.parametrize(
    "field", ["mentions", "sources", "quote", "said_by", "reason", "revision", "replaced"]
)
def test_a_note_from_before_a_field_was_added_has_its_default(field: str) -> None:
    value = {name: value for name, value in NOTE.to_value().items() if name != field}
    assert Note.from_value(ANA, "n1", value) == NOTE


@pytest.mark.parametrize(
    "record",
    [NOTE, MESSAGE, EPISODE, Hit(NOTE, "x", 1.0, {}), Recalled("x"), Receipt()],
    ids=lambda record: type(record).__name__,
)
def test_what_a_verb_returns_cannot_be_changed(record: Any) -> None:
    name = fields(record)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(record, name, "other")


def test_a_note_is_searched_with_its_slot() -> None:
    assert NOTE.to_value()["search_text"] == "Drinks tea"
    in_slot = replace(NOTE, text="blue", slot="favourite colour")
    assert in_slot.to_value()["search_text"] == "favourite colour: blue"


def test_a_message_is_searched_by_its_own_words() -> None:
    assert MESSAGE.to_value()["search_text"] == "Tea, please"


def test_an_episode_is_shown_with_headings_and_searched_without() -> None:
    assert EPISODE.text == "Task: Order tea\nOutcome: completed"
    failed = replace(
        EPISODE, approach="By phone", outcome="failure", notes="Busy line", error="TimeoutError"
    )
    assert failed.text == (
        "Task: Order tea\nApproach: By phone\nOutcome: failure: TimeoutError\nNotes: Busy line"
    )
    searched = [episode.to_value()["search_text"] for episode in (EPISODE, failed)]
    assert searched == ["Order tea", "Order tea\nBy phone\nBusy line\nTimeoutError"]


def test_a_recalled_gives_its_hits() -> None:
    hits = (Hit(NOTE, NOTE.text, 0.5, {"cosine": 0.5}), Hit(MESSAGE, MESSAGE.text, 0.2, {}))
    recalled = Recalled("tea", hits=hits)
    assert tuple(recalled) == hits
    assert recalled.explain().splitlines() == [
        "known:",
        "  0.500  note n1  'Drinks tea'  (cosine 0.50), in the block",
        "  0.200  message m1  'Tea, please'  (), in the block",
    ]
    task = Hit(EPISODE, EPISODE.text, 0.1, {})
    both = Recalled("tea", hits=(*hits, task), episodes=(task,))
    assert both.explain().count(EPISODE.id) == 1


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Drinks tea", " drinks\tTEA\n"),
        ("Straße", "STRASSE"),
        ("a  b", "a\u3000b"),
        ("", " \n"),
    ],
)
def test_texts_are_compared_without_case_and_spaces(text: str, same: str) -> None:
    assert normalise(text) == normalise(same)
    assert text_digest("fact", text) == text_digest("fact", same)
    assert slot_digest(text) == slot_digest(same)


@settings(deadline=None)
@given(ANY_TEXT)
def test_normal_texts_stay_as_they_are(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    "id_of",
    [
        lambda first, second: record_id("message", first, second),
        lambda first, second: record_id("note", first, second),
        Message.id_in,
        Episode.id_of,
    ],
)
@settings(deadline=None)
@given(st.tuples(ANY_TEXT, ANY_TEXT), st.tuples(ANY_TEXT, ANY_TEXT))
def test_different_content_has_different_ids(
    id_of: Callable[[str, str], str], one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert (id_of(*one) == id_of(*other)) == (one == other)
    assert "@" not in id_of(*one)


def test_content_is_not_run_together_in_an_id() -> None:
    assert Message.id_of("a", "bc") != Message.id_of("ab", "c")
    assert record_id("message", "a", "b") != record_id("episode", "a", "b")
    assert record_id("message", "1") != record_id("message", 1)


def test_ids_stay_the_same_from_version_to_version() -> None:
    """They are stored: another digest would make every record new."""
    assert Message.id_of("monday", "m1") == "762bbe4b1b7e71c302d35c57"
    assert Episode.id_of("monday", "m1") == "cc7bde364d852576394c2441"
    assert text_digest("fact", "Drinks tea") == "9802d95bcbef5bed405965d6"
    assert slot_digest("home city") == "a1a2567beb5da67daeaedd82"


@pytest.mark.parametrize(
    ("moment", "text"),
    [(MAY, "2 May 2026"), (datetime(2025, 12, 24, tzinfo=UTC), "24 December 2025")],
)
def test_dates_are_written_as_people_write_them(moment: datetime, text: str) -> None:
    assert long_date(moment) == text
