"""Sessions in a file, called in both ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_memory.sessions import Sessions, open_sessions
from tests.sessions.graphs import Do, collect


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Do:
    """Call a method, or its async twin: `await do(graph, "invoke", ...)`."""
    prefix = "a" if request.param == "async" else ""

    async def call(target: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return await collect(getattr(target, prefix + method)(*args, **kwargs))

    return call


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with open_sessions(tmp_path) as opened:
        yield opened
