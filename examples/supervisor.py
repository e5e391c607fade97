"""A supervisor with two agents as its tools: one project, and a memory for each of them.

    python -m examples.supervisor

The supervisor talks to people: it alone is given what they said before, and keeps what is decided
as memory of the project. The agents are tools. They read the project's memory and their own, keep
what they learn in their own, and never see the user's. So the writer still knows what Ana
complained of when Bo asks, and nothing else of her. The models are stand-ins;
`--model openai:gpt-4o-mini` takes a real one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool

from examples.command_line import chat_model, options
from examples.stand_ins import research, scripted, supervise, write
from langgraph_memory import ChromaStore, Memory, MemoryMiddleware, memory_tools

PROJECT = "roastery"
SYSTEM = "You run the news of a coffee roastery. Let the researcher find out, and the writer write."
DECISIONS = "Remember what is decided for the roastery, and nothing about a person."
ROLES = {
    "researcher": "Finds out what is known about the roastery. Recall before you answer.",
    "writer": "Writes the news. Recall what was complained of, and remember a new complaint.",
}
OWNERS: dict[str, dict[str, Any]] = {
    "ana": {"user": "ana"},
    "bo": {"user": "bo"},
    "the project": {"user": "ana", "project": PROJECT},
    "the researcher": {"user": "ana", "agent": "researcher"},
    "the writer": {"user": "ana", "agent": "writer"},
}
KNOWN = "Sidamo costs 18 euros a kilo"
ANNOUNCE = "Announce the Sidamo, please."
TALK = [
    ("ana", "Decision: We sell beans such as Sidamo by the kilo only"),
    ("ana", ANNOUNCE),
    ("ana", "That lacks the price: Each announcement says what it costs"),
    ("bo", ANNOUNCE),
]


def build(memory: Memory, models: Mapping[str, BaseChatModel]) -> Any:
    """Return the supervisor: the user's memory and the project's, and agents as tools."""
    around = MemoryMiddleware(
        memory,
        project=PROJECT,
        tools=partial(memory_tools, owner="project"),
        tools_prompt=DECISIONS,
    )
    agents = [agent_tool(memory, name, models[name]) for name in ROLES]
    return create_agent(models["supervisor"], agents, system_prompt=SYSTEM, middleware=[around])


def agent_tool(memory: Memory, name: str, model: BaseChatModel) -> BaseTool:
    """Return an agent as a tool. It acts in its own name: the user's memory is closed to it."""
    own = memory_tools(memory, user=name, project=PROJECT, agent=name, owner="agent")
    agent: Any = create_agent(model, own, system_prompt=ROLES[name], name=name)

    @tool(name, description=ROLES[name])
    def ask(task: str) -> str:
        answer = agent.invoke({"messages": [HumanMessage(task)]})["messages"][-1]
        return str(answer.text)

    return ask


def use(memory: Memory, supervisor: Any) -> None:
    """Let two people work with the supervisor, and print who remembers what."""
    for owner in OWNERS.values():
        memory.forget(**owner, everything=True)  # so that each run begins anew
    memory.remember(KNOWN, user="ana", agent="researcher")
    for user, text in TALK:
        config = {"configurable": {"user_id": user}}
        messages = supervisor.invoke({"messages": [HumanMessage(text)]}, config)["messages"]
        print(f"\n{user}: {text}")
        for message in messages[1:-1]:
            if message.type == "tool":
                print(f"  [{message.name}] {message.text}")
        print(f"    {messages[-1].text}")
    for name, owner in OWNERS.items():
        print(f"\nThe memory of {name}:")
        for record in memory.list(**owner, types=("note", "message")):
            print(f"    {record.type}: {record.text}")


def main() -> None:
    """Let Ana and Bo work with the same supervisor."""
    given = options(__doc__, "supervisor")
    answers = {"supervisor": supervise, "researcher": research, "writer": write}
    models = {name: chat_model(given.model, scripted(each)) for name, each in answers.items()}
    with Memory(ChromaStore(given.path)) as memory:
        use(memory, build(memory, models))


if __name__ == "__main__":
    main()
