"""Directories that released versions wrote are read by this one.

`fixtures/schema-1.tar.xz` was written by 0.1.0 with Chroma 1.5.9: 1,004 items, an index on disk.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from langgraph_memory import Memory, Note
from langgraph_memory.store.chroma import ChromaStore
from langgraph_memory.testing import HashingEmbeddings

ARCHIVES = sorted((Path(__file__).parent / "fixtures").glob("*.tar.xz"))


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.split(".")[0])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "memory"


def test_everything_that_a_released_version_wrote_is_found(
    released: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with ChromaStore(released, embed=HashingEmbeddings(32)) as store:
            memory = Memory(store)
            (home,) = memory.list(user="c-2291")
            assert isinstance(home, Note)
            assert (home.text, home.slot) == ("Lives in Córdoba", "home city")
            assert memory.recall("摩卡壶", user="用户/1").hits[0].record.text == "喜欢摩卡壶"
            many = store.search(("app", "many"), limit=2_000)
            assert {item.key for item in many} == {f"k{i}" for i in range(1, 1_000)}
            assert store.search(("app", "two"), query="blue cup")[0].score == pytest.approx(1)
            deep = store.get(("app", "none"), "k")
            assert deep is not None
            assert deep.value == {"n": 1, "deep": {"list": [1, 2.5, None, True]}}
            assert ("app", "many") in store.list_namespaces()
    assert not caplog.records
    assert not (released / "quarantine").exists()
