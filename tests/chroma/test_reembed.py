"""A directory moves to another embedder, and the old vectors serve until the new are complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from langgraph_memory.chroma.repair.maintenance import compact, reembed
from langgraph_memory.errors import EmbedderMismatchError
from langgraph_memory.models.embedder import PROBE
from tests.chroma import damaged
from tests.chroma.damaged import (
    ITEMS,
    OTHER,
    Contents,
    Start,
    contents,
    index_directories,
    index_directory,
    open_filled,
    other,
)


def test_everything_is_found_with_the_new_embedder_and_the_old_one_is_refused(
    filled: Path, before: Contents
) -> None:
    progress: list[tuple[int, int]] = []
    report = reembed(filled, other, on_progress=lambda *pair: progress.append(pair))
    assert report.rows == report.vectors == ITEMS + 8
    assert progress[-1] == (ITEMS + 8, ITEMS + 8)
    assert "96 dimensions" in report.done[0]
    after = contents(filled, embed=other)
    assert after["items"] == before["items"]
    assert after["hits"][0][:2] == before["hits"][0][:2]
    assert index_directories(filled) == [index_directory(filled)]
    with open_filled(filled) as store, pytest.raises(EmbedderMismatchError):
        store.search(("two",), query="tea")


def test_after_kill_9_the_old_embedder_still_works_and_the_next_call_goes_on(
    filled: Path, before: Contents, child: Start
) -> None:
    process = child(damaged.reembed_slowly, str(filled))
    process.receive()
    process.kill()
    assert contents(filled) == before
    with open_filled(filled) as store:
        store.put(("user", "1"), "k1", {"t": ["green tea"]}, ["t[*]"])
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        embedded.extend(texts)
        return OTHER.embed_documents(list(texts))

    reembed(filled, embed)
    assert "green tea" in embedded
    assert len(embedded) < ITEMS - 400
    after = contents(filled, embed=other)
    assert after["items"].keys() == before["items"].keys()
    assert after["items"][("user", "1"), "k1"][0] == {"t": ["green tea"]}


def test_a_copy_that_was_begun_for_another_embedder_is_not_used(
    filled: Path, before: Contents, child: Start
) -> None:
    process = child(damaged.reembed_slowly, str(filled))
    process.receive()
    process.kill()
    assert compact(filled).vectors == ITEMS + 8
    assert contents(filled) == before


def test_calling_it_again_embeds_nothing(filled: Path) -> None:
    reembed(filled, other)
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        embedded.extend(texts)
        return other(texts)

    assert reembed(filled, embed).done == ()
    assert embedded == [PROBE]


def test_a_broken_index_does_not_matter(filled: Path, before: Contents) -> None:
    (index_directory(filled) / "index_metadata.pickle").write_bytes(b"")
    report = reembed(filled, other)
    assert report.found == ("index_metadata.pickle is cut off",)
    assert contents(filled, embed=other)["items"] == before["items"]


def test_an_empty_memory_takes_a_new_embedder(tmp_path: Path) -> None:
    open_filled(tmp_path).close()
    assert reembed(tmp_path, other).rows == 0
    with open_filled(tmp_path, embed=other) as store:
        store.put(("a",), "k", {"t": "tea"})
