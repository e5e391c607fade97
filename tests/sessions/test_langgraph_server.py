"""The checkpointer of a LangGraph server, asked as the server asks it: for runs with their user,
for all else with the thread alone."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
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


def run_of(user: str) -> dict[str, Any]:
    """The config of a run, of whom the server has authenticated."""
    who = {"langgraph_auth_user": SimpleNamespace(identity=user), "langgraph_auth_user_id": user}
    return {"configurable": {"thread_id": "t", **who}}


def run_without_auth(user: str | None) -> dict[str, Any]:
    """The same, where nobody has to say who they are."""
    nobody = {"langgraph_auth_user": None, "langgraph_auth_user_id": ""}
    return {"configurable": {"thread_id": "t", **nobody, "user_id": user}}


def written_by(display_name: str, **sneaked: Any) -> dict[str, Any]:
    """The config by which the server updates a state for a user, with what a client adds to it."""
    return {"configurable": {"thread_id": "t", **sneaked, "user_id": display_name}}


SERVER: dict[str, Any] = {"configurable": {"thread_id": "t"}}
HELLO = {"messages": [("user", "Hello")]}


@pytest.mark.parametrize("run", [run_of, run_without_auth])
async def test_a_run_claims_its_thread_and_the_server_reads_it(
    saver: Saver, tmp_path: Path, run: Callable[[str], dict[str, Any]]
) -> None:
    graph = chat(saver)
    await graph.ainvoke(HELLO, run("ana"))
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
    pretending = {"configurable": {**run_of("bo")["configurable"], "user_id": "ana"}}
    with pytest.raises(ThreadOwnerError):  # what a client says never counts beside it
        await graph.ainvoke(HELLO, pretending)
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


async def test_a_state_is_updated_by_whom_the_server_lets_whatever_they_are_called(
    saver: Saver,
) -> None:
    graph = chat(saver)
    await graph.ainvoke(HELLO, run_of("ana@example.com"))
    await graph.aupdate_state(written_by("Ana"), HELLO, as_node="reply")
    assert len((await graph.aget_state(SERVER)).values["messages"]) == 3


@pytest.mark.parametrize(
    "sneaked",
    [
        {"langgraph_auth_user_id": "ana"},
        {"langgraph_auth_user": {"identity": "ana"}, "langgraph_auth_user_id": "ana"},
    ],
    ids=["id", "user"],
)
async def test_a_client_puts_no_thread_among_those_of_another_user(
    saver: Saver, tmp_path: Path, sneaked: dict[str, Any]
) -> None:
    graph = chat(saver)
    await graph.aupdate_state(written_by("bo", **sneaked), HELLO, as_node="reply")
    await graph.ainvoke(HELLO, run_of("bo"))
    with open_sessions(tmp_path) as sessions:
        assert sessions.list("ana") == []
        assert len(sessions.list("bo")) == 1


async def test_without_any_user_it_is_an_ordinary_checkpointer(
    saver: Saver, tmp_path: Path
) -> None:
    graph = chat(saver)
    nobody = run_without_auth(None)
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
