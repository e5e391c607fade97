"""A coffee roaster's assistant that remembers a customer from one day to the next.

    python -m examples.coffee_shop

Each day is a process of its own, with a new thread: on the second day the agent knows what "the
same as last time" is, and it does not tell another customer. The model is a stand-in that answers
from memory alone; `--model openai:gpt-4o-mini` takes a real one (with `OPENAI_BASE_URL` any
compatible server). A conversation that was had already is resumed, not had again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from langgraph_memory import (
    ChromaStore,
    Memory,
    MemoryState,
    Sessions,
    messages_with_memory,
    open_sessions,
    recall_node,
    remember_node,
)

SYSTEM = (
    "You take orders for a coffee roaster. Answer in the customer's language, in two sentences. "
    "Use what you remember of this customer; what you do not know, ask."
)
DAYS = {
    "en": (
        ("c-2291", "monday", "Hi! A kilo of Colombia, ground for a moka pot, shipped to Rosario."),
        ("c-2291", "tuesday", "Hi again! Send me the same as last time."),
        ("c-7004", "wednesday", "Hi! Send me the same as last time."),
    ),
    "zh": (
        ("c-2291", "monday", "您好！一公斤哥伦比亚咖啡豆，磨成摩卡壶用的粗细，寄到罗萨里奥。"),
        ("c-2291", "tuesday", "您好！还是老样子，跟上次一样。"),
        ("c-7004", "wednesday", "您好！跟上次一样。"),
    ),
}


def build(memory: Memory, sessions: Sessions, model: BaseChatModel) -> Any:
    """Return the graph: recall, answer, remember."""

    def chat(state: MemoryState) -> dict[str, Any]:
        answer = model.invoke([SystemMessage(SYSTEM), *messages_with_memory(state)])
        return {"messages": [answer]}

    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    builder.add_edge("chat", "remember")
    builder.add_edge("remember", END)
    return builder.compile(checkpointer=sessions.checkpointer, store=memory.store)


def say(graph: Any, config: Any, text: str) -> str:
    """Say something in a session; what was said in it before is answered as it was then."""
    messages = graph.get_state(config).values.get("messages", [])
    said = [message.text for message in messages]
    if text not in said:
        messages = graph.invoke({"messages": [HumanMessage(text)]}, config)["messages"]
        said = [message.text for message in messages]
    answers = [m for m in messages[said.index(text) :] if isinstance(m, AIMessage)]
    return str(answers[0].text)


def run_day(path: Path, language: str, day: int, model_name: str | None) -> None:
    """Have one day's conversation, in this process."""
    user, thread, text = DAYS[language][day]
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, chat_model(model_name))
        answer = say(graph, sessions.config(user=user, thread_id=thread), text)
    print(f"\n{user}, {thread}: {text}")
    print("\n".join(f"    {line}" for line in answer.splitlines()))


def chat_model(name: str | None) -> BaseChatModel:
    """Return the model of a name, or the stand-in."""
    if name is None:
        from langgraph_memory.testing import RecallingChatModel

        return RecallingChatModel()
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(name)
    return model


def show(path: Path, language: str) -> None:
    """Print what is stored of each customer."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        for user in dict.fromkeys(user for user, _, _ in DAYS[language]):
            threads = ", ".join(session.thread_id for session in sessions.list(user))
            print(f"\n{user}: sessions {threads}; {memory.count(user=user)}")
            for record in memory.list(user=user, types=("note", "message", "episode")):
                print(f"    {record.created_at:%Y-%m-%d %H:%M} {record.type}: {record.text!r}")


def main() -> None:
    """Run the three days, each in a process of its own."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--path", type=Path, default=Path("demo-memory"), help="where to remember")
    parser.add_argument("--lang", choices=sorted(DAYS), default="en")
    parser.add_argument("--model", help="such as openai:gpt-4o-mini; default: the stand-in")
    parser.add_argument("--show", action="store_true", help="print what is stored")
    parser.add_argument("--day", type=int, choices=range(3), help="one day, in this process")
    options = parser.parse_args()
    path = options.path / options.lang / re.sub(r"\W+", "-", options.model or "stand-in")
    if options.day is not None:
        run_day(path, options.lang, options.day, options.model)
        return
    for day in range(3):
        command = [sys.executable, "-m", "examples.coffee_shop", *sys.argv[1:], "--day", str(day)]
        if failed := subprocess.run(command, check=False).returncode:
            sys.exit(failed)
    if options.show:
        show(path, options.lang)


if __name__ == "__main__":
    main()
