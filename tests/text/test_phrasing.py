"""What is a task, what is courtesy alone."""

from __future__ import annotations

import pytest

from benchmarks.labelled import read
from langgraph_memory.episodes.tasks import is_task
from langgraph_memory.text.phrasing import is_courtesy

COURTESIES = """
Hi
Thanks, bye!
🙂

Good morning! How are you today?
That's great, thank you so much for your help!
Ok, see you tomorrow then. Have a nice evening!
I’m fine, thanks, and you?
谢谢你
你好！最近怎么样？
好的，非常感谢您的帮助，明天见！
太好了，辛苦你了，祝你周末愉快
早上好，在吗？
謝謝你的幫助，再見！
""".splitlines()[1:]
TASKS = """
Deploy to staging
Send a kilo please
Please translate this for me
Could you help me with my tax return today?
Can you write a reply to this mail?
Thanks, and now book the flight
Good morning! Order the same as last time, please.
A kilo of Colombia, ground for a moka pot.
Traduis ce paragraphe en anglais
Envíame un kilo
送ってください
请再寄一公斤咖啡豆
你好，帮我查一下明天的天气
谢谢，再订一张去上海的票
早上好，帮我把会议改到下午
""".strip().splitlines()
TOLD_OR_ASKED = """
I am allergic to peanuts and live in Graz.
We moved to a new office on Monday.
What did I order last time?
Which football club do I like?
How is the weather in Graz today?
Danke, tschüss!
我对花生过敏，住在格拉茨。
我上次点了什么？
¿Qué pedí la última vez?
Soy alérgico a los cacahuetes.
前回は何を注文しましたか？
""".strip().splitlines()


@pytest.mark.parametrize("text", TASKS)
def test_what_asks_for_something_to_be_done_is_a_task(text: str) -> None:
    assert is_task(text, [])


@pytest.mark.parametrize("text", [*COURTESIES, *TOLD_OR_ASKED])
def test_what_is_told_or_asked_about_is_none_nor_is_small_talk(text: str) -> None:
    assert not is_task(text, [])


def test_of_the_questions_about_other_subjects_hardly_one_is_a_task() -> None:
    taken = [
        question["text"] for question in read("offtopic.jsonl") if is_task(question["text"], [])
    ]
    assert len(taken) <= 2


@pytest.mark.parametrize("text", ["", "Yes", "好的，谢谢", "What did I order last time?"])
def test_a_turn_with_a_tool_is_a_task_whatever_was_said(text: str) -> None:
    assert is_task(text, ["ship"])


@pytest.mark.parametrize("text", COURTESIES)
def test_courtesies_are_known_in_english_and_chinese(text: str) -> None:
    assert is_courtesy(text)


@pytest.mark.parametrize("text", TASKS)
def test_no_task_is_courtesy_alone(text: str) -> None:
    assert not is_courtesy(text)
