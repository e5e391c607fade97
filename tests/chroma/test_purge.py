"""Deleting whole branches of namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import InvalidNamespaceError, PutOp

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import StoreError
from langgraph_memory.testing import ManualClock
from tests.chroma.support import EMBED, Do, chroma_refuses, keys, open_store

ITEMS = [
    (("a",), "1"),
    (("a",), "2"),
    (("a", "b"), "1"),
    (("a", "b", "c"), "1"),
    (("ab",), "1"),
    (("b", "a"), "1"),
]


def fill(store: ChromaStore) -> None:
    store.batch([PutOp(namespace, key, {"text": "moka"}) for namespace, key in ITEMS])


@pytest.mark.parametrize(
    ("prefix", "gone"),
    [(("a",), 4), (("a", "b"), 2), (("ab",), 1), (("c",), 0), ((), 6)],
    ids=["a", "a.b", "ab", "nothing", "all"],
)
@pytest.mark.parametrize("cached", [False, True], ids=["on disk", "in memory"])
async def test_a_purge_deletes_a_namespace_and_those_below_it(
    tmp_path: Path, do: Do, prefix: Any, gone: int, cached: bool
) -> None:
    with open_store(tmp_path) as store:
        fill(store)
    left = [item for item in ITEMS if item[0][: len(prefix)] != prefix]
    with open_store(tmp_path) as store:
        if cached:
            store.search((), query="moka")
        assert await do(store, "purge", prefix) == gone
        for _ in range(2):
            found = await do(store, "search", (), query="moka")
            assert {(item.namespace, item.key) for item in found} == set(left)
            listed = await do(store, "list_namespaces")
            assert listed == sorted({namespace for namespace, _ in left})
        assert await do(store, "purge", prefix) == 0
    with open_store(tmp_path) as store:
        assert {(item.namespace, item.key) for item in store.search(())} == set(left)


async def test_what_was_purged_can_be_put_again(store: ChromaStore, do: Do) -> None:
    fill(store)
    await do(store, "purge", ("a",))
    await do(store, "put", ("a",), "2", {"text": "tea"})
    assert keys(await do(store, "search", ("a",))) == ["2"]
    assert await do(store, "list_namespaces", prefix=("a",)) == [("a",)]


async def test_a_purge_takes_all_rows_of_its_items(tmp_path: Path, do: Do) -> None:
    index = {"embed": EMBED, "fields": ["one", "two"]}
    with open_store(tmp_path, embed=None, index=index) as store:
        store.put(("a",), "k", {"one": "moka", "two": "tea"})
        store.put(("a",), "l", {"one": "moka"}, index=False)
        assert await do(store, "purge", ("a",)) == 2
        assert store._open._rows.count() == 0


async def test_a_purge_that_failed_half_way_can_be_called_again(
    tmp_path: Path, do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph_memory.chroma.planning.PAGE", 4)
    with open_store(tmp_path) as store:
        store.batch([PutOp(("a",), str(n), {"n": n}) for n in range(10)])
        with (
            chroma_refuses(tmp_path, "(SELECT COUNT(*) FROM embeddings_queue) > 17"),
            pytest.raises(StoreError),
        ):
            await do(store, "purge", ("a",))
        left = await do(store, "search", ("a",), limit=20)
        assert 0 < len(left) < 10
        assert await do(store, "list_namespaces") == [("a",)]
        assert await do(store, "purge", ("a",)) == len(left)
        assert await do(store, "list_namespaces") == []


async def test_a_purge_refuses_what_is_no_namespace(store: ChromaStore, do: Do) -> None:
    fill(store)
    with pytest.raises(InvalidNamespaceError):
        await do(store, "purge", ("a.b",))
    assert len(store.search(())) == len(ITEMS)


async def test_what_is_spread_over_more_namespaces_than_chroma_takes_at_once_is_deleted(
    do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    with ChromaStore.in_memory(embed=EMBED, clock=clock) as store:
        # Each item takes the row of its namespace along.
        puts = [PutOp((name, str(n)), "k", {"n": n}, ttl=1) for name in "ab" for n in range(12)]
        store.batch(puts)
        monkeypatch.setattr("langgraph_memory.chroma.planning.PAGE", 7)
        monkeypatch.setattr(store._open._rows, "max_rows", 8)
        assert await do(store, "purge", ("a",)) == 12
        clock.advance(minutes=2)
        assert await do(store, "sweep_ttl") == 12
        assert await do(store, "list_namespaces") == []
