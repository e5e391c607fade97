"""Windows of a conversation: what stands around a message, however its rows were written."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.chroma.partition import Partition
from langgraph_memory.retrieval.message_window import (
    AFTER,
    BEFORE,
    NEIGHBOUR,
    PAUSE_HOURS,
    Conversation,
    MessageColumns,
)
from langgraph_memory.store.operations import StoredItem
from langgraph_memory.text.bm25 import K1, B, idf

START = datetime(2026, 5, 1, 9, tzinfo=UTC)
WORDS = ("tea", "moka", "train", "Lima?", "why?", "seven")
NEIGHBOURS = ("before", "after")


@dataclass(frozen=True)
class Said:
    """A message as a test writes it; the hour orders it within its thread."""

    key: str
    text: str
    thread: str = "t"
    hour: int = 0
    position: int = 0
    logged: int = 0

    @property
    def item(self) -> StoredItem:
        value = {
            "text": self.text,
            "thread_id": self.thread,
            "created_at": (START + timedelta(hours=self.hour)).isoformat(),
            "position": self.position,
            "speaker": "user",
        }
        logged = START + timedelta(days=1, seconds=self.logged)
        vectors = np.zeros((0, 2), np.float32)
        return StoredItem(("a",), self.key, value, logged, logged, (self.text,), vectors)


def seen(partition: Partition) -> Conversation:
    view = partition.columns(MessageColumns, partition.snapshot())
    assert isinstance(view, Conversation)
    return view


def rows(partition: Partition) -> dict[str, int]:
    alive = np.flatnonzero(partition.snapshot().alive).tolist()
    return {partition.item(row).key: row for row in alive}


# -- a slow and obvious reference -----------------------------------------------------------------


def sessions(said: list[Said]) -> Iterator[list[Said]]:
    for thread in {each.thread for each in said}:
        session: list[Said] = []
        own = (each for each in said if each.thread == thread)
        for each in sorted(own, key=lambda each: (each.hour, each.logged, each.position)):
            if session and each.hour - session[-1].hour > PAUSE_HOURS:
                yield session
                session = []
            session.append(each)
        yield session


def window(session: list[Said], i: int) -> Iterator[tuple[float, Said]]:
    yield 1.0, session[i]
    for steps, weight in enumerate(BEFORE, 1):
        if i - steps >= 0:
            yield weight, session[i - steps]
    for steps, weight in enumerate(AFTER, 1):
        if i + steps < len(session):
            yield weight, session[i + steps]


def terms(text: str) -> list[str]:
    return [word.rstrip("?").lower() for word in text.split() if word != "why?"]


def by_hand(said: list[Said], query: list[str]) -> dict[str, tuple[float, float, float]]:
    """Return BM25, coverage and what it answers of each message, from the definitions."""
    windows = {
        session[i].key: (list(window(session, i)), session[i - 1] if i else None)
        for session in sessions(said)
        for i in range(len(session))
    }
    lengths = {
        key: sum(weight * len(terms(each.text)) for weight, each in around)
        for key, (around, _) in windows.items()
    }
    average = max(sum(lengths.values()) / len(lengths), 1.0) if lengths else 1.0
    counts = {
        key: {t: max(weight * terms(each.text).count(t) for weight, each in around) for t in query}
        for key, (around, _) in windows.items()
    }
    weights = {t: idf(len(said), sum(own[t] > 0 for own in counts.values())) for t in query}
    scores = {}
    for each in said:
        own, previous = counts[each.key], windows[each.key][1]
        norm = K1 * (1 - B + B * lengths[each.key] / average)
        scores[each.key] = (
            sum(weights[t] * (K1 + 1) * n / (n + norm) for t, n in own.items()),
            sum(weights[t] * min(n, 1) for t, n in own.items()) / sum(weights.values()),
            float(previous is not None and "?" in previous.text) - each.text.endswith("?"),
        )
    return scores


# -- whatever happens to a conversation -----------------------------------------------------------

TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
WRITES = st.lists(
    st.one_of(
        st.builds(
            Said,
            key=st.sampled_from("klmnopqrstuvw"),
            text=TEXTS,
            thread=st.sampled_from(["t", "u"]),
            hour=st.integers(0, 30),
            position=st.integers(0, 2),
        ),
        st.sampled_from("klmnop"),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(WRITES, st.integers(1, 7))
def test_windows_are_those_of_the_definitions_whatever_was_written_edited_or_forgotten(
    writes: list[Said | str], every: int
) -> None:
    """In any order of writing, looked at in between, and as a partition that was built at once."""
    partition, living = Partition(("a",)), dict[str, Said]()
    query = ["tea", "moka", "lima"]
    for number, write in enumerate(writes):
        if isinstance(write, str):
            living.pop(write, None)
            partition.apply([], [write])
        else:
            old = living.get(write.key)
            # An edit changes the text, and leaves where and when it was said.
            new = Said(write.key, write.text, write.thread, write.hour, write.position, number)
            if old is not None:
                new = Said(old.key, write.text, old.thread, old.hour, old.position, old.logged)
            living[write.key] = new
            partition.apply([new.item], [])
        if living and number % every == 0:
            seen(partition)
    if not living:
        return
    expected = by_hand(list(living.values()), query)
    anew = Partition.of(("a",), [each.item for each in living.values()])
    for of in (partition, anew):
        view, place = seen(of), rows(of)
        bm25, coverage = view.words(query, of.lexical)
        for key, scores in expected.items():
            row = place[key]
            found = (bm25[row], coverage[row], view.answers[row])
            assert found == pytest.approx(scores, abs=1e-4), key


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=8))
def test_likeness_is_the_mean_of_a_message_and_half_of_each_of_its_neighbours(
    cosines: list[float],
) -> None:
    said = [Said(str(i), "tea", position=i) for i in range(len(cosines))]
    view = seen(Partition.of(("a",), [each.item for each in said]))
    found = view.likeness(np.array(cosines, np.float32))
    for i, own in enumerate(cosines):
        beside = [cosines[j] for j in (i - 1, i + 1) if 0 <= j < len(cosines)]
        mean = (own + NEIGHBOUR * sum(beside)) / (1 + NEIGHBOUR * len(beside))
        assert found[i] == pytest.approx(mean, abs=1e-5)


def test_a_reader_keeps_what_it_saw_when_more_is_said() -> None:
    partition = Partition.of(("a",), [Said("k", "tea").item, Said("m", "moka", hour=2).item])
    old = partition.snapshot()
    before = partition.columns(MessageColumns, old)
    partition.apply([Said("l", "train", hour=1).item], ["m"])
    seen(partition)
    assert before.before.tolist() == [2, 0]
    again = partition.columns(MessageColumns, old)
    assert again.before.tolist() == [2, 0]


def test_readers_in_threads_see_as_many_rows_as_their_snapshot_has() -> None:
    partition = Partition.of(("a",), [Said("k", "tea").item])
    done = threading.Event()

    def write() -> None:
        for i in range(300):
            partition.apply([Said(str(i % 40), "tea moka", hour=i % 7).item], [str(i % 11)])
        done.set()

    def read() -> None:
        while not done.is_set():
            snapshot = partition.snapshot()
            view = partition.columns(MessageColumns, snapshot)
            arrays = (view.speaker, view.day, view.norm, view.answers, view.before, view.after)
            assert {len(each) for each in arrays} == {snapshot.rows}
            bm25, coverage = view.words(["moka", "tea"], partition.lexical)
            assert len(bm25) == len(coverage) == snapshot.rows
            living = np.append(snapshot.alive, True)
            assert all(living[to[snapshot.alive]].all() for to in (view.before, view.after))

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work) for work in (write, read, read, read)]:
            future.result(timeout=60)


def test_what_is_known_of_rows_is_kept_until_one_of_them_expires() -> None:
    items = [
        replace(Said(key, "tea").item, ttl=1, expires=end) for key, end in (("k", 9), ("l", 5))
    ]
    partition = Partition.of(("a",), items)

    def at(now: float) -> Conversation:
        return cast(Conversation, partition.columns(MessageColumns, partition.snapshot(now)))

    first = at(1)
    assert at(2) is first
    assert at(6).living == 1
    assert at(7) is at(6)


def test_a_long_silence_begins_a_session_and_another_thread_is_another() -> None:
    said = [
        Said("k", "tea"),
        Said("l", "moka", hour=PAUSE_HOURS),
        Said("m", "train", hour=2 * PAUSE_HOURS + 1),
        Said("n", "seven", thread="u", hour=1),
    ]
    view = seen(Partition.of(("a",), [each.item for each in said]))
    assert view.before.tolist() == [4, 0, 4, 4]
    assert view.after.tolist() == [1, 4, 4, 4]


@pytest.mark.parametrize(
    ("text", "asks", "ends"),
    [
        ("Where to?", True, True),
        ("去哪儿？", True, True),
        ("إلى أين؟", True, True),
        ("He asked: “Where to?”", True, True),
        ("Where to? I go home.", True, False),
        ("Look at this!\n[image: a sign: where to?]", True, False),
        ("Have you seen it?\n[image: a sign]", True, True),
        ("Have you seen it? \n\n[image: a sign]", True, True),
        pytest.param("So?" + "\n" * 60_000 + "So.", True, False, id="blank lines"),  # in no time
        ("I go home.", False, False),
    ],
)
def test_a_question_is_known_by_its_mark(text: str, asks: bool, ends: bool) -> None:
    said = [Said("k", text), Said("l", "So.", position=1)]
    view = seen(Partition.of(("a",), [each.item for each in said]))
    assert view.answers.tolist() == [-float(ends), float(asks)]


def test_thousands_of_messages_written_backwards_stand_in_their_order() -> None:
    """Most of them one by one, into the midst of those that are there."""
    said = [Said(str(i), "tea", thread=str(i % 3), hour=i // 9) for i in range(900)]
    partition = Partition(("a",))
    for each in reversed(said[100:300]):
        partition.apply([each.item], [])
        seen(partition)
    partition.apply([each.item for each in reversed(said[300:] + said[:100])], [])
    view, place = seen(partition), rows(partition)
    numbers = {row: int(key) for key, row in place.items()}
    for row, previous in enumerate(view.before.tolist()):
        if previous < len(said):
            assert numbers[previous] % 3 == numbers[row] % 3
            assert numbers[previous] // 9 <= numbers[row] // 9
    assert sum(previous == len(said) for previous in view.before.tolist()) == 3


def test_a_page_pasted_as_a_question_takes_no_more_room_than_a_question() -> None:
    said = [Said(str(i), f"w{i} tea", hour=i) for i in range(2_000)]
    partition = Partition.of(("a",), [each.item for each in said])
    view, lexical = seen(partition), partition.lexical
    pasted = [f"w{i}" for i in range(2_000)]
    tracemalloc.start()
    try:
        bm25, coverage = view.words(pasted, lexical)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000  # a number for each word and message would be 16 MB
    singly = [view.words([word], lexical)[0] for word in pasted]
    np.testing.assert_allclose(bm25, np.sum(singly, axis=0), rtol=1e-4)
    assert coverage.max() <= 1
