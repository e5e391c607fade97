from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.testing import HashingEmbeddings

ROOT = Path(__file__).parents[2]
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # also lone surrogates
SAMPLES = ["", "Green tea", "我喜欢绿茶", "صباح الخير", "🙂", "\ud83d", "a\0b", "C++"]


def similarity(a: str, b: str) -> float:
    first, second = HashingEmbeddings().embed_documents([a, b])
    return sum(x * y for x, y in zip(first, second, strict=True))


@settings(deadline=None)
@given(ANY_TEXT, st.integers(1, 64))
def test_every_vector_has_unit_length_and_the_asked_dimensions(text: str, dims: int):
    vector = HashingEmbeddings(dims).embed_query(text)
    assert len(vector) == dims
    assert math.hypot(*vector) == pytest.approx(1)


@settings(deadline=None)
@given(st.lists(ANY_TEXT))
def test_a_text_has_the_same_vector_in_any_batch(texts: list[str]):
    embeddings = HashingEmbeddings()
    assert embeddings.embed_documents(texts) == [embeddings.embed_query(text) for text in texts]


def test_another_process_gives_the_same_vectors():
    program = (
        "import json, sys; from langgraph_memory.testing import HashingEmbeddings; "
        "print(json.dumps(HashingEmbeddings().embed_documents(json.loads(sys.argv[1]))))"
    )
    results = [
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(SAMPLES)],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert results[0] == results[1]
    assert json.loads(results[0]) == HashingEmbeddings().embed_documents(SAMPLES)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("Which tea does she like?", "she likes green tea", "the bike has a flat tyre"),
        ("喜欢喝什么茶", "我喜欢绿茶", "明天开会"),
        ("緑茶が好き", "緑茶を飲む", "自転車に乗る"),
        ("녹차를 좋아해요", "녹차가 좋다", "자전거"),
        ("Какой чай?", "зелёный чай", "велосипед"),
    ],
)
def test_texts_that_share_words_are_nearer(query: str, near: str, far: str):
    assert similarity(query, near) > similarity(query, far) + 0.1


def test_case_width_and_punctuation_do_not_matter():
    assert similarity("Straße, TEA!", "strasse ｔｅａ") == pytest.approx(1)


def test_emoji_alone_are_told_apart():
    assert similarity("🙂", "🙂") == pytest.approx(1)
    assert similarity("🙂", "🎉") < 0.5


def test_empty_text_has_a_fixed_vector():
    assert HashingEmbeddings(3).embed_documents(["", " \n"]) == [[1.0, 0.0, 0.0]] * 2


def test_words_that_cancel_each_other_out_still_give_a_unit_vector():
    embeddings = HashingEmbeddings(1)
    words = [str(number) for number in range(100)]
    plus, minus = ([w for w in words if embeddings.embed_query(w) == [sign]] for sign in (1, -1))
    pairs = [f"{first} {second}" for first in plus for second in minus]
    assert set(map(tuple, embeddings.embed_documents(pairs))) <= {(1.0,), (-1.0,)}


async def test_it_is_a_langchain_embedder_sync_and_async():
    embeddings = HashingEmbeddings()
    assert await embeddings.aembed_query("tea") == embeddings.embed_query("tea")
    assert await embeddings.aembed_documents(["tea"]) == embeddings.embed_documents(["tea"])


def test_equal_settings_make_equal_embedders():
    assert HashingEmbeddings(8) == HashingEmbeddings(8) != HashingEmbeddings(9)
    assert repr(HashingEmbeddings(8)) == "HashingEmbeddings(dims=8)"


def test_zero_dimensions_are_refused():
    with pytest.raises(ConfigurationError, match="positive number, got 0"):
        HashingEmbeddings(0)
