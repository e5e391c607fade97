"""A database that is gone is told from one that was never written to."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.store.base import PutOp

from langgraph_memory import StoreError, compact
from langgraph_memory.chroma.tables import DATABASE
from langgraph_memory.files.durable import mark_of
from tests.chroma.children import Pipe
from tests.chroma.support import Child, open_store

KILLS = 8


def remove(database: Path) -> None:
    database.unlink()


def empty(database: Path) -> None:
    database.write_bytes(b"")


def drop_collection(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM collections")


def keep_nothing_but_the_lock(database: Path) -> None:
    for path in database.parent.iterdir():
        if path.name not in ("owner.json", "owner.lock", mark_of(database).name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def write(place: Path, key: str = "k") -> None:
    with open_store(place) as store:
        store.put(("a",), key, {"text": "green tea"})


@pytest.mark.parametrize("lose", [remove, empty, drop_collection, keep_nothing_but_the_lock])
@pytest.mark.parametrize("marked", ["by the first write", "when it was opened again"])
def test_a_folder_whose_texts_are_gone_is_refused_and_can_be_put_back(
    tmp_path: Path, lose: Callable[[Path], None], marked: str
) -> None:
    place, backup = tmp_path / "memory", tmp_path / "backup"
    write(place)
    if marked == "when it was opened again":  # as by a version that left no mark
        mark_of(place / DATABASE).unlink()
        open_store(place).close()
    shutil.copytree(place, backup)
    lose(place / DATABASE)
    before = sorted(place.iterdir())
    for read_only in (False, True, False):
        with pytest.raises(StoreError, match=r"held a memory, and .* put it back from a backup"):
            open_store(place, read_only=read_only)
    assert sorted(place.iterdir()) == before
    shutil.rmtree(place)
    shutil.copytree(backup, place)
    write(place, "more")
    with open_store(place) as store:
        assert {item.key for item in store.search(("a",))} == {"k", "more"}


def test_a_folder_without_its_database_is_refused_for_its_index_alone(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.batch([PutOp(("a",), str(n), {"text": f"tea {n}"}) for n in range(1_010)])
    mark_of(tmp_path / DATABASE).unlink()
    remove(tmp_path / DATABASE)
    with pytest.raises(StoreError, match="held a memory"):
        open_store(tmp_path)


def test_an_emptied_folder_begins_anew_and_an_empty_memory_is_no_loss(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    write(place)
    with open_store(place) as store:
        store.purge(())
    compact(place)
    with open_store(place) as store:
        assert store.search(("a",)) == []
    shutil.rmtree(place)
    open_store(place).close()
    empty_one = tmp_path / "empty"
    open_store(empty_one).close()
    remove(empty_one / DATABASE)
    open_store(empty_one).close()


def open_and_write(pipe: Pipe, place: Path) -> None:
    pipe.send("begun")
    write(place)
    pipe.send("written")
    time.sleep(60)


@pytest.mark.parametrize("number", range(KILLS))
def test_a_first_opening_that_is_killed_at_any_moment_is_opened_again(
    tmp_path: Path, number: int
) -> None:
    child = Child(open_and_write, tmp_path / "memory")
    assert child.receive() == "begun"
    time.sleep(0.012 * number)
    acknowledged = "written" in child.kill()
    child.clean_up()
    with open_store(tmp_path / "memory") as store:
        found = store.search(("a",))
        assert found or not acknowledged
    write(tmp_path / "memory")
