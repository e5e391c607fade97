"""One conversation, on each surface and in each way of running: the same prompts, state, records.

It has a turn of words, a turn with tools that stops for a person and goes on, and another session.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.types import Command

from langgraph_memory import Memory, MemoryMiddleware, Message, Sessions, open_sessions
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Way,
    block_in,
    episodes,
    everything,
    messages_of,
    opened,
    say,
)
from tests.graph.test_tools import (
    ANSWER,
    ASKED,
    KNOWN,
    TOOLS,
    calling,
    loop_between_nodes,
    wrapped_loop,
)

Build = Callable[..., Any]


def agent(memory: Memory, model: ScriptedChatModel, *, is_async: bool) -> Any:
    return create_agent(model, TOOLS, middleware=[MemoryMiddleware(memory)]).builder


SURFACES: dict[str, Build] = {
    "nodes": loop_between_nodes,
    "with_memory": wrapped_loop,
    "middleware": agent,
}
WAYS = ["invoke", "ainvoke", "stream", "astream", "astream_events", "batch", "abatch"]


@dataclass(frozen=True)
class Seen:
    """What a conversation came to, but for random ids, times, and which node did it."""

    blocks: list[str]
    """That the model saw, call by call."""
    prompts: list[list[str]]
    """The types of the messages that it saw."""
    states: list[list[tuple[str, str]]]
    """After each run, types and texts."""
    messages: list[tuple[str, str, str]]
    tasks: list[tuple[str, str, bool, str | None]]
    counts: dict[Any, int]


async def run(graph: Any, name: str, given: Any, config: Any) -> list[tuple[str, str]]:
    if name == "batch":
        [state] = graph.batch([given], [config])
    elif name == "abatch":
        [state] = await graph.abatch([given], [config])
    else:
        state = await Way(name)(graph, given, config)
    # The stream of values of a run that stops ends with the interrupt.
    state = state if "messages" in state else graph.get_state(config).values
    return [(message.type, message.text) for message in messages_of(state)]


async def converse(
    surface: Build, memory: Memory, sessions: Sessions, *, first: str, then: str
) -> Seen:
    """Have the conversation; runs that go on with a turn may do so in another way."""
    memory.remember(KNOWN, user="ana")
    script: list[Any] = [
        "Noted, thank you.",
        calling("price"),
        calling("confirm"),
        ANSWER,
        "As last time.",
    ]
    model = ScriptedChatModel(script)
    is_async = first.startswith("a") and then.startswith("a")
    graph = surface(memory, model, is_async=is_async).compile(checkpointer=sessions.checkpointer)
    monday = sessions.config(user="ana", thread_id="monday")
    tuesday = sessions.config(user="ana", thread_id="tuesday")
    states = [
        await run(graph, first, say(ORDER), monday),
        await run(graph, first, say(ASKED), monday),
        await run(graph, then, Command(resume="yes"), monday),
        await run(graph, then, say(AGAIN), tuesday),
    ]
    said = [m for m in memory.list(user="ana", types=("message",)) if isinstance(m, Message)]
    said.sort(key=lambda message: (message.thread_id, message.created_at, message.position))
    return Seen(
        [re.sub(r"\[[\d-]+\] |node: chat; ", "", block_in(prompt)) for prompt in model.calls],
        [[message.type for message in prompt] for prompt in model.calls],
        states,
        [(message.thread_id, message.role, message.text) for message in said],
        [
            (each.task, each.outcome, "tools: price, confirm" in each.approach, each.thread_id)
            for each in episodes(memory, "ana")
        ],
        dict(memory.count(user="ana")),
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The conversation on nodes, by `invoke` alone."""
    path: Path = tmp_path_factory.mktemp("expected")
    with opened(path) as memory, open_sessions(path) as sessions:
        talk = converse(loop_between_nodes, memory, sessions, first="invoke", then="invoke")
        return asyncio.run(talk)


def test_the_conversation_is_what_it_is_meant_to_be(expected: Seen) -> None:
    assert [KNOWN in block for block in expected.blocks] == [True] * 5
    assert ORDER in expected.blocks[-1]
    assert [state[-1] for state in expected.states] == [
        ("ai", "Noted, thank you."),
        ("ai", ""),
        ("ai", ANSWER),
        ("ai", "As last time."),
    ]
    assert [text for _, _, text in expected.messages] == [
        ORDER,
        "Noted, thank you.",
        ASKED,
        ANSWER,
        AGAIN,
        "As last time.",
    ]
    assert [task[:3] for task in expected.tasks] == [
        (ORDER, "completed", False),
        (ASKED, "completed", True),
        (AGAIN, "completed", False),
    ]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", WAYS)
async def test_each_way_of_running_gives_the_same(
    memory: Memory, sessions: Sessions, surface: str, name: str, expected: Seen
) -> None:
    assert await converse(SURFACES[surface], memory, sessions, first=name, then=name) == expected


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(("first", "then"), [("invoke", "astream"), ("ainvoke", "stream")])
async def test_a_turn_may_stop_in_one_way_and_go_on_in_another(
    memory: Memory, sessions: Sessions, surface: str, first: str, then: str, expected: Seen
) -> None:
    assert await converse(SURFACES[surface], memory, sessions, first=first, then=then) == expected


@pytest.mark.parametrize("surface", SURFACES)
async def test_both_streams_tell_the_same(tmp_path: Path, surface: str) -> None:
    told: list[list[Any]] = []
    for name in ("stream", "astream"):
        with opened(tmp_path / name) as memory, open_sessions(tmp_path / name) as sessions:
            memory.remember(KNOWN, user="ana")
            model = ScriptedChatModel([calling("price"), calling("confirm"), ANSWER])
            builder = SURFACES[surface](memory, model, is_async=name == "astream")
            graph = builder.compile(checkpointer=sessions.checkpointer)
            config = sessions.config(user="ana", thread_id="monday")
            runs: list[Any] = [say(ASKED), Command(resume="yes")]
            events = [
                event
                for given in runs
                for event in await everything(getattr(graph, name), given, config, "custom")
            ]
        told.append(
            [
                (event["type"], [(item["type"], item["text"]) for item in event["items"]])
                for event in events
            ]
        )
    assert told[0] == told[1]
    assert ("memory.recalled", [("note", KNOWN)]) in told[0]
    type, items = told[0][-1]
    assert (type, items[-1][0]) == ("memory.saved", "episode")
    assert ("message", ANSWER) in items
