"""The checkpointer of a LangGraph server, asked as the server asks it: for runs with their user,
for all else with the thread alone."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_memory import ThreadOwnerError, open_checkpointer, open_sessions

Saver = BaseCheckpointSaver[str]


@pytest.fixture
async def saver(tmp_path: Path) -> AsyncIterator[Saver]:
    async with open_checkpointer(tmp_path) as opened:
        yield opened


def chat(saver: Saver) -> Any:
    def reply(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"Heard: {state['messages'][-1].text}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    return builder.compile(checkpointer=saver)


def run_of(user: str, thread: str = "t", key: str = "langgraph_auth_user_id") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, key: user}}


SERVER: dict[str, Any] = {"configurable": {"thread_id": "t"}}
HELLO = {"messages": [("user", "Hello")]}


@pytest.mark.parametrize("key", ["langgraph_auth_user_id", "user_id"])
async def test_a_run_claims_its_thread_and_the_server_reads_it(
    saver: Saver, tmp_path: Path, key: str
) -> None:
    graph = chat(saver)
    await graph.ainvoke(HELLO, run_of("ana", key=key))
    state = await graph.aget_state(SERVER)
    assert [message.text for message in state.values["messages"]] == ["Hello", "Heard: Hello"]
    assert "user_id" not in state.config["configurable"]
    assert len([each async for each in graph.aget_state_history(SERVER)]) == 3
    with open_sessions(tmp_path) as sessions:
        [session] = sessions.list("ana")
        assert (session.thread_id, session.title) == ("t", "Hello")


async def test_another_user_is_refused_in_a_claimed_thread(saver: Saver) -> None:
    graph = chat(saver)
    await graph.ainvoke(HELLO, run_of("ana"))
    with pytest.raises(ThreadOwnerError):
        await graph.ainvoke(HELLO, run_of("bo"))
    pretending = {"thread_id": "t", "langgraph_auth_user_id": "bo", "user_id": "ana"}
    with pytest.raises(ThreadOwnerError):  # what a client says never counts beside it
        await graph.ainvoke(HELLO, {"configurable": pretending})
    assert len((await graph.aget_state(SERVER)).values["messages"]) == 2


async def test_a_thread_that_the_server_wrote_first_is_taken_by_the_first_run(
    saver: Saver,
) -> None:
    graph = chat(saver)
    await graph.aupdate_state(SERVER, HELLO, as_node="reply")
    await graph.ainvoke(HELLO, run_of("ana"))
    with pytest.raises(ThreadOwnerError):
        await graph.ainvoke(HELLO, run_of("bo"))
    assert len((await graph.aget_state(SERVER)).values["messages"]) == 3


async def test_without_any_user_it_is_an_ordinary_checkpointer(
    saver: Saver, tmp_path: Path
) -> None:
    graph = chat(saver)
    nobody = run_of("")
    await graph.ainvoke(HELLO, nobody)
    await graph.ainvoke(HELLO, nobody)
    assert len((await graph.aget_state(SERVER)).values["messages"]) == 4
    with open_sessions(tmp_path) as sessions, pytest.raises(ThreadOwnerError, match="adopt"):
        chat(sessions.checkpointer).invoke(HELLO, sessions.config(user="ana", thread_id="t"))


async def test_the_server_deletes_a_thread_whosever_it_is(saver: Saver, tmp_path: Path) -> None:
    graph = chat(saver)
    await graph.ainvoke(HELLO, run_of("ana"))
    await saver.adelete_thread("t")
    await saver.adelete_thread("t")  # again does nothing
    assert (await graph.aget_state(SERVER)).values == {}
    with open_sessions(tmp_path) as sessions:
        assert sessions.list("ana") == []


async def test_what_it_cannot_do_the_server_sees(saver: Saver) -> None:
    for method in ("acopy_thread", "aprune"):
        assert getattr(type(saver), method) is getattr(BaseCheckpointSaver, method)


async def test_it_passes_the_conformance_suite_of_langgraph(tmp_path: Path) -> None:
    conformance = pytest.importorskip("langgraph.checkpoint.conformance")

    async def opened() -> AsyncIterator[Saver]:
        async with open_checkpointer(tempfile.mkdtemp(dir=tmp_path)) as saver:
            yield saver

    report = await conformance.validate(conformance.checkpointer_test(name="server")(opened))
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert report.passed_all_base(), failures
    assert report.results["delete_for_runs"].passed, failures
