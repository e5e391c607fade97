"""Rows in a user's namespace that hold no readable record: everything goes on without them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_memory import (
    ChromaStore,
    Memory,
    compact,
    doctor,
    memory_tools,
    reembed,
    with_memory,
)
from langgraph_memory.chroma.calls import persistent_client
from langgraph_memory.chroma.rows import row_id
from langgraph_memory.errors import RecordNotFoundError
from langgraph_memory.records.owners import RECORD_TYPES, Owner, RecordType
from langgraph_memory.records.records import RECORD_CLASSES
from langgraph_memory.records.validation import _told, flaw
from langgraph_memory.store.operations import part_of
from langgraph_memory.testing import HashingEmbeddings, ManualClock

EMBED = HashingEmbeddings(64)
ANA = Owner("user", "ana")
ALL_TYPES: tuple[RecordType, ...] = ("note", "message", "episode", "document")
MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ["2026-05-01", "2026-05-01T12:00:00+00:00", "0001-01-01T00:00:00+14:00", "active", "user"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def open_memory(store: BaseStore) -> Memory:
    return Memory(store, clock=ManualClock(MAY))


def fill(memory: Memory) -> dict[RecordType, dict[str, Any]]:
    """Keep a record of each type; return the values of some by which others are made."""
    memory.remember("I am allergic to peanuts", user="ana", slot="allergy", metadata={"n": 1})
    memory.remember("I like moka", user="ana", kind="preference")
    said = [
        HumanMessage("My sister lives in Porto", id="a" * 20),
        AIMessage("Porto is lovely", id="b" * 20),
    ]
    memory.log_turn(said, user="ana", thread_id="monday")
    memory.log_episode("Book a train to Porto", user="ana", outcome="success", thread_id="monday")
    memory.add_document("Peanuts are legumes.", source="nuts.md", user="ana")
    values: dict[RecordType, dict[str, Any]] = {}
    for type in RECORD_TYPES:
        for item in memory.store.search(ANA.namespace(type), limit=1):
            values[type] = item.value
    return values


def seen(memory: Memory) -> Any:
    """What the verbs find of a user's."""
    return (
        [memory.list(user="ana", types=(type,), status=None) for type in ALL_TYPES],
        memory.count(user="ana"),
        memory.pending(user="ana"),
        memory.facts(user="ana"),
        [
            (each.profile, each.stated, each.recent, each.hits, each.perhaps, each.prompt())
            for question in ("peanuts", "Where does my sister live?", "a train to Porto", "")
            for each in [memory.recall(question, user="ana", thread_id="now")]
        ],
    )


def use(memory: Memory, key: str) -> None:
    """Call each verb that looks at or changes what is there."""
    assert memory.get(key, user="ana") is None
    with suppress(RecordNotFoundError):
        memory.history(key, user="ana")
    memory.forget(user="ana", text="never said")
    memory.consolidate(user="ana", dry_run=True)
    memory.consolidate(user="ana")
    fill(memory)
    memory.remember("I live in Porto", user="ana", slot="home")
    memory.remember("I live in Lisbon", user="ana", slot="home")
    memory.forget(user="ana", everything=True)


class Filled:
    """A memory, the values of some of its records, and what verbs find there."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.values = fill(memory)
        self.before = seen(memory)


def opened(kind: str) -> BaseStore:
    return ChromaStore.in_memory(embed=EMBED) if kind == "chroma" else InMemoryStore()


@pytest.fixture(scope="module", params=["chroma", "other"])
def filled(request: pytest.FixtureRequest) -> Iterator[Filled]:
    """A memory that is only read."""
    with open_memory(opened(request.param)) as memory:
        yield Filled(memory)


def is_bad(type: RecordType, value: dict[str, Any]) -> bool:
    return flaw(type, value) is not None


@st.composite
def broken(draw: st.DrawFn) -> tuple[RecordType, Callable[[dict[str, Any]], dict[str, Any]]]:
    """A type of records, and what is done to the value of one of them."""
    type = draw(st.sampled_from(RECORD_TYPES))
    names = [f.name for f in fields(RECORD_CLASSES[type]) if f.name not in ("id", "owner")]
    changed = draw(st.dictionaries(st.sampled_from(names), JSON, max_size=2))
    removed = draw(st.sets(st.sampled_from(names), max_size=1))
    other = draw(st.none() | st.dictionaries(st.text(max_size=5), JSON, max_size=3))

    def damage(value: dict[str, Any]) -> dict[str, Any]:
        return {
            name: each
            for name, each in ({**value, **changed} if other is None else other).items()
            if name not in removed
        }

    return type, damage


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(broken())
@example(("note", lambda value: {**value, "importance": None}))
@example(("note", lambda value: {**value, "updated_at": "2026-05-01T12:00:00"}))
@example(("note", lambda value: {**value, "metadata": ["n"]}))
@example(("note", lambda value: {**value, "sources": "m-1"}))
@example(("note", lambda value: {"text": "put by another program", "user": "ana"}))
@example(("message", lambda value: {**value, "created_at": "yesterday"}))
@example(("message", lambda value: {**value, "position": 2**40}))
@example(("source", lambda value: {**value, "edition": ["x"]}))
@example(("document", lambda value: {**value, "edition": ["x"]}))
@example(("extraction", lambda value: {"messages": 1}))
def test_any_value_in_a_users_namespace_leaves_what_else_is_there_as_it_was(
    filled: Filled, what: tuple[RecordType, Callable[..., dict[str, Any]]]
) -> None:
    memory, (type, damage) = filled.memory, what
    namespace, value = ANA.namespace(type), damage(filled.values.get(type, {}))
    memory.store.put(namespace, "foreign", value, index=False)
    try:
        found = seen(memory)
        if is_bad(type, value):
            assert found == filled.before
            assert memory.get("foreign", user="ana") is None
        item = memory.store.get(namespace, "foreign")
        assert item is not None  # it is still its writer's
        assert item.value == value
    finally:
        memory.store.delete(namespace, "foreign")


@pytest.mark.parametrize("kind", ["chroma", "other"])
@settings(max_examples=20)
@given(broken())
def test_every_verb_goes_on_beside_a_row_that_is_no_record(
    kind: str, what: tuple[RecordType, Callable[..., dict[str, Any]]]
) -> None:
    with open_memory(opened(kind)) as memory:
        values = fill(memory)
        type, damage = what
        value = damage(values.get(type, {}))
        memory.store.put(ANA.namespace(type), "foreign", value)
        if is_bad(type, value):
            use(memory, "foreign")
            assert memory.store.get(ANA.namespace(type), "foreign") is None
            assert memory.count(user="ana") == dict.fromkeys(memory.count(user="ana"), 0)


@pytest.mark.parametrize("kind", ["chroma", "other"])
def test_rows_that_are_no_records_are_told_of_once(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    _told.clear()
    with open_memory(opened(kind)) as memory, caplog.at_level(logging.WARNING):
        for n in range(3):
            memory.store.put(
                ANA.namespace("note"), f"n{n}", {"text": "the secret", "importance": n}
            )
            memory.recall("secret", user="ana")
            memory.list(user="ana")
    [told] = caplog.messages
    assert "n0" in told
    assert "created_at is missing" in told
    assert "doctor" in told
    assert "the secret" not in told


@pytest.mark.parametrize("kind", ["chroma", "other"])
def test_a_graph_and_its_tools_go_on_beside_a_row_that_is_no_record(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    shown: list[str] = []

    def chat(state: MessagesState) -> dict[str, Any]:
        shown.append(state["messages"][-1].text)
        return {"messages": [AIMessage("Noted.")]}

    with open_memory(opened(kind)) as memory:
        fill(memory)
        for type in RECORD_TYPES:
            memory.store.put(
                ANA.namespace(type), "foreign", {"text": "peanuts", "importance": None}
            )
        node = with_memory(chat, memory)
        graph = StateGraph(MessagesState).add_node("chat", node).add_edge(START, "chat").compile()
        config: RunnableConfig = {"configurable": {"user_id": "ana", "thread_id": "now"}}
        graph.invoke(MessagesState(messages=[HumanMessage("Which nuts may I eat?")]), config)
        tools = {tool.name: tool for tool in memory_tools(memory)}
        listed = tools["list_memories"].invoke({}, config)
        found = tools["recall"].invoke({"query": "peanuts"}, config)
    assert all("I am allergic to peanuts" in text for text in (*shown, listed, found))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


# -- rows that were written to Chroma itself -------------------------------------------------------

TIMES = {"created_at": MAY.isoformat(), "updated_at": MAY.isoformat()}
ENVELOPE = {"value": {"text": "x"}, **TIMES, "order": 1, "vectors": 1}
NOTES = part_of(ANA.namespace("note"))


def raw_rows() -> dict[str, dict[str, Any] | None]:
    """The metadata of rows as other code may have written them, or a failing disk, by their ids."""
    keyed = {"part": NOTES, "key": "k"}

    def kept(**changes: Any) -> dict[str, Any]:
        return {**keyed, "value": json.dumps({**ENVELOPE, **changes})}

    rows: dict[str, dict[str, Any] | None] = {
        "bare": None,
        "without part": {"topic": "coffee"},
        "part of another kind": {"part": 7, "key": "k", "value": "{}"},
        "part is no JSON": {"part": "notes of ana", "key": "k", "value": "{}"},
        "part is no list": {"part": '"ana"', "key": "k", "value": "{}"},
        "without key": {"part": NOTES, "value": json.dumps(ENVELOPE)},
        "without value": dict(keyed),
        "value is no JSON": {**keyed, "value": '{"value": {"te'},
        "value is a number": {**keyed, "value": 4},
        "value is a list": {**keyed, "value": "[]"},
        "value is deep": {**keyed, "value": "[" * 5_000 + "]" * 5_000},
        "record is deep": kept(value=json.loads('{"a":' * 300 + "1" + "}" * 300)),
        "without an envelope": {**keyed, "value": '{"text": "Ana is vegan"}'},
        "naive times": kept(created_at="2026-05-01T12:00:00"),
        "record is a list": kept(value=["x"]),
        "order is a text": kept(order="first"),
        "order is huge": kept(order=10**30),
        "vectors are None": kept(vectors=None),
        "ttl without end": kept(ttl=5.0),
        "another state": {**kept(), "state": "draft"},
        "expired, of another program": {"expires": 5},
        "a namespace of another program": {"part": "ana", "state": "namespace"},
        "whole, under another id": kept(),
        "emptied by another program": {"part": NOTES, "state": "emptied", "emptied": "yes"},
        "no record": kept(),
    }
    return rows | {own_id(name): _with_key(row, name) for name, row in rows.items()}


def own_id(key: str) -> str:
    return row_id(ANA.namespace("note"), key)


def _with_key(row: dict[str, Any] | None, key: str) -> dict[str, Any] | None:
    return {**row, "key": key} if row and "key" in row else row


PASSED_BY = list(map(own_id, ["a namespace of another program", "emptied by another program"]))
"""Rows beside items, which doctor does not look into."""


def write_raw(folder: Path, collection: str = "langgraph_memory") -> None:
    """Write the rows into the collection, by Chroma's own client."""
    client = persistent_client(folder)
    rows = raw_rows()
    found = client.get_collection(collection, embedding_function=None)
    found.upsert(
        ids=list(rows),
        embeddings=[EMBED.embed_query(id) for id in rows],
        metadatas=list(rows.values()),
    )
    client.close()


@pytest.mark.parametrize("limit", [50_000, 4])
def test_rows_of_other_code_in_chroma_leave_what_else_is_there_as_it_was(
    tmp_path: Path, limit: int
) -> None:
    with (
        ChromaStore(tmp_path, embed=EMBED, partition_limit=limit) as store,
        open_memory(store) as m,
    ):
        fill(m)
        before = seen(m)
    assert doctor(tmp_path, EMBED).found == ()
    write_raw(tmp_path)

    reports = [doctor(tmp_path, EMBED), reembed(tmp_path, HashingEmbeddings(32)), compact(tmp_path)]
    told = {line.partition(" cannot be read: ")[0] for line in reports[0].found}
    assert told == {f"row {id}" for id in raw_rows()} - {f"row {id}" for id in PASSED_BY}
    assert any(
        "created_at is missing, in the value of 'no record'" in line for line in reports[0].found
    )

    reembed(tmp_path, EMBED)
    reader = ChromaStore(tmp_path, embed=EMBED, partition_limit=limit, read_only=True)
    with reader, Memory(reader, clock=ManualClock(MAY), read_only=True) as m:
        assert seen(m) == before
    with (
        ChromaStore(tmp_path, embed=EMBED, partition_limit=limit) as store,
        open_memory(store) as m,
    ):
        assert seen(m) == before
        namespace, damaged = ANA.namespace("note"), "value is no JSON"
        assert store.get(namespace, damaged) is None
        store.put(namespace, damaged, {"text": "written anew"})
        assert store.get(namespace, damaged) is not None
        store.sweep_ttl()
        use(m, "k")
        assert store.purge(()) >= 0
