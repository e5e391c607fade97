"""The memory folder of `fixtures/first-version.tar.xz`, as the first version wrote it.

It is written once and never again: what later versions write may differ, and what the archive holds
has to be found by all of them. `python -m tests.chroma.first_version ARCHIVE` made it, with Chroma
1.5.9.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from langgraph_memory import ChromaStore, Memory, Sessions, open_sessions
from langgraph_memory.testing import HashingEmbeddings, ManualClock, ScriptedChatModel

ANA, CHINESE = "c-2291", "用户/1"
PROJECT = "shop"

RETURNS = """# Returns

## Damaged goods

A damaged grinder is replaced within thirty days, and the courier collects it.

## Coffee

An opened bag of coffee cannot be returned.
"""

LESSON = "Quotes for the espresso machine need the voltage of the country."


def write(folder: Path) -> None:
    """Fill a folder with records of every type, of two users and a project, and with threads."""
    clock = ManualClock()
    with (
        ChromaStore(folder, embed=HashingEmbeddings(32)) as store,
        Memory(store, clock=clock) as memory,
        open_sessions(folder) as sessions,
    ):
        _write_notes(memory, clock)
        _write_messages(memory, clock)
        _write_episodes(store, clock)
        memory.add_document(RETURNS, user=ANA, source="returns.md", metadata={"team": "support"})
        _write_threads(sessions)


def _write_notes(memory: Memory, clock: ManualClock) -> None:
    """Write notes of each status, one with versions, and some that others may read."""
    memory.remember("Lives in Rosario", user=ANA, slot="home city")
    clock.advance(days=1)
    memory.remember("Lives in Córdoba", user=ANA, slot="home city")
    memory.remember("Allergic to hazelnuts", user=ANA, importance=1.0, pinned=True)
    memory.remember("Answer in two sentences", user=ANA, kind="instruction")
    memory.remember("Drinks Colombia from a moka pot", user=ANA, metadata={"source": "survey"})
    memory.remember("Drinks Colombia from a moka pot", user=ANA)  # said again
    reviewed = Memory(memory.store, review=True, clock=clock)
    _, refused = reviewed.keep_proposed(["Wants to try a decaf", "Has a parrot"], user=ANA)
    memory.reject(refused.record.id, user=ANA)
    memory.remember("喜欢摩卡壶", user=CHINESE, kind="preference")
    memory.remember("The roaster closes on Mondays", user=ANA, project=PROJECT)


def _write_messages(memory: Memory, clock: ManualClock) -> None:
    """Write what was said in several threads, one message of which was edited."""
    said: dict[tuple[str, str], list[tuple[str, str]]] = {
        (ANA, "monday"): [
            ("user", "My grinder arrived with a crack in the lid."),
            ("assistant", "I am sorry; the courier will collect it."),
        ],
        (ANA, "tuesday"): [
            ("user", "Which beans suit a moka pot?"),
            ("assistant", "A medium roast such as Colombia. 🙂"),
        ],
        (CHINESE, "星期一"): [
            ("user", "我想买一个新的摩卡壶"),
            ("assistant", "好的, 六杯的还有。"),
        ],
    }
    for (user, thread), exchange in said.items():
        clock.advance(hours=1)
        roles = {"user": HumanMessage, "assistant": AIMessage}
        messages = [
            roles[role](text, id=f"{thread}-{place}") for place, (role, text) in enumerate(exchange)
        ]
        memory.log_turn(messages, user=user, thread_id=thread)
    edited = HumanMessage("My grinder arrived with a crack in its lid.", id="monday-0")
    memory.log_turn([edited], user=ANA, thread_id="monday")


def _write_episodes(store: ChromaStore, clock: ManualClock) -> None:
    """Write tasks that went well and badly, and the lesson that was drawn from the latter."""
    found = {"lessons": [{"text": LESSON, "tasks": [1], "importance": 0.7}]}
    memory = Memory(store, model=ScriptedChatModel([found]), reflect_every=None, clock=clock)
    failed = memory.log_episode(
        "Send a quote for the espresso machine",
        user=ANA,
        approach="tools: price_of, send_mail",
        outcome="failure",
        error="ValueError: no voltage",
        duration_ms=1200,
        token_cost=345,
        thread_id="monday",
        turn_id="monday-0",
    )
    memory.rate_episode(failed.id, 0.2, user=ANA, notes="The customer had to call.")
    clock.advance(hours=1)
    assert [change.record.text for change in memory.reflect(user=ANA)] == [LESSON]
    memory.log_episode("Order a kilo of Colombia", user=ANA, duration_ms=800)
    memory.log_episode("给客户寄价目表", user=CHINESE, outcome="success", quality_score=0.9)


def graph(sessions: Sessions) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return a graph that asks before it ships."""

    def reply(state: MessagesState) -> dict[str, Any]:
        asked = state["messages"][-1].text
        answer = interrupt("Ship it?") if asked.startswith("Ship") else f"You said: {asked}"
        return {"messages": [AIMessage(str(answer), id=f"a{len(state['messages'])}")]}

    builder = StateGraph(MessagesState).add_node(reply).add_edge(START, "reply")
    return builder.compile(checkpointer=sessions.checkpointer)


def _write_threads(sessions: Sessions) -> None:
    """Write a thread of each user; the second of the first user waits for an answer."""
    agent = graph(sessions)
    for user, thread, text in [
        (ANA, "talk", "Good morning"),
        (ANA, "order", "Ship order 17 to Rosario"),
        (CHINESE, "聊天", "早上好"),
    ]:
        asked = {"messages": [HumanMessage(text, id="q1")]}
        agent.invoke(asked, sessions.config(user=user, thread_id=thread))


def pack(archive: Path) -> None:
    """Write the folder `memory` into an archive."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "memory"
        write(folder)
        with tarfile.open(archive, "w:xz", preset=9) as packed:
            packed.add(folder, "memory", filter=_kept)


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Say nothing of the machine on which the archive was made, nor of the process."""
    if Path(entry.name).name in ("owner.json", "owner.lock"):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
