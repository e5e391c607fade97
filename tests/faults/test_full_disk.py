"""A disk that fills up: nothing that was acknowledged is lost, nobody stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langgraph_memory import ChromaStore, StoreError, compact, reembed
from langgraph_memory.chroma.calls import persistent_client
from langgraph_memory.chroma.local_calls import needed, size_of
from langgraph_memory.chroma.rows import item_rows
from langgraph_memory.testing import HashingEmbeddings
from tests.chroma.damaged import small_disk
from tests.chroma.support import Child, chroma_refuses, open_store, stored_item
from tests.faults import full_disk
from tests.faults.full_disk import ballast, text
from tests.graph.graphs import opened

LONGEST_HALT = 20.0
"""Seconds. Where Chroma hangs it is a thousand; on a busy machine everything takes its time."""

TO_GIVE_UP = 60  # seconds


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 30 MB."""
    with small_disk(tmp_path / "disk", 30):
        yield tmp_path / "disk"


@pytest.fixture
def told() -> Iterator[Callable[..., Any]]:
    """Let a process do something, and return what it reports."""
    children: list[Child] = []

    def report(target: Callable[..., None], *args: Any) -> Any:
        children.append(Child(target, *args))
        assert children[-1].pipe.poll(TO_GIVE_UP), "the process stands still"
        return children[-1].pipe.recv()

    yield report
    for child in children:
        child.clean_up()


def keys(place: Path) -> set[str]:
    with open_store(place) as store:
        return {item.key for item in store.search((), limit=10_000)}


# -- what does not fit ----------------------------------------------------------------------------


def test_a_full_disk_refuses_what_does_not_fit_and_nobody_stands_still(
    disk: Path, told: Callable[..., Any]
) -> None:
    ballast(disk, 6 << 20)
    failed, there, halt = told(full_disk.put_until_full, disk, 60)
    assert 20 < len(failed) < 60
    assert there == {str(n) for n in range(60)} - {str(n) for n in failed}
    for said in failed.values():
        assert "is full: this needs" in said
        assert "bytes are free. Nothing was written" in said
    assert halt < LONGEST_HALT
    assert keys(disk / "memory") == there


def test_a_turn_whose_memory_does_not_fit_says_so_and_is_ended_when_there_is_room(
    disk: Path, told: Callable[..., Any]
) -> None:
    failed, answers, before, after, halt = told(full_disk.have_turns, disk, 20)
    assert 0 < len(failed) < 20
    assert all("is full: this needs" in said for said in failed.values())
    assert answers == [f"Noted: N{n}." for n in range(20)]
    assert (before, after) == (2 * (20 - len(failed)), 2 * 20)
    assert halt < LONGEST_HALT


@pytest.mark.parametrize(
    ("rows", "size", "dims"), [(1, 100, 512), (1, 20_000, 64), (100, 2_000, 64)]
)
def test_what_there_is_room_for_by_our_figure_is_written(
    disk: Path, rows: int, size: int, dims: int
) -> None:
    embed = HashingEmbeddings(dims)
    with open_store(disk / "memory", embed=embed) as store:
        store.batch([put(("n",), str(n), text(n, 100)) for n in range(990)])
        ops = [put(("n",), f"x{n}", text(n, size)) for n in range(rows)]
        items = [stored_item(op.key, dict(op.value or {}), texts=[str(op.value)]) for op in ops]
        bytes_ = size_of(row for item in items for row in item_rows(item, 64))
        ballast(disk, needed(bytes_ + 400 * rows, rows + 1, dims) + 8_192)
        store.batch(ops)
        assert len(store.search(("n",), limit=2_000)) == 990 + rows


def put(namespace: tuple[str, ...], key: str, said: str) -> PutOp:
    return PutOp(namespace, key, {"text": said})


# -- what takes a copy ----------------------------------------------------------------------------


@pytest.fixture
def half_full(disk: Path) -> Path:
    """A folder whose collection would not fit on its disk twice."""
    with open_store(disk / "memory") as store:
        for start in (0, 15):
            store.batch([put(("n",), str(n), text(n)) for n in range(start, start + 15)])
    return disk / "memory"


@pytest.mark.parametrize(
    "call",
    [compact, lambda place: reembed(place, HashingEmbeddings(32))],
    ids=["compact", "reembed"],
)
def test_what_copies_a_folder_is_refused_before_it_begins_if_the_disk_is_full(
    half_full: Path, call: Callable[[Path], object]
) -> None:
    before = keys(half_full)
    filled = ballast(half_full.parent, 6 << 20)
    with pytest.raises(StoreError, match=r"is full: this needs .* bytes"):
        call(half_full)
    assert keys(half_full) == before
    filled.unlink()
    call(half_full)


def test_a_document_is_not_replaced_by_halves_on_a_full_disk(disk: Path) -> None:
    place = disk / "memory"
    old, new = ("\n\n".join(f"{word} {n}. {text(n, 900)}" for n in range(30)) for word in "ab")
    with opened(place) as memory:
        memory.add_document(old, user="ana", source="d.txt")
        chunks = memory.count(user="ana")
        for leave in (2 << 20, 1 << 20, 4_096, 0):
            filled = ballast(disk, leave)
            with pytest.raises(StoreError, match="is full"):
                memory.add_document(new, user="ana", source="d.txt")
            assert memory.count(user="ana") == chunks
            found = memory.recall("a 7.", user="ana", types=("document",))
            assert any(hit.text.startswith("a ") for hit in found.hits + found.perhaps)
            filled.unlink()
        memory.add_document(new, user="ana", source="d.txt")
        assert memory.count(user="ana") == chunks


def test_a_folder_opened_without_a_free_byte_is_read_and_can_be_written_when_there_is_room(
    half_full: Path,
) -> None:
    before = keys(half_full)
    state = {file: file.stat().st_size for file in half_full.rglob("chroma*")}
    filled = ballast(half_full.parent, 0)
    with open_store(half_full) as store:
        assert {item.key for item in store.search(("n",), limit=1_000)} == before
        assert store.search(("n",), query=text(7))[0].key == "7"
        with pytest.raises(StoreError, match="was full when it was opened"):
            store.put(("n",), "new", {"text": "a"})
    assert {file: file.stat().st_size for file in half_full.rglob("chroma*")} == state
    filled.unlink()
    with open_store(half_full) as store:
        store.put(("n",), "new", {"text": "a"})
    assert keys(half_full) == before | {"new"}


# -- what fails all the same ----------------------------------------------------------------------


def test_writes_that_fail_all_the_same_are_taken_back_and_nobody_stands_still(
    tmp_path: Path, told: Callable[..., Any]
) -> None:
    (*rounds, last), halt = told(full_disk.fail_again_and_again, tmp_path, 9)
    assert all(each["failed"] for each in rounds)
    for number, each in enumerate(rounds):
        first, *later = each["failed"].values()
        assert "Undecided is 'old' in ('a',)" in first
        assert all("Undecided is" in said or "is full" in said for said in later)
        written = [text(n) for n in range(3) if n not in each["failed"]]
        now = {**each["before"], "old": [each["before"]["old"], *written][-1]}
        assert each["during"] == now
        assert each["after"] == now | {f"after {number}": "there is room"}
    landed = {f"last {n}": text(n) for n in range(2) if n not in last["failed"]}
    assert last["after"] == rounds[-1]["after"] | landed
    assert halt < LONGEST_HALT


def test_a_write_that_raised_is_there_whole_or_not_at_all_after_a_kill_and_is_not_doubled(
    tmp_path: Path,
) -> None:
    child = Child(full_disk.fail_and_wait, tmp_path)
    assert "Undecided is" in child.receive()
    child.kill()
    child.clean_up()
    wanted = {"old": text(1), "new": text(2)}
    with open_store(tmp_path, embed=HashingEmbeddings()) as store:
        assert contents(store) in ({"old": "as it was"}, wanted)
        for _ in range(2):
            store.batch([put(("a",), key, said) for key, said in wanted.items()])
        assert contents(store) == wanted


def contents(store: ChromaStore) -> dict[str, str]:
    return {item.key: item.value["text"] for item in store.search(("a",), limit=100)}


def test_a_client_of_ones_own_that_has_failed_is_not_written_to_again(tmp_path: Path) -> None:
    client = persistent_client(tmp_path)
    with closing(client), ChromaStore(client=client, embed=HashingEmbeddings(64)) as store:
        store.put(("a",), "1", {"text": "as it was"})
        with chroma_refuses(tmp_path), pytest.raises(StoreError, match="Undecided is '2' in"):
            store.put(("a",), "2", {"text": "new"})
        with pytest.raises(StoreError, match="open the folder with a new one"):
            store.put(("a",), "2", {"text": "new"})
        assert contents(store) == {"1": "as it was"}
