"""From what was said to notes, through a memory: sync and async, on several stores."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.store.base import BaseStore
from pydantic import SecretStr

from langgraph_memory import (
    Candidate,
    ChromaStore,
    ConfigurationError,
    Extraction,
    Memory,
    ModelError,
    Note,
    UniversalSentenceEncoder,
)
from langgraph_memory.notes.similarity import judge
from langgraph_memory.records.owners import Owner
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel
from tests.conftest import Verbs
from tests.openai_server import Json, OpenAIServer, Refusal

ROOT = Path(__file__).parents[2]
Answer = Any


def note(quote: str, text: str, **fields: Any) -> dict[str, Any]:
    """An item as a model answers it."""
    return {"message": 1, "quote": quote, "text": text, "kind": "fact", **fields}


def notes(*items: dict[str, Any]) -> dict[str, Any]:
    return {"notes": list(items)}


GRAZ = notes(note("I live in Graz", "The user lives in Graz.", slot="home city"))
LINZ = notes(note("moved to Linz", "The user lives in Linz.", slot="home city"))
NONE = notes()


def said(text: str, number: int, reply: str = "I see.") -> list[BaseMessage]:
    return [HumanMessage(text, id=f"q{number}"), AIMessage(reply, id=f"a{number}")]


class Writer(Verbs):
    """A memory with a model, and a conversation with it."""

    def __init__(self, memory: Memory, prefix: str, model: ScriptedChatModel) -> None:
        super().__init__(memory, prefix)
        self.model = model

    async def turn(self, text: str, number: int = 1, thread: str = "t", **how: Any) -> Any:
        """Say something, and let the memory do what a node does after a turn."""
        await self.log_turn(said(text, number, **how), user="ana", thread_id=thread)
        return await self.process_turn("ana", thread)

    def notes(self, status: str | None = "active") -> list[Note]:
        found = self.memory.list(user="ana", status=status)
        return [each for each in found if isinstance(each, Note)]

    def texts(self, status: str | None = "active") -> list[str]:
        return sorted(each.text for each in self.notes(status))

    def extractions(self) -> list[Extraction]:
        found = self.memory.list(user="ana", types=("extraction",))
        return [each for each in found if isinstance(each, Extraction)]


Begin = Callable[..., Writer]


@pytest.fixture
def begin(store: BaseStore, form: str, clock: ManualClock) -> Begin:
    """A memory on each store, in one of the forms, with what its model answers."""

    def begin(*answers: Answer, **options: Any) -> Writer:
        model = ScriptedChatModel(answers)
        return Writer(Memory(store, model=model, clock=clock, **options), form, model)

    return begin


@pytest.fixture
def fluent(encoder: UniversalSentenceEncoder, clock: ManualClock) -> Begin:
    """A memory with the embedded default, where meaning matters."""
    store = ChromaStore.in_memory(embed=encoder)

    def begin(*answers: Answer, **options: Any) -> Writer:
        model = ScriptedChatModel(answers)
        return Writer(Memory(store, model=model, clock=clock, **options), "", model)

    return begin


# -- what becomes of a turn ----------------------------------------------------------------------


async def test_a_note_says_where_it_comes_from(begin: Begin) -> None:
    writer = begin(GRAZ)
    done = await writer.turn("Hi! I live in Graz.")
    [found] = writer.notes()
    [source] = found.sources
    message = await writer.get(source, user="ana")
    assert (found.text, found.slot, found.kind) == ("The user lives in Graz.", "home city", "fact")
    assert (found.quote, found.said_by, found.author) == ("I live in Graz", "user", "ana")
    assert message.text == "Hi! I live in Graz."
    assert found.valid_from == found.updated_at == message.created_at
    assert [change.action for change in done.changes] == ["add"]


async def test_an_extraction_is_recorded_with_what_it_cost(begin: Begin) -> None:
    writer = begin(GRAZ)
    done = await writer.turn("I live in Graz")
    [record] = writer.extractions()
    messages = await writer.list(user="ana", types=("message",))
    assert set(record.messages) == {message.id for message in messages}
    assert record.notes == (writer.notes()[0].id,)
    assert (record.thread_id, record.problems) == ("t", ())
    assert record.usage == done.usage
    assert record.usage["calls"] == 1
    assert record.usage["total_tokens"] > 0


async def test_the_books_of_extraction_are_no_memory(begin: Begin) -> None:
    """They are not recalled, listed, counted or got, and go when a user is forgotten."""
    writer = begin(GRAZ)
    await writer.turn("I live in Graz")
    [record] = writer.extractions()
    recalled = await writer.recall("extraction home city Graz", user="ana", min_relevance=0)
    assert {hit.record.type for hit in recalled} == {"note", "message"}
    assert await writer.count(user="ana") == {"note": 1, "message": 2, "episode": 0, "document": 0}
    assert await writer.get(record.id, user="ana") is None
    with pytest.raises(ConfigurationError, match="types="):
        await writer.recall("x", user="ana", types=("extraction",))
    await writer.forget(user="ana", everything=True)
    assert writer.extractions() == []


async def test_nothing_worth_keeping_is_looked_at_once(begin: Begin) -> None:
    writer = begin(NONE)
    await writer.turn("Thanks!")
    assert (await writer.process_turn("ana", "t")).usage is None
    assert await writer.extract(user="ana") == []
    assert len(writer.model.calls) == 1
    assert writer.notes() == []


async def test_a_chinese_conversation_makes_chinese_notes(begin: Begin) -> None:
    writer = begin(
        notes(note("我对花生过敏", "用户对花生过敏。", importance=1.0)),
        notes(note("下周三复查", "用户2026年1月7日（周三）复查。", valid_until="2026-01-07")),
    )
    await writer.turn("我对花生过敏，下单的时候注意。", 1, reply="好的。")
    await writer.turn("下周三复查，别忘了提醒我。", 2, reply="没问题。")
    assert writer.texts() == ["用户2026年1月7日（周三）复查。", "用户对花生过敏。"]
    asked = [call[-1].text for call in writer.model.calls]
    extractions = [text for text in asked if not text.startswith("pair 1")]
    assert len(extractions) == 2
    assert all("笔记也用中文写" in text for text in extractions)


async def test_a_short_answer_is_shown_with_what_it_answers(begin: Begin) -> None:
    writer = begin(NONE, notes(note("Yes, the 8th", "The tasting is on 8 May 2026.")))
    await writer.turn("Book the tasting", 1, reply="On the 8th of May?")
    await writer.turn("Yes, the 8th", 2)
    asked = writer.model.calls[1][-1].text
    assert asked.index("On the 8th of May?") < asked.index('n="1"')
    assert writer.texts() == ["The tasting is on 8 May 2026."]


async def test_what_was_done_before_is_not_extracted_again(begin: Begin) -> None:
    """Also when the model quotes what it was shown for understanding only."""
    writer = begin(GRAZ, GRAZ)
    await writer.turn("I live in Graz", 1)
    await writer.turn("What is the weather?", 2)
    assert writer.notes()[0].mentions == 1
    problems = {record.problems for record in writer.extractions()}
    assert problems == {(), ("item 1: no message says what it quotes",)}


# -- when ----------------------------------------------------------------------------------------


async def test_turns_are_counted_from_the_store_for_each_thread(begin: Begin) -> None:
    """A restart does not begin anew, and another thread does not count."""
    first = begin(every_n_turns=3)
    await first.turn("one", 1)
    await first.turn("two", 2)
    await first.turn("elsewhere", 9, thread="other")
    assert await first.pending(user="ana") == {"t": 2, "other": 1}
    second = begin(NONE, every_n_turns=3)
    await second.turn("three", 3)
    assert await second.pending(user="ana") == {"other": 1}
    assert second.model.calls[0][-1].text.count(' n="') == 6


async def test_extract_does_not_wait_for_more_turns(begin: Begin) -> None:
    writer = begin(GRAZ, LINZ, every_n_turns=10)
    await writer.turn("I live in Graz", 1, thread="a")
    await writer.turn("I moved to Linz", 2, thread="b")
    [change] = await writer.extract(user="ana", thread_id="a")
    assert change.record.text == "The user lives in Graz."
    assert await writer.pending(user="ana") == {"b": 1}
    [change] = await writer.extract(user="ana")
    assert (change.action, change.record.text) == ("supersede", "The user lives in Linz.")
    assert await writer.pending(user="ana") == {}


async def test_a_question_that_was_never_answered_is_a_turn(begin: Begin) -> None:
    writer = begin(GRAZ)
    await writer.log_turn([HumanMessage("I live in Graz", id="q")], user="ana", thread_id="t")
    assert await writer.pending(user="ana") == {"t": 1}
    await writer.extract(user="ana")
    assert writer.texts() == ["The user lives in Graz."]
    await writer.log_turn([AIMessage("Nice", id="a")], user="ana", thread_id="t")
    assert await writer.pending(user="ana") == {"t": 1}


async def test_what_piled_up_is_done_in_batches_that_a_model_can_read(begin: Begin) -> None:
    writer = begin(*[NONE] * 20)
    for number in range(6):
        await writer.log_turn(said("tea " * 8_000, number), user="ana", thread_id="t")
    await writer.process_turn("ana", "t")
    assert len(writer.model.calls) == 1  # a user waits for one batch at most
    await writer.extract(user="ana")
    assert await writer.pending(user="ana") == {}
    assert all(len(call[-1].text) < 60_000 for call in writer.model.calls)


async def test_without_a_model_all_is_kept_and_nothing_extracted(begin: Begin) -> None:
    writer = begin()
    writer.memory = Memory(writer.memory.store)
    done = await writer.turn("I live in Graz")
    assert (done.changes, done.usage, done.error) == ((), None, None)
    assert await writer.pending(user="ana") == {"t": 1}
    with pytest.raises(ConfigurationError, match="no model"):
        await writer.extract(user="ana")


@pytest.mark.parametrize("name", ["nobody:knows", "openai:gpt-4o-mini"])
async def test_a_model_that_cannot_be_made_is_an_error_when_it_is_needed(
    begin: Begin, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    writer = begin()
    writer.memory = Memory(writer.memory.store, model=name)
    await writer.log_turn(said("I live in Graz", 1), user="ana", thread_id="t")
    with pytest.raises(ConfigurationError, match=name):
        await writer.extract(user="ana")


@pytest.mark.parametrize(
    "wrong",
    [
        {"every_n_turns": 0},
        {"every_n_turns": 1.5},
        {"retries": -1},
        {"retries": None},
        {"accept": "all"},
        {"review": "yes"},
        {"min_importance": 2},
        {"time_zone": "here"},
        {"model": 3},
        {"model": ""},
    ],
    ids=str,
)
def test_wrong_settings_are_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Memory(**wrong)


# -- a model that fails --------------------------------------------------------------------------


async def test_a_model_is_shown_what_was_wrong_with_its_answer(begin: Begin) -> None:
    writer = begin("The user lives in Graz!", GRAZ)
    await writer.turn("I live in Graz")
    shown = writer.model.calls[1]
    assert shown[-2].text == "The user lives in Graz!"
    assert "no JSON" in shown[-1].text
    assert writer.texts() == ["The user lives in Graz."]
    assert writer.extractions()[0].usage["calls"] == 2


async def test_when_all_attempts_fail_the_messages_wait(
    begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    writer = begin("no", RuntimeError("overloaded"), "no", LINZ)
    with caplog.at_level(logging.WARNING):
        failed = await writer.turn("I moved to Linz", 1)
    assert isinstance(failed.error, ModelError)
    assert failed.usage["calls"] == 3
    assert "messages wait" in caplog.text
    assert await writer.pending(user="ana") == {"t": 1}
    assert (writer.notes(), writer.extractions()) == ([], [])
    done = await writer.turn("Hello?", 2)
    assert done.error is None
    assert writer.texts() == ["The user lives in Linz."]
    assert await writer.pending(user="ana") == {}


async def test_extract_raises_what_a_model_raised_and_keeps_what_was_done(begin: Begin) -> None:
    writer = begin(GRAZ, KeyError("down"), retries=0, every_n_turns=9)
    await writer.turn("I live in Graz", 1, thread="a")
    await writer.turn("I moved to Linz", 2, thread="b")
    with pytest.raises(ModelError, match="down") as raised:
        await writer.extract(user="ana")
    assert isinstance(raised.value.__cause__, KeyError)
    assert writer.texts() == ["The user lives in Graz."]
    assert await writer.pending(user="ana") == {"b": 1}


async def test_a_model_without_structured_output_is_asked_for_json(
    begin: Begin,
) -> None:
    writer = begin()
    answer = f"<think>hm</think>```json\n{json.dumps(GRAZ)}\n```"
    writer.memory = Memory(writer.memory.store, model=FakeListChatModel(responses=[answer]))
    await writer.turn("I live in Graz")
    assert writer.texts() == ["The user lives in Graz."]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as server:
        yield server


@pytest.mark.parametrize("refused", [None, "response_format", "temperature"])
@pytest.mark.parametrize("way", ["", "a"], ids=["sync", "async"])
async def test_an_openai_model_is_asked_at_temperature_0_in_the_way_that_it_takes(
    server: OpenAIServer, refused: str | None, way: str
) -> None:
    full = note("I live in Graz", "The user lives in Graz.", slot=None, importance=0.5)
    full |= {"valid_from": None, "valid_until": None}

    def reply(messages: list[Json]) -> str:
        if refused in server.requests[-1].body:
            raise Refusal(400, f"{refused} is not supported")
        return json.dumps(notes(full))

    server.reply = reply
    model = ChatOpenAI(
        base_url=server.base_url, api_key=SecretStr("x"), model="local", max_retries=0
    )
    memory = Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), model=model)
    writer = Writer(memory, way, ScriptedChatModel([]))
    for number in range(2):
        await writer.turn("I live in Graz", number)
    bodies = [request.body for request in server.requests]
    assert writer.texts() == ["The user lives in Graz."]
    # What was refused once is not tried again; all else is still asked for.
    assert len(bodies) == (3 if refused else 2)
    for body in bodies[1:]:
        assert body.get("temperature") == (None if refused == "temperature" else 0)
        in_words = "JSON schema" in body["messages"][-1]["content"]
        assert in_words == ("response_format" not in body) == (refused == "response_format")


@pytest.mark.parametrize("way", ["", "a"], ids=["sync", "async"])
async def test_a_server_that_takes_no_notice_of_the_form_is_asked_for_it_in_words_from_then_on(
    server: OpenAIServer, way: str
) -> None:
    """A small server's model leaves fields out; they are not asked for in vain at each turn."""
    short = {"message": 1, "quote": "temperature is 40", "text": "The temperature is 40 degrees."}
    server.reply = lambda messages: json.dumps({"notes": [short]})
    model = ChatOpenAI(
        base_url=server.base_url, api_key=SecretStr("x"), model="local", max_retries=0
    )
    memory = Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), model=model)
    writer = Writer(memory, way, ScriptedChatModel([]))
    for number in range(2):
        await writer.turn("The temperature is 40", number)
    bodies = [request.body for request in server.requests]
    assert writer.texts() == ["The temperature is 40 degrees."]
    assert ["response_format" in body for body in bodies] == [True, False, False]
    assert {body["temperature"] for body in bodies} == {0}


# -- what notes do to notes ----------------------------------------------------------------------


async def test_a_slots_new_value_takes_the_place_of_the_old_one(begin: Begin) -> None:
    writer = begin(GRAZ, LINZ)
    await writer.turn("I live in Graz", 1)
    await writer.turn("We moved to Linz", 2)
    assert writer.texts() == ["The user lives in Linz."]
    [new] = writer.notes()
    [old] = writer.notes("superseded")
    assert (old.text, old.id, old.superseded_by) == (
        "The user lives in Graz.",
        f"{new.id}@1",
        new.id,
    )
    assert new.reason == "a new value for 'home city'"


async def test_what_was_said_earlier_and_read_later_is_the_past(
    begin: Begin, clock: ManualClock
) -> None:
    """The model failed on Monday; on Tuesday the user says better, and Monday is read after."""
    writer = begin("no", LINZ, GRAZ, retries=0)
    await writer.turn("I live in Graz", 1, thread="monday")
    monday = clock()
    clock.advance(timedelta(days=1))
    await writer.turn("I moved to Linz", 2, thread="tuesday")
    await writer.extract(user="ana")
    assert writer.texts() == ["The user lives in Linz."]
    [past] = writer.notes("superseded")
    [now] = writer.notes()
    assert (past.text, past.superseded_by) == ("The user lives in Graz.", now.id)
    recalled = await writer.recall(
        "lives in", user="ana", types=("note",), as_of=monday + timedelta(hours=1), min_relevance=0
    )
    assert [hit.text for hit in recalled] == ["The user lives in Graz."]


async def test_two_values_in_one_batch_leave_the_last(begin: Begin) -> None:
    both = notes(*GRAZ["notes"], {**LINZ["notes"][0]})
    writer = begin(both)
    await writer.turn("I live in Graz. Wait, no, we moved to Linz.")
    assert writer.texts() == ["The user lives in Linz."]
    assert writer.texts("superseded") == ["The user lives in Graz."]


async def test_what_is_said_again_reinforces_and_keeps_all_its_sources(begin: Begin) -> None:
    tea = notes(note("I like tea", "The user likes tea.", kind="preference"))
    writer = begin(*[tea] * 4)
    for number in range(4):
        await writer.turn("I like tea", number, thread=f"t{number}")
    [found] = writer.notes()
    assert (found.mentions, len(set(found.sources)), found.reason) == (4, 4, "said before")


async def test_one_message_counts_once_however_often_a_model_repeats_it(begin: Begin) -> None:
    item = note("I like tea", "The user likes tea.")
    writer = begin(notes(item, item, {**item, "text": "the user  LIKES tea."}))
    await writer.turn("I like tea")
    [found] = writer.notes()
    assert (found.mentions, found.text) == (1, "The user likes tea.")


def test_four_paraphrases_in_one_batch_are_one_note(fluent: Begin) -> None:
    texts = [
        "The user likes blue.",
        "The user likes blue",
        "the user likes Blue!",
        "User likes blue.",
    ]
    writer = fluent(notes(*(note("I like blue", text) for text in texts)))
    writer.memory.log_turn(said("I like blue", 1), user="ana", thread_id="t")
    writer.memory.process_turn("ana", "t")
    assert len(writer.notes()) == 1


async def test_the_assistant_repeating_what_it_knows_is_no_news(begin: Begin) -> None:
    echo = {**GRAZ["notes"][0], "message": 2, "quote": "you live in Graz"}
    wrong = {**LINZ["notes"][0], "message": 2, "quote": "or in Linz"}
    writer = begin(GRAZ, notes(echo), notes(wrong))
    await writer.turn("I live in Graz", 1)
    await writer.turn("Where do I live?", 2, reply="As I recall, you live in Graz.")
    await writer.turn("Really?", 3, reply="Perhaps here or in Linz.")
    [found] = writer.notes()
    assert (found.text, found.mentions) == ("The user lives in Graz.", 1)


async def test_a_commitment_of_the_assistant_is_kept_and_marked(begin: Begin) -> None:
    promise = note("I will send Karla the list", "The assistant sends Karla the list.")
    writer = begin(notes({**promise, "kind": "instruction", "message": 2}))
    await writer.turn("Karla does the list", reply="I will send Karla the list every Friday.")
    assert [(each.said_by, each.kind) for each in writer.notes()] == [("assistant", "instruction")]


# -- what only a reader can tell -----------------------------------------------------------------

PAIRS = [
    json.loads(line)
    for line in (ROOT / "benchmarks/sets/pairs.jsonl").read_text(encoding="utf-8").splitlines()
]


class Unclear:
    """Two notes that similarity does not judge, and a memory that has the old one."""

    def __init__(self, fluent: Begin, encoder: UniversalSentenceEncoder) -> None:
        self._fluent = fluent
        self.old, self.new = next(
            (pair["old"], pair["new"])
            for pair in PAIRS
            if pair["half"] == "a" and pair["relation"] == "update" and pair["language"] == "en"
            if _judged(encoder, pair) == "ask"
        )

    def say(self, *answers: Answer, new: str | None = None) -> Writer:
        """Let the user say the new note after the old one; `answers` are those on the pair."""
        new = new or self.new
        writer = self._fluent(notes(note(self.old, self.old)), notes(note(new, new)), *answers)
        for number, text in enumerate((self.old, new)):
            writer.memory.log_turn(said(text, number), user="ana", thread_id="t")
            writer.done = writer.memory.process_turn("ana", "t")  # type: ignore[attr-defined]  # for the test
        return writer


def _judged(encoder: UniversalSentenceEncoder, pair: dict[str, Any]) -> str:
    old, new = np.array(encoder.embed_documents([pair["old"], pair["new"]]))
    cosine = float(old @ new / np.linalg.norm(old) / np.linalg.norm(new))
    clock = ManualClock()
    fields: dict[str, Any] = {"created_at": clock(), "updated_at": clock(), "valid_from": clock()}
    owner = Owner("user", "ana")
    one, other = (Note(id="", owner=owner, text=pair[each], **fields) for each in ("new", "old"))
    return judge(one, other, cosine)


@pytest.fixture
def unclear(fluent: Begin, encoder: UniversalSentenceEncoder) -> Unclear:
    return Unclear(fluent, encoder)


def verdict(relation: str, **fields: Any) -> dict[str, Any]:
    pair = {"pair": 1, "same_subject": True, "same_attribute": True, "relation": relation}
    return {"pairs": [{**pair, **fields}]}


def test_a_model_may_say_that_a_note_replaces_another(unclear: Unclear) -> None:
    writer = unclear.say(verdict("replaces"))
    assert (writer.texts(), writer.texts("superseded")) == ([unclear.new], [unclear.old])
    assert writer.extractions()[0].usage["calls"] == 2


def test_a_model_may_say_that_two_notes_are_one(unclear: Unclear) -> None:
    writer = unclear.say(verdict("same"))
    [found] = writer.notes()
    assert (found.text, found.mentions, len(found.sources)) == (unclear.old, 2, 2)


@pytest.mark.parametrize(
    "answer",
    [
        verdict("both"),
        verdict("replaces", same_subject=False),
        verdict("replaces", same_attribute=False),
        verdict("replaces", pair=12),
        verdict("replaces", pair="a3f9"),
        verdict("DELETE"),
        {"pairs": []},
        "I cannot tell.",
        RuntimeError("overloaded"),
    ],
    ids=["both", "subject", "attribute", "unknown", "an-id", "delete", "none", "prose", "failed"],
)
def test_without_a_valid_verdict_both_notes_stay(unclear: Unclear, answer: Answer) -> None:
    writer = unclear.say(answer)
    assert writer.texts() == sorted([unclear.old, unclear.new])
    assert writer.memory.pending(user="ana") == {}
    assert len(writer.model.calls) == 3  # asked once, and not again


def test_a_model_sees_numbered_pairs_and_no_ids(unclear: Unclear) -> None:
    writer = unclear.say(verdict("both"))
    asked = "\n".join(message.text for message in writer.model.calls[2])
    assert "pair 1" in asked
    assert unclear.old in asked
    assert not any(each.id in asked for each in writer.notes())


# -- the caller decides --------------------------------------------------------------------------


async def test_accept_may_change_or_refuse_a_candidate(begin: Begin) -> None:
    seen: list[Candidate] = []

    def accept(candidate: Candidate) -> Candidate | None:
        seen.append(candidate)
        if "Linz" in candidate.text:
            return None
        return replace(candidate, text=candidate.text.upper(), sources=("elsewhere",))

    writer = begin(notes(*GRAZ["notes"], *LINZ["notes"]), accept=accept)
    await writer.turn("I live in Graz, my brother moved to Linz")
    [found] = writer.notes()
    assert found.text == "THE USER LIVES IN GRAZ."
    assert len(found.sources) == 1
    assert found.sources != ("elsewhere",)
    assert len(seen) == 2
    assert writer.extractions()[0].problems == ("candidate 2: refused by accept=",)


async def test_small_talk_is_left_out_below_an_importance(begin: Begin) -> None:
    small = note("I live in Graz", "The user lives in Graz.", importance=0.2)
    writer = begin(notes(small), min_importance=0.3)
    await writer.turn("I live in Graz")
    assert writer.notes() == []
    assert await writer.pending(user="ana") == {}


async def test_reviewed_notes_come_up_nowhere_before_they_are_approved(begin: Begin) -> None:
    writer = begin(GRAZ, LINZ, GRAZ, review=True)
    await writer.remember("Lives in Vienna", user="ana", slot="home city")
    await writer.turn("I live in Graz", 1)
    await writer.turn("I moved to Linz", 2)
    assert writer.texts() == ["Lives in Vienna"]
    assert writer.texts("proposed") == ["The user lives in Linz."]
    [proposed] = writer.notes("proposed")
    far = writer.memory.clock() + timedelta(days=1)
    for as_of in (None, far):
        recalled = await writer.recall(
            "The user lives in Linz.", user="ana", types=("note",), min_relevance=0, as_of=as_of
        )
        found = [*(hit.text for hit in recalled), *(each.text for each in recalled.profile)]
        assert set(found) == {"Lives in Vienna"}
    assert (await writer.count(user="ana"))["note"] == 1
    assert proposed.sources


async def test_a_hit_is_not_crowded_out_by_proposed_notes(begin: Begin) -> None:
    items = [note("tea", f"The user drinks tea number {i}.") for i in range(20)]
    writer = begin(notes(*items), review=True)
    await writer.remember("The user drinks tea.", user="ana")
    await writer.turn("tea")
    recalled = await writer.recall(
        "The user drinks tea.", user="ana", types=("note",), limit=1, min_relevance=0
    )
    assert [hit.text for hit in recalled] == ["The user drinks tea."]


# -- whatever happens ----------------------------------------------------------------------------


class Crash(BaseException):
    """The end of a process, as far as code can see it."""


@pytest.mark.parametrize("step", range(8))
async def test_a_crash_at_any_step_repeats_the_work_and_never_its_effect(
    begin: Begin, store: BaseStore, form: str, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    tea = note("I like tea", "The user likes tea.")
    answer = notes(*LINZ["notes"], tea, note("in the old town", "The user lives downtown."))
    await begin(GRAZ).turn("I live in Graz", 1)
    await begin(notes(tea)).turn("I like tea", 2, thread="other")
    name = form + "batch"
    real, calls = getattr(type(store), name), count()

    def crashing(self: BaseStore, ops: Any) -> Any:
        if next(calls) == step:
            raise Crash
        return real(self, ops)

    monkeypatch.setattr(type(store), name, crashing)
    text = "I moved to Linz, in the old town. I like tea"
    with suppress(Crash):
        await begin(answer).turn(text, 3)
    monkeypatch.undo()
    writer = begin(answer, NONE)
    await writer.turn(text, 3)
    await writer.extract(user="ana")
    assert writer.texts() == [
        "The user likes tea.",
        "The user lives downtown.",
        "The user lives in Linz.",
    ]
    assert writer.texts("superseded") == ["The user lives in Graz."]
    by_text = {each.text: each for each in writer.notes()}
    assert by_text["The user likes tea."].mentions == 2
    assert by_text["The user lives in Linz."].version == 2
    named = [id for record in writer.extractions() for id in record.messages]
    assert len(named) == len(set(named)) == 6


CHILD = """
import os, signal, sys
from langchain_core.messages import AIMessage, HumanMessage
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel

directory, moment = sys.argv[1:]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
notes = {"notes": [{"quote": "I like tea", "text": "The user likes tea."}]}
store = ChromaStore(directory, embed=HashingEmbeddings())
model = ScriptedChatModel([die if moment == "asking" else notes])
memory = Memory(store, model=model)
memory.log_turn([HumanMessage("I like tea", id="1"), AIMessage("Ok", id="2")],
                user="ana", thread_id="t")
real = store.batch
def batch(ops):
    ops = list(ops)
    writes = any(getattr(op, "value", None) is not None for op in ops)
    if writes and moment == "before the write":
        die()
    found = real(ops)
    if writes and moment == "after the write":
        die()
    return found
store.batch = batch
memory.process_turn("ana", "t")
"""


@pytest.mark.parametrize("moment", ["asking", "before the write", "after the write"])
def test_a_killed_process_loses_and_doubles_nothing(tmp_path: Path, moment: str) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path), moment]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    tea = notes(note("I like tea", "The user likes tea."))
    with Memory(
        ChromaStore(tmp_path, embed=HashingEmbeddings()), model=ScriptedChatModel([tea])
    ) as memory:
        waits = moment != "after the write"
        assert memory.pending(user="ana") == ({"t": 1} if waits else {})
        memory.extract(user="ana")
        [found] = memory.list(user="ana")
        assert isinstance(found, Note)
        assert (found.text, found.mentions, found.version) == ("The user likes tea.", 1, 1)


def answer_from(messages: list[BaseMessage]) -> dict[str, Any]:
    """What an honest model says: a note of each message of the user."""
    lines = [line for line in messages[-1].text.split("<message ") if 'role="user"' in line]
    texts = [line.partition(">")[2].partition("<")[0] for line in lines if line.startswith("n=")]
    return notes(*(note(text, f"{text}.") for text in texts))


WRITERS = 10


def test_ten_threads_that_write_to_one_user_lose_and_double_nothing() -> None:
    memory = Memory(
        ChromaStore.in_memory(embed=HashingEmbeddings()),
        model=ScriptedChatModel([answer_from] * 1_000),
    )
    barrier = threading.Barrier(WRITERS)

    def talk(number: int) -> None:
        barrier.wait(30)
        for turn in range(3):
            text = "Drinks tea" if turn == 1 else f"Owns teapot {number} {turn}"
            memory.log_turn(said(text, turn), user="ana", thread_id=f"t{number}")
            assert memory.process_turn("ana", f"t{number}").error is None

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(talk, range(WRITERS)))
    check_teapots(memory)


async def test_ten_tasks_that_write_to_one_user_lose_and_double_nothing() -> None:
    memory = Memory(
        ChromaStore.in_memory(embed=HashingEmbeddings()),
        model=ScriptedChatModel([answer_from] * 1_000),
    )

    async def talk(number: int) -> None:
        for turn in range(3):
            text = "Drinks tea" if turn == 1 else f"Owns teapot {number} {turn}"
            await memory.alog_turn(said(text, turn), user="ana", thread_id=f"t{number}")
            assert (await memory.aprocess_turn("ana", f"t{number}")).error is None

    await asyncio.gather(*map(talk, range(WRITERS)))
    check_teapots(memory)


def check_teapots(memory: Memory) -> None:
    found = [each for each in memory.list(user="ana") if isinstance(each, Note)]
    teapots = {f"Owns teapot {number} {turn}." for number in range(WRITERS) for turn in (0, 2)}
    assert sorted(each.text for each in found) == sorted([*teapots, "Drinks tea."])
    [tea] = [each for each in found if each.text == "Drinks tea."]
    assert (tea.mentions, len(set(tea.sources))) == (WRITERS, WRITERS)
    assert memory.pending(user="ana") == {}


def test_one_thread_of_messages_is_read_once_however_many_ask() -> None:
    model = ScriptedChatModel([GRAZ] * 10)
    memory = Memory(ChromaStore.in_memory(embed=HashingEmbeddings()), model=model)
    memory.log_turn(said("I live in Graz", 1), user="ana", thread_id="t")
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: memory.process_turn("ana", "t"), range(8)))
    assert len(model.calls) == 1
    assert sum(len(each.changes) for each in done) == 1


def test_what_is_forgotten_while_a_model_reads_it_makes_no_note() -> None:
    memory: Memory

    def forget(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        memory.forget(user="ana", everything=True)
        return GRAZ

    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    memory = Memory(store, model=ScriptedChatModel([forget]))
    memory.log_turn(said("I live in Graz", 1), user="ana", thread_id="t")
    assert memory.process_turn("ana", "t").changes == ()
    assert memory.count(user="ana") == {"note": 0, "message": 0, "episode": 0, "document": 0}
    assert memory.list(user="ana", types=("extraction",)) == []


@pytest.mark.parametrize("keep_messages", [True, False], ids=["kept", "not-kept"])
def test_what_is_edited_while_a_model_reads_it_is_looked_through_as_it_is_now(
    clock: ManualClock, keep_messages: bool
) -> None:
    memory: Memory

    def edit(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        memory.log_turn(said("I have moved to Linz", 1), user="ana", thread_id="t")
        return GRAZ

    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    model = ScriptedChatModel([edit, LINZ])
    memory = Memory(store, model=model, clock=clock, keep_messages=keep_messages)
    memory.log_turn(said("I live in Graz", 1), user="ana", thread_id="t")
    assert memory.process_turn("ana", "t").changes == ()
    assert memory.pending(user="ana") == {"t": 1}
    [change] = memory.process_turn("ana", "t").changes
    assert change.record.text == "The user lives in Linz."


def test_others_may_write_while_a_model_reads() -> None:
    """And what they wrote meanwhile counts when the notes are placed."""
    memory: Memory

    def meanwhile(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        memory.remember("The user lives in Graz.", user="ana", slot="home city")
        return GRAZ

    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    memory = Memory(store, model=ScriptedChatModel([meanwhile]))
    memory.log_turn(said("I live in Graz", 1), user="ana", thread_id="t")
    [change] = memory.process_turn("ana", "t").changes
    assert change.action == "reinforce"


async def test_a_cancelled_extraction_leaves_its_messages_waiting() -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        entered.set()
        leave.wait(30)
        return GRAZ

    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    memory = Memory(store, model=ScriptedChatModel([slow, GRAZ]))
    await memory.alog_turn(said("I live in Graz", 1), user="ana", thread_id="t")
    task = asyncio.create_task(memory.aprocess_turn("ana", "t"))
    await asyncio.to_thread(entered.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()
    assert await memory.apending(user="ana") == {"t": 1}
    assert len(await memory.aextract(user="ana")) == 1


# -- what becomes of the messages ----------------------------------------------------------------


async def test_messages_go_once_notes_were_made_of_them_if_they_are_not_to_be_kept(
    begin: Begin,
) -> None:
    writer = begin(GRAZ, NONE, keep_messages=False)
    await writer.turn("I live in Graz", 1)
    await writer.turn("What is the weather?", 2)
    assert writer.texts() == ["The user lives in Graz."]
    assert writer.memory.count(user="ana").get("message", 0) == 0
    await writer.turn("I live in Graz", 1)  # the session still holds it
    assert writer.memory.count(user="ana").get("message", 0) == 0
    assert await writer.pending(user="ana") == {}


async def test_messages_wait_for_a_model_that_fails_although_they_are_not_to_be_kept(
    begin: Begin,
) -> None:
    writer = begin(*[ConnectionError("away")] * 3, keep_messages=False)
    await writer.turn("I live in Graz", 1)
    assert writer.memory.count(user="ana")["message"] == 2
    assert await writer.pending(user="ana") == {"t": 1}


async def test_a_message_that_was_edited_is_looked_through_again(
    begin: Begin, clock: ManualClock
) -> None:
    writer = begin(GRAZ, LINZ)
    await writer.turn("I live in Graz", 1)
    assert await writer.pending(user="ana") == {}
    clock.advance(minutes=1)
    await writer.turn("I have moved to Linz", 1)
    assert await writer.pending(user="ana") == {}
    assert "The user lives in Linz." in writer.texts()


async def test_an_extraction_completes_a_note_that_the_same_message_gave_before(
    begin: Begin,
) -> None:
    """A reply may have proposed it, without the slot by which the next value replaces it."""
    writer = begin(GRAZ, LINZ)
    [logged, _] = await writer.log_turn(said("I live in Graz", 1), user="ana", thread_id="t")
    await writer.remember("The user lives in Graz.", user="ana", sources=[logged.id])
    await writer.process_turn("ana", "t")
    [found] = writer.notes()
    assert (found.slot, found.quote, found.mentions) == ("home city", "I live in Graz", 1)
    await writer.turn("I moved to Linz", 2)
    assert writer.texts() == ["The user lives in Linz."]
