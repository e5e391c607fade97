"""The scripts for those who come from langmem and mem0, on data that these libraries wrote."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from benchmarks.latency_mem0 import open_mem0
from langgraph_memory import ChromaStore, Memory, Message, Note
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.docs.documents import ROOT

EMBEDDINGS = HashingEmbeddings(dims=512)

# langmem imports by names that LangGraph has given up.
pytestmark = pytest.mark.filterwarnings("ignore:Importing Send from langgraph.constants")

# Not `importorskip`: mem0 reads, when it is imported, whether it may call home.
needs_langmem = pytest.mark.skipif(
    find_spec("langmem") is None, reason="not installed: pip install --group bench"
)
needs_mem0 = pytest.mark.skipif(
    find_spec("mem0") is None, reason="not installed: pip install --group bench"
)


def blocks(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def script(page: str) -> SimpleNamespace:
    """Return what the block of a page defines that brings memories over."""
    [block] = [block for block in blocks(page) if "def bring_over" in block]
    names: dict[str, Any] = {}
    exec(block, names)
    return SimpleNamespace(**names)


LANGMEM, MEM0 = script("migrating_from_langmem.md"), script("migrating_from_mem0.md")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=EMBEDDINGS), clock=clock) as memory:
        yield memory


@pytest.fixture(params=["InMemoryStore", "ChromaStore"])
def store(request: pytest.FixtureRequest) -> Iterator[BaseStore]:
    """A store that langmem wrote to: LangGraph's, or ours."""
    index: Any = {"embed": EMBEDDINGS, "dims": 512}
    if request.param == "InMemoryStore":
        yield InMemoryStore(index=index)
    else:
        with ChromaStore.in_memory(index=index) as store:
            yield store


def notes_of(memory: Memory, user: str, **asked: Any) -> list[Note]:
    return [note for note in memory.list(user=user, **asked) if isinstance(note, Note)]


@needs_langmem
def test_what_langmem_s_tool_wrote_becomes_notes(
    store: BaseStore, memory: Memory, clock: ManualClock
) -> None:
    from langmem import create_manage_memory_tool

    tool = create_manage_memory_tool(("memories", "{langgraph_user_id}"), store=store)

    def manage(user: str, **asked: Any) -> str:
        config: Any = {"configurable": {"langgraph_user_id": user}}
        return str(tool.invoke(asked, config)).rpartition(" ")[2]

    tea = manage("ana", content="likes tea")
    lima = manage("ana", content="lives in Lima")
    manage("bruno", content="likes tea")
    manage("ana", content="likes green tea", action="update", id=tea)

    assert len(LANGMEM.bring_over(store, memory, clock)) == 3
    assert LANGMEM.bring_over(store, memory, clock) == []
    notes = {note.text: note for note in notes_of(memory, "ana")}
    assert notes.keys() == {"likes green tea", "lives in Lima"}
    item = store.get(("memories", "ana"), lima)
    assert item is not None
    assert notes["lives in Lima"].created_at == item.updated_at
    assert memory.count(user="bruno")["note"] == 1


@needs_langmem
def test_what_langmem_s_manager_wrote_becomes_notes(
    store: BaseStore, memory: Memory, clock: ManualClock
) -> None:
    from langmem import create_memory_store_manager
    from pydantic import BaseModel

    class Profile(BaseModel):
        name: str
        age: int

    def manage(*, schemas: Any, kind: str, args: Any) -> None:
        model = ScriptedChatModel(
            [AIMessage("", tool_calls=[{"name": kind, "args": args, "id": "1"}])]
        )
        namespace = ("app", "ana")
        manager = create_memory_store_manager(
            model, schemas=schemas, namespace=namespace, store=store
        )
        manager.invoke({"messages": [("user", "Hi"), ("assistant", "Hello!")]})

    manage(schemas=None, kind="Memory", args={"content": "likes tea"})
    manage(schemas=[Profile], kind="Profile", args={"name": "Ana", "age": 31})

    assert len(LANGMEM.bring_over(store, memory, clock, prefix=("app",))) == 2
    notes = {note.metadata["schema"]: note.text for note in notes_of(memory, "ana")}
    assert notes["Memory"] == "likes tea"
    assert json.loads(notes["Profile"]) == {"name": "Ana", "age": 31}


def test_items_of_a_namespace_without_a_user_are_said_to_be_somebodys(
    memory: Memory, clock: ManualClock
) -> None:
    store = InMemoryStore()
    store.put(("memories",), "8e0f", {"content": "喜欢喝茶"})

    assert len(LANGMEM.bring_over(store, memory, clock, user="ana")) == 1
    assert [note.text for note in notes_of(memory, "ana")] == ["喜欢喝茶"]


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    # `open_mem0` sets them for good: afterwards they are again what they were.
    monkeypatch.setenv("MEM0_TELEMETRY", "")
    monkeypatch.setenv("MEM0_DIR", "")
    extracted = {
        "memory": [{"id": "0", "text": "lives in Rosario"}, {"id": "1", "text": "likes tea"}]
    }
    old = open_mem0(tmp_path, EMBEDDINGS, ScriptedChatModel([json.dumps(extracted)]))
    old.add("I like tea, and I live in Rosario", user_id="ana", metadata={"channel": "web"})
    said = [
        {"role": "user", "content": "A kilo of Colombia", "name": "Ana"},
        {"role": "assistant", "content": "It is on its way"},
    ]
    old.add(said, user_id="ana", run_id="monday", infer=False)
    old.add("likes tea", user_id="bruno", infer=False)
    yield old
    old.vector_store.client.close()
    old.close()


def all_of(old: Any, user: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = old.get_all(filters={"user_id": user}, top_k=1_000)["results"]
    return found


@needs_mem0
def test_what_mem0_extracted_becomes_notes_with_their_versions(
    old: Any, memory: Memory, clock: ManualClock
) -> None:
    [city] = [found for found in all_of(old, "ana") if "Rosario" in found["memory"]]
    old.update(city["id"], text="lives in Lima")
    old.update(city["id"], metadata={"channel": "phone"})  # no new text

    assert MEM0.bring_over(all_of(old, "ana"), old.history, memory, clock, "ana") == 4
    assert MEM0.bring_over(all_of(old, "ana"), old.history, memory, clock, "ana") == 0
    [note] = notes_of(memory, "ana", filter={"mem0": city["id"]})
    versions = memory.history(note.id, user="ana")
    assert [version.text for version in versions] == ["lives in Rosario", "lives in Lima"]
    added, updated, _ = old.history(city["id"])
    assert versions[0].valid_from == MEM0.moment_of(added["created_at"])
    assert versions[1].valid_from == MEM0.moment_of(updated["updated_at"])
    assert versions[1].metadata["channel"] == "phone"


@needs_mem0
def test_memories_that_say_the_same_become_one_note(
    old: Any, memory: Memory, clock: ManualClock
) -> None:
    [tea] = [found for found in all_of(old, "ana") if "tea" in found["memory"]]
    [city] = [found for found in all_of(old, "ana") if "Rosario" in found["memory"]]
    old.update(tea["id"], text="lives in Rosario")
    old.update(tea["id"], text="likes coffee")
    old.add("Likes  coffee", user_id="ana", infer=False)

    MEM0.bring_over(all_of(old, "ana"), old.history, memory, clock, "ana", messages=False)
    again = MEM0.bring_over(all_of(old, "ana"), old.history, memory, clock, "ana", messages=False)
    assert again == 0
    notes = notes_of(memory, "ana")
    assert {"lives in Rosario", "likes coffee"} <= {note.text for note in notes}
    assert [note.mentions for note in notes] == [1] * len(notes)
    assert city["id"] in {note.metadata["mem0"] for note in notes}


@needs_mem0
def test_what_mem0_kept_without_a_model_becomes_messages(
    old: Any, memory: Memory, clock: ManualClock
) -> None:
    MEM0.bring_over(all_of(old, "ana"), old.history, memory, clock, "ana")
    said = memory.list(user="ana", types=("message",))
    assert {(m.speaker, m.text, m.thread_id) for m in said if isinstance(m, Message)} == {
        ("Ana", "A kilo of Colombia", "monday"),
        ("assistant", "It is on its way", "monday"),
    }
    MEM0.bring_over(all_of(old, "bruno"), old.history, memory, clock, "bruno", messages=False)
    assert [note.text for note in notes_of(memory, "bruno")] == ["likes tea"]


@needs_mem0
def test_the_page_shows_what_mem0_returns(old: Any) -> None:
    [example] = [block for block in blocks("migrating_from_mem0.md") if "results = [" in block]
    shown = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in ast.parse(example).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("results", "events")
    }
    found = all_of(old, "ana")
    for each in shown["results"]:
        assert any(each.keys() <= real.keys() | {"metadata"} for real in found)
    assert shown["events"]["b7c1"][0].keys() <= old.history(found[0]["id"])[0].keys()
