"""Which checkpoints go and which are copied, decided from their ids and parents."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base.id import uuid6

from langgraph_memory.records.clock import utc_now
from langgraph_memory.sessions.checkpoint_tree import Node, fork_copies, outdated


def node(id: str, *, parent: str | None = None, at: str = "", root: str | None = None) -> Node:
    metadata: dict[str, Any] = {} if root is None else {"parents": {"": root}}
    return Node(at, id, parent, metadata)


def deltas(id: str, parent: str | None) -> Node:
    return Node("", id, parent, {"counters_since_delta_snapshot": {"messages": [1, 1]}})


def test_a_call_that_is_stored_before_the_step_it_is_in_stays() -> None:
    done = node("21", at="call:1", root="1")
    under_way = node("31", at="call:2", root="3")
    stored = [node("1"), node("2", parent="1"), done, under_way]
    assert outdated(stored, keep_last=1) == [stored[0], done]


def test_a_thread_of_which_only_a_subgraph_is_stored_is_left_alone() -> None:
    assert outdated([node("1", at="call:1", root="0")], keep_last=1) == []


def test_an_id_that_tells_no_time_is_not_old() -> None:
    stored = [node("01"), node("02"), node(str(uuid6())), node(str(uuid6()))]
    assert outdated(stored, keep_last=1, before=utc_now() + timedelta(days=1)) == [stored[2]]


def test_a_state_of_a_lasting_subgraph_goes_once_there_is_a_newer_one() -> None:
    states = [node("11", at="sub", root="1"), node("21", at="sub", root="2")]
    stored = [node("3"), *states]  # the checkpoints that they were called in are pruned already
    assert outdated(stored, keep_last=1) == [states[0]]


def test_a_branch_that_was_left_goes_with_its_deltas_only_if_a_fork_does_not_need_them() -> None:
    stored = [deltas("1", None), deltas("2", "1"), deltas("3", "1"), deltas("4", "3")]
    assert outdated(stored, keep_last=1) == []
    assert [each.node.id for each in fork_copies(stored)] == ["4", "3", "1"]
    assert [(each.parent, each.writes) for each in fork_copies(stored, "2")] == [
        ("1", False),
        (None, True),
    ]


def test_a_chain_of_parents_that_is_a_loop_ends() -> None:
    assert len(fork_copies([deltas("1", "2"), deltas("2", "1")])) == 2


@given(parents=st.lists(st.integers(0, 8), max_size=8), keep_last=st.integers(1, 9))
def test_what_stays_are_the_newest_whatever_came_of_what(
    parents: list[int], keep_last: int
) -> None:
    stored = [
        node(str(place + 1), parent=str(min(place, parent))) for place, parent in enumerate(parents)
    ]
    gone = outdated(stored, keep_last=keep_last)
    assert [each for each in stored if each not in gone] == stored[-keep_last:]
    assert [each.node for each in fork_copies(stored)] == stored[-1:]
