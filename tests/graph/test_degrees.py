"""What a model is told that asks for memory itself: as much as the block tells, and with ids.

A miss is never told as absence: what is saved is offered, whatever it is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_memory import ChromaStore, Memory, Note, UniversalSentenceEncoder, memory_tools
from langgraph_memory.graph.run import CANDIDATES
from langgraph_memory.graph.tool_texts import NOTHING, NOTHING_CLOSE
from langgraph_memory.retrieval.block import (
    INTRODUCTION,
    KNOWN,
    LAST_TIME,
    NOTHING_ELSE,
    PERHAPS,
    RELEVANT,
    SECTIONS,
    SHARED,
    STATED,
    TASKS,
)
from langgraph_memory.testing import HashingEmbeddings, ManualClock
from tests.graph.graphs import ORDER, Shape, Way, answer, as_user, block_in, noting, say

Ask = Callable[[Memory, str, str], Awaitable[str]]

PAIRS = [
    ("Buys 1 kg of Colombia", "What did the customer order last time?"),
    ("Allergic to peanuts", "Which snacks can I eat?"),
    ("Supports Rosario Central", "Which football club do I like?"),
    ("Grew up in Mendoza", "Where did I spend my childhood?"),
    ("Works night shifts at the hospital", "When should you call me?"),
    ("Has two daughters, Ida and Mia", "How old are my kids?"),
    ("Drives a diesel van", "What car do I have?"),
    ("Prefers metric units", "How tall is this tower?"),
    ("The parcel goes to the back door", "How do you deliver to me?"),
    ("Deploys with Kubernetes", "Which cluster do we run on?"),
    ("对花生过敏", "我能吃什么零食？"),
    ("住在格拉茨", "快递寄到哪个城市？"),
    ("养了一只猫", "我的宠物叫什么？"),
    ("喜欢手冲咖啡", "今天喝点什么好？"),
    ("Vive en Graz", "¿A qué ciudad mandas el paquete?"),
    ("Toma el café sin azúcar", "¿Cómo lo quiero?"),
    ("Ist Vegetarierin", "Was kann ich heute essen?"),
    ("ピーナッツアレルギーがある", "おやつに何を食べられますか？"),
]
"""A note, and a question about it, or near it, in other words."""

LINE = re.compile(r"- (?:(?P<id>[0-9a-f]{8}) )?(?P<rest>\[.*)")


async def by_tool(memory: Memory, user: str, query: str) -> str:
    _, recall, *_ = memory_tools(memory, user=user, project="shop")
    return str(await recall.ainvoke({"query": query}))


async def by_client(memory: Memory, user: str, query: str) -> str:
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from langgraph_memory.mcp.server import memory_server

    async with mcp.Client(memory_server(memory, user, project="shop")) as client:
        result = await client.call_tool("recall", {"query": query})
    assert not result.is_error
    return str(result.content[0].text)


@pytest.fixture(params=[by_tool, by_client])
def ask(request: pytest.FixtureRequest) -> Ask:
    found: Ask = request.param
    return found


@pytest.fixture(scope="module")
def told(encoder: UniversalSentenceEncoder) -> Iterator[Memory]:
    """What each of eighteen users stated: one as a note, another in an earlier conversation."""
    with Memory(ChromaStore.in_memory(embed=encoder)) as memory:
        for number, (text, _) in enumerate(PAIRS):
            memory.remember(text, user=f"note {number}")
            memory.log_turn(text, user=f"message {number}", thread_id="before")
        yield memory


@pytest.mark.parametrize("type", ["note", "message"])
async def test_the_one_thing_that_is_saved_is_told_whatever_words_ask_for_it(
    told: Memory, ask: Ask, type: Any
) -> None:
    missed = []
    for number, (text, question) in enumerate(PAIRS):
        [record] = told.list(user=f"{type} {number}", types=(type,))
        answered = await ask(told, f"{type} {number}", question)
        [line] = [line for line in answered.splitlines() if line.startswith("- ")]
        if not (line.startswith(f"- {record.id[:8]} [") and line.endswith(f": {text}")):
            missed.append((question, answered))
        assert answered.startswith(("What is remembered (data", NOTHING_CLOSE))
    assert not missed


SAVED: dict[str, Callable[[Memory, str], Any]] = {
    "note": lambda memory, user: memory.remember("Drinks tea", user=user),
    "statement": lambda memory, user: memory.log_turn("I drink tea", user=user, thread_id="t"),
    "question": lambda memory, user: memory.log_turn(
        [HumanMessage("What is my name?"), AIMessage("I do not know that yet.")],
        user=user,
        thread_id="t",
    ),
    "small talk": lambda memory, user: memory.log_turn("Hello!", user=user, thread_id="t"),
    "task": lambda memory, user: memory.log_episode("Order tea", user=user),
    "document": lambda memory, user: memory.add_document(
        "All routes must validate input.", user=user, source="rules.md"
    ),
}
QUERIES = st.sampled_from(["", "???", "hi", "Thanks a lot!", "谢谢", "tea", "zebra"]) | st.text()


def test_only_of_an_empty_memory_it_is_said_that_nothing_is_saved() -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        for user, save in SAVED.items():
            save(memory, user)

        @given(st.sampled_from([*SAVED, "nothing"]), QUERIES)
        def ask_anything(user: str, query: str) -> None:
            _, recall, *_ = memory_tools(memory, user=user)
            assert (recall.invoke({"query": query}) == NOTHING) == (user == "nothing")

        ask_anything()


# -- a memory of many things -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def full(encoder: UniversalSentenceEncoder) -> Iterator[Memory]:
    clock = ManualClock()
    with Memory(ChromaStore.in_memory(embed=encoder), clock=clock) as memory:
        memory.remember("Answer in two sentences", user="ana", kind="instruction")
        memory.remember("Allergic to peanuts", user="ana", importance=1.0)
        memory.remember("Lives in Graz", user="ana", slot="home city")
        memory.remember("Ships on Fridays", user="bo", project="shop", kind="decision")
        memory.add_document(
            "# Returns\n\nUnopened bags come back within 14 days.", user="ana", source="handbook.md"
        )
        for day, text in enumerate(
            ["My grinder is set to 18 clicks.", "I have bought a moka pot.", "Nice weather today!"]
        ):
            clock.advance(days=1)
            said = [HumanMessage(text), AIMessage("Noted.")]
            memory.log_turn(said, user="ana", thread_id=f"day {day}")
        memory.log_episode(
            "Ship two kilos of Sidamo", user="ana", outcome="failure", error="No stock"
        )
        yield memory


QUESTIONS = {
    "Where do I live?": {KNOWN, RELEVANT, LAST_TIME},
    "How is my grinder set?": {KNOWN, RELEVANT, LAST_TIME, PERHAPS},
    "Please ship three kilos of Sidamo.": {KNOWN, LAST_TIME, TASKS},
    "Who won the chess tournament in Hamburg?": {KNOWN, STATED, LAST_TIME},
}
"""Each with sections that its answer has."""


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_answer_has_the_sections_and_lines_of_the_block(
    full: Memory, ask: Ask, question: str
) -> None:
    recalled = full.recall(question, user="ana", project="shop", limit=CANDIDATES)
    _, introduction, *lines, _ = recalled.prompt().splitlines()
    assert introduction == f"{INTRODUCTION} {SHARED}"
    if recalled.nothing_known:
        assert lines.pop() == NOTHING_ELSE
    answered = (await ask(full, "ana", question)).splitlines()
    assert (answered[0] == NOTHING_CLOSE) == recalled.nothing_known
    answered = answered[2:] if recalled.nothing_known else answered[1:]
    assert [LINE.sub(r"- \g<rest>", line) for line in answered] == lines
    assert QUESTIONS[question] <= {line for line in answered if line in SECTIONS}


@pytest.mark.parametrize("question", QUESTIONS)
async def test_each_record_of_the_users_own_has_an_id_and_no_other_has(
    full: Memory, ask: Ask, question: str
) -> None:
    own = full.list(user="ana", types=("note", "message", "episode"), limit=100)
    ids = {record.id[:8]: record for record in own}
    lines = [
        match
        for line in (await ask(full, "ana", question)).splitlines()
        if (match := LINE.fullmatch(line))
    ]
    assert len(lines) > 3
    for line in lines:
        if line["id"] is None:
            assert "project shop, from bo" in line["rest"] or "handbook.md" in line["rest"]
        else:
            record = ids[line["id"]]
            assert (record.text if isinstance(record, Note) else "") in line["rest"]


# -- histories that a client sends again -----------------------------------------------------------


@pytest.mark.parametrize("thread", [None, "now"], ids=["no thread", "a thread"])
async def test_a_history_sent_again_under_new_ids_is_not_in_the_block_too(
    memory: Memory, surface: Shape, call: Way, thread: str | None
) -> None:
    """Without a checkpointer only the texts tell that the model has them before it."""
    model = noting()
    graph = surface(memory, model, is_async=call.is_async).compile()
    await call(graph, say(ORDER), as_user("ana", "monday"))
    history: list[tuple[str, str]] = []
    for text in ("I drink tea from Assam.", "My tea pot is blue.", "Which tea pot do I have?"):
        history.append(("user", text))
        state = await call(graph, {"messages": history}, as_user("ana", thread))
        history.append(("assistant", answer(state)))
    for prompt in model.calls[1:]:
        block = block_in(prompt)
        assert ORDER in block
        for message in prompt[:-1]:
            assert message.text not in block


def test_what_is_listed_has_the_days_of_the_memory() -> None:
    clock = ManualClock(datetime(2026, 3, 10, 23, tzinfo=UTC))
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    with Memory(store, clock=clock, time_zone="Asia/Shanghai") as memory:
        memory.remember("Drinks tea", user="ana")
        tools = {tool.name: tool for tool in memory_tools(memory, user="ana")}
        assert "[2026-03-11]" in tools["list_memories"].invoke({})
