"""The tests for LangGraph stores, under the name they had before they were a distribution."""

from __future__ import annotations

try:
    from langgraph_store_conformance import *  # noqa: F403
    from langgraph_store_conformance import __all__ as __all__
except ModuleNotFoundError as error:
    raise ImportError(
        "the tests for LangGraph stores are a distribution of their own: "
        "pip install langgraph-store-conformance"
    ) from error
