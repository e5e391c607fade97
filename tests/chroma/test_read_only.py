"""A folder that is only read: beside a writer, without a trace, and whatever a kill left in it."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langgraph.store.base import PutOp

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import ConfigurationError, StoreError, StoreLockedError
from langgraph_memory.testing import ManualClock
from tests.chroma import children, damaged
from tests.chroma.damaged import Contents, hashing, index_directory
from tests.chroma.support import EMBED, Child, Do, keys, open_store

Start = Callable[..., Child]


def traces(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Return what a write would change: names, sizes and times of all that is in a folder."""
    found = [directory, *sorted(directory.rglob("*"))]
    stats = {str(path): path.stat() for path in found}
    return {name: (stat.st_size, stat.st_mtime_ns, stat.st_ino) for name, stat in stats.items()}


def same(found: Contents, expected: Contents) -> bool:
    """Compare what two stores hold and find; which of several equally near comes first is open."""
    scores = [[(query, score) for query, _, score in each["hits"]] for each in (found, expected)]
    return scores[0] == scores[1] and found | {"hits": ()} == expected | {"hits": ()}


def opened_beside(directory: Path) -> ChromaStore:
    return ChromaStore(directory, index={"embed": EMBED, "fields": ["t"]}, read_only=True)


# -- beside a writer ------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_read_sees_what_a_writing_process_acknowledged(tmp_path: Path, child: Start) -> None:
    writer = child(children.keep_writing, str(tmp_path))
    writer.receive()
    with opened_beside(tmp_path) as store:
        while (number := writer.receive()) < 60:  # past the writing of the index at 1,000 rows
            latest = f"term{number - 1}"
            live = store.search(("live",), query=latest, limit=1)
            assert live[0].value["t"] >= latest or len(live[0].value["t"]) > len(latest)
            changing = store.get(("changing",), "k")
            assert changing is not None
            assert int(changing.value["t"][4:]) >= number - 1
            assert store.get(("live",), f"k{number - 2}") is None
            assert store.list_namespaces() == [("changing",), ("filled",), ("live",)]
            [found] = store.search(("filled",), query="word7", limit=1)
            assert found.key == "k7"
            assert found.score == pytest.approx(1, abs=1e-3)
        assert (index_directory(tmp_path) / "index_metadata.pickle").exists()
        writer.pipe.send(None)
        while not isinstance(there := writer.receive(), list):
            pass
        assert sorted((i.key, i.value["t"]) for i in store.search((), limit=5_000)) == there
        for key, text in there:
            assert store.search((), query=text, limit=1)[0].score == pytest.approx(1, abs=1e-3), key


def test_a_failed_write_of_the_writer_is_not_seen_and_the_next_one_is(
    tmp_path: Path, child: Start, caplog: pytest.LogCaptureFixture
) -> None:
    writer = child(children.fail_and_go_on, str(tmp_path))
    assert "Undecided" in writer.receive()
    with ChromaStore(tmp_path, embed=EMBED, read_only=True) as store:
        assert keys(store.search(("n",), query="a moka pot")) == ["before"]
        writer.pipe.send(None)
        writer.receive()  # its entries in Chroma's log have the numbers of the failed ones
        assert keys(store.search(("n",), query="a coffee grinder")) == ["after", "before"]
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def test_what_this_process_has_open_is_shared(tmp_path: Path) -> None:
    with open_store(tmp_path) as writer, open_store(tmp_path, read_only=True) as reader:
        writer.put(("a",), "k", {"t": "moka"})
        assert keys(reader.search(("a",), query="moka")) == ["k"]
        with pytest.raises(ConfigurationError, match="read_only"):
            reader.put(("a",), "l", {"t": "tea"})
    with open_store(tmp_path, read_only=True) as reader:
        with pytest.raises(StoreLockedError, match="read_only=True"):
            open_store(tmp_path)
        assert keys(reader.search(("a",), query="moka")) == ["k"]
    with open_store(tmp_path) as writer:
        writer.put(("a",), "l", {"t": "tea"})


# -- without a trace ------------------------------------------------------------------------------


def test_all_reads_find_what_a_writer_finds_and_leave_no_trace(
    filled: Path, before: Contents
) -> None:
    there = traces(filled)
    assert same(damaged.contents(filled, read_only=True), before)
    assert traces(filled) == there


@pytest.fixture
def mounted(filled: Path, tmp_path: Path) -> Iterator[Path]:
    """The folder `filled` on a file system that cannot be written."""
    place = tmp_path / "mounted"
    place.mkdir()
    for command in (
        ["mount", "--bind", str(filled), str(place)],
        ["mount", "-o", "remount,ro,bind", str(place)],
    ):
        if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
            subprocess.run(["umount", str(place)], check=False, capture_output=True)
            pytest.skip("this system does not let the tests mount a folder")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_file_system_that_cannot_be_written_is_read(mounted: Path, before: Contents) -> None:
    with pytest.raises(OSError, match="Read-only"):
        (mounted / "file").touch()
    assert same(damaged.contents(mounted, read_only=True), before)


async def test_what_would_write_is_refused(filled: Path, do: Do) -> None:
    there = traces(filled)
    with damaged.open_filled(filled, read_only=True) as store:
        for method, arguments in (
            ("put", [("a",), "k", {"t": "tea"}]),
            ("delete", [("two",), "k"]),
            ("batch", [[PutOp(("two",), "k", None)]]),
            ("purge", [("two",)]),
            ("sweep_ttl", []),
        ):
            with pytest.raises(ConfigurationError, match="read_only=True"):
                await do(store, method, *arguments)
        with pytest.raises(ConfigurationError, match="read_only=True"):
            store.start_ttl_sweeper()
    assert traces(filled) == there


def test_reads_prolong_no_lives(tmp_path: Path) -> None:
    clock = ManualClock()
    options = {"clock": clock, "ttl": {"default_ttl": 60, "omit_expired": True}}
    with open_store(tmp_path, **options) as store:
        store.put(("a",), "k", {"t": "moka"})
    with open_store(tmp_path, read_only=True, **options) as store:
        for _ in range(3):
            clock.advance(minutes=25)
            found = store.get(("a",), "k"), *store.search(("a",), query="moka")
        assert found == (None,)
        assert store.list_namespaces() == []


def test_only_a_folder_that_holds_a_memory_is_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no memory in"):
        open_store(tmp_path / "nothing", read_only=True)
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(ConfigurationError, match="read_only= is for a folder"):
        open_store("http://localhost:1", read_only=True)
    with open_store(tmp_path / "fresh"):
        pass
    with open_store(tmp_path / "fresh", read_only=True) as store:
        assert (store.search(("a",), query="moka"), store.list_namespaces()) == ([], [])


# -- what is large, broken or half done -----------------------------------------------------------


def test_what_is_too_large_for_memory_is_searched_too(filled: Path) -> None:
    with damaged.open_filled(filled, read_only=True) as small:
        expected = small.search(("user",), query="moka pot 77", limit=7, filter={"n": {"$gt": 50}})
    with damaged.open_filled(filled, read_only=True, partition_limit=100) as large:
        found = large.search(("user",), query="moka pot 77", limit=7, filter={"n": {"$gt": 50}})
        assert keys(found) == keys(expected)
        assert found[0].score == pytest.approx(expected[0].score)
        assert len(large.search((), limit=5_000)) == damaged.ITEMS + 2


@pytest.mark.parametrize("file", ["data_level0.bin", ""])
def test_vectors_of_a_broken_index_are_made_again_in_memory(
    filled: Path, before: Contents, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken = index_directory(filled) / file
    if file:
        os.truncate(broken, broken.stat().st_size // 2)
    else:
        shutil.rmtree(broken)
    there = traces(filled)
    with caplog.at_level(logging.WARNING):
        assert same(damaged.contents(filled, read_only=True), before)
    assert "no vector that can be read" in caplog.text
    assert traces(filled) == there


def test_a_transaction_of_a_killed_process_is_rolled_back_elsewhere(
    filled: Path, before: Contents, child: Start
) -> None:
    killed = child(children.die_in_a_transaction, str(filled / "chroma.sqlite3"))
    killed.receive()
    killed.kill()
    assert (filled / "chroma.sqlite3-journal").exists()
    there = traces(filled)
    store = damaged.open_filled(filled, read_only=True)
    with store:
        assert len(store.search(("user",), limit=5_000)) == damaged.ITEMS
        assert traces(filled) == there
    assert same(damaged.contents(filled, read_only=True), before)
    with ChromaStore(filled, embed=hashing) as writer:  # which rolls it back for good
        writer.put(("two",), "new", {"t": "moka"})
    with damaged.open_filled(filled, read_only=True) as store:
        assert store.get(("two",), "new") is not None
