"""`consolidate` on real stores: for one owner or all, with a model or without, beside others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, Memory
from langgraph_memory.errors import ConfigurationError, MissingUserError, RecordNotFoundError
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note
from langgraph_memory.store.records import put_op
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.proposals import propose, texts

if TYPE_CHECKING:
    from tests.conftest import Verbs

BLUE = ("Likes blue", "The user likes blue.", "The user likes the blue.", "Likes blue!")


async def say(memory: Verbs, *said: str, user: str = "ana", **options: Any) -> list[Note]:
    changes = [
        await memory.remember(text, user=user, sources=[f"message {i}"], **options)
        for i, text in enumerate(said)
    ]
    return [change.record for change in changes]


async def shown(memory: Verbs, user: str = "ana", **options: Any) -> list[str]:
    return texts(await memory.list(user=user, **options))


# -- without a model -----------------------------------------------------------------------------


async def test_four_wordings_become_one_note_with_four_sources_and_undo_brings_all_back(
    memory: Verbs,
) -> None:
    said = await say(memory, *BLUE, importance=0.4)
    kept, *gone = await memory.consolidate(user="ana")
    assert await shown(memory) == [BLUE[2]]
    assert [kept.action, *(change.action for change in gone)] == ["update", *["retire"] * 3]
    assert set(kept.record.sources) == {f"message {i}" for i in range(4)}
    assert (kept.record.mentions, kept.record.importance) == (4, 0.4)
    for change in gone:
        [past] = await memory.history(change.record.id, user="ana")
        assert (past.status, past.superseded_by) == ("superseded", kept.record.id)
    assert await memory.consolidate(user="ana") == []
    await memory.undo(kept.id, user="ana")
    assert sorted(await shown(memory)) == sorted(BLUE)
    assert len({each.id for each in said}) == 4


async def test_what_was_taken_apart_stays_apart_until_it_says_something_else(
    memory: Verbs,
) -> None:
    await say(memory, *BLUE[:3])
    kept, *_ = await memory.consolidate(user="ana")
    await memory.undo(kept.id, user="ana")
    assert await memory.consolidate(user="ana") == []
    await say(memory, BLUE[3])  # a fourth, of which nobody said that
    await memory.consolidate(user="ana")
    assert sorted(await shown(memory)) == sorted(BLUE[:3])
    [note] = [note for note in await memory.list(user="ana") if note.text == BLUE[0]]
    await memory.edit(note.id, text="Likes blue a lot", user="ana")
    await memory.edit(note.id, text=BLUE[0], user="ana")
    await memory.consolidate(user="ana")
    assert sorted(await shown(memory)) == sorted(BLUE[1:3])


async def test_a_condition_more_is_another_note_when_it_is_said_and_ever_after(
    memory: Verbs,
) -> None:
    general, narrower = "Allergic to nuts", "Allergic to nuts in raw form"
    await say(memory, general, pinned=True, importance=1.0)
    await say(memory, narrower)
    await say(memory, "用户对坚果过敏。", "用户对生的坚果过敏。")
    assert await memory.consolidate(user="ana") == []
    assert {general, narrower} < set(await shown(memory))


async def test_what_was_merged_into_a_note_is_forgotten_with_it(memory: Verbs) -> None:
    await say(memory, *BLUE, "Has a dog")
    kept, *_ = await memory.consolidate(user="ana")
    receipt = await memory.forget(kept.record.id, user="ana")
    assert receipt.counts == {"note": 4}
    assert await shown(memory, status=None) == ["Has a dog"]


async def test_what_is_over_faded_or_too_much_is_archived_and_critical_notes_stay(
    memory: Verbs, clock: ManualClock
) -> None:
    await say(memory, "Is allergic to penicillin", importance=1.0)
    await say(memory, "Had a bun", importance=0.05)
    await say(memory, "Never call before nine", kind="instruction")
    await say(memory, "Lives in Rosario", slot="home city")
    clock.advance(days=1_000)
    await say(memory, "Had a bun", importance=0.05)  # saying it again does not make it important
    changes = await memory.consolidate(user="ana")
    assert [(change.action, change.reason) for change in changes] == [("archive", "faded")]
    await say(memory, "Buys green tea", "Walks to work", importance=0.5)
    changes = await memory.consolidate(user="ana", max_notes=3)
    assert [change.reason for change in changes] == ["least useful"] * 2
    assert "Is allergic to penicillin" in await shown(memory)
    assert len(await shown(memory, status="archived")) == 3
    for change in changes:
        await memory.undo(change.id, user="ana")
    assert len(await shown(memory)) == 5


async def test_what_was_brought_back_is_not_put_away_at_once_again(
    memory: Verbs, clock: ManualClock
) -> None:
    await say(memory, "Had a bun", importance=0.05)
    clock.advance(days=100)
    [faded] = await memory.consolidate(user="ana")
    await memory.undo(faded.id, user="ana")
    assert await memory.consolidate(user="ana") == []


async def test_a_note_that_is_over_is_archived_with_the_end_that_it_had(
    chroma_memory: Memory, clock: ManualClock
) -> None:
    note = chroma_memory.remember("Is in Porto", user="ana", pinned=True).record
    assert isinstance(note, Note)
    end = clock.advance(days=2)
    chroma_memory.store.batch([put_op(replace(note, valid_until=end))])
    clock.advance(days=2)
    [change] = chroma_memory.consolidate(user="ana")
    assert (change.record.status, change.record.valid_until) == ("archived", end)


async def test_a_slot_goes_over_to_the_note_that_is_kept(memory: Verbs) -> None:
    await say(memory, "Has a dog", slot="pet")
    await say(memory, "The user has a dog.")
    await memory.consolidate(user="ana")
    assert await memory.facts(user="ana") == {"pet": "The user has a dog."}
    await say(memory, "Has a cat", slot="pet")
    assert await shown(memory) == ["Has a cat"]


async def test_a_dry_run_says_what_would_be_done_and_writes_nothing(memory: Verbs) -> None:
    await say(memory, *BLUE)
    before = await memory.list(user="ana", status=None)
    planned = await memory.consolidate(user="ana", dry_run=True)
    assert await memory.list(user="ana", status=None) == before
    assert await memory.consolidate(user="ana") == planned


async def test_proposed_notes_and_older_versions_are_left_alone(
    memory: Verbs, clock: ManualClock
) -> None:
    propose(memory.memory.store, "Likes blue", clock())
    await say(memory, "Lives in Rosario", "Lives in Lima", slot="home city")
    before = await memory.list(user="ana", status=None)
    assert await memory.consolidate(user="ana", max_notes=1) == []
    assert await memory.list(user="ana", status=None) == before


# -- whose notes ---------------------------------------------------------------------------------


async def test_all_owners_have_their_turn_and_nothing_is_merged_across_them(memory: Verbs) -> None:
    for user in ("ana", "u_1", "u%1"):
        await say(memory, *BLUE[:2], user=user)
    await say(memory, *BLUE[:2], project="shop")
    await say(memory, "Likes blue", user="ben")
    memory.memory.store.put(("memory", "user", "eve", "note", "deeper"), "k", {"text": "no note"})
    memory.memory.store.put(("memory", "user", "100 %", "note"), "k", {"text": "not our label"})
    memory.memory.store.put(("notes",), "k", {"text": "Likes blue"})
    told: list[tuple[int, int]] = []
    changes = await memory.consolidate(on_progress=lambda done, total: told.append((done, total)))
    owners = [change.record.owner for change in changes if change.action == "update"]
    assert sorted(owner.id for owner in owners) == ["ana", "shop", "u%1", "u_1"]
    assert told == [(n, 5) for n in range(1, 6)]
    assert await shown(memory, user="ben") == ["Likes blue"]
    assert len(await shown(memory, project="shop")) == 1
    assert memory.memory.store.get(("notes",), "k") is not None


async def test_what_cannot_show_progress_is_refused_before_anything_is_done(
    memory: Verbs,
) -> None:
    async def awaited(done: int, total: int) -> None: ...

    await say(memory, *BLUE[:2])
    for wrong in (5, awaited):
        with pytest.raises(ConfigurationError, match="on_progress= is a plain function"):
            await memory.consolidate(on_progress=wrong)
        with pytest.raises(ConfigurationError, match="on_progress= is a plain function"):
            await memory.add_document("Tea.", source="a.md", user="ana", on_progress=wrong)
    assert len(await shown(memory)) == 2
    assert await memory.list(user="ana", types=("source",)) == []


async def test_one_owner_is_named_and_others_are_left(memory: Verbs) -> None:
    await say(memory, *BLUE[:2])
    await say(memory, *BLUE[:2], project="shop")
    await say(memory, *BLUE[:2], agent="clerk")
    await memory.consolidate(project="shop")
    assert [len(await shown(memory, **whose)) for whose in ({}, {"project": "shop"})] == [2, 1]
    await memory.consolidate(user="ana", agent="clerk")
    assert [len(await shown(memory, **whose)) for whose in ({}, {"agent": "clerk"})] == [2, 1]
    assert await memory.consolidate(user="nobody") == []


@pytest.mark.parametrize(
    ("whose", "error"),
    [
        ({"user": ""}, MissingUserError),
        ({"user": True}, ConfigurationError),
        ({"project": ""}, ConfigurationError),
        ({"project": "shop", "agent": "clerk"}, ConfigurationError),
        ({"max_notes": -1}, ConfigurationError),
        ({"max_notes": None}, ConfigurationError),
    ],
    ids=["empty", "flag", "no-project", "two", "negative", "none"],
)
async def test_an_owner_or_a_limit_that_is_none_is_refused(
    memory: Verbs, whose: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await memory.consolidate(**whose)


async def test_an_owner_whose_notes_cannot_be_read_does_not_keep_others_from_their_turn(
    clock: ManualClock, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.conftest import Verbs

    store = Unreadable()
    memory = Verbs(Memory(store, clock=clock), prefix)
    for user in ("ana", "ben", "zoe"):
        await say(memory, *BLUE[:2], user=user)
    store.unreadable = Owner("user", "ben").namespace("note")
    with pytest.raises(OSError, match="unreadable"):
        await memory.consolidate()
    assert "'ben'" in caplog.text
    assert [len(await shown(memory, user=user)) for user in ("ana", "zoe")] == [1, 1]


async def test_too_many_critical_notes_are_kept_and_told(
    memory: Verbs, caplog: pytest.LogCaptureFixture
) -> None:
    await say(memory, "Allergic to nuts", "Allergic to milk", importance=0.9)
    assert await memory.consolidate(user="ana", max_notes=1) == []
    assert "user 'ana' keeps 2 notes, more than max_notes=1" in caplog.text


async def test_what_interrupted_calls_left_of_documents_is_deleted_for_each_owner(
    clock: ManualClock, prefix: str
) -> None:
    from tests.conftest import Verbs

    memory = Verbs(Memory(Stopping(), clock=clock), prefix)
    store = memory.memory.store
    assert isinstance(store, Stopping)
    await memory.add_document("Whole.", source="a.md", user="ana")
    for whose in ({}, {"project": "shop"}):  # neither of them has notes
        store.writes_left = 1  # equal texts go in two writes: the second chunk is lost
        with pytest.raises(OSError, match="disk"):
            await memory.add_document("# A\n\nx\n\n# A\n\nx", source="b.md", user="ana", **whose)
    store.writes_left = 1_000
    owners = [Owner("user", "ana"), Owner("project", "shop")]

    def lying() -> list[int]:
        return [len(store.search(owner.namespace("document"))) for owner in owners]

    await memory.consolidate()
    assert lying() == [2, 1]  # somebody may be writing them
    clock.advance(hours=2)
    await memory.consolidate(dry_run=True)
    assert lying() == [2, 1]
    await memory.consolidate()
    assert lying() == [1, 0]
    assert [each.source for each in await memory.list(user="ana", types=("document",))] == ["a.md"]


# -- with a model --------------------------------------------------------------------------------


def modelled(clock: ManualClock, *answers: Any, prefix: str = "") -> Verbs:
    from tests.conftest import Verbs

    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    return Verbs(Memory(store, model=ScriptedChatModel(answers), clock=clock, retries=0), prefix)


def merge_of(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Merge the notes about blue, as a good model would."""
    lines = str(messages[-1].text).splitlines()
    blue = [n for n, line in enumerate((x for x in lines if "<note" in x), 1) if "lue" in line]
    merges = [{"notes": blue, "text": "Likes the colour blue"}] if len(blue) > 1 else []
    return {"merges": merges}


async def test_a_model_says_what_is_the_same_and_in_which_words(
    clock: ManualClock, prefix: str
) -> None:
    memory = modelled(clock, merge_of, merge_of, merge_of, prefix=prefix)
    await say(memory, "Likes the blue", "Blue is what the user likes", "Blue it has to be")
    planned = await memory.consolidate(user="ana", dry_run=True)
    assert len(await shown(memory)) == 3
    changes = await memory.consolidate(user="ana")
    assert [change.action for change in changes] == ["supersede", "retire", "retire"]
    assert [change.record.text for change in planned] == [each.record.text for each in changes]
    assert await shown(memory) == ["Likes the colour blue"]
    kept = changes[0]
    assert len(await memory.history(kept.record.id, user="ana")) == 2
    assert await memory.consolidate(user="ana") == []
    await memory.undo(kept.id, user="ana")
    assert len(await shown(memory)) == 3
    assert await memory.consolidate(user="ana") == []  # whatever the model says
    assert await memory.consolidate(user="ana") == []


@pytest.mark.parametrize(
    "answer",
    [
        RuntimeError("the provider is down"),
        "no JSON",
        {"merges": [{"notes": [1, 9], "text": "Likes blue"}]},
        {"merges": [{"notes": [1, 2], "text": ""}]},
    ],
    ids=["error", "prose", "unknown", "empty"],
)
async def test_an_answer_that_is_none_changes_nothing_and_is_logged(
    clock: ManualClock, prefix: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    memory = modelled(clock, answer, prefix=prefix)
    await say(memory, "Likes the blue", "Blue is what the user likes")
    before = await memory.list(user="ana", status=None)
    with caplog.at_level(logging.WARNING, "langgraph_memory.memory.consolidate"):
        assert await memory.consolidate(user="ana") == []
    assert await memory.list(user="ana", status=None) == before
    assert len(caplog.records) == 1


async def test_what_changes_while_the_model_thinks_is_left_as_it_is(clock: ManualClock) -> None:
    def meanwhile(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        [edited] = [n for n in memory.memory.list(user="ana") if n.text == "Likes the blue"]
        memory.memory.edit(edited.id, user="ana", text="Likes the red")
        memory.memory.remember("Walks to work", user="ana")  # nobody waits for the model
        return {"merges": [{"notes": [1, 2], "text": "Likes blue"}]}

    memory = modelled(clock, meanwhile)
    await say(memory, "Likes the blue", "Blue is what the user likes")
    assert await memory.consolidate(user="ana") == []
    assert "Likes the red" in await shown(memory)


async def test_a_model_is_asked_once_about_notes_that_stay_as_they_are(
    clock: ManualClock, prefix: str
) -> None:
    nothing: dict[str, Any] = {"merges": []}
    half = {"merges": [{"notes": [1, 9], "text": "Likes blue"}]}
    memory = modelled(clock, RuntimeError("down"), half, nothing, nothing, nothing, prefix=prefix)
    model = memory.memory.model
    assert isinstance(model, ScriptedChatModel)
    await say(memory, "Likes the blue", "Blue is what the user likes")
    for calls in (1, 2, 3, 3):  # what failed, or cannot be right, is asked for again
        await memory.consolidate(user="ana")
        assert len(model.calls) == calls
    await memory.remember("Likes the blue", user="ana")  # said again, it is the same text
    await memory.consolidate(user="ana")
    [note] = await memory.list(user="ana", contains="likes the blue")
    assert len(model.calls) == 3
    await memory.edit(note.id, user="ana", text="The user likes that blue")
    await memory.consolidate(user="ana", dry_run=True)
    await memory.consolidate(user="ana")  # a dry run keeps nothing
    assert len(model.calls) == 5
    await memory.forget(user="ana", everything=True)
    await memory.consolidate(user="ana")
    assert await memory.list(user="ana", types=("extraction",)) == []


async def test_nothing_is_kept_of_what_was_forgotten_while_the_model_thought(
    clock: ManualClock,
) -> None:
    def meanwhile(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        memory.memory.forget(user="ana", everything=True)
        return {"merges": []}

    memory = modelled(clock, meanwhile)
    await say(memory, "Likes the blue", "Blue is what the user likes")
    assert await memory.consolidate(user="ana") == []
    assert await memory.list(user="ana", types=("extraction",)) == []


async def test_where_nothing_is_alike_no_model_is_asked(clock: ManualClock, prefix: str) -> None:
    memory = modelled(clock, prefix=prefix)
    await say(memory, "Likes blue")
    assert await memory.consolidate(user="ana") == []


async def test_a_store_without_vectors_is_consolidated_by_words_alone(prefix: str) -> None:
    from tests.conftest import Verbs

    memory = Verbs(Memory(InMemoryStore(), model=ScriptedChatModel([])), prefix)
    await say(memory, *BLUE, "Blue is nice")
    await memory.consolidate(user="ana")
    assert len(await shown(memory)) == 2


# -- interrupted, and beside others --------------------------------------------------------------


class Stopping(InMemoryStore):
    """A store that fails at one of its writes, as if the process had died there."""

    writes_left = 1_000

    def batch(self, ops: Any) -> list[Any]:
        ops = list(ops)
        if any(type(op).__name__ == "PutOp" for op in ops):
            self.writes_left -= 1
            if self.writes_left < 0:
                raise OSError("the disk is gone")
        return super().batch(ops)

    async def abatch(self, ops: Any) -> list[Any]:
        return self.batch(ops)


class Unreadable(InMemoryStore):
    """A store of which one namespace cannot be read, as on a broken disk."""

    unreadable: tuple[str, ...] = ("none",)

    def batch(self, ops: Any) -> list[Any]:
        ops = list(ops)
        if any(getattr(op, "namespace_prefix", None) == self.unreadable for op in ops):
            raise OSError("unreadable")
        return super().batch(ops)

    async def abatch(self, ops: Any) -> list[Any]:
        return self.batch(ops)


@pytest.mark.parametrize("after", range(4))
def test_a_store_that_fails_in_the_middle_is_consolidated_to_the_same_end(
    clock: ManualClock, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph_memory.notes.consolidation._TOGETHER", 2)

    def filled() -> Memory:
        memory = Memory(Stopping(), clock=clock)
        for n in range(3):
            memory.remember(f"Likes blue {n}", user="ana", sources=[f"a{n}"])
            memory.remember(f"the user likes blue {n}", user="ana", sources=[f"b{n}"])
        return memory

    def rows(memory: Memory) -> list[Any]:
        return sorted(memory.list(user="ana", status=None), key=lambda note: note.id)

    whole, broken = filled(), filled()
    whole.consolidate(user="ana")
    assert isinstance(broken.store, Stopping)
    broken.store.writes_left = after
    if after < 3:
        with pytest.raises(OSError, match="disk"):
            broken.consolidate(user="ana")
    broken.store.writes_left = 1_000
    broken.consolidate(user="ana")
    assert rows(broken) == rows(whole)


def test_what_others_write_meanwhile_is_kept(chroma_memory: Memory) -> None:
    memory = chroma_memory
    names = [f"n{i}" for i in range(12)]

    def write(name: str) -> None:
        note = memory.remember(f"Likes blue {name}", user="ana", sources=[name]).record
        memory.remember(f"The user likes blue {name}.", user="ana", sources=[f"{name} again"])
        with suppress(RecordNotFoundError):  # it was merged into the other
            memory.edit(note.id, user="ana", importance=0.6)
        memory.remember(f"gone {name}", user="ana")
        memory.forget(text=f"gone {name}", user="ana")

    with ThreadPoolExecutor(4) as pool:
        jobs: list[Future[Any]] = []
        for name in names:
            jobs += [pool.submit(write, name), pool.submit(memory.consolidate, user="ana")]
        for job in jobs:
            job.result()
    memory.consolidate(user="ana")
    notes = [note for note in memory.list(user="ana") if isinstance(note, Note)]
    assert len(notes) == len(names)
    assert {source for note in notes for source in note.sources} == {
        source for name in names for source in (name, f"{name} again")
    }


async def test_tasks_of_one_loop_write_and_consolidate_at_once(chroma_memory: Memory) -> None:
    memory = chroma_memory
    said = [f"{text} {n}" for n in range(5) for text in ("Likes blue", "The user likes blue")]
    await asyncio.gather(
        *(memory.aremember(text, user="ana", sources=[text]) for text in said),
        *(memory.aconsolidate() for _ in range(5)),
    )
    await memory.aconsolidate()
    notes = [note for note in await memory.alist(user="ana") if isinstance(note, Note)]
    assert len(notes) == 5
    assert {source for note in notes for source in note.sources} == set(said)


def test_two_that_consolidate_at_once_come_to_what_one_does(store: BaseStore) -> None:
    memory = Memory(store)
    for text in BLUE:
        memory.remember(text, user="ana")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: memory.consolidate(), range(2)))
    assert sorted(map(len, done)) == [0, 4]
    [note] = memory.list(user="ana")
    assert isinstance(note, Note)
    assert note.mentions == 4


def test_it_is_there_when_the_directory_is_reopened(tmp_path: Path) -> None:
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        for text in BLUE:
            memory.remember(text, user="ana")
        kept, *_ = memory.consolidate()
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        assert texts(memory.list(user="ana")) == [BLUE[2]]
        assert memory.recall("blue", user="ana").hits[0].record.id == kept.record.id
        memory.undo(kept.id, user="ana")
        assert len(memory.list(user="ana")) == 4
