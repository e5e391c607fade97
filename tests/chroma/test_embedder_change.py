"""A directory remembers by which embedder its vectors were made: others are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings

from langgraph_memory import UniversalSentenceEncoder
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import ConfigurationError, EmbedderMismatchError
from langgraph_memory.testing import HashingEmbeddings
from tests.chroma.support import Do, keys

HASHING = HashingEmbeddings(32)


def one_function(texts: Sequence[str]) -> list[list[float]]:
    return HASHING.embed_documents(list(texts))


def another_function(texts: Sequence[str]) -> list[list[float]]:
    return [vector[::-1] for vector in HASHING.embed_documents(list(texts))]


def longer_function(texts: Sequence[str]) -> list[list[float]]:
    return HashingEmbeddings(48).embed_documents(list(texts))


async def async_function(texts: Sequence[str]) -> list[list[float]]:
    return one_function(texts)


class Named(Embeddings):
    """Embeddings with the name of a model, as those of providers have."""

    def __init__(self, model: str, dims: int = 32) -> None:
        self.model = model
        self._inner = HashingEmbeddings(dims)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._inner.embed_query(text)


def fill(path: Path, **options: Any) -> None:
    with ChromaStore(path, **options) as store:
        store.put(("a",), "k", {"text": "moka"}, index=["text"])


def use(path: Path, **options: Any) -> None:
    """Open a directory and search in it: at the latest now it shows that vectors differ."""
    with ChromaStore(path, **options) as store:
        store.search(("a",), query="moka")


CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    (
        "another class",
        {"embed": HASHING},
        {"embed": UniversalSentenceEncoder()},
        "'HashingEmbeddings' (32 dimensions",
        "'use-multilingual-v3' (512 dimensions",
    ),
    (
        "no embedder named",
        {"embed": HASHING},
        {},
        "'HashingEmbeddings' (32 dimensions",
        "'use-multilingual-v3' (512 dimensions",
    ),
    (
        "another model",
        {"embed": Named("small")},
        {"embed": Named("large")},
        "'Named:small' (32 dimensions",
        "'Named:large'",
    ),
    (
        "other dimensions",
        {"embed": HASHING},
        {"embed": HashingEmbeddings(48)},
        "'HashingEmbeddings' (32 dimensions",
        "'HashingEmbeddings' (48 dimensions",
    ),
    (
        "other dimensions in index=",
        {"embed": Named("small")},
        {"index": {"dims": 48, "embed": Named("small")}},
        "'Named:small' (32 dimensions",
        "'Named:small' (48 dimensions",
    ),
    (
        "a function of other dimensions",
        {"embed": one_function},
        {"embed": longer_function},
        "'function' (32 dimensions",
        "'function' (48 dimensions",
    ),
    (
        "a function instead of a class",
        {"embed": HASHING},
        {"embed": one_function},
        "'HashingEmbeddings' (32 dimensions",
        "'function'",
    ),
]


@pytest.mark.parametrize(
    ("first", "then", "written", "opened"),
    [change[1:] for change in CHANGES],
    ids=[change[0] for change in CHANGES],
)
def test_another_embedder_is_refused_by_name_and_the_right_one_goes_on(
    tmp_path: Path, first: dict[str, Any], then: dict[str, Any], written: str, opened: str
) -> None:
    fill(tmp_path, **first)
    with pytest.raises(EmbedderMismatchError) as caught:
        use(tmp_path, **then)
    message = str(caught.value)
    assert f"written with the embedder {written}" in message
    assert f"opened with {opened}" in message
    assert "Open it with the embedder it was written with (embed=...)" in message
    assert "langgraph_memory.reembed" in message
    with ChromaStore(tmp_path, **first) as store:
        assert store.search(("a",), query="moka")[0].score == pytest.approx(1, abs=1e-5)
        store.put(("a",), "l", {"text": "tea"})
        assert sorted(keys(store.search(("a",), query="tea"))) == ["k", "l"]


async def test_two_plain_functions_are_told_apart(tmp_path: Path, do: Do) -> None:
    """They have no names: what tells them apart is what they make of a fixed text."""
    fill(tmp_path, embed=one_function)
    with ChromaStore(tmp_path, embed=another_function) as store:
        for name, arguments in (
            ("search", {"query": "moka"}),
            ("put", {"key": "l", "value": {"text": "tea"}}),
        ):
            with pytest.raises(EmbedderMismatchError, match="function"):
                await do(store, name, ("a",), **arguments)
    with ChromaStore(tmp_path, embed=one_function) as store:
        assert keys(store.search(("a",))) == ["k"]
        assert keys(store.search(("a",), query="moka")) == ["k"]


def test_a_wrong_embedder_does_not_disturb_a_store_that_is_open(tmp_path: Path) -> None:
    with ChromaStore(tmp_path, embed=HASHING) as store:
        store.put(("a",), "k", {"text": "moka"})
        for _ in range(2):
            with pytest.raises(EmbedderMismatchError):
                ChromaStore(tmp_path, embed=Named("small"))
        with (
            ChromaStore(tmp_path, embed=HashingEmbeddings(48)) as other,
            pytest.raises(EmbedderMismatchError),
        ):
            other.put(("a",), "l", {"text": "tea"})
        assert keys(store.search(("a",), query="tea")) == ["k"]


def test_two_embedders_cannot_both_be_the_first_of_a_directory(tmp_path: Path) -> None:
    with (
        ChromaStore(tmp_path, embed=one_function) as one,
        ChromaStore(tmp_path, embed=another_function) as other,
    ):
        one.put(("a",), "k", {"text": "moka"})
        with pytest.raises(EmbedderMismatchError):
            other.put(("a",), "l", {"text": "tea"})
        assert keys(one.search(())) == ["k"]


def test_the_error_says_in_what_two_functions_differ(tmp_path: Path) -> None:
    """It must not say that 'function' was expected and 'function' was given."""
    fill(tmp_path, embed=one_function)
    with pytest.raises(EmbedderMismatchError) as caught:
        use(tmp_path, embed=another_function)
    pattern = r"written with the embedder (.*?), and was opened with (.*?)\. "
    found = re.search(pattern, str(caught.value))
    assert found is not None
    assert found.group(1) != found.group(2)


async def test_the_same_function_is_accepted_in_another_form(tmp_path: Path) -> None:
    """As a lambda, as a coroutine, or as it is written after a restart."""
    fill(tmp_path, embed=one_function)
    with ChromaStore(tmp_path, embed=lambda texts: one_function(texts)) as store:
        assert keys(store.search(("a",), query="moka")) == ["k"]
    with ChromaStore(tmp_path, embed=async_function) as store:
        assert keys(await store.asearch(("a",), query="moka")) == ["k"]


def test_a_model_may_be_given_by_another_object_of_its_name(tmp_path: Path) -> None:
    fill(tmp_path, embed=Named("small"))
    use(tmp_path, embed=Named("small"))
    use(tmp_path, index={"embed": Named("small"), "dims": 32, "fields": ["text"]})


def test_dimensions_of_the_index_config_that_are_not_true_are_refused() -> None:
    with (
        ChromaStore.in_memory(index={"embed": one_function, "dims": 16}) as store,
        pytest.raises(ConfigurationError, match=r"\[32\] dimensions where 16 are expected"),
    ):
        store.put(("a",), "k", {"text": "moka"})


@pytest.mark.parametrize("model", ["small", ""], ids=["named", "nameless"])
def test_an_embedder_whose_queries_are_of_other_dimensions_is_refused(
    tmp_path: Path, model: str
) -> None:
    class Uneven(Named):
        def embed_query(self, text: str) -> list[float]:
            return super().embed_query(text)[:-1]

    fill(tmp_path, embed=Uneven(model))
    with pytest.raises(ConfigurationError, match=r"31.* dimensions where 32 are expected"):
        use(tmp_path, embed=Uneven(model))


def test_an_embedder_that_fails_writes_nothing_and_may_be_asked_again(tmp_path: Path) -> None:
    down = [True]

    class Down(Exception):
        pass

    def sometimes(texts: Sequence[str]) -> list[list[float]]:
        if down[0]:
            raise Down
        return one_function(texts)

    with ChromaStore(tmp_path, embed=sometimes) as store:
        with pytest.raises(Down):
            store.put(("a",), "k", {"text": "moka"})
        assert store.list_namespaces() == []
        down[0] = False
        store.put(("a",), "k", {"text": "moka"})
        down[0] = True
        with pytest.raises(Down):
            store.put(("a",), "k", {"text": "tea"})
        assert [item.value for item in store.search(("a",))] == [{"text": "moka"}]
        store.delete(("a",), "k")
        assert store.search(("a",)) == []


def test_reading_without_a_query_asks_no_embedder(tmp_path: Path) -> None:
    """So that what is stored can be listed and read where the provider is out of reach."""

    def unreachable(texts: Sequence[str]) -> list[list[float]]:
        raise AssertionError("asked")

    fill(tmp_path, embed=one_function)
    with ChromaStore(tmp_path, embed=unreachable) as store:
        assert keys(store.search(("a",))) == ["k"]
        assert store.get(("a",), "k") is not None
        assert store.list_namespaces() == [("a",)]


@pytest.mark.parametrize("embed", [one_function, HASHING, "openai:text-embedding-3-small"])
def test_embed_together_with_index_is_refused(tmp_path: Path, embed: Any) -> None:
    index: Any = {"dims": 32, "embed": embed}
    with pytest.raises(ConfigurationError, match=r"embed= or index=.*not both"):
        ChromaStore(tmp_path, embed=embed, index=index)
    with pytest.raises(ConfigurationError, match=r"embed= or index=.*not both"):
        ChromaStore.in_memory(embed=embed, index=index)
    assert list(tmp_path.iterdir()) == []
