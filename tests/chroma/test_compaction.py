"""A collection is written anew, beside the old one, when most of its index is deleted elements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from langgraph.store.base import PutOp

from langgraph_memory.chroma.calls import COLLECTION
from langgraph_memory.chroma.repair.maintenance import compact
from langgraph_memory.chroma.repair.repair import compaction_due
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import StoreError
from tests.chroma import damaged
from tests.chroma.damaged import (
    ITEMS,
    Contents,
    Start,
    contents,
    hashing,
    index_directories,
    index_directory,
    open_filled,
)
from tests.chroma.support import chroma_refuses

MANY = 250


def texts_of(round: int) -> list[str]:
    return [f"round {round} note {i} of {i * i}" for i in range(MANY)]


def churn(store: ChromaStore, round: int) -> None:
    """Delete everything but one, and write as much anew under the same keys.

    Chroma discards an index by itself if really everything was deleted when it was written.
    """
    store.put(("b",), "kept", {"n": 1}, index=False)
    store.batch([PutOp(("a",), f"k{i}", None) for i in range(MANY)])
    store.batch(
        [PutOp(("a",), f"k{i}", {"t": text}, ["t"]) for i, text in enumerate(texts_of(round))]
    )


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


@pytest.mark.slow
def test_after_ten_rounds_of_deleting_everything_search_is_exact_and_the_space_is_given_back(
    tmp_path: Path, child: Start
) -> None:
    with open_filled(tmp_path / "churned") as store:
        for round in range(10):
            churn(store, round)
            vectors = np.array(hashing(texts_of(round)))
            for i in range(0, MANY, 50):
                nearest = np.sort(vectors @ vectors[i])[::-1][:5]
                found = store.search(("a",), query=texts_of(round)[i], limit=5)
                assert [hit.score for hit in found] == pytest.approx(nearest, abs=1e-5)
    before = size_of(tmp_path / "churned")
    with open_filled(tmp_path / "churned") as store:
        assert {item.value["t"] for item in store.search(("a",), limit=MANY)} == set(texts_of(9))
    with open_filled(tmp_path / "fresh") as store:
        churn(store, 9)
    assert size_of(tmp_path / "churned") < 1.5 * size_of(tmp_path / "fresh") < before
    # Chroma's own index, approximate as it is, reaches the rows again.
    reached, rows = child(damaged.plain_search, str(tmp_path / "churned"), texts_of(9)).receive()
    assert rows == MANY + 3
    assert len(reached) > 0.95 * MANY


@pytest.mark.parametrize(
    ("deleted", "live", "due"),
    [(999, 0, False), (1_000, 0, True), (1_000, 999, True), (5_000, 5_000, False)],
)
def test_opening_compacts_when_a_thousand_elements_are_deleted_and_outnumber_the_rows(
    deleted: int, live: int, due: bool
) -> None:
    assert compaction_due(deleted, live) is due


def test_an_index_below_the_rule_is_left_alone(filled: Path, before: Contents) -> None:
    index = index_directory(filled)
    with open_filled(filled) as store:
        store.batch([PutOp(("user", "0"), f"k{i}", None) for i in range(0, ITEMS, 3)])
    contents(filled)
    assert index_directories(filled) == [index]


def test_compact_keeps_everything_and_nothing_of_what_was_deleted(
    filled: Path, before: Contents
) -> None:
    with open_filled(filled) as store:
        store.put(("user", "9"), "secret", {"t": ["xyzzy plugh"]}, ["t[*]"])
        store.delete(("user", "9"), "secret")
    orphan = filled / "0f0e0d0c-0b0a-4000-8000-000000000000"
    orphan.mkdir()
    (orphan / "data_level0.bin").write_bytes(b"left by Chroma when it deleted a collection")
    (filled / "mine").mkdir()
    report = compact(filled)
    assert report.rows == report.vectors == ITEMS + 8
    assert contents(filled) == before
    assert index_directories(filled) == [index_directory(filled)]
    assert (filled / "mine").is_dir()
    files = [file.read_bytes() for file in filled.rglob("*") if file.is_file()]
    assert not any(b"xyzzy" in content for content in files)


def test_compact_embeds_nothing(filled: Path, before: Contents) -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        assert len(texts) <= 1, "only queries and the probe"
        return hashing(texts)

    compact(filled)
    assert contents(filled, embed=embed) == before


def test_a_broken_index_is_not_compacted(filled: Path, before: Contents) -> None:
    (index_directory(filled) / "length.bin").unlink()
    with pytest.raises(StoreError, match=r"length\.bin missing.*doctor"):
        compact(filled)
    assert contents(filled) == before


def test_an_empty_memory_can_be_compacted(tmp_path: Path) -> None:
    open_filled(tmp_path).close()
    assert compact(tmp_path).rows == 0


def test_a_store_that_cannot_be_compacted_opens_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_filled(tmp_path) as store:
        for round in range(7):
            churn(store, round)
    with chroma_refuses(tmp_path), open_filled(tmp_path) as store:
        assert len(store.search(("a",), limit=1_000)) == MANY
        assert "could not be compacted" in caplog.text
    churned = size_of(index_directory(tmp_path))
    with open_filled(tmp_path) as store:
        assert {item.value["t"] for item in store.search(("a",), limit=999)} == set(texts_of(6))
    assert size_of(index_directory(tmp_path)) < churned / 2


# -- killed meanwhile -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["half", "copied", "complete", "deleted", "replaced"])
def test_a_kill_at_any_step_is_made_good_at_the_next_opening(
    filled: Path, before: Contents, child: Start, step: str
) -> None:
    child(damaged.die_while_replacing, str(filled), step).end()
    assert contents(filled) == before
    if step in ("half", "copied"):
        compact(filled)
        assert contents(filled) == before
    assert damaged.collections(filled) == [COLLECTION]
    assert not list(filled.glob("quarantine"))


def test_what_was_written_after_an_interrupted_copy_is_in_the_next_one(
    filled: Path, child: Start
) -> None:
    child(damaged.die_while_replacing, str(filled), "copied").end()
    with open_filled(filled) as store:
        store.put(("user", "0"), "k0", {"t": ["now about tea"]}, ["t[*]"])
        store.delete(("user", "1"), "k1")
        store.put(("user", "7"), "new", {"n": 1}, index=False)
    expected = contents(filled)
    compact(filled)
    assert contents(filled) == expected
