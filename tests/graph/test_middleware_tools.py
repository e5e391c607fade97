"""`MemoryMiddleware` with tools: the agent recalls, and the model remembers and forgets itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import SystemMessage, ToolMessage
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from langgraph_memory import (
    TOOLS_PROMPT,
    ConfigurationError,
    Memory,
    MemoryMiddleware,
    Note,
    Sessions,
    memory_tools,
)
from langgraph_memory.testing import ScriptedChatModel
from tests.graph.graphs import Way, answer, as_user, block_in, said, say
from tests.graph.test_memory_tools import model_of
from tests.graph.test_tools import TOOLS

KNOWN = "Drinks Colombia from a moka pot"
ASKED = "What does my coffee cost? And only decaf after noon, please."
NOTED = "Drinks decaf after noon"
SHARED = partial(memory_tools, owner="project")


def remembering(text: str = NOTED) -> ScriptedChatModel:
    return model_of([("remember", {"text": text}), ("price", {"bean": "Colombia"})])


def agent_with(
    memory: Memory, model: ScriptedChatModel, *others: Any, made: Any = None, **options: Any
) -> Any:
    middleware = [MemoryMiddleware(memory, **{"tools": memory_tools, **options}), *others]
    return create_agent(model, TOOLS, middleware=middleware, **(made or {}))


async def test_the_model_remembers_by_itself_what_the_agent_then_recalls(
    memory: Memory, call: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = remembering()
    state = await call(agent_with(memory, model), say(ASKED), as_user("ana", "monday"))
    assert [message.name for message in state["messages"] if message.type == "tool"] == [
        "remember",
        "price",
    ]
    assert sorted(note.text for note in memory.list(user="ana")) == [KNOWN, NOTED]
    assert said(memory, "ana") == [f"user: {ASKED}", "assistant: Done."]
    assert all(KNOWN in block_in(prompt) for prompt in model.calls)

    later = ScriptedChatModel(["Decaf?"])
    await call(agent_with(memory, later), say("Coffee, please"), as_user("ana", "tuesday"))
    assert NOTED in block_in(later.calls[0])


async def test_a_note_names_the_message_that_it_comes_from(memory: Memory, call: Way) -> None:
    await call(agent_with(memory, remembering()), say(ASKED), as_user("ana", "monday"))
    [note] = memory.list(user="ana")
    assert isinstance(note, Note)
    [source] = [memory.get(id, user="ana") for id in note.sources]
    assert source is not None
    assert source.text == ASKED


async def test_the_tools_are_for_the_user_project_and_agent_of_the_middleware(
    memory: Memory, call: Way
) -> None:
    memory.remember("Releases go to staging first", user="ana", project="shop")
    memory.remember("Releases need a flag", user="ana", agent="coder")
    model = model_of(
        [("remember", {"text": NOTED}), ("recall", {"query": "What do releases need first?"})]
    )
    scopes: dict[str, Any] = {
        "user": lambda state, config: state["messages"][0].name,
        "project": lambda state, config: "shop",
        "agent": "coder",
    }
    state = await call(agent_with(memory, model, **scopes), say(ASKED, name="bo"), {})
    assert [note.text for note in memory.list(user="bo")] == [NOTED]
    [found] = [message.text for message in state["messages"] if message.name == "recall"]
    assert "staging" in found
    assert "flag" in found


async def test_the_tools_may_write_to_the_project(memory: Memory, call: Way) -> None:
    agent = agent_with(memory, remembering("Amounts are in cents"), project="shop", tools=SHARED)
    await call(agent, say(ASKED), as_user("ana"))
    [note] = memory.list(user="bo", project="shop")
    assert isinstance(note, Note)
    assert (note.text, note.author) == ("Amounts are in cents", "ana")
    assert memory.list(user="ana") == []


async def test_the_runs_own_store_is_that_of_the_tools_too(call: Way) -> None:
    store = InMemoryStore()
    with Memory() as memory:
        agent = agent_with(memory, remembering(), made={"store": store})
        await call(agent, say(ASKED), as_user("ana"))
        assert [note.text for note in memory.using(store).list(user="ana")] == [NOTED]


async def test_a_person_may_be_asked_before_something_is_forgotten(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    note = memory.remember(KNOWN, user="ana").record
    agent = agent_with(
        memory,
        model_of([("forget", {"id": note.id})]),
        HumanInTheLoopMiddleware({"forget": True}),
        made={"checkpointer": sessions.checkpointer},
    )
    config = sessions.config(user="ana", thread_id="t")
    await call(agent, say("Forget my coffee."), config)
    assert memory.get(note.id, user="ana") is not None
    state = await call(agent, Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert answer(state) == "Done."
    assert memory.get(note.id, user="ana") is None


# -- what the model is told of them --------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (None, TOOLS_PROMPT),
        ("You sell coffee.", f"You sell coffee.\n\n{TOOLS_PROMPT}"),
        (SystemMessage([{"type": "text", "text": "Sell."}]), f"Sell.\n\n{TOOLS_PROMPT}"),
    ],
    ids=["none", "text", "blocks"],
)
async def test_the_system_prompt_says_once_what_the_tools_are_for(
    memory: Memory, call: Way, own: Any, told: str
) -> None:
    model = remembering()
    await call(agent_with(memory, model, made={"system_prompt": own}), say(ASKED), as_user("ana"))
    for system, *others in model.calls:
        assert isinstance(system, SystemMessage)
        assert system.text == told
        assert "system" not in {message.type for message in others}


async def test_it_is_told_in_a_system_message_of_the_state_if_that_is_the_only_one(
    memory: Memory, call: Way
) -> None:
    memory.remember(KNOWN, user="ana")
    model = remembering()
    given = {"messages": [("user", "Hello"), SystemMessage("Sell."), ("user", ASKED)]}
    await call(agent_with(memory, model, inject="system"), given, as_user("ana"))
    for prompt in model.calls:
        (system,) = [message for message in prompt if message.type == "system"]
        assert system.text.startswith(f"Sell.\n\n{TOOLS_PROMPT}\n\n<memory>")


async def test_a_text_of_ones_own_takes_the_place_of_that(memory: Memory, call: Way) -> None:
    model = remembering()
    agent = agent_with(memory, model, tools_prompt="Remember little.")
    await call(agent, say(ASKED), as_user("ana"))
    assert [prompt[0].text for prompt in model.calls] == ["Remember little."] * 2


async def test_it_stands_before_the_block_in_the_system_prompt(memory: Memory, call: Way) -> None:
    memory.remember(KNOWN, user="ana")
    model = remembering()
    await call(agent_with(memory, model, inject="system"), say(ASKED), as_user("ana"))
    for system, *_ in model.calls:
        assert system.text.startswith(TOOLS_PROMPT)
        assert KNOWN in system.text.removeprefix(TOOLS_PROMPT)


async def test_without_tools_the_model_is_told_nothing_of_them(memory: Memory, call: Way) -> None:
    model = ScriptedChatModel(["Hello!"])
    await call(agent_with(memory, model, tools=None), say("Hello"), as_user("ana"))
    assert [message.type for message in model.calls[0]] == ["human"]


async def test_what_the_tools_answer_is_not_kept_as_said(memory: Memory, call: Way) -> None:
    memory.remember(KNOWN, user="ana")
    model = model_of([("recall", {"query": KNOWN})])
    state = await call(agent_with(memory, model), say("Which coffee is mine?"), as_user("ana"))
    [found] = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert KNOWN in found.text  # also where the block has it: the model asks for its id as well
    assert said(memory, "ana") == ["user: Which coffee is mine?", "assistant: Done."]


@pytest.mark.parametrize("tools", [True, TOOLS], ids=["true", "a list"])
def test_what_makes_no_tools_is_refused_when_the_agent_is_built(memory: Memory, tools: Any) -> None:
    with pytest.raises(ConfigurationError, match="memory_tools"):
        MemoryMiddleware(memory, tools=tools)
