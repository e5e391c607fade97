"""An agent that fails at a task, reflects, and does the next one like it in another way.

    python -m examples.task_agent

Each attempt is one run: recall, choose a way, act, log the episode. After a failure `reflect` draws
a lesson, and the next run finds it in its block of memory: nothing else tells it what went wrong.
The two models are stand-ins, one that takes the first way of which no lesson warns, one that writes
a lesson for each failure; `--model openai:gpt-4o-mini` takes a real one for both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

from examples.command_line import chat_model, options
from examples.stand_ins import choose_by_lessons, draw_lessons, scripted
from langgraph_memory import ChromaStore, Memory, MemoryState, messages_with_memory, recall_node

USER = "c-2291"
SYSTEM = "Choose the way in which to do the task. Answer with its name alone. The ways: "


class Job(NamedTuple):
    """A task, and what the world is like."""

    first: str
    second: str
    """A task like the first one."""
    ways: tuple[str, ...]
    works: str
    """The only way that leads to the end."""
    error: str
    """What is said of any other."""


JOBS = {
    "en": Job(
        "Send the May price list to the roastery in Graz",
        "Send the June price list to the roastery in Linz",
        ("send_by_fax", "send_by_mail"),
        "send_by_mail",
        "the roasteries have no fax any more",
    ),
    "zh": Job(
        "把五月的价目表发给格拉茨的烘焙坊",
        "把六月的价目表发给林茨的烘焙坊",
        ("传真", "电子邮件"),
        "电子邮件",
        "烘焙坊已经没有传真机了",
    ),
}


def build(memory: Memory, model: BaseChatModel, job: Job) -> Any:
    """Return the agent: recall, choose, act. Acting logs the episode."""

    def choose(state: MemoryState) -> dict[str, Any]:
        ways = SystemMessage(SYSTEM + " | ".join(job.ways))
        return {"messages": [model.invoke([ways, *messages_with_memory(state)])]}

    def act(state: MemoryState, config: RunnableConfig) -> None:
        task, answer = (message.text for message in state["messages"][-2:])
        way = next((way for way in job.ways if way in answer), answer)
        error = None if way == job.works else job.error
        memory.log_episode(
            task,
            user=config["configurable"]["user_id"],
            approach=way,
            outcome="failure" if error else "success",
            error=error,
        )

    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("choose", choose)
    builder.add_node("act", act)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "choose")
    builder.add_edge("choose", "act")
    return builder.compile(store=memory.store)


def attempt(agent: Any, task: str) -> str:
    """Let the agent do a task, and return the way that it took."""
    config = {"configurable": {"user_id": USER}}
    way: str = agent.invoke({"messages": [HumanMessage(task)]}, config)["messages"][-1].text
    return way


def show(memory: Memory, agent: Any, job: Job) -> None:
    """Let the agent fail, reflect, do it in another way, and fail again once all is forgotten."""
    memory.forget(user=USER, everything=True)  # so that each run begins anew
    print(f"first:    {job.first}\n          {_told(job, attempt(agent, job.first))}")
    for change in memory.reflect(user=USER):
        print(f"learnt:   {change.record.text}")
    print(f"then:     {job.second}\n          {_told(job, attempt(agent, job.second))}")
    memory.forget(user=USER, everything=True)
    print(f"forgot:   {job.second}\n          {_told(job, attempt(agent, job.second))}")


def _told(job: Job, way: str) -> str:
    return f"{way}: done" if way == job.works else f"{way}: {job.error}"


def main() -> None:
    """Show an agent that learns from a failure."""
    given = options(__doc__, "tasks", languages=JOBS)
    choosing = chat_model(given.model, scripted(choose_by_lessons))
    learning = chat_model(given.model, scripted(draw_lessons))
    job = JOBS[given.lang]
    # Here it reflects by hand; else it would do so in the background, at once after the failure.
    with Memory(ChromaStore(given.path), model=learning, reflect_every=None) as memory:
        show(memory, build(memory, choosing, job), job)


if __name__ == "__main__":
    main()
