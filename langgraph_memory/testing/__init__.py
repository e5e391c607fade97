"""Fakes to test agents with memory: no network, no key, the same result every time.

Each name is loaded on first use, so a fake costs only the imports that it needs itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_memory.testing.chat import ScriptedChatModel
    from langgraph_memory.testing.clock import ManualClock
    from langgraph_memory.testing.embeddings import HashingEmbeddings
    from langgraph_memory.testing.recalling import RecallingChatModel

__all__ = ["HashingEmbeddings", "ManualClock", "RecallingChatModel", "ScriptedChatModel"]

_MODULES = {
    "HashingEmbeddings": "langgraph_memory.testing.embeddings",
    "ManualClock": "langgraph_memory.testing.clock",
    "RecallingChatModel": "langgraph_memory.testing.recalling",
    "ScriptedChatModel": "langgraph_memory.testing.chat",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | _MODULES.keys())
