"""What is known to be kept of a thread: a shortcut that changes nothing of what is kept."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import GetOp
from langgraph.store.memory import InMemoryStore

from langgraph_memory import Memory
from langgraph_memory.messages.log import NO_MARK, Mark, Marks, Place, print_of, unknown
from langgraph_memory.records.owners import Owner
from langgraph_memory.testing import ManualClock

ANA = Owner("user", "ana")
IDS = [str(uuid.UUID(int=0)), "m-1"]
TEXTS = st.sampled_from(["tea", "coffee"])
STATES = st.sampled_from(
    [
        [(IDS[0], "tea")],
        [(IDS[0], "coffee")],
        [(IDS[0], "tea"), (IDS[1], "tea")],
        [(IDS[1], "coffee")],
    ]
)
WHERE = st.sampled_from([(0, "first"), (0, "fork"), (1, "first"), (1, "fork")])
"""A process, and the thread that it goes on with."""


class CountingStore(InMemoryStore):
    """A store that counts what is looked up."""

    looked_up = 0

    def batch(self, ops: Any) -> list[Any]:
        """Count, and do it."""
        ops = list(ops)
        self.looked_up += sum(isinstance(op, GetOp) for op in ops)
        return super().batch(ops)


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def conversation(count: int) -> list[BaseMessage]:
    kinds = (HumanMessage, AIMessage)
    return [kinds[i % 2](f"what was said, {i}", id=str(uuid.UUID(int=i))) for i in range(count)]


def kept(memory: Memory) -> set[tuple[Any, ...]]:
    listed = memory.list(user="ana", types=("message",), limit=10_000)
    return {(m.id, m.thread_id, m.message_id, m.position, m.text) for m in listed}


def forgetful(memory: Memory) -> Memory:
    """Let a memory begin each call as a process does that has just been started."""
    memory._marks = Marks(max_messages=0)
    return memory


# -- what is kept is the same with marks and without ---------------------------------------------


@settings(max_examples=150)
@given(
    st.lists(
        st.one_of(
            st.tuples(WHERE, STATES),
            st.tuples(WHERE, STATES),
            st.tuples(WHERE, st.sampled_from([{"text": "tea"}, {"everything": True}])),
        ),
        max_size=10,
    )
)
def test_two_processes_with_marks_keep_what_they_would_without(steps: Sequence[Any]) -> None:
    """States that grow, shrink, are edited and edited back, forked, copied and forgotten."""
    with _two(lambda memory: memory) as marked, _two(forgetful) as plain:
        for (process, thread_id), what in steps:
            for memory in (marked[process], plain[process]):
                if isinstance(what, dict):
                    memory.forget(user="ana", **what)
                else:
                    said = [HumanMessage(text, id=id) for id, text in what]
                    memory.log_turn(said, user="ana", thread_id=thread_id)
            assert kept(marked[0]) == kept(plain[0])


@contextmanager
def _two(made: Callable[[Memory], Memory]) -> Iterator[list[Memory]]:
    """Two memories of one store, as two processes have them."""
    store, clock = InMemoryStore(), ManualClock()
    yield [made(Memory(store, clock=clock)) for _ in range(2)]


async def test_a_turn_looks_up_what_is_new_and_not_its_thread(store: CountingStore) -> None:
    memory = Memory(store)
    counts = []
    for length in (10, 500):
        said = conversation(length + 4)
        memory.log_turn(said[:length], user="ana", thread_id=f"of {length}")
        store.looked_up = 0
        memory.log_turn(said[: length + 2], user="ana", thread_id=f"of {length}")
        memory.log_turn(said[length:], user="ana", thread_id=f"of {length}")  # only what is new
        await memory.alog_turn(said, user="ana", thread_id=f"of {length}")
        counts.append(store.looked_up)
    assert counts[0] == counts[1] < 60


def test_what_another_process_edits_is_edited_back(
    store: CountingStore, clock: ManualClock
) -> None:
    here, there = Memory(store, clock=clock), Memory(store, clock=clock)
    before, after = HumanMessage("Tea", id=IDS[0]), HumanMessage("Coffee", id=IDS[0])
    for memory, said in ((here, before), (there, after), (here, before)):
        memory.log_turn([said], user="ana", thread_id="t")
    assert {text for *_, text in kept(here)} == {"Tea"}


def test_a_copy_says_what_it_said_when_the_first_is_edited_by_another_process(
    store: CountingStore, clock: ManualClock
) -> None:
    here, there = Memory(store, clock=clock), Memory(store, clock=clock)
    said = HumanMessage("Tea", id=IDS[0])
    here.log_turn([said], user="ana", thread_id="first")
    here.log_turn([said], user="ana", thread_id="fork")
    there.log_turn([HumanMessage("Coffee", id=IDS[0])], user="ana", thread_id="first")
    here.log_turn([said], user="ana", thread_id="fork")
    assert {(thread, text) for _, thread, _, _, text in kept(here)} == {
        ("first", "Coffee"),
        ("fork", "Tea"),
    }


def test_what_another_process_says_in_a_copy_is_edited_back(
    store: CountingStore, clock: ManualClock
) -> None:
    here, there = Memory(store, clock=clock), Memory(store, clock=clock)
    before, after = HumanMessage("Tea", id=IDS[0]), HumanMessage("Coffee", id=IDS[0])
    here.log_turn([before], user="ana", thread_id="first")
    for memory, said in ((here, before), (there, after), (here, before)):
        memory.log_turn([said], user="ana", thread_id="fork")
    assert {text for *_, text in kept(here)} == {"Tea"}


def test_what_was_lost_from_the_store_is_kept_again(store: CountingStore) -> None:
    memory, said = Memory(store), conversation(6)
    memory.log_turn(said, user="ana", thread_id="t")
    before = kept(memory)
    for item in store.search(("memory",), limit=100):
        store.delete(item.namespace, item.key)  # as an older backup that was put back
    memory.log_turn(said, user="ana", thread_id="t")
    assert kept(memory) == before


def test_what_could_not_be_written_is_not_known(
    store: CountingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, said = Memory(store), conversation(4)
    memory.log_turn(said[:2], user="ana", thread_id="t")
    with monkeypatch.context() as patch:
        patch.setattr(memory, "_write", _raise)
        with pytest.raises(OSError, match="full"):
            memory.log_turn(said, user="ana", thread_id="t")
    memory.log_turn(said, user="ana", thread_id="t")
    assert len(kept(memory)) == 4


def _raise(ops: object) -> None:
    raise OSError("the disk is full")


# -- the mark itself -----------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.sampled_from([*IDS, None]), TEXTS), max_size=8),
    st.dictionaries(st.sampled_from(IDS), TEXTS),
)
def test_of_several_messages_with_one_id_the_last_is_compared(
    state: list[tuple[str | None, str]], before: dict[str, str]
) -> None:
    messages = [HumanMessage(text, id=id) for id, text in state]
    known = {id: print_of(HumanMessage(text)) for id, text in before.items()}
    last = {id: place for place, (id, _) in enumerate(state)}
    expected = [
        place
        for place, (id, text) in enumerate(state)
        if last[id] == place and (id is None or before.get(id) != text)
    ]
    assert [place for place, _ in unknown(messages, known)] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HumanMessage("a"), HumanMessage("b")),
        (HumanMessage("a"), HumanMessage([{"type": "text", "text": "a"}])),
        (
            HumanMessage([{"type": "text", "text": "a"}]),
            HumanMessage([{"type": "text", "text": "b"}]),
        ),
        (HumanMessage("a"), HumanMessage("a", additional_kwargs={"lc_source": "summarization"})),
        (
            AIMessage("", additional_kwargs={"audio": {"transcript": "a"}}),
            AIMessage("", additional_kwargs={"audio": {"transcript": "b"}}),
        ),
    ],
)
def test_what_says_something_else_has_another_print(one: BaseMessage, other: BaseMessage) -> None:
    assert print_of(one) != print_of(other)
    assert print_of(one) == print_of(one.model_copy(deep=True))


def test_the_threads_that_were_used_last_are_known() -> None:
    marks = Marks(max_messages=3)
    places = [Place(0, ANA, thread) for thread in "abc"]
    for place in places:
        marks.put(place, Mark({"1": 1}, None, None))
    marks.put(places[0], Mark({"1": 1, "2": 2}, None, None))
    assert [marks.get(place) is NO_MARK for place in places] == [False, True, False]
