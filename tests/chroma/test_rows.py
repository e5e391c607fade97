"""How items lie in Chroma: what is written can be read, and nothing collides."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.chroma.rows import (
    Row,
    item_rows,
    items_from_rows,
    namespace_row,
    read_namespace,
    row_id,
    tombstone,
)
from langgraph_memory.models.embedder import seeded_vector
from langgraph_memory.records.owners import Owner
from langgraph_memory.store.operations import StoredItem, encode_value, part_of
from tests.chroma.support import START, stored_item

# Few characters, and those that separate things in JSON: so that structures can look alike.
TRICKY = st.text(st.sampled_from('a",[]\\ 0%'), max_size=4)
NAMESPACES = st.lists(TRICKY | st.text(max_size=3), max_size=3).map(tuple)
ADDRESSES = st.tuples(NAMESPACES) | st.tuples(NAMESPACES, TRICKY, st.integers(0, 2))
DIMS = 64


@settings(deadline=None, max_examples=500)
@given(ADDRESSES, ADDRESSES)
def test_no_two_rows_have_the_same_id(one: Any, other: Any) -> None:
    assert (row_id(*one) == row_id(*other)) is (one == other)


@settings(deadline=None, max_examples=500)
@given(NAMESPACES, NAMESPACES)
def test_no_two_namespaces_have_the_same_part(one: Any, other: Any) -> None:
    assert (part_of(one) == part_of(other)) is (one == other)
    assert read_namespace({"part": part_of(one)}) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((("a", "b"), "k"), (("a",), "b")),
        ((("a", "b"), "k"), (('a", "b',), "k")),
        ((("a",),), (("a",), "")),
        ((("a",), "k", 1), (("a",), "k1", 0)),
        ((("a",), "[]"), (("a",), "")),
        (((), "a"), (("a",), "")),
        ((("é",), "k"), (("e\u0301",), "k")),
        ((("\ud800",), "k"), (("\udfff",), "k")),
    ],
)
def test_addresses_that_look_alike_have_different_ids(one: Any, other: Any) -> None:
    assert row_id(*one) != row_id(*other)


ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=ZONES)  # noqa: DTZ001  # Hypothesis adds the zone


@st.composite
def items(draw: st.DrawFn) -> StoredItem:
    texts = draw(st.lists(st.text(min_size=1, max_size=5), max_size=3))
    vectors = np.array([seeded_vector(text, DIMS) for text in texts], np.float32)
    return StoredItem(
        draw(NAMESPACES.filter(bool)),
        draw(st.text(max_size=5)),
        draw(st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=5), max_size=3)),
        draw(TIMES),
        draw(TIMES),
        tuple(texts),
        vectors.reshape(len(texts), DIMS),
        order=draw(st.integers(0, 10**18)),
    )


def read(rows: list[Row]) -> list[StoredItem]:
    return items_from_rows(
        [{key: value for key, value in row.metadata.items() if value is not None} for row in rows],
        [row.document for row in rows],
        np.array([row.vector for row in rows]).reshape(len(rows), DIMS),
    )


@settings(deadline=None)
@given(st.lists(items(), unique_by=lambda item: (item.namespace, item.key), max_size=4))
def test_items_are_read_from_their_rows_first_written_first(given: list[StoredItem]) -> None:
    rows = [row for item in given for row in item_rows(item, DIMS)]
    others = [namespace_row(("a",), DIMS), tombstone(row_id(("a",), "gone"), DIMS)]
    found = read([others[0], *rows, others[1]])
    assert [item.order for item in found] == sorted(item.order for item in given)
    by_address = {(item.namespace, item.key): item for item in found}
    assert len(by_address) == len(given)
    for item in given:
        again = by_address[item.namespace, item.key]
        assert (again.value, again.texts) == (item.value, item.texts)
        assert (again.created_at, again.updated_at) == (item.created_at, item.updated_at)
        np.testing.assert_array_equal(again.vectors, item.vectors)


@settings(deadline=None)
@given(items())
def test_chroma_takes_every_row(item: StoredItem) -> None:
    rows = item_rows(item, DIMS)
    assert len(rows) == max(len(item.texts), 1)
    for row in (*rows, namespace_row(item.namespace, DIMS)):
        assert row.id
        json.dumps(row.metadata, allow_nan=False).encode()
        assert all(
            value is None or isinstance(value, (str, int, float)) for value in row.metadata.values()
        )
        assert np.linalg.norm(row.vector) == pytest.approx(1, abs=1e-5)


def test_every_row_sets_the_same_keys() -> None:
    """Chroma merges metadata: a key that one kind of row left out would survive from another."""
    episode = stored_item(
        "k",
        {"outcome": "success"},
        texts=["a", "b"],
        namespace=Owner("user", "u").namespace("episode"),
    )
    rows = [
        *item_rows(episode, DIMS),
        *item_rows(stored_item("k"), DIMS),
        namespace_row(("a",), DIMS),
        tombstone("id", DIMS),
    ]
    assert len({frozenset(row.metadata) for row in rows}) == 1
    assert all(isinstance(row.document, str) for row in rows)


def test_rows_without_a_vector_of_their_own_are_spread_out() -> None:
    """One vector shared by many rows ruins Chroma's graph for all others."""
    rows = [item_rows(stored_item(str(i)), DIMS)[0] for i in range(50)]
    rows += [namespace_row((str(i),), DIMS) for i in range(50)]
    vectors = np.array([row.vector for row in rows])
    nearest = vectors @ vectors.T - 2 * np.eye(len(rows))
    assert nearest.max() < 0.7


def test_a_row_says_whose_it_is() -> None:
    owner = Owner("user", "ana@example.com")
    value = {"outcome": "failure", "quality_score": None, "duration_ms": 12, "token_cost": 0.5}
    note = stored_item("k", value, namespace=owner.namespace("note"))
    (row,) = item_rows(note, DIMS)
    assert (row.metadata["user"], row.metadata["type"]) == ("ana@example.com", "note")
    assert row.metadata["outcome"] is None
    (row,) = item_rows(stored_item("k", value, namespace=owner.namespace("episode")), DIMS)
    assert [row.metadata[name] for name in value] == list(value.values())
    (row,) = item_rows(stored_item("k", {"user": "u"}, namespace=("memories", "u")), DIMS)
    assert row.metadata["user"] is None


def test_text_that_json_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode_value({"at": START})
