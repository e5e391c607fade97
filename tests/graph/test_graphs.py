"""What a user of an agent notices: it remembers them, them alone, and its prompts stay in order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.memory import InMemoryStore

from langgraph_memory import (
    ChromaStore,
    ConfigurationError,
    Memory,
    MemoryState,
    Sessions,
    messages_with_memory,
    open_sessions,
    recall_node,
    remember_node,
)
from langgraph_memory.retrieval.block import NOTHING_ELSE
from langgraph_memory.testing import HashingEmbeddings, RecallingChatModel
from langgraph_memory.text.escaping import OPEN
from tests.graph.graphs import (
    AGAIN,
    ORDER,
    Builder,
    Shape,
    Way,
    answer,
    as_user,
    block_in,
    episodes,
    files_with,
    has_block,
    messages_of,
    nodes,
    noting,
    said,
    say,
    tasks,
    wrapped,
    wrapped_node,
)

NOTED = "assistant: Noted, thank you."


async def test_the_next_session_knows_what_the_same_as_last_time_means(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="ana", thread_id="monday"))
    state = await way(graph, say(AGAIN), sessions.config(user="ana", thread_id="tuesday"))
    assert answer(state) == "Noted, thank you."
    block = block_in(model.calls[-1])
    assert f"user: {ORDER}" in block  # in the user's words, and not once more as a task
    assert block.count(ORDER) == 1
    assert said(memory, "ana") == [f"user: {ORDER}", NOTED, f"user: {AGAIN}", NOTED]
    assert tasks(memory, "ana") == [ORDER, AGAIN]


async def test_another_user_gets_nothing_of_it(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    await way(graph, say(ORDER), sessions.config(user="u1", thread_id="monday"))
    await way(graph, say(ORDER), sessions.config(user="u10", thread_id="tuesday"))
    await way(graph, say(AGAIN), sessions.config(user="u10", thread_id="wednesday"))
    await way(graph, say(AGAIN), sessions.config(user="u", thread_id="thursday"))
    assert [ORDER in block_in(prompt) for prompt in model.calls] == [False, False, True, False]
    assert said(memory, "u1") == [f"user: {ORDER}", NOTED]
    assert said(memory, "u") == [f"user: {AGAIN}", NOTED]


async def test_the_graph_of_the_documentation_answers_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Way
) -> None:
    """With the embedded default, from the words of the design alone."""
    monkeypatch.chdir(tmp_path)
    model = RecallingChatModel()

    def chat(state: MemoryState) -> dict[str, Any]:
        return {"messages": [model.invoke(messages_with_memory(state))]}

    with Memory(ChromaStore("./memory")) as memory, open_sessions("./memory") as sessions:
        builder = StateGraph(MemoryState)
        builder.add_node("recall", recall_node(memory))
        builder.add_node("chat", chat)
        builder.add_node("remember", remember_node(memory))
        builder.add_edge(START, "recall")
        builder.add_edge("recall", "chat")
        builder.add_edge("chat", "remember")
        builder.add_edge("remember", END)
        graph = builder.compile(checkpointer=sessions.checkpointer, store=memory.store)

        await call(graph, say(ORDER), sessions.config(user="c-2291", thread_id="sunday"))
        given = {"messages": [("user", "Hi again! Send me the same as last time.")]}
        state = await call(graph, given, sessions.config(user="c-2291", thread_id="monday"))
        assert ORDER in answer(state)
        other = await call(graph, given, sessions.config(user="c-7004", thread_id="other"))
        assert "Colombia" not in answer(other)


@pytest.mark.parametrize("embed", [None, HashingEmbeddings()], ids=["default", "hashing"])
async def test_a_chinese_question_finds_what_was_said_in_chinese(
    tmp_path: Path, shape: Shape, embed: Any
) -> None:
    call = Way("ainvoke" if embed else "invoke")
    with Memory(ChromaStore(tmp_path, embed=embed)) as memory, open_sessions(tmp_path) as sessions:
        graph = shape(memory, RecallingChatModel()).compile(checkpointer=sessions.checkpointer)
        likes = "我每天早上喝一杯不加糖的绿茶。"
        for thread, text in enumerate([likes, "我的猫叫豆豆，今年三岁了。", "周末我常去爬山。"]):
            await call(graph, say(text), sessions.config(user="小明", thread_id=thread))
        config = sessions.config(user="小明", thread_id="后来")
        state = await call(graph, say("我早上喝什么茶？"), config)
        assert likes in answer(state)
        assert "豆豆" not in answer(state)


@pytest.mark.parametrize("thread", [None, "t"], ids=["no thread", "a thread"])
async def test_an_agent_without_memories_gets_the_prompt_as_it_is(
    memory: Memory, shape: Shape, call: Way, thread: str | None
) -> None:
    model = noting()
    await call(shape(memory, model).compile(), say(ORDER), as_user("ana", thread))
    assert [message.content for message in model.calls[0]] == [ORDER]


@pytest.mark.parametrize("thread", [None, "t"], ids=["no thread", "a thread"])
async def test_a_question_about_something_unknown_is_said_to_be_so(
    memory: Memory, shape: Shape, call: Way, thread: str | None
) -> None:
    """The question itself, which is kept before the model is called, is no evidence."""
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    graph = shape(memory, model).compile()
    await call(graph, say("Which bicycle did my brother sell?"), as_user("ana", thread))
    assert NOTHING_ELSE in block_in(model.calls[0])


async def test_all_users_of_a_batch_keep_their_own_words(memory: Memory, shape: Shape) -> None:
    graph = shape(memory, noting()).compile()
    orders = [say(f"A kilo of number {n}, please") for n in range(8)]
    configs: Any = [as_user(f"u{n}") for n in range(8)]
    graph.batch(orders[:4], configs[:4])
    await graph.abatch(orders[4:], configs[4:])
    for n in range(8):
        assert said(memory, f"u{n}") == [f"user: A kilo of number {n}, please", NOTED]


@pytest.mark.parametrize(
    "store",
    [InMemoryStore(), InMemoryStore(index={"dims": 256, "embed": HashingEmbeddings()})],
    ids=["without an index", "with an index"],
)
async def test_any_store_of_langgraph_will_do(shape: Shape, call: Way, store: Any) -> None:
    model, memory = noting(), Memory(store)
    user = f"{shape.__name__} {call.name}"  # the stores are shared by the tests
    graph = shape(memory, model, is_async=call.is_async).compile()
    await call(graph, say("My cat is called Bean"), as_user(user, "monday"))
    await call(graph, say("What is my cat called?"), as_user(user, "tuesday"))
    assert "My cat is called Bean" in block_in(model.calls[-1])


async def test_a_memory_without_a_store_uses_the_one_of_the_run(
    memory: Memory, shape: Shape, way: Way
) -> None:
    graph = shape(Memory(), noting(), is_async=way.is_async).compile(store=memory.store)
    await way(graph, say(ORDER), as_user("ana"))
    assert said(memory, "ana") == [f"user: {ORDER}", NOTED]


async def test_the_store_of_the_memory_wins_over_the_one_of_the_run(
    memory: Memory, shape: Shape, call: Way
) -> None:
    other = InMemoryStore()
    await call(shape(memory, noting()).compile(store=other), say(ORDER), as_user("ana"))
    assert said(memory, "ana") == [f"user: {ORDER}", NOTED]
    assert other.list_namespaces() == []


async def test_without_any_store_the_error_names_the_two_ways_out(shape: Shape, call: Way) -> None:
    with pytest.raises(ConfigurationError, match=r"Memory\(ChromaStore.*compile\(store=") as caught:
        await call(shape(Memory(), noting()).compile(), say(ORDER), as_user("ana"))
    assert "pass one" in str(caught.value)


# -- the prompt ----------------------------------------------------------------------------------


async def test_the_block_stands_before_the_latest_user_message_and_nowhere_else(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    memory.remember("Drinks decaf after noon", user="ana", kind="preference")
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    texts = ["Which coffee do I drink?", "And what else do I drink?", "And in the morning?"]
    given = [SystemMessage("You sell coffee."), HumanMessage(texts[0])]
    await way(graph, {"messages": given}, config)
    for text in texts[1:]:
        await way(graph, say(text), config)
    for text, prompt in zip(texts, model.calls, strict=True):
        assert [has_block(message) for message in prompt] == [False] * (len(prompt) - 1) + [True]
        assert prompt[0].content == "You sell coffee."
        assert prompt[-1].type == "human"
        assert prompt[-1].text.endswith(f"\n\n{text}")
        kinds = [message.type for message in prompt]
        assert all(one != other for one, other in itertools.pairwise(kinds))


async def test_a_prompt_begins_as_the_one_before_it_up_to_the_latest_user_message(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    """So that a provider's prompt cache is hit."""
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    graph = shape(memory, model).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    given = [SystemMessage("You sell coffee."), HumanMessage("Which coffee do I drink?")]
    await call(graph, {"messages": given}, config)
    await call(graph, say("Which tea do I drink?"), config)
    await call(graph, say("Which milk do I drink?"), config)

    def contents(messages: list[BaseMessage]) -> list[Any]:
        return [message.content for message in messages]

    for before, prompt in itertools.pairwise(model.calls):
        said_before = len(before) - 1
        assert contents(prompt[:said_before]) == contents(before[:said_before])
        assert prompt[said_before].content == before[-1].text.partition("</memory>\n\n")[2]


async def test_memory_goes_into_the_system_prompt_if_asked_for(
    memory: Memory, shape: Shape, way: Way
) -> None:
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    graph = shape(memory, model, is_async=way.is_async, inject="system").compile()
    question = HumanMessage("Which coffee do I drink?")
    await way(graph, {"messages": [question]}, as_user("ana"))
    await way(graph, {"messages": [SystemMessage("You sell coffee."), question]}, as_user("ana"))
    for prompt in model.calls:
        assert [message.type for message in prompt] == ["system", "human"]
        assert "Drinks decaf after noon" in block_in(prompt[:1])
        assert prompt[1].content == question.content
    assert model.calls[1][0].text.startswith("You sell coffee.\n")


async def test_a_system_message_that_stands_later_gets_the_block_and_no_second_one_is_made(
    memory: Memory, surface: Shape, call: Way
) -> None:
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    graph = surface(memory, model, is_async=call.is_async, inject="system").compile()
    given = [
        HumanMessage("Hello"),
        AIMessage("Welcome."),
        SystemMessage([{"type": "text", "text": "You sell coffee."}]),
        SystemMessage("Be brief."),
        HumanMessage("Which coffee do I drink?"),
    ]
    state = await call(graph, {"messages": given}, as_user("ana"))
    (prompt,) = model.calls
    assert [message.type for message in prompt] == ["human", "ai", "system", "system", "human"]
    assert "Drinks decaf after noon" in block_in([prompt[2]])
    assert block_in(prompt) == block_in([prompt[2]])
    assert [message.content for message in messages_of(state)[:5]] == [m.content for m in given]


async def test_a_system_prompt_in_parts_keeps_its_parts(memory: Memory, shape: Shape) -> None:
    """A part may carry a provider's cache mark, which must not be lost."""
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    part = {"type": "text", "text": "You sell coffee.", "cache_control": {"type": "ephemeral"}}
    given = [SystemMessage([part]), HumanMessage("Which coffee do I drink?")]
    shape(memory, model, inject="system").compile().invoke({"messages": given}, as_user("ana"))
    content = model.calls[0][0].content
    assert isinstance(content, list)
    assert content[0] == part
    assert "Drinks decaf after noon" in block_in(model.calls[0][:1])


async def test_a_picture_stays_in_the_message_that_gets_the_block(
    memory: Memory, shape: Shape, call: Way
) -> None:
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    parts: Any = [
        {"type": "text", "text": "Which coffee is this?"},
        {"type": "image", "url": "https://example.com/coffee.png"},
    ]
    given = {"messages": [HumanMessage(parts)]}
    state = await call(shape(memory, model).compile(), given, as_user("ana"))
    content = model.calls[0][-1].content
    assert OPEN in str(content[0])
    assert content[1:] == parts
    assert messages_of(state)[0].content == parts
    assert said(memory, "ana")[0] == "user: Which coffee is this?"


async def test_what_the_thread_itself_holds_is_not_put_into_the_block(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    model = noting()
    graph = shape(memory, model, episodes=False).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    await call(graph, say("My cat is called Bean"), config)
    await call(graph, say("What is my cat called?"), config)
    assert "Bean" not in block_in(model.calls[-1])
    assert model.calls[-1][0].text == "My cat is called Bean"


async def test_a_message_is_dated_when_it_was_said_and_tells_who_said_it(
    memory: Memory, shape: Shape, call: Way
) -> None:
    model = noting()
    graph = shape(memory, model).compile()
    stamp = {"timestamp": "2024-03-05T09:00:00+00:00"}
    given = say("My cat is called Bean", name="Ana Souza", additional_kwargs=stamp)
    await call(graph, given, as_user("ana", "monday"))
    await call(graph, say("What is my cat called?"), as_user("ana", "tuesday"))
    assert "- [2024-03-05] Ana Souza: My cat is called Bean" in block_in(model.calls[-1])


async def test_the_block_keeps_to_its_budget(memory: Memory, shape: Shape, call: Way) -> None:
    for number in range(15):
        memory.remember(f"Coffee number {number} was drunk on a rainy day in Rosario", user="ana")
    model = noting()
    graph = shape(memory, model, max_tokens=120).compile()
    await call(graph, say("Which coffee did I drink in Rosario?"), as_user("ana"))
    block = block_in(model.calls[0])
    assert "Coffee number" in block
    assert len(block) <= 4 * 120


# -- what is kept --------------------------------------------------------------------------------


async def test_the_block_is_kept_neither_in_the_thread_nor_in_the_log(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way, tmp_path: Path
) -> None:
    memory.remember("Drinks decaf after noon", user="ana")
    graph = shape(memory, noting(), is_async=way.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    await way(graph, say("Which coffee do I drink?"), config)
    state = await way(graph, say("Which tea do I drink?"), config)
    assert OPEN not in str(messages_of(state))
    for snapshot in graph.get_state_history(config):
        assert OPEN not in str(snapshot.values.get("messages"))
    assert "memory_block" not in str(state)
    assert not any(OPEN in line for line in said(memory, "ana"))
    memory.close()
    sessions.close()
    assert not [name for name in files_with(tmp_path, OPEN) if not name.startswith("sessions")]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_around_one_node_the_block_reaches_no_file_at_all(
    memory: Memory, sessions: Sessions, tmp_path: Path, is_async: bool
) -> None:
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    graph = wrapped(memory, model, is_async=is_async).compile(checkpointer=sessions.checkpointer)
    way = Way("ainvoke" if is_async else "invoke")
    config = sessions.config(user="ana", thread_id="t")
    await way(graph, say("Which coffee do I drink?"), config)
    assert block_in(model.calls[0])
    assert files_with(tmp_path, "Which coffee do I drink?")
    memory.close()
    sessions.close()
    assert files_with(tmp_path, OPEN) == []


def test_when_a_turn_is_over_the_state_holds_no_recalled_memory(
    memory: Memory, sessions: Sessions
) -> None:
    memory.remember("Drinks decaf after noon", user="ana")
    graph = nodes(memory, noting()).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    assert graph.invoke(say("Which coffee do I drink?"), config)["memory"] == {}
    assert graph.get_state(config).values["memory"] == {}


async def test_a_turn_that_is_run_again_with_its_message_ids_is_kept_once(
    memory: Memory, sessions: Sessions, shape: Shape, way: Way
) -> None:
    graph = shape(memory, noting(), is_async=way.is_async).compile(
        checkpointer=sessions.checkpointer
    )
    config = sessions.config(user="ana", thread_id="t")
    for _ in range(2):
        await way(graph, say(ORDER, id="m1"), config)
    assert said(memory, "ana").count(f"user: {ORDER}") == 1
    assert tasks(memory, "ana") == [ORDER]


async def test_small_talk_is_logged_but_is_no_task(memory: Memory, shape: Shape, call: Way) -> None:
    graph = shape(memory, noting()).compile()
    for text in ("Thanks, bye!", "谢谢你", ORDER):
        await call(graph, say(text), as_user("ana"))
    assert tasks(memory, "ana") == [ORDER]
    assert memory.count(user="ana")["message"] == 6


async def test_episodes_can_be_switched_off(memory: Memory, shape: Shape, call: Way) -> None:
    await call(shape(memory, noting(), episodes=False).compile(), say(ORDER), as_user("ana"))
    assert memory.count(user="ana") == {"note": 0, "message": 2, "episode": 0, "document": 0}


async def test_an_episode_tells_what_was_done_and_what_it_cost(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    state = await call(graph, say(ORDER), sessions.config(user="ana", thread_id="t"))
    reply = messages_of(state)[-1]
    assert isinstance(reply, AIMessage)
    assert reply.usage_metadata is not None
    [episode] = episodes(memory, "ana")
    assert (episode.task, episode.thread_id) == (ORDER, "t")
    assert (episode.outcome, episode.quality_score, episode.error) == ("completed", None, None)
    assert episode.token_cost == reply.usage_metadata["total_tokens"]
    assert episode.duration_ms is not None


async def test_neither_system_prompts_nor_summaries_are_kept_as_said(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    graph = shape(memory, noting()).compile(checkpointer=sessions.checkpointer)
    summary = HumanMessage(
        "Here is a summary of the conversation to date: Ana likes tea.",
        additional_kwargs={"lc_source": "summarization"},
    )
    given = [SystemMessage("You sell coffee."), summary, HumanMessage(ORDER)]
    await call(graph, {"messages": given}, sessions.config(user="ana", thread_id="t"))
    assert said(memory, "ana") == [f"user: {ORDER}", NOTED]
    assert tasks(memory, "ana") == [ORDER]


async def test_a_thread_that_ends_in_a_summary_is_about_what_the_user_said_before_it(
    memory: Memory, shape: Shape, call: Way
) -> None:
    memory.remember("Drinks decaf after noon", user="ana")
    model = noting()
    summary = HumanMessage("Ana likes tea.", additional_kwargs={"lc_source": "summarization"})
    given = {"messages": [HumanMessage("Which coffee do I drink?"), summary]}
    await call(shape(memory, model).compile(), given, as_user("ana"))
    assert [has_block(message) for message in model.calls[0]] == [True, False]


async def test_messages_that_the_state_loses_stay_in_memory_and_are_not_kept_again(
    memory: Memory, sessions: Sessions, shape: Shape, call: Way
) -> None:
    builder = shape(memory, noting())

    def fold(state: MessagesState) -> dict[str, Any]:
        summary = HumanMessage("So far: tea.", additional_kwargs={"lc_source": "summarization"})
        latest = state["messages"][-2:]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *latest]}

    builder.add_node("fold", fold)
    last = "remember" if "remember" in builder.nodes else "chat"
    builder.add_edge(last, "fold")
    graph = builder.compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    texts = ["Tea for one, please", "Tea for two, please", "Tea for three, please"]
    for text in texts:
        state = await call(graph, say(text), config)
    assert [message.text for message in messages_of(state)] == [
        "So far: tea.",
        texts[-1],
        "Noted, thank you.",
    ]
    assert said(memory, "ana") == [line for text in texts for line in (f"user: {text}", NOTED)]
    assert tasks(memory, "ana") == texts


async def test_a_node_that_deletes_old_messages_while_it_answers_is_kept_whole(
    memory: Memory, sessions: Sessions, call: Way
) -> None:
    def chat(state: MessagesState) -> dict[str, Any]:
        old = [RemoveMessage(id=str(message.id)) for message in state["messages"][:-1]]
        return {"messages": [*old, AIMessage("Noted, thank you.")]}

    graph = wrapped_node(memory, chat).compile(checkpointer=sessions.checkpointer)
    config = sessions.config(user="ana", thread_id="t")
    for text in (ORDER, AGAIN):
        state = await call(graph, say(text), config)
    assert [message.text for message in messages_of(state)] == [AGAIN, "Noted, thank you."]
    assert said(memory, "ana") == [f"user: {ORDER}", NOTED, f"user: {AGAIN}", NOTED]


# -- runs that nobody keeps ----------------------------------------------------------------------


async def test_without_a_thread_each_run_is_its_own_session(
    memory: Memory, shape: Shape, way: Way
) -> None:
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile()
    await way(graph, say(ORDER), as_user("ana"))
    await way(graph, say(AGAIN), as_user("ana"))
    block = block_in(model.calls[-1])
    assert ORDER in block
    assert AGAIN not in block
    assert len({episode.thread_id for episode in episodes(memory, "ana")}) == 2


@pytest.mark.parametrize("thread", [None, "t"], ids=["no thread", "a thread"])
async def test_without_a_checkpointer_a_history_that_is_sent_again_is_not_kept_again(
    memory: Memory, shape: Shape, way: Way, thread: str | None
) -> None:
    graph = shape(memory, noting(), is_async=way.is_async).compile()
    texts = ["Tea for one, please", "Tea for two, please", "Tea for three, please"]
    history: list[tuple[str, str]] = []
    for text in texts:
        history.append(("user", text))
        state = await way(graph, {"messages": history}, as_user("ana", thread))
        history.append(("assistant", answer(state)))
    assert said(memory, "ana") == [line for text in texts for line in (f"user: {text}", NOTED)]
    assert tasks(memory, "ana") == texts


async def test_a_run_without_a_checkpointer_leaves_its_own_thread_out_of_last_time(
    memory: Memory, shape: Shape, way: Way
) -> None:
    model = noting()
    graph = shape(memory, model, is_async=way.is_async).compile()
    await way(graph, say(ORDER), as_user("ana", "monday"))
    await way(graph, say(AGAIN), as_user("ana", "tuesday"))
    block = block_in(model.calls[-1])
    assert ORDER in block
    assert AGAIN not in block


async def test_a_failed_turn_of_a_kept_thread_is_caught_up_by_the_next(
    memory: Memory, call: Way
) -> None:
    """A thread that had no memory node yet is kept whole once it has one."""
    saver = InMemorySaver()
    plain: Builder = StateGraph(MessagesState)
    plain.add_node("chat", lambda state: {"messages": [AIMessage("Noted, thank you.")]})
    plain.add_edge(START, "chat")
    await call(plain.compile(checkpointer=saver), say(ORDER), as_user("ana", "t"))
    graph = wrapped(memory, noting()).compile(checkpointer=saver)
    await call(graph, say(AGAIN), as_user("ana", "t"))
    assert said(memory, "ana") == [f"user: {ORDER}", NOTED, f"user: {AGAIN}", NOTED]
