"""The contract, on the stores that need no service: each rule is one test."""

from __future__ import annotations

from langgraph_memory.testing.conformance import conformance_tests
from tests.conformance.stores import (
    chroma_server_store,
    chroma_store,
    in_memory_store,
    model_store,
)

test_model_store = conformance_tests(model_store)
test_in_memory_store = conformance_tests(in_memory_store)
test_chroma_store = conformance_tests(chroma_store)
# `make conformance` runs all of them; most would repeat what the store does without a server.
test_chroma_server_store = conformance_tests(chroma_server_store, capabilities=["base", "ttl"])
