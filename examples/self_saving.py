"""A model that says in its reply what is worth remembering, and code that decides.

    python -m examples.self_saving

The model answers in JSON: `reply` for the user, and `save_to_memory`. `remember_node` takes the
proposals out, checks them and keeps them as notes; the conversation holds the plain reply. The
second session is a process of its own, and knows. The model is a stand-in; `--model
openai:gpt-4o-mini` takes a real one (with `OPENAI_BASE_URL` any compatible server).
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from examples.command_line import chat_model, options, run_each
from examples.stand_ins import proposer
from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryState,
    SavingReply,
    Sessions,
    messages_with_memory,
    open_sessions,
    recall_node,
    remember_node,
)

USER = "u-17"
STEPS = ("1", "2")
SESSIONS = {
    "en": ("My name is Ana, and I teach chemistry.", "What is my name, and what do I teach?"),
    "zh": ("我叫小明，是一名后端开发工程师", "还记得我吗？小明是做什么工程的？"),
}
PROPOSALS = {
    SESSIONS["en"][0]: ("Hello Ana!", ["The user's name is Ana", "The user teaches chemistry"]),
    SESSIONS["zh"][0]: ("你好，小明！很高兴认识你。", ["用户叫小明", "用户是一名后端开发工程师"]),
}


def build(memory: Memory, sessions: Sessions, model: BaseChatModel) -> Any:
    """Return the graph: recall, answer in JSON, remember what the answer proposes."""

    def chat(state: MemoryState) -> dict[str, Any]:
        system = SystemMessage(SavingReply.instructions())
        return {"messages": [model.invoke([system, *messages_with_memory(state)])]}

    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_node("remember", remember_node(memory, from_reply=True))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    builder.add_edge("chat", "remember")
    builder.add_edge("remember", END)
    return builder.compile(checkpointer=sessions.checkpointer, store=memory.store)


def run_session(path: Path, model: BaseChatModel, session: str, text: str) -> None:
    """Have one session in this process, or resume it if it was had, and print what is known."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, model)
        config = sessions.config(user=USER, thread_id=session)
        had = graph.get_state(config).values.get("messages")
        messages = had or graph.invoke({"messages": [HumanMessage(text)]}, config)["messages"]
        print(f"\nsession {session}: {text}")
        print(textwrap.indent(messages[-1].text, "    "))
        print("  remembered:")
        for note in reversed(memory.list(user=USER)):
            print(f"    - {note.text}")


def main() -> None:
    """Run the two sessions, each in a process of its own."""
    given = options(__doc__, "self-saving", languages=SESSIONS, steps=STEPS)
    if given.step is None:
        run_each(STEPS)
    else:
        text = SESSIONS[given.lang][STEPS.index(given.step)]
        run_session(given.path, chat_model(given.model, proposer(PROPOSALS)), given.step, text)


if __name__ == "__main__":
    main()
