"""The contract, on the stores that need no service: each rule is one test; its page; its shim."""

from __future__ import annotations

import subprocess
import sys

import langgraph_store_conformance
from langgraph_memory.testing import conformance
from langgraph_store_conformance import all_rules, conformance_tests
from tests.conformance.report import PAGE, filled, rules_table
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


def test_the_page_has_the_rules_as_they_are() -> None:
    """`python -m tests.conformance.report --write` writes them anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, {"rules": rules_table(all_rules())}) == page


def test_the_old_import_path_gives_the_same_names() -> None:
    assert conformance.__all__ == langgraph_store_conformance.__all__
    for name in conformance.__all__:
        assert getattr(conformance, name) is getattr(langgraph_store_conformance, name)


def test_the_old_import_path_says_what_to_install() -> None:
    code = """
import sys

sys.modules["langgraph_store_conformance"] = None
try:
    import langgraph_memory.testing.conformance
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("pip install langgraph-store-conformance")
