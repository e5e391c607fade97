"""A preference that is told once, and known in another process.

    python -m examples.preferences

The node asks for structured output, `SavingReply`, and has memory around it by one line. The first
process is told to write TypeScript; it starts itself a second time, and that process is asked for
code in a new session. The model is a stand-in; `--model openai:gpt-4o-mini` takes a real one (with
`OPENAI_BASE_URL` any compatible server).
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
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_memory import (
    ChromaStore,
    Memory,
    SavingReply,
    Sessions,
    open_sessions,
    with_memory,
)

USER = "dev-17"
SAID = {
    "tell": "From now on I prefer TypeScript to JavaScript in all code examples.",
    "ask": "Please write me an example: a function that greets somebody.",
}
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


def run_step(path: Path, step: str, model_name: str | None) -> None:
    """Have one session in this process, or resume it if it was had."""
    with Memory(ChromaStore(path)) as memory, open_sessions(path) as sessions:
        graph = build(memory, sessions, chat_model(model_name))
        config = sessions.config(user=USER, thread_id=step)
        had = graph.get_state(config).values.get("messages")
        messages = had or graph.invoke({"messages": [HumanMessage(SAID[step])]}, config)["messages"]
        print(f"\n{USER}, {step}: {SAID[step]}")
        print("\n".join(f"    {line}" for line in messages[-1].text.splitlines()))
        print("  remembered:", [note.text for note in memory.list(user=USER)])


def chat_model(name: str | None) -> BaseChatModel:
    """Return the model of a name, or the stand-in."""
    if name is None:
        return stand_in()
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(name)
    return model


def stand_in() -> BaseChatModel:
    """Return what answers as a model would: it writes TypeScript if its prompt says so."""
    from langgraph_memory.testing import ScriptedChatModel

    def answer(messages: list[BaseMessage]) -> SavingReply:
        asked = messages[-1].text
        if asked.endswith(SAID["tell"]):
            note = "The user prefers TypeScript to JavaScript in code examples"
            return SavingReply(reply="TypeScript it is.", save_to_memory=note)
        return SavingReply(reply=CODE["TypeScript" if "TypeScript" in asked else "JavaScript"])

    return ScriptedChatModel([answer])


def main() -> None:
    """Tell the preference, and ask for code in a second process."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--path", type=Path, default=Path("demo-memory/preferences"))
    parser.add_argument("--model", help="such as openai:gpt-4o-mini; default: the stand-in")
    parser.add_argument("--step", choices=sorted(SAID), help="one, in this process")
    options = parser.parse_args()
    path = options.path / re.sub(r"\W+", "-", options.model or "stand-in")
    run_step(path, options.step or "tell", options.model)
    if options.step is None:
        command = [sys.executable, "-m", "examples.preferences", *sys.argv[1:], "--step", "ask"]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
