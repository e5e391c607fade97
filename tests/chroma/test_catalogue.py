"""Which namespaces are there, whatever was asked first, written meanwhile, closed and opened."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.store.operations import Namespace
from tests.chroma.support import open_store

# What sorts before, between and after the signs that end a label in Chroma's metadata.
LABELS = st.sampled_from(["a", "a b", "a,", "a]", 'a"', "a^", "ä", "b", "*", "%"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMESPACES),
    st.tuples(st.just("delete"), NAMESPACES),
    st.tuples(st.just("search"), NAMESPACES | st.just(())),
    st.tuples(st.just("list"), NAMESPACES | st.just(())),
    st.tuples(st.just("reopen"), st.just(())),
)


def under(there: set[Namespace], prefix: Namespace) -> list[Namespace]:
    return sorted(each for each in there if each[: len(prefix)] == prefix)


def found_by(store: ChromaStore, what: str, prefix: Namespace) -> list[Namespace]:
    if what == "search":
        return sorted(item.namespace for item in store.search(prefix, limit=100))
    return [each for each in store.list_namespaces(limit=100) if each[: len(prefix)] == prefix]


@settings(max_examples=15)
@given(st.lists(STEPS, min_size=4, max_size=25))
def test_a_prefix_has_what_is_there_whenever_it_is_asked_for(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, there = open_store(Path(folder)), set[Namespace]()
        for what, namespace in steps:
            if what == "put":
                store.put(namespace, "k", {"text": "x"})
                there.add(namespace)
            elif what == "delete":
                store.delete(namespace, "k")
                there.discard(namespace)
            elif what == "reopen":
                store.close()
                store = open_store(Path(folder))
            elif what == "list" and namespace and "*" not in namespace:
                assert store.list_namespaces(prefix=namespace) == under(there, namespace)
            else:
                assert found_by(store, what, namespace) == under(there, namespace)
        store.close()
