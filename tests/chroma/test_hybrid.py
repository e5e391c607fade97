"""The two operations beside LangGraph's: searching by meaning and words at once, and the newest."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, ClassVar

import numpy as np
import pytest
from langgraph.store.base import PutOp

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.models.embedder import Vectors
from langgraph_memory.store.operations import (
    Best,
    Flags,
    HybridOp,
    Match,
    NewestOp,
    Scores,
    Searched,
    StoredItem,
)
from langgraph_memory.testing import ManualClock
from langgraph_memory.text.bm25 import K1, PRIOR_RECORDS, B, LexicalIndex, query_tokens, tokens
from tests.chroma.support import EMBED, Do, Sum, cosine, keys

TEXTS = {
    ("a", "k"): "a moka pot for two",
    ("a", "l"): "green tea, green cups",
    ("a", "m"): "moka moka moka and a long line about a kitchen with a stove and a cup",
    ("b", "k"): "摩卡壶 moka",
    ("b", "l"): "her bike has a flat tyre",
}


@pytest.fixture
def filled(store: ChromaStore) -> ChromaStore:
    store.batch(
        [
            PutOp((name,), key, {"text": text, "long": len(text) > 20}, ["text"])
            for (name, key), text in TEXTS.items()
        ]
    )
    return store


async def hybrid(do: Do, store: ChromaStore, *names: str, query: str, **kwargs: Any) -> list[Match]:
    ranker = kwargs.pop("ranker", None) or Sum(query)
    op = HybridOp(tuple((name,) for name in names), query, ranker, **kwargs)
    (matches,) = await do(store, "batch", [op])
    return list(matches)


def by_hand(names: str, query: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Work out cosine, BM25 and coverage of each text, from the formulas."""
    texts = {place: tokens(text) for place, text in TEXTS.items() if place[0] in names}
    weights = {}
    for term in query_tokens(query):
        having = sum(term in terms for terms in texts.values())
        weights[term] = log(1 + (len(texts) + PRIOR_RECORDS - having + 0.5) / (having + 0.5))
    scores = {}
    for place, terms in texts.items():
        lengths = [len(other) for (name, _), other in texts.items() if name == place[0]]
        norm = K1 * (1 - B + B * len(terms) / (sum(lengths) / len(lengths)))
        counts = {term: terms.count(term) for term in weights}
        bm25 = sum(weights[t] * n * (K1 + 1) / (n + norm) for t, n in counts.items())
        covered = sum(weights[term] for term, n in counts.items() if n)
        scores[place] = cosine(TEXTS[place], query), bm25, covered / sum(weights.values())
    return scores


@pytest.mark.parametrize("query", ["moka cup", "摩卡", "Green GREEN tea", "nothing of this"])
@pytest.mark.parametrize("names", ["a", "b", "ab"])
async def test_cosine_bm25_and_coverage_are_those_of_the_formulas(
    filled: ChromaStore, do: Do, query: str, names: str
) -> None:
    found = await hybrid(do, filled, *names, query=query, limit=100)
    expected = by_hand(names, query)
    parts = {
        (m.item.namespace[0], m.item.key): tuple(
            m.scores[name] for name in ("cosine", "bm25", "coverage")
        )
        for m in found
    }
    assert parts.keys() == expected.keys()
    for place, scores in expected.items():
        assert parts[place] == pytest.approx(scores, abs=1e-5), place
    relevance = [match.scores["relevance"] for match in found]
    assert relevance == pytest.approx([sum(parts[place][:2]) for place in parts], abs=1e-5)
    assert relevance == sorted(relevance, reverse=True)


async def test_only_what_meets_the_filter_is_found(filled: ChromaStore, do: Do) -> None:
    """A ranker sees the rest as well: it may stand beside what is found."""
    filled.delete(("a",), "m")
    seen: list[tuple[int, int]] = []

    class Looking(Sum):
        def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
            seen.extend((int(each.alive.sum()), int(each.chosen.sum())) for each in searched)
            return super().__call__(searched)

    found = await hybrid(
        do, filled, "a", "b", query="moka", ranker=Looking("moka"), filter={"long": False}
    )
    assert sorted(match.item.key for match in found) == ["k", "k"]
    assert seen == [(2, 1), (2, 1)]


async def test_the_highest_scores_are_those_of_all_that_could_be_found(
    filled: ChromaStore, do: Do
) -> None:
    whole = await hybrid(do, filled, "a", "b", query="moka pot", limit=100)
    op = HybridOp((("a",), ("b",)), "moka pot", Sum("moka pot"), limit=1)
    (best,) = await do(filled, "batch", [op])
    for name in ("cosine", "bm25", "coverage", "relevance"):
        assert best.highest(name) == pytest.approx(max(match.scores[name] for match in whole))


class Counted:
    """Columns that say how often they were asked to look at an item."""

    looked: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self._keys: list[str] = []

    def __len__(self) -> int:
        return len(self._keys)

    def append(self, items: Sequence[StoredItem], vectors: Vectors | None) -> None:
        for row, item in enumerate(items):
            assert vectors is not None
            expected = EMBED.embed_query(item.value["text"])
            np.testing.assert_allclose(vectors[row], expected, atol=1e-6)
        self._keys += [item.key for item in items]
        self.looked.extend(item.key for item in items)

    def view(self, alive: Flags, lexical: LexicalIndex) -> list[str]:
        return [key for key, lives in zip(self._keys, alive, strict=False) if lives]


async def test_what_a_ranker_wants_to_know_of_an_item_is_worked_out_once(
    filled: ChromaStore, do: Do
) -> None:
    Counted.looked.clear()
    seen: list[list[Any]] = []

    class Knowing(Sum):
        columns = Counted

        def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
            seen.append([each.columns for each in searched])
            return super().__call__(searched)

    for _ in range(2):
        await hybrid(do, filled, "a", query="moka", ranker=Knowing("moka"))
    filled.put(("a",), "n", {"text": "new"}, ["text"])
    filled.put(("a",), "k", {"text": "another"}, ["text"])
    await hybrid(do, filled, "a", query="moka", ranker=Knowing("moka"))
    assert seen == [[["k", "l", "m"]], [["k", "l", "m"]], [["l", "m", "n", "k"]]]
    assert sorted(Counted.looked) == ["k", "k", "l", "m", "n"]


async def test_a_limit_keeps_the_best(filled: ChromaStore, do: Do) -> None:
    whole = await hybrid(do, filled, "a", "b", query="moka pot", limit=100)
    for limit in range(6):
        found = await hybrid(do, filled, "a", "b", query="moka pot", limit=limit)
        assert [match.item for match in found] == [match.item for match in whole[:limit]]


async def test_further_lists_are_the_best_of_the_same_scores_by_other_names(
    filled: ChromaStore, do: Do
) -> None:
    """Each with a filter and a limit of its own; what is asked for may be they alone."""
    whole = await hybrid(do, filled, "a", "b", query="moka pot", limit=100)
    also = (Best("bm25", 3), Best("cosine", 9, {"long": False}), Best("bm25", 0))
    names = (("a",), ("b",))
    for limit in (0, 2):
        op = HybridOp(names, "moka pot", Sum("moka pot"), {"long": True}, limit, also)
        (found,) = await do(filled, "batch", [op])
        long = [match.item for match in whole if match.item.value["long"]]
        assert [match.item for match in found] == long[:limit]
        by_words, short, none = found.also
        ordered = sorted(whole, key=lambda match: -match.scores["bm25"])
        assert [match.scores["bm25"] for match in by_words] == [
            match.scores["bm25"] for match in ordered[:3]
        ]
        near = [match for match in whole if not match.item.value["long"]]
        near.sort(key=lambda match: -match.scores["cosine"])
        assert [match.item for match in short] == [match.item for match in near]
        assert none == []
    (found,) = await do(filled, "batch", [HybridOp((("none",),), "moka", Sum("moka"), also=also)])
    assert [list(each) for each in (found, *found.also)] == [[], [], [], []]


async def test_a_row_that_a_ranker_puts_below_all_is_in_no_list(
    filled: ChromaStore, do: Do
) -> None:
    class Blind(Sum):
        def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
            scores = super().__call__(searched)
            scores[0]["relevance"][0] = scores[0]["cosine"][1] = -np.inf
            return scores

    op = HybridOp((("a",),), "moka", Blind("moka"), also=(Best("cosine", 9),))
    (found,) = await do(filled, "batch", [op])
    assert sorted(match.item.key for match in found) == ["l", "m"]
    assert sorted(match.item.key for match in found.also[0]) == ["k", "m"]


async def test_a_ranker_is_given_the_vector_of_what_is_asked(filled: ChromaStore, do: Do) -> None:
    given: list[Any] = []

    class Looking(Sum):
        def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
            given.extend(each.query for each in searched)
            return super().__call__(searched)

    await hybrid(do, filled, "a", query="moka", ranker=Looking("moka"))
    await hybrid(do, filled, "a", query="", ranker=Looking(""))
    np.testing.assert_allclose(given[0], EMBED.embed_query("moka"), atol=1e-6)
    assert given[1] is None


async def test_what_is_not_there_is_passed_over(filled: ChromaStore, do: Do) -> None:
    assert await hybrid(do, filled, query="moka") == []
    assert await hybrid(do, filled, "none", query="moka") == []
    found = await hybrid(do, filled, "none", "a", query="moka")
    assert {match.item.namespace for match in found} == {("a",)}
    assert ("none",) not in filled.list_namespaces()


async def test_a_namespace_is_searched_whole_and_alone(store: ChromaStore, do: Do) -> None:
    store.batch([PutOp(namespace, "k", {"t": "moka"}) for namespace in (("a",), ("a", "b"))])
    found = await hybrid(do, store, "a", query="moka")
    assert [match.item.namespace for match in found] == [("a",)]


async def test_a_namespace_may_be_a_list_as_in_other_operations(
    filled: ChromaStore, do: Do
) -> None:
    name: Any = ["a"]
    ops = [HybridOp((name,), "moka", Sum("moka")), NewestOp(name)]
    matches, newest = await do(filled, "batch", ops)
    assert {match.item.key for match in matches} == {"k", "l", "m"} == set(keys(newest))


async def test_an_item_that_is_not_indexed_has_no_likeness(store: ChromaStore, do: Do) -> None:
    store.batch([PutOp(("a",), "k", {"t": "moka"}), PutOp(("a",), "l", {"t": "moka"}, False)])
    found = {match.item.key: match for match in await hybrid(do, store, "a", query="moka")}
    assert found["k"].scores["cosine"] > 0.3
    assert set(found["l"].scores.values()) == {0}


@pytest.mark.parametrize("query", ["", " ", "the of and", "?!"])
async def test_a_query_without_words_has_no_words_in_common(
    filled: ChromaStore, do: Do, query: str
) -> None:
    found = await hybrid(do, filled, "a", query=query)
    assert [(m.scores["bm25"], m.scores["coverage"]) for m in found] == [(0, 0)] * 3


async def test_an_item_of_several_texts_scores_by_its_best(store: ChromaStore, do: Do) -> None:
    store.put(("a",), "k", {"parts": ["green tea", "moka pot"]}, index=["parts[*]"])
    (match,) = await hybrid(do, store, "a", query="moka pot")
    assert match.scores["cosine"] == pytest.approx(1, abs=1e-5)
    assert match.scores["coverage"] == pytest.approx(1)


@pytest.mark.parametrize("times", [2, 40, 75])
def test_an_item_scores_the_same_however_often_it_was_rewritten(times: int) -> None:
    """A note that was said forty times is no less about its words than one said once."""

    def scores(times: int) -> list[list[float]]:
        with ChromaStore.in_memory(embed=EMBED) as store:
            store.put(("a",), "other", {"text": "green tea"}, ["text"])
            store.search(("a",))  # from here on, it is in memory
            for _ in range(times):
                store.put(("a",), "k", {"text": "a moka pot"}, ["text"])
            (found,) = store.batch([HybridOp((("a",),), "moka", Sum("moka"))])
            return [list(match.scores.values()) for match in found]

    np.testing.assert_allclose(scores(times), scores(1), atol=1e-5)


# -- the newest -----------------------------------------------------------------------------------


async def test_the_newest_are_the_last_updated(do: Do) -> None:
    clock = ManualClock()
    with ChromaStore.in_memory(embed=EMBED, clock=clock) as store:
        for i, key in enumerate("klmnk"):
            store.put(("a",), key, {"i": i}, index=False if i % 2 else None)
            clock.advance(seconds=1)
        store.put(("a", "b"), "deeper", {"i": 9})
        results = await do(
            store,
            "batch",
            [
                NewestOp(("a",)),
                NewestOp(("a",), limit=2),
                NewestOp(("a",), {"i": {"$lt": 3}}),
                NewestOp(("a",), limit=0),
                NewestOp(("none",)),
            ],
        )
        assert [keys(found) for found in results] == [
            ["k", "n", "m", "l"],
            ["k", "n"],
            ["m", "l"],
            [],
            [],
        ]


@pytest.mark.parametrize("orders", ["abcde", "edcba", "cabed"])
async def test_the_newest_may_be_ordered_by_a_field(
    store: ChromaStore, do: Do, orders: str
) -> None:
    """As when messages of the past are logged later."""
    for i, time in enumerate(orders):
        store.put(("a",), time, {"at": time, "even": i % 2 == 0})
        await do(store, "batch", [NewestOp(("a",), by="at")])
    store.put(("a",), "c", {"at": "x", "even": True})
    found, two, even = await do(
        store,
        "batch",
        [
            NewestOp(("a",), by="at"),
            NewestOp(("a",), by="at", limit=2),
            NewestOp(("a",), {"even": True}, by="at"),
        ],
    )
    assert keys(found) == list("cedba")
    assert keys(two) == list("ce")
    expected = {time for i, time in enumerate(orders) if i % 2 == 0} | {"c"}
    assert keys(even) == [key for key in "cedba" if key in expected]


@pytest.mark.parametrize(
    "op",
    [
        HybridOp((("with.period",),), "moka", Sum("moka")),
        NewestOp(("with.period",)),
        HybridOp((("a",),), "moka", Sum("moka"), limit=-1),
        NewestOp(("a",), limit=-1),
        HybridOp((("a",),), "moka", Sum("moka"), filter={"n": {"$in": []}}),
        NewestOp(("a",), filter={"n": {"$in": []}}),
    ],
)
async def test_a_bad_operation_is_refused(store: ChromaStore, do: Do, op: Any) -> None:
    with pytest.raises(ValueError, match=r"period|negative|operator"):
        await do(store, "batch", [PutOp(("a",), "k", {"n": 1}), op])
    assert store.list_namespaces() == []
