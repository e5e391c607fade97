"""Notes changed in any order, beside a plain list of what was active when."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from langgraph.store.memory import InMemoryStore

from langgraph_memory import Memory
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records.receipts import Change
from langgraph_memory.records.records import Note, normalise
from langgraph_memory.testing import ManualClock
from tests.proposals import propose, texts

TEXTS = st.sampled_from(["tea", "TEA", "mate", "咖啡", "coffee"])
SLOTS = st.sampled_from([None, None, "drink", "Drink", "礼物"])
INDEX = st.integers(0, 50)

Shown = dict[str, tuple[Any, ...]]


class History(RuleBasedStateMachine):
    """A memory beside a plain list of what was active after each change."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.memory = Memory(InMemoryStore(), clock=self.clock)
        self.changes: list[Change] = []
        self.proposed: list[str] = []
        self.said: set[tuple[str, str]] = set()
        self.past: list[tuple[datetime, Shown]] = [(self.clock(), {})]

    def shown(self) -> Shown:
        """What is active now, by id, and all that undo has to bring back."""
        notes = [note for note in self.memory.list(user="ana") if isinstance(note, Note)]
        fields = ("text", "kind", "slot", "mentions", "importance", "pinned", "metadata")
        return {note.id: tuple(getattr(note, name) for name in fields) for note in notes}

    def rows(self) -> list[Note]:
        notes = self.memory.list(user="ana", status=None, limit=10_000)
        return [note for note in notes if isinstance(note, Note)]

    def do(self, call: Callable[[], Change]) -> Change | None:
        """Change something, a minute later; what is refused changes nothing."""
        before = self.rows()
        self.clock.advance(minutes=1)
        try:
            change = call()
        except ConfigurationError:
            assert self.rows() == before
            return None
        self.said.add((change.record.id, change.record.text))
        self.changes.append(change)
        self.past.append((self.clock(), self.shown()))
        return change

    @rule(text=TEXTS, slot=SLOTS, pinned=st.booleans(), importance=st.sampled_from([0.5, 0.9]))
    def remember(self, text: str, slot: str | None, pinned: bool, importance: float) -> None:
        options: dict[str, Any] = {"slot": slot, "pinned": pinned, "importance": importance}
        change = self.do(lambda: self.memory.remember(text, user="ana", **options))
        assert change is not None
        assert normalise(self.shown()[change.record.id][0]) == normalise(text)

    @rule(text=TEXTS, slot=SLOTS)
    def propose(self, text: str, slot: str | None) -> None:
        note = propose(self.memory.store, text, self.clock.advance(minutes=1), slot)
        self.said.add((note.id, note.text))
        self.proposed.append(note.id)

    @precondition(lambda self: self.proposed)
    @rule(at=INDEX, yes=st.booleans())
    def decide(self, at: int, yes: bool) -> None:
        id = self.proposed.pop(at % len(self.proposed))
        verb = self.memory.approve if yes else self.memory.reject
        before = self.shown()
        self.do(lambda: verb(id, user="ana"))
        assert yes or self.shown() == before

    @precondition(lambda self: self.shown())
    @rule(at=INDEX, text=TEXTS | st.none(), pinned=st.booleans())
    def edit(self, at: int, text: str | None, pinned: bool) -> None:
        id = sorted(self.shown())[at % len(self.shown())]
        change = self.do(lambda: self.memory.edit(id, user="ana", text=text, pinned=pinned))
        assert change is None or self.shown()[id][0] == (text or self.shown()[id][0])

    @precondition(lambda self: self.changes)
    @rule()
    def undo_the_last_change(self) -> None:
        change, before = self.changes[-1], self.past[-2][1]
        assume(change.reason != "undone" or change.action in ("archive", "restore"))
        assume(change.action != "archive" or change.reason != "rejected")
        undone = self.do(lambda: self.memory.undo(change.id, user="ana"))
        assert undone is not None
        assert self.shown() == before
        assert self.do(lambda: self.memory.undo(change.id, user="ana")) is None

    @precondition(lambda self: self.changes)
    @rule(at=INDEX)
    def undo_any_change(self, at: int) -> None:
        change = self.changes[at % len(self.changes)]
        self.do(lambda: self.memory.undo(change.id, user="ana"))

    @precondition(lambda self: self.rows())
    @rule(at=INDEX)
    def restore(self, at: int) -> None:
        row = self.rows()[at % len(self.rows())]
        change = self.do(lambda: self.memory.restore(row.id, user="ana"))
        assert change is None or self.shown()[change.record.id][0] == row.text

    @precondition(lambda self: self.changes)
    @rule(at=INDEX)
    def forget(self, at: int) -> None:
        id = self.changes[at % len(self.changes)].record.id
        receipt = self.memory.forget(id, user="ana")
        gone = {each.partition("@")[0] for each in receipt.ids}  # also what gave way to it
        assert id in gone
        self.changes.clear()
        self.proposed = [each for each in self.proposed if each not in gone]
        self.said = {pair for pair in self.said if pair[0] not in gone}
        for _, shown in self.past:
            for each in gone:
                shown.pop(each, None)

    @rule(at=INDEX)
    def the_past_is_what_it_was(self, at: int) -> None:
        moment, shown = self.past[at % len(self.past)]
        recalled = self.memory.recall("tea", user="ana", as_of=moment)
        assert sorted(texts(recalled.profile)) == sorted(text for text, *_ in shown.values())

    @invariant()
    def a_slot_has_one_active_note(self) -> None:
        slots = [normalise(slot) for _, _, slot, *_ in self.shown().values() if slot is not None]
        assert len(set(slots)) == len(slots)
        assert len(self.memory.facts(user="ana")) == len(slots)

    @invariant()
    def nothing_is_lost_and_no_chain_is_broken(self) -> None:
        rows = self.rows()
        assert self.said <= {(row.id.partition("@")[0], row.text) for row in rows}
        for id in {row.id.partition("@")[0] for row in rows}:
            chain = self.memory.history(id, user="ana")
            assert [note.version for note in chain] == list(range(1, len(chain) + 1))
            assert [note.id for note in chain] == [
                *(f"{id}@{number}" for number in range(1, len(chain))),
                id,
            ]
            for old, new in pairwise(chain):
                assert old.status == "superseded"
                assert old.valid_until is not None
                assert old.valid_from <= old.valid_until <= new.valid_from


TestHistory = History.TestCase
TestHistory.settings = settings(deadline=None, max_examples=60, stateful_step_count=20)
