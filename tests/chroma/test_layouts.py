"""Folders that earlier code wrote are read by this one.

Each archive of `fixtures` has its own expectations: `EXPECTED`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from langgraph.types import Command

from langgraph_memory import ChromaStore, Episode, Memory, Message, Note, Source, open_sessions
from langgraph_memory.records.records import Record
from langgraph_memory.testing import HashingEmbeddings
from tests.chroma.first_version import ANA, CHINESE, LESSON, PROJECT, graph

Of = TypeVar("Of", bound=Record)

FIXTURES = Path(__file__).parent / "fixtures"


def expect_schema_1(folder: Path) -> None:
    """Written with Chroma 1.5.9: 1,004 items, an index on disk."""
    with ChromaStore(folder, embed=HashingEmbeddings(32)) as store:
        memory = Memory(store)
        (home,) = memory.list(user="c-2291")
        assert (home.text, home.slot) == ("Lives in Córdoba", "home city")
        assert memory.recall("摩卡壶", user="用户/1").hits[0].record.text == "喜欢摩卡壶"
        many = store.search(("app", "many"), limit=2_000)
        assert {item.key for item in many} == {f"k{i}" for i in range(1, 1_000)}
        assert store.search(("app", "two"), query="blue cup")[0].score == pytest.approx(1)
        deep = store.get(("app", "none"), "k")
        assert deep is not None
        assert deep.value == {"n": 1, "deep": {"list": [1, 2.5, None, True]}}
        assert ("app", "many") in store.list_namespaces()


def expect_first_version(folder: Path) -> None:
    """Written by `first_version`: records of every type, and threads."""
    with ChromaStore(folder, embed=HashingEmbeddings(32)) as store:
        memory = Memory(store)
        expect_notes(memory)
        expect_messages(memory)
        expect_episodes(memory)
        expect_documents(memory)
    expect_threads(folder)


def expect_notes(memory: Memory) -> None:
    notes = {note.text: note for note in memory.list(user=ANA, status=None)}
    assert {text: note.status for text, note in notes.items()} == {
        "Lives in Córdoba": "active",
        "Lives in Rosario": "superseded",
        "Allergic to hazelnuts": "active",
        "Answer in two sentences": "active",
        "Drinks Colombia from a moka pot": "active",
        LESSON: "active",
        "Wants to try a decaf": "proposed",
        "Has a parrot": "archived",
    }
    allergy = notes["Allergic to hazelnuts"]
    assert (allergy.pinned, allergy.importance) == (True, 1.0)
    assert notes["Answer in two sentences"].kind == "instruction"
    moka_pot = notes["Drinks Colombia from a moka pot"]
    assert (moka_pot.mentions, moka_pot.metadata) == (2, {"source": "survey"})
    versions = memory.history(notes["Lives in Córdoba"].id, user=ANA)
    assert [note.text for note in versions] == ["Lives in Rosario", "Lives in Córdoba"]
    assert found(memory, "hazelnuts", ANA) >= {"Allergic to hazelnuts"}
    assert found(memory, "摩卡壶", CHINESE) >= {"喜欢摩卡壶", "我想买一个新的摩卡壶"}
    of_project = memory.list(user=ANA, project=PROJECT)
    assert [note.text for note in of_project] == ["The roaster closes on Mondays"]
    assert found(memory, "the roaster closes", CHINESE) >= {"The roaster closes on Mondays"}


def expect_messages(memory: Memory) -> None:
    listed = records(memory, Message, filter={"thread_id": "monday"})
    assert {(message.role, message.text) for message in listed} == {
        ("user", "My grinder arrived with a crack in its lid."),
        ("assistant", "I am sorry; the courier will collect it."),
    }
    assert memory.count(user=ANA)["message"] == 4
    assert memory.pending(user=CHINESE) == {"星期一": 1}
    text = "A medium roast such as Colombia. 🙂"
    assert text in found(memory, "a medium roast such as Colombia", ANA)


def expect_episodes(memory: Memory) -> None:
    failed, ordered = records(memory, Episode)[::-1]
    assert (failed.outcome, failed.error, failed.quality_score) == (
        "failure",
        "ValueError: no voltage",
        0.2,
    )
    assert failed.notes == "The customer had to call."
    (lesson,) = [memory.get(id, user=ANA) for id in failed.lessons]
    assert isinstance(lesson, Note)
    assert (lesson.text, lesson.sources) == (LESSON, (failed.id,))
    assert (ordered.task, ordered.duration_ms) == ("Order a kilo of Colombia", 800)
    (like,) = memory.recall_episodes("给客户寄价目表", user=CHINESE)
    assert (like.record.outcome, like.record.quality_score) == ("success", 0.9)


def expect_documents(memory: Memory) -> None:
    (source,) = records(memory, Source)
    assert (source.source, source.chunks, source.metadata) == ("returns.md", 2, {"team": "support"})
    recalled = memory.recall("an opened bag of coffee", user=ANA, types=("document",))
    assert "cannot be returned" in recalled.hits[0].text


def expect_threads(folder: Path) -> None:
    """Expect the threads of both users; the one that waits goes on in a copy of it."""
    with open_sessions(folder) as sessions:
        titles = {session.thread_id: session.title for session in sessions.list(ANA)}
        assert (
            titles.items() >= {"talk": "Good morning", "order": "Ship order 17 to Rosario"}.items()
        )
        assert [session.title for session in sessions.list(CHINESE)] == ["早上好"]
        talk = sessions.history(ANA, "talk")[0].messages
        assert [message.text for message in talk] == ["Good morning", "You said: Good morning"]
        copy = sessions.fork(ANA, "order")
        config = sessions.config(user=ANA, thread_id=copy.thread_id)
        shipped = graph(sessions).invoke(Command(resume="Shipped."), config)
        assert shipped["messages"][-1].text == "Shipped."


def records(memory: Memory, of: type[Of], **options: Any) -> list[Of]:
    listed = memory.list(user=ANA, types=(of.type,), **options)
    return [record for record in listed if isinstance(record, of)]


def found(memory: Memory, query: str, user: str) -> set[str]:
    recalled = memory.recall(query, user=user, project=PROJECT)
    return {hit.text for hit in recalled.hits}


EXPECTED: dict[str, Callable[[Path], None]] = {
    "schema-1": expect_schema_1,
    "first-version": expect_first_version,
}


def test_each_archive_is_expected_to_hold_something() -> None:
    assert {path.name for path in FIXTURES.iterdir()} == {f"{name}.tar.xz" for name in EXPECTED}


@pytest.mark.parametrize("name", EXPECTED)
def test_everything_that_earlier_code_wrote_is_found(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "memory"
    for _ in range(2):
        EXPECTED[name](folder)
    assert not caplog.records
    assert not (folder / "quarantine").exists()
