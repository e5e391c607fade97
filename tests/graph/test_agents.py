"""Several agents of one team in one graph: each its own memory, and the project's in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Memory,
    MemoryState,
    Sessions,
    messages_with_memory,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.testing import HashingEmbeddings, ScriptedChatModel
from tests.graph.graphs import (
    Builder,
    Shape,
    Way,
    answer,
    as_user,
    block_in,
    episodes,
    said,
    say,
)

ASKED = "Ship the release of the shop, please."
PLANS = "Ship on Friday, in two steps"
CODES = "Ship behind a flag"
SHARED = "Ship to staging before production"
ELSEWHERE = "Ship by post"
PRIVATE = "Ship nothing of mine before Monday"
AGENTS = {"planner": PLANS, "coder": CODES}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        yield memory


@pytest.fixture
def team(memory: Memory) -> Memory:
    """A memory in which each agent, the project and each of two users know how to ship."""
    for agent, lesson in AGENTS.items():
        memory.remember(lesson, user="ana", agent=agent, kind="lesson")
    memory.remember(SHARED, user="ana", project="shop", kind="decision")
    memory.remember(ELSEWHERE, user="ana", project="shop2", kind="decision")
    memory.remember(PRIVATE, user="ana")
    return memory


class Team:
    """A model for each agent, which keeps what it was asked."""

    def __init__(self, turns: int = 1) -> None:
        self.models = {
            agent: ScriptedChatModel([f"The {agent} is done."] * turns) for agent in AGENTS
        }

    def node(self, agent: str, read: Callable[[Any], list[BaseMessage]]) -> Callable[..., Any]:
        def work(state: MemoryState) -> dict[str, Any]:
            return {"messages": [self.models[agent].invoke(read(state))]}

        return work

    def check_blocks(self, *, shared: bool = True) -> None:
        """Each agent was shown its own memory and the project's, and not the other's."""
        for agent, model in self.models.items():
            for prompt in model.calls:
                block = block_in(prompt)
                shown = {name for name, lesson in AGENTS.items() if lesson in block}
                assert shown == {agent}
                assert (SHARED in block) == shared
                assert ELSEWHERE not in block


def wrapped_agents(memory: Memory, team: Team) -> Builder:
    builder: Builder = StateGraph(MessagesState)
    for agent in AGENTS:
        node = team.node(agent, lambda state: state["messages"])
        builder.add_node(agent, with_memory(node, memory, project="shop", agent=agent))
    return builder


def recalled_agents(memory: Memory, team: Team) -> Builder:
    """Each agent with a recall node before it; the graph is still to be wired."""
    builder: Builder = StateGraph(MemoryState)
    for agent in AGENTS:
        builder.add_node(f"recall {agent}", recall_node(memory, project="shop", agent=agent))
        builder.add_node(agent, team.node(agent, partial(messages_with_memory, agent=agent)))
        builder.add_edge(f"recall {agent}", agent)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge("remember", END)
    return builder


def wrapped_in_turn(memory: Memory, team: Team) -> Builder:
    builder = wrapped_agents(memory, team)
    builder.add_edge(START, "planner")
    builder.add_edge("planner", "coder")
    return builder


def wrapped_side_by_side(memory: Memory, team: Team) -> Builder:
    builder = wrapped_agents(memory, team)
    builder.add_edge(START, "planner")
    builder.add_edge(START, "coder")
    return builder


def recalled_in_turn(memory: Memory, team: Team) -> Builder:
    builder = recalled_agents(memory, team)
    builder.add_edge(START, "recall planner")
    builder.add_edge("planner", "recall coder")
    builder.add_edge("coder", "remember")
    return builder


def recalled_side_by_side(memory: Memory, team: Team) -> Builder:
    builder = recalled_agents(memory, team)
    builder.add_edge(START, "recall planner")
    builder.add_edge(START, "recall coder")
    builder.add_edge(["planner", "coder"], "remember")
    return builder


def recalled_at_other_times(memory: Memory, team: Team) -> Builder:
    """The coder's recall comes when the planner's is over, and before the planner speaks."""
    builder = recalled_agents(memory, team)
    builder.add_node("think", lambda state: {})
    builder.add_node("wait", lambda state: {})
    builder.add_edge(START, "think")
    builder.add_edge("think", "recall coder")
    builder.edges.remove(("recall planner", "planner"))
    builder.add_edge(START, "recall planner")
    builder.add_edge("recall planner", "wait")
    builder.add_edge("wait", "planner")
    builder.add_edge(["planner", "coder"], "remember")
    return builder


def recalled_in_subgraphs(memory: Memory, team: Team) -> Builder:
    builder: Builder = StateGraph(MemoryState)
    for agent in AGENTS:
        inner: Builder = StateGraph(MemoryState)
        inner.add_node("recall", recall_node(memory, project="shop", agent=agent))
        inner.add_node("chat", team.node(agent, partial(messages_with_memory, agent=agent)))
        inner.add_edge(START, "recall")
        inner.add_edge("recall", "chat")
        builder.add_node(agent, inner.compile())
        builder.add_edge(START, agent)
    builder.add_node("remember", remember_node(memory))
    builder.add_edge([*AGENTS], "remember")
    return builder


TEAMS = {
    build.__name__: build
    for build in (
        wrapped_in_turn,
        wrapped_side_by_side,
        recalled_in_turn,
        recalled_side_by_side,
        recalled_at_other_times,
        recalled_in_subgraphs,
    )
}


@pytest.mark.parametrize("build", TEAMS.values(), ids=TEAMS)
async def test_each_agent_reads_its_own_memory_and_the_projects_and_the_turn_is_kept_once(
    team: Memory, sessions: Sessions, call: Way, build: Callable[[Memory, Team], Builder]
) -> None:
    agents = Team(turns=2)
    graph = build(team, agents).compile(checkpointer=sessions.checkpointer)
    for thread in ("monday", "tuesday"):
        await call(graph, say(ASKED), sessions.config(user="bo", thread_id=thread))
    assert [len(model.calls) for model in agents.models.values()] == [2, 2]
    agents.check_blocks()
    assert PRIVATE not in str([model.calls for model in agents.models.values()])
    turn = [f"user: {ASKED}", *(f"assistant: The {agent} is done." for agent in AGENTS)]
    assert sorted(said(team, "bo")) == sorted(turn * 2)
    assert [episode.task for episode in episodes(team, "bo")] == [ASKED] * 2
    assert {
        namespace[1:] for namespace in team.store.list_namespaces() if namespace[2] != "bo"
    } == {
        ("project", "shop", "note"),
        ("project", "shop2", "note"),
        ("agent", "planner", "note"),
        ("agent", "coder", "note"),
        ("user", "ana", "note"),
    }


async def test_one_thread_of_a_team_begins_each_turn_with_what_is_recalled_then(
    team: Memory, sessions: Sessions, call: Way
) -> None:
    agents = Team(turns=2)
    graph = recalled_side_by_side(team, agents).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="bo", thread_id="t")
    state = await call(graph, say(ASKED), config)
    assert state["memory"] == {}
    team.remember("Ship at night", user="ana", agent="planner")
    await call(graph, say(ASKED), config)
    agents.check_blocks()
    planner, coder = (model.calls[-1] for model in agents.models.values())
    assert "Ship at night" in block_in(planner)
    assert "Ship at night" not in block_in(coder)


@pytest.mark.parametrize("build", [wrapped_side_by_side, recalled_side_by_side])
def test_the_stream_tells_for_which_agent_what_was_recalled(
    team: Memory, build: Callable[[Memory, Team], Builder]
) -> None:
    graph = build(team, Team()).compile()
    events = list(graph.stream(say(ASKED), as_user("bo"), stream_mode="custom"))
    recalled = {e["agent"]: e for e in events if e["type"] == "memory.recalled"}
    for agent, event in recalled.items():
        assert (event["user"], event["project"]) == ("bo", "shop")
        shown = {item["text"] for item in event["items"]}
        # The other may have answered by then: that is in the user's memory.
        assert shown & {*AGENTS.values(), SHARED} == {AGENTS[agent], SHARED}
    assert recalled.keys() == AGENTS.keys()


def recalled_for(memory: Memory, read: Callable[[Any], list[BaseMessage]], state: Any) -> Builder:
    builder: Builder = StateGraph(state)
    builder.add_node("chat", lambda state: {"messages": [AIMessage(read(state)[-1].text)]})
    for agent in AGENTS:
        builder.add_node(agent, recall_node(memory, agent=agent))
        builder.add_edge(START, agent)
        builder.add_edge(agent, "chat")
    return builder


class Latest(MessagesState):
    """A state whose author lets the last write win."""

    memory: Annotated[dict[str, Any], lambda old, new: new]


@pytest.mark.parametrize("agent", [None, "tester"])
async def test_an_agent_that_does_not_say_who_it_is_gets_no_other_agents_memory(
    team: Memory, call: Way, agent: str | None
) -> None:
    graph = recalled_for(
        team, lambda state: messages_with_memory(state, agent=agent), MemoryState
    ).compile()
    with pytest.raises(ConfigurationError, match=r"\['coder', 'planner'\].*agent='\.\.\.'"):
        await call(graph, say(ASKED), as_user("bo"))


def test_where_the_last_write_wins_the_other_agent_is_told_instead_of_shown_it(
    team: Memory,
) -> None:
    def read(state: Any) -> list[BaseMessage]:
        [winner] = state["memory"]["agents"]
        [other] = AGENTS.keys() - {winner}
        assert AGENTS[winner] in block_in(messages_with_memory(state, agent=winner))
        return messages_with_memory(state, agent=other)

    with pytest.raises(ConfigurationError, match="nothing for agent="):
        recalled_for(team, read, Latest).compile().invoke(say(ASKED), as_user("bo"))


@pytest.mark.parametrize("named", [{}, {"agent": "coder"}], ids=["unnamed", "named"])
async def test_a_single_agent_need_not_say_who_it_is(
    team: Memory, call: Way, named: dict[str, Any]
) -> None:
    builder: Builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(team, agent="coder"))
    builder.add_node(
        "chat",
        lambda state: {"messages": [AIMessage(messages_with_memory(state, **named)[-1].text)]},
    )
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    state = await call(builder.compile(), say(ASKED), as_user("bo"))
    assert CODES in answer(state)
    assert PLANS not in answer(state)


async def test_what_a_version_without_agents_left_is_shown_in_its_own_turn_alone(
    team: Memory, call: Way
) -> None:
    builder: Builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(team, agent="coder"))
    builder.add_node(
        "chat", lambda state: {"messages": [AIMessage(messages_with_memory(state)[-1].text)]}
    )
    builder.add_node("remember", remember_node(team))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    builder.add_edge("chat", "remember")
    graph = builder.compile(checkpointer=InMemorySaver())
    old = {"query": "?", "turn": "0", "began": "2026-01-01T00:00:00+00:00", "block": "OLD BLOCK"}
    for user, goes_on in {"resuming": None, "leaving": say(ASKED)}.items():
        config = as_user(user, f"thread of {user}")
        graph.update_state(config, {**say("Hello?"), "memory": old}, as_node="recall")
        shown = answer(await call(graph, goes_on, config))
        assert ("OLD BLOCK" in shown, CODES in shown) == (goes_on is None, goes_on is not None)


async def test_an_agent_is_recalled_for_beside_a_node_that_is_none(team: Memory, call: Way) -> None:
    """Who names no agent is shown what was recalled for none."""
    blocks: dict[str | None, str] = {}
    builder: Builder = StateGraph(MemoryState)
    for agent in (None, "coder"):

        def read(state: Any, agent: str | None = agent) -> dict[str, Any]:
            blocks[agent] = block_in(messages_with_memory(state, agent=agent))
            return {}

        builder.add_node(f"recall {agent}", recall_node(team, project="shop", agent=agent))
        builder.add_node(str(agent), read)
        builder.add_edge(START, f"recall {agent}")
    builder.add_edge(["recall None", "recall coder"], "None")
    builder.add_edge("None", "coder")
    await call(builder.compile(), say(ASKED), as_user("bo"))
    assert [SHARED in block for block in blocks.values()] == [True, True]
    assert [CODES in block for block in blocks.values()] == [False, True]


async def test_an_agents_id_may_be_a_function_of_the_state(team: Memory, call: Way) -> None:
    """One node for all agents, as a supervisor sends them out."""

    class Sent(MemoryState):
        who: str

    def chat(state: Sent) -> dict[str, Any]:
        return {"messages": [AIMessage(messages_with_memory(state, agent=state["who"])[-1].text)]}

    builder: Builder = StateGraph(Sent)
    builder.add_node("recall", recall_node(team, agent=lambda state, config: state["who"]))
    builder.add_node("chat", chat)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "chat")
    graph = builder.compile()
    for agent, lesson in AGENTS.items():
        state = await call(graph, {**say(ASKED), "who": agent}, as_user("bo"))
        assert [known for known in AGENTS.values() if known in answer(state)] == [lesson]


async def test_two_agents_that_answer_a_state_without_messages_are_both_heard(
    memory: Memory, call: Way
) -> None:
    class Asked(MemoryState):
        question: str

    builder: Builder = StateGraph(Asked)
    for agent in AGENTS:

        def reply(state: Any, agent: str = agent) -> str:
            return f"The {agent} is done."

        recall = recall_node(memory, agent=agent, query=lambda state: state["question"])
        builder.add_node(f"recall {agent}", recall)
        builder.add_node(f"remember {agent}", remember_node(memory, reply=reply))
        builder.add_edge(START, f"recall {agent}")
        builder.add_edge(f"recall {agent}", f"remember {agent}")
    await call(builder.compile(), {"question": ASKED}, as_user("bo", "t"))
    turn = [f"user: {ASKED}", *(f"assistant: The {agent} is done." for agent in AGENTS)]
    assert sorted(said(memory, "bo")) == sorted(turn)


def test_in_the_background_the_answers_of_a_turn_are_looked_through_in_one_call(
    team: Memory,
) -> None:
    model = ScriptedChatModel([{"notes": []}])
    extracting = Memory(team.store, model=model, debounce=60)
    builder: Builder = StateGraph(MessagesState)
    for agent in AGENTS:
        node = Team().node(agent, lambda state: state["messages"])
        builder.add_node(agent, with_memory(node, extracting, agent=agent, background=True))
    builder.add_edge(START, "planner")
    builder.add_edge("planner", "coder")
    builder.compile().invoke(say(ASKED), as_user("bo", "t"))
    assert extracting.flush(30)
    [asked] = model.calls
    assert ["planner is done" in asked[-1].text, "coder is done" in asked[-1].text] == [True, True]


# -- what a run does not do by itself ------------------------------------------------------------


@pytest.mark.parametrize("conflict", ["project", "agent"])
async def test_a_run_that_names_two_projects_or_agents_is_refused(
    team: Memory, conflict: str, shape: Shape, call: Way
) -> None:
    model = ScriptedChatModel([])
    graph = shape(team, model, context_schema=dict).compile()
    config = {"configurable": {"user_id": "bo", f"{conflict}_id": "shop"}}
    context = {f"{conflict}_id": "shop2"}
    with pytest.raises(ConfigurationError, match=f"more than one {conflict}: 'shop2'.*'shop'"):
        await call(graph, say(ASKED), config, context=context)
    assert model.calls == []
    assert said(team, "bo") == []


OWNERS: dict[str, dict[str, Any]] = {
    "project": {"project": "shop"},
    "agent": {"agent": "coder"},
}


async def test_a_run_writes_nothing_of_its_user_into_its_project_or_its_agent(
    team: Memory, shape: Shape, call: Way
) -> None:
    """Neither messages, nor the episode, nor what a model extracts or a reply proposes."""
    proposed = {
        "message": 1,
        "quote": "ship the release",
        "text": "The user ships the release of the shop.",
    }
    extracting = Memory(team.store, model=ScriptedChatModel([{"notes": [proposed]}]))
    reply = '{"reply": "Noted.", "save_to_memory": ["The user is in a hurry."]}'
    named = {"configurable": {"user_id": "bo", "project_id": "shop", "agent_id": "coder"}}
    before = {kind: team.list(user="bo", status=None, **who) for kind, who in OWNERS.items()}
    graph = shape(extracting, ScriptedChatModel([reply]), from_reply=True).compile()
    await call(graph, say(ASKED), named)
    assert extracting.count(user="bo") == {"note": 2, "message": 2, "episode": 1, "document": 0}
    for kind, who in OWNERS.items():
        assert team.list(user="bo", status=None, **who) == before[kind]
        assert team.count(user="bo", **who) == {
            "note": 1,
            "message": 0,
            "episode": 0,
            "document": 0,
        }
