"""A coffee roaster's assistant that remembers a customer from one day to the next.

    python -m examples.coffee_shop

Each day is a process of its own, with a new thread: on the second day the agent knows what "the
same as last time" is, and it does not tell another customer. The model is a stand-in that answers
from memory alone; `--model openai:gpt-4o-mini` takes a real one (with `OPENAI_BASE_URL` any
compatible server). A conversation that was had already is resumed, not had again; `--step show`
prints what is stored.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph

from examples.command_line import chat_model, options, run_each
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
from langgraph_memory.testing import RecallingChatModel

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


def run_day(path: Path, model: BaseChatModel, user: str, thread: str, text: str) -> None:
    """Have one day's conversation, in this process."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, model)
        answer = say(graph, sessions.config(user=user, thread_id=thread), text)
    print(f"\n{user}, {thread}: {text}")
    print(textwrap.indent(answer, "    "))


def show(path: Path, users: Iterable[str]) -> None:
    """Print what is stored of each customer."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        for user in users:
            threads = ", ".join(session.thread_id for session in sessions.list(user))
            print(f"\n{user}: sessions {threads}; {memory.count(user=user)}")
            for record in memory.list(user=user, types=("note", "message", "episode")):
                print(f"    {record.created_at:%Y-%m-%d %H:%M} {record.type}: {record.text!r}")


def main() -> None:
    """Run the three days, each in a process of its own."""
    days = {thread: (user, thread, text) for user, thread, text in DAYS["en"]}
    given = options(__doc__, "coffee-shop", languages=DAYS, steps=[*days, "show"])
    if given.step is None:
        run_each(days)
    elif given.step == "show":
        show(given.path, dict.fromkeys(user for user, _, _ in days.values()))
    else:
        day = DAYS[given.lang][list(days).index(given.step)]
        run_day(given.path, chat_model(given.model, RecallingChatModel()), *day)


if __name__ == "__main__":
    main()
