"""Two agents of one team in one graph: what they share, and what stays one's own.

    python -m examples.team

Ana and Bo work on one project, with a planner and a coder. What Ana decided for the project counts
when Bo asks; what she told about herself is hers. Each agent has lessons of its own, and works by
them for everybody. The models are stand-ins that go by what their prompts say;
`--model openai:gpt-4o-mini` takes a real one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph

from examples.command_line import chat_model, options
from examples.stand_ins import code, plan, scripted
from langgraph_memory import ChromaStore, Memory, open_sessions, with_memory

PROJECT = "shop"
ROLES = {
    "planner": "You are the planner of a team. Plan what is asked, in a few numbered steps.",
    "coder": "You are the coder of a team. Write the code for the plan, and nothing else.",
}
QUESTION = "Write a function for the total of an order, please."
DECISION = "Amounts of money are whole numbers of cents in all code of the shop"
PRIVATE = "Ana leaves the company in March"
LESSONS = {
    "planner": "A plan without a way back was rejected twice: end each plan with one",
    "coder": "Functions without a docstring came back from review: write one",
}


def build(memory: Memory, checkpointer: Any, models: Mapping[str, BaseChatModel]) -> Any:
    """Return the graph: the planner, then the coder, each with memory of its own around it."""
    builder = StateGraph(MessagesState)
    for agent in ROLES:
        node = with_memory(agent_node(agent, models[agent]), memory, project=PROJECT, agent=agent)
        builder.add_node(agent, node)
    builder.add_edge(START, "planner")
    builder.add_edge("planner", "coder")
    return builder.compile(checkpointer=checkpointer)


def agent_node(agent: str, model: BaseChatModel) -> Any:
    """Return a node that lets a model speak for an agent."""

    def work(state: MessagesState) -> dict[str, Any]:
        answer = model.invoke([SystemMessage(ROLES[agent]), *state["messages"]])
        return {"messages": [answer.model_copy(update={"name": agent})]}

    return work


def teach(memory: Memory) -> None:
    """Let Ana say what she decided and something of her own, and each agent what it learned."""
    memory.remember(DECISION, user="ana", project=PROJECT, kind="decision")
    memory.remember(PRIVATE, user="ana")
    for agent, lesson in LESSONS.items():
        memory.remember(lesson, user="ana", agent=agent, kind="lesson")


def ask(graph: Any, config: Any) -> None:
    """Ask the team, and print what each agent knew and what it said."""
    given = {"messages": [HumanMessage(QUESTION)]}
    for mode, part in graph.stream(given, config, stream_mode=["custom", "updates"]):
        if mode == "custom" and part["type"] == "memory.recalled":
            print("  what is known:")
            print("\n".join(f"    - {item['text']}" for item in part["items"]))
        elif mode == "updates":
            for agent, update in part.items():
                print(f"  {agent}:")
                print(textwrap.indent(update["messages"][-1].text, "    "))


def main() -> None:
    """Let Ana decide, and both of them ask."""
    given = options(__doc__, "team")
    stand_ins = {"planner": scripted(plan), "coder": scripted(code)}
    models = {agent: chat_model(given.model, each) for agent, each in stand_ins.items()}
    with Memory(ChromaStore(given.path)) as memory, open_sessions(given.path) as sessions:
        teach(memory)
        graph = build(memory, sessions.checkpointer, models)
        for user in ("ana", "bo"):
            thread = f"{user} {len(sessions.list(user)) + 1}"
            print(f"\n{thread}: {QUESTION}")
            ask(graph, sessions.config(user=user, thread_id=thread))


if __name__ == "__main__":
    main()
