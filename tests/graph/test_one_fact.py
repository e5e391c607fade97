"""A fact that was said once is in the prompt whenever it is asked for, weeks and threads later."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_memory import ChromaStore, Memory, with_memory
from langgraph_memory.testing import ManualClock

FACTS = {
    "en": "By the way, I am allergic to peanuts and I live in Graz.",
    "zh": "对了，我对花生过敏，住在格拉茨。",
    "es": "Por cierto, soy alérgica a los cacahuetes y vivo en Graz.",
    "de": "Übrigens bin ich gegen Erdnüsse allergisch und wohne in Graz.",
}
QUESTIONS = {
    "en": [
        "Which snacks can I eat?",
        "Can I have satay sauce?",
        "What am I allergic to?",
        "In which city do I live?",
        "Is this chocolate bar safe for me?",
        "What should the caterer know about me?",
        "Where should the parcel go, to which town?",
    ],
    "zh": [
        "我能吃什么零食？",
        "我对什么过敏？",
        "我住在哪个城市？",
        "这块巧克力我能吃吗？",
        "快递寄到哪个城市？",
        "聚餐点菜要避开什么？",
    ],
    "es": [
        "¿Qué aperitivos puedo comer?",
        "¿A qué soy alérgica?",
        "¿En qué ciudad vivo?",
        "¿Puedo tomar esta salsa?",
        "¿A qué ciudad mandas el paquete?",
        "¿Qué debe saber el cocinero?",
    ],
    "de": [
        "Welche Snacks kann ich essen?",
        "Wogegen bin ich allergisch?",
        "In welcher Stadt wohne ich?",
        "Kann ich diese Schokolade essen?",
        "Wohin soll das Paket?",
        "Was muss der Koch wissen?",
    ],
}
CHATTER = {
    "en": [("Send me two kilos of Colombia.", "Done."), ("Nice weather today!", "Enjoy it.")],
    "zh": [("给我寄两公斤哥伦比亚。", "好的。"), ("今天天气真好！", "玩得开心。")],
    "es": [("Mándame dos kilos de Colombia.", "Hecho."), ("¡Qué buen día!", "Disfrútalo.")],
    "de": [("Schick mir zwei Kilo Kolumbien.", "Erledigt."), ("Schönes Wetter!", "Viel Spaß.")],
}


class Agent:
    """An agent that answers without repeating the fact, and shows what its model was given."""

    def __init__(self, memory: Memory, clock: ManualClock) -> None:
        self.prompt = ""
        self._answer = "Noted."
        self._clock = clock
        self._threads = 0
        builder = StateGraph(MessagesState)
        builder.add_node("chat", with_memory(self._chat, memory))
        builder.add_edge(START, "chat")
        self._graph = builder.compile()

    def _chat(self, state: MessagesState) -> dict[str, Any]:
        self.prompt = str(state["messages"][-1].content)
        return {"messages": [AIMessage(self._answer)]}

    def say(self, text: str, answer: str = "Let me see.") -> str:
        """Say something in a thread of its own, and return what the model was given."""
        self._answer = answer
        self._threads += 1
        self._clock.advance(hours=7)
        thread = f"thread-{self._threads}"
        config = RunnableConfig(configurable={"user_id": "ana", "thread_id": thread})
        self._graph.invoke(MessagesState(messages=[HumanMessage(text)]), config)
        return self.prompt


@pytest.mark.parametrize("language", FACTS)
def test_a_fact_said_once_is_in_the_prompt_of_every_question_for_a_month(language: str) -> None:
    clock = ManualClock()
    with Memory(ChromaStore.in_memory(), clock=clock) as memory:
        agent = Agent(memory, clock)
        agent.say(FACTS[language])
        missing = []
        for week in range(2):
            for question in QUESTIONS[language]:
                if FACTS[language] not in agent.say(question):
                    missing.append((week, question))
                for said, answer in CHATTER[language]:
                    agent.say(said, answer)
            clock.advance(days=9)
        assert not missing


def test_the_same_question_every_day_for_two_weeks_is_answered_every_day() -> None:
    clock = ManualClock()
    with Memory(ChromaStore.in_memory(), clock=clock) as memory:
        agent = Agent(memory, clock)
        agent.say(FACTS["en"])
        for _ in range(14):
            prompt = agent.say("Which snacks can I eat?")
            assert FACTS["en"] in prompt
            # The question itself stands there once: as it is asked now.
            assert prompt.count("Which snacks can I eat?") == 1
            agent.say("I have painted the kitchen and watched the match.", "Well done.")
            clock.advance(days=1)
