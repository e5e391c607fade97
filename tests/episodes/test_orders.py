"""What is ordered by naming it, and what is told of an amount."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.labelled import read
from langgraph_memory.episodes.tasks import names_order

ORDERED = """
A kilo of Colombia, ground for a moka pot, shipped to Rosario.
Hi Ana, two bags of Kenya and a grinder
The same as last time
I'd like a table for four at eight
I’ll take the blue one.
Un kilo de Colombia molido
Lo de siempre
Zwei Kilo Kenia, gemahlen
Ich hätte gern ein Pfund Butter
Deux paquets de café
两袋肯尼亚，磨成粉
我想订两张去上海的票
您好！还是老样子，跟上次一样。
""".strip().splitlines()
TOLD = """
A kilo of Colombia is 14 euros.
A kilo of Colombia?
Two bags of yours were torn
Three cups a day
We drink a kilo a week
Two kids and a dog.
I'd like to know more
I will take a look at these recipes
My friend said: I'd like a dog
一公斤多少钱？
两杯咖啡是我的极限
我要一直努力
我想一下
Ein Kilo kostet 14 Euro
""".strip().splitlines()


@pytest.mark.parametrize("text", ORDERED)
def test_what_is_wanted_may_be_named_alone(text: str) -> None:
    assert names_order(text)


@pytest.mark.parametrize("text", TOLD)
def test_an_amount_that_is_told_or_asked_about_is_no_order(text: str) -> None:
    assert not names_order(text)


def test_no_question_about_another_subject_is_an_order() -> None:
    assert [q["text"] for q in read("offtopic.jsonl") if names_order(q["text"])] == []


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    names_order(text)


@pytest.mark.parametrize("text", ["1 " * 500_000, "\ud800" * 1_000_000, "a kilo of " * 100_000])
def test_a_long_text_is_read_as_well(text: str) -> None:
    assert isinstance(names_order(text), bool)
