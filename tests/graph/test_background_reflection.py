"""Lessons that are drawn in the background: when, by whom, and what a killed process leaves."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, Memory
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.graph.graphs import Shape, Way, as_user, episodes, noting, say

ROOT = Path(__file__).parents[2]
LONG = 60.0
TEXT = "Price lists go to the roasteries by mail."
LESSONS = {"lessons": [{"text": TEXT, "tasks": [1], "importance": 0.7}]}
NOTHING: dict[str, Any] = {"lessons": []}


def learnt(memory: Memory) -> list[str]:
    return [note.text for note in memory.list(user="ana", kinds=["lesson"])]


def answers(messages: list[BaseMessage]) -> dict[str, Any]:
    """Answer as the model that looks through messages, and as the one that looks at episodes."""
    return LESSONS if "<task n=" in messages[-1].text else {"notes": []}


def asked(model: ScriptedChatModel) -> int:
    """Return how often a model was asked for lessons."""
    return sum("<task n=" in messages[-1].text for messages in model.calls)


async def test_turns_are_reflected_on_when_there_are_enough_also_across_restarts(
    shape: Shape, way: Way
) -> None:
    store, model = InMemoryStore(), ScriptedChatModel([answers] * 20)

    def opened() -> Memory:
        return Memory(store, model=model, debounce=0, reflect_every=3)

    async def turn(memory: Memory, text: str, thread: str) -> None:
        graph = shape(memory, noting(), is_async=way.is_async).compile()
        await way(graph, say(text), as_user("ana", thread))
        assert await memory.aflush(LONG)

    with opened() as memory:
        await turn(memory, "Send the price list of May to Graz", "1")
        await turn(memory, "Send the price list of June to Graz", "2")
        assert asked(model) == 0
    with opened() as memory:
        await turn(memory, "Send the price list of July to Graz", "3")
        assert asked(model) == 1
        assert learnt(memory) == [TEXT]
        assert all(episode.reflected_at for episode in episodes(memory, "ana"))
        await turn(memory, "Send the price list of August to Graz", "4")
        assert asked(model) == 1


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_failure_is_reflected_on_at_once_and_several_that_come_together_in_one_call(
    is_async: bool,
) -> None:
    model = ScriptedChatModel([LESSONS])
    with Memory(InMemoryStore(), model=model, debounce=3600) as memory:
        for task in ("Fax the list of May", "Fax the list of June"):
            if is_async:
                await memory.alog_episode(task, user="ana", outcome="failure")
            else:
                memory.log_episode(task, user="ana", outcome="failure")
        assert model.calls == []
        assert await memory.aflush(LONG)
        assert asked(model) == 1
        assert learnt(memory) == [TEXT]


def test_closing_a_memory_draws_the_lessons_that_are_due() -> None:
    store = InMemoryStore()
    with Memory(store, model=ScriptedChatModel([LESSONS]), debounce=3600) as memory:
        memory.log_episode("Fax the list", user="ana", outcome="failure")
    with Memory(store) as memory:
        assert learnt(memory) == [TEXT]


def test_reflecting_and_extracting_in_the_background_do_not_displace_each_other(
    shape: Shape,
) -> None:
    model = ScriptedChatModel([answers] * 2)
    with Memory(InMemoryStore(), model=model, debounce=3600, reflect_every=1) as memory:
        graph = shape(memory, noting(), background=True).compile()
        graph.invoke(say("Send the price list of May to Graz"), as_user("ana", "t"))
        assert memory.flush(LONG)
        assert (asked(model), len(model.calls)) == (1, 2)
        assert memory.pending(user="ana") == {}
        assert learnt(memory) == [TEXT]


def test_a_model_that_fails_is_logged_and_the_next_episode_tries_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ScriptedChatModel([OSError("no route")] * 3 + [LESSONS])
    with Memory(InMemoryStore(), model=model, debounce=0) as memory:
        memory.log_episode("Fax the list", user="ana", outcome="failure")
        with caplog.at_level(logging.WARNING):
            assert memory.flush(LONG)
        assert "no lessons could be drawn; the episodes wait" in caplog.text
        assert "Fax the list" not in caplog.text
        assert [episode.reflected_at for episode in episodes(memory, "ana")] == [None]
        memory.log_episode("Thank the customers", user="ana")
        assert memory.flush(LONG)
        assert learnt(memory) == [TEXT]


@pytest.mark.parametrize("options", [{"model": None}, {"reflect_every": None}], ids=str)
def test_without_a_model_or_where_it_is_not_wanted_nothing_happens_in_the_background(
    options: dict[str, Any],
) -> None:
    model = ScriptedChatModel([])
    with Memory(InMemoryStore(), **{"model": model, "debounce": 0, **options}) as memory:
        memory.log_episode("Fax the list", user="ana", outcome="failure")
        assert memory.flush(LONG)
        assert model.calls == []
        assert [episode.reflected_at for episode in episodes(memory, "ana")] == [None]


async def test_reflections_that_come_at_once_ask_about_each_episode_once() -> None:
    model = ScriptedChatModel([LESSONS])
    with Memory(InMemoryStore(), model=model, debounce=0) as memory:
        memory.log_episode("Fax the list", user="ana", outcome="failure")
        by_hand = await asyncio.gather(*(memory.areflect(user="ana") for _ in range(8)))
        assert await memory.aflush(LONG)
        assert asked(model) == 1
        assert sum(map(len, by_hand)) in (0, 1)  # the background may have been first
        assert learnt(memory) == [TEXT]


CHILD = """
    import os, signal, sys

    from langgraph_memory import ChromaStore, Memory
    from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel

    store = ChromaStore(sys.argv[1], embed=HashingEmbeddings())
    model = ScriptedChatModel([lambda _: os.kill(os.getpid(), signal.SIGKILL)])
    memory = Memory(store, model=model, debounce=0)
    memory.log_episode("Fax the list", user="ana", outcome="failure")
    memory.flush()
"""


@pytest.mark.slow
def test_what_a_killed_process_did_not_reflect_on_the_next_one_does(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(CHILD), str(tmp_path)]
    killed = subprocess.run(command, cwd=ROOT, timeout=LONG, check=False)
    assert killed.returncode == -signal.SIGKILL
    model = ScriptedChatModel([LESSONS])
    store = ChromaStore(tmp_path, embed=HashingEmbeddings())
    with Memory(store, model=model, debounce=0) as memory:
        assert learnt(memory) == []
        memory.log_episode("Thank the customers", user="ana")  # no failure, but one waits
        assert memory.flush(LONG)
        assert learnt(memory) == [TEXT]
