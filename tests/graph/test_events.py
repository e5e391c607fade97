"""What memory writes to the custom stream: of one form, whatever it did, and for whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.types import interrupt
from pydantic import TypeAdapter

from langgraph_memory import Candidate, EpisodeRecorder, Memory, MemoryEvent, Sessions, memory_tools
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import (
    ORDER,
    Shape,
    as_user,
    block_tokens,
    everything,
    noting,
    say,
)
from tests.graph.test_extraction import NOTES, extracting
from tests.graph.test_failures import BrokenStore
from tests.graph.test_memory_tools import model_of
from tests.graph.test_replies import ANSWER as REPLY
from tests.graph.test_replies import reply

Events = list[dict[str, Any]]

KNOWN = "Drinks Colombia from a moka pot"
STREAMS = ["stream", "astream"]
EVENT = TypeAdapter(MemoryEvent)
WHOSE = {"user": "ana", "project": "shop", "agent": "barista"}
NAMED = {"configurable": {f"{kind}_id": id for kind, id in WHOSE.items()} | {"thread_id": "t"}}


async def told(builder: Any, name: str, config: Any = NAMED, text: str = ORDER) -> Events:
    """Return the events of a run, of which each has the form that is documented."""
    graph = builder.compile()
    events = await everything(getattr(graph, name), say(text), config, "custom")
    for event in events:
        check(event)
    return events


def check(event: dict[str, Any]) -> None:
    EVENT.validate_python(event, strict=True)
    assert event.keys() <= MemoryEvent.__annotations__.keys()
    assert {kind: event.get(kind) for kind in WHOSE} == WHOSE
    assert event["ms"] >= 0
    of_type = {
        "memory.recalled": {"nothing_known", "tokens"},
        "memory.saved": {"usage"},
        "memory.refused": set(),
        "memory.failed": {"error", "usage"},
    }[event["type"]]
    assert event.keys() - {"type", "items", "ms"} - WHOSE.keys() <= of_type
    for item in event["items"]:
        own = {"reason"} if event["type"] == "memory.refused" else {"id"}
        assert item.keys() == {"type", "text"} | own


def types(events: Events) -> list[str]:
    return [event["type"].removeprefix("memory.") for event in events]


@pytest.mark.parametrize("name", STREAMS)
async def test_what_was_recalled_and_saved_is_told_of_everybody_it_is_about(
    memory: Memory, surface: Shape, name: str
) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    events = await told(surface(memory, model, is_async=name == "astream"), name)
    assert set(types(events)) == {"recalled", "saved"}
    [recalled] = [event for event in events if event["type"] == "memory.recalled"]
    assert [item["text"] for item in recalled["items"]] == [KNOWN]
    assert recalled["tokens"] == pytest.approx(block_tokens(model.calls[0]), abs=5)


async def test_of_a_run_of_a_user_alone_the_events_name_nobody_else(
    memory: Memory, surface: Shape
) -> None:
    graph = surface(memory, noting()).compile()
    events = await everything(graph.stream, say(ORDER), as_user("ana"), "custom")
    assert [event.keys() & WHOSE.keys() for event in events] == [{"user"}] * len(events)


@pytest.mark.parametrize("known", [True, False])
async def test_a_watcher_learns_whether_anything_is_known_about_the_question(
    memory: Memory, surface: Shape, known: bool
) -> None:
    memory.remember(KNOWN, user="ana")
    asked = "What do I drink Colombia from?" if known else "zebra"
    events = await told(surface(memory, noting()), "stream", text=asked)
    assert [e["nothing_known"] for e in events if "nothing_known" in e] == [not known]


@pytest.mark.parametrize("name", STREAMS)
async def test_a_recall_that_fails_is_told(surface: Shape, name: str) -> None:
    memory = Memory(BrokenStore(reads=True))
    events = await told(surface(memory, noting(), is_async=name == "astream"), name)
    [failed] = [event for event in events if event["type"] == "memory.failed"]
    assert failed["items"] == []
    assert "the disk is on fire" in failed["error"]
    assert "recalled" not in types(events)


@pytest.mark.parametrize("name", STREAMS)
async def test_what_could_not_be_saved_is_told_before_the_run_fails(
    surface: Shape, name: str
) -> None:
    memory = Memory(BrokenStore(writes=True))
    graph = surface(memory, noting(), is_async=name == "astream").compile()
    stream = getattr(graph, name)(say(ORDER), NAMED, stream_mode="custom")
    events: Events = []
    with pytest.raises(OSError, match="the disk is on fire"):
        await kept(stream, events)
    check(events[-1])
    assert types(events)[-1] == "failed"
    assert types(events).count("failed") == 1


async def kept(stream: Any, events: Events) -> None:
    """Keep what a stream gives, also if it ends with an error."""
    if hasattr(stream, "__aiter__"):
        async for event in stream:
            events.append(event)
    else:
        for event in stream:
            events.append(event)


@pytest.mark.parametrize("name", STREAMS)
async def test_notes_that_a_reply_proposes_in_vain_are_told(
    memory: Memory, surface: Shape, name: str
) -> None:
    model = ScriptedChatModel([reply("Hello!", "Which beans?", "My password is hunter2")])
    builder = surface(memory, model, is_async=name == "astream", from_reply=True)
    events = await told(builder, name)
    [refused] = [event for event in events if event["type"] == "memory.refused"]
    assert [item["reason"] for item in refused["items"]] == ["a question", "a secret"]
    assert {item["type"] for item in refused["items"]} == {"note"}
    assert "hunter2" not in str(events)


async def test_a_reply_whose_notes_are_kept_refuses_none(memory: Memory, surface: Shape) -> None:
    events = await told(surface(memory, ScriptedChatModel([REPLY]), from_reply=True), "stream")
    assert "refused" not in types(events)
    assert "note" in [item["type"] for event in events for item in event["items"]]


@pytest.mark.parametrize("name", STREAMS)
async def test_what_a_model_made_of_a_turn_is_told_with_what_it_cost(
    tmp_path: Path, surface: Shape, name: str
) -> None:
    with extracting(tmp_path, NOTES, RuntimeError("overloaded"), retries=0) as memory:
        builder = surface(memory, noting(), is_async=name == "astream")
        found = (await told(builder, name))[-1]
        assert (found["type"], len(found["items"])) == ("memory.saved", 1)
        assert found["usage"]["calls"] == 1
        failed = (await told(builder, name, text="And now?"))[-1]
        assert (failed["type"], failed["items"]) == ("memory.failed", [])
        assert failed["usage"]["calls"] == 1


async def test_whoever_asks_a_person_while_saving_has_not_failed(
    tmp_path: Path, sessions: Sessions, surface: Shape
) -> None:
    def ask(candidate: Candidate) -> Candidate:
        interrupt("Keep this?")
        raise AssertionError("it was not resumed")

    with extracting(tmp_path / "memory", NOTES, accept=ask) as memory:
        graph = surface(memory, noting()).compile(checkpointer=sessions.checkpointer)
        config = sessions.config(user="ana", thread_id="t")
        events = await everything(graph.stream, say(ORDER), config, "custom")
        assert graph.get_state(config).interrupts
        assert "failed" not in types(events)


# -- the tools -----------------------------------------------------------------------------------

STEPS: list[Any] = [
    [("remember", {"text": "Drinks decaf"})],
    [("recall", {"query": "decaf"})],
    [("remember", {"text": "Which beans?"})],
    [("forget", {"id": "12345678"})],
    [("list_memories", {})],
]


@pytest.mark.parametrize("name", STREAMS)
async def test_tools_tell_in_the_same_form(memory: Memory, name: str) -> None:
    """What the model did wrong is told to the model, and is no failure of the memory."""
    graph = create_agent(model_of(*STEPS), memory_tools(memory))
    events = await everything(getattr(graph, name), say("Hi"), NAMED, "custom")
    for event in events:
        check(event)
    assert types(events) == ["saved", "recalled"]
    assert events[1]["nothing_known"] is False


@pytest.mark.parametrize("name", STREAMS)
async def test_tools_that_fail_tell_in_the_same_form(name: str) -> None:
    memory = Memory(BrokenStore(reads=True))
    steps = [step for step in STEPS if step[0][0] != "remember"]
    graph = create_agent(model_of(*steps), memory_tools(memory))
    events = await everything(getattr(graph, name), say("Hi"), NAMED, "custom")
    for event in events:
        check(event)
        assert "the disk is on fire" in event["error"]
    assert types(events) == ["failed"] * 3


async def test_a_recorder_beside_them_changes_nothing(memory: Memory, surface: Shape) -> None:
    graph = surface(memory, noting()).compile()
    config: Any = {**NAMED, "callbacks": [EpisodeRecorder(memory, user="ana")]}
    events = await everything(graph.stream, say(ORDER), config, "custom")
    for event in events:
        check(event)
    assert set(types(events)) == {"recalled", "saved"}
