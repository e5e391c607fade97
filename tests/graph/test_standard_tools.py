"""LangChain's standard tests of tools, on each of the memory tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from langgraph_memory import ChromaStore, Memory, memory_tools
from langgraph_memory.testing import HashingEmbeddings


class Standard:
    """One of the tools, on a memory that holds a note."""

    name: str
    example: ClassVar[dict[str, Any]]

    @pytest.fixture(autouse=True)
    def _memory(self) -> Iterator[None]:
        with Memory(ChromaStore.in_memory(embed=HashingEmbeddings())) as memory:
            memory.remember("Drinks decaf after noon", user="ana")
            self._tools = {each.name: each for each in memory_tools(memory, user="ana")}
            yield

    @property
    def tool_constructor(self) -> BaseTool:
        return self._tools[self.name]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return self.example


class Remember(Standard):
    name = "remember"
    example: ClassVar[dict[str, Any]] = {
        "text": "Lives in Rosario",
        "kind": "fact",
        "slot": "home city",
    }


class Recall(Standard):
    name = "recall"
    example: ClassVar[dict[str, Any]] = {"query": "decaf"}


class Forget(Standard):
    name = "forget"
    example: ClassVar[dict[str, Any]] = {"id": "4f0c2a9e"}


class Listing(Standard):
    name = "list_memories"
    example: ClassVar[dict[str, Any]] = {"contains": "decaf", "page": 1}


class TestRememberUnit(Remember, ToolsUnitTests): ...


class TestRecallUnit(Recall, ToolsUnitTests): ...


class TestForgetUnit(Forget, ToolsUnitTests): ...


class TestListUnit(Listing, ToolsUnitTests): ...


class TestRemember(Remember, ToolsIntegrationTests): ...


class TestRecall(Recall, ToolsIntegrationTests): ...


class TestForget(Forget, ToolsIntegrationTests): ...


class TestList(Listing, ToolsIntegrationTests): ...
