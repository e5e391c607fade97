"""A text held to a number of words, whatever it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_memory.text.length import count_words, shortened

TEXTS = st.text(st.sampled_from("abz .。!?！,\n中文カ한ไ🙂<>"), max_size=200)


@given(TEXTS, st.integers(1, 20))
def test_a_shortened_text_has_at_most_so_many_words_and_is_a_beginning(
    text: str, most: int
) -> None:
    short = shortened(text, most)
    assert count_words(short) <= most
    assert text.strip().startswith(short.removesuffix(" …").strip())
    assert bool(count_words(short)) == bool(count_words(text))


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("我叫小明。我住在北京。我喜欢喝咖啡。", 6, "我叫小明。我住在北京。"),
        ("It costs 3.5 euros a kilo. Ana agreed.", 7, "It costs 3.5 euros a kilo."),
        ("one two three four five", 3, "one two three …"),
        ("x" * 100, 2, "x" * 40 + " …"),
        ("... one two three four", 3, "... one two three …"),
        ("Fine. " + "-" * 100, 2, "Fine."),
        ("- Likes tea\n- Lives in Lima", 3, "- Likes tea"),
    ],
)
def test_a_text_is_cut_at_the_end_of_a_sentence_if_it_can_be(
    text: str, most: int, short: str
) -> None:
    assert shortened(text, most) == short
