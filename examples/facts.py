"""Facts under a key that change: the new value counts, the old ones stay in the history.

    python -m examples.facts

A customer's page says where to ship and which beans to send. The assistant knows what it says now;
what was entered by mistake is taken back, and what was known before can still be asked for. The
model is a stand-in that answers from memory alone; `--model openai:gpt-4o-mini` takes a real one.
"""

from __future__ import annotations

import textwrap
from datetime import datetime
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import START, StateGraph

from examples.command_line import chat_model, options
from langgraph_memory import ChromaStore, Memory, MemoryState, messages_with_memory, recall_node
from langgraph_memory.records import utc_now
from langgraph_memory.testing import RecallingChatModel

USER = "c-2291"
SYSTEM = "You help the customers of a coffee roaster. Answer in their language, in one sentence."
PAGES = {
    "en": {
        "city": ("home city", "Rosario", "Córdoba"),
        "beans": ("favourite beans", "Colombia", "Decaf"),
        "question": "Which home city do you ship to?",
    },
    "zh": {
        "city": ("居住城市", "罗萨里奥", "科尔多瓦"),
        "beans": ("喜欢的咖啡豆", "哥伦比亚", "低因"),
        "question": "我的居住城市是哪里？",
    },
}


def build(memory: Memory, model: BaseChatModel) -> Any:
    """Return the graph: recall, answer. What it is asked is not kept here."""

    def chat(state: MemoryState) -> dict[str, Any]:
        return {"messages": [model.invoke([SystemMessage(SYSTEM), *messages_with_memory(state)])]}

    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("chat", chat)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    return builder.compile(store=memory.store)


def ask(graph: Any, question: str) -> None:
    """Ask the assistant, and print its answer."""
    config = {"configurable": {"user_id": USER}}
    answer = graph.invoke({"messages": [HumanMessage(question)]}, config)["messages"][-1]
    print(f"\n{question}")
    print(textwrap.indent(answer.text, "    "))


def use(memory: Memory, graph: Any, page: dict[str, Any]) -> None:
    """Fill the customer's page in, change it, and take a mistake back."""
    city, home, new_home = page["city"]
    beans, favourite, mistaken = page["beans"]
    memory.forget(user=USER, everything=True)  # so that each run begins anew

    memory.remember(home, user=USER, slot=city)
    memory.remember(favourite, user=USER, slot=beans)
    before: datetime = utc_now()
    ask(graph, page["question"])

    moved = memory.remember(new_home, user=USER, slot=city)
    ask(graph, page["question"])

    mistake = memory.remember(mistaken, user=USER, slot=beans)
    print(f"\nby mistake: {memory.facts(user=USER)}")
    memory.undo(mistake.id, user=USER)
    print(f"taken back: {memory.facts(user=USER)}")

    print(f"\nThe history of {city!r}:")
    for note in memory.history(moved.record.id, user=USER):
        print(f"    version {note.version}, {note.status}: {note.text} ({note.reason or 'new'})")
    past = memory.recall(page["question"], user=USER, as_of=before)
    print(f"Known before: {', '.join(note.text for note in past.profile)}")


def main() -> None:
    """Use one customer's page, and print what is known of it."""
    given = options(__doc__, "facts", languages=PAGES)
    with Memory(ChromaStore(given.path)) as memory:
        graph = build(memory, chat_model(given.model, RecallingChatModel()))
        use(memory, graph, PAGES[given.lang])


if __name__ == "__main__":
    main()
