"""Many tasks and threads at once: nothing is lost, nothing is mixed, nothing blocks the loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster, BlockingError, blockbuster_ctx
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

from langgraph_memory import open_store as open_in_a_loop
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.files.directory_lock import DirectoryLock
from langgraph_memory.store.operations import NewestOp
from tests.chroma.support import EMBED, keys, open_store


@pytest.fixture(autouse=True)
def nothing_blocks() -> Iterator[BlockBuster]:
    """Make every blocking call in an event loop an error."""
    with blockbuster_ctx() as blockbuster:
        yield blockbuster


async def test_a_blocking_call_in_the_loop_would_be_noticed(tmp_path: Path) -> None:
    """The other tests of this module rely on it."""
    with pytest.raises(BlockingError):
        os.stat(tmp_path)  # that is the point


@pytest.mark.parametrize("embed", [EMBED, None], ids=["hashing", "embedded default"])
async def test_no_call_blocks_the_loop(tmp_path: Path, embed: Any) -> None:
    """Also not the first one, which loads weights, nor closing."""
    async with await asyncio.to_thread(open_store, tmp_path, embed=embed) as store:
        await store.aput(("a",), "k", {"text": "moka"})
        await store.aput(("a",), "l", {"text": "tea"}, index=False)
        assert keys(await store.asearch(("a",), query="moka")) == ["k"]
        assert len(await store.asearch(())) == 2
        assert await store.aget(("a",), "k") is not None
        assert await store.aget(("b",), "k") is None
        assert await store.alist_namespaces() == [("a",)]
        await store.adelete(("a",), "k")
        assert await store.abatch([GetOp(("a",), "k")]) == [None]


async def test_the_loop_goes_on_while_the_store_works(tmp_path: Path) -> None:
    """An embedder that waits for another task of the same loop gets its answer."""
    asked, answered = asyncio.Event(), asyncio.Event()

    async def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.set()
        await answered.wait()
        return EMBED.embed_documents(list(texts))

    async def answer() -> None:
        await asked.wait()
        answered.set()

    async with await asyncio.to_thread(ChromaStore.in_memory, embed=embed) as store:
        await asyncio.gather(store.aput(("a",), "k", {"text": "moka"}), answer())
        assert keys(await store.asearch(("a",), query="moka")) == ["k"]


async def test_many_concurrent_writes_and_searches_lose_and_mix_nothing(
    store: ChromaStore,
) -> None:
    users = [f"u{i}" for i in range(10)]

    async def work(user: str, number: int) -> None:
        namespace = ("users", user)
        await store.aput(namespace, str(number), {"user": user, "text": f"moka {number}"})
        found, item = await asyncio.gather(
            store.asearch(namespace, query="moka", limit=100), store.aget(namespace, str(number))
        )
        assert {found.value["user"] for found in found} == {user}
        assert str(number) in keys(found)
        assert item is not None
        assert item.value == {"user": user, "text": f"moka {number}"}

    await asyncio.gather(*(work(user, number) for user in users for number in range(6)))
    for user in users:
        found = await store.asearch(("users", user), limit=100)
        assert sorted(keys(found)) == [str(number) for number in range(6)]
    assert await store.alist_namespaces() == [("users", user) for user in users]


async def test_concurrent_puts_to_one_key_leave_one_of_them_whole(store: ChromaStore) -> None:
    values = [{"n": i, "text": f"word{i}"} for i in range(20)]
    await asyncio.gather(*(store.aput(("a",), "k", value) for value in values))
    (item,) = await store.asearch(("a",))
    assert item.value in values
    (found,) = await store.asearch(("a",), query=item.value["text"])
    assert found.value == item.value
    assert (await store.asearch(("a",), query="word"))[0].value == item.value


def fleeting(texts: Sequence[str]) -> list[list[float]]:
    return EMBED.embed_documents(list(texts))


async def later(texts: Sequence[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return fleeting(texts)


@pytest.mark.parametrize("embed", [EMBED, fleeting, later], ids=["object", "function", "coroutine"])
def test_one_store_serves_one_event_loop_after_another(embed: Any) -> None:
    with ChromaStore.in_memory(embed=embed) as store:
        for key in "klm":
            asyncio.run(store.aput(("a",), key, {"text": "moka"}))
            assert key in keys(asyncio.run(store.asearch(("a",), query="moka")))


def test_one_store_serves_several_event_loops_at_once() -> None:
    with ChromaStore.in_memory(embed=later) as store:

        async def work(name: str) -> None:
            for i in range(5):
                await store.aput((name,), str(i), {"text": "moka"})
            assert len(await store.asearch((name,), query="moka")) == 5

        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda name: asyncio.run(work(name)), "abcd"))
        assert len(store.search((), limit=100)) == 20


def test_an_async_function_used_without_await_says_so() -> None:
    with (
        ChromaStore.in_memory(embed=later) as store,
        pytest.raises(ValueError, match="async function"),
    ):
        store.put(("a",), "k", {"text": "moka"})


async def test_a_cancelled_write_is_whole_or_not_there(store: ChromaStore) -> None:
    await store.abatch([PutOp(("a",), key, {"n": 0}) for key in "xyz"])
    for number in range(1, 15):
        writing = asyncio.ensure_future(
            store.abatch([PutOp(("a",), key, {"n": number}) for key in "xyz"])
        )
        for _ in range(number):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        found = await store.asearch(("a",))
        assert len({item.value["n"] for item in found}) == 1
        assert len(found) == 3


async def test_what_is_written_after_a_cancelled_write_stays(store: ChromaStore) -> None:
    """The cancelled one does not come late and undo it."""
    for number in range(10):
        writing = asyncio.ensure_future(store.aput(("a",), "k", {"n": "cancelled"}))
        for _ in range(number):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await store.aput(("a",), "k", {"n": number})
        assert (await store.asearch(("a",)))[0].value == {"n": number}


# -- threads --------------------------------------------------------------------------------------


def while_writing(write: Callable[[], object], *reads: Callable[[], None]) -> None:
    """Run reads over and over while something is written; raise what any of them raises."""
    done = threading.Event()

    def repeat(read: Callable[[], None]) -> None:
        while not done.is_set():
            read()

    with ThreadPoolExecutor() as threads:
        reading = [threads.submit(repeat, read) for read in reads]
        try:
            write()
        finally:
            done.set()
    for thread in reading:
        thread.result()


@pytest.mark.parametrize("cache_bytes", [10**9, 0], ids=["cached", "evicted"])
@pytest.mark.usefixtures("eager_switching")
def test_a_search_sees_all_of_a_batch_or_nothing(cache_bytes: int) -> None:
    with ChromaStore.in_memory(embed=EMBED, cache_bytes=cache_bytes) as store:

        def write() -> None:
            for number in range(40):
                value = {"n": number, "even": number % 2 == 0, "text": "moka"}
                store.batch(
                    [
                        *(PutOp(("a",), key, value) for key in "klm"),
                        PutOp(("a",), "extra", value if number % 2 else None),
                    ]
                )
                if not number % 10:
                    store.put(("b",), "k", value)

        def check(found: list[Any]) -> None:
            numbers = {item.value["n"] for item in found}
            assert len(numbers) <= 1
            expected = ["extra", "k", "l", "m"] if numbers and min(numbers) % 2 else ["k", "l", "m"]
            assert sorted(keys(found)) in ([], expected)

        while_writing(
            write,
            lambda: check(store.search(("a",))),
            lambda: check(store.search(("a",), query="moka")),
            lambda: check(store.search(("a",), filter={"even": True})),
            lambda: check(store.search(("b",), query="moka")[:0]),
        )
        check(store.search(("a",)))


READS = {
    "a search over namespaces": [SearchOp(())],
    "a search by meaning": [SearchOp((), query="moka")],
    "several searches": [SearchOp((name,)) for name in "aba"],
    "several keys": [GetOp((name,), key) for key in "xy" for name in "ab"] * 2,
    "keys and searches": [GetOp(("a",), "x"), SearchOp(("b",)), GetOp(("b",), "y"), SearchOp(())],
    "the newest": [NewestOp((name,)) for name in "ab"],
}


@pytest.mark.parametrize("cache_bytes", [10**9, 0], ids=["cached", "evicted"])
@pytest.mark.parametrize("ops", READS.values(), ids=READS)
@pytest.mark.usefixtures("eager_switching")
def test_reads_of_one_batch_see_all_of_another_or_nothing(ops: list[Any], cache_bytes: int) -> None:
    """As when a record moves from one namespace to another."""
    with ChromaStore.in_memory(embed=EMBED, cache_bytes=cache_bytes) as store:

        def write(number: int) -> None:
            value = {"n": number, "text": "moka"}
            store.batch([PutOp((name,), key, value) for name in "ab" for key in "xy"])

        def read() -> None:
            numbers: list[int] = []
            for op, result in zip(ops, store.batch(ops), strict=True):
                found = [result] if isinstance(op, GetOp) else result
                numbers += [item.value["n"] for item in found]
            assert len(numbers) >= 4
            assert len(set(numbers)) == 1

        write(0)
        read()
        while_writing(lambda: list(map(write, range(25))), read, read)


@pytest.mark.parametrize("cache_bytes", [10**9, 0], ids=["cached", "evicted"])
@pytest.mark.usefixtures("eager_switching")
def test_reads_of_one_batch_see_a_new_namespace_with_all_of_its_batch(cache_bytes: int) -> None:
    with ChromaStore.in_memory(embed=EMBED, cache_bytes=cache_bytes) as store:

        def write(number: int) -> None:
            puts = [(("a", "counter"), "k"), (("a", str(number)), "k")]
            store.batch([PutOp(*address, {"n": number}, index=False) for address in puts])

        def read() -> None:
            counter, found, namespaces = store.batch(
                [
                    GetOp(("a", "counter"), "k"),
                    SearchOp(("a",), limit=99),
                    ListNamespacesOp(limit=99),
                ]
            )
            assert len(found) == len(namespaces) == counter.value["n"] + 2

        write(0)
        read()
        while_writing(lambda: list(map(write, range(1, 50))), read, read)


@pytest.mark.parametrize("cache_bytes", [10**9, 0], ids=["cached", "evicted"])
def test_threads_read_their_own_writes_and_none_is_lost(tmp_path: Path, cache_bytes: int) -> None:
    """Also where each search loads its namespace anew while others write to it."""
    with open_store(tmp_path, cache_bytes=cache_bytes) as store:

        def work(name: str) -> None:
            for i in range(4):
                for namespace in (("shared",), (name,)):
                    store.put(namespace, f"{name}{i}", {"text": f"moka {name}{i}"})
                    found = store.search(namespace, query=f"{name}{i}", limit=100)
                    assert f"{name}{i}" in keys(found)
                if i == 3:
                    store.delete(("shared",), f"{name}{i}")
                    assert store.get(("shared",), f"{name}{i}") is None

        with ThreadPoolExecutor() as threads:
            list(threads.map(work, "abcd"))
        expected = sorted(f"{name}{i}" for name in "abcd" for i in range(3))
        assert sorted(keys(store.search(("shared",), limit=100))) == expected
    with open_store(tmp_path) as store:
        assert sorted(keys(store.search(("shared",), limit=100))) == expected
        assert len(store.search((), limit=1_000)) == 4 * 4 + len(expected)


async def test_a_directory_whose_opening_was_cancelled_is_free_again(tmp_path: Path) -> None:
    async def use() -> None:
        async with open_in_a_loop(tmp_path, embed=EMBED):
            pytest.fail("it was cancelled before")

    task = asyncio.create_task(use())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    opening = [t for t in threading.enumerate() if t.name.startswith("langgraph-memory-opening")]
    for thread in opening:
        await asyncio.to_thread(thread.join)
    lock = DirectoryLock(tmp_path)
    await asyncio.to_thread(lock.acquire)
    await asyncio.to_thread(lock.release)
