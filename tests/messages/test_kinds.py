"""What a message is: a statement, a question, a request or small talk."""

from __future__ import annotations

import pytest

from langgraph_memory.messages.kinds import asks_to_do

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


@pytest.mark.parametrize("text", ASKED_TO_DO)
def test_requests_and_orders_ask_for_something_to_be_done(text: str) -> None:
    assert asks_to_do(text)


@pytest.mark.parametrize("text", NOT_ASKED)
def test_statements_questions_and_small_talk_do_not(text: str) -> None:
    assert not asks_to_do(text)
