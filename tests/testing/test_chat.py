from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, Field

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.testing import ScriptedChatModel
from langgraph_memory.testing.chat import word_chunks

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


class Drink(BaseModel):
    """What somebody drinks."""

    name: str
    sugar: int = Field(default=0, alias="spoonsOfSugar")


class DrinkDict(TypedDict):
    """What somebody drinks."""

    name: str


@tool
def order(name: str) -> str:
    """Order a drink."""
    return f"ordered {name}"


@tool
def cancel(name: str) -> str:
    """Cancel a drink."""
    return f"cancelled {name}"


def joined(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    return reduce(add, chunks)


# --- the script -------------------------------------------------------------------------------


def test_responses_are_given_in_order():
    model = ScriptedChatModel(responses=["one", AIMessage("two")])
    assert [model.invoke("?").text, model.invoke("?").text] == ["one", "two"]


def test_a_call_after_the_last_response_says_how_many_there_were():
    model = ScriptedChatModel(["one", "two"])
    model.invoke("1")
    model.invoke("2")
    with pytest.raises(AssertionError, match=r"2 responses, and this is call 3.*'and now\?'"):
        model.invoke("and now?")
    assert len(model.calls) == 3


def test_a_call_without_messages_has_a_clear_error_too():
    with pytest.raises(AssertionError, match="0 responses, and this is call 1"):
        ScriptedChatModel([]).invoke([])


def test_an_exception_is_raised_and_the_script_goes_on():
    model = ScriptedChatModel([TimeoutError("too slow"), "better"])
    with pytest.raises(TimeoutError, match="too slow"):
        model.invoke("?")
    assert model.invoke("?").text == "better"


async def test_an_exception_is_raised_from_streams_and_async_calls():
    model = ScriptedChatModel([TimeoutError()] * 3)
    with pytest.raises(TimeoutError):
        list(model.stream("?"))
    with pytest.raises(TimeoutError):
        await model.ainvoke("?")
    with pytest.raises(TimeoutError):
        [chunk async for chunk in model.astream("?")]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("tea", "tea"),
        (AIMessage("tea"), "tea"),
        ({"name": "茶"}, '{"name": "茶"}'),
        (Drink(name="tea", spoonsOfSugar=1), '{"name": "tea", "spoonsOfSugar": 1}'),
    ],
)
def test_a_function_sees_the_messages_and_returns_any_answer(answer: Any, text: str):
    seen: list[Any] = []

    def respond(messages: list[Any]) -> Any:
        seen.extend(messages)
        return answer

    assert ScriptedChatModel([respond]).invoke("?").text == text
    assert [message.text for message in seen] == ["?"]


def test_an_exception_that_a_function_returns_is_raised():
    with pytest.raises(ConnectionError):
        ScriptedChatModel([lambda messages: ConnectionError()]).invoke("?")


@pytest.mark.parametrize("wrong", [7, None, HumanMessage("hi"), ["tea"], TimeoutError])
def test_what_cannot_be_a_response_is_refused_at_once(wrong: Any):
    with pytest.raises(ConfigurationError, match=r"response 2 is .*must be a text"):
        ScriptedChatModel(["fine", wrong])


def test_what_a_function_may_not_return_is_named_when_it_does():
    with pytest.raises(ConfigurationError, match="the function returned is 7"):
        ScriptedChatModel([lambda messages: 7]).invoke("?")  # type: ignore[list-item, return-value]


def test_one_text_instead_of_a_list_is_refused():
    with pytest.raises(ConfigurationError, match="takes a list"):
        ScriptedChatModel("hello")


# --- what was asked ---------------------------------------------------------------------------


def test_calls_keep_the_messages_as_they_were_then():
    question = HumanMessage("Tea?")
    model = ScriptedChatModel(["yes"])
    model.invoke([SystemMessage("Be short."), question])
    question.id = "set-later"
    question.additional_kwargs["set"] = "later"
    assert model.calls == [[SystemMessage("Be short."), HumanMessage("Tea?")]]


def test_calls_given_out_cannot_change_the_record():
    model = ScriptedChatModel(["yes"])
    model.invoke("Tea?")
    model.calls[0].clear()
    assert len(model.calls[0]) == 1


def test_an_artifact_that_cannot_be_copied_does_no_harm():
    lock = threading.Lock()
    model = ScriptedChatModel(["ok"])
    model.invoke([ToolMessage("done", tool_call_id="1", artifact=lock)])
    recorded = model.calls[0][0]
    assert isinstance(recorded, ToolMessage)
    assert recorded.artifact is lock


def test_threads_share_a_script_without_losing_a_response():
    model = ScriptedChatModel([str(number) for number in range(200)])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: model.invoke(f"q{number}").text, range(200)))
    assert sorted(answers, key=int) == [str(number) for number in range(200)]
    assert sorted(call[0].text for call in model.calls) == sorted(f"q{n}" for n in range(200))


async def test_a_blocking_function_does_not_block_the_event_loop():
    release = threading.Event()
    model = ScriptedChatModel([lambda messages: "freed" if release.wait(10) else "stuck"])
    running = asyncio.create_task(model.ainvoke("?"))
    await asyncio.sleep(0)
    release.set()
    assert (await running).text == "freed"


# --- fresh messages ---------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [ScriptedChatModel.invoke, lambda m, q: joined(list(m.stream(q)))])
def test_the_callers_message_is_never_touched(ask: Any):
    message = AIMessage(
        "",
        tool_calls=[{"name": "order", "args": {"name": "tea"}, "id": "1"}],
        additional_kwargs={"note": ["a"]},
    )
    before = message.model_dump_json()
    model = ScriptedChatModel([message, message])
    first, second = ask(model, "?"), ask(model, "?")
    first.additional_kwargs["note"].append("b")
    first.tool_calls[0]["args"]["name"] = "coffee"
    assert second.additional_kwargs == {"note": ["a"]}
    assert second.tool_calls[0]["args"] == {"name": "tea"}
    assert message.model_dump_json() == before


def test_the_same_text_twice_makes_two_messages_with_ids_of_their_own():
    model = ScriptedChatModel(["tea", "tea"])
    assert model.invoke("?").id != model.invoke("?").id


def test_a_messages_own_id_is_kept():
    model = ScriptedChatModel([AIMessage("tea", id="mine")] * 2)
    assert model.invoke("?").id == "mine"
    assert {chunk.id for chunk in model.stream("?") if chunk.content} == {"mine"}


def test_a_chunk_in_the_script_becomes_a_message():
    answer = ScriptedChatModel([AIMessageChunk(content="tea")]).invoke("?")
    assert type(answer) is AIMessage
    assert answer.text == "tea"


# --- usage ------------------------------------------------------------------------------------


def test_words_are_counted_where_the_message_brings_no_usage():
    model = ScriptedChatModel(["two words"])
    answer = model.invoke([SystemMessage("Be short."), HumanMessage("What is this?")])
    assert answer.usage_metadata == UsageMetadata(input_tokens=5, output_tokens=2, total_tokens=7)


def test_arguments_of_tool_calls_count_as_written():
    call = AIMessage("", tool_calls=[{"name": "order", "args": {"name": "green tea"}, "id": "1"}])
    usage = ScriptedChatModel([call]).invoke("?").usage_metadata
    assert usage is not None
    assert usage["output_tokens"] > 0


def test_usage_in_the_script_is_kept():
    usage = UsageMetadata(input_tokens=900, output_tokens=80, total_tokens=980)
    model = ScriptedChatModel([AIMessage("tea", usage_metadata=usage)] * 2)
    assert model.invoke("?").usage_metadata == usage
    assert joined(list(model.stream("?"))).usage_metadata == usage


def test_usage_reaches_langchains_usage_callback():
    with get_usage_metadata_callback() as callback:
        ScriptedChatModel(["tea"], model_name="tiny").invoke("Tea?")
    assert callback.usage_metadata["tiny"]["total_tokens"] == 2


def test_counting_tokens_needs_no_tokenizer():
    model = ScriptedChatModel([])
    assert model.get_num_tokens("green tea 绿茶") == 4
    assert model.get_num_tokens_from_messages([HumanMessage("green tea")]) > 2


# --- structured output and tools --------------------------------------------------------------


@pytest.mark.parametrize("response", [Drink(name="tea"), {"name": "tea"}])
def test_structured_output_gives_the_pydantic_object(response: Any):
    structured = ScriptedChatModel([response]).with_structured_output(Drink)
    assert structured.invoke("?") == Drink(name="tea")


async def test_structured_output_works_async_and_in_a_stream():
    model = ScriptedChatModel([{"name": "tea", "spoonsOfSugar": 2}] * 3)
    structured = model.with_structured_output(Drink)
    expected = Drink(name="tea", spoonsOfSugar=2)
    assert await structured.ainvoke("?") == expected
    assert list(structured.stream("?"))[-1] == expected
    assert [part async for part in structured.astream("?")][-1] == expected


@pytest.mark.parametrize("schema", [DrinkDict, Drink.model_json_schema()])
def test_structured_output_by_another_schema_gives_a_dict(schema: Any):
    structured = ScriptedChatModel([Drink(name="tea")]).with_structured_output(schema)
    result = structured.invoke("?")
    assert isinstance(result, dict)
    assert result["name"] == "tea"


def test_include_raw_gives_the_message_and_the_parsed_object():
    structured = ScriptedChatModel([{"name": "tea"}]).with_structured_output(
        Drink, include_raw=True
    )
    result: Any = structured.invoke("?")
    assert result["parsed"] == Drink(name="tea")
    assert result["parsing_error"] is None
    assert result["raw"].tool_calls[0]["name"] == "Drink"
    assert result["raw"].usage_metadata["input_tokens"] == 1


def test_include_raw_gives_the_error_of_an_answer_that_does_not_fit():
    structured = ScriptedChatModel([{"nome": "tea"}]).with_structured_output(
        Drink, include_raw=True
    )
    result: Any = structured.invoke("?")
    assert result["parsed"] is None
    assert isinstance(result["parsing_error"], ValueError)


def test_prose_instead_of_structure_is_what_such_a_model_would_give():
    structured = ScriptedChatModel(["Sure! It is tea."]).with_structured_output(
        Drink, include_raw=True
    )
    result: Any = structured.invoke("?")
    assert result["parsed"] is None
    assert result["raw"].text == "Sure! It is tea."


def test_structured_output_becomes_what_json_can_say():
    class Visit(BaseModel):
        at: datetime

    moment = datetime(2026, 1, 1, tzinfo=UTC)
    model = ScriptedChatModel([{"at": moment}, {"at": moment}])
    assert json.loads(model.invoke("?").text) == {"at": "2026-01-01T00:00:00Z"}
    assert model.with_structured_output(Visit).invoke("?") == Visit(at=moment)


def test_a_bound_model_shares_script_and_calls():
    model = ScriptedChatModel(["one", {"name": "tea"}, "three"])
    bound = model.bind_tools([order])
    assert model.invoke("1").text == "one"
    assert bound.invoke("2").tool_calls[0]["args"] == {"name": "tea"}
    assert model.invoke("3").text == "three"
    assert [call[0].text for call in model.calls] == ["1", "2", "3"]


@pytest.mark.parametrize("choice", ["cancel", {"type": "function", "function": {"name": "cancel"}}])
def test_among_several_tools_the_forced_one_is_called(choice: Any):
    bound = ScriptedChatModel([{"name": "tea"}]).bind_tools([order, cancel], tool_choice=choice)
    assert bound.invoke("?").tool_calls[0]["name"] == "cancel"


def test_among_several_tools_the_objects_own_class_is_called():
    bound = ScriptedChatModel([Drink(name="tea")]).bind_tools([order, Drink, cancel])
    assert bound.invoke("?").tool_calls[0]["name"] == "Drink"


def test_among_several_tools_a_dict_alone_is_ambiguous():
    bound = ScriptedChatModel([{"name": "tea"}]).bind_tools([order, cancel])
    with pytest.raises(ConfigurationError, match="order, cancel"):
        bound.invoke("?")


def test_a_providers_own_tools_have_no_part_in_it():
    bound = ScriptedChatModel([{"name": "tea"}] * 2).bind_tools([{"type": "web_search"}])
    assert bound.invoke("?").text == '{"name": "tea"}'


# --- streams ----------------------------------------------------------------------------------


@settings(deadline=None)
@given(ANY_TEXT)
def test_streamed_chunks_join_to_the_text(text: str):
    assert "".join(word_chunks(text)) == text
    whole = joined(list(ScriptedChatModel([text]).stream("?")))
    assert whole.text == text


@settings(deadline=None)
@given(st.text(), st.dictionaries(st.text(), JSON, max_size=3))
def test_a_stream_adds_up_to_what_invoke_gives(text: str, args: dict[str, Any]):
    message = AIMessage(
        text,
        id="1",
        tool_calls=[
            {"name": "order", "args": args, "id": "a"},
            {"name": "cancel", "args": args, "id": "b"},
        ],
        additional_kwargs={"lc_source": "test"},
        response_metadata={"model_name": "other"},
    )
    model = ScriptedChatModel([message, message])
    whole, answer = joined(list(model.stream("?"))), model.invoke("?")
    for part in ("content", "id", "additional_kwargs", "response_metadata", "usage_metadata"):
        assert getattr(whole, part) == getattr(answer, part)
    assert whole.tool_calls == answer.tool_calls == message.tool_calls


def test_a_text_is_streamed_word_by_word():
    chunks = [chunk.text for chunk in ScriptedChatModel(["Good  morning, Ana!"]).stream("?")]
    assert chunks == ["Good  ", "morning, ", "Ana!", ""]


def test_chinese_is_streamed_by_character():
    chunks = [chunk.text for chunk in ScriptedChatModel(["你好，LangGraph 用户"]).stream("?")]
    assert chunks == ["你", "好", "，", "LangGraph ", "用", "户", ""]


async def test_async_streams_come_in_the_same_pieces():
    model = ScriptedChatModel(["Good morning, Ana!"] * 2)
    streamed = [chunk.text async for chunk in model.astream("?")]
    assert streamed == [chunk.text for chunk in model.stream("?")]


def test_an_empty_answer_can_be_streamed():
    assert joined(list(ScriptedChatModel([""]).stream("?"))).text == ""


def test_content_blocks_are_streamed_one_by_one():
    blocks: list[str | dict[str, Any]] = [
        {"type": "text", "text": "a picture: "},
        {"type": "image", "url": "https://example.com/tea.png"},
    ]
    model = ScriptedChatModel([AIMessage(blocks)] * 2)
    assert joined(list(model.stream("?"))).content == model.invoke("?").content == blocks


def test_broken_tool_calls_stay_broken():
    message = AIMessage(
        "", invalid_tool_calls=[{"name": "order", "args": "tea!", "id": "1", "error": None}]
    )
    model = ScriptedChatModel([message] * 2)
    for answer in (model.invoke("?"), joined(list(model.stream("?")))):
        assert answer.tool_calls == []
        assert [call["args"] for call in answer.invalid_tool_calls] == ["tea!"]


def test_event_streams_of_the_third_version_carry_the_text():
    stream = ScriptedChatModel(["Good morning, Ana!"]).stream_events("?", version="v3")
    assert list(stream.text) == ["Good ", "morning, ", "Ana!"]


# --- in graphs --------------------------------------------------------------------------------


def chat_graph(model: ScriptedChatModel) -> Any:
    def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", chat)
    builder.add_edge(START, "chat")
    return builder.compile()


def async_chat_graph(model: ScriptedChatModel) -> Any:
    async def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", chat)
    builder.add_edge(START, "chat")
    return builder.compile()


def test_a_graph_streams_its_words():
    graph = chat_graph(ScriptedChatModel(["Good morning, Ana!"]))
    stream = graph.stream({"messages": [("user", "Hi")]}, stream_mode="messages")
    assert [chunk.text for chunk, _ in stream] == ["Good ", "morning, ", "Ana!", ""]


async def test_an_async_graph_streams_its_words():
    graph = async_chat_graph(ScriptedChatModel(["Good morning, Ana!"]))
    stream = graph.astream({"messages": [("user", "Hi")]}, stream_mode="messages")
    assert [chunk.text async for chunk, _ in stream] == ["Good ", "morning, ", "Ana!", ""]


def test_an_agent_calls_the_tools_of_the_script():
    call = AIMessage("", tool_calls=[{"name": "order", "args": {"name": "tea"}, "id": "1"}])
    model = ScriptedChatModel([call, "Your tea is on its way."])
    agent = create_agent(model, [order])
    result = agent.invoke({"messages": [HumanMessage("Tea, please")]})
    assert [message.text for message in result["messages"]] == [
        "Tea, please",
        "",
        "ordered tea",
        "Your tea is on its way.",
    ]
    assert [len(messages) for messages in model.calls] == [1, 3]


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_an_agent_gets_its_structured_response(strategy: Any):
    agent = create_agent(
        ScriptedChatModel([Drink(name="tea")]), [order, cancel], response_format=strategy(Drink)
    )
    result = agent.invoke({"messages": [HumanMessage("Tea, please")]})
    assert result["structured_response"] == Drink(name="tea")


# --- the package of fakes ---------------------------------------------------------------------


def test_every_public_name_is_in_the_table_and_an_unknown_one_is_an_attribute_error():
    from langgraph_memory import testing

    assert testing.__all__ == sorted(testing._MODULES)
    assert set(testing.__all__) <= set(dir(testing))
    with pytest.raises(AttributeError, match="has no attribute 'MockModel'"):
        testing.MockModel  # noqa: B018


def test_importing_one_fake_does_not_import_what_the_others_need():
    program = (
        "import sys; from langgraph_memory.testing import ManualClock; "
        "sys.exit('langchain_core' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=True)
