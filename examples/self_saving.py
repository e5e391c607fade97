"""A model that says in its reply what is worth remembering, and code that decides.

    python -m examples.self_saving

The model answers in JSON: `reply` for the user, and `save_to_memory`. `remember_node` takes the
proposals out, checks them and keeps them as notes; the conversation holds the plain reply. The
second session is a process of its own, and knows. The model is a stand-in; `--model
openai:gpt-4o-mini` takes a real one (with `OPENAI_BASE_URL` any compatible server).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

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
SESSIONS = {
    "zh": ("我叫小明，是一名后端开发工程师", "还记得我吗？小明是做什么工程的？"),
    "en": ("My name is Ana, and I teach chemistry.", "What is my name, and what do I teach?"),
}
PROPOSALS = {
    SESSIONS["zh"][0]: ("你好，小明！很高兴认识你。", ["用户叫小明", "用户是一名后端开发工程师"]),
    SESSIONS["en"][0]: ("Hello Ana!", ["The user's name is Ana", "The user teaches chemistry"]),
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


def run_session(path: Path, language: str, number: int, model_name: str | None) -> None:
    """Have one session in this process, or resume it if it was had, and print what is known."""
    text = SESSIONS[language][number]
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, chat_model(model_name))
        config = sessions.config(user=USER, thread_id=f"session-{number + 1}")
        had = graph.get_state(config).values.get("messages")
        messages = had or graph.invoke({"messages": [HumanMessage(text)]}, config)["messages"]
        print(f"\nsession {number + 1}: {text}")
        print("\n".join(f"    {line}" for line in messages[-1].text.splitlines()))
        print("  remembered:")
        for note in reversed(memory.list(user=USER)):
            print(f"    - {note.text}")


def chat_model(name: str | None) -> BaseChatModel:
    """Return the model of a name, or the stand-in."""
    if name is None:
        return stand_in()
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(name)
    return model


def stand_in() -> BaseChatModel:
    """Return what answers as a model would: it proposes for the introductions above."""
    from langgraph_memory.testing import RecallingChatModel, ScriptedChatModel

    def answer(messages: list[BaseMessage]) -> SavingReply:
        for introduction, (reply, notes) in PROPOSALS.items():
            if messages[-1].text.endswith(introduction):
                return SavingReply(reply=reply, save_to_memory=notes)
        return SavingReply(reply=RecallingChatModel().invoke(messages).text)

    return ScriptedChatModel([answer])


def main() -> None:
    """Run the two sessions, each in a process of its own."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--path", type=Path, default=Path("demo-memory/self-saving"))
    parser.add_argument("--lang", choices=sorted(SESSIONS), default="zh")
    parser.add_argument("--model", help="such as openai:gpt-4o-mini; default: the stand-in")
    parser.add_argument("--session", type=int, choices=range(2), help="one, in this process")
    options = parser.parse_args()
    path = options.path / options.lang / re.sub(r"\W+", "-", options.model or "stand-in")
    if options.session is not None:
        run_session(path, options.lang, options.session, options.model)
        return
    for number in range(2):
        command = [sys.executable, "-m", "examples.self_saving", *sys.argv[1:]]
        command += ["--session", str(number)]
        if failed := subprocess.run(command, check=False).returncode:
            sys.exit(failed)


if __name__ == "__main__":
    main()
