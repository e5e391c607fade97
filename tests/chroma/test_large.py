"""Namespaces too large to be kept in memory give the same answers, and say how they found them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp, SearchOp

from langgraph_memory import Memory
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.store.filters import matches
from langgraph_memory.store.operations import Found, HybridOp, NewestOp
from langgraph_memory.testing import ManualClock
from tests.chroma.support import EMBED, Do, Sum, keys, open_store

WORDS = [f"word{n}" for n in range(60)]
BIG, SMALL = ("shop", "notes"), ("shop", "few")
ROWS, LIMIT = 1_200, 300
INDEX: Any = {"embed": EMBED, "fields": ["text", "more"]}


def texts(seed: int, count: int) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=5)) for _ in range(count)]


QUERIES = texts(1, 20)


def puts() -> list[PutOp]:
    """Items in a namespace that is too large, in 40 that are not, some with a second vector."""
    ops = []
    for n, text in enumerate(texts(0, ROWS)):
        value = {"text": text, "n": n, "rare": n % 100 == 7}
        if n % 10 == 0:
            value["more"] = WORDS[n % 60]
        ops.append(PutOp(BIG, str(n), value, index=False if n % 50 == 1 else None))
        if n < 400:
            ops.append(PutOp(("users", str(n % 40)), str(n), value))
    ops += [PutOp(SMALL, str(n), {"text": text, "n": n}) for n, text in enumerate(texts(2, 20))]
    return ops


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("large")
    with open_store(directory, embed=None, index=INDEX) as store:
        store.batch(puts())
    return directory


@pytest.fixture
def directory(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "copy"))


@pytest.fixture(scope="module")
def exact(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaStore]:
    """What is compared with: everything is kept in memory. Not written to."""
    copy = shutil.copytree(written, tmp_path_factory.mktemp("exact") / "copy")
    with open_store(copy, embed=None, index=INDEX) as store:
        yield store


@pytest.fixture(scope="module")
def large(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaStore]:
    """A store in which some is too large. Not written to."""
    copy = shutil.copytree(written, tmp_path_factory.mktemp("large") / "copy")
    with open_store(copy, embed=None, index=INDEX, partition_limit=LIMIT) as store:
        yield store


@pytest.fixture
def own(directory: Path) -> Iterator[ChromaStore]:
    """The same as `large`, to be written to."""
    with open_store(directory, embed=None, index=INDEX, partition_limit=LIMIT) as store:
        yield store


def rows(items: Any) -> list[tuple[Any, ...]]:
    return [(item.namespace, item.key, item.value, item.created_at) for item in items]


@pytest.mark.parametrize(
    "prefix", [BIG, ("shop",), ("users",), ()], ids=["one", "two", "many", "all"]
)
async def test_the_nearest_are_found_as_by_brute_force(
    exact: ChromaStore, large: ChromaStore, do: Do, prefix: Any
) -> None:
    found = wanted = 0
    for query in QUERIES:
        best = await do(exact, "search", prefix, query=query)
        near = await do(large, "search", prefix, query=query)
        assert best.exact
        assert not near.exact
        assert len(near) == len(best) == 10
        for mine, theirs in zip(near, best, strict=True):
            assert mine.score == pytest.approx(theirs.score, abs=1e-5) or mine.score < theirs.score
        lowest = best[-1].score - 1e-5
        found += sum(item.score >= lowest for item in near)  # of equals, any will do
        wanted += len(best)
    assert found / wanted >= 0.99


async def test_what_can_be_kept_in_memory_is_still_searched_exactly(
    large: ChromaStore, do: Do
) -> None:
    await do(large, "search", BIG, query=QUERIES[0])
    assert (await do(large, "search", SMALL, query=QUERIES[0])).exact
    assert (await do(large, "search", ("users", "7"), query=QUERIES[0])).exact


@pytest.mark.parametrize(
    ("filter", "limit"),
    [({"rare": True}, 10), ({"rare": True}, 100), ({"n": {"$gte": 1_190}}, 5), ({"n": -1}, 10)],
    ids=["few", "all of few", "last", "none"],
)
@pytest.mark.parametrize("prefix", [BIG, ()], ids=["one", "all"])
async def test_more_is_fetched_until_enough_meets_the_filter(
    exact: ChromaStore, large: ChromaStore, do: Do, filter: Any, limit: int, prefix: Any
) -> None:
    wanted = await do(exact, "search", prefix, query=QUERIES[0], filter=filter, limit=limit)
    found = await do(large, "search", prefix, query=QUERIES[0], filter=filter, limit=limit)
    assert [item.score for item in found] == pytest.approx([item.score for item in wanted])
    assert all(matches(item.value, filter) for item in found)


@pytest.mark.parametrize("filter", [None, {"rare": True}], ids=["all", "filtered"])
@pytest.mark.parametrize("prefix", [BIG, ("users",), ()], ids=["one", "many", "all"])
async def test_lists_are_complete_and_in_order(
    exact: ChromaStore, large: ChromaStore, do: Do, filter: Any, prefix: Any
) -> None:
    for offset, limit in ((0, 10), (7, 5), (0, 5_000), (1_650, 100)):
        page = {"filter": filter, "offset": offset, "limit": limit}
        wanted = await do(exact, "search", prefix, **page)
        found = await do(large, "search", prefix, **page)
        assert rows(found) == rows(wanted)
        assert found.exact


async def test_pages_of_a_search_by_meaning_follow_each_other(
    exact: ChromaStore, large: ChromaStore, do: Do
) -> None:
    pages = [await do(large, "search", BIG, query="word3", offset=at) for at in (0, 10, 20)]
    scores = [item.score for page in pages for item in page]
    assert scores == sorted(scores, reverse=True)
    whole = await do(exact, "search", BIG, query="word3", limit=30)
    assert scores == pytest.approx([item.score for item in whole])


async def test_the_newest_are_the_last_ones_written(
    exact: ChromaStore, large: ChromaStore, do: Do
) -> None:
    for op in (
        NewestOp(BIG, limit=7),
        NewestOp(BIG, limit=7, by="n"),
        NewestOp(BIG, {"rare": True}, limit=11),
        NewestOp(BIG, limit=5_000),
    ):
        [wanted] = await do(exact, "batch", [op])
        [found] = await do(large, "batch", [op])
        assert keys(found) == keys(wanted)


async def test_a_hybrid_search_compares_the_words_of_what_is_near(own: ChromaStore, do: Do) -> None:
    query = "word1 word2 8812"
    own.put(BIG, "said", {"text": "word1 word2 order 8812"})
    [found] = await do(own, "batch", [HybridOp((BIG, SMALL), query, Sum(query), limit=3)])
    assert isinstance(found, Found)
    assert not found.exact
    assert found[0].item.key == "said"
    assert found[0].scores["coverage"] == pytest.approx(1)


async def test_an_item_is_read_and_replaced_alone(own: ChromaStore, do: Do) -> None:
    await do(own, "search", BIG)
    before = await do(own, "get", BIG, "5")
    await do(own, "put", BIG, "5", {"text": "word1", "more": "word2", "n": 5})
    after = await do(own, "get", BIG, "5")
    assert after.value["more"] == "word2"
    assert after.created_at == before.created_at
    assert keys(await do(own, "search", BIG, limit=1)) == ["5"]
    assert keys(await do(own, "search", BIG, query="word2", filter={"n": 5})) == ["5"]
    await do(own, "delete", BIG, "5")
    assert await do(own, "get", BIG, "5") is None
    assert await do(own, "search", BIG, filter={"n": 5}) == []
    assert BIG in await do(own, "list_namespaces")


async def test_what_shrinks_is_searched_exactly_again(own: ChromaStore, do: Do) -> None:
    assert not (await do(own, "search", BIG, query="word1")).exact
    await do(own, "batch", [PutOp(BIG, str(n), None) for n in range(ROWS - 100)])
    found = await do(own, "search", BIG, query="word1", limit=200)
    assert found.exact
    assert len(found) == 98  # two have no vector
    await do(own, "batch", [PutOp(BIG, str(n), None) for n in range(ROWS - 100, ROWS)])
    assert BIG not in await do(own, "list_namespaces")


async def test_what_grows_too_large_leaves_the_memory(tmp_path: Path, do: Do) -> None:
    with open_store(tmp_path, partition_limit=50) as store:
        for start in range(0, 120, 20):
            await do(
                store,
                "batch",
                [PutOp(BIG, str(n), {"text": WORDS[n % 60]}) for n in range(start, start + 20)],
            )
            found = await do(store, "search", BIG, limit=200)
            assert len(found) == start + 20
        store.put(BIG, "last", {"text": "word1"})
        assert store._open._cache.get(BIG) is None
        assert keys(await do(store, "search", BIG, limit=1)) == ["last"]


async def test_expired_items_are_left_out(directory: Path, do: Do) -> None:
    clock = ManualClock()
    ttl: Any = {"omit_expired": True}
    options: dict[str, Any] = {"embed": None, "index": INDEX, "ttl": ttl, "clock": clock}
    with open_store(directory, partition_limit=LIMIT, **options) as store:
        store.put(BIG, "short", {"text": QUERIES[0], "n": 1}, ttl=1)
        assert keys(await do(store, "search", BIG, query=QUERIES[0], limit=1)) == ["short"]
        assert keys(await do(store, "search", BIG, limit=1)) == ["short"]
        clock.advance(minutes=2)
        for query in (QUERIES[0], None):
            found = await do(store, "search", BIG, query=query, limit=10)
            assert "short" not in keys(found)
            assert len(found) == 10
        assert BIG in await do(store, "list_namespaces")
        assert await do(store, "sweep_ttl") == 1


async def test_a_purge_deletes_all_of_it(own: ChromaStore, do: Do) -> None:
    await do(own, "search", BIG)
    assert await do(own, "purge", BIG) == ROWS
    assert await do(own, "search", BIG) == []
    assert BIG not in await do(own, "list_namespaces")


async def test_a_memory_recalls_from_what_is_too_large(tmp_path: Path, do: Do) -> None:
    clock = ManualClock()
    store = open_store(tmp_path, partition_limit=50, clock=clock)
    with Memory(store, clock=clock) as memory:
        for session in range(15):
            said = [("user", text) for text in texts(session, 10)]
            if session == 4:
                said[0] = ("user", "Grind it for my moka pot at Rathausplatz 7")
            await do(memory, "log_turn", said, user="ada", thread_id=f"s{session}")
            clock.advance(hours=1)
        recalled = await do(
            memory, "recall", "Which grind for the moka pot at Rathausplatz?", user="ada"
        )
        assert recalled.exact  # so few, after all, that they were gone through
        assert recalled.hits[0].text == "Grind it for my moka pot at Rathausplatz 7"
        assert [message.thread_id for message in recalled.recent] == ["s14"] * 6
        assert (await do(memory, "count", user="ada"))["message"] == 150
        listed = await do(memory, "list", user="ada", types=("message",), limit=500)
        assert len(listed) == 150
        await do(memory, "forget", user="ada", everything=True)
        assert (await do(memory, "count", user="ada")).get("message", 0) == 0


async def test_an_item_with_an_empty_key_is_found(own: ChromaStore, do: Do) -> None:
    text = "a text of its own"
    own.put(BIG, "", {"text": text})
    assert keys(await do(own, "search", BIG, query=text, limit=1)) == [""]


async def test_what_is_emptied_can_be_searched_beside_another(tmp_path: Path, do: Do) -> None:
    with open_store(tmp_path, partition_limit=10) as store:
        store.batch([PutOp(("many", str(n)), "k", {"n": n}) for n in range(40)])
        assert len(store.search(("many",), limit=50)) == 40
        await do(store, "purge", ("many",))
        store.put(("few",), "k", {"n": 1})
        found = await do(store, "batch", [SearchOp(("many",)), SearchOp(("few",))])
        assert [keys(items) for items in found] == [[], ["k"]]


def test_a_list_is_complete_while_others_delete(
    own: ChromaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph_memory.chroma.calls.PAGE", 100)
    stays = {str(n) for n in range(20, ROWS)}
    rows = own._open._rows
    get = rows.get
    gone = iter(range(20))

    def get_and_delete(**arguments: Any) -> Any:
        page = get(**arguments)
        if (number := next(gone, None)) is not None:
            monkeypatch.setattr(rows, "get", get)
            own.delete(BIG, str(number))
            monkeypatch.setattr(rows, "get", get_and_delete)
        return page

    own.search(BIG, limit=1)  # now it is known to be large
    monkeypatch.setattr(rows, "get", get_and_delete)
    found = keys(own.search(BIG, limit=2 * ROWS))
    assert stays <= set(found)
    assert len(found) == len(set(found))
