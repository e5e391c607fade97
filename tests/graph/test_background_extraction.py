"""Notes that a model extracts in the background, also by the next process if this one is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from langgraph_memory import ChromaStore, Memory
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.graph.graphs import Shape, Way, as_user, everything, noting, said, say

ROOT = Path(__file__).parents[2]
LONG = 60.0
GRAZ = {
    "message": 1,
    "quote": "I live in Graz",
    "text": "The user lives in Graz.",
    "kind": "fact",
    "slot": "home city",
}
NOTES = {"notes": [GRAZ]}
SAID = "By the way, I live in Graz since last summer."

CHILD = """
    import os, signal, sys

    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph

    from langgraph_memory import ChromaStore, Memory, with_memory
    from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
    from tests.graph.test_background_extraction import NOTES, SAID

    path, end = sys.argv[1:]
    answer = NOTES if end == "exit" else lambda _: os.kill(os.getpid(), signal.SIGKILL)
    store = ChromaStore(path, embed=HashingEmbeddings())
    memory = Memory(store, model=ScriptedChatModel([answer]), debounce=0 if end == "kill" else 3600)
    builder = StateGraph(MessagesState)
    chat = lambda state: {"messages": [AIMessage("A fine city.")]}
    builder.add_node("chat", with_memory(chat, memory, background=True))
    builder.add_edge(START, "chat")
    config = {"configurable": {"user_id": "ana", "thread_id": "t"}}
    builder.compile().invoke({"messages": [("user", SAID)]}, config)
    if end == "kill":
        memory.flush()
"""


def in_a_process(path: Path, end: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(CHILD), str(path), end],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory.list(user="ana")]


@pytest.mark.slow
def test_a_short_process_ends_with_its_notes_extracted(tmp_path: Path) -> None:
    done = in_a_process(tmp_path, "exit")
    assert (done.returncode, done.stderr) == (0, "")
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings())) as memory:
        assert texts(memory) == ["The user lives in Graz."]
        assert memory.pending(user="ana") == {}


def test_what_a_killed_process_did_not_extract_the_next_one_does(tmp_path: Path) -> None:
    assert in_a_process(tmp_path, "kill").returncode == -signal.SIGKILL
    model = ScriptedChatModel([NOTES])
    with Memory(ChromaStore(tmp_path, embed=HashingEmbeddings()), model=model) as memory:
        assert said(memory, "ana") == [f"user: {SAID}", "assistant: A fine city."]
        assert texts(memory) == []
        assert memory.pending(user="ana") == {"t": 1}
        memory.process_later("ana", "t")
        assert memory.flush(LONG)
        assert texts(memory) == ["The user lives in Graz."]
        assert memory.pending(user="ana") == {}


async def test_notes_are_extracted_after_the_run_and_are_not_in_its_stream(
    shape: Shape, way: Way
) -> None:
    with Memory(InMemoryStore(), model=ScriptedChatModel([NOTES]), debounce=3600) as memory:
        graph = shape(memory, noting(), is_async=way.is_async, background=True).compile()
        name = "astream" if way.is_async else "stream"
        events = await everything(getattr(graph, name), say(SAID), as_user("ana", "t"), "custom")
        items = [item["type"] for event in events for item in event["items"]]
        assert "note" not in items
        assert memory.pending(user="ana") == {"t": 1}
        assert await memory.aflush(LONG)
        assert texts(memory) == ["The user lives in Graz."]


def test_a_model_that_fails_leaves_its_messages_to_the_next_turn(shape: Shape) -> None:
    model = ScriptedChatModel([OSError("no route")] * 3 + [NOTES])
    with Memory(InMemoryStore(), model=model, debounce=0) as memory:
        graph = shape(memory, noting(), background=True).compile()
        graph.invoke(say(SAID), as_user("ana", "t"))
        assert memory.flush(LONG)
        assert memory.pending(user="ana") == {"t": 1}
        graph.invoke(say("What shall I drink?"), as_user("ana", "t"))
        assert memory.flush(LONG)
        assert texts(memory) == ["The user lives in Graz."]
        assert memory.pending(user="ana") == {}


def test_all_that_piled_up_is_extracted_though_a_model_reads_but_some_of_it_at_once() -> None:
    def answer(messages: list[BaseMessage]) -> dict[str, Any]:
        return {"notes": []}

    model = ScriptedChatModel([answer] * 20)
    with Memory(InMemoryStore(), model=model, debounce=3600) as memory:
        for number in range(20):
            turn = [
                HumanMessage(f"{number}: " + "coffee " * 1_000, id=f"q{number}"),
                AIMessage("I see.", id=f"a{number}"),
            ]
            memory.log_turn(turn, user="ana", thread_id="t")
            memory.process_later("ana", "t")
        assert memory.flush(LONG)
        assert memory.pending(user="ana") == {}
        assert 1 < len(model.calls) < 20
        assert json.dumps("19: coffee")[1:-1] in str(model.calls[-1])
