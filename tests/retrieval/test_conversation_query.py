"""A message that says little is asked together with what was said before it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import StateGraph

from langgraph_memory import ChromaStore, Memory, MemoryState, messages_with_memory, recall_node
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note
from langgraph_memory.retrieval.conversation_query import CONTEXT_CHARACTERS, in_turn, queries_of
from langgraph_memory.retrieval.recalled import Hit, Recalled
from langgraph_memory.testing import HashingEmbeddings

ANA = Owner("user", "ana")
MAY = datetime(2026, 5, 2, tzinfo=UTC)
BEFORE = [HumanMessage("When do I see Dr Osei?"), AIMessage("On 3 March at nine.")]


def hit(id: str, owner: Owner = ANA) -> Hit:
    note = Note(id=id, owner=owner, text=id, created_at=MAY, updated_at=MAY, valid_from=MAY)
    return Hit(note, id, 1.0, {})


@pytest.mark.parametrize("text", ["And the other one?", "还是老样子", "妹妹呢？", "And Grandma?"])
def test_what_says_little_is_asked_alone_and_with_the_answer_before_it(text: str) -> None:
    asked = queries_of([*BEFORE, HumanMessage(text)])
    assert asked == [text, f"On 3 March at nine.\n{text}"]


@pytest.mark.parametrize(
    "text",
    ["How much does the gardener in Leeds charge for the hedge?", "我妈妈过生日想要一条什么围巾？"],
)
def test_what_says_enough_is_asked_alone(text: str) -> None:
    assert queries_of([*BEFORE, HumanMessage(text)]) == [text]
    assert queries_of([HumanMessage(text)]) == [text]


def test_the_first_message_has_nothing_before_it() -> None:
    assert queries_of([SystemMessage("Be brief."), HumanMessage("The usual")]) == ["The usual"]
    assert queries_of([]) == queries_of([AIMessage("Hello!")]) == [""]


def test_in_a_tool_loop_it_is_still_the_users_message_that_is_asked() -> None:
    call = AIMessage("Let me look.", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    loop = [*BEFORE, HumanMessage("And Ben?"), call, ToolMessage("Tuesday", tool_call_id="1")]
    assert queries_of(loop) == ["And Ben?", "On 3 March at nine.\nAnd Ben?"]


def test_of_a_long_answer_its_end_is_asked() -> None:
    long = AIMessage("word " * 1_000 + "Shall I book the dentist?")
    [_, second] = queries_of([long, HumanMessage("Yes")])
    assert second.endswith("Shall I book the dentist?\nYes")
    assert len(second) == CONTEXT_CHARACTERS + len("\nYes")


def test_the_hits_of_several_queries_take_turns() -> None:
    project = Owner("project", "bar")
    first = Recalled("q", hits=(hit("a"), hit("b"), hit("c")), nothing_known=False, empty=False)
    second = Recalled("r", hits=(hit("b"), hit("d"), hit("a", project)), nothing_known=False)
    both = in_turn([first, second])
    assert [h.record.id for h in both.hits] == ["a", "b", "d", "c", "a"]
    assert both.query == "q"
    assert not both.empty


def test_what_one_query_finds_for_certain_is_not_uncertain_by_the_other() -> None:
    """Each query gives a record a score of its own."""
    known = Recalled(query="And the dog?", hits=(hit("rex"),))
    below = replace(known, hits=(), perhaps=(replace(hit("rex"), score=0.1), hit("graz")))
    for both in (in_turn([known, below]), in_turn([below, known])):
        assert [each.text for each in both.hits] == ["rex"]
        assert [each.text for each in both.perhaps] == ["graz"]


def test_something_is_known_if_it_is_about_one_of_the_queries() -> None:
    nothing, something = Recalled("q"), Recalled("r", hits=(hit("a"),), nothing_known=False)
    assert in_turn([nothing, nothing]).nothing_known
    assert not in_turn([nothing, something]).nothing_known
    assert in_turn([nothing, something]).hits == something.hits


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1, max_size=3))
def test_every_hit_comes_once_and_in_an_order_that_each_query_gave(lists: list[list[str]]) -> None:
    merged = in_turn([Recalled("q", hits=tuple(map(hit, ids))) for ids in lists])
    ids = [h.record.id for h in merged.hits]
    assert sorted(ids) == sorted(set().union(*lists))
    for rank, id in enumerate(lists[0]):
        assert ids.index(id) <= rank * len(lists), "no query pushes another's best hits out"


@pytest.mark.parametrize("prefix", ["", "a"])
async def test_a_graph_finds_what_a_short_message_refers_to(prefix: str) -> None:
    with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
        for number in range(25):  # too many for all of them to be shown
            memory.remember(f"unrelated matter {number}", user="ana")
        memory.remember("The dentist in Leeds has a blue door", user="ana")
        builder = StateGraph(MemoryState)
        builder.add_node("recall", recall_node(memory))
        builder.set_entry_point("recall")
        graph: Any = builder.compile()
        said = [AIMessage("Shall I book the dentist in Leeds?"), HumanMessage("Yes, please")]
        how = {"configurable": {"user_id": "ana"}}
        given = {"messages": said}
        state = await graph.ainvoke(given, how) if prefix else graph.invoke(given, how)
        assert "blue door" in messages_with_memory(state)[-1].text
