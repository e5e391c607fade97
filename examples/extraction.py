"""Notes that a model makes of a chat: every third turn, by rules of yours, approved by a person.

    python -m examples.extraction

The chat says everything as it comes. After three turns one call of a model proposes notes; what
matters too little is left out, what is known is not noted twice, and nothing counts before somebody
has looked at it. What changes takes the place of what was, and a note may have a last day. The
models are stand-ins; `--model openai:gpt-4o-mini` takes a real one for both.
"""

from __future__ import annotations

import textwrap
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import START, MessagesState, StateGraph

from examples.command_line import chat_model, options
from examples.stand_ins import extractor, listener
from langgraph_memory import ChromaStore, Memory, open_sessions, with_memory

USER = "c-2291"
MOVED = "I have moved to Linz."
NOTES: dict[str, dict[str, Any]] = {
    "I live in Graz.": {
        "text": "The user lives in Graz.",
        "kind": "fact",
        "slot": "home city",
        "importance": 0.6,
    },
    "It rains again.": {"text": "It rains.", "kind": "fact", "importance": 0.1},
    "My sister gets a kilo for her birthday.": {
        "text": "The user's sister gets a kilo of coffee for her birthday.",
        "kind": "decision",
        "importance": 0.7,
        "valid_until": "2099-12-31",
    },
    MOVED: {
        "text": "The user lives in Linz.",
        "kind": "fact",
        "slot": "home city",
        "importance": 0.6,
    },
}
ASKED = "Which home city do you have of me?"
CHAT = [*list(NOTES)[:3], ASKED, "Thank you!", MOVED, ASKED]


def build(model: BaseChatModel, memory: Memory, checkpointer: Any) -> Any:
    """Return the chatbot: one node, with memory around it."""

    def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", with_memory(chat, memory))
    builder.add_edge(START, "chat")
    return builder.compile(checkpointer=checkpointer)


def use(memory: Memory, graph: Any, config: Any) -> None:
    """Have the chat, and let a person approve what is proposed."""
    memory.forget(user=USER, everything=True)  # so that each run begins anew
    for text in CHAT:
        print(f"\n{USER}: {text}")
        answer = graph.invoke({"messages": [("user", text)]}, config)["messages"][-1]
        print(textwrap.indent(answer.text, "    "))
        print(f"  turns that wait: {sum(memory.pending(user=USER).values())}")
        for note in memory.list(user=USER, status="proposed"):
            change = memory.approve(note.id, user=USER)
            print(f"  approved: {change.record.text} ({change.action})")
    print("\nKnown:")
    for note in memory.recall(ASKED, user=USER).profile:
        end = f", before {note.valid_until:%Y-%m-%d}" if note.valid_until else ""
        print(f"    {note.kind}{end}: {note.text}")


def main() -> None:
    """Have a chat of seven turns, and make notes of it twice."""
    given = options(__doc__, "extraction")
    noting = chat_model(given.model, extractor(NOTES))
    store = ChromaStore(given.path)
    with (
        Memory(store, model=noting, every_n_turns=3, min_importance=0.3, review=True) as memory,
        open_sessions(given.path) as sessions,
    ):
        model = chat_model(given.model, listener())
        thread = f"chat {len(sessions.list(USER)) + 1}"
        graph = build(model, memory, sessions.checkpointer)
        use(memory, graph, sessions.config(user=USER, thread_id=thread))


if __name__ == "__main__":
    main()
