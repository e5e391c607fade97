"""The reply as it is read while the tokens of a structured answer come."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk

from langgraph_memory import ReplyStream, SavingReply

REPLY = '你好，小明！\n"Hi" 👋 \\o/'
FIELDS = {"reply": REPLY, "save_to_memory": ["用户叫小明", 'The "reply": "is" short']}


def shown(text: str, *, size: int = 1) -> list[str]:
    stream = ReplyStream()
    tokens = [text[i : i + size] for i in range(0, len(text), size)]
    return [stream.feed(AIMessageChunk(content=token, id="a")) for token in tokens]


FORMS = {
    "bare": json.dumps(FIELDS, ensure_ascii=False),
    "escaped": json.dumps(FIELDS),
    "indented": json.dumps(FIELDS, indent=4),
    "fenced": f"```json\n{json.dumps(FIELDS)}\n```",
    "in another order": json.dumps(dict(reversed(FIELDS.items()))),
    "with thoughts": f'<think>{{"reply": "?"}}</think>\n\n{json.dumps(FIELDS)}',
}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_of_a_structured_answer_the_reply_alone_is_shown(form: str, size: int) -> None:
    assert "".join(shown(form, size=size)) == REPLY


def test_the_reply_is_shown_as_it_comes() -> None:
    pieces = shown(FORMS["bare"])
    assert len([piece for piece in pieces if piece]) >= len(REPLY) - 2


PLAIN = {
    "prose": "你好，小明！How are you?",
    "other JSON": '{"name": "小明"}',
    "code": "```python\nprint(1)\n```",
    "braces": "{name} is you",
    "less": "<3 <thin",
    "quotes": '"reply": "no"',
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_what_is_no_structured_answer_passes_through(text: str) -> None:
    assert "".join(shown(text)) == text


@given(st.text(), st.integers(1, 5))
def test_any_reply_is_shown_whole_however_it_is_cut(reply: str, size: int) -> None:
    text = SavingReply(reply=reply).model_dump_json()
    assert "".join(shown(text, size=size)) == reply


@given(st.text(max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    shown('{"reply": "' + text)
    shown(text)


def call_chunk(name: str | None, args: str) -> AIMessageChunk:
    chunk = tool_call_chunk(name=name, args=args, index=0)
    return AIMessageChunk(content="", id="a", tool_call_chunks=[chunk])


def test_the_arguments_of_our_tool_are_shown_and_those_of_others_are_not() -> None:
    pieces = ["", '{"reply": "Hi', ' there", "save', '_to_memory": null}']
    for name, expected in (("SavingReply", "Hi there"), ("send_mail", "")):
        stream = ReplyStream()
        names = [name, None, None, None]
        chunks = map(call_chunk, names, pieces)
        assert "".join(map(stream.feed, chunks)) == expected


def test_a_message_that_a_node_makes_of_what_streamed_is_not_shown_again() -> None:
    stream = ReplyStream()
    assert stream.feed(call_chunk("SavingReply", '{"reply": "Hi", "save_to_memory": null}')) == "Hi"
    assert stream.feed(AIMessage("Hi", id="b")) == ""
    assert stream.feed(AIMessage("Anything else", id="c")) == "Anything else"
    assert stream.feed(AIMessage('{"reply": "Bye", "save_to_memory": null}', id="d")) == "Bye"


def test_two_models_that_stream_at_once_are_kept_apart() -> None:
    stream = ReplyStream()
    pieces = [("a", '{"reply": "Hi'), ("b", "Good "), ("a", ' Ana"}'), ("b", "day")]
    shown = [stream.feed(AIMessageChunk(content=text, id=id)) for id, text in pieces]
    assert shown == ["Hi", "Good ", " Ana", "day"]


def test_each_message_of_a_tool_loop_begins_anew() -> None:
    stream = ReplyStream()
    assert stream.feed(AIMessageChunk(content="Let me look.", id="a")) == "Let me look."
    assert stream.feed(ToolMessage("18 euros", tool_call_id="1")) == ""
    assert stream.feed(HumanMessage("Hi")) == ""
    assert stream.feed(AIMessageChunk(content='{"reply": "18', id="b")) == "18"
    assert stream.feed(AIMessageChunk(content=' euros"}', id="b")) == " euros"
