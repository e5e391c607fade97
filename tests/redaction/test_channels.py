"""Secrets are taken out wherever they come in: beside the text, and in what errors say."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool

from langgraph_memory import ChromaStore, Document, Memory, memory_tools
from langgraph_memory.graph.events import Step
from langgraph_memory.redaction import redact_secrets
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from langgraph_memory.twins import drive

KEY = "sk-" + "abcdefghijklmnopqrst1234"
GONE = "[redacted key]"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as opened:
        yield opened


GIVEN = {"login": {"password": "hunter2"}, "tried": [KEY, 4111111111111111], f"a {KEY}": 1}
KEPT = {
    "login": {"password": "[redacted]"},
    "tried": [GONE, "[redacted card number]"],
    f"a {GONE}": 1,
}


def test_metadata_is_kept_without_secrets(memory: Memory) -> None:
    note = memory.remember("Has a server", user="ana", metadata=GIVEN).record
    assert note.metadata == KEPT
    edited = memory.edit(note.id, user="ana", metadata={"token": KEY, "rack": "B12"}).record
    assert edited.metadata == {"token": GONE, "rack": "B12"}
    memory.add_document("Returns take a week.", source=f"r {KEY}", user="ana", metadata=GIVEN)
    [chunk] = memory.list(user="ana", types=("document",))
    assert isinstance(chunk, Document)
    assert (chunk.source, chunk.metadata) == (f"r {GONE}", KEPT)


def test_sources_are_kept_without_secrets_and_ids_as_they_are(memory: Memory) -> None:
    [said] = memory.log_turn([("user", "Decaf for me")], user="ana", thread_id="t")
    note = memory.remember("Drinks decaf", user="ana", sources=(said.id, f"{said.id}@2", KEY))
    assert note.record.sources == (said.id, f"{said.id}@2", GONE)


def test_a_secret_in_the_parts_of_a_message_is_taken_out(memory: Memory) -> None:
    parts = [
        {"type": "text", "text": "My password is"},
        {"type": "text", "text": "hunter2"},
        {"type": "image", "base64": "aGk=", "extras": {"filename": f"{KEY}.png"}},
    ]
    message = HumanMessage(parts)  # type: ignore[arg-type]  # a list of any dicts
    [said] = memory.log_turn([message], user="ana", thread_id="t")
    assert said.text == f"My password is\n[redacted]\n[image: {GONE}.png]"


def test_a_key_that_is_cut_where_a_block_ends_is_taken_out(memory: Memory) -> None:
    parts: list[Any] = [{"type": "text", "text": f"Use {KEY[:12]}"}, KEY[12:]]
    said = memory.log_turn([HumanMessage(parts)], user="ana", thread_id="t")
    assert [message.text.strip() for message in said] == [f"Use {GONE}"]


def test_a_secret_in_the_name_of_a_speaker_is_taken_out(memory: Memory) -> None:
    [said] = memory.log_turn([HumanMessage("Hi", name=KEY)], user="ana", thread_id="t")
    assert said.speaker == GONE


def test_a_secret_in_the_argument_of_a_tool_is_not_kept(memory: Memory) -> None:
    tools: dict[str, BaseTool] = {tool.name: tool for tool in memory_tools(memory)}
    config: Any = {"configurable": {"user_id": "ana"}}
    for text in (f"Uses {KEY} for the roaster", "密码是hunter2"):
        tools["remember"].invoke({"text": text}, config)
    texts = " ".join(note.text for note in memory.list(user="ana"))
    assert KEY not in texts
    assert "hunter2" not in texts


def test_what_an_error_of_a_model_says_is_logged_without_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ScriptedChatModel([ValueError(f"Incorrect API key provided: {KEY}")] * 9)
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    with caplog.at_level(logging.INFO), Memory(store, model=model, retries=0) as memory:
        memory.log_turn([("user", "I live in Graz"), ("ai", "Ok")], user="ana", thread_id="t")
        done = memory.process_turn("ana", "t")
    assert done.error is not None
    assert "notes could not be extracted" in caplog.text
    assert KEY not in caplog.text


def test_an_event_and_a_trace_of_an_error_are_without_secrets() -> None:
    written: list[Any] = []
    step = Step("memory.save", written.append, {"user": "ana"}, redact_secrets)

    async def fail() -> None:
        async with step:
            raise ValueError(f"refused: {KEY}")

    with pytest.raises(ValueError, match="sk-"):
        drive(fail())
    assert written[0]["error"] == f"ValueError('refused: {GONE}')"
    assert KEY not in repr(step._error)
