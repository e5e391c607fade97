"""An agent that fails at a task, reflects, and does the next one like it in another way.

    python -m examples.task_agent

Each attempt is one run: recall, choose a way, act, log the episode. After a failure `reflect` draws
a lesson, and the next run finds it in its block of memory: nothing else tells it what went wrong.
The two models are stand-ins, one that takes the first way of which no lesson warns, one that writes
a lesson for each failure; `--model openai:gpt-4o-mini` takes a real one for both.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

from langgraph_memory import ChromaStore, Memory, MemoryState, messages_with_memory, recall_node
from langgraph_memory.lexical import query_tokens
from langgraph_memory.prompts import CLOSE, OPEN
from langgraph_memory.testing import ScriptedChatModel

USER = "c-2291"
SYSTEM = "Choose the way in which to do the task. Answer with its name alone. The ways: "
BETWEEN = " | "


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
        ways = SystemMessage(SYSTEM + BETWEEN.join(job.ways))
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


# -- the stand-ins -------------------------------------------------------------------------------


def choose_by_lessons(messages: list[BaseMessage]) -> str:
    """Take the first way of which no lesson about a task like this one warns."""
    ways = messages[0].text.removeprefix(SYSTEM).split(BETWEEN)
    block, _, task = messages[-1].text.rpartition(CLOSE)
    words = set(query_tokens(task))
    lines = block.partition(OPEN)[2].splitlines()
    lessons = [line.partition("] lesson: ")[2] for line in lines]
    warnings = [lesson for lesson in lessons if words & set(query_tokens(lesson))]
    return next((way for way in ways if not any(way in each for each in warnings)), ways[0])


_FAILURE = re.compile(
    r'<task n="(\d+)" outcome="failure"[^>]*>\nTask: (.*)\nApproach: (.*)\nError: (.*)\n</task>'
)


def draw_lessons(messages: list[BaseMessage]) -> dict[str, Any]:
    """Write a lesson for each failure among the tasks that are shown."""
    lessons = []
    for number, task, way, error in _FAILURE.findall(messages[-1].text):
        chinese = re.search("[\u4e00-\u9fff]", task)
        text = "像“{}”这样的任务不要用{}：{}。" if chinese else "For {!r} do not take {}: {}."
        lesson = {"text": text.format(task, way, error), "tasks": [int(number)], "importance": 0.7}
        lessons.append(lesson)
    return {"lessons": lessons}


def stand_in(answer: Callable[[list[BaseMessage]], Any], times: int = 10) -> ScriptedChatModel:
    """Return a model that answers so."""
    return ScriptedChatModel([answer] * times)


# -- the demonstration ---------------------------------------------------------------------------


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
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--path", type=Path, default=Path("demo-memory/tasks"))
    parser.add_argument("--lang", choices=sorted(JOBS), default="en")
    parser.add_argument("--model", help="such as openai:gpt-4o-mini; default: the stand-ins")
    options = parser.parse_args()
    choosing: BaseChatModel
    choosing, learning = stand_in(choose_by_lessons), stand_in(draw_lessons)
    if options.model:
        from langchain.chat_models import init_chat_model

        choosing, learning = init_chat_model(options.model), options.model
    job = JOBS[options.lang]
    # Here it reflects by hand; else it would do so in the background, at once after the failure.
    with Memory(ChromaStore(options.path), model=learning, reflect_every=None) as memory:
        show(memory, build(memory, choosing, job), job)


if __name__ == "__main__":
    main()
