"""Does a LangGraph store keep the contract of `BaseStore`? Tests for any store, by any author.

```python
from langgraph.store.memory import InMemoryStore

from langgraph_memory.testing.conformance import store_test, validate_sync


@store_test("InMemoryStore")
def in_memory_store(index):
    yield InMemoryStore(index=index)


report = validate_sync(in_memory_store, capabilities=["base"])
print(report)
```

In pytest, each test is an item: `test_my_store = conformance_tests(in_memory_store)`.
Names are loaded on first use: only `conformance_tests` needs pytest, only the random tests need
Hypothesis.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_memory.testing.conformance.capabilities import Capability, Skipped
    from langgraph_memory.testing.conformance.model import ModelStore
    from langgraph_memory.testing.conformance.plugin import conformance_tests
    from langgraph_memory.testing.conformance.registry import RegisteredStore, store_test
    from langgraph_memory.testing.conformance.report import Report, TestResult
    from langgraph_memory.testing.conformance.rules import Rule, all_rules
    from langgraph_memory.testing.conformance.running import validate, validate_sync

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

_MODULES = {
    "Capability": "capabilities",
    "ModelStore": "model",
    "RegisteredStore": "registry",
    "Report": "report",
    "Rule": "rules",
    "Skipped": "capabilities",
    "TestResult": "report",
    "all_rules": "rules",
    "conformance_tests": "plugin",
    "store_test": "registry",
    "validate": "running",
    "validate_sync": "running",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | _MODULES.keys())
