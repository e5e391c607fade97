"""The agent of `examples/task_agent.py` learns from its memory alone, whatever the task is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples import stand_ins, task_agent
from examples.stand_ins import choose_by_lessons, draw_lessons, scripted
from examples.task_agent import USER, Job, attempt, build
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from langgraph_memory.text.escaping import CLOSE, OPEN

JOBS = {
    "import": Job(
        "Import the stock list of the branch in Wels",
        "Import the stock list of the branch in Steyr",
        ("read_as_utf8", "read_as_latin1"),
        "read_as_latin1",
        "UnicodeDecodeError: can't decode byte 0xe4",
    ),
    "parcel": Job(
        "Ship the thirty sacks of Sidamo to Oslo",
        "Ship the fifty sacks of Sidamo to Turku",
        ("parcel_post", "freight"),
        "freight",
        "the carrier takes no parcels above thirty kilos",
    ),
    "meeting": Job(
        "Find a date for the tasting with the Brazilian growers",
        "Find a date for the harvest review with the Brazilian growers",
        ("propose_morning", "propose_noon", "propose_evening"),
        "propose_evening",
        "nobody answered, it is night there",
    ),
    "发票": Job(
        "给批发客户开三月的发票",
        "给批发客户开四月的发票",
        ("旧模板", "新模板"),
        "新模板",
        "税号的位置不对，客户退回了发票",
    ),
    "库存": Job(
        "盘点维也纳仓库的咖啡豆",
        "盘点萨尔茨堡仓库的咖啡豆",
        ("按袋数盘点", "按重量盘点"),
        "按重量盘点",
        "开过的袋子没有算进去",
    ),
}


@pytest.fixture(params=JOBS)
def job(request: pytest.FixtureRequest) -> Job:
    return JOBS[request.param]


@pytest.fixture
def chooser() -> ScriptedChatModel:
    return scripted(choose_by_lessons)


@pytest.fixture
def memory() -> Iterator[Memory]:
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    with Memory(store, model=scripted(draw_lessons), reflect_every=None) as memory:
        yield memory


def test_the_code_of_the_example_names_none_of_these_tasks() -> None:
    files = [Path(str(module.__file__)) for module in (task_agent, stand_ins)]
    source = "\n".join(file.read_text(encoding="utf-8") for file in files)
    for job in JOBS.values():
        for text in (job.first, job.second, *job.ways, job.error):
            assert text not in source


def test_the_agent_fails_reflects_and_does_the_next_task_like_it_in_another_way(
    memory: Memory, job: Job, chooser: ScriptedChatModel
) -> None:
    agent = build(memory, chooser, job)
    failed = [attempt(agent, job.first)]
    while failed[-1] != job.works:
        [change] = memory.reflect(user=USER)
        assert failed[-1] in change.record.text
        failed.append(attempt(agent, job.second))
    assert failed == [*job.ways[: len(failed) - 1], job.works]  # no way twice
    outcomes = [
        record.to_value()["outcome"] for record in memory.list(user=USER, types=["episode"])
    ]
    assert sorted(outcomes) == ["failure"] * (len(failed) - 1) + ["success"]


def test_its_second_way_comes_from_the_recalled_block_and_from_nothing_else(
    memory: Memory, job: Job, chooser: ScriptedChatModel
) -> None:
    agent = build(memory, chooser, job)
    assert attempt(agent, job.first) == job.ways[0]
    memory.reflect(user=USER)
    assert attempt(agent, job.second) == job.ways[1]
    system, asked = chooser.calls[-1]
    start, end = asked.text.index(OPEN), asked.text.index(CLOSE) + len(CLOSE)
    assert job.ways[0] in asked.text[start:end]
    assert asked.text[:start] + asked.text[end:].strip() == job.second
    without = asked.model_copy(update={"content": job.second})
    assert choose_by_lessons([system, without]) == job.ways[0]


def test_without_the_episodes_and_lessons_it_fails_again(
    memory: Memory, job: Job, chooser: ScriptedChatModel
) -> None:
    agent = build(memory, chooser, job)
    attempt(agent, job.first)
    assert attempt(agent, job.second) == job.ways[0], "it has not reflected yet"
    memory.reflect(user=USER)
    assert attempt(agent, job.second) == job.ways[1]
    for record in memory.list(user=USER, types=["episode", "note"]):
        memory.forget(record.id, user=USER)
    assert attempt(agent, job.second) == job.ways[0]


def test_what_was_learnt_of_one_task_does_not_bear_on_another(
    memory: Memory, chooser: ScriptedChatModel
) -> None:
    shipping = JOBS["parcel"]
    attempt(build(memory, chooser, shipping), shipping.first)
    memory.reflect(user=USER)
    other = shipping._replace(first="Bestellbestätigung drucken")
    assert attempt(build(memory, chooser, other), other.first) == shipping.ways[0]
