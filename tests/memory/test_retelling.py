"""What else says a forgotten note is named, and is gone from recall with `sources=True`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_memory import ChromaStore, ConfigurationError, Memory, Recalled, memory_tools
from langgraph_memory.records.records import Message, Record
from langgraph_memory.testing import HashingEmbeddings, ManualClock

USER = "ana"
NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
FACT = "Lives in Graz"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings(256)), clock=clock) as memory:
        yield memory


def told(memory: Memory) -> str:
    """Let everything say where the user lives; return the id of the note."""
    said = [
        HumanMessage(
            "Please send the parcel to my flat. I live in Graz, by the river.", id="q" * 20
        ),
        AIMessage("I have sent it to your flat in Graz, where you live.", id="a" * 20),
    ]
    asked = Message.id_of("t", "q" * 20)
    memory.log_turn(said, user=USER, thread_id="t", at=NOON)
    episode = memory.log_episode(
        "Please send the parcel to my flat. I live in Graz, by the river.",
        user=USER,
        thread_id="t",
        turn_id="q" * 20,
    )
    note = memory.remember(FACT, user=USER, sources=[asked]).record
    memory.remember("Parcels for Graz take a week", user=USER, kind="lesson", sources=[episode.id])
    memory.log_turn(
        [HumanMessage("As I said: I live in Graz!", id="o" * 20)],
        user=USER,
        thread_id="later",
        at=NOON + timedelta(days=2),
    )
    memory.add_document(
        "# Me\n\nThe user lives in Graz. The dog is called Bruno.", source="cv", user=USER
    )
    # What is about something else stays.
    memory.log_turn(
        [HumanMessage("My sister lives in Graz", id="s" * 20)], user=USER, thread_id="s"
    )
    memory.remember("Has a dog called Bruno", user=USER)
    return note.id


def says_it(recalled: Recalled) -> list[str]:
    """Return all that a recall has of where the user lives, of whatever type."""
    records: list[Record] = [*recalled.profile, *recalled.recent, *recalled.lessons]
    records += [hit.record for hit in (*recalled.hits, *recalled.perhaps)]
    records += [hit.record for hit in recalled.stated]
    records += [hit.record for hit in recalled.episodes]
    return sorted(
        {f"{r.type}: {r.text}" for r in records if "Graz" in r.text and "sister" not in r.text}
    )


QUESTIONS = ("Where do I live?", "Lives in Graz", "Send a parcel to my flat in Graz", "cv")


def recalled(memory: Memory) -> list[str]:
    found = {line for asked in QUESTIONS for line in says_it(memory.recall(asked, user=USER))}
    return sorted(found)


def test_what_still_says_a_forgotten_note_is_named(memory: Memory) -> None:
    receipt = memory.forget(told(memory), user=USER)
    assert receipt.counts == {"note": 1}
    assert Counter((also.tie, also.record.type) for also in receipt.also) == {
        ("source", "message"): 1,
        ("source", "episode"): 1,
        ("same", "message"): 2,
        ("same", "document"): 1,
        ("drawn", "note"): 1,
    }
    assert not any("sister" in also.record.text for also in receipt.also)
    assert {type for line in recalled(memory) for type in [line.split(":")[0]]} >= {
        "message",
        "document",
        "episode",
    }


def test_with_sources_it_is_gone_from_what_is_recalled_in_every_type(memory: Memory) -> None:
    id = told(memory)
    assert len(recalled(memory)) >= 5
    receipt = memory.forget(id, user=USER, sources=True)
    assert receipt.counts == {"note": 2, "message": 3, "episode": 1, "document": 1}
    assert not receipt.also
    assert recalled(memory) == []
    assert "Bruno" in memory.recall("dog", user=USER).hits[0].text
    assert memory.list(user=USER, types=("message",))[0].text == "My sister lives in Graz"


def test_a_lesson_of_other_episodes_too_and_other_notes_of_a_message_stay_and_are_named(
    memory: Memory,
) -> None:
    memory.log_turn(
        [HumanMessage("I live in Graz and have a dog", id="q" * 20)], user=USER, thread_id="t"
    )
    sources = [Message.id_of("t", "q" * 20)]
    note = memory.remember(FACT, user=USER, sources=sources).record
    memory.remember("Has a dog", user=USER, sources=sources)
    episodes = [
        memory.log_episode(task, user=USER, thread_id="t", turn_id=turn).id
        for task, turn in (("Find my way", "q" * 20), ("Find a tram", "x" * 20))
    ]
    memory.remember("Ask for the stop first", user=USER, kind="lesson", sources=episodes)
    receipt = memory.forget(note.id, user=USER, sources=True)
    assert receipt.counts == {"note": 1, "message": 1, "episode": 1}
    assert {(also.tie, also.record.text) for also in receipt.also} == {
        ("drawn", "Has a dog"),
        ("drawn", "Ask for the stop first"),
    }


def test_a_forgotten_message_names_the_note_that_was_drawn_from_it(memory: Memory) -> None:
    told(memory)
    receipt = memory.forget(Message.id_of("t", "q" * 20), user=USER)
    assert ("drawn", FACT) in [(also.tie, also.record.text) for also in receipt.also]


def test_a_note_of_a_project_names_what_its_user_said(memory: Memory) -> None:
    memory.log_turn([HumanMessage("We deploy on Fridays", id="q" * 20)], user=USER, thread_id="t")
    sources = [Message.id_of("t", "q" * 20)]
    shop: Any = {"user": USER, "project": "shop"}
    note = memory.remember("Deploys on Fridays", **shop, sources=sources).record
    memory.add_document("We deploy on Fridays.", source="rules", **shop)
    [said, rule] = memory.forget(note.id, **shop).also
    assert (said.record.owner.kind, rule.record.owner.kind) == ("user", "project")


@pytest.mark.parametrize(
    ("note", "said", "same"),
    [
        ("Lives in Graz", "I live in Graz.", True),
        ("Lives in Graz", "Well, I live in Graz, you know", True),
        ("Is allergic to nuts", "Well, I'm allergic to nuts", True),
        ("Is allergic to nuts", "Well, I'm not allergic to nuts", False),
        ("Lives in Graz", "My sister lives in Graz", False),
        ("Lives in Graz", "I lived in Vienna", False),
        ("Has a dog", "I have a dog and a cat", True),
        ("住在格拉茨", "你好，我住在格拉茨", True),
        ("对花生过敏", "我姐姐对花生过敏", False),
        ("Likes tea", "Likes tea", True),
        ("Likes tea", "I like tea with milk", False),
    ],
)
def test_what_says_the_same(memory: Memory, note: str, said: str, same: bool) -> None:
    memory.log_turn([HumanMessage(said, id="q" * 20)], user=USER, thread_id="t")
    record = memory.remember(note, user=USER).record
    assert bool(memory.forget(record.id, user=USER).also) is same


def test_the_tool_asks_whether_to_forget_that_too(memory: Memory) -> None:
    tools = {tool.name: tool for tool in memory_tools(memory, user=USER)}
    memory.log_turn(
        [HumanMessage("I live in Graz", id="q" * 20)], user=USER, thread_id="t", at=NOON
    )
    note = memory.remember(FACT, user=USER).record
    answer = tools["forget"].invoke({"id": note.id[:8]})
    assert answer.splitlines()[0] == f"Deleted: {FACT}"
    assert "the message of 3 May 2026 still says it; forget that too?" in answer
    said = Message.id_of("t", "q" * 20)
    assert said[:8] in answer

    again = memory.remember(FACT, user=USER).record
    answer = tools["forget"].invoke({"id": again.id, "sources": True})
    assert answer == f"Deleted: {FACT} (and 1 more that said it)"
    assert memory.count(user=USER)["message"] == 0


def test_sources_belong_to_something_that_is_named(memory: Memory) -> None:
    with pytest.raises(ConfigurationError, match="sources=True"):
        memory.forget(user=USER, everything=True, sources=True)
