"""A diary for each customer, kept by a model with ordinary tools.

    python -m examples.diary

The assistant of a coffee roaster saves what a customer likes, looks it up, and asks where it knows
nothing. What was said last counts. The customer can see the diary and delete from it, in the chat
and on a page of the shop. The model is a stand-in that calls a tool for each of these sentences;
`--model openai:gpt-4o-mini` takes a real one.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, ToolMessage

from examples.command_line import chat_model, options
from examples.stand_ins import diary_keeper
from langgraph_memory import TOOLS_PROMPT, ChromaStore, Memory, Quotas, memory_tools

SYSTEM = "You help the customers of a coffee roaster. Answer in their language, in one sentence.\n"
ANA, BO = "c-2291", "c-7004"
TALK = {
    "en": {
        "told": ("I always drink Colombia from a moka pot.", "Drinks Colombia from a moka pot"),
        "asked": ("Send me my usual coffee, please.", "usual coffee"),
        "changed": ("From now on I drink Sidamo, as filter.", "Drinks Sidamo as filter coffee"),
        "seen": ("What do you know about me?", "usual coffee"),
        "deleted": ("Delete that, please.", "usual coffee"),
        "done": ("Done.", "I do not know that yet. Would you tell me?"),
    },
    "zh": {
        "told": ("我平时用摩卡壶喝哥伦比亚咖啡。", "用摩卡壶喝哥伦比亚咖啡"),
        "asked": ("请给我寄平时喝的咖啡。", "平时喝的咖啡"),
        "changed": ("以后我喝西达摩手冲咖啡。", "喝西达摩手冲咖啡"),
        "seen": ("你记得我什么？", "平时喝的咖啡"),
        "deleted": ("请把它删掉。", "平时喝的咖啡"),
        "done": ("好的。", "这个我还不知道，可以告诉我吗？"),
    },
}
VISITS = [
    (ANA, "told"),
    (ANA, "asked"),
    (ANA, "changed"),
    (ANA, "asked"),
    (BO, "asked"),
    (ANA, "seen"),
    (ANA, "deleted"),
    (ANA, "asked"),
]


def build(memory: Memory, model: BaseChatModel) -> Any:
    """Return the agent: its diary is that of the customer who talks to it."""
    tools = memory_tools(memory, quotas=Quotas(notes=2, messages=0, documents=0, episodes=0))
    return create_agent(model, tools, system_prompt=SYSTEM + TOOLS_PROMPT)


def visit(agent: Any, customer: str, text: str) -> None:
    """Let a customer say one thing in a conversation of its own, and print what came of it."""
    config = {"configurable": {"user_id": customer}}
    messages = agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"]
    print(f"\n{customer}: {text}")
    for message in messages[1:]:
        if isinstance(message, ToolMessage):
            print(f"  [{message.name}] {message.text.splitlines()[-1]}")
    print(f"    {messages[-1].text}")


def show(memory: Memory, customer: str) -> None:
    """Print the customer's page: each line has a button by which `forget` is called."""
    print(f"\nThe diary of {customer}:")
    for note in memory.list(user=customer):
        print(f"    {note.created_at:%Y-%m-%d} {note.text}")


def use(memory: Memory, agent: Any, language: str) -> None:
    """Let two customers come by, and one of them clear her page."""
    for customer in (ANA, BO):
        memory.forget(user=customer, everything=True)  # so that each run begins anew
    for customer, topic in VISITS:
        visit(agent, customer, TALK[language][topic][0])
    visit(agent, BO, TALK[language]["told"][0])
    show(memory, BO)
    for note in memory.list(user=BO):
        memory.forget(note.id, user=BO)
    show(memory, BO)


def main() -> None:
    """Let the customers come by, and print what they are told."""
    given = options(__doc__, "diary", languages=TALK)
    with Memory(ChromaStore(given.path)) as memory:
        model = chat_model(given.model, diary_keeper(TALK[given.lang]))
        use(memory, build(memory, model), given.lang)


if __name__ == "__main__":
    main()
