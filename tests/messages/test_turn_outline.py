"""A turn is known whole from its outline, whatever a summary has removed of it."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_memory.messages.langchain import current_turn, token_cost, tool_names
from langgraph_memory.messages.turn_outline import outline_of, whole


def calling(id: str, name: str, text: str = "") -> AIMessage:
    calls: Any = [{"name": name, "args": {"secret": "x" * 1000}, "id": f"call-{id}"}]
    usage: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    return AIMessage(text, id=id, tool_calls=calls, usage_metadata=usage)


EARLIER = [HumanMessage("Hello", id="h0"), AIMessage("Hello!", id="a0")]
SUMMARY = HumanMessage("They met.", id="s", additional_kwargs={"lc_source": "summarization"})
TURN: list[BaseMessage] = [
    HumanMessage([{"type": "text", "text": "What does it cost?"}], id="h1"),
    calling("a1", "price", "I look."),
    ToolMessage("12 euro", tool_call_id="call-a1", id="t1"),
    calling("a2", "stock"),
    ToolMessage("30 kilos", tool_call_id="call-a2", id="t2"),
]
ANSWER = AIMessage("It is 12 euro.", id="a3")


def ids(messages: list[BaseMessage]) -> list[str | None]:
    return [message.id for message in messages]


def test_an_outline_is_plain_data_without_arguments_and_results() -> None:
    stored = json.dumps(outline_of(TURN))
    assert "What does it cost?" in stored
    assert "I look." in stored
    assert "xxx" not in stored
    assert "12 euro" not in stored


def test_an_outline_tells_tools_and_tokens() -> None:
    known = whole([], outline_of(TURN))
    assert tool_names(known) == ["price", "stock"]
    assert token_cost(known) == 10


def test_a_turn_that_is_there_stays_as_it_is() -> None:
    messages = [*EARLIER, *TURN, ANSWER]
    assert sorted(map(str, ids(whole(messages, outline_of(TURN))))) == sorted(
        map(str, ids(messages))
    )
    assert current_turn(whole(messages, outline_of(TURN)))[0] is TURN[0]
    assert whole(messages, []) == whole(messages, None) == messages


def test_what_a_summary_removed_is_there_in_order() -> None:
    left = [SUMMARY, TURN[3], TURN[4], ANSWER]
    known = current_turn(whole(left, outline_of(TURN)))
    said = [message for message in known if isinstance(message, AIMessage)]
    assert known[0].text == "What does it cost?"
    assert ids([*said]) == ["a1", "a2", "a3"]
    assert known[-1] is ANSWER


def test_a_summary_is_no_part_of_an_outline() -> None:
    left = whole([SUMMARY, TURN[3], TURN[4]], outline_of(TURN[:3]))
    assert "They met." not in json.dumps(outline_of(current_turn(left)))


def test_an_outline_holds_an_outline() -> None:
    again = outline_of(whole([SUMMARY, TURN[3]], outline_of(TURN)))
    assert whole([], again) == whole([], outline_of(TURN))


def test_the_outline_of_a_turn_that_came_to_nothing_is_passed_over() -> None:
    newer = [*EARLIER, HumanMessage("Something else", id="h2")]
    assert whole(newer, outline_of(TURN)) == newer
