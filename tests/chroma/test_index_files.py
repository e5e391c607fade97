"""The check of index files sees damage without loading them, and sees none where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from langgraph_memory.chroma.calls import COLLECTION
from langgraph_memory.chroma.index_files import (
    FILES,
    PICKLE,
    file_state,
    find_damage,
    rows_and_vectors,
)
from langgraph_memory.chroma.repair.repair import stored
from langgraph_memory.chroma.tables import StoredCollection
from tests.chroma.damaged import ITEMS, index_directory, open_filled

Directory = tuple[Path, StoredCollection]


@pytest.fixture(scope="module")
def directory(
    _filled_once: tuple[Path, object], tmp_path_factory: pytest.TempPathFactory
) -> Directory:
    path = tmp_path_factory.mktemp("checked") / "memory"
    shutil.copytree(_filled_once[0], path)
    collection = stored(path, COLLECTION)
    assert collection is not None
    return path, collection


@pytest.fixture(autouse=True)
def _whole_afterwards(directory: Directory) -> Iterator[None]:
    yield
    assert find_damage(*directory) is None


@settings(deadline=None)
@given(name=st.sampled_from(FILES), share=st.floats(0, 1, exclude_max=True))
def test_a_file_that_is_cut_anywhere_is_seen(directory: Directory, name: str, share: float) -> None:
    file = index_directory(directory[0]) / name
    content = file.read_bytes()
    try:
        file.write_bytes(content[: int(len(content) * share)])
        assert find_damage(*directory)
    finally:
        file.write_bytes(content)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_or_longer_is_seen(directory: Directory, name: str) -> None:
    file = index_directory(directory[0]) / name
    content = file.read_bytes()
    file.unlink()
    assert find_damage(*directory)
    file.write_bytes(content + b"\0")
    assert find_damage(*directory)
    file.write_bytes(content)


def test_a_layout_of_another_version_of_chroma_is_not_taken_for_damage(
    directory: Directory,
) -> None:
    """Nothing can be said of it without trying it out."""
    file = index_directory(directory[0]) / PICKLE
    content = file.read_bytes()
    try:
        file.write_bytes(content.replace(b"id_to_label", b"id_to_place"))
        assert find_damage(*directory) is None
        file.write_bytes(content.replace(b"id_to_label", b"id_to_place")[:-1])
        assert find_damage(*directory)
    finally:
        file.write_bytes(content)


def test_files_of_different_moments_are_seen(directory: Directory, tmp_path: Path) -> None:
    """Chroma writes one after the other: a kill leaves some of before and some of after."""
    later = Path(shutil.copytree(directory[0], tmp_path / "later"))
    with open_filled(later) as store:
        store.batch([PutOp(("later",), f"k{i}", {"t": f"tea {i}"}) for i in range(1_000)])
    collection = stored(later, COLLECTION)
    assert collection is not None
    assert find_damage(later, collection) is None
    for name in FILES:
        new = (index_directory(later) / name).read_bytes()
        shutil.copy(index_directory(directory[0]) / name, index_directory(later) / name)
        assert find_damage(later, collection), name
        (index_directory(later) / name).write_bytes(new)


def test_rows_of_a_lost_index_are_counted(directory: Directory, tmp_path: Path) -> None:
    lost = Path(shutil.copytree(directory[0], tmp_path / "lost"))
    shutil.rmtree(index_directory(lost))
    rows, vectors = rows_and_vectors(lost, directory[1])
    assert (rows, vectors) == (ITEMS + 8, 0)
    assert find_damage(lost, directory[1]) == f"{rows:,} rows have no vector"


def test_as_long_as_all_vectors_are_in_the_queue_the_files_do_not_matter(tmp_path: Path) -> None:
    with open_filled(tmp_path) as store:
        store.put(("a",), "k", {"t": "tea"}, ["t"])
    shutil.rmtree(index_directory(tmp_path))
    collection = stored(tmp_path, COLLECTION)
    assert collection is not None
    assert find_damage(tmp_path, collection) is None
    assert file_state(tmp_path, collection) == []
    with open_filled(tmp_path) as store:
        assert store.search(("a",), query="tea")[0].score == pytest.approx(1)
