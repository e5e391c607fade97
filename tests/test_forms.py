"""What a message is: a statement, a question, a request or small talk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from langgraph_memory import UniversalSentenceEncoder
from langgraph_memory.embedding import Embedder
from langgraph_memory.form_words import MARKS, is_pasted, marks
from langgraph_memory.forms import FORMS, MAX_SALIENCE, Forms, asks_to_do, forms

USE = UniversalSentenceEncoder.model

FACTS = """
I'm allergic to cashews and my son can't have milk.
My sister Ines works as a vet in Porto.
我对猫毛过敏，家里养不了猫
我在南京的一所中学教物理
Trabajo de enfermera y vivo en Valencia con mis dos hijos.
Mein Vater ist Diabetiker und wohnt bei uns.
J'habite à Lyon et je ne mange pas de viande.
弟は京都で大学に通っています。
Я живу в Казани и работаю учителем.
Given that I'm vegetarian and hate mushrooms, what should I order?
I run a bakery in Ghent. Which flour would you buy?
我有高血压，这个药我能吃吗
Hi, I'm Anouk, nice to meet you!
""".strip().splitlines()
QUESTIONS = """
Where does my sister work?
which train do I take on Mondays
我妹妹是做什么工作的？
附近哪里能修自行车
¿Dónde vive mi hermana?
Wann fährt mein Zug ab?
Où est-ce que j'habite ?
弟はどこの大学に通っていますか？
Где работает моя сестра?
Thanks! And how long does the delivery take?
""".strip().splitlines()
SMALL_TALK = """
Thank you so much, you've been a great help!
ok sounds good
谢谢你，太棒了！
好的，晚安
¡Muchas gracias por todo!
Danke dir, bis morgen!
ありがとうございます、おやすみなさい
""".strip().splitlines()
DENIALS = """
I do not know that yet.
I'm sorry, I don't know where your sister works.
我还不知道。
抱歉，我不清楚你妹妹的工作。
No tengo esa información.
Das weiß ich leider noch nicht.
""".strip().splitlines()
ASKED_TO_DO = """
Send me the same as last time.
Can you write a reply to this mail?
I was wondering if you could move my appointment
Good morning! Order the same as last time, please.
帮我订一张去上海的票
谢谢，再订一张去上海的票
把这个函数改成异步的
Envíame un kilo
Traduis ce paragraphe en anglais
Schick mir bitte ein Kilo
1キロ送ってください
Напиши письмо клиенту
""".strip().splitlines()
NOT_ASKED = """
What is the price?
Could you tell me what the price is?
I live in Graz
My sister sent me a letter
Thanks, that was quick!
Always answer in German
价格是多少？
请问几点开门？
我给我妈买了一件毛衣
谢谢你
¿Cuánto cuesta?
Ich wohne in Graz
""".strip().splitlines()


PASTED = [
    '```python\nname = "Anna"  # I live in Rome\nprint(name)\n```',
    "Is this true?\n> I was born in 1980 and I live in Berlin with my wife.\n> I eat no nuts.",
    'She wrote: "I am allergic to wool, I live in Oslo and I work as a nurse at the hospital."',
    "他说：“我对花生过敏，我住在北京，我女儿今年七岁。”",
    "Translate “我在这栋房子里住了三十年，我的三个孩子都是在这里出生的。”",
]


def seen(encoder: UniversalSentenceEncoder, texts: list[str]) -> Forms:
    return forms(texts, vectors_of(encoder, texts), USE)


def vectors_of(encoder: UniversalSentenceEncoder, texts: list[str]) -> NDArray[np.float32]:
    return Embedder(encoder).embed(texts, [])[0]


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("statement", FACTS),
        ("question", QUESTIONS),
        ("small_talk", SMALL_TALK),
        ("denial", DENIALS),
    ],
)
def test_the_form_of_a_message_is_seen_in_six_languages(
    encoder: UniversalSentenceEncoder, form: str, texts: list[str]
) -> None:
    found = getattr(seen(encoder, texts), form)
    assert [text for text, right in zip(texts, found, strict=True) if not right] == []


def test_a_fact_is_worth_more_than_the_mood_of_the_day_and_that_more_than_thanks(
    encoder: UniversalSentenceEncoder,
) -> None:
    facts = seen(encoder, FACTS[:9]).salience
    moods = seen(encoder, ["I'm tired today", "今天好累，不想动", "Hoy estoy cansada"]).salience
    assert facts.min() > 1.5 > moods.max()
    assert moods.min() > 0
    assert not seen(encoder, [*SMALL_TALK, *QUESTIONS, *DENIALS]).salience.any()


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in German",
        "From now on send my invoices to the office",
        "以后都用中文回答我",
        "Nunca me llames antes de las diez",
    ],
)
def test_an_order_that_lasts_is_a_statement_worth_keeping(
    encoder: UniversalSentenceEncoder, text: str
) -> None:
    found = seen(encoder, [text])
    assert found.statement[0]
    assert found.salience[0] > 1


@pytest.mark.parametrize(
    "text",
    [
        "Where is the station? I live in Graz and have no car.",
        "Thanks a lot! My daughter is allergic to eggs. Which cake is safe?",
        "我女儿对鸡蛋过敏。哪种蛋糕可以吃？谢谢！",
        "Book a table for two, please. My wife is vegan.",
        "¿Qué puedo cocinar? Soy celíaca y mi marido no come carne.",
    ],
)
def test_a_message_that_asks_and_states_is_a_statement(
    encoder: UniversalSentenceEncoder, text: str
) -> None:
    found = seen(encoder, [text])
    assert found.statement[0]
    assert found.salience[0] > 1


def test_what_is_pasted_or_quoted_is_not_worth_keeping(encoder: UniversalSentenceEncoder) -> None:
    assert [text for text in PASTED if not is_pasted(text)] == []
    assert not seen(encoder, PASTED).salience.any()
    assert not is_pasted('I call the project "Lighthouse", and I am its lead.')
    assert not is_pasted("我说：我住在北京")


@pytest.mark.parametrize("embedder", ["", "OpenAIEmbeddings:text-embedding-3-small"])
def test_with_another_embedder_punctuation_and_words_decide(embedder: str) -> None:
    vectors = np.full((4, 1536), 0.025, np.float32)
    texts = ["I'm allergic to nuts", "Where do I live?", "明天几点开会", "Thanks!"]
    found = forms(texts, vectors, embedder)
    assert found.statement.tolist() == [True, False, False, False]
    assert found.question.tolist() == [False, True, True, False]
    assert found.small_talk.tolist() == [False, False, False, True]
    assert found.salience[0] > 1
    assert not found.salience[1:].any()


def test_a_message_without_a_vector_is_told_by_its_words(encoder: UniversalSentenceEncoder) -> None:
    vectors = vectors_of(encoder, FACTS[:2])
    vectors[1] = 0
    mixed, alone = forms(FACTS[:2], vectors, USE), forms(FACTS[1:2])
    assert mixed.salience[0] == pytest.approx(seen(encoder, FACTS[:1]).salience[0], abs=1e-5)
    assert mixed.salience[1] == alone.salience[0]


def test_of_two_encoders_side_by_side_the_first_is_read(encoder: UniversalSentenceEncoder) -> None:
    vectors = vectors_of(encoder, FACTS)
    both = np.hstack([vectors, np.ones((len(FACTS), 384), np.float32)])
    both /= np.float32(9)
    found = forms(FACTS, both, "use-multilingual-v3+e5-small-q4")
    np.testing.assert_allclose(found.salience, forms(FACTS, vectors, USE).salience, atol=1e-4)


@given(
    st.lists(st.text(st.characters(exclude_categories=())), max_size=4),
    st.sampled_from([None, 0.0, 1.0]),
    st.sampled_from([USE, "other"]),
)
def test_any_texts_have_one_form_each(
    texts: list[str], number: float | None, embedder: str
) -> None:
    vectors = None if number is None else np.full((len(texts), 512), number, np.float32)
    found = forms(texts, vectors, embedder)
    assert {column.shape for column in found} == {(len(texts),)}
    assert (np.stack(found[: len(FORMS)]).sum(axis=0) == 1).all()
    assert found.salience.dtype == np.float32
    assert ((found.salience >= 0) & (found.salience <= MAX_SALIENCE)).all()
    assert not found.salience[~found.statement].any()
    assert all(len(marks(text)) == MARKS and min(marks(text)) >= 0 for text in texts)
    assert all(isinstance(asks_to_do(text), bool) for text in texts)


def test_long_texts_are_looked_at_as_far_as_they_are_embedded() -> None:
    for text in (
        "a" * 1_000_000,
        "没有" * 500_000,
        "“" * 1_000_000,
        "```" * 300_000,
        "?!" * 500_000,
    ):
        found = forms([text], np.ones((1, 512), np.float32), USE)
        assert found.salience.shape == (1,)
        forms([text])
        asks_to_do(text)


# -- what is to be done ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ASKED_TO_DO)
def test_requests_and_orders_ask_for_something_to_be_done(
    encoder: UniversalSentenceEncoder, text: str
) -> None:
    assert asks_to_do(text)
    assert asks_to_do(text, vectors_of(encoder, [text])[0], USE)


@pytest.mark.parametrize("text", NOT_ASKED)
def test_statements_questions_and_small_talk_do_not(
    encoder: UniversalSentenceEncoder, text: str
) -> None:
    assert not asks_to_do(text)
    assert not asks_to_do(text, vectors_of(encoder, [text])[0], USE)
