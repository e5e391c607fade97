"""Two agents of one team in one graph: what they share, and what stays one's own.

    python -m examples.team

Ana and Bo work on one project, with a planner and a coder. What Ana decided for the project counts
when Bo asks; what she told about herself is hers. Each agent has lessons of its own, and works by
them for everybody. The models are stand-ins that go by what their prompts say;
`--model openai:gpt-4o-mini` takes a real one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_memory import ChromaStore, Memory, open_sessions, with_memory

PROJECT = "shop"
ROLES = {
    "planner": "You are the planner of a team. Plan what is asked, in a few numbered steps.",
    "coder": "You are the coder of a team. Write the code for the plan, and nothing else.",
}
QUESTION = "We need a function for the total of an order."
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
                lines = update["messages"][-1].text.splitlines()
                print("\n".join(f"    {line}" for line in lines))


def plan(messages: list[BaseMessage]) -> str:
    """Plan as the prompt says: what stands in for a planner's model."""
    steps = ["write it", "test it"]
    if "way back" in _text(messages):
        steps.append("the way back: revert the release")
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def code(messages: list[BaseMessage]) -> str:
    """Write code as the prompt says: what stands in for a coder's model."""
    known = _text(messages)
    unit = ("cents", "int") if "whole numbers of cents" in known else ("euros", "float")
    docstring = f'    """Return the total, in {unit[0]}."""\n' if "docstring" in known else ""
    head = f"def total({unit[0]}: list[{unit[1]}]) -> {unit[1]}:\n"
    return f"{head}{docstring}    return sum({unit[0]})"


def _text(messages: list[BaseMessage]) -> str:
    return "\n".join(message.text for message in messages)


def chat_models(name: str | None) -> Mapping[str, BaseChatModel]:
    """Return a model for each agent: the one of a name, or the stand-ins."""
    if name is None:
        from langgraph_memory.testing import ScriptedChatModel

        return {
            "planner": ScriptedChatModel([plan, plan]),
            "coder": ScriptedChatModel([code, code]),
        }
    from langchain.chat_models import init_chat_model

    return dict.fromkeys(ROLES, init_chat_model(name))


def main() -> None:
    """Let Ana decide, and both of them ask."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--path", type=Path, default=Path("demo-memory/team"))
    parser.add_argument("--model", help="such as openai:gpt-4o-mini; default: the stand-ins")
    options = parser.parse_args()
    with Memory(ChromaStore(options.path)) as memory, open_sessions(options.path) as sessions:
        teach(memory)
        graph = build(memory, sessions.checkpointer, chat_models(options.model))
        for user in ("ana", "bo"):
            thread = f"{user} {len(sessions.list(user)) + 1}"
            print(f"\n{thread}: {QUESTION}")
            ask(graph, sessions.config(user=user, thread_id=thread))


if __name__ == "__main__":
    main()
