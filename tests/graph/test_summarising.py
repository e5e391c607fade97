"""What of a conversation is folded, and how its turns are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_memory.graph.summarising import fold, older_part, turns_of


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        (["My name is Ana.", "Hello Ana."], ("facts",)),
        (["我叫小明", "你好"], ("facts",)),
        (["Ship it on Friday.", "OK"], ("facts",)),
        (["Let's go with the dark roast.", "Fine."], ("decisions",)),
        (["就选深烘的吧", "好的"], ("decisions",)),
        (["What is crema?", "Foam."], ()),
    ],
)
def test_turns_say_what_they_hold(said: list[str], holds: tuple[str, ...]) -> None:
    [turn] = turns_of([HumanMessage(said[0]), AIMessage(said[1])])
    assert turn.holds == holds
    assert not turn.is_small_talk


def test_a_picture_without_a_text_is_no_small_talk() -> None:
    [turn] = turns_of([HumanMessage([{"type": "image", "url": "https://example.com/a.png"}])])
    assert not turn.is_small_talk


def test_news_in_the_answer_to_a_greeting_is_no_small_talk() -> None:
    [turn] = turns_of([HumanMessage("Good morning!"), AIMessage("Your grinder is ready, Ana.")])
    assert not turn.is_small_talk


def test_a_first_yes_may_answer_what_was_folded_before() -> None:
    yes = [HumanMessage("Yes."), AIMessage("All right.")]
    assert turns_of(yes)[0].is_small_talk
    assert not turns_of(yes, continued=True)[0].is_small_talk


_CONVERSATIONS = st.lists(st.sampled_from(["user", "ai", "call", "calls", "yield"]), max_size=40)


@given(_CONVERSATIONS, st.integers(1, 20), st.integers(0, 10))
def test_no_conversation_is_cut_between_a_call_and_its_result(
    kinds: list[str], keep: int, more: int
) -> None:
    messages: list[BaseMessage] = []
    for i, kind in enumerate(kinds):
        if kind in ("user", "yield"):
            messages.append(HumanMessage("Go on.", id=f"{i}"))
        elif kind == "ai":
            messages.append(AIMessage("Well.", id=f"{i}"))
        else:
            ids = ["call-1", "call-2"][: len(kind) - 3]  # the same ids again and again
            calls = [{"name": "weigh", "args": {}, "id": id} for id in ids]
            messages.append(AIMessage("", id=f"{i}", tool_calls=calls))
            messages += [ToolMessage("1", tool_call_id=id, id=f"{i}-{id}") for id in ids]
    older = older_part(messages, keep + more, keep)
    recent = messages[len(older) :]
    assert messages[: len(older)] == older
    assert len(recent) >= min(keep, len(messages))
    assert not (older and isinstance(recent[0], ToolMessage))
    if older and any(isinstance(message, HumanMessage) for message in messages):
        assert isinstance(recent[0], HumanMessage)


def test_a_later_step_that_fails_leaves_what_the_earlier_ones_folded() -> None:
    long = [HumanMessage(f"My bean is number {i}. " * 250) for i in range(10)]
    steps = fold("", long, 200)
    next(steps)
    steps.send(AIMessage("The first beans."))
    with pytest.raises(StopIteration) as done:
        steps.send(RuntimeError("no quota"))
    folded = done.value.value
    assert folded.summary == "The first beans."
    assert list(folded.messages) == long[: len(folded.messages)]
    assert 0 < len(folded.messages) < 10
    assert "no quota" in repr(folded.error)


def test_the_page_that_a_tool_read_is_shown_by_its_ends() -> None:
    call = {"name": "read", "args": {"note": "x" * 100_000}, "id": "1"}
    page = "Beginning. " + "y" * 1_000_000 + " End."
    turn = [
        HumanMessage("Read."),
        AIMessage("", tool_calls=[call]),
        ToolMessage(page, tool_call_id="1"),
    ]
    request = next(fold("", turn, 200))
    assert len(request[1].text) < 20_000
    assert "Beginning." in request[1].text
    assert "End." in request[1].text
