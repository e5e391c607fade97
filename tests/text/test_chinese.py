"""Traditional and simplified Chinese find each other, and other languages stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory import ChromaStore, Memory
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.text.bm25 import query_tokens, tokens
from langgraph_memory.text.chinese import simplified, simplified_chinese

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # also lone surrogates
CHINESE = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=12)
PAIRS = [("我對花生過敏", "我对花生过敏"), ("開會時間改到週二", "开会时间改到周二")]


@given(ANY_TEXT | CHINESE)
def test_each_character_stands_for_one_and_nothing_is_left_to_do(text: str) -> None:
    once = simplified(text)
    assert len(once) == len(text)
    assert simplified(once) == once


@pytest.mark.parametrize(
    "text", ["naïve café", "Кофе", "قهوة", "喜欢喝茶，不加糖", "コーヒー", "커피"]
)
def test_what_has_no_traditional_character_stays(text: str) -> None:
    assert simplified(text) is text or simplified(text) == text


@pytest.mark.parametrize("text", ["體育館はどこですか", "日本語を學ぶ", "大學에 다닌다"])
def test_japanese_and_korean_keep_their_characters(text: str) -> None:
    assert simplified_chinese(text) == text


@pytest.mark.parametrize(("traditional", "plain"), PAIRS)
def test_both_scripts_have_the_same_words(traditional: str, plain: str) -> None:
    assert tokens(traditional) == tokens(plain)
    assert query_tokens(traditional) == query_tokens(plain)


@pytest.mark.parametrize(("traditional", "plain"), PAIRS)
def test_the_embedded_default_takes_both_scripts_for_the_same(
    encoder: UniversalSentenceEncoder, traditional: str, plain: str
) -> None:
    assert encoder.embed_query(traditional) == encoder.embed_query(plain)
    assert encoder.embed_documents([traditional]) == encoder.embed_documents([plain])


def test_a_note_is_found_in_either_script_and_keeps_its_own(
    encoder: UniversalSentenceEncoder,
) -> None:
    with Memory(ChromaStore.in_memory(embed=encoder)) as memory:
        for note in ("媽媽的藥放在廚房抽屜裡", "汽车保险六月到期", "喜歡烏龍茶，不加糖"):
            memory.remember(note, user="lin")
        for query, note in (
            ("妈妈的药在哪", "媽媽的藥放在廚房抽屜裡"),
            ("車險何時到期", "汽车保险六月到期"),
        ):
            assert memory.recall(query, user="lin").hits[0].text == note
