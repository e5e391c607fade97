"""Does a LangGraph store keep the contract of `BaseStore`? Tests for any store, by any author.

```python
from langgraph.store.memory import InMemoryStore

from langgraph_store_conformance import store_test, validate_sync


@store_test("InMemoryStore")
def in_memory_store(index):
    yield InMemoryStore(index=index)


report = validate_sync(in_memory_store, capabilities=["base"])
print(report)
```

In pytest, each test is an item: `test_my_store = conformance_tests(in_memory_store)`.
"""

from __future__ import annotations

from langgraph_store_conformance.capabilities import Capability, Skipped
from langgraph_store_conformance.model import ModelStore
from langgraph_store_conformance.plugin import conformance_tests
from langgraph_store_conformance.registry import RegisteredStore, store_test
from langgraph_store_conformance.report import Report, TestResult
from langgraph_store_conformance.rules import Rule, all_rules
from langgraph_store_conformance.running import validate, validate_sync

__all__ = [
    "Capability",
    "ModelStore",
    "RegisteredStore",
    "Report",
    "Rule",
    "Skipped",
    "TestResult",
    "all_rules",
    "conformance_tests",
    "store_test",
    "validate",
    "validate_sync",
]
