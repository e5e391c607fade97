"""The rows of one namespace in memory: exact, and safe to read while one writer changes them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.chroma.partition import Partition, PartitionCache, PartitionSnapshot
from langgraph_memory.retrieval.message_window import MessageColumns
from langgraph_memory.retrieval.scoring import NoteColumns
from langgraph_memory.store.filters import matches
from langgraph_memory.store.operations import StoredItem
from langgraph_memory.text.bm25 import query_weights, tokens
from tests.chroma.support import EMBED, START, cosine, keys, stored_item

WORDS = ["moka", "pot", "tea", "green", "cup"]
QUERY = np.array(EMBED.embed_query("moka pot"), np.float32)
FILTERS: list[dict[str, Any] | None] = [None, {"n": 1}, {"n": {"$gte": 1}}, {"n": None}, {"n": 9}]

VERSIONS = st.tuples(
    st.sampled_from("klmno"),
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03"]),
)
WRITES = st.lists(
    st.tuples(
        st.lists(VERSIONS, max_size=4, unique_by=lambda version: version[0]),
        st.lists(st.sampled_from("klmnop"), max_size=2),
    ),
    max_size=12,
)


def alive(partition: Partition, snapshot: PartitionSnapshot) -> list[StoredItem]:
    rows = np.flatnonzero(partition.select(None, snapshot))
    return [partition.item(int(row)) for row in rows]


class Plain:
    """What a partition should hold, in a dict whose order is that of the last update."""

    def __init__(self) -> None:
        self.items: dict[str, StoredItem] = {}

    def apply(self, put: list[StoredItem], deleted: list[str]) -> None:
        for key in (*deleted, *(item.key for item in put)):
            self.items.pop(key, None)
        self.items.update({item.key: item for item in put})


def shown(items: Iterable[StoredItem | None]) -> list[tuple[str, dict[str, Any]] | None]:
    return [None if item is None else (item.key, item.value) for item in items]


def check(partition: Partition, snapshot: PartitionSnapshot, expected: list[StoredItem]) -> None:
    """Compare all that a reader can learn from a snapshot with the items that were there."""
    assert shown(alive(partition, snapshot)) == shown(expected)
    nearness = partition.similarities(QUERY, snapshot)[partition.select(None, snapshot)]
    best = [max((cosine(t, "moka pot") for t in i.texts), default=-np.inf) for i in expected]
    np.testing.assert_allclose(nearness, best, atol=1e-5)
    for filter in FILTERS:
        met = [item for item in expected if matches(item.value, filter or {})]
        rows = np.flatnonzero(partition.select(filter, snapshot))
        assert shown(partition.item(int(row)) for row in rows) == shown(met)
        assert shown(partition.newest(filter, snapshot)) == shown(met[::-1])
        by_time = sorted(met, key=lambda item: str(item.value["time"]))  # equal ones as written
        assert shown(partition.newest(filter, snapshot, "time")) == shown(by_time[::-1])


@settings(deadline=None, max_examples=60)
@given(WRITES)
def test_a_reader_keeps_seeing_the_state_of_its_snapshot(writes: list[Any]) -> None:
    """Every state that there was, looked at once at the time and again at the end."""
    partition, plain = Partition(("a",)), Plain()
    seen = [(partition.snapshot(), list[StoredItem]())]
    for i, (versions, deleted) in enumerate(writes):
        put = [
            stored_item(key, {"n": n, "i": i, "time": time}, texts=texts)
            for key, texts, n, time in versions
            if key not in deleted
        ]
        partition.apply(put, deleted)
        plain.apply(put, deleted)
        expected = list(plain.items.values())
        assert shown(partition.items()) == shown(expected)
        assert partition.keys == plain.items.keys()
        assert len(partition) == len(expected)
        assert shown(map(partition.get, "klmnop")) == shown(map(plain.items.get, "klmnop"))
        seen.append((partition.snapshot(), expected))
        check(partition, *seen[-1])
    for snapshot, expected in seen:
        check(partition, snapshot, expected)


def test_a_partition_grows_past_every_block() -> None:
    partition = Partition(("a",))
    for i in range(1_000):
        partition.apply([stored_item(str(i), {"n": i % 7}, texts=["moka"] if i % 3 else [])], ())
    partition.apply((), ["0", "500", "999"])
    snapshot = partition.snapshot()
    expected = [str(i) for i in range(1_000) if i % 7 == 3 and i not in (0, 500, 999)]
    assert keys(partition.newest({"n": 3}, snapshot)) == expected[::-1]
    rows = np.flatnonzero(partition.select({"n": 3}, snapshot))
    assert [partition.item(int(row)).key for row in rows] == expected
    indexed = ~np.isneginf(partition.similarities(QUERY, snapshot))
    assert indexed.tolist() == [i % 3 > 0 for i in range(1_000)]


def test_the_newest_are_found_without_looking_at_the_rest() -> None:
    """Reading the last few messages of many stays quick: it does not filter them all."""

    class Counting(dict[str, Any]):
        looked_at = 0

        def get(self, *args: Any) -> Any:
            Counting.looked_at += 1
            return super().get(*args)

    items = [stored_item(str(i), Counting(n=1)) for i in range(3_000)]
    partition = Partition.of(("a",), items)
    newest = partition.newest({"n": 1}, partition.snapshot())
    assert [next(newest).key for _ in range(3)] == ["2999", "2998", "2997"]
    assert Counting.looked_at < 1_000


def test_one_that_was_written_late_does_not_make_every_read_sort_them_all() -> None:
    looked_at = []

    class Noting(dict[str, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            looked_at.append(key)
            return super().get(key, default)

    items = [stored_item(str(i), Noting(time=f"{i:04}")) for i in range(3_000)]
    partition = Partition.of(("a",), items)
    partition.apply([stored_item("late", Noting(time="2998.5"))], ())
    for newer in range(3_000, 3_003):
        newest = partition.newest(None, partition.snapshot(), "time")
        expected = [*(str(i) for i in range(newer - 1, 2_998, -1)), "late", "2998"]
        assert [next(newest).key for _ in expected] == expected
        if newer > 3_000:
            assert len(looked_at) < 10
        looked_at.clear()
        partition.apply([stored_item(str(newer), Noting(time=str(newer)))], ())


def test_a_partition_of_dead_rows_is_wasteful_and_of_live_ones_is_not() -> None:
    partition = Partition.of(("a",), [stored_item(str(i)) for i in range(1_000)])
    wasteful = [partition.wasteful]
    for _ in range(200):
        partition.apply((), [str(i) for i in range(990)])
        partition.apply([stored_item("k")], ())
    wasteful += [partition.wasteful, partition.compacted().wasteful]
    assert wasteful == [False, True, False]


@settings(deadline=None)
@given(WRITES)
def test_a_compacted_partition_holds_and_finds_the_same(writes: list[Any]) -> None:
    partition, plain = Partition(("a",)), Plain()
    for versions, deleted in writes:
        put = [
            stored_item(key, {"n": n, "time": time}, texts=texts)
            for key, texts, n, time in versions
            if key not in deleted
        ]
        partition.apply(put, deleted)
        plain.apply(put, deleted)
    compacted = partition.compacted()
    check(compacted, compacted.snapshot(), list(plain.items.values()))
    check(partition, partition.snapshot(), list(plain.items.values()))


# -- one writer, many readers ---------------------------------------------------------------------


def in_threads(writer: Callable[[], None], *readers: Callable[[], None]) -> None:
    """Run readers over and over while a writer runs; raise what any of them raises."""
    done = threading.Event()

    def repeat(reader: Callable[[], None]) -> None:
        while not done.is_set():
            reader()
        reader()

    def write() -> None:
        try:
            writer()
        finally:
            done.set()

    with ThreadPoolExecutor() as threads:
        running = [threads.submit(write), *(threads.submit(repeat, reader) for reader in readers)]
    for thread in running:
        thread.result()


@pytest.mark.usefixtures("eager_switching")
def test_a_reader_never_sees_half_a_write_or_a_row_of_two_versions() -> None:
    """A write replaces every item by its next version, whose number its vector spells in bits."""
    versions, group = 2_000, [f"k{i}" for i in range(5)]
    bits = np.arange(versions)[:, None] >> np.arange(11) & 1
    vectors = ((2 * bits - 1) / np.sqrt(11)).astype(np.float32)
    partition = Partition(("a",))

    def version(number: int) -> list[StoredItem]:
        at = START + timedelta(seconds=number)
        value = {"v": number, "parity": number % 2}
        return [
            StoredItem(("a",), key, value, at, at, (f"w{number}",), vectors[[number]])
            for key in group
        ]

    def write() -> None:
        for number in range(1, versions):
            partition.apply(version(number), ["extra"] if number % 2 else ())
            if not number % 2:
                partition.apply([stored_item("extra", {"v": number, "parity": 0})], ())

    def read() -> None:
        snapshot = partition.snapshot()
        found = [item for item in alive(partition, snapshot) if item.key != "extra"]
        assert keys(found) == group
        (number,) = {item.value["v"] for item in found}
        rows = np.flatnonzero(partition.select({"v": number}, snapshot))
        assert set(group) <= {partition.item(int(row)).key for row in rows}
        if number:
            same = partition.similarities(vectors[number], snapshot)
            versions_found = [
                partition.item(int(row)).value["v"] for row in np.where(same > 0.99)[0]
            ]
            assert versions_found == [number] * len(group)

    def look_for_words() -> None:
        snapshot = partition.snapshot()
        (number,) = {i.value["v"] for i in alive(partition, snapshot) if i.key != "extra"}
        weights = query_weights(f"w{number}", [(partition.lexical, snapshot.alive)])
        bm25, coverage = partition.lexical.scores(weights, snapshot.alive)
        rows = np.flatnonzero(coverage)
        assert sorted(partition.item(int(row)).key for row in rows) == group
        assert np.array_equal(np.flatnonzero(bm25), rows)

    def read_filtered() -> None:
        snapshot = partition.snapshot()
        found = [item for item in partition.newest({"parity": 0}, snapshot) if item.key != "extra"]
        assert len({item.value["v"] for item in found}) <= 1
        assert len(found) in (0, len(group))

    partition.apply(version(0), ())
    in_threads(write, read, look_for_words, read_filtered)


# -- the cache ------------------------------------------------------------------------------------


def some_items(name: str, count: int) -> list[StoredItem]:
    return [
        stored_item(str(i), {"t": "moka"}, texts=["moka"], namespace=(name,)) for i in range(count)
    ]


def of_size(name: str, count: int) -> Partition:
    return Partition.of((name,), some_items(name, count))


def held(cache: PartitionCache, names: str = "abcdef") -> dict[str, Partition]:
    found = {name: cache.get((name,)) for name in names}
    return {name: partition for name, partition in found.items() if partition is not None}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("load"), st.sampled_from("abcdef"), st.integers(0, 20)),
        st.tuples(st.just("write"), st.sampled_from("abcdef"), st.integers(1, 20)),
        st.tuples(st.just("delete"), st.sampled_from("abcdef"), st.integers(1, 20)),
        st.tuples(st.just("drop"), st.sampled_from("abcdef"), st.just(0)),
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=100)
@given(STEPS)
def test_the_cache_stays_within_its_bytes_unless_one_partition_alone_is_larger(
    steps: list[tuple[str, str, int]],
) -> None:
    cache = PartitionCache(50_000)
    for step, name, size in steps:
        if step == "load":
            cache.put(of_size(name, size))
        elif step == "write":
            cache.apply((name,), some_items(name, size), ())
        elif step == "delete":
            cache.apply((name,), (), [str(i) for i in range(size)])
        else:
            cache.drop((name,))
        total = sum(partition.bytes for partition in held(cache).values())
        assert total <= cache.max_bytes or len(held(cache)) == 1


def test_the_least_recently_used_partition_leaves() -> None:
    cache = PartitionCache(3 * of_size("a", 5).bytes)
    for name in "abc":
        cache.put(of_size(name, 5))
    cache.get(("a",))
    cache.put(of_size("d", 5))
    assert sorted(held(cache)) == ["a", "c", "d"]


def test_a_partition_that_is_being_read_survives_its_eviction() -> None:
    cache = PartitionCache(1)
    cache.put(of_size("a", 3))
    partition = cache.get(("a",))
    assert partition is not None
    cache.put(of_size("b", 3))
    assert cache.get(("a",)) is None
    assert len(list(partition.items())) == 3


def test_the_bytes_of_a_partition_cover_its_values() -> None:
    """Also of what is not indexed: it is in memory all the same."""
    text = "x" * 1_000_000
    indexed = Partition.of(("a",), [stored_item("k", {"text": text}, texts=[text])])
    unindexed = Partition.of(("a",), [stored_item("k", {"text": text})])
    assert indexed.bytes >= 1_000_000
    assert unindexed.bytes >= 1_000_000


def test_rewriting_an_item_for_ever_takes_no_more_memory() -> None:
    cache = PartitionCache(10**9)
    cache.put(of_size("a", 3))
    sizes = []
    for i in range(1_000):
        cache.apply(("a",), [stored_item("0", {"i": i}, texts=["moka"])], ())
        sizes.append(held(cache)["a"].bytes)
    assert max(sizes[500:]) <= max(sizes[:500]) < 200 * sizes[0]
    last = cache.get(("a",))
    assert last is not None
    assert keys(last.items()) == ["1", "2", "0"]
    item = last.get("0")
    assert item is not None
    assert item.value == {"i": 999}


@pytest.mark.usefixtures("eager_switching")
def test_looking_partitions_up_does_not_disturb_who_lets_others_go() -> None:
    partitions = [of_size(name, 3) for name in "abcdef"]
    cache = PartitionCache(3 * partitions[0].bytes)

    def load() -> None:
        order = random.Random(1)
        for _ in range(200_000):
            cache.put(order.choice(partitions))

    def look_up() -> None:
        for partition in partitions:
            cache.get(partition.namespace)

    in_threads(load, look_up, look_up, look_up)
    assert len(held(cache)) == 3


def test_words_of_all_fields_are_found() -> None:
    partition = Partition.of(("a",), [stored_item("k", texts=["green tea", "moka pot"])])
    snapshot = partition.snapshot()
    for word in tokens("green moka"):
        weights = query_weights(word, [(partition.lexical, snapshot.alive)])
        assert partition.lexical.scores(weights, snapshot.alive)[1].tolist() == [1.0]


NOTES = ("memory", "user", "ana", "note")


@pytest.mark.parametrize("kind", [NoteColumns, MessageColumns])
def test_what_is_known_of_the_rows_of_a_state_is_the_same_before_and_after_later_ones(
    kind: type[NoteColumns] | type[MessageColumns],
) -> None:
    """Readers of a state may come behind those of a later one."""
    made, partition, snapshots = (lambda: kind(embedder="any")), Partition(NOTES), []
    for key in ("k", "l", "k", "m"):
        value = {"text": f"moka {key}", "role": "user"}
        item = stored_item(key, value, texts=[value["text"]], namespace=NOTES)
        partition.apply([item], ())
        snapshots.append(partition.snapshot())
    for at in (3, 0, 2, 1):
        partition.columns(made, snapshots[at])
    for snapshot in snapshots:
        fresh = kind(embedder="any")
        fresh.append([partition.item(row) for row in range(snapshot.rows)], None)
        expected = fresh.view(snapshot.alive, partition.lexical)
        known = partition.columns(made, snapshot)
        for name in known._fields:
            one, other = getattr(known, name), getattr(expected, name)
            if isinstance(one, np.ndarray):
                assert one.tolist() == other.tolist(), name
