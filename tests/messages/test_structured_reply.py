"""Structured replies: where they are found, however broken, and what is left of the message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    RemoveMessage,
    ToolMessage,
)
from pydantic import BaseModel

from langgraph_memory import SavingReply
from langgraph_memory.messages.structured_reply import take_proposal

NAME = "用户叫小明"
JOB = "用户是一名后端开发工程师"
HI = "你好，小明！"
FIELDS: dict[str, Any] = {"reply": HI, "save_to_memory": [NAME, JOB]}
WHOLE = json.dumps(FIELDS, ensure_ascii=False)


def taken(answer: str | AIMessage, *beside: object) -> tuple[str, list[Any]]:
    """Return the plain text of an answer, and what it proposes."""
    message = AIMessage(answer, id="a") if isinstance(answer, str) else answer
    result = take_proposal([HumanMessage("我叫小明", id="u"), message], beside)
    assert [m.id for m in result.messages] == ["u", message.id]
    return str(result.messages[-1].text), list(result.proposed)


# -- JSON in the text ----------------------------------------------------------------------------

FORMS = {
    "bare": WHOLE,
    "indented": json.dumps(FIELDS, ensure_ascii=False, indent=2),
    "escaped": json.dumps(FIELDS),
    "fenced": f"```json\n{WHOLE}\n```",
    "fenced without a language": f"```\n{WHOLE}\n```",
    "a fence that is not closed": f"```json\n{WHOLE}",
    "prose before": f"Sure, here is my answer:\n\n{WHOLE}",
    "prose after": f"{WHOLE}\n\nI hope that this {{helps}}!",
    "prose with braces": f'As {{asked}}, {{"format": "JSON"}}:\n{WHOLE}',
    "thoughts": f'<think>Maybe {{"reply": "?", "save_to_memory": null}}?</think>\n{WHOLE}',
    "thoughts without a beginning": f"He says his name.</think>{WHOLE}",
    "a comma too many": WHOLE.replace("]}", "],}"),
    "a comma too few": WHOLE.replace('", "save', '" "save'),
    "no closing brace": WHOLE[:-1],
    "no closing bracket": WHOLE[:-2],
    "single quotes": str(FIELDS),
    "no quotes around keys": f'{{reply: "{HI}", save_to_memory: ["{NAME}", "{JOB}"]}}',
    "Chinese punctuation": f"{{“reply”：“{HI}”，“save_to_memory”：[“{NAME}”，“{JOB}”]}}",
    "Chinese punctuation between": WHOLE.replace('": ', '"：').replace('", "', '"，"'),
    "a comment": WHOLE.replace('"save', '// the facts\n"save'),
    "a call of the tool as text": json.dumps({"name": "SavingReply", "arguments": FIELDS}),
    "a call with parameters": json.dumps({"name": "SavingReply", "parameters": FIELDS}),
    "the list as a text": json.dumps({**FIELDS, "save_to_memory": json.dumps([NAME, JOB])}),
    "said twice": f"{WHOLE}\n{WHOLE}",
    "other fields": json.dumps({"mood": "happy", **FIELDS, "sure": True}),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_reply_in_json_is_read_however_it_is_written(form: str) -> None:
    assert taken(form) == (HI, [NAME, JOB])


NOTHING = {
    "null": '{"reply": "Paris.", "save_to_memory": null}',
    "None": "{'reply': 'Paris.', 'save_to_memory': None}",
    "an empty list": '{"reply": "Paris.", "save_to_memory": []}',
    "no such field": '{"reply": "Paris."}',
    "no such field, in a fence": '```json\n{"reply": "Paris."}\n```',
    "cut off before it": '{"reply": "Paris.", "save_to',
}


@pytest.mark.parametrize("form", NOTHING.values(), ids=NOTHING)
def test_a_reply_need_not_propose_anything(form: str) -> None:
    assert taken(form) == ("Paris.", [])


CUT_OFF = {
    "in a note": '{"reply": "Hi", "save_to_memory": ["Drinks tea", "Is allergic to pea',
    "in an escape": '{"reply": "Hi", "save_to_memory": ["Drinks tea", "\\u7528\\u62',
    "in a fence": '```json\n{"reply": "Hi", "save_to_memory": ["Drinks tea", "Is allerg\n',
    "between notes": '{"reply": "Hi", "save_to_memory": ["Drinks tea",',
    "after a note": '{"reply": "Hi", "save_to_memory": ["Drinks tea"',
    "in the reply": '{"save_to_memory": ["Drinks tea"], "reply": "Hi',
}


@pytest.mark.parametrize("form", CUT_OFF.values(), ids=CUT_OFF)
def test_what_was_cut_off_in_the_middle_of_a_note_is_not_proposed(form: str) -> None:
    assert taken(form) == ("Hi", ["Drinks tea"])


def test_broken_json_with_prose_after_it_keeps_its_last_note() -> None:
    form = '{"reply": "Hi", "save_to_memory": ["Drinks tea", "Has a cat",]}\n\nAnything else?'
    assert taken(form) == ("Hi", ["Drinks tea", "Has a cat"])


def test_quotes_and_line_breaks_inside_texts_survive() -> None:
    reply = 'Write `{"a": 1}`,\nas in "C:\\temp".'
    assert taken(json.dumps({"reply": reply, "save_to_memory": ['Says "hi"']})) == (
        reply,
        ['Says "hi"'],
    )
    raw = '{"reply": "one\ntwo", "save_to_memory": "Drinks tea"}'
    assert taken(raw) == ("one\ntwo", ["Drinks tea"])


WRONG = {
    "a number": 42,
    "true": True,
    "an object": {"name": "小明"},
    "a list of everything": [1, None, {"a": "b"}, ["c"], "Drinks tea"],
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_what_is_proposed_may_be_of_any_type(value: object) -> None:
    expected = value if isinstance(value, list) else [value]
    assert taken(json.dumps({"reply": "Hi", "save_to_memory": value})) == ("Hi", expected)


ORDINARY = {
    "prose": "你好，小明！很高兴认识你。",
    "an object without a reply": '{"name": "小明", "save_to_memory": "x"}',
    "a list": '[{"reply": "yes"}, {"reply": "no"}]',
    "a reply further down": '{"comments": [{"reply": "yes", "save_to_memory": "x"}]}',
    "a reply that is a number": '{"reply": 42, "save_to_memory": "x"}',
    "a reply that is an object": '{"reply": {"text": "hi"}, "save_to_memory": "x"}',
    "an empty reply": '{"reply": " ", "save_to_memory": "x"}',
    "an example in prose": 'The server answers ```json\n{"reply": "pong"}\n``` then.',
    "a template": "Dear {name}, {reply: optional}",
    "braces": "{{{{{{",
    "thoughts alone": "<think>What would he like?",
    "nothing": "",
    "very deep": '{"reply": ' + "[" * 100_000,
    "a fence inside a broken string": '{reply:"""```json\n{"reply": "a"}\n````json',
    "deep": '{"reply": ' + "[" * 20_000,
    "very deep objects": '{"reply":' * 50_000,
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_an_answer_that_is_no_structured_reply_is_left_alone(text: str) -> None:
    messages: list[BaseMessage] = [HumanMessage("Hi", id="u"), AIMessage(text, id="a")]
    result = take_proposal(messages)
    assert (result.messages, result.changes, result.proposed) == (messages, (), ())
    assert result.messages[-1] is messages[-1]


def test_text_that_utf_8_cannot_hold_is_replaced() -> None:
    text, proposed = taken('{"reply": "\\ud83d hi", "save_to_memory": null}')
    assert text.encode()
    assert proposed == []


_PIECES = ['{"reply": "a', WHOLE, "```json\n", "```", "<think>", "</think>", '"', "“", "\\u12", "}"]
_PIECES += ["]", "[", ",", "：", "\n", "//", "/*", "'", '"""', "{a:", "null", "\x00", "\ud83d"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=5)), max_size=12))
def test_no_answer_whatever_is_an_error(pieces: list[str]) -> None:
    taken("".join(pieces))


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(max_size=20), max_size=4))
def test_a_reply_that_is_whole_is_read_as_it_is(reply: str, notes: list[str]) -> None:
    fields = SavingReply(reply=reply, save_to_memory=notes)
    assert taken(fields.model_dump_json()) == (reply, notes)
    cut = fields.model_dump_json()[:-1]
    assert taken(cut)[0]


# -- where else it is found ----------------------------------------------------------------------


def call(name: str = "SavingReply", **arguments: object) -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": "call_1", "type": "tool_call"}


class ShopReply(SavingReply):
    order: str | None = None


class OwnReply(BaseModel):
    reply: str
    save_to_memory: list[str]


def parsed(reply: BaseModel) -> AIMessage:
    return AIMessage("", id="a", additional_kwargs={"parsed": reply})


def broken(args: str) -> AIMessage:
    call = InvalidToolCall(
        name="SavingReply", args=args, id="c", error=None, type="invalid_tool_call"
    )
    return AIMessage("", id="a", invalid_tool_calls=[call])


def chunks(*texts: str) -> AIMessage:
    first, *rest = (AIMessageChunk(content=text, id="a") for text in texts)
    return sum(rest, first)


PLACES = {
    "a tool call": AIMessage("", id="a", tool_calls=[call(**FIELDS)]),
    "a call of a derived class": AIMessage(
        "", id="a", tool_calls=[call("ShopReply", order="tea", **FIELDS)]
    ),
    "a broken call": broken(WHOLE[:-1]),
    "parsed": parsed(SavingReply.model_validate(FIELDS)),
    "parsed, a derived class": parsed(ShopReply.model_validate(FIELDS)),
    "parsed, a class of one's own": parsed(OwnReply.model_validate(FIELDS)),
    "content blocks": AIMessage([{"type": "text", "text": WHOLE}], id="a"),
    "chunks that were added up": chunks(WHOLE[:9], WHOLE[9:]),
}  # fmt: skip


@pytest.mark.parametrize("message", PLACES.values(), ids=PLACES)
def test_a_structured_output_is_found_in_the_message_it_came_with(message: AIMessage) -> None:
    text, proposed = taken(message)
    assert (text, proposed) == (HI, [NAME, JOB])


def test_the_plain_message_keeps_its_id_and_its_usage_and_nothing_of_the_form() -> None:
    usage: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    message = AIMessage(
        [{"type": "tool_use", "id": "call_1", "name": "SavingReply", "input": FIELDS}],
        id="a",
        name="seller",
        tool_calls=[call(**FIELDS)],
        additional_kwargs={"parsed": 1, "tool_calls": [{}], "cached": True},
        usage_metadata=usage,
        response_metadata={"model_name": "small"},
    )
    [plain] = take_proposal([message]).messages
    assert isinstance(plain, AIMessage)
    assert plain.content == [{"type": "text", "text": HI}]
    assert (plain.id, plain.name, plain.usage_metadata) == ("a", "seller", usage)
    assert (plain.tool_calls, plain.additional_kwargs) == ([], {"cached": True})
    assert plain.response_metadata == {"model_name": "small"}
    assert message.tool_calls  # the original is not touched


def test_a_call_of_another_tool_is_left_alone() -> None:
    for calls in ([call("mail", reply="Hi")], [call(**FIELDS), call("price_of", bean="Sidamo")]):
        message = AIMessage(WHOLE, id="a", tool_calls=calls)
        assert take_proposal([message]).messages[0] is message


def test_the_result_of_the_call_goes_with_it_and_no_other() -> None:
    """A provider refuses a tool's result without its call."""
    older = [
        HumanMessage("And Sidamo?", id="u0"),
        AIMessage("", id="a0", tool_calls=[call("price_of", bean="Sidamo")]),
        ToolMessage("18 euros", id="t0", tool_call_id="call_1"),  # ids that are counted repeat
    ]
    answer = AIMessage("", id="a", tool_calls=[call(**FIELDS)])
    done = ToolMessage("Returning structured response", id="t", tool_call_id="call_1")
    result = take_proposal([*older, answer, done])
    assert [m.id for m in result.messages] == ["u0", "a0", "t0", "a"]
    assert [(m.id, type(m)) for m in result.changes] == [("a", AIMessage), ("t", RemoveMessage)]


def test_a_reply_beside_the_messages_counts_if_the_answer_says_the_same() -> None:
    models = [kind.model_validate(FIELDS) for kind in (SavingReply, ShopReply)]
    for beside in (FIELDS, *models):
        assert taken(HI, None, beside) == (HI, [NAME, JOB])
        assert taken("不客气！", None, beside) == ("不客气！", [])  # it is of an earlier turn


def test_only_the_answer_of_the_current_turn_is_read() -> None:
    earlier = [HumanMessage("我叫小明", id="1"), AIMessage(WHOLE, id="2")]
    for rest in ([HumanMessage("再见", id="3")], [HumanMessage("再见"), AIMessage("再见！")]):
        result = take_proposal([*earlier, *rest])
        assert (result.messages[1], result.proposed) == (earlier[1], ())


# -- what the model is told ----------------------------------------------------------------------


def test_the_instructions_show_the_form_in_two_languages_and_keep_to_it() -> None:
    lines = [line for line in SavingReply.instructions().splitlines() if line.startswith("{")]
    examples = [SavingReply.model_validate_json(line) for line in lines]
    kept = [example for example in examples if example.save_to_memory]
    assert {example.reply.isascii() for example in kept} == {True, False}
    assert len(examples) >= 2 * len(kept)  # mostly there is nothing to keep
    assert [NAME, JOB] in [example.save_to_memory for example in kept]


def test_what_the_model_reads_of_the_schema_says_what_to_keep() -> None:
    schema = SavingReply.model_json_schema()
    assert schema["required"] == ["reply"]
    for name in ("reply", "save_to_memory"):
        assert len(schema["properties"][name]["description"]) > 40
    kinds = [kind["type"] for kind in schema["properties"]["save_to_memory"]["anyOf"]]
    assert kinds == ["string", "array", "null"]
    assert "null" in schema["properties"]["save_to_memory"]["description"]
