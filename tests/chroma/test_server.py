"""A memory on a Chroma server, shared by processes that come and go, as the server may."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import HTTPServer, SimpleHTTPRequestHandler
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import chromadb
import httpx
import pytest
from langgraph.store.base import PutOp

from langgraph_memory import Memory
from langgraph_memory.chroma import vector_clock
from langgraph_memory.chroma.rows import row_id
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.chroma.vector_clock import clock_of
from langgraph_memory.errors import (
    ConfigurationError,
    EmbedderMismatchError,
    StoreAwayError,
    StoreError,
)
from langgraph_memory.store.operations import Namespace
from langgraph_memory.testing import HashingEmbeddings, ManualClock
from tests.chroma import children
from tests.chroma.support import EMBED, Child, Do, keys, open_store
from tests.servers import BINARY, ChromaServer, shared_server

pytestmark = pytest.mark.skipif(
    not BINARY.exists(),
    reason="the program `chroma`, which comes with chromadb, is not beside Python",
)

Start = Callable[..., Child]
Open = Callable[..., ChromaStore]


@pytest.fixture
def chroma() -> ChromaServer:
    """A server without a collection, whatever other tests left there."""
    chroma = shared_server()
    chroma.clear()
    return chroma


@pytest.fixture
def another(chroma: ChromaServer) -> Iterator[Open]:
    """Open stores that share nothing but the server, as those of different processes do."""
    with ExitStack() as opened:

        def open_another(**options: Any) -> ChromaStore:
            client = opened.enter_context(chroma.client())
            options = {"embed": EMBED, **options}
            return opened.enter_context(ChromaStore(client=client, **options))

        yield open_another


def ask(child: Child, method: str, *args: Any, **kwargs: Any) -> Any:
    """Let a child call a method, and wait for what it returns."""
    child.pipe.send((method, args, kwargs))
    return child.receive()


def interrupt(
    store: ChromaStore,
    step: str,
    patch: pytest.MonkeyPatch,
    *,
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
) -> None:
    """Let something happen before or after a step of a store's next write, as others might do."""
    collection: Any = store._collection
    opened = collection if hasattr(collection, step) else collection._rows
    original = getattr(opened, step)

    def once(*args: Any) -> Any:
        patch.setattr(opened, step, original)
        before()
        done = original(*args)
        after()
        return done

    patch.setattr(opened, step, once)


def lose_the_answer() -> None:
    raise httpx.ReadError("connection reset")


# -- two processes --------------------------------------------------------------------------------


async def test_processes_see_each_others_writes_at_their_next_call(
    chroma: ChromaServer, child: Start, do: Do
) -> None:
    with open_store(chroma.url) as ours:
        theirs = child(children.use_a_store, chroma.url)
        theirs.receive()
        assert await do(ours, "search", ("a",)) == ask(theirs, "search", ("a",)) == []

        await do(ours, "put", ("a",), "k", {"text": "a moka pot"})
        assert ask(theirs, "search", ("a",), query="moka") == [("k", {"text": "a moka pot"})]
        ask(theirs, "put", ("a",), "k", {"text": "a tea pot"})
        [found] = await do(ours, "search", ("a",), query="tea")
        assert found.value == {"text": "a tea pot"}
        assert (await do(ours, "get", ("a",), "k")).value == {"text": "a tea pot"}

        ask(theirs, "batch", [PutOp(("a", "b"), "l", {"n": 1}), PutOp(("a",), "k", None)])
        assert await do(ours, "get", ("a",), "k") is None
        assert keys(await do(ours, "search", ("a",))) == ["l"]
        assert await do(ours, "list_namespaces") == [("a", "b")]

        await do(ours, "delete", ("a", "b"), "l")
        assert ask(theirs, "search", ()) == ask(theirs, "list_namespaces") == []


def test_a_memory_recalls_and_changes_what_another_process_was_told(
    chroma: ChromaServer, child: Start
) -> None:
    theirs = child(children.use_a_memory, chroma.url)
    theirs.receive()
    with Memory(open_store(chroma.url)) as ours:
        assert ours.recall("coffee", user="ana").nothing_known
        note = ask(theirs, "remember", "Ana drinks coffee from Huila", user="ana").record
        [hit] = ours.recall("coffee from Huila", user="ana").hits
        assert hit.record.id == note.id
        ours.edit(note.id, user="ana", text="Ana drinks coffee from Nariño")
        assert ask(theirs, "get", note.id, user="ana").text == "Ana drinks coffee from Nariño"
        ask(theirs, "forget", note.id, user="ana")
        assert ours.list(user="ana") == []


@pytest.mark.slow
def test_four_writers_of_one_namespace_lose_nothing_and_see_all(
    chroma: ChromaServer, child: Start
) -> None:
    writers = [child(children.write_some, chroma.url, name, 12) for name in "abcd"]
    for signal in ("ready", "done"):
        for writer in writers:
            assert writer.receive() == signal
        for writer in writers:
            writer.pipe.send("go on")
    left = sorted(["last", *(f"{name}{i}" for name in "abcd" for i in (10, 11))])
    assert [writer.receive() for writer in writers] == [left] * 4


def test_an_item_keeps_the_time_it_was_created_whichever_process_replaces_it(another: Open) -> None:
    clock = ManualClock()
    ours, theirs = another(clock=clock), another(clock=clock)
    ours.search(("a",))
    created = clock()
    theirs.put(("a",), "k", {"n": 1})
    clock.advance(seconds=60)
    ours.put(("a",), "k", {"n": 2})
    for store in (ours, theirs):
        item = store.get(("a",), "k")
        assert item is not None
        assert item.created_at == created
        assert item.updated_at == clock()


def test_fewer_indexed_fields_leave_no_vector_of_another_process(another: Open) -> None:
    index: Any = {"dims": EMBED.dims, "embed": EMBED, "fields": ["texts[*]"]}
    ours, theirs = (another(embed=None, index=index) for _ in range(2))
    ours.search(("a",))
    theirs.put(("a",), "k", {"texts": ["moka", "tea"]})
    ours.put(("a",), "k", {"texts": ["moka"]})
    [found] = another(embed=None, index=index).search(("a",), query="tea")
    assert found.score == pytest.approx(0, abs=0.3)


def test_items_come_in_the_order_they_were_written_by_all(another: Open) -> None:
    stores = [another() for _ in range(3)]
    for i in range(9):
        stores[i % 3].put(("a",), str(i), {"n": i})
    for store in stores:
        assert keys(store.search(("a",))) == [str(i) for i in reversed(range(9))]


def test_what_one_process_writes_is_what_any_other_reads_next(
    another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random writes of three, with rows that keep the number of one writer only."""
    monkeypatch.setattr(vector_clock, "KEPT", 1)
    stores = [another() for _ in range(3)]
    random = Random(1)
    namespaces, expected = [("a",), ("a", "b"), ("c",)], dict[tuple[Namespace, str], int]()
    for n in range(40):
        writer, reader = random.sample(stores, 2)
        addresses = {(random.choice(namespaces), random.choice("kl")) for _ in range(2)}
        ops = [PutOp(*address, random.choice([{"n": n}, None])) for address in addresses]
        writer.batch(ops)
        expected |= {(op.namespace, op.key): n for op in ops if op.value}
        for op in ops:
            if op.value is None:
                expected.pop((op.namespace, op.key), None)
        found = {(tuple(item.namespace), item.key): item.value["n"] for item in reader.search(())}
        assert found == expected
        assert reader.list_namespaces() == sorted({namespace for namespace, _ in expected})


# -- what expires, is purged, or is large ----------------------------------------------------------


async def test_what_is_swept_or_purged_is_gone_for_all(another: Open, do: Do) -> None:
    clock = ManualClock()
    ours, theirs = another(clock=clock), another(clock=clock)
    ours.put(("a",), "short", {"n": 1}, ttl=1)
    ours.put(("a",), "long", {"n": 2})
    ours.put(("b",), "k", {"n": 3})
    assert len(theirs.search(())) == 3
    clock.advance(minutes=2)
    assert await do(ours, "sweep_ttl") == 1
    assert keys(await do(theirs, "search", ("a",))) == ["long"]
    assert await do(ours, "purge", ("a",)) == 1
    assert keys(await do(theirs, "search", ())) == ["k"]
    assert await do(theirs, "list_namespaces") == [("b",)]
    theirs.put(("a",), "short", {"n": 4})
    assert keys(await do(ours, "search", ("a",))) == ["short"]


def test_a_life_that_one_process_prolonged_is_not_ended_by_another(another: Open) -> None:
    clock = ManualClock()
    ours, theirs = another(clock=clock), another(clock=clock)
    ours.put(("a",), "k", {"n": 1}, ttl=60)
    clock.advance(minutes=40)
    ours.get(("a",), "k")
    ours.sweep_ttl()  # which writes what was prolonged
    clock.advance(minutes=40)
    assert theirs.sweep_ttl() == 0
    assert theirs.get(("a",), "k", refresh_ttl=False) is not None


@pytest.mark.parametrize("how", ["put", "read"])
def test_an_end_that_is_written_late_does_not_shorten_a_life(another: Open, how: str) -> None:
    clock = ManualClock()
    ours, theirs = another(clock=clock), another(clock=clock)
    ours.put(("a",), "k", {"n": 1}, ttl=60)
    clock.advance(minutes=10)
    ours.get(("a",), "k")  # kept in memory
    clock.advance(minutes=40)
    if how == "put":
        theirs.put(("a",), "k", {"n": 1}, ttl=6_000)
    else:
        theirs.get(("a",), "k")
        theirs.sweep_ttl()  # which writes what was prolonged
    assert ours.sweep_ttl() == 0
    clock.advance(minutes=40)
    assert ours.sweep_ttl() == theirs.sweep_ttl() == 0
    assert keys(ours.search(("a",))) == ["k"]


@pytest.mark.parametrize("then", ["put", "delete"])
def test_what_was_prolonged_here_is_left_alone_if_it_was_put_anew_there(
    another: Open, then: str
) -> None:
    clock = ManualClock()
    ours, theirs = another(clock=clock), another(clock=clock)
    ours.put(("a",), "k", {"n": 1}, ttl=60)
    ours.get(("a",), "k")
    if then == "put":
        theirs.put(("a",), "k", {"n": 2})
    else:
        theirs.delete(("a",), "k")
    ours.sweep_ttl()
    clock.advance(days=1)
    assert ours.sweep_ttl() == 0
    for store in (ours, theirs, another()):
        assert keys(store.search(("a",))) == (["k"] if then == "put" else [])


async def test_what_is_too_large_for_memory_is_read_as_it_is_now(another: Open, do: Do) -> None:
    ours, theirs = another(partition_limit=20), another(partition_limit=20)
    ours.batch([PutOp(("a",), str(n), {"text": f"moka {n}"}) for n in range(60)])
    for store in (ours, theirs):
        assert len(await do(store, "search", ("a",), limit=100)) == 60
    theirs.put(("a",), "new", {"text": "a tea pot"})
    theirs.delete(("a",), "7")
    assert keys(await do(ours, "search", ("a",), query="tea pot", limit=1)) == ["new"]
    assert keys(await do(ours, "search", ("a",), limit=1)) == ["new"]
    assert len(await do(ours, "search", ("a",), query="moka", limit=100)) == 60
    assert await do(ours, "get", ("a",), "7") is None
    assert await do(theirs, "purge", ("a",)) == 60
    assert await do(ours, "search", ("a",), query="moka") == []
    assert await do(ours, "list_namespaces") == []


# -- at one moment --------------------------------------------------------------------------------


@pytest.mark.parametrize("when", [("_emptied", "after"), ("_upsert", "before")], ids="-".join)
def test_a_namespace_that_gets_an_item_while_its_last_is_deleted_stays_listed(
    another: Open, monkeypatch: pytest.MonkeyPatch, when: tuple[str, str]
) -> None:
    ours, theirs = another(), another()
    ours.put(("a",), "k", {"n": 1})
    step, side = when
    put: Any = {side: lambda: theirs.put(("a",), "l", {"n": 2})}
    interrupt(ours, step, monkeypatch, **put)
    ours.delete(("a",), "k")
    for store in (ours, theirs, another()):
        assert store.list_namespaces() == [("a",)]
        assert keys(store.search(())) == ["l"]
    ours.delete(("a",), "l")
    assert ours.list_namespaces() == theirs.list_namespaces() == []


def test_a_namespace_whose_last_item_is_deleted_while_one_is_put_stays_listed(
    another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = another(), another()
    ours.put(("a",), "k", {"n": 1})
    interrupt(ours, "_upsert", monkeypatch, before=lambda: theirs.delete(("a",), "k"))
    ours.put(("a",), "l", {"n": 2})
    for store in (ours, theirs, another()):
        assert store.list_namespaces() == [("a",)]
        assert keys(store.search(())) == ["l"]


def test_what_is_put_right_after_it_was_deleted_stays(
    another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch with a deletion must not delete once more what another process puts after it."""
    ours, theirs = another(), another()
    ours.put(("a",), "k", {"n": 1})
    interrupt(ours, "_upsert", monkeypatch, after=lambda: theirs.put(("a",), "k", {"n": 2}))
    ours.batch([PutOp(("a",), "l", {"n": 3}), PutOp(("a",), "k", None)])
    for store in (ours, theirs, another()):
        found = store.get(("a",), "k")
        assert found is not None
        assert found.value == {"n": 2}
        assert sorted(keys(store.search(("a",)))) == ["k", "l"]


def test_a_write_during_a_read_is_seen_by_the_next(
    another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = another(), another()
    ours.put(("a",), "k", {"n": 1})
    theirs.put(("a",), "k", {"n": 2})  # so that ours has to load it
    opened: Any = ours._open._rows
    read = opened.pages

    def late(where: Any, include: Any) -> Iterator[Any]:
        yield from read(where, include)
        if "part" in where:
            theirs.put(("a",), "l", {"n": 3})

    with monkeypatch.context() as patch:
        patch.setattr(opened, "pages", late)
        assert keys(ours.search(("a",))) == ["k"]
    assert keys(ours.search(("a",))) == ["l", "k"]


def test_a_read_of_several_pages_misses_nothing_when_items_go_meanwhile(
    another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph_memory.chroma.calls.PAGE", 7)
    ours, theirs = another(), another()
    theirs.batch([PutOp(("a",), f"{i:02}", {"n": i}) for i in range(30)])
    opened: Any = ours._open._rows
    fetch, reads = opened.get, count()

    def interrupted(**arguments: Any) -> Any:
        found = fetch(**arguments)
        if "where" in arguments and next(reads) == 1:
            theirs.batch([PutOp(("a",), f"{i:02}", None) for i in range(5)])
        return found

    monkeypatch.setattr(opened, "get", interrupted)
    assert set(keys(ours.search(("a",), limit=100))) >= {f"{i:02}" for i in range(5, 30)}
    assert keys(ours.search(("a",), limit=100)) == [f"{i:02}" for i in reversed(range(5, 30))]


def test_a_namespaces_row_does_not_grow_with_every_process_that_writes(
    chroma: ChromaServer, another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_clock, "KEPT", 2)
    reader = another()
    for i in range(5):
        with chroma.client() as client, ChromaStore(client=client, embed=EMBED) as writer:
            writer.put(("a",), str(i), {"n": i})
        assert len(reader.search(("a",), limit=100)) == i + 1
    with chroma.client() as client:
        rows = client.get_collection("langgraph_memory", embedding_function=None)
        [metadata] = rows.get(ids=[row_id(("a",))])["metadatas"]
    assert len(clock_of(metadata)) == 2


# -- a server that goes away ----------------------------------------------------------------------


def test_a_call_whose_answer_is_lost_is_repeated_and_seen_by_others_again(
    another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs, reader = another(), another(), another()

    def meanwhile() -> None:
        theirs.put(("a",), "k", {"n": 2})
        assert [item.value["n"] for item in reader.search(("a",))] == [2]
        lose_the_answer()

    interrupt(ours, "_upsert", monkeypatch, after=meanwhile)
    ours.put(("a",), "k", {"n": 1})
    for store in (ours, theirs, reader):
        assert [item.value["n"] for item in store.search(("a",))] == [1]


def test_a_write_that_failed_and_lands_late_is_noticed(
    another: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = another(patience=0)
    ours.put(("a",), "k", {"n": 1})
    opened: Any = ours._open._rows
    sent: list[Any] = []

    def fail(rows: Any) -> None:
        sent.append(rows)
        lose_the_answer()

    with monkeypatch.context() as patch:
        patch.setattr(opened, "_upsert", fail)
        with pytest.raises(StoreError, match="cannot reach the Chroma server"):
            ours.put(("a",), "l", {"n": 2})
    assert keys(ours.search(("a",))) == ["k"]
    opened._upsert(sent[0])
    assert keys(ours.search(("a",))) == ["l", "k"]


@pytest.mark.slow
def test_no_acknowledged_item_is_missing_after_the_server_was_killed_under_load(
    tmp_path: Path,
) -> None:
    chroma = ChromaServer(tmp_path)
    chroma.start()
    acknowledged: list[str] = []
    failures: list[StoreError] = []
    enough = threading.Event()

    def write(name: str) -> None:
        for i in count():
            if enough.is_set():
                return
            try:
                store.put(("a",), f"{name}{i}", {"text": f"moka {i}"})
            except StoreError as error:
                failures.append(error)
            else:
                acknowledged.append(f"{name}{i}")

    def wait_for(number: int) -> None:
        deadline = time.monotonic() + 60
        while len(acknowledged) < number:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    try:
        with open_store(chroma.url) as store, ThreadPoolExecutor() as threads:
            writers = [threads.submit(write, name) for name in "abc"]
            try:
                wait_for(20)
                chroma.kill()
                chroma.start()
                wait_for(len(acknowledged) + 20)
            finally:
                enough.set()
            for writer in writers:
                writer.result()
            found = keys(store.search(("a",), limit=10_000))
            assert len(found) == len(set(found))
            assert set(found) >= set(acknowledged)
            by_meaning = keys(store.search(("a",), query="moka", limit=10_000))
            assert sorted(by_meaning) == sorted(found)
        assert all("cannot reach the Chroma server" in str(error) for error in failures)
        with open_store(chroma.url) as again:
            assert sorted(keys(again.search(("a",), limit=10_000))) == sorted(found)
    finally:
        chroma.kill()


async def test_calls_wait_for_a_server_and_say_how_to_start_one_that_is_gone(
    tmp_path: Path,
) -> None:
    chroma = ChromaServer(tmp_path)
    opening = asyncio.create_task(asyncio.to_thread(open_store, chroma.url))
    try:
        chroma.start()
        await asyncio.to_thread((await opening).close)
        async with open_store(chroma.url, patience=0) as store:
            store.put(("a",), "k", {"n": 1})
            chroma.kill()
            for method, *arguments in (
                ("put", ("a",), "l", {"n": 2}),
                ("get", ("a",), "k"),
                ("search", ("a",)),
                ("list_namespaces",),
                ("delete", ("a",), "k"),
            ):
                with pytest.raises(StoreAwayError, match=rf"{chroma.url}.*`chroma run --path"):
                    getattr(store, method)(*arguments)
                with pytest.raises(StoreAwayError, match=rf"{chroma.url}.*`chroma run --path"):
                    await getattr(store, f"a{method}")(*arguments)
    finally:
        chroma.kill()
    with pytest.raises(StoreAwayError, match=rf"{chroma.url}.*`chroma run --path"):
        open_store(chroma.url, patience=0)


# -- opening --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["http://", "https://:8000", "http://host:port", "http://host:0", "http://me:secret@host:8000"],
)
def test_what_is_not_the_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"http://host:port.*headers=") as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


def test_another_kind_of_server_is_a_store_error() -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Quiet) as web:
        serving = threading.Thread(target=web.serve_forever)
        serving.start()
        url = f"http://127.0.0.1:{web.server_port}"
        try:
            with pytest.raises(StoreError, match=f"{url}, which should be a Chroma server"):
                open_store(url)
        finally:
            web.shutdown()
            serving.join()


async def test_a_client_for_coroutines_is_refused(chroma: ChromaServer) -> None:
    client: Any = await chromadb.AsyncHttpClient("127.0.0.1", chroma.port)
    with pytest.raises(ConfigurationError, match=r"a chromadb\.HttpClient, not an AsyncHttpClient"):
        ChromaStore(client=client, embed=EMBED)
    await client._server._cleanup()


@pytest.mark.parametrize("first", [True, False], ids=["opened-first", "opened-later"])
def test_an_embedder_that_another_process_does_not_use_is_refused(
    another: Open, first: bool
) -> None:
    other = HashingEmbeddings(32)
    early = another(embed=other) if first else None
    another().put(("a",), "k", {"text": "moka"})
    with pytest.raises(EmbedderMismatchError):
        (early or another(embed=other)).put(("a",), "l", {"text": "tea"})
    assert keys(another().search(("a",), query="moka")) == ["k"]


def test_stores_on_one_url_in_one_process_share_a_client(chroma: ChromaServer) -> None:
    with open_store(chroma.url) as one, open_store(f"{chroma.url}/") as other:
        assert one._collection is other._collection
        one.put(("a",), "k", {"n": 1})
        assert keys(other.search(("a",))) == ["k"]


def test_a_forked_child_is_refused_and_its_parent_goes_on(
    chroma: ChromaServer, child: Start
) -> None:
    outcomes, texts = child(children.use_after_fork, chroma.url).receive()
    *used, opened, closed = outcomes
    assert all("before the process forked" in outcome for outcome in used)
    assert opened.startswith("returned")
    assert closed == "returned None"
    assert sorted(texts) == ["moka", "tea"]


def test_closing_closes_the_connections(chroma: ChromaServer) -> None:
    def sockets() -> int:
        links = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        return sum(os.readlink(fd).startswith("socket") for fd in links if fd.is_symlink())

    gc.collect()
    before = sockets()
    store = open_store(chroma.url)
    store.put(("a",), "k", {"n": 1})
    assert sockets() > before
    store.close()
    assert sockets() == before


def test_a_folder_that_a_server_kept_can_be_opened_directly(tmp_path: Path, child: Start) -> None:
    """What the server's users deleted is then gone from it."""
    chroma = ChromaServer(tmp_path)
    chroma.start()
    try:
        with open_store(chroma.url) as store:
            store.put(("a",), "k", {"text": "moka"})
            store.put(("b",), "l", {"text": "tea"})
            store.put(("b",), "m", {"text": "mate"})
            store.delete(("a",), "k")
            store.batch([PutOp(("b",), "m", None), PutOp(("b",), "n", {"text": "cocoa"})])
    finally:
        chroma.kill()
    with open_store(tmp_path) as store:
        assert store.list_namespaces() == [("b",)]
        assert sorted(keys(store.search((), query="tea"))) == ["l", "n"]
        store.put(("a",), "k", {"text": "moka again"})
        assert store.list_namespaces() == [("a",), ("b",)]
    states = child(children.count_states, str(tmp_path)).receive()
    assert states == {None: 3, "namespace": 2}
