"""Notes out of the turns of a graph: what is read, what a watcher sees, what a failure does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, ConfigurationError, Memory, Sessions
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.graph.graphs import (
    ORDER,
    Shape,
    Way,
    answer,
    as_user,
    block_in,
    everything,
    messages_of,
    noting,
    said,
    say,
)

TEXT = "The user brews with a moka pot."
NOTES = {"notes": [{"message": 1, "quote": "ground for a moka pot", "text": TEXT}]}


def extracting(path: Path, *answers: Any, **options: Any) -> Memory:
    store = ChromaStore(path, embed=HashingEmbeddings())
    return Memory(store, model=ScriptedChatModel(answers), **options)


def texts(memory: Memory, user: str = "ana") -> list[str]:
    return [record.text for record in memory.list(user=user)]


async def test_what_was_said_today_is_a_note_in_the_next_session(
    tmp_path: Path, sessions: Sessions, shape: Shape, way: Way
) -> None:
    with extracting(tmp_path, NOTES, {"notes": []}) as memory:
        model = noting()
        graph = shape(memory, model, is_async=way.is_async).compile(
            checkpointer=sessions.checkpointer
        )
        await way(graph, say(ORDER), sessions.config(user="ana", thread_id="monday"))
        assert texts(memory) == [TEXT]
        await way(graph, say("Hello"), sessions.config(user="ana", thread_id="tuesday"))
        assert TEXT in block_in(model.calls[-1])


async def test_a_failing_model_costs_no_answer_and_loses_nothing(
    tmp_path: Path, sessions: Sessions, shape: Shape, way: Way
) -> None:
    with extracting(tmp_path, RuntimeError("overloaded"), NOTES, retries=0) as memory:
        graph = shape(memory, noting(), is_async=way.is_async).compile(
            checkpointer=sessions.checkpointer
        )
        config = sessions.config(user="ana", thread_id="t")
        assert answer(await way(graph, say(ORDER), config)) == "Noted, thank you."
        assert memory.pending(user="ana") == {"t": 1}
        await way(graph, say("Are you there?"), config)
        assert (texts(memory), memory.pending(user="ana")) == ([TEXT], {})


async def test_a_watcher_sees_the_notes_and_what_they_cost(
    tmp_path: Path, sessions: Sessions, shape: Shape, way: Way
) -> None:
    with extracting(tmp_path, NOTES, RuntimeError("overloaded"), retries=0) as memory:
        graph = shape(memory, noting(), is_async=way.is_async).compile(
            checkpointer=sessions.checkpointer
        )
        stream = graph.astream if way.is_async else graph.stream
        config = sessions.config(user="ana", thread_id="t")
        first = (await everything(stream, say(ORDER), config, "custom"))[-1]
        second = (await everything(stream, say("And now?"), config, "custom"))[-1]
        [found] = memory.list(user="ana")
        assert first["type"] == "memory.saved"
        assert first["user"] == "ana"
        assert first["items"] == [{"id": found.id, "type": "note", "text": TEXT}]
        assert first["ms"] >= 0
        assert first["usage"]["calls"] == 1
        assert (second["type"], second["items"]) == ("memory.failed", [])
        assert "overloaded" in second["error"]
        assert second["usage"]["calls"] == 1


async def test_the_tokens_of_an_extraction_are_not_streamed_as_the_agents(
    tmp_path: Path, sessions: Sessions, shape: Shape, way: Way
) -> None:
    with extracting(tmp_path, NOTES) as memory:
        graph = shape(memory, noting(), is_async=way.is_async).compile(
            checkpointer=sessions.checkpointer
        )
        stream = graph.astream if way.is_async else graph.stream
        config = sessions.config(user="ana", thread_id="t")
        chunks = await everything(stream, say(ORDER), config, "messages")
        streamed = [chunk for chunk, _ in chunks if isinstance(chunk, AIMessage)]
        assert "".join(chunk.text for chunk in streamed) == "Noted, thank you."
        assert not any(getattr(chunk, "tool_call_chunks", None) for chunk in streamed)


def everything_shown(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """What a careless model says: a note of each line that it could have been shown."""
    lines = [SYSTEM, TOOL, SUMMARY, REMEMBERED, "The user drinks tea"]
    return {"notes": [{"message": 1, "quote": line, "text": f"{line}."} for line in lines]}


SYSTEM = "You work for Initech"
TOOL = "The customer's name is John Doe"
SUMMARY = "The user has two cats"
REMEMBERED = "Is allergic to hazelnuts"


async def test_nothing_is_extracted_that_nobody_said(
    tmp_path: Path, sessions: Sessions, shape: Shape, way: Way
) -> None:
    with extracting(tmp_path, everything_shown) as memory:
        memory.remember(REMEMBERED, user="ana")
        call = {"name": "lookup", "args": {}, "id": "c"}
        history = [
            SystemMessage(SYSTEM),
            HumanMessage(SUMMARY, additional_kwargs={"lc_source": "summarization"}),
            HumanMessage("Who am I?"),
            AIMessage("", tool_calls=[call]),
            ToolMessage(TOOL, tool_call_id="c"),
            AIMessage("Let me think."),
            HumanMessage("The user drinks tea, as one says."),
        ]
        graph = shape(memory, noting(), is_async=way.is_async).compile(
            checkpointer=sessions.checkpointer
        )
        config = sessions.config(user="ana", thread_id="t")
        await way(graph, {"messages": history}, config)
        assert texts(memory) == ["The user drinks tea.", REMEMBERED]
        asked, *_ = memory.model.calls  # type: ignore[union-attr]  # it is scripted
        assert not any(line in asked[-1].text for line in (SYSTEM, TOOL, SUMMARY, REMEMBERED))


async def test_without_a_checkpointer_each_turn_is_read_once(
    tmp_path: Path, shape: Shape, way: Way
) -> None:
    """A client that sends its whole history again has its latest turn read, and no other."""
    with extracting(tmp_path, NOTES, {"notes": []}) as memory:
        graph = shape(memory, noting(), is_async=way.is_async).compile()
        state = await way(graph, say(ORDER), as_user("ana", "t"))
        again = [HumanMessage(m.text) if m.type == "human" else m for m in messages_of(state)]
        await way(graph, {"messages": [*again, HumanMessage("Thanks")]}, as_user("ana", "t"))
        assert texts(memory) == [TEXT]
        assert len(said(memory, "ana")) == 4
        assert memory.model.calls[1][-1].text.count(' n="') == 2  # type: ignore[union-attr]  # it is scripted


async def test_the_runs_own_store_is_used_where_there_is_no_other(shape: Shape, way: Way) -> None:
    store = InMemoryStore()
    memory = Memory(model=ScriptedChatModel([NOTES]))
    graph = shape(memory, noting(), is_async=way.is_async).compile(store=store)
    await way(graph, say(ORDER), as_user("ana", "t"))
    assert texts(memory.using(store)) == [TEXT]


async def test_a_model_that_cannot_be_made_is_said_at_the_first_turn(
    tmp_path: Path, sessions: Sessions, shape: Shape, way: Way
) -> None:
    """As any wiring that cannot work; what was said is kept."""
    store = ChromaStore(tmp_path, embed=HashingEmbeddings())
    with Memory(store, model="nobody:knows") as memory:
        graph = shape(memory, noting(), is_async=way.is_async).compile(
            checkpointer=sessions.checkpointer
        )
        with pytest.raises(ConfigurationError, match="nobody:knows"):
            await way(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
        assert memory.pending(user="ana") == {"t": 1}
