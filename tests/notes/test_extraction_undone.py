"""What a model extracted is taken back, change by change."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from langgraph_memory import Memory, Note
from langgraph_memory.testing import ManualClock, ScriptedChatModel

TEXTS = ["Drinks tea.", "drinks TEA.", "Drinks mate.", "喝咖啡。"]
ITEMS = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from([None, "drink", "gift"])), max_size=4
)


def shown(memory: Memory) -> dict[str, tuple[Any, ...]]:
    notes = [note for note in memory.list(user="ana") if isinstance(note, Note)]
    return {note.id: (note.text, note.slot, note.mentions, note.sources) for note in notes}


@settings(deadline=None, max_examples=60)
@given(ITEMS, st.lists(ITEMS, min_size=1, max_size=3))
def test_undoing_all_changes_of_a_batch_from_the_last_gives_what_was_known_before(
    known: list[tuple[str, str | None]], batches: list[list[tuple[str, str | None]]]
) -> None:
    clock = ManualClock()
    answers = [
        {
            "notes": [
                {"message": 1, "quote": text, "text": text, "kind": "fact", "slot": slot}
                for text, slot in batch
            ]
        }
        for batch in batches
    ]
    with Memory(InMemoryStore(), model=ScriptedChatModel(answers), clock=clock) as memory:
        for text, slot in known:
            memory.remember(text, user="ana", slot=slot)
            clock.advance(minutes=1)
        for number, batch in enumerate(batches):
            before = shown(memory)
            said = HumanMessage(" ".join(text for text, _ in batch) or "Hm", id=f"q{number}")
            reply = AIMessage("I see.", id=f"a{number}")
            memory.log_turn([said, reply], user="ana", thread_id="t")
            changes = memory.extract(user="ana")
            clock.advance(minutes=1)
            for change in reversed(changes):
                memory.undo(change.id, user="ana")
                clock.advance(minutes=1)
            assert shown(memory) == before
