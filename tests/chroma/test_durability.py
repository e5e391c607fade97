"""What fails leaves no trace: with a Chroma that really fails. (Kills are in `tests/faults`.)"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import StoreError
from tests.chroma import children
from tests.chroma.support import DELETIONS, EMBED, Child, Do, chroma_refuses, keys, open_store

Start = Callable[..., Child]


def everything(store: ChromaStore) -> dict[tuple[tuple[str, ...], str], dict[str, Any]]:
    """Return all items by searching, after checking that reading by key says the same."""
    found = {(item.namespace, item.key): item.value for item in store.search((), limit=10_000)}
    read = store.batch([GetOp(*place) for place in found])
    assert [item and item.value for item in read] == list(found.values())
    assert store.list_namespaces(limit=10_000) == sorted({namespace for namespace, _ in found})
    return found


# -- what is left of what was replaced ------------------------------------------------------------


def test_a_tombstone_that_a_killed_process_left_is_removed_at_the_next_opening(
    tmp_path: Path, child: Start
) -> None:
    with open_store(tmp_path) as store:
        store.batch([PutOp(("a",), key, {"text": "moka"}) for key in "kl"])
    assert len(child(children.leave_a_tombstone, str(tmp_path), "k").receive()) == 1
    assert child(children.count_states, str(tmp_path)).receive() == {
        "namespace": 1,
        None: 1,
        "tombstone": 1,
    }
    with open_store(tmp_path) as store:
        assert keys(store.search(("a",))) == ["l"]
        assert store.get(("a",), "k") is None
        store.put(("a",), "k", {"text": "moka"})
        assert sorted(keys(store.search(("a",), query="moka"))) == ["k", "l"]
    assert child(children.count_states, str(tmp_path)).receive() == {"namespace": 1, None: 2}


def test_nothing_that_was_deleted_or_replaced_is_left_in_chroma(
    tmp_path: Path, child: Start
) -> None:
    with open_store(tmp_path) as store:
        store.put(("a",), "k", {"t": ["moka", "tea", "cup"]}, index=["t[*]"])
        store.put(("a",), "l", {"t": ["moka", "tea"]}, index=["t[*]"])
        store.put(("b",), "k", {"t": "moka"}, index=False)
        store.put(("a",), "k", {"t": ["moka"]}, index=["t[*]"])
        store.batch([PutOp(("b",), "k", None), PutOp(("c",), "k", {"t": "moka"})])
        store.delete(("a",), "l")
    assert child(children.count_states, str(tmp_path)).receive() == {None: 2, "namespace": 2}


# -- a Chroma that fails --------------------------------------------------------------------------


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[ChromaStore]:
    with open_store(tmp_path) as store:
        store.batch(
            [
                PutOp(("a",), "k", {"t": ["moka", "tea"]}, ["t[*]"]),
                PutOp(("a",), "l", {"t": ["cup"]}, ["t[*]"]),
                PutOp(("b",), "k", {"t": ["bike"]}, ["t[*]"]),
            ]
        )
        yield store


BATCH = [
    PutOp(("a",), "k", {"t": ["new"]}, ["t[*]"]),
    PutOp(("a",), "l", None),
    PutOp(("b",), "k", None),
    PutOp(("c",), "k", {"t": ["new"]}, ["t[*]"]),
]
BEFORE = {
    (("a",), "k"): {"t": ["moka", "tea"]},
    (("a",), "l"): {"t": ["cup"]},
    (("b",), "k"): {"t": ["bike"]},
}
AFTER = {(("a",), "k"): {"t": ["new"]}, (("c",), "k"): {"t": ["new"]}}


@pytest.mark.parametrize("cached", [False, True])
async def test_a_batch_that_fails_changes_nothing_and_the_next_one_works(
    tmp_path: Path, opened: ChromaStore, do: Do, cached: bool
) -> None:
    if cached:
        opened.search(())
    with chroma_refuses(tmp_path):
        with pytest.raises(StoreError, match=r"Chroma failed while writing: .*no space") as caught:
            await do(opened, "batch", BATCH)
        assert caught.value.__cause__ is not None
        assert everything(opened) == BEFORE
    assert everything(opened) == BEFORE
    assert opened.search((), query="tea")[0].score == pytest.approx(1, abs=1e-5)
    await do(opened, "batch", BATCH)
    assert everything(opened) == AFTER
    opened.close()
    with open_store(tmp_path) as again:
        assert everything(again) == AFTER


@pytest.mark.parametrize("cached", [False, True])
def test_a_failed_write_leaves_nothing_for_the_next_opening(
    tmp_path: Path, opened: ChromaStore, cached: bool
) -> None:
    if cached:
        opened.search(())
    with chroma_refuses(tmp_path), pytest.raises(StoreError):
        opened.batch(BATCH)
    opened.close()
    with open_store(tmp_path) as again:
        assert everything(again) == BEFORE


@pytest.mark.parametrize("cached", [False, True])
def test_a_batch_whose_tombstones_cannot_be_removed_has_landed(
    tmp_path: Path,
    child: Start,
    opened: ChromaStore,
    caplog: pytest.LogCaptureFixture,
    cached: bool,
) -> None:
    if cached:
        opened.search(())
    with chroma_refuses(tmp_path, DELETIONS), caplog.at_level(logging.WARNING):
        opened.batch(BATCH)
        assert "tombstones could not be removed yet" in caplog.text
        assert everything(opened) == AFTER
    assert opened.search((), query="tea", filter={"t": ["moka", "tea"]}) == []
    opened.put(("b",), "k", {"t": ["again"]}, ["t[*]"])
    after = {**AFTER, (("b",), "k"): {"t": ["again"]}}
    assert everything(opened) == after
    opened.close()
    with open_store(tmp_path) as again:
        assert everything(again) == after
    states = child(children.count_states, str(tmp_path)).receive()
    assert states == {None: 3, "namespace": 3}


@pytest.mark.parametrize("cached", [False, True])
def test_a_deletion_that_fails_says_so_and_deletes_nothing(
    tmp_path: Path, opened: ChromaStore, cached: bool
) -> None:
    if cached:
        opened.search(())
    with chroma_refuses(tmp_path, DELETIONS), pytest.raises(StoreError, match="no space"):
        opened.batch([PutOp(("a",), "k", None), PutOp(("a",), "l", None)])
    assert everything(opened) == BEFORE
    opened.delete(("a",), "l")
    assert (("a",), "l") not in everything(opened)


def test_the_first_write_of_all_can_fail_and_be_repeated(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        with chroma_refuses(tmp_path), pytest.raises(StoreError):
            store.put(("a",), "k", {"n": 1})
        assert everything(store) == {}
        store.put(("a",), "k", {"n": 1})
        assert everything(store) == {(("a",), "k"): {"n": 1}}


def test_a_batch_that_is_too_large_leaves_the_store_usable(
    tmp_path: Path, opened: ChromaStore
) -> None:
    too_many = [PutOp(("a",), str(i), {"n": i}, index=False) for i in range(5_461)]
    with pytest.raises(StoreError, match=r"5,46\d rows; Chroma takes 5,461 at once: split it"):
        opened.batch([*too_many, PutOp(("a",), "k", None)])
    assert everything(opened) == BEFORE
    opened.close()
    with open_store(tmp_path) as again:
        assert everything(again) == BEFORE


@contextmanager
def chroma_cannot_read(directory: Path) -> Iterator[None]:
    file = directory / "chroma.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE embedding_metadata RENAME TO away")
        try:
            yield
        finally:
            connection.execute("ALTER TABLE away RENAME TO embedding_metadata")


async def test_a_read_that_fails_is_a_store_error_and_finds_all_later(
    tmp_path: Path, opened: ChromaStore, do: Do
) -> None:
    with chroma_cannot_read(tmp_path):
        for name, arguments in (("get", (("a",), "k")), ("search", ((),)), ("list_namespaces", ())):
            with pytest.raises(StoreError, match="Chroma failed while reading"):
                await do(opened, name, *arguments)
    assert everything(opened) == BEFORE


async def test_what_is_in_memory_is_read_without_chroma(
    tmp_path: Path, opened: ChromaStore, do: Do
) -> None:
    opened.search(())
    with chroma_cannot_read(tmp_path):
        assert (await do(opened, "get", ("a",), "k")).value == {"t": ["moka", "tea"]}
        assert len(await do(opened, "search", (), query="tea")) == 3


# -- what is written by one call ------------------------------------------------------------------


def test_more_rows_than_one_page_are_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph_memory.chroma.calls.PAGE", 7)
    with open_store(tmp_path) as store:
        for part in range(3):
            names = [f"{part}-{i}" for i in range(20)]
            store.batch([PutOp(("a", name), name, {"n": name}) for name in names])
            store.batch([PutOp(("b",), name, {"n": name}) for name in names])
    with open_store(tmp_path) as store:
        assert len(everything(store)) == 120
        assert len(store.search(("b",), query="0", limit=100)) == 60
        assert len(store.list_namespaces(limit=100)) == 61
        store.batch([PutOp(("b",), f"1-{i}", None) for i in range(20)])
        assert len(store.search(("b",), limit=100)) == 40


def test_a_deleted_item_of_an_older_opening_takes_all_of_its_rows_along(tmp_path: Path) -> None:
    for _ in range(2):
        with open_store(tmp_path) as store:
            store.put(("a",), "k", {"t": ["moka", "tea", "cup"]}, index=["t[*]"])
        with open_store(tmp_path, embed=EMBED) as store:
            store.delete(("a",), "k")
            assert everything(store) == {}
            assert store.search((), query="tea") == []
