"""LangChain messages: what of them was said, by whom and when, and how a block gets into them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.messages.langchain import (
    as_messages,
    begins_turn,
    current_turn,
    injected,
    is_said,
    last_user_message,
    text_of,
    token_cost,
    tool_names,
    with_block,
    with_ids,
    with_instructions,
    with_new_ids,
    with_new_messages,
    without_block,
)
from langgraph_memory.text.escaping import CLOSE, OPEN, one_line

ANY_TEXT = st.text(st.characters(exclude_categories=()))
IMAGE = {"type": "image", "url": "https://example.com/cat.png"}
SUMMARY = HumanMessage("They spoke of tea", additional_kwargs={"lc_source": "summarization"})


# -- forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [None, 5, 1.5, True, object()])
def test_what_cannot_be_messages_is_refused_by_its_type(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"expected messages, got {type(given).__name__}"):
        as_messages(given)


@pytest.mark.parametrize("given", [[5], [None], [{"x": 1}], [("judge", "Hi")], {"content": "Hi"}])
def test_a_list_of_what_is_no_message_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="these are not messages"):
        as_messages(given)


def test_messages_are_taken_one_or_many_in_any_form() -> None:
    hello = HumanMessage("Hello")
    for one in ("Hello", hello, ("user", "Hello"), {"role": "user", "content": "Hello"}):
        assert as_messages(one) == as_messages([one]) == [hello]
    assert as_messages([]) == []
    assert as_messages(iter([hello, ("ai", "Hi")])) == [hello, AIMessage("Hi")]


def test_messages_may_stand_in_a_tuple() -> None:
    hello, answer = HumanMessage("Hello"), AIMessage("Hi")
    assert as_messages((hello,)) == [hello]
    assert as_messages((hello, answer)) == [hello, answer]
    assert as_messages((hello, answer, hello)) == [hello, answer, hello]


# -- what was said -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (HumanMessage("Hello"), True),
        (AIMessage("Hello"), True),
        (HumanMessageChunk(content="Hello"), True),
        (AIMessageChunk(content="Hello"), True),
        (HumanMessage([{"type": "text", "text": "Hello"}, IMAGE]), True),
        (AIMessage("Let me look", tool_calls=[{"name": "look", "args": {}, "id": "1"}]), True),
        (AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}]), False),
        (HumanMessage(""), False),
        (HumanMessage(" \n"), False),
        (HumanMessage([IMAGE]), False),
        (SystemMessage("Be brief"), False),
        (ToolMessage("22 degrees", tool_call_id="1"), False),
        (RemoveMessage("1"), False),
        (SUMMARY, False),
        (with_block(HumanMessage(""), "<memory>\nx\n</memory>"), False),
    ],
    ids=lambda value: value.type if isinstance(value, BaseMessage) else str(value),
)
def test_only_what_the_user_and_the_agent_put_into_words_was_said(
    message: BaseMessage, said: bool
) -> None:
    assert is_said(message) is said


def test_the_latest_message_of_the_user_begins_the_turn() -> None:
    look = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    turn = [HumanMessage("And now?"), look, ToolMessage("x", tool_call_id="1"), AIMessage("Yes")]
    before = [SystemMessage("Be brief"), HumanMessage("Hello"), AIMessage("Hi")]
    assert current_turn([*before, *turn]) == turn
    assert last_user_message([*before, *turn]) is turn[0]
    assert current_turn([*before, *turn, SUMMARY]) == [*turn, SUMMARY]


def test_a_turn_that_is_like_an_earlier_one_is_still_the_latest() -> None:
    messages = [HumanMessage("ok"), AIMessage("one"), HumanMessage("ok"), AIMessage("two")]
    assert current_turn(messages) == messages[2:]


def test_without_a_message_of_the_user_there_is_no_turn() -> None:
    for messages in ([], [AIMessage("Hi")], [SystemMessage("Be brief"), SUMMARY]):
        assert current_turn(messages) == []
        assert last_user_message(messages) is None


@pytest.mark.parametrize(
    ("message", "begins"),
    [
        (HumanMessage("Hello"), True),
        (HumanMessage([IMAGE]), True),
        (with_block(HumanMessage("Hello"), "<memory>\nx\n</memory>"), True),
        (SUMMARY, False),
        (AIMessage("Hello"), False),
        (SystemMessage("Be brief"), False),
    ],
)
def test_a_turn_begins_with_whatever_the_user_sent(message: BaseMessage, begins: bool) -> None:
    assert begins_turn(message) is begins
    assert bool(current_turn([message, AIMessage("Hi")])) is begins


# -- the block -----------------------------------------------------------------------------------

CONTENTS = ANY_TEXT | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, ANY_TEXT) | st.just(IMAGE), max_size=3
)
LOOKS_LIKE_A_BLOCK = f"{OPEN}\nmine\n{CLOSE}\n\nHello"
BLOCKS = st.lists(ANY_TEXT.map(one_line), min_size=1, max_size=3).map(
    lambda lines: "\n".join([OPEN, *lines, CLOSE])
)


@settings(deadline=None)
@given(CONTENTS | st.just(LOOKS_LIKE_A_BLOCK), BLOCKS)
def test_a_block_is_put_before_a_message_and_taken_away_again(content: Any, block: str) -> None:
    message = HumanMessage(content, id="m1", name="Zoë", additional_kwargs={"timestamp": "x"})
    before = message.model_copy(deep=True)
    prompted = with_block(message, block)
    assert prompted.text.startswith(f"{block}\n\n")
    assert prompted.text.endswith(str(message.text))
    assert prompted.id == "m1"
    assert text_of(prompted) == text_of(message)
    assert without_block(prompted) == message == before
    assert without_block(message) is message


@pytest.mark.parametrize("content", ["Hello", [{"type": "text", "text": "Hello"}, IMAGE]])
def test_a_block_survives_being_sent_as_json(content: Any) -> None:
    message = HumanMessage(content, id="m1")
    prompted = with_block(message, f"{OPEN}\n🙂\n{CLOSE}")
    sent = HumanMessage.model_validate_json(prompted.model_dump_json())
    assert text_of(sent) == "Hello"
    assert without_block(sent) == message


@pytest.mark.parametrize(
    ("changed", "text"), [("Hello, translated", "Hello, translated"), ("{} please", "Hello please")]
)
def test_what_a_node_made_of_the_message_it_was_given_is_kept(changed: str, text: str) -> None:
    """The block goes where it stands; where it stands no more, nothing is cut off."""
    prompted = with_block(HumanMessage("Hello"), f"{OPEN}\nx\n{CLOSE}")
    content = changed.replace("{}", str(prompted.content))
    assert text_of(prompted.model_copy(update={"content": content})) == text


# -- the rest of a turn --------------------------------------------------------------------------


def test_messages_get_the_same_ids_each_time_where_they_have_none() -> None:
    given = [HumanMessage("ok", id="m1"), AIMessage("ok"), AIMessage("ok"), HumanMessage("ok")]
    made = with_ids(given)
    assert made[0] is given[0]
    assert len({message.id for message in made}) == 4
    assert with_ids(given) == made == with_ids(made)
    assert [message.id for message in given] == ["m1", None, None, None]


def test_new_messages_get_ids_that_no_other_has() -> None:
    given = [HumanMessage("ok", id="m1"), AIMessage("ok"), AIMessage("ok")]
    made, again = with_new_ids(given), with_new_ids(given)
    assert made[0] is again[0] is given[0]
    assert len({message.id for message in (*made, *again)}) == 5


def test_new_messages_take_the_place_of_those_with_the_same_id() -> None:
    old = [HumanMessage("one", id="1"), AIMessage("two", id="2")]
    new = [HumanMessage("ONE", id="1"), AIMessage("three", id="3")]
    assert [message.text for message in with_new_messages(old, new)] == ["ONE", "two", "three"]
    assert with_new_messages(old, []) == old


def test_the_tools_of_a_turn_are_named_once_in_their_order() -> None:
    def call(*names: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": {}, "id": name} for name in names])

    turn = [HumanMessage("Hi"), call("stock", "ship"), call("stock", "pay"), AIMessage("Done")]
    assert tool_names(turn) == ["stock", "ship", "pay"]
    assert tool_names([HumanMessage("Hi")]) == []


def test_a_turn_costs_the_tokens_that_the_models_reported() -> None:
    usage: Any = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    reported = AIMessage("Hi", usage_metadata=usage)
    assert token_cost([HumanMessage("Hi"), reported, AIMessage("?"), reported]) == 14
    assert token_cost([HumanMessage("Hi"), AIMessage("Hi")]) is None


# -- where a block goes --------------------------------------------------------------------------

BLOCK = f"{OPEN}\n- Lives in Córdoba\n{CLOSE}"
CONTENTS = st.one_of(ANY_TEXT, st.lists(st.builds(lambda t: {"type": "text", "text": t}, ANY_TEXT)))
MESSAGES = st.lists(
    st.one_of(
        st.builds(SystemMessage, CONTENTS),
        st.builds(HumanMessage, CONTENTS),
        st.builds(AIMessage, ANY_TEXT),
    )
)


@settings(deadline=None)
@given(MESSAGES)
def test_a_block_goes_into_the_first_system_message_and_makes_no_second_one(
    messages: list[BaseMessage],
) -> None:
    given = injected(messages, BLOCK, "system")
    systems = [message for message in given if isinstance(message, SystemMessage)]
    there = [message for message in messages if isinstance(message, SystemMessage)]
    assert len(systems) == max(len(there), 1)
    assert [BLOCK in str(message.text) for message in systems] == [True] + [False] * (
        len(systems) - 1
    )
    added = [] if there else [SystemMessage("")]
    assert [without_block(message) for message in given] == [*added, *messages]


@settings(deadline=None)
@given(MESSAGES)
def test_so_do_instructions(messages: list[BaseMessage]) -> None:
    given = with_instructions(messages, "Be brief.")
    there = [message for message in messages if isinstance(message, SystemMessage)]
    systems = [message for message in given if isinstance(message, SystemMessage)]
    assert len(systems) == max(len(there), 1)
    assert systems[0].text.endswith("Be brief.")
    assert [m for m in given if m not in systems] == [m for m in messages if m not in there]
