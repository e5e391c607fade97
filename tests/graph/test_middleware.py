"""`MemoryMiddleware` in agents of `create_agent`, beside the middleware that they have else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
    hook_config,
)
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from langgraph_memory import (
    ConfigurationError,
    EpisodeRecorder,
    Memory,
    MemoryMiddleware,
    MissingUserError,
    Quotas,
    SavingReply,
    Sessions,
    StoreError,
    memory_tools,
)
from langgraph_memory.testing import ScriptedChatModel
from langgraph_memory.text.escaping import OPEN
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Way,
    answer,
    as_user,
    block_in,
    episodes,
    everything,
    files_with,
    has_block,
    messages_of,
    noting,
    said,
    say,
    tasks,
    wrapped_node,
)
from tests.graph.test_extraction import NOTES, TEXT, extracting
from tests.graph.test_tools import TOOLS, calling

KNOWN = "Drinks Colombia from a moka pot"
ASKED = "What does my coffee cost? Order it if it is in stock, please."
ANSWER = "A kilo of Colombia is 12 euro, and we have 30 of them."
KEPT = [f"user: {ASKED}", f"assistant: {ANSWER}"]
ALL_WAYS = ["invoke", "ainvoke", "stream", "astream", "astream_events"]


def agent_with(
    memory: Memory,
    model: Any,
    *others: Any,
    saver: Any = None,
    tools: Any = TOOLS,
    made: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Return an agent with memory, as its first middleware."""
    middleware = [MemoryMiddleware(memory, **options), *others]
    return create_agent(model, tools, middleware=middleware, checkpointer=saver, **(made or {}))


def saying(text: str, *tools: str) -> AIMessage:
    return AIMessage(text, tool_calls=calling(*tools).tool_calls)


# -- in each way of running ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_WAYS)
async def test_an_agent_is_given_what_is_known_and_keeps_what_was_said(
    memory: Memory, sessions: Sessions, name: str
) -> None:
    """The same in every way of running it."""
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price", "stock"), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    state = await Way(name)(agent, say(ASKED), config)
    assert answer(state) == ANSWER
    for prompt in model.calls:
        assert KNOWN in block_in(prompt)
        assert [has_block(message) for message in prompt] == [True] + [False] * (len(prompt) - 1)
    assert [message.type for message in model.calls[1]] == ["human", "ai", "tool", "tool"]
    assert said(memory, "ana") == KEPT
    [episode] = episodes(memory, "ana")
    assert (episode.task, episode.approach) == (ASKED, "tools: price, stock")
    assert episode.thread_id == "t"
    assert episode.duration_ms is not None
    assert OPEN not in str(state)


async def test_nothing_is_left_in_the_state_when_the_turn_is_over(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    agent = agent_with(memory, noting(), saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    state = await call(agent, say(ORDER), config)
    kept = agent.get_state(config).values
    assert {name for name, value in kept.items() if value} == {"messages"}
    assert set(state) == {"messages"}


async def test_the_user_may_be_said_in_the_context(memory: Memory, call: Way) -> None:
    @dataclass
    class Context:
        user_id: str

    memory.remember(KNOWN, user="ana")
    model = noting()
    agent = agent_with(memory, model, made={"context_schema": Context})
    await call(agent, say(ASKED), context=Context("ana"))
    assert KNOWN in block_in(model.calls[0])
    assert said(memory, "ana")[0] == KEPT[0]


async def test_the_user_may_be_a_function_of_state_and_config(memory: Memory, call: Way) -> None:
    agent = agent_with(memory, noting(), user=lambda state, config: state["messages"][0].name)
    await call(agent, say(ORDER, name="ana"))
    assert said(memory, "ana")[0] == f"user: {ORDER}"


async def test_a_run_without_a_user_is_refused_before_any_model_is_asked(
    memory: Memory, call: Way
) -> None:
    model, summarizer = noting(), noting()
    summary = SummarizationMiddleware(summarizer, trigger=("messages", 1), keep=("messages", 1))
    agent = create_agent(model, TOOLS, middleware=[summary, MemoryMiddleware(memory)])
    history = {"messages": [HumanMessage(str(number)) for number in range(9)]}
    with pytest.raises(MissingUserError):
        await call(agent, history)
    assert model.calls == summarizer.calls == []


async def test_a_second_thread_knows_what_was_said_in_the_first(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    model = noting()
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    await call(agent, say(ORDER), sessions.config(user="ana", thread_id="monday"))
    await call(agent, say(AGAIN), sessions.config(user="ana", thread_id="friday"))
    await call(agent, say(AGAIN), sessions.config(user="ben", thread_id="his"))
    assert [ORDER in block_in(prompt) for prompt in model.calls] == [False, True, False]


async def test_a_long_thread_is_kept_once(memory: Memory, sessions: Sessions, call: Way) -> None:
    agent = agent_with(memory, noting(), saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    texts = [f"Order number {number}, please ship it to Rosario." for number in range(4)]
    for text in texts:
        await call(agent, say(text), config)
    assert said(memory, "ana") == [
        line for text in texts for line in (f"user: {text}", "assistant: Noted, thank you.")
    ]
    assert tasks(memory, "ana") == texts


async def test_an_agent_that_nobody_keeps_logs_the_turn_alone(memory: Memory, call: Way) -> None:
    """Without a checkpointer a client sends its history anew, under new ids."""
    agent = agent_with(memory, noting())
    history: list[Any] = []
    for text in (ORDER, AGAIN):
        history = [*history, ("user", text)]
        state = await call(agent, {"messages": history}, as_user("ana", "t"))
        history = [*history, ("assistant", answer(state))]
    noted = "assistant: Noted, thank you."
    assert said(memory, "ana") == [f"user: {ORDER}", noted, f"user: {AGAIN}", noted]


async def test_a_project_and_an_agent_are_read_beside_the_user(memory: Memory, call: Way) -> None:
    memory.remember("Ship to staging first", user="ana", project="shop", kind="decision")
    memory.remember("Ship behind a flag", user="ana", agent="coder", kind="lesson")
    model = noting()
    agent = agent_with(memory, model, project="shop", agent="coder", user="ana")
    await call(agent, say("How do we ship the release?"))
    assert "staging" in block_in(model.calls[0])
    assert "flag" in block_in(model.calls[0])


async def test_the_runs_own_store_is_used_where_there_is_no_other(call: Way) -> None:
    """As on a LangGraph server."""
    store = InMemoryStore()
    with Memory() as memory:
        agent = agent_with(memory, noting(), made={"store": store})
        await call(agent, say(ORDER), as_user("ana"))
        assert said(memory.using(store), "ana")[0] == f"user: {ORDER}"


@pytest.mark.parametrize("fails", [True, False])
async def test_a_recorder_and_the_middleware_log_one_episode(
    memory: Memory, sessions: Sessions, call: Way, fails: bool
) -> None:
    model = ScriptedChatModel([calling("price"), *([Down()] if fails else []), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    config["callbacks"] = [EpisodeRecorder(memory)]
    if fails:
        with pytest.raises(Down):
            await call(agent, say(ASKED), config)
        [episode] = episodes(memory, "ana")
        assert (episode.task, episode.outcome) == (ASKED, "failure")
    await call(agent, None if fails else say(ASKED), config)
    [episode] = episodes(memory, "ana")
    assert (episode.task, episode.outcome) == (ASKED, "completed")


async def test_a_message_that_comes_while_the_agent_works_is_recalled_for(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    """A tool may bring what the user said meanwhile."""
    memory.remember(KNOWN, user="ana")
    memory.remember("The grinder was shipped to Rosario", user="ana")

    @tool
    def wait(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Wait for the user."""
        come = [ToolMessage("here it is", tool_call_id=tool_call_id), HumanMessage(SECOND)]
        return Command(update={"messages": come})

    calls: Any = [{"name": "wait", "args": {}, "id": "call_wait"}]
    model = ScriptedChatModel([AIMessage("", tool_calls=calls), ANSWER])
    agent = agent_with(memory, model, tools=[wait], quotas=Quotas(notes=1))
    told = await everything(agent.astream, say(ASKED), as_user("ana", "t"), "custom")
    assert [event["type"] for event in told].count("memory.recalled") == 2
    assert has_block(model.calls[1][-1])
    assert said(memory, "ana") == [KEPT[0], f"user: {SECOND}", KEPT[1]]


SECOND = "Where was the grinder shipped to?"


# -- where the block goes, and where not ---------------------------------------------------------


@pytest.mark.parametrize("prompt", [None, "You sell coffee."])
async def test_the_block_goes_into_the_system_prompt_if_asked(
    memory: Memory, call: Way, prompt: str | None
) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    agent = agent_with(memory, model, inject="system", made={"system_prompt": prompt})
    await call(agent, say(ASKED), as_user("ana"))
    system, human = model.calls[0]
    assert isinstance(system, SystemMessage)
    assert system.text.startswith(prompt or "\n\n")
    assert KNOWN in block_in([system])
    assert human.text == ASKED


@pytest.mark.parametrize("inject", ["user", "system"])
async def test_a_system_message_among_the_messages_stays_first(
    memory: Memory, call: Way, inject: Any
) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    given = {"messages": [SystemMessage("You sell coffee."), HumanMessage(ASKED)]}
    await call(agent_with(memory, model, inject=inject), given, as_user("ana"))
    assert [message.type for message in model.calls[0]] == ["system", "human"]
    assert [has_block(message) for message in model.calls[0]] == [
        inject == "system",
        inject == "user",
    ]


async def test_a_system_prompt_stays_as_it_is(memory: Memory, call: Way) -> None:
    memory.remember(KNOWN, user="ana")
    model = noting()
    agent = agent_with(memory, model, made={"system_prompt": "You sell coffee."})
    await call(agent, say(ASKED), as_user("ana"))
    system, human = model.calls[0]
    assert system.text == "You sell coffee."
    assert KNOWN in block_in([human])


async def test_the_block_reaches_neither_the_checkpoints_nor_the_memory(
    memory: Memory, sessions: Sessions, call: Way, tmp_path: Path
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price"), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    state = await call(agent, say(ASKED), config)
    assert all(KNOWN in block_in(prompt) for prompt in model.calls)
    assert OPEN not in str(state)
    assert OPEN not in str(list(agent.get_state_history(config)))
    assert files_with(tmp_path, OPEN) == []


@pytest.mark.parametrize("name", ["stream", "astream"])
async def test_no_stream_has_the_block(memory: Memory, sessions: Sessions, name: str) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price"), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    modes = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"]
    streamed = await everything(getattr(agent, name), say(ASKED), config, modes)
    assert {mode for mode, _ in streamed} == set(modes)
    assert OPEN not in str(streamed)
    assert all(KNOWN in block_in(prompt) for prompt in model.calls)


async def test_events_have_the_block_only_where_the_model_is_asked(memory: Memory) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price"), ANSWER])
    stream = agent_with(memory, model).astream_events(say(ASKED), as_user("ana"), version="v2")
    events = [event async for event in stream]
    shown = {event["event"] for event in events if OPEN in str(event)}
    assert shown == {"on_chat_model_start", "on_chat_model_end"}  # both have the model's input


async def test_runs_that_go_on_at_once_are_each_given_their_own_users_memory(
    memory: Memory, sessions: Sessions
) -> None:
    users = [f"user{number}" for number in range(8)]
    for user in users:
        memory.remember(f"My coffee is the one of {user}.", user=user)
    model = ScriptedChatModel([lambda m: f"Known: {block_in(m)}"] * 8)
    agent = agent_with(memory, model, saver=sessions.checkpointer, tools=[])
    states = await asyncio.gather(
        *(
            agent.ainvoke(say("Which coffee is mine?"), sessions.config(user=user, thread_id=user))
            for user in users
        )
    )
    for user, state in zip(users, states, strict=True):
        assert [other for other in users if f"of {other}." in answer(state)] == [user]


@pytest.mark.parametrize("name", ["stream", "astream"])
async def test_a_stream_of_messages_has_the_tokens_and_no_block(
    memory: Memory, sessions: Sessions, name: str
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price"), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    plain = create_agent(ScriptedChatModel([calling("price"), ANSWER]), TOOLS)
    streams = [
        await everything(
            getattr(graph, name), say(ASKED), sessions.config(user="ana", thread_id="t"), "messages"
        )
        for graph in (plain, agent)
    ]
    without, chunks = ([(chunk.type, chunk.text) for chunk, _ in stream] for stream in streams)
    assert chunks == without
    assert len([text for type, text in chunks if type == "AIMessageChunk" and text]) > 5
    assert OPEN not in str(streams)


async def test_the_stream_tells_what_was_recalled_once_and_what_was_saved(
    memory: Memory, sessions: Sessions
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price"), calling("stock"), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    told = await everything(agent.stream, say(ASKED), config, "custom")
    assert [event["type"] for event in told] == ["memory.saved", "memory.recalled", "memory.saved"]
    assert [item["text"] for item in told[0]["items"]] == [ASKED]
    assert [item["text"] for item in told[1]["items"]] == [KNOWN]
    assert [item["type"] for item in told[2]["items"]] == ["message", "episode"]


# -- failures ------------------------------------------------------------------------------------


class Down(Exception):
    pass


def broken(*_: Any, **__: Any) -> Any:
    raise StoreError("the disk is gone")


async def abroken(*_: Any, **__: Any) -> Any:
    broken()


@pytest.fixture
def failing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A memory that cannot be read."""
    monkeypatch.setattr(Memory, "recall", broken)
    monkeypatch.setattr(Memory, "arecall", abroken)
    return memory


async def test_an_agent_answers_without_memory_when_it_cannot_be_read(
    failing: Memory, call: Way, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried once a run, and not at each call of the model."""
    model = ScriptedChatModel([calling("price"), ANSWER])
    state = await call(agent_with(failing, model), say(ASKED), as_user("ana"))
    assert answer(state) == ANSWER
    assert caplog.text.count("recall failed") == 1
    assert said(failing, "ana") == KEPT


async def test_an_agent_that_cannot_do_without_memory_fails(failing: Memory, call: Way) -> None:
    agent = agent_with(failing, noting(), on_error="raise")
    with pytest.raises(StoreError):
        await call(agent, say(ASKED), as_user("ana"))


async def test_what_the_user_said_is_kept_when_the_model_fails(memory: Memory, call: Way) -> None:
    agent = agent_with(memory, ScriptedChatModel([Down()]))
    with pytest.raises(Down):
        await call(agent, say(ORDER), as_user("ana"))
    assert said(memory, "ana") == [f"user: {ORDER}"]


async def test_what_the_user_said_is_kept_when_the_run_is_cancelled(
    memory: Memory, sessions: Sessions
) -> None:
    waiting = asyncio.Event()

    class Slow(AgentMiddleware[Any, Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            waiting.set()
            await asyncio.Event().wait()

    agent = agent_with(memory, noting(), Slow(), saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    run = asyncio.create_task(agent.ainvoke(say(ORDER), config))
    await waiting.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert said(memory, "ana") == [f"user: {ORDER}"]


async def test_a_turn_that_is_answered_again_has_one_episode(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel(["Gladly.", "With pleasure."])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(agent, say(ASKED), config)
    [asked] = [state for state in agent.get_state_history(config) if state.next == ("model",)]
    place = asked.config["configurable"]
    await call(agent, None, {"configurable": {**config["configurable"], **place}})
    assert all(KNOWN in block_in(prompt) for prompt in model.calls)
    assert said(memory, "ana") == [KEPT[0], "assistant: Gladly.", "assistant: With pleasure."]
    assert tasks(memory, "ana") == [ASKED]


async def test_a_turn_that_failed_goes_on_and_is_kept_once(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price"), Down(), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    with pytest.raises(Down):
        await call(agent, say(ASKED), config)
    await call(agent, None, config)
    assert KNOWN in block_in(model.calls[-1])
    assert said(memory, "ana") == KEPT
    assert [episode.approach for episode in episodes(memory, "ana")] == ["tools: price"]


async def test_a_turn_after_one_that_failed_is_a_turn_of_its_own(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    model = ScriptedChatModel([calling("price"), Down(), "Noted."])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    with pytest.raises(Down):
        await call(agent, say(ASKED), config)
    await call(agent, say(ORDER), config)
    assert said(memory, "ana") == [KEPT[0], f"user: {ORDER}", "assistant: Noted."]
    assert [(e.task, e.approach) for e in episodes(memory, "ana")] == [(ORDER, "")]


@pytest.mark.parametrize(
    "wrong", [{"inject": "assistant"}, {"on_error": "ignore"}, {"max_tokens": 0}, {"quotas": 3}]
)
def test_a_wrong_argument_is_refused_when_the_agent_is_built(
    memory: Memory, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        MemoryMiddleware(memory, **wrong)


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="expected a Memory"):
        MemoryMiddleware("./memory")  # type: ignore[arg-type]  # the mistake itself


# -- beside other middleware ---------------------------------------------------------------------


def summary_of(keep: int, trigger: int) -> SummarizationMiddleware:
    summarizer = ScriptedChatModel(["They spoke of coffee."] * 20)
    return SummarizationMiddleware(
        summarizer, trigger=("messages", trigger), keep=("messages", keep)
    )


@pytest.mark.parametrize("first", [True, False], ids=["memory first", "memory last"])
async def test_a_turn_that_a_summary_removed_while_it_went_on_is_kept_whole(
    memory: Memory, sessions: Sessions, call: Way, first: bool
) -> None:
    memory.remember(KNOWN, user="ana")
    script: list[Any] = [
        saying("I look for the price.", "price"),
        saying("Now the stock.", "stock"),
        calling("price"),
        ANSWER,
    ]
    model = ScriptedChatModel(script)
    both: list[Any] = [MemoryMiddleware(memory), summary_of(keep=1, trigger=3)]
    agent = create_agent(
        model,
        TOOLS,
        middleware=both if first else both[::-1],
        checkpointer=sessions.checkpointer,
    )
    config = sessions.config(user="ana", thread_id="t")
    state = await call(agent, say(ASKED), config)
    assert ASKED not in [message.text for message in messages_of(state)]
    assert said(memory, "ana") == [
        KEPT[0],
        "assistant: I look for the price.",
        "assistant: Now the stock.",
        KEPT[1],
    ]
    [episode] = episodes(memory, "ana")
    assert (episode.task, episode.approach) == (ASKED, "tools: price, stock")
    assert episode.token_cost
    assert all(KNOWN in block_in(prompt) for prompt in model.calls)


async def test_summaries_between_turns_lose_nothing(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    model = noting()
    agent = agent_with(memory, model, summary_of(2, 4), saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    texts = [f"Order number {number}, please ship it to Rosario." for number in range(6)]
    for text in texts:
        state = await call(agent, say(text), config)
    assert len(messages_of(state)) < 6
    assert said(memory, "ana") == [
        line for text in texts for line in (f"user: {text}", "assistant: Noted, thank you.")
    ]
    assert tasks(memory, "ana") == texts


async def test_a_history_that_is_summarised_at_once_is_kept(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    """A client brings a conversation that was held elsewhere."""
    history: list[Any] = [HumanMessage(ORDER), AIMessage("It is on its way.")]
    history += [HumanMessage("Thanks, and a grinder."), AIMessage("Added."), HumanMessage(AGAIN)]
    agent = agent_with(memory, noting(), summary_of(1, 3), saver=sessions.checkpointer)
    await call(agent, {"messages": history}, sessions.config(user="ana", thread_id="t"))
    assert said(memory, "ana") == [
        f"user: {ORDER}",
        "assistant: It is on its way.",
        "user: Thanks, and a grinder.",
        "assistant: Added.",
        f"user: {AGAIN}",
        "assistant: Noted, thank you.",
    ]


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_person_who_decides_about_a_tool_does_not_make_memory_go(
    memory: Memory, sessions: Sessions, call: Way, decision: Any
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("price"), ANSWER])
    human = HumanInTheLoopMiddleware({"price": True})
    agent = agent_with(memory, model, human, saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(agent, say(ASKED), config)
    assert agent.get_state(config).interrupts
    assert said(memory, "ana") == KEPT[:1]
    assert episodes(memory, "ana") == []
    state = await call(agent, Command(resume={"decisions": [{"type": decision}]}), config)
    assert answer(state) == ANSWER
    assert len(model.calls) == 2
    assert KNOWN in block_in(model.calls[1])
    assert said(memory, "ana") == KEPT
    assert len(episodes(memory, "ana")) == 1


async def test_after_an_interrupt_a_summary_may_still_remove_the_turn(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    model = ScriptedChatModel([saying("I ask.", "confirm"), calling("price"), ANSWER])
    agent = agent_with(memory, model, summary_of(1, 3), saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(agent, say(ASKED), config)
    state = await call(agent, Command(resume="yes"), config)
    assert ASKED not in [message.text for message in messages_of(state)]
    assert said(memory, "ana") == [KEPT[0], "assistant: I ask.", KEPT[1]]
    assert [(e.task, e.approach) for e in episodes(memory, "ana")] == [
        (ASKED, "tools: confirm, price")
    ]


@pytest.mark.parametrize("anew", [True, False], ids=["another agent", "the same agent"])
async def test_after_an_interrupt_an_agent_goes_on_with_what_is_known_then(
    memory: Memory, sessions: Sessions, call: Way, anew: bool
) -> None:
    """Something was forgotten in the meantime; another agent goes on, as in another process."""
    note = memory.remember(KNOWN, user="ana").record
    memory.remember("Coffee goes to Rosario", user="ana")
    config = sessions.config(user="ana", thread_id="t")
    model = ScriptedChatModel([calling("confirm"), ANSWER])
    agent = agent_with(memory, model, saver=sessions.checkpointer)
    await call(agent, say(ASKED), config)
    memory.forget(note.id, user="ana")
    if anew:
        agent = agent_with(memory, model, saver=sessions.checkpointer)
    await call(agent, Command(resume="yes"), config)
    before, after = map(block_in, model.calls)
    assert KNOWN in before
    assert KNOWN not in after
    assert "Rosario" in after
    assert said(memory, "ana") == KEPT


@pytest.mark.parametrize("first", [True, False], ids=["memory first", "memory last"])
async def test_what_the_pii_middleware_takes_out_never_reaches_the_memory(
    memory: Memory, sessions: Sessions, call: Way, first: bool
) -> None:
    address = "ana@example.com"
    model = ScriptedChatModel([calling("price"), f"I write to {address}, it is 12 euro."])
    both: list[Any] = [
        MemoryMiddleware(memory),
        PIIMiddleware("email", strategy="redact", apply_to_output=True),
    ]
    agent = create_agent(
        model,
        TOOLS,
        middleware=both if first else both[::-1],
        checkpointer=sessions.checkpointer,
    )
    config = sessions.config(user="ana", thread_id="t")
    asked = say(f"What is the price? Write to {address}.")
    told = await everything(
        agent.astream if call.is_async else agent.stream, asked, config, "custom"
    )
    assert said(memory, "ana") == [
        "user: What is the price? Write to [REDACTED_EMAIL].",
        "assistant: I write to [REDACTED_EMAIL], it is 12 euro.",
    ]
    assert address not in str(told)
    assert address not in str(memory.list(user="ana", types=("message", "episode", "note")))


async def test_a_message_that_the_pii_middleware_blocks_is_not_kept(
    memory: Memory, call: Way
) -> None:
    agent = agent_with(memory, noting(), PIIMiddleware("email", strategy="block"))
    with pytest.raises(Exception, match="email"):
        await call(agent, say("Write to ana@example.com."), as_user("ana"))
    assert memory.count(user="ana")["message"] == 0


async def test_retries_of_tools_and_of_the_model_recall_once(memory: Memory, call: Way) -> None:
    memory.remember(KNOWN, user="ana")
    failures = [ConnectionError("no network")]

    @tool
    def flaky(bean: str) -> str:
        """Return the price of a kilo, sometimes."""
        if failures:
            raise failures.pop()
        return f"{bean}: 12 euro"

    asked: Any = [{"name": "flaky", "args": {"bean": "Colombia"}, "id": "c1"}]
    model = ScriptedChatModel([Down(), AIMessage("", tool_calls=asked), Down(), ANSWER])
    retries = (
        ToolRetryMiddleware(initial_delay=0, jitter=False),
        ModelRetryMiddleware(initial_delay=0, jitter=False),
    )
    agent = agent_with(memory, model, *retries, tools=[flaky])
    told = await everything(agent.astream, say(ASKED), as_user("ana"), "custom")
    assert [event["type"] for event in told].count("memory.recalled") == 1
    assert all(KNOWN in block_in(prompt) for prompt in model.calls)
    assert len(model.calls) == 4
    assert said(memory, "ana") == KEPT
    assert [episode.approach for episode in episodes(memory, "ana")] == ["tools: flaky"]


SECRET = "My word is xylophone, and now forget that I said it."


def forgetting(memory: Memory, how: str) -> list[Any]:
    """Return a script in which what the user said is forgotten before the turn is over."""

    def forget(messages: list[BaseMessage]) -> AIMessage:
        [message] = memory.list(user="ana", types=("message",))
        call = {"name": "forget", "args": {"id": message.id[:8]}, "id": "c1"}
        if how == "everything":
            memory.forget(user="ana", everything=True)
        return AIMessage("", tool_calls=[call])

    return [forget, "It is forgotten."]


@pytest.mark.parametrize("how", ["by the tool", "everything"])
@pytest.mark.parametrize("around", ["middleware", "with_memory", "recorder"])
async def test_what_is_forgotten_while_its_turn_goes_on_is_in_no_episode_either(
    memory: Memory, sessions: Sessions, call: Way, how: str, around: str
) -> None:
    model, tools = ScriptedChatModel(forgetting(memory, how)), memory_tools(memory)
    config = sessions.config(user="ana", thread_id="t")
    if around == "with_memory":
        inner: Any = create_agent(model, tools)
        graph = wrapped_node(memory, inner).compile(checkpointer=sessions.checkpointer)
    else:
        graph = agent_with(memory, model, saver=sessions.checkpointer, tools=tools)
    if around == "recorder":
        config["callbacks"] = [EpisodeRecorder(memory)]
    await call(graph, say(SECRET), config)
    assert "xylophone" not in str(memory.list(user="ana", types=("message", "episode", "note")))
    assert said(memory, "ana") == ["assistant: It is forgotten."]
    assert episodes(memory, "ana") == []


async def test_a_run_that_ends_before_any_model_is_asked_is_kept(memory: Memory, call: Way) -> None:
    class Closed(AgentMiddleware[Any, Any, Any]):
        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [AIMessage("We are closed.")], "jump_to": "end"}

    agent = agent_with(memory, noting(), Closed())
    await call(agent, say(ORDER), as_user("ana"))
    assert said(memory, "ana") == [f"user: {ORDER}", "assistant: We are closed."]


# -- structured output ---------------------------------------------------------------------------


async def test_a_saving_reply_becomes_plain_text_and_a_note(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    reply = SavingReply(reply="Gladly, Ana.", save_to_memory="Ana is allergic to nuts.")
    model = ScriptedChatModel([calling("price"), reply_call(reply), "Good bye."])
    agent = agent_with(
        memory,
        model,
        saver=sessions.checkpointer,
        from_reply=True,
        made={"response_format": SavingReply},
    )
    config = sessions.config(user="ana", thread_id="t")
    asked = "I am Ana and I am allergic to nuts. What do you sell?"
    state = await call(agent, say(asked), config)
    assert [message.type for message in messages_of(state)] == ["human", "ai", "tool", "ai"]
    assert answer(state) == "Gladly, Ana."
    assert state["structured_response"] == reply
    assert said(memory, "ana") == [f"user: {asked}", "assistant: Gladly, Ana."]
    assert [note.text for note in memory.list(user="ana")] == ["Ana is allergic to nuts."]


def reply_call(reply: SavingReply) -> AIMessage:
    """Return the answer of a model that is given `response_format=`: a call of a tool."""
    return AIMessage(
        "", tool_calls=[{"name": "SavingReply", "args": reply.model_dump(), "id": "call_reply"}]
    )


class Offer(BaseModel):
    """An offer."""

    bean: str
    price: int


async def test_any_other_structured_output_is_left_alone(memory: Memory, call: Way) -> None:
    memory.remember(KNOWN, user="ana")
    offer: Any = {"name": "Offer", "args": {"bean": "Colombia", "price": 12}, "id": "call_offer"}
    model = ScriptedChatModel([AIMessage("", tool_calls=[offer])])
    agent = agent_with(memory, model, tools=[], from_reply=True, made={"response_format": Offer})
    state = await call(agent, say(ASKED), as_user("ana"))
    assert state["structured_response"] == Offer(bean="Colombia", price=12)
    assert [message.type for message in messages_of(state)] == ["human", "ai", "tool"]
    assert KNOWN in block_in(model.calls[0])
    assert said(memory, "ana") == KEPT[:1]


# -- several agents ------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [True, False], ids=["a user of its own", "the same user"])
async def test_an_agent_in_a_tool_of_another_one_has_memory_too(
    memory: Memory, sessions: Sessions, call: Way, own: bool
) -> None:
    """Two are called at once; with a user of its own nothing of it is the user's."""
    memory.remember(KNOWN, user="ana")
    memory.remember("Coffee prices are per kilo", user="researcher")
    inner = ScriptedChatModel(["It is 12 euro."] * 2)
    options: dict[str, Any] = {"user": "researcher"} if own else {}
    researcher = agent_with(memory, inner, tools=[], **options)

    @tool
    def research(question: str) -> str:
        """Find something out about coffee prices."""
        return answer(researcher.invoke(say(question)))

    @tool
    async def aresearch(question: str) -> str:
        """Find something out about coffee prices."""
        return answer(await researcher.ainvoke(say(question)))

    used = aresearch if call.is_async else research
    calls: Any = [
        {"name": used.name, "args": {"question": f"Price of {bean} coffee?"}, "id": f"call_{bean}"}
        for bean in ("Colombia", "Kenya")
    ]
    outer = ScriptedChatModel([AIMessage("", tool_calls=calls), ANSWER])
    agent = agent_with(memory, outer, tools=[used], saver=sessions.checkpointer)
    state = await call(agent, say(ASKED), sessions.config(user="ana", thread_id="t"))
    assert answer(state) == ANSWER
    assert [message.type for message in outer.calls[1]] == ["human", "ai", "tool", "tool"]
    known = "Coffee prices are per kilo" if own else KNOWN
    assert all(known in block_in(prompt) for prompt in inner.calls)
    assert all(KNOWN in block_in(prompt) for prompt in outer.calls)
    research_said = {
        line
        for bean in ("Colombia", "Kenya")
        for line in (f"user: Price of {bean} coffee?", "assistant: It is 12 euro.")
    }
    assert len(said(memory, "researcher")) == (4 if own else 0)
    assert set(said(memory, "researcher" if own else "ana")) >= research_said
    assert (said(memory, "ana") == KEPT) is own
    assert set(said(memory, "ana")) >= set(KEPT)


async def test_one_middleware_serves_an_agent_and_the_one_in_its_tool(
    memory: Memory, sessions: Sessions
) -> None:
    """What one recalled is not shown to the other, although their runs are one."""
    memory.remember(KNOWN, user="ana")
    memory.remember("Kenya is out of stock", user="researcher")
    whose = {"Find out": "researcher"}
    shared = MemoryMiddleware(
        memory, user=lambda state, _: whose.get(messages_of(state)[0].text, "ana")
    )
    inner_model = ScriptedChatModel(["Out of stock."] * 2)
    inner: Any = create_agent(inner_model, middleware=[shared])

    @tool
    async def research() -> str:
        """Find something out."""
        return answer(await inner.ainvoke(say("Find out")))

    asked = AIMessage(
        "", tool_calls=[{"name": "research", "args": {}, "id": f"c{i}"} for i in "ab"]
    )
    model = ScriptedChatModel([asked, ANSWER])
    agent: Any = create_agent(
        model, [research], middleware=[shared], checkpointer=sessions.checkpointer
    )
    await agent.ainvoke(say(ASKED), sessions.config(user="ana", thread_id="t"))
    assert all("moka" in block_in(prompt) for prompt in model.calls)
    assert all("Kenya" in block_in(prompt) for prompt in inner_model.calls)
    assert not any("Kenya" in block_in(prompt) for prompt in model.calls)
    assert said(memory, "ana") == KEPT
    assert len(said(memory, "researcher")) == 4


async def test_an_agent_in_a_tool_may_ask_a_person_and_goes_on_with_memory(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    inner = ScriptedChatModel([calling("confirm"), "It is 12 euro."])
    researcher = agent_with(memory, inner, user="researcher", agent="coder")
    memory.remember("Ask before coffee is priced", user="ana", agent="coder", kind="lesson")

    @tool
    async def research(question: str) -> str:
        """Find something out about coffee prices."""
        return answer(await researcher.ainvoke(say(question)))

    @tool("research")
    def sync_research(question: str) -> str:
        """Find something out about coffee prices."""
        return answer(researcher.invoke(say(question)))

    calls: Any = [{"name": "research", "args": {"question": "The price of coffee?"}, "id": "c"}]
    outer = ScriptedChatModel([AIMessage("", tool_calls=calls), ANSWER])
    used = research if call.is_async else sync_research
    agent = agent_with(memory, outer, tools=[used], saver=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(agent, say(ASKED), config)
    await call(agent, Command(resume="yes"), config)
    assert all("Ask before" in block_in(prompt) for prompt in inner.calls)
    assert all(KNOWN in block_in(prompt) for prompt in outer.calls)
    assert (len(inner.calls), len(outer.calls)) == (2, 2)
    assert said(memory, "ana") == KEPT
    assert said(memory, "researcher") == ["user: The price of coffee?", "assistant: It is 12 euro."]


async def test_an_agent_may_be_a_node_of_a_graph(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = ScriptedChatModel([calling("confirm"), ANSWER, "Noted, thank you."])
    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent_with(memory, model))
    builder.add_edge(START, "agent")
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say(ASKED), config)
    await call(graph, Command(resume="yes"), config)
    await call(graph, say(ORDER), config)
    assert all(KNOWN in block_in(prompt) for prompt in model.calls)
    assert said(memory, "ana") == [*KEPT, f"user: {ORDER}", "assistant: Noted, thank you."]
    assert tasks(memory, "ana") == [ASKED, ORDER]


# -- notes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("background", [False, True], ids=["at once", "in the background"])
async def test_notes_are_made_of_the_turn_and_not_streamed_as_the_answer(
    tmp_path: Path, sessions: Sessions, call: Way, background: bool
) -> None:
    with extracting(tmp_path, NOTES, {"notes": []}, debounce=0) as memory:
        model = noting()
        agent = agent_with(memory, model, saver=sessions.checkpointer, background=background)
        config = sessions.config(user="ana", thread_id="monday")
        stream = agent.astream if call.is_async else agent.stream
        chunks = await everything(stream, say(ORDER), config, "messages")
        assert "".join(chunk.text for chunk, _ in chunks) == "Noted, thank you."
        memory.flush()
        assert [note.text for note in memory.list(user="ana")] == [TEXT]
        await call(agent, say("Hello"), sessions.config(user="ana", thread_id="tuesday"))
        assert TEXT in block_in(model.calls[-1])
