"""Any text works, as value, key or namespace; so does every JSON value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, PutOp

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.records.owners import Owner
from tests.chroma.support import EMBED, keys, open_store

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # also lone surrogates
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # JSON has no lone surrogates that every reader takes: tests of their own say what happens.
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

TEXTS = {
    "empty": "",
    "blank": " \n\t ",
    "emoji": "☕ 👩‍👩‍👧 🇩🇪",
    "NUL": "before\0after",
    "controls": "\x01\x1b[31m\x7f\x85\u2028",
    "percent": "100 % %s %25",
    "underscore": "john_doe",
    "quotes": """it's "quoted" `here` \\ there""",
    "SQL": "'; DROP TABLE embeddings; --",
    "JSON": '{"$gt": 1}',
    "Chinese": "摩卡壶怎么磨",
    "Arabic": "قهوة تركية",
    "combining": "e\u0301",
    "composed": "é",
    "astral": "𠮷野家",
    "noncharacter": "\uffff\ufdd0",
    "period": "ana@example.com",
    "long": "x" * 100_000,
}


def test_any_text_is_a_value_and_a_key_and_comes_back_as_it_was(tmp_path: Path) -> None:
    """From Chroma by key, from memory, from a search, and after reopening."""

    def check(store: ChromaStore) -> None:
        assert [store.get(("a",), key).value for key in expected] == list(expected.values())  # type: ignore[union-attr]
        for query in (None, "moka"):
            found = store.search(("a",), query=query, limit=1_000)
            assert {item.key: item.value for item in found} == expected

    expected = {text: {"text": text, text: [text]} for text in TEXTS.values()}
    with open_store(tmp_path) as store:
        for key, value in expected.items():
            store.put(("a",), key, value)
        check(store)
        check(store)
    with open_store(tmp_path) as store:
        check(store)


def test_any_text_without_a_period_or_nul_is_a_namespace_label(tmp_path: Path) -> None:
    labels = [text for text in TEXTS.values() if text and not {".", "\0"} & set(text)]

    def check(store: ChromaStore) -> None:
        assert store.list_namespaces(limit=1_000) == sorted((label, "n") for label in labels)
        for label in labels:
            (item,) = store.search((label,))
            assert (item.namespace, item.value) == ((label, "n"), {"text": label})
            assert store.get((label, "n"), "k") is not None

    with open_store(tmp_path) as store:
        for label in labels:
            store.put((label, "n"), "k", {"text": label})
        check(store)
    with open_store(tmp_path) as store:
        check(store)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_can_be_looked_for_and_filtered_by(store: ChromaStore, text: str) -> None:
    store.put(("a",), "k", {"text": text})
    store.put(("a",), "other", {"text": "moka"})
    assert "k" in keys(store.search(("a",), query=text))
    assert keys(store.search(("a",), filter={"text": text})) == ["k"]


def test_values_of_a_megabyte_work(tmp_path: Path) -> None:
    text = "Moka pots, 摩卡壶! " * 60_000
    with open_store(tmp_path) as store:
        store.put(("a",), "k", {"text": text}, index=["text"])
        store.put(("a",), "l", {"text": text}, index=False)
    with open_store(tmp_path) as store:
        assert keys(store.search(("a",), query="moka pots")) == ["k"]
        assert [item.value["text"] == text for item in store.search(("a",))] == [True, True]


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    """UTF-8 has none, so no file and no model can hold one."""
    with open_store(tmp_path) as store:
        store.put(("a",), "half \ud83d", {"half \ude00": "of an \ud83d"})
    with open_store(tmp_path) as store:
        (item,) = store.search(("a",), query="half \ud83d")
        assert (item.key, item.value) == ("half \ufffd", {"half \ufffd": "of an \ufffd"})
        assert store.get(("a",), "half \ud83d") == store.get(("a",), "half \ufffd")
        store.delete(("a",), "half \ud83d")
        assert store.search(("a",)) == []


def test_an_emoji_in_two_halves_is_that_emoji(tmp_path: Path) -> None:
    """In keys, values and namespaces, in memory and on disk alike."""
    halves, whole = "\ud83d\ude00", "\U0001f600"
    with open_store(tmp_path) as store:
        store.put((whole,), "k", {"n": 0})
        store.search((whole,))
        store.put((halves,), halves, {"n": halves})
        for label in (whole, halves):
            assert sorted(keys(store.search((label,)))) == ["k", whole]
        assert store.list_namespaces() == [(whole,)]
    with open_store(tmp_path) as store:
        item = store.get((whole,), whole)
        assert item is not None
        assert (item.namespace, item.value) == ((whole,), {"n": whole})


@settings(deadline=None, max_examples=60)
@given(key=ANY_TEXT, value=st.dictionaries(st.text(), JSON, max_size=4), cached=st.booleans())
def test_every_json_value_comes_back_as_it_was(
    key: str, value: dict[str, Any], cached: bool
) -> None:
    with ChromaStore.in_memory(embed=EMBED) as store:
        store.put(("a",), key, value)
        if cached:
            store.search(("a",))
        item = store.get(("a",), key)
        assert item is not None
        # Compared as JSON: to Python, 1 and True are equal.
        assert json.dumps(item.value) == json.dumps(value)


def test_tuples_become_lists_and_keys_text_at_once(store: ChromaStore) -> None:
    """Not only when they are read from disk."""
    store.put(("a",), "k", {"pair": (1, 2), 7: None})  # type: ignore[dict-item]
    (item,) = store.search(("a",), filter={"pair": [1, 2]})
    assert item.value == {"pair": [1, 2], "7": None}


@pytest.mark.parametrize("depth", [10, 100, 198, 199, 200, 201, 350, 500, 800])
def test_a_deep_value_can_be_read_or_is_refused(store: ChromaStore, depth: int) -> None:
    """One that could be written but not read would spoil every search of its namespace."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    store.put(("a",), "k", {"n": 1})
    try:
        store.put(("a",), "deep", value)
    except ValueError as error:
        assert "JSON" in str(error)  # noqa: PT017  # either is right
        assert keys(store.search(("a",))) == ["k"]
    else:
        found = store.get(("a",), "deep")
        assert found is not None
        assert found.value == value
        assert sorted(keys(store.search(("a",), query="in"))) == ["deep", "k"]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"value": {"value": None}, "created_at": "no time", "vectors": -1},
        {"$gt": 3, "$": ["*"]},
        {"big": 10**300, "small": 5e-324, "negative zero": -0.0, "int": 2**63},
        {"": ""},
    ],
)
def test_values_that_resemble_our_own_layout_are_just_values(
    tmp_path: Path, value: dict[str, Any]
) -> None:
    with open_store(tmp_path) as store:
        store.put(("a",), "k", value)
    with open_store(tmp_path) as store:
        assert [json.dumps(item.value) for item in store.search(("a",))] == [json.dumps(value)]


IDS = ["u1", "u10", "U1", "u_", "u%", "u%31", "u.1", "u/1", " u1", "ana@example.com", "u\0", "*"]


def test_no_user_sees_what_belongs_to_another_whose_name_is_like_theirs(
    store: ChromaStore,
) -> None:
    namespaces = {id: Owner("user", id).namespace("note") for id in IDS}
    store.batch([PutOp(namespace, "k", {"text": id}) for id, namespace in namespaces.items()])
    for id, namespace in namespaces.items():
        for query in (None, id):
            found = store.search(namespace, query=query, limit=100)
            assert [item.value["text"] for item in found] == [id]
            found = store.search(namespace[:3], query=query, limit=100)
            assert [item.value["text"] for item in found] == [id]
        (item,) = store.batch([GetOp(namespace, "k")])
        assert item.value["text"] == id
