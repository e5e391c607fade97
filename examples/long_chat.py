"""A long chat that stays short: recent messages as they are, a summary of the rest, and memory.

    python -m examples.long_chat

Above eight messages, whole turns are folded into a summary, and kept in memory word by word before
they leave the conversation. The model reads the summary, the last messages, and what memory finds
for the question. The models are stand-ins; `--model openai:gpt-4o-mini` takes a real one (with
`OPENAI_BASE_URL` any compatible server). With `--lang zh` the chat is Chinese.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph

from examples.command_line import chat_model, options
from examples.stand_ins import listener, scripted, summarise
from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryState,
    Sessions,
    SummaryState,
    messages_with_memory,
    messages_with_summary,
    open_sessions,
    recall_node,
    remember_node,
    summary_node,
)

USER, THREAD = "c-2291", "long-chat"
CHATS = {
    "en": (
        "Hello there!",
        "My grinder is a hand mill by Comandante, set to 18 clicks.",
        "I bought a moka pot for three cups last week.",
        "Thank you!",
        "Let's go with the Colombia, a kilo a month.",
        "Ship it to my office in Rosario, the house is empty until 17:00.",
        "The last bag was roasted too dark for me.",
        "Good, thanks a lot.",
        "My sister in Lima gets half a kilo for her birthday on 8 March.",
        "Which grinder do I have, and how is it set?",
    ),
    "zh": (
        "你好！",
        "我的磨豆机是司令官手摇磨，调到18格。",
        "我上周买了一个三杯份的摩卡壶。",
        "谢谢！",
        "就选哥伦比亚吧，每个月一公斤。",
        "请寄到我在罗萨里奥的办公室，家里下午五点前没人。",
        "上一袋对我来说烘得太深了。",
        "好的，多谢。",
        "我妹妹3月8日过生日，给她寄半公斤到利马。",
        "我的磨豆机是哪一款，调到几格？",
    ),
}


class State(MemoryState, SummaryState):
    """Messages, what was recalled for them, and the summary of older ones."""


def build(
    memory: Memory, sessions: Sessions, model: BaseChatModel, summariser: BaseChatModel
) -> Any:
    """Return the graph: shorten the conversation, recall, answer, remember."""

    def chat(state: State) -> dict[str, Any]:
        prompt = messages_with_summary(state, messages_with_memory(state))
        return {"messages": [model.invoke(prompt)]}

    builder = StateGraph(State)
    builder.add_node("shorten", summary_node(summariser, memory=memory, fold_above=8, keep=4))
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge(START, "shorten")
    builder.add_edge("shorten", "recall")
    builder.add_edge("recall", "chat")
    builder.add_edge("chat", "remember")
    builder.add_edge("remember", END)
    return builder.compile(checkpointer=sessions.checkpointer, store=memory.store)


def run_chat(
    path: Path, texts: Iterable[str], model: BaseChatModel, summariser: BaseChatModel
) -> None:
    """Have the chat, or read it if it was had, and print what is left of it."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, model, summariser)
        config = sessions.config(user=USER, thread_id=THREAD)
        if not graph.get_state(config).values:
            for text in texts:
                graph.invoke({"messages": [("user", text)]}, config)
        state = graph.get_state(config).values
        print(f"said: {memory.count(user=USER)['message']} messages")
        print(f"left in the conversation: {len(state['messages'])} messages")
        print(f"\nsummary of the others:\n    {state['summary']}")
        question, answer = state["messages"][-2:]
        print(f"\n{question.text}")
        print(textwrap.indent(answer.text, "    "))


def main() -> None:
    """Have the chat in one language."""
    given = options(__doc__, "long-chat", languages=CHATS)
    stand_ins = listener(), scripted(summarise)
    model, summariser = (chat_model(given.model, each) for each in stand_ins)
    run_chat(given.path, CHATS[given.lang], model, summariser)


if __name__ == "__main__":
    main()
