"""What is small talk, in English and Chinese, and what is a task."""

from __future__ import annotations

import pytest

from langgraph_memory.small_talk import is_task

SMALL_TALK = """
Hi
Thanks, bye!
🙂

Good morning! How are you today?
That's great, thank you so much for your help!
Ok, see you tomorrow then. Have a nice evening!
I’m fine, thanks, and you?
Danke, tschüss!
谢谢你
你好！最近怎么样？
好的，非常感谢您的帮助，明天见！
太好了，辛苦你了，祝你周末愉快
早上好，在吗？
謝謝你的幫助，再見！
""".splitlines()[1:]
TASKS = """
Send a kilo please
Please translate this for me
Could you help me with my tax return today?
Thanks, and now book the flight
Good morning! Order the same as last time, please.
How is the weather in Graz today?
Traduis ce paragraphe en anglais
请再寄一公斤咖啡豆
你好，帮我查一下明天的天气
谢谢，再订一张去上海的票
早上好，帮我把会议改到下午
""".strip().splitlines()


@pytest.mark.parametrize("text", SMALL_TALK)
def test_courtesies_and_a_few_words_are_small_talk(text: str) -> None:
    assert not is_task(text, [])


@pytest.mark.parametrize("text", TASKS)
def test_what_asks_for_something_is_a_task(text: str) -> None:
    assert is_task(text, [])


@pytest.mark.parametrize("text", ["", "Yes", "好的，谢谢"])
def test_a_turn_with_a_tool_is_a_task_whatever_was_said(text: str) -> None:
    assert is_task(text, ["ship"])
