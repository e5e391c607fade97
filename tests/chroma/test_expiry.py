"""Items that expire, beyond what the conformance tests ask of every store with TTLs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import pytest
from langgraph.store.base import PutOp, TTLConfig

from langgraph_memory import open_store as open_in_a_loop
from langgraph_memory.chroma import expiry
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.store.operations import LONGEST, HybridOp, NewestOp
from langgraph_memory.testing import ManualClock
from tests.chroma.support import EMBED, Do, Sum, chroma_refuses, keys, open_store

HOUR: TTLConfig = {"default_ttl": 60.0}
OMIT: TTLConfig = {"default_ttl": 60.0, "omit_expired": True}
NS = ("a",)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def omitting(clock: ManualClock) -> Iterator[ChromaStore]:
    """A store whose items live for an hour and are then left out of what is read."""
    with ChromaStore.in_memory(embed=EMBED, ttl=OMIT, clock=clock) as store:
        yield store


# -- what reads prolong ---------------------------------------------------------------------------


def test_of_two_reads_the_one_that_prolongs_more_counts() -> None:
    prolonged = expiry.Prolonged(lambda: None)
    for end in (10.0, 30.0, 20.0):
        prolonged.update({(NS, "k"): end})
    assert prolonged.get((NS, "k"), 0.0) == 30.0
    assert prolonged.take() == {(NS, "k"): 30.0}


def test_a_life_that_is_prolonged_while_its_namespace_is_loaded_is_known_there(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path, ttl=OMIT, clock=clock) as store:
        store.put(NS, "k", {"n": 1})
        clock.advance(minutes=40)
        end = clock().timestamp() + 3_600
        load = store._open._load

        def load_meanwhile(namespaces: Any) -> Any:
            loaded = load(namespaces)
            store._open.prolong({(NS, "k"): end})  # as a `get` does in another thread
            return loaded

        monkeypatch.setattr(store._open, "_load", load_meanwhile)
        assert store.search(NS, refresh_ttl=False)
        clock.advance(minutes=40)
        assert keys(store.search(NS, refresh_ttl=False)) == ["k"]


@pytest.mark.parametrize("cached", [False, True], ids=["read alone", "in memory"])
async def test_a_prolonged_life_outlasts_the_process(
    tmp_path: Path, clock: ManualClock, do: Do, cached: bool
) -> None:
    with open_store(tmp_path, ttl=HOUR, clock=clock) as store:
        store.put(NS, "read", {"n": 1})
        store.put(NS, "unread", {"n": 2})
        clock.advance(minutes=40)
        if cached:
            store.search(NS, refresh_ttl=False)
        await do(store, "get", NS, "read")
    clock.advance(minutes=40)
    with open_store(tmp_path, ttl=HOUR, clock=clock) as store:
        assert await do(store, "sweep_ttl") == 1
        assert keys(await do(store, "search", NS)) == ["read"]


def ends(directory: Path) -> list[float]:
    """When the items of a closed store end, as Chroma has it."""
    client: Any = chromadb.PersistentClient(str(directory))
    rows = client.get_collection("langgraph_memory", embedding_function=None)
    metadatas = rows.get(include=["metadatas"])["metadatas"] or []
    client.close()
    return [float(row["expires"]) for row in metadatas if row.get("expires") is not None]


async def test_a_read_writes_nothing_at_once(tmp_path: Path, clock: ManualClock, do: Do) -> None:
    with open_store(tmp_path, ttl=HOUR, clock=clock) as store:
        store.put(NS, "k", {"n": 1})
        clock.advance(minutes=40)
        with chroma_refuses(tmp_path):
            assert await do(store, "get", NS, "k") is not None
            assert await do(store, "search", NS)
    assert ends(tmp_path) == [clock().timestamp() + 3600]


def test_it_writes_a_little_later(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "WRITE_AFTER", 0.01)
    with open_store(tmp_path, ttl=HOUR, clock=clock) as store:
        written = threading.Event()

        def write() -> None:
            store._open.flush()
            written.set()

        monkeypatch.setattr(store._open._prolonged, "_write", write)
        store.put(NS, "k", {"n": 1})
        clock.advance(minutes=40)
        store.get(NS, "k")
        assert written.wait(30)
        store._open._prolonged.take()  # as if the process were killed
    assert ends(tmp_path) == [clock().timestamp() + 3600]


def test_a_prolonged_life_is_kept_if_it_cannot_be_written(
    tmp_path: Path, clock: ManualClock
) -> None:
    with open_store(tmp_path, ttl=HOUR, clock=clock) as store:
        store.put(NS, "k", {"n": 1})
        clock.advance(minutes=40)
        store.get(NS, "k")
        with chroma_refuses(tmp_path), pytest.raises(Exception, match="no space left"):
            store.sweep_ttl()
        clock.advance(minutes=40)
        assert store.sweep_ttl() == 0


def test_a_put_ends_what_a_read_prolonged(tmp_path: Path, clock: ManualClock) -> None:
    with open_store(tmp_path, ttl=OMIT, clock=clock) as store:
        store.put(NS, "k", {"n": 1}, ttl=600)
        store.get(NS, "k")
        store.put(NS, "k", {"n": 2}, ttl=10)
        clock.advance(minutes=11)
        assert store.get(NS, "k") is None
    with open_store(tmp_path, ttl=OMIT, clock=clock) as store:
        assert store.get(NS, "k") is None


def test_a_prolonged_life_outlasts_the_partition_in_memory(
    tmp_path: Path, clock: ManualClock
) -> None:
    """Also where rows are thrown out of it because most of them are old."""
    with open_store(tmp_path, ttl=OMIT, clock=clock, cache_bytes=1) as store:
        store.put(NS, "k", {"n": 1})
        store.search(NS)
        clock.advance(minutes=40)
        store.search(NS)
        for n in range(200):
            store.put(NS, "other", {"n": n})
        clock.advance(minutes=40)
        assert set(keys(store.search(NS, refresh_ttl=False))) == {"k", "other"}
        store.search(("b",))  # takes the place of the other partition
        assert set(keys(store.search(NS, refresh_ttl=False))) == {"k", "other"}


# -- what is left out -----------------------------------------------------------------------------


async def test_every_kind_of_read_leaves_out_what_has_expired(
    omitting: ChromaStore, clock: ManualClock, do: Do
) -> None:
    omitting.put(NS, "old", {"text": "moka pot"}, ttl=1)
    omitting.put(NS, "young", {"text": "moka filter"})
    omitting.put(("b",), "old", {"text": "moka"}, ttl=1)
    clock.advance(minutes=2)

    async def reads() -> list[list[str]]:
        hybrid = HybridOp((NS, ("b",)), "moka", Sum("moka"))
        matches, newest = await do(omitting, "batch", [hybrid, NewestOp(NS)])
        return [
            keys(await do(omitting, "search", ())),
            keys(await do(omitting, "search", (), query="moka")),
            keys(await do(omitting, "search", NS, filter={"text": {"$ne": "x"}})),
            [match.item.key for match in matches],
            keys(newest),
        ]

    assert await reads() == [["young"]] * 5
    assert await do(omitting, "list_namespaces") == [NS]
    assert await do(omitting, "get", NS, "old") is None


def test_an_expired_item_stretches_no_scale(omitting: ChromaStore, clock: ManualClock) -> None:
    """What has expired counts as little for the words of a search as what was deleted."""
    omitting.put(NS, "old", {"text": "moka moka moka"}, ttl=1)
    omitting.put(NS, "young", {"text": "tea"})
    clock.advance(minutes=2)
    op = HybridOp((NS,), "moka", Sum("moka"))
    [matches] = omitting.batch([op])
    assert [(m.item.key, m.scores["bm25"], m.scores["coverage"]) for m in matches] == [
        ("young", 0.0, 0.0)
    ]


# -- sweeping -------------------------------------------------------------------------------------


async def test_a_sweep_leaves_no_row_of_an_item_with_several_vectors(
    tmp_path: Path, clock: ManualClock, do: Do
) -> None:
    index = {"embed": EMBED, "fields": ["one", "two"]}
    with open_store(tmp_path, embed=None, index=index, clock=clock) as store:
        store.put(NS, "k", {"one": "moka", "two": "tea"}, ttl=1)
        clock.advance(minutes=2)
        assert await do(store, "sweep_ttl") == 1
        assert await do(store, "list_namespaces") == []
        assert store._open._rows.count() == 0


def test_a_sweep_goes_through_more_items_than_chroma_takes_at_once(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph_memory.chroma.planning.PAGE", 7)
    with ChromaStore.in_memory(embed=EMBED, clock=clock) as store:
        store.batch([PutOp((f"n{i % 3}",), str(i), {"n": i}, ttl=1) for i in range(40)])
        store.put(("n0",), "stays", {"n": 0})
        clock.advance(minutes=2)
        assert store.sweep_ttl() == 40
        assert keys(store.search(())) == ["stays"]
        assert store.list_namespaces() == [("n0",)]


@pytest.mark.parametrize("stop", ["stop_ttl_sweeper", "close", "cancel"])
def test_the_sweeper_sweeps_until_it_is_stopped(clock: ManualClock, stop: str) -> None:
    with ChromaStore.in_memory(embed=EMBED, clock=clock) as store:
        store.put(NS, "k", {"n": 1}, ttl=1)
        clock.advance(minutes=2)
        running = store.start_ttl_sweeper(0.0005)
        assert store.start_ttl_sweeper(0.0005) is running
        for _ in range(3000):
            if store.get(NS, "k", refresh_ttl=False) is None:
                break
            threading.Event().wait(0.01)
        else:
            pytest.fail("nothing was swept")
        if stop == "cancel":
            running.cancel()
            assert store.stop_ttl_sweeper(30)
        else:
            getattr(store, stop)()
            assert running.result(30) is None
        assert not [t for t in threading.enumerate() if t.name == "langgraph-memory-sweeper"]
        if stop != "close":
            assert store.stop_ttl_sweeper()


@pytest.mark.parametrize("how", ["cancel", "stop_ttl_sweeper"])
def test_the_sweeper_can_be_started_again_before_the_old_thread_has_ended(
    clock: ManualClock, how: str
) -> None:
    with ChromaStore.in_memory(embed=EMBED, clock=clock) as store:
        store.put(NS, "k", {"n": 1}, ttl=1)
        clock.advance(minutes=2)
        with store._open._lock:  # a sweep waits for it
            old = store.start_ttl_sweeper(0.0005)
            threading.Event().wait(0.2)
            if how == "cancel":
                old.cancel()
            else:
                assert not store.stop_ttl_sweeper(0)
            new = store.start_ttl_sweeper(0.0005)
            assert not new.done()
        while store.get(NS, "k", refresh_ttl=False) is not None:
            threading.Event().wait(0.01)
        store.stop_ttl_sweeper()
        assert new.result(30) is None


def test_the_sweeper_goes_on_after_a_failure(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with open_store(tmp_path, clock=clock) as store:
        store.put(NS, "k", {"n": 1}, ttl=1)
        clock.advance(minutes=2)
        with chroma_refuses(tmp_path):
            store.start_ttl_sweeper(0.0005)
            while "a sweep of expired items failed" not in caplog.text:
                threading.Event().wait(0.01)
        while store.get(NS, "k", refresh_ttl=False) is not None:
            threading.Event().wait(0.01)


async def test_a_store_for_a_server_sweeps_by_itself(tmp_path: Path, clock: ManualClock) -> None:
    ttl = {"sweep_interval_minutes": 0.0005}
    async with open_in_a_loop(tmp_path, embed=EMBED, ttl=ttl, clock=clock) as store:
        await store.aput(NS, "k", {"n": 1}, ttl=1)
        clock.advance(minutes=2)
        while await store.aget(NS, "k", refresh_ttl=False) is not None:
            threading.Event().wait(0.01)
    assert not [t for t in threading.enumerate() if t.name == "langgraph-memory-sweeper"]


# -- odd configurations ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "minutes", [0, -1, float("nan"), float("inf"), pytest.param(10**400, id="huge"), "5", True]
)
async def test_a_ttl_is_a_positive_number_of_minutes(
    store: ChromaStore, do: Do, minutes: Any
) -> None:
    with pytest.raises(ConfigurationError, match="minutes above 0"):
        await do(store, "put", NS, "k", {"n": 1}, ttl=minutes)
    assert await do(store, "get", NS, "k") is None


async def test_the_longest_life_ends_at_a_time_that_can_be_stored(
    tmp_path: Path, clock: ManualClock, do: Do
) -> None:
    with open_store(tmp_path, clock=clock) as store:
        with pytest.raises(ConfigurationError, match="minutes above 0"):
            await do(store, "put", NS, "k", {"n": 1}, ttl=1e308)
        await do(store, "put", NS, "k", {"n": 1}, ttl=LONGEST)
        assert await do(store, "sweep_ttl") == 0
    with open_store(tmp_path, clock=clock) as store:
        assert keys(await do(store, "search", NS)) == ["k"]


@pytest.mark.parametrize(
    "ttl",
    [{"default": 5}, {"default_ttl": -5}, {"sweep_interval_minutes": 0}, 5],
    ids=["unknown", "negative", "zero", "no dict"],
)
def test_a_ttl_configuration_is_checked(ttl: Any) -> None:
    with pytest.raises(ConfigurationError, match="ttl"):
        ChromaStore.in_memory(embed=EMBED, ttl=ttl)
