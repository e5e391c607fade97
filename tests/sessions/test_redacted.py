"""Sessions with `redact=`: no secret lies in the database, and the thread goes on."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import Item
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send
from pydantic import BaseModel

from langgraph_memory import ConfigurationError, Memory, open_sessions
from langgraph_memory.redaction import redact_secrets, redactor
from langgraph_memory.sessions.langgraph_server import open_checkpointer
from langgraph_memory.sessions.sessions import Sessions
from langgraph_memory.sessions.state_redaction import StateRedactor
from tests.sessions.graphs import Do, answer, chat, say, with_approval, with_deltas

KEY = "sk-" + "abcdefghijklmnopqrst1234"
SECRETS = (KEY, "hunter2", "Kiwi!7")


@pytest.fixture
def sessions(place: str | os.PathLike[str]) -> Iterator[Sessions]:
    with open_sessions(place, redact=True) as opened:
        yield opened


def stored(place: Any) -> str:
    """Everything that the tables hold, as text."""
    if not isinstance(place, str):
        conn: Any = sqlite3.connect(place / "sessions.sqlite")
        tables = ["checkpoints", "writes", "threads"]
    else:
        psycopg = pytest.importorskip("psycopg")
        conn = psycopg.connect(place)
        tables = ["checkpoints", "checkpoint_writes", "checkpoint_blobs", "threads"]
    rows = [row for table in tables for row in conn.execute(f"SELECT * FROM {table}").fetchall()]
    conn.close()
    assert rows
    return " ".join(
        bytes(cell).decode(errors="replace") if isinstance(cell, bytes | memoryview) else str(cell)
        for row in rows
        for cell in row
    )


def is_clean(place: Any) -> bool:
    text = stored(place)
    return not any(secret in text for secret in SECRETS)


async def test_no_secret_lies_in_the_database_and_the_thread_goes_on(
    sessions: Sessions, place: Any, do: Do
) -> None:
    graph = chat(sessions)
    monday = sessions.config(user="ana", thread_id="monday")
    monday["metadata"]["note"] = f"with {KEY}"
    monday["configurable"]["openai_api_key"] = "hunter2"
    given = HumanMessage("My password is hunter2", id="m1", name="ana")
    state = await do(graph, "invoke", {"messages": [given]}, monday)
    # What runs has what it was given.
    assert given.text == "My password is hunter2"
    assert answer(state) == "You said: My password is hunter2"
    state = await do(graph, "invoke", say(f"and {KEY}"), monday)
    assert answer(state) == f"You said: My password is [redacted], and {KEY}"
    assert [type(m) for m in state["messages"]] == [HumanMessage, AIMessage] * 2
    assert (state["messages"][0].id, state["messages"][0].name) == ("m1", "ana")
    assert is_clean(place)
    [session] = sessions.list("ana")
    assert session.title == "My password is [redacted]"
    history = await do(sessions, "history", "ana", "monday")
    assert history[0].messages[0].text == "My password is [redacted]"


async def test_what_was_kept_is_what_another_process_goes_on_with(place: Any, do: Do) -> None:
    with open_sessions(place, redact=True) as sessions:
        config = sessions.config(user="ana", thread_id="t")
        await do(chat(sessions), "invoke", say(f"Use {KEY}"), config)
    with open_sessions(place) as sessions:
        state = await do(chat(sessions), "invoke", say("Done?"), config)
        assert answer(state) == "You said: Use [redacted key], Done?"
        fork = sessions.fork("ana", "t", to="copy")
        assert fork.title == "Use [redacted key]"
    assert is_clean(place)


async def test_an_answer_to_an_interrupt_is_acted_on_and_kept_without_its_secret(
    sessions: Sessions, place: Any, do: Do
) -> None:
    for nested in (False, True):
        graph = with_approval(sessions, nested=nested)
        config = sessions.config(user="ana", thread_id=f"t{nested}")
        await do(graph, "invoke", say("password: Kiwi!7"), config)
        state = await do(graph, "invoke", Command(resume=KEY), config)
        assert answer(state) == f"Approved: {KEY}"
    assert is_clean(place)


async def test_deltas_updates_and_errors_are_kept_without_secrets(
    sessions: Sessions, place: Any, do: Do
) -> None:
    config = sessions.config(user="ana", thread_id="deltas")
    await do(with_deltas(sessions), "invoke", say(f"Use {KEY}"), config)
    state = await do(with_deltas(sessions), "invoke", say("Done?"), config)
    assert answer(state) == "You said: Use [redacted key], Done?"
    assert sessions.list("ana")[0].title == "Use [redacted key]"

    config = sessions.config(user="ana", thread_id="updated")
    await do(chat(sessions), "invoke", say("Hi"), config)
    await do(chat(sessions), "update_state", config, say("my password is hunter2"), as_node="reply")
    found = await do(chat(sessions), "get_state", config)
    assert answer(found.values) == "my password is [redacted]"

    def fail(state: MessagesState) -> dict[str, Any]:
        raise ValueError(f"refused: {KEY}")

    builder = StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail")
    config = sessions.config(user="ana", thread_id="failed")
    with pytest.raises(ValueError, match=KEY):
        await do(builder.compile(checkpointer=sessions.checkpointer), "invoke", say("Hi"), config)
    assert is_clean(place)


async def test_a_server_keeps_no_secret_either(tmp_path: Path) -> None:
    async with open_checkpointer(tmp_path, redact=True) as saver:
        builder: Any = StateGraph(MessagesState)
        builder.add_node("reply", lambda state: {"messages": [AIMessage(f"Got {KEY}")]})
        graph = builder.add_edge(START, "reply").compile(checkpointer=saver)
        await graph.ainvoke(say("password: hunter2"), {"configurable": {"thread_id": "t"}})
        assert is_clean(tmp_path)


def test_a_memorys_redactor_or_any_other_will_do() -> None:
    with (
        Memory(InMemoryStore(), redact=lambda text: text.replace("Graz", "a city")) as memory,
        open_sessions(":memory:", redact=memory.redact) as sessions,
    ):
        config = sessions.config(user="ana", thread_id="t")
        chat(sessions).invoke(say(f"Lives in Graz, {KEY}"), config)
        assert sessions.list("ana")[0].title == f"Lives in a city, {KEY}"
    for wrong in ("secrets", redactor):  # the second was to be called
        with pytest.raises(ConfigurationError, match="redactor\\('phone'\\)"):
            open_sessions(":memory:", redact=wrong)  # type: ignore[arg-type]  # as a user may
        with pytest.raises(ConfigurationError, match="redactor\\('phone'\\)"):
            Memory(InMemoryStore(), redact=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError) as refused:
        redactor("my PIN is 4711")  # type: ignore[arg-type]
    assert "4711" not in str(refused.value)


# -- values of all types --------------------------------------------------------------------------


class Pair(NamedTuple):
    one: str
    two: int


@dataclass(frozen=True, slots=True)
class Frozen:
    text: str
    at: int = 1


class Model(BaseModel):
    text: str
    inner: list[Frozen]


class Colour(StrEnum):
    RED = KEY


SAID = f"a {KEY}"
GONE = "a [redacted key]"
VALUES: list[tuple[Any, Any]] = [
    ({"password": "hunter2", "port": 5432}, {"password": "[redacted]", "port": 5432}),
    ([SAID, (SAID, 1), {SAID}], [GONE, (GONE, 1), {GONE}]),
    (Pair(SAID, 1), Pair(GONE, 1)),
    (deque([SAID], maxlen=3), deque([GONE], maxlen=3)),
    (OrderedDict(a=SAID), OrderedDict(a=GONE)),
    (frozenset([SAID]), frozenset([GONE])),
    (Frozen(SAID), Frozen(GONE)),
    (Model(text=SAID, inner=[Frozen(SAID)]), Model(text=GONE, inner=[Frozen(GONE)])),
    (Send("node", {"text": SAID}), Send("node", {"text": GONE})),
    ({SAID: 1}, {GONE: 1}),
    (Colour.RED, Colour.RED),
    (KEY.encode(), KEY.encode()),
    (
        HumanMessage(["My password is", "hunter2", {"type": "text", "text": "Bye"}]),
        HumanMessage(["My password is", "[redacted]", {"type": "text", "text": "Bye"}]),
    ),
    (
        AIMessage([{"type": "text", "text": f"Use {KEY[:9]}"}, {"type": "text", "text": KEY[9:]}]),
        AIMessage([{"type": "text", "text": "Use [redacted key]"}, {"type": "text", "text": ""}]),
    ),
    (
        AIMessage("", tool_calls=[{"name": "login", "args": {"password": "hunter2"}, "id": KEY}]),
        AIMessage(
            "", tool_calls=[{"name": "login", "args": {"password": "[redacted]"}, "id": KEY}]
        ),
    ),
    (
        ToolMessage(SAID, tool_call_id=KEY, artifact={"token": KEY}, id=KEY),
        ToolMessage(GONE, tool_call_id=KEY, artifact={"token": "[redacted key]"}, id=KEY),
    ),
    (
        SystemMessage("x", additional_kwargs={"api_key": "k3yB4rZz"}),
        SystemMessage("x", additional_kwargs={"api_key": "[redacted]"}),
    ),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda each: type(each).__name__)
def test_a_value_keeps_its_type_and_its_structure(value: Any, expected: Any) -> None:
    redactor = StateRedactor(redact_secrets)
    kept = redactor.value(value)
    assert type(kept) is type(expected)
    assert kept == expected
    assert redactor.value(kept) is kept  # and so it is, when it comes again


def test_an_item_of_a_store_keeps_its_place() -> None:
    item = Item(value={"text": SAID}, key="k", namespace=("a",), created_at=None, updated_at=None)  # type: ignore[arg-type]
    kept = StateRedactor(redact_secrets).value(item)
    assert (kept.value, kept.key, item.value) == ({"text": GONE}, "k", {"text": SAID})


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary() | st.text("ab é中\n"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner) | st.tuples(inner, inner),
)


@given(PLAIN)
def test_a_value_without_secrets_is_the_same(value: Any) -> None:
    assert StateRedactor(redact_secrets).value(value) is value


def test_each_message_of_a_thread_is_read_once() -> None:
    """However long the thread is: of a message that comes again nothing is looked for again."""
    seen: list[str] = []

    def count(text: str) -> str:
        seen.append(text)
        return redact_secrets(text)

    with open_sessions(":memory:", redact=count) as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
        reads = []
        for turn in range(12):
            seen.clear()
            graph.invoke(say(f"This is turn {turn:02}"), config)
            reads.append(len(seen))
    assert reads[-1] <= reads[1] + 2
