"""A preference that is told once, and known in another process.

    python -m examples.preferences

The node asks for structured output, `SavingReply`, and has memory around it by one line. The first
process is told to write TypeScript, the second one is asked for code, in a new session. The model
is a stand-in; `--model openai:gpt-4o-mini` takes a real one (with `OPENAI_BASE_URL` any compatible
server).
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph

from examples.command_line import chat_model, options, run_each
from examples.stand_ins import programmer
from langgraph_memory import ChromaStore, Memory, SavingReply, Sessions, open_sessions, with_memory

USER = "dev-17"
SAID = {
    "tell": "From now on I prefer TypeScript to JavaScript in all code examples.",
    "ask": "Please write me an example: a function that greets somebody.",
}
NOTE = "The user prefers TypeScript to JavaScript in code examples"
CODE = {
    "TypeScript": "const greet = (name: string): string => `Hello, ${name}!`;",
    "JavaScript": "const greet = (name) => `Hello, ${name}!`;",
}


def build(memory: Memory, sessions: Sessions, model: BaseChatModel) -> Any:
    """Return the graph: one node, with memory around it."""
    # A raw message is put right where it is broken; a parsed one would be an error.
    structured = model.with_structured_output(SavingReply, include_raw=True)

    def chat(state: MessagesState) -> dict[str, Any]:
        system = SystemMessage(SavingReply.instructions())
        answer: Any = structured.invoke([system, *state["messages"]])
        return {"messages": [answer["raw"]]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", with_memory(chat, memory, from_reply=True))
    builder.add_edge(START, "chat")
    return builder.compile(checkpointer=sessions.checkpointer)


def run_step(path: Path, model: BaseChatModel, step: str) -> None:
    """Have one session in this process, or resume it if it was had."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, model)
        config = sessions.config(user=USER, thread_id=step)
        had = graph.get_state(config).values.get("messages")
        messages = had or graph.invoke({"messages": [HumanMessage(SAID[step])]}, config)["messages"]
        print(f"\n{USER}, {step}: {SAID[step]}")
        print(textwrap.indent(messages[-1].text, "    "))
        print("  remembered:", [note.text for note in memory.list(user=USER)])


def main() -> None:
    """Tell the preference, and ask for code in a second process."""
    given = options(__doc__, "preferences", steps=SAID)
    if given.step is None:
        run_each(SAID)
    else:
        stand_in = programmer(SAID["tell"], NOTE, CODE)
        run_step(given.path, chat_model(given.model, stand_in), given.step)


if __name__ == "__main__":
    main()
