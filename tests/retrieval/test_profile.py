"""What a note is worth in every prompt, whatever is asked and however many there are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import Item

from langgraph_memory import Memory
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note
from langgraph_memory.retrieval.block import KNOWN
from langgraph_memory.retrieval.query import PROFILE_NOTES
from langgraph_memory.retrieval.scoring import NoteColumns, NotesOf
from langgraph_memory.store.records import put_op
from langgraph_memory.testing import ManualClock
from langgraph_memory.text.bm25 import LexicalIndex
from tests.conftest import STORES, Verbs
from tests.retrieval.test_block import below

NONSENSE = "quantum chromodynamics lattice"
ANA = Owner("user", "ana")

WORTH: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pinned", {"pinned": True, "importance": 0.3}),
    ("how to serve the user", {"kind": "instruction"}),
    ("critical", {"importance": 0.9}),
    ("a preference of a slot", {"kind": "preference", "slot": "drink"}),
    ("important", {"importance": 0.7}),
    ("of a slot", {"slot": "city"}),
    ("plain", {}),
    ("trivial", {"importance": 0.1}),
)


async def profile(memory: Verbs, query: str = NONSENSE, **how: Any) -> list[str]:
    return [note.text for note in (await memory.recall(query, user="ana", **how)).profile]


async def test_the_profile_begins_with_what_is_worth_most(
    memory: Verbs, clock: ManualClock
) -> None:
    """On every store; whatever of it is said last."""
    for text, how in reversed(WORTH):
        await memory.remember(text, user="ana", **how)
        clock.advance(minutes=1)
    expected = [text for text, _ in WORTH]
    assert await profile(memory) == expected
    await memory.remember("trivial", user="ana", importance=0.1)
    assert await profile(memory, query="") == expected


async def test_of_equal_worth_what_was_said_more_often_or_later_or_is_asked_about_comes_first(
    memory: Verbs, clock: ManualClock
) -> None:
    for text in ("Has a moka pot", "Goes by tram", "Sings in a choir"):
        await memory.remember(text, user="ana")
        clock.advance(days=1)
    assert await profile(memory) == ["Sings in a choir", "Goes by tram", "Has a moka pot"]
    for _ in range(3):
        await memory.remember("Has a moka pot", user="ana")
    clock.advance(days=365)
    assert (await profile(memory))[0] == "Has a moka pot"
    assert (await profile(memory, "When does the tram go?"))[0] == "Goes by tram"


async def test_what_others_share_comes_after_the_users_own(memory: Verbs) -> None:
    await memory.remember("Opens at nine", user="ben", project="bar", slot="hours")
    await memory.remember("Drinks tea", user="ana")
    assert await profile(memory, project="bar") == ["Drinks tea", "Opens at nine"]


def stored(count: int, clock: ManualClock) -> list[Note]:
    return [
        Note(
            id=f"n{i}",
            owner=ANA,
            text=f"Likes the song of number {i}",
            importance=0.79 * (i % 10) / 10,
            created_at=clock() + timedelta(minutes=i),
            updated_at=clock() + timedelta(minutes=i),
            valid_from=clock(),
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("count", [20, 21, 200, 2_000])
@pytest.mark.parametrize("name", ["chroma", "in-memory-without-index"])
def test_what_has_to_be_in_every_prompt_is_however_many_notes_there_are(
    name: str, count: int, clock: ManualClock
) -> None:
    rule = replace(stored(1, clock)[0], id="rule", kind="instruction", pinned=True, text="Be brief")
    nuts = replace(rule, id="nuts", kind="fact", pinned=False, importance=1.0, text="Eats no nuts")
    with Memory(STORES[name](), clock=clock) as memory:
        memory.store.batch([put_op(note) for note in (rule, nuts, *stored(count - 2, clock))])
        clock.advance(days=30)
        recalled = memory.recall(NONSENSE, user="ana")
        assert recalled.profile[:2] == (rule, nuts)
        assert len(recalled.profile) == min(count, PROFILE_NOTES)
        shown = below(recalled.prompt(), KNOWN)
        assert shown[:2] == ["instruction: Be brief", "fact: Eats no nuts"]
        assert len(shown) >= 15, "as many as have room"


async def test_the_profile_is_of_what_holds_now(memory: Verbs, clock: ManualClock) -> None:
    """And of the past, of what held then; what was superseded takes no place of others."""
    for number in range(PROFILE_NOTES + 5):
        await memory.remember(f"city {number}", user="ana", slot="home city", pinned=True)
    past = clock.advance(hours=1)
    clock.advance(hours=1)
    gone = (await memory.remember("Has a cat", user="ana")).record
    await memory.remember("Has a dog", user="ana")
    last = f"city {PROFILE_NOTES + 4}"
    assert set(await profile(memory)) == {last, "Has a cat", "Has a dog"}
    await memory.forget(gone.id, user="ana")
    assert await profile(memory) == [last, "Has a dog"]
    assert await profile(memory, as_of=past) == [last]
    await memory.edit((await memory.list(user="ana"))[0].id, user="ana", importance=1.0)
    assert (await profile(memory))[0] == last


async def test_a_profile_is_there_whatever_is_narrowed(memory: Verbs) -> None:
    await memory.remember("Drinks tea", user="ana")
    for how in ({"types": ("message",)}, {"kinds": ("lesson",)}, {"filter": {"slot": "x"}}):
        recalled = await memory.recall("tea", user="ana", **how)
        assert ([note.text for note in recalled.profile], recalled.hits) == (["Drinks tea"], ())


# -- columns -------------------------------------------------------------------------------------


@cache
def items(count: int) -> list[Item]:
    return [
        Item(
            value=note.to_value(),
            key=note.id,
            namespace=ANA.namespace("note"),
            created_at=note.created_at,
            updated_at=note.updated_at,
        )
        for note in stored(count, ManualClock())
    ]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 70), st.booleans()), max_size=3), st.integers(0, 2**32))
def test_columns_know_the_same_however_their_rows_came(
    parts: list[tuple[int, bool]], seed: int
) -> None:
    """Some rows with vectors, some without any."""
    made = NotesOf(UniversalSentenceEncoder.model)
    assert made == NotesOf(UniversalSentenceEncoder.model)
    assert hash(made) == hash(NotesOf(UniversalSentenceEncoder.model))
    random = np.random.default_rng(seed)
    total = sum(count for count, _ in parts)
    rows, vectors, columns, start = items(210)[:total], [], made(), 0
    for count, known in parts:
        some = random.normal(size=(count, 512)).astype(np.float32)
        some /= np.linalg.norm(some, axis=1, keepdims=True)
        vectors.append(some if known else np.zeros_like(some))
        columns.append(rows[start : start + count], some if known and count else None)
        start += count
    assert len(columns) == total
    once = made()
    once.append(rows, np.concatenate([np.zeros((0, 512), np.float32), *vectors]))
    for seen in (0, total // 2, total):
        alive = np.ones(seen, np.bool_)
        one, other = (each.view(alive, LexicalIndex()) for each in (columns, once))
        assert one.fields.tolist() == other.fields.tolist()
        assert len(one.fields) == seen
        if one.further is None:  # no row has a vector
            assert other.further is None or not other.further.any()
        else:
            assert other.further is not None
            assert np.abs(one.further - other.further).max(initial=0) < 1e-6


def test_another_embedder_has_no_further_directions() -> None:
    columns = NoteColumns("another")
    columns.append(items(3), np.ones((3, 512), np.float32))
    assert columns.view(np.ones(3, np.bool_), LexicalIndex()).further is None
