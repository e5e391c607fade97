"""A directory: opened by one process at a time, shared within it, and readable without us."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import chromadb
import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

from langgraph_memory import Memory
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import ConfigurationError, StoreError, StoreLockedError
from langgraph_memory.records.clock import utc_now
from tests.chroma import children
from tests.chroma.support import EMBED, Child, Do, keys, open_store

ROOT = Path(__file__).parents[2]
Start = Callable[..., Child]


# -- opening and closing --------------------------------------------------------------------------


def test_a_directory_is_made_with_its_parents_and_holds_what_was_put(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there yet"
    with open_store(path) as store:
        store.put(("a",), "k", {"text": "moka"})
    with open_store(path) as store:
        assert keys(store.search(("a",), query="moka")) == ["k"]


def test_the_embedded_default_needs_only_a_path(tmp_path: Path) -> None:
    with ChromaStore(tmp_path) as store:
        store.put(("a",), "k", {"text": "Her daughter is allergic to peanuts"})
        store.put(("a",), "l", {"text": "The moka pot makes two cups"})
    with ChromaStore(tmp_path) as store:
        assert store.search(("a",), query="花生过敏", limit=1)[0].key == "k"


async def test_stores_are_context_managers_sync_and_async(tmp_path: Path, do: Do) -> None:
    async with open_store(tmp_path) as store:
        await do(store, "put", ("a",), "k", {"n": 1})
    with open_store(tmp_path) as store:
        assert await do(store, "get", ("a",), "k") is not None


def test_a_block_that_fails_closes_its_store(tmp_path: Path, child: Start) -> None:
    with pytest.raises(ZeroDivisionError), open_store(tmp_path) as store:
        store.put(("a",), "k", {"n": 1 // 0})
    assert child(children.try_to_open, str(tmp_path)).receive() == "returned opened"


@pytest.mark.parametrize(
    "op",
    [GetOp(("a",), "k"), SearchOp(("a",)), ListNamespacesOp(), PutOp(("a",), "k", {"n": 1})],
    ids=lambda op: type(op).__name__,
)
async def test_a_closed_store_says_so(tmp_path: Path, do: Do, op: Any) -> None:
    store = open_store(tmp_path)
    store.close()
    store.close()
    with pytest.raises(ConfigurationError, match="this store is closed"):
        await do(store, "batch", [op])


def test_a_store_that_is_closed_during_a_write_says_so(tmp_path: Path) -> None:
    """As when a program ends while a background task still writes."""

    def clock() -> datetime:
        store.close()
        return utc_now()

    store = open_store(tmp_path, clock=clock)
    with pytest.raises((ConfigurationError, StoreError), match="closed"):
        store.put(("a",), "k", {"n": 1})


def test_a_store_that_is_closed_between_writes_keeps_them_whole(tmp_path: Path) -> None:
    for _ in range(5):
        store = open_store(tmp_path)
        written: list[int] = []
        ready = threading.Event()

        def write(store: ChromaStore, written: list[int], ready: threading.Event) -> None:
            try:
                for i in range(1_000):
                    store.batch([PutOp(("a",), f"{name}{i}", {"n": i}) for name in "xy"])
                    written.append(i)
                    ready.set()
            finally:
                ready.set()

        with ThreadPoolExecutor() as threads:
            writing = threads.submit(write, store, written, ready)
            ready.wait()
            store.close()
        assert isinstance(writing.exception(), (ConfigurationError, StoreError))
        with open_store(tmp_path) as store:
            found = keys(store.search(("a",), limit=10_000))
            numbers = [{int(key[1:]) for key in found if key[0] == name} for name in "xy"]
            assert numbers[0] == numbers[1]
            assert numbers[0] >= set(written)


def test_a_directory_can_be_removed_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    for key in "kl":
        with open_store(path) as store:
            store.put(("a",), key, {"n": 1})
            assert keys(store.search(("a",))) == [key]
        shutil.rmtree(path)


def test_stores_in_memory_are_strangers_to_each_other() -> None:
    with ChromaStore.in_memory(embed=EMBED) as one, ChromaStore.in_memory(embed=EMBED) as other:
        one.put(("a",), "k", {"n": 1})
        assert other.search(()) == []
        assert other.list_namespaces() == []
    with ChromaStore.in_memory(embed=EMBED) as again:
        assert again.search(()) == []


@pytest.mark.parametrize("arguments", [{}, {"path": "memory", "client": object()}])
def test_a_path_or_a_client_is_needed_and_not_both(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"in_memory\(\)"):
        ChromaStore(**arguments)


def test_a_store_on_a_client_of_the_callers_leaves_it_open(tmp_path: Path) -> None:
    client: Any = chromadb.PersistentClient(str(tmp_path))
    with ChromaStore(client=client, embed=EMBED) as store:
        store.put(("a",), "k", {"n": 1})
        with ChromaStore(client=client, embed=EMBED) as second:
            second.put(("a",), "l", {"n": 2})
        assert sorted(keys(store.search(("a",)))) == ["k", "l"]
    assert client.count_collections() == 1
    with ChromaStore(client=client, embed=EMBED) as store:
        assert sorted(keys(store.search(("a",)))) == ["k", "l"]
    client.close()


def test_a_client_that_its_owner_closed_is_a_store_error(tmp_path: Path) -> None:
    client: Any = chromadb.PersistentClient(str(tmp_path))
    with ChromaStore(client=client, embed=EMBED) as store:
        store.put(("a",), "k", {"n": 1})
        client.close()
        for use in (
            lambda: store.put(("a",), "k", {"n": 2}),
            lambda: store.get(("a",), "k"),
            lambda: store.search(("a",)),
        ):
            with pytest.raises(StoreError, match="Chroma"):
                use()


# -- one process, several stores ------------------------------------------------------------------


def spellings(path: Path) -> list[str | Path]:
    link = path.parent / "link"
    link.symlink_to(path, target_is_directory=True)
    return [path, str(path), path / ".." / path.name, os.path.relpath(path), link, f"{path}/"]


def test_the_same_path_opened_twice_shares_what_is_written(tmp_path: Path) -> None:
    """However it is spelled, and whoever closes first."""
    path = tmp_path / "memory"
    path.mkdir()
    stores = [open_store(spelling) for spelling in spellings(path)]
    for i, store in enumerate(stores):
        store.search(("a",))
        store.put(("a",), str(i), {"text": "moka"})
    for i, store in enumerate(stores):
        assert len(store.search(("a",), query="moka", limit=100)) == len(stores)
        store.delete(("a",), str(i))
        store.put(("a",), str(i), {"text": "tea"})
        store.close()
    with open_store(path) as store:
        assert [item.value["text"] for item in store.search(("a",))] == ["tea"] * len(stores)


def test_a_home_directory_may_be_written_as_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with open_store("~/memory") as store:
        store.put(("a",), "k", {"n": 1})
    assert (tmp_path / "memory" / "chroma.sqlite3").is_file()


@pytest.mark.parametrize("path", ["~no-user-of-that-name/m", "a\0b", "loop/m"], ids=repr)
def test_a_path_that_cannot_be_is_a_store_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = path if path.startswith("~") else f"{tmp_path}/{path}"
    with pytest.raises(StoreError, match="cannot use the directory"):
        open_store(path)


def test_an_empty_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be the current directory, which nobody means who forgot to set a variable."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="path"), open_store(""):
        pass
    assert list(tmp_path.iterdir()) == []


def test_threads_that_open_and_close_one_path_do_not_disturb_each_other(tmp_path: Path) -> None:

    def work(name: str) -> None:
        for i in range(5):
            with open_store(tmp_path) as store:
                store.put((name,), str(i), {"n": i})
                assert len(store.search((name,), limit=100)) == i + 1

    with ThreadPoolExecutor() as threads:
        list(threads.map(work, "abcd"))
    with open_store(tmp_path) as store:
        assert len(store.search((), limit=100)) == 20


# -- several processes ----------------------------------------------------------------------------


def test_one_process_reads_what_another_wrote_before(tmp_path: Path, child: Start) -> None:
    with open_store(tmp_path) as store:
        store.put(("n",), "ours", {"text": "a moka pot"})
    assert child(children.read_and_add, str(tmp_path)).receive() == [{"text": "a moka pot"}]
    with open_store(tmp_path) as store:
        assert sorted(keys(store.search(("n",), query="moka"))) == ["ours", "theirs"]


def test_a_second_process_is_told_who_has_the_directory_until_that_is_gone(
    tmp_path: Path, child: Start
) -> None:
    owner = child(children.hold, str(tmp_path))
    assert owner.receive() == owner.pid
    with pytest.raises(StoreLockedError) as caught:
        open_store(tmp_path)
    message = str(caught.value)
    assert f"process {owner.pid} on {socket.gethostname()} since " in message
    assert str(tmp_path) in message
    since = message.split("since ")[1].split(". ")[0]
    assert datetime.fromisoformat(since).tzinfo is not None
    owner.kill()
    with open_store(tmp_path) as store:
        store.put(("a",), "k", {"n": 1})
        refused = child(children.try_to_open, str(tmp_path)).receive()
        assert f"StoreLockedError: {tmp_path} is open in process {os.getpid()} on" in refused
    assert child(children.try_to_open, str(tmp_path)).receive() == "returned opened"


def test_a_forked_child_is_refused_and_its_parent_goes_on(tmp_path: Path, child: Start) -> None:
    """Chroma would hang in it, and two processes would write to one directory."""
    outcomes, texts = child(children.use_after_fork, str(tmp_path)).receive()
    *used, opened, closed = outcomes
    assert len(used) == 4
    for outcome in used:
        assert outcome.startswith("StoreError: ")
        assert "open the store after the fork" in outcome
    assert opened.startswith("StoreLockedError: ")
    assert closed == "returned None"
    assert texts == ["tea", "moka"]
    with open_store(tmp_path) as store:
        assert len(store.search(("n",))) == 2


# -- what cannot be used --------------------------------------------------------------------------


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up the rights of root, which may write everywhere."""
    root = os.geteuid() == 0
    if root:
        try:
            os.seteuid(65534)
        except OSError:
            pytest.skip("root may write to every directory, and cannot become somebody else here")
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="directories have no mode there")
def test_a_directory_that_cannot_be_written_is_a_store_error() -> None:
    # Not in tmp_path, whose parents only their owner may enter.
    with tempfile.TemporaryDirectory() as name:
        written, empty = Path(name) / "written", Path(name) / "empty"
        with open_store(written) as store:
            store.put(("a",), "k", {"n": 1})
        empty.mkdir()
        for path in (Path(name), written, empty):
            path.chmod(0o555)
        for path in written.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with as_nobody():
            for path in (written, empty, empty / "new"):
                with pytest.raises(StoreError, match=f"cannot use the directory {path}: .*denied"):
                    open_store(path)
        for path in (Path(name), written, empty):
            path.chmod(0o755)
        for path in written.rglob("*"):
            path.chmod(0o755)
        with open_store(written) as store:
            assert keys(store.search(("a",))) == ["k"]


@pytest.mark.parametrize("name", ["file", "file/memory"])
def test_a_file_where_the_directory_should_be_is_a_store_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot use the directory") as caught:
        open_store(tmp_path / name)
    assert isinstance(caught.value.__cause__, OSError)
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_broken_database_is_a_store_error_and_the_directory_is_free_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "chroma.sqlite3"
    file.write_text("not a database " * 1_000)
    with pytest.raises(StoreError, match="not a database") as caught:
        open_store(tmp_path)
    assert caught.value.__cause__ is not None
    file.unlink()
    with open_store(tmp_path) as store:
        store.put(("a",), "k", {"n": 1})


def test_an_owner_that_cannot_be_noted_leaves_the_directory_free(tmp_path: Path) -> None:
    (tmp_path / "owner.json").mkdir()
    with pytest.raises(StoreError, match=r"owner\.json") as caught:
        open_store(tmp_path)
    (tmp_path / "owner.json").rmdir()
    with open_store(tmp_path) as store:
        store.put(("a",), "k", {"n": 1})
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("text", ["", "no JSON", "{}", "[]", "null", '{"pid": 1}'])
def test_a_note_of_the_owner_that_cannot_be_read_is_no_trouble(
    tmp_path: Path, child: Start, text: str
) -> None:
    with open_store(tmp_path):
        (tmp_path / "owner.json").write_text(text)
        refused = child(children.try_to_open, str(tmp_path)).receive()
        assert refused.startswith(f"StoreLockedError: {tmp_path} is open in another process")
    with open_store(tmp_path):
        assert json.loads((tmp_path / "owner.json").read_text())["pid"] == os.getpid()


def open_files(directory: Path) -> list[str]:
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if target.startswith(str(directory)):
            found.append(target)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="lists open files as Linux does")
@pytest.mark.parametrize(
    "collection",
    [
        {"metadata": {"schema": 7}, "configuration": {"hnsw": {"space": "cosine"}}},
        {"metadata": {"schema": 1}, "configuration": {"hnsw": {"space": "l2"}}},
        {"metadata": None},
    ],
)
def test_a_layout_that_is_not_ours_is_refused_and_let_go(
    tmp_path: Path, collection: dict[str, Any]
) -> None:
    """Open files of a directory that another process may now open would break its index."""
    client: Any = chromadb.PersistentClient(str(tmp_path))
    client.create_collection("langgraph_memory", **collection)
    client.close()
    with pytest.raises(ConfigurationError, match="not written by this version"):
        open_store(tmp_path)
    # Chroma closes its connections in threads of its own.
    for _ in range(1_000):
        if not open_files(tmp_path):
            return
        threading.Event().wait(0.01)
    raise AssertionError(open_files(tmp_path))


# -- what else reads it ---------------------------------------------------------------------------


def test_plain_chroma_finds_a_users_notes_and_episodes(tmp_path: Path, child: Start) -> None:
    with Memory(open_store(tmp_path)) as memory:
        for user, text in (("c-2291", "drinks decaf"), ("ana@x.org", "has a moka pot")):
            memory.remember(text, user=user)
            memory.log_turn([("user", f"hello from {user}")], user=user, thread_id="t")
        memory.remember("allergic to peanuts", user="c-2291")
        memory.remember("bakes on Mondays", user="c-2291", project="bakery")
        memory.log_episode("grind", user="c-2291", outcome="failure", quality_score=0.25)
        memory.log_episode("brew", user="c-2291", outcome="success", duration_ms=900)

    def found(*conditions: dict[str, Any]) -> list[str]:
        where = {"$and": list(conditions)} if len(conditions) > 1 else conditions[0]
        texts: list[str] = child(children.find_with_plain_chroma, str(tmp_path), where).receive()
        return texts

    assert found({"user": "c-2291"}, {"type": "note"}) == ["allergic to peanuts", "drinks decaf"]
    assert found({"user": "ana@x.org"}, {"type": "note"}) == ["has a moka pot"]
    assert found({"project": "bakery"}, {"type": "note"}) == ["bakes on Mondays"]
    (failed,) = found({"user": "c-2291"}, {"type": "episode"}, {"outcome": "failure"})
    assert "grind" in failed
    assert found({"outcome": "success"}) == found({"duration_ms": {"$gt": 100}})
    assert found({"quality_score": {"$lt": 0.5}}) == [failed]


NO_SOCKETS = """
import os, socket, sys
from pathlib import Path

def refuse(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname"):
        raise AssertionError(f"{event} {arguments}")

sys.addaudithook(refuse)
def no(*arguments):
    raise AssertionError(f"connect {arguments}")
socket.socket.connect = no

from langgraph_memory import ChromaStore

def internet():
    inodes = set()
    for table in ("tcp", "tcp6", "udp", "udp6", "raw"):
        lines = Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]
        inodes |= {f"socket:[{line.split()[9]}]" for line in lines}
    targets = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if
               os.path.islink(f"/proc/self/fd/{fd}")]
    return [target for target in targets if target in inodes]

with ChromaStore(sys.argv[1]) as store:
    store.put(("a",), "k", {"text": "moka"})
    store.put(("a",), "l", {"text": "tea"}, index=False)
    assert [item.key for item in store.search(("a",), query="coffee")] == ["k"]
    store.delete(("a",), "k")
    assert store.list_namespaces() == [("a",)]
    if os.path.isdir("/proc/self/net"):
        assert internet() == [], internet()
print("done")
"""


def test_no_internet_socket_is_opened(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_SOCKETS, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
