"""Which texts of a value are found by meaning, and that nothing of an older version is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langgraph_memory import UniversalSentenceEncoder
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import ConfigurationError
from tests.chroma.support import EMBED, Do, cosine, keys, open_store


@pytest.fixture(params=["uncached", "cached", "reopened"])
def state(request: pytest.FixtureRequest) -> str:
    """What a store knows of a namespace when it is searched."""
    return str(request.param)


def nearness(store: ChromaStore, query: str, prefix: tuple[str, ...] = ("a",)) -> dict[str, float]:
    """Return the score of everything that a query finds."""
    found = store.search(prefix, query=query, limit=1_000)
    assert len({(item.namespace, item.key) for item in found}) == len(found)
    return {item.key: item.score or 0.0 for item in found}


OLD, NEW = "green tea leaves", "moka pot"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (["text"], False),
        (["text"], ["other"]),
        (["text", "more"], ["text"]),
        (["text", "more", "list[*]"], False),
        (["list[*]"], ["list[0]"]),
        (None, ["text"]),
        (None, False),
        (False, ["text"]),
        (False, None),
        (False, False),
    ],
)
def test_nothing_of_an_older_version_is_found(
    tmp_path: Path, state: str, first: Any, then: Any
) -> None:
    old = {"text": OLD, "more": OLD, "other": OLD, "list": [OLD, OLD, OLD]}
    new = {"text": NEW, "more": NEW, "other": NEW, "list": [NEW]}
    store = open_store(tmp_path)
    store.put(("a",), "k", old, index=first)
    store.put(("a",), "l", {"text": OLD}, index=False)
    if state == "cached":
        store.search(("a",))
    store.put(("a",), "k", new, index=then)
    if state == "reopened":
        store.close()
        store = open_store(tmp_path)
    with store:
        best = NEW if then else None
        if then is None:  # the whole value, as JSON
            best = '{"list": ["moka pot"], "more": "moka pot", "other": "moka pot", "text": "x"}'
            best = best.replace('"x"', '"moka pot"')
        for query in (OLD, NEW):
            expected = {"k": cosine(best, query)} if best else {}
            assert nearness(store, query) == pytest.approx(expected, abs=1e-5)
        assert sorted(keys(store.search(("a",)))) == ["k", "l"]


def test_a_list_that_shrinks_and_grows_again_is_found_by_what_it_holds(
    tmp_path: Path, state: str
) -> None:
    lists = [["moka pot", "green tea", "a bike"], ["green tea"], [], ["cup", "moka pot"]]
    store = open_store(tmp_path)
    for texts in lists:
        store.put(("a",), "k", {"list": texts}, index=["list[*]"])
        if state == "cached":
            store.search(("a",))
        if state == "reopened":
            store.close()
            store = open_store(tmp_path)
        for query in ("moka pot", "green tea", "a bike", "cup"):
            best = max((cosine(text, query) for text in texts), default=None)
            expected = {} if best is None else {"k": best}
            assert nearness(store, query) == pytest.approx(expected, abs=1e-5)
    store.close()


async def test_several_fields_give_one_hit_with_the_score_of_the_best(
    store: ChromaStore, do: Do
) -> None:
    value = {"title": "moka pot", "parts": [{"t": "green tea"}, {"t": "cup"}], "n": 7}
    await do(store, "put", ("a",), "k", value, index=["title", "parts[*].t", "n"])
    await do(store, "put", ("a",), "l", {"title": "tea"}, index=["title", "parts[*].t"])
    for query in ("moka pot", "green tea", "cup", "7"):
        found = await do(store, "search", ("a",), query=query)
        assert sorted(keys(found)) == ["k", "l"]
        assert found[0].key == "k"
        assert found[0].score == pytest.approx(1, abs=1e-5)


def test_deleting_an_item_of_several_fields_deletes_all_of_them(tmp_path: Path, state: str) -> None:
    store = open_store(tmp_path)
    store.put(("a",), "k", {"list": ["moka", "tea", "cup"]}, index=["list[*]"])
    store.put(("a",), "l", {"list": ["bike"]}, index=["list[*]"])
    if state == "cached":
        store.search(("a",))
    store.delete(("a",), "k")
    store.put(("a",), "k", {"list": []}, index=["list[*]"])
    if state == "reopened":
        store.close()
        store = open_store(tmp_path)
    with store:
        for query in ("moka", "tea", "cup"):
            assert list(nearness(store, query)) == ["l"]


def test_what_is_not_indexed_is_there_but_not_found_by_a_query(store: ChromaStore) -> None:
    store.put(("a",), "k", {"text": "moka"}, index=False)
    store.put(("a",), "no such field", {"text": "moka"}, index=["other"])
    store.put(("a",), "blank", {"text": " \n"}, index=["text"])
    store.put(("a",), "none", {"text": None}, index=["text"])
    store.put(("a",), "no fields", {"text": "moka"}, index=[])
    assert nearness(store, "moka") == {}
    assert len(store.search(("a",))) == 5


def test_fields_of_the_index_config_are_what_is_indexed() -> None:
    """So `ChromaStore` takes the place of another store without a change."""
    index = {"dims": 64, "embed": EMBED, "fields": ["title", "author.name"]}
    with ChromaStore.in_memory(index=index) as store:  # type: ignore[arg-type]
        store.put(("a",), "k", {"title": "moka", "author": {"name": "Ana"}, "body": "green tea"})
        store.put(("a",), "l", {"body": "moka"})
        store.put(("a",), "m", {"body": "moka"}, index=["body"])
        assert nearness(store, "Ana")["k"] == pytest.approx(1, abs=1e-5)
        assert nearness(store, "moka") == pytest.approx({"k": 1, "m": 1}, abs=1e-5)
        assert store.index_config["fields"] == ["title", "author.name"]
        assert store.index_config["dims"] == 64


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"embed": EMBED, "field": ["title"]}, r"dims, embed and fields; got \['field'\]"),
        ({"embed": EMBED, "fields": "title"}, r"list of fields, such as \['title'\]"),
        (EMBED, "IndexConfig, a dict"),
    ],
)
def test_an_index_config_that_would_be_misread_is_refused(index: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ChromaStore.in_memory(index=index)


def test_without_an_index_config_the_whole_value_is_indexed(store: ChromaStore) -> None:
    store.put(("a",), "k", {"b": ["moka", {"c": "摩卡"}], "a": 1})
    text = '{"a": 1, "b": ["moka", {"c": "摩卡"}]}'
    assert nearness(store, text)["k"] == pytest.approx(1, abs=1e-5)


def test_each_item_of_a_batch_gets_its_own_vectors(store: ChromaStore) -> None:
    texts = {str(i): [f"word{i}-{j}" for j in range(i % 4)] for i in range(20)}
    store.batch(
        [
            *(PutOp(("a", key[-1]), key, {"t": found}, ["t[*]"]) for key, found in texts.items()),
            PutOp(("a", "1"), "gone", None),
        ]
    )
    for key, found in texts.items():
        for text in found:
            best = store.search(("a",), query=text)[0]
            assert best.key == key
            assert best.score == pytest.approx(1, abs=1e-5)


def test_the_embedded_default_finds_by_meaning_across_languages(
    encoder: UniversalSentenceEncoder,
) -> None:
    with ChromaStore.in_memory(embed=encoder) as store:
        texts = ["My sister lives in Berlin", "我对花生过敏", "The invoice is paid on Fridays"]
        for text in texts:
            store.put(("a",), text, {"text": text}, index=["text"])
        assert store.search(("a",), query="我姐姐住在哪里？")[0].key == texts[0]
        assert store.search(("a",), query="Is she allergic to peanuts?")[0].key == texts[1]
        assert store.search(("a",), query="¿Cuándo se paga la factura?")[0].key == texts[2]
