"""A directory whose index is broken heals when it is opened, and nothing is lost."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langgraph_memory.chroma.index_files import FILES
from langgraph_memory.chroma.repair.maintenance import doctor
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import ConfigurationError, EmbedderMismatchError, StoreError
from tests.chroma import damaged
from tests.chroma.damaged import (
    ITEMS,
    Contents,
    Start,
    contents,
    fill,
    hashing,
    index_directory,
    open_filled,
    other,
)

ROWS = ITEMS + 3 + 5
"""Items, further fields, namespaces: what has a row."""


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 7 // 10])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def scramble(file: Path) -> None:
    """Change what is in a file, and not its size."""
    file.write_bytes(b"\xff" * file.stat().st_size)


Harm = Callable[[Path], object]
HARMS: dict[str, Harm] = {"cut": cut, "empty": empty, "missing": Path.unlink}
BROKEN = [
    # One harm a file is enough in daily work; all of them take some ten seconds.
    pytest.param(name, how, marks=() if number % 3 == place % 3 else pytest.mark.slow)
    for place, name in enumerate(FILES)
    for number, how in enumerate(HARMS)
]


@pytest.fixture
def processes() -> Iterator[list[Any]]:
    """The processes that are started meanwhile."""
    started: list[Any] = []
    watching = True

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if watching and event == "subprocess.Popen":
            started.append(args[1])

    sys.addaudithook(watch)
    yield started
    watching = False


# -- repaired when opened -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "how"), BROKEN)
def test_with_a_broken_file_everything_is_there_and_is_found(
    filled: Path, before: Contents, caplog: pytest.LogCaptureFixture, name: str, how: str
) -> None:
    index = index_directory(filled)
    HARMS[how](index / name)
    left = sorted(file.name for file in index.iterdir())
    assert contents(filled) == before
    assert "vectors are made again from the texts" in caplog.text
    caplog.clear()
    assert contents(filled) == before
    assert not caplog.records
    moved = list((filled / "quarantine").iterdir())
    assert [sorted(file.name for file in place.iterdir()) for place in moved] == [left]


def test_with_the_directory_of_the_index_lost_everything_is_made_again(
    filled: Path, before: Contents, child: Start
) -> None:
    shutil.rmtree(index_directory(filled))
    assert contents(filled) == before
    texts = [f"moka pot {i}" for i in range(0, ITEMS, 10)]
    reached, rows = child(damaged.plain_search, str(filled), texts).receive()
    assert rows == ROWS
    assert len(reached) > 0.9 * len(texts)  # an approximate index; a lost one reaches one row


@pytest.mark.parametrize("name", ["length.bin", "data_level0.bin"])
def test_a_vector_whose_bytes_are_wrong_is_made_again(
    filled: Path, before: Contents, name: str
) -> None:
    file = index_directory(filled) / name
    content = bytearray(file.read_bytes())
    if name == "length.bin":  # as after a power failure
        content[1_000:3_000] = bytes(2_000)
    else:
        content[-9] ^= 0x40  # in the exponent of the last number of the last vector
    file.write_bytes(content)
    assert contents(filled) == before
    assert list((filled / "quarantine").iterdir())


def test_an_embedder_may_make_zeros(tmp_path: Path) -> None:
    def zeros(texts: Sequence[str]) -> list[list[float]]:
        return [[0.0] * 8 if text == "nothing" else [1.0] * 8 for text in texts]

    puts = [PutOp(("a",), str(n), {"t": ["nothing", "much"][n % 2]}, ["t"]) for n in range(1_010)]
    with ChromaStore(tmp_path, embed=zeros) as store:
        store.batch(puts)
    assert doctor(tmp_path, zeros).found == ()


def test_what_only_chroma_stumbles_over_is_found_in_a_process_that_may_crash(
    filled: Path, before: Contents, caplog: pytest.LogCaptureFixture
) -> None:
    file = index_directory(filled) / "data_level0.bin"
    content = bytearray(file.read_bytes())
    record = len(content) // ROWS
    for start in range(0, len(content), record):  # neighbours that are not there
        content[start + 4 : start + 132] = b"\xf0\xff\xff\x00" * 32
    file.write_bytes(content)
    assert contents(filled) == before
    assert "Chroma" in caplog.text


def test_an_index_that_nothing_has_written_to_is_not_tried_out(
    filled: Path, before: Contents, processes: list[Any]
) -> None:
    assert contents(filled) == before
    assert not processes
    for file in index_directory(filled).iterdir():
        os.utime(file, ns=(1, 1))
    assert contents(filled) == before
    assert len(processes) == 1
    assert contents(filled) == before
    assert len(processes) == 1


def test_an_index_that_grew_in_many_sittings_is_not_found_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for sitting in range(2):
        with open_filled(tmp_path) as store:
            write_tea(store, sitting * 1_100, 1_100)
            store.batch([PutOp(("a",), f"k{i}", None) for i in range(0, sitting * 1_100, 10)])
    report = doctor(tmp_path, hashing)
    assert (report.found, report.vectors) == ((), report.rows)
    assert not caplog.records


def write_tea(store: ChromaStore, start: int, count: int) -> None:
    store.batch([PutOp(("a",), f"k{i}", {"t": f"tea {i}"}) for i in range(start, start + count)])


def test_a_repair_that_was_killed_goes_on_where_it_was(
    filled: Path, before: Contents, child: Start
) -> None:
    empty(index_directory(filled) / "header.bin")
    child(damaged.die_while_repairing, str(filled)).end()
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        embedded.extend(texts)
        return hashing(texts)

    assert contents(filled, embed=embed)["items"] == before["items"]
    assert 300 < len(embedded) < ITEMS - 400
    assert contents(filled) == before


async def test_a_coroutine_function_makes_the_vectors_again_too(filled: Path) -> None:
    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return hashing(texts)

    empty(index_directory(filled) / "header.bin")
    with open_filled(filled, embed=embed) as store:
        assert (await store.asearch(("two",), query="blue cup"))[0].score == pytest.approx(1)


def test_another_embedder_does_not_repair(filled: Path, before: Contents) -> None:
    empty(index_directory(filled) / "header.bin")
    with pytest.raises(EmbedderMismatchError, match="reembed"):
        open_filled(filled, embed=other)
    assert not (filled / "quarantine").exists()
    assert contents(filled) == before


def test_an_embedder_that_fails_during_a_repair_is_named_and_not_chroma(
    filled: Path, before: Contents
) -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        if len(texts) > 1:
            raise ConnectionError("no route to the provider")
        return hashing(texts)

    empty(index_directory(filled) / "header.bin")
    with pytest.raises(ConnectionError, match="no route"):
        open_filled(filled, embed=embed)
    assert contents(filled) == before


def test_a_damaged_database_is_an_error_that_names_the_file(filled: Path) -> None:
    (filled / "chroma.sqlite3").write_bytes(b"not a database" * 1_000)
    with pytest.raises(StoreError, match=r"cannot read .*chroma\.sqlite3.*backup"):
        open_filled(filled)


# -- doctor ---------------------------------------------------------------------------------------


def test_doctor_says_what_it_found_and_did(filled: Path, before: Contents) -> None:
    assert doctor(filled, hashing).done == ()
    cut(index_directory(filled) / "length.bin")
    progress: list[tuple[int, int]] = []
    report = doctor(filled, hashing, on_progress=lambda *pair: progress.append(pair))
    assert (report.rows, report.vectors) == (ROWS, ROWS)
    assert "length.bin has" in report.found[0]
    assert report.done == (f"made {ROWS:,} vectors again",)
    assert progress[-1] == (ROWS, ROWS)
    assert contents(filled) == before


def test_doctor_sees_bytes_that_changed_behind_everyones_back(
    filled: Path, before: Contents
) -> None:
    file = index_directory(filled) / "data_level0.bin"
    stat = file.stat()
    scramble(file)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert doctor(filled, hashing).done
    assert contents(filled) == before


def test_doctor_needs_no_embedder_where_nothing_is_broken(tmp_path: Path) -> None:
    with open_filled(tmp_path) as store:
        store.put(("a",), "k", {"text": "moka"})
    assert doctor(tmp_path).found == ()


def test_doctor_wants_a_directory_with_a_memory_that_is_not_open(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no memory in"):
        doctor(tmp_path)
    assert not list(tmp_path.iterdir())
    with open_filled(tmp_path), pytest.raises(StoreError, match="is open in process"):
        doctor(tmp_path)


# -- disks that are full or read-only -------------------------------------------------------------


def test_a_full_disk_is_an_error_and_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with damaged.small_disk(place, 10) as remount:
        written = 0
        with open_filled(place) as store:
            with suppress(StoreError):
                for written in range(0, 60_000, 200):
                    write_tea(store, written, 200)
            assert 1_000 < written < 50_000
            with pytest.raises(StoreError, match=r"the disk of .* is full: this needs .* bytes"):
                write_tea(store, written, 200)
        remount("size=64m")
        with open_filled(place) as store:
            there = {item.key for item in store.search(("a",), limit=90_000)}
            assert {f"k{i}" for i in range(written)} <= there
            write_tea(store, written, 200)
            assert store.search(("a",), query=f"tea {written}")[0].key == f"k{written}"


def test_what_a_full_disk_does_not_let_be_repaired_is_read_until_there_is_space(
    tmp_path: Path,
) -> None:
    place = tmp_path / "disk"
    with damaged.small_disk(place, 32) as remount:
        fill(place)
        expected = contents(place)
        empty(index_directory(place) / "header.bin")
        used = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        (place / "ballast").write_bytes(b"x" * (32 * 2**20 - used - 700_000))
        assert contents(place) == expected
        with open_filled(place) as store, pytest.raises(StoreError, match="make room"):
            write_tea(store, 0, 1)
        remount("size=64m")
        assert contents(place) == expected
        with open_filled(place) as store:
            write_tea(store, 0, 1)


def test_a_read_only_directory_is_an_error_and_is_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with damaged.small_disk(place, 32) as remount:
        fill(place)
        expected = contents(place)
        empty(index_directory(place) / "header.bin")
        remount("ro")
        with pytest.raises(StoreError, match="cannot use the directory"):
            open_filled(place)
        remount("rw")
        assert contents(place) == expected


def test_a_repair_is_logged_with_the_place_of_the_broken_files_and_prints_nothing(
    filled: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    empty(index_directory(filled) / "header.bin")
    with caplog.at_level(logging.WARNING, "langgraph_memory"):
        open_filled(filled).close()
    (moved,) = (filled / "quarantine").iterdir()
    assert str(moved) in caplog.messages[0]
    assert capfd.readouterr() == ("", "")  # the progress bar is for terminals
