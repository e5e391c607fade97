"""The clocks by which processes notice each other's writes, without a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langgraph_memory.chroma import vector_clock
from langgraph_memory.chroma.vector_clock import (
    KEPT,
    clock_of,
    covers,
    emptied_marks,
    is_empty,
    new_writer,
    put_marks,
    surplus,
)


def merged(row: Mapping[str, Any], marks: Mapping[str, Any]) -> dict[str, Any]:
    """A row after an upsert, as Chroma merges metadata."""
    return {key: value for key, value in {**row, **marks}.items() if value is not None}


def test_no_two_processes_write_under_the_same_key() -> None:
    assert len({new_writer() for _ in range(1_000)}) == 1_000


def test_a_clock_is_read_from_between_a_rows_other_fields() -> None:
    row = merged({"part": '["a"]', "state": "namespace"}, put_marks("w_a", 7, []))
    assert clock_of(row) == {"w_a": 7}


PROCESSES = ["w_a", "w_b", "w_c", "w_d", "w_e"]
STEPS = st.lists(
    st.tuples(st.sampled_from(PROCESSES), st.sampled_from(["look", "put", "slow put", "land"]))
)


@given(STEPS, st.sampled_from([1, 2]), st.permutations(range(0, 500, 100)))
@example(
    [("w_a", "put"), ("w_b", "look"), ("w_b", "slow put"), ("w_a", "put"), ("w_b", "land")],
    1,
    [0] * 5,
)
def test_whoever_looked_before_the_latest_write_of_another_knows_it_and_nobody_else(
    steps: list[tuple[str, str]], kept: int, skews: list[int]
) -> None:
    """Also if a writer read the row long before it writes, and their clocks are not the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_clock, "KEPT", kept)
        skew = dict(zip(PROCESSES, skews, strict=True))
        row: dict[str, Any] = {}
        seen: dict[str, dict[str, int]] = {}
        unseen: dict[str, bool] = {}
        reading: dict[str, dict[str, int]] = {}
        for number, (process, step) in enumerate(steps):
            if step == "look":
                seen[process], unseen[process] = clock_of(row), False
            elif step == "slow put":
                reading[process] = clock_of(row)
            else:
                found = reading.pop(process, clock_of(row)) if step == "land" else clock_of(row)
                removed = surplus(process, found)
                if removed:
                    seen.pop(process, None)
                row = merged(row, put_marks(process, number + skew[process], removed))
                unseen |= {other: True for other in unseen if other != process}
            for reader, clock in seen.items():
                assert covers(clock, clock_of(row), reader) is not unseen[reader]


def test_a_row_does_not_grow_with_every_process_that_ever_wrote() -> None:
    row: dict[str, Any] = {}
    for number in range(100):
        own = new_writer()
        row = merged(row, put_marks(own, number, surplus(own, clock_of(row))))
    assert sorted(clock_of(row).values()) == list(range(100 - KEPT, 100))


def test_a_namespace_is_empty_from_its_last_deletion_to_the_next_put() -> None:
    row = merged({"state": "namespace"}, put_marks("w_a", 1, []))
    assert not is_empty(row)
    row = merged(row, emptied_marks("w_b", 2, clock_of(row)))
    assert is_empty(row)
    row = merged(row, {"state": "namespace", **put_marks("w_a", 3, [])})
    assert not is_empty(row)


def test_a_namespace_is_not_empty_if_another_put_something_while_the_last_was_deleted() -> None:
    row = merged({"state": "namespace"}, put_marks("w_a", 1, []))
    known = clock_of(row)
    row = merged(row, {"state": "namespace", **put_marks("w_a", 2, [])})
    row = merged(row, emptied_marks("w_b", 3, known))
    assert not is_empty(row)
