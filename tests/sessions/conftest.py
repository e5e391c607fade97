"""Sessions in a file and in Postgres, called in both ways."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_memory.sessions.sessions import Sessions, open_sessions
from tests.postgres import database
from tests.sessions.graphs import Do, collect

# The saver's tables stay: to make them takes longer than most tests.
EMPTY = """DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'checkpoint_migrations'
    LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
END $$"""


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Do:
    """Call a method, or its async twin: `await do(graph, "invoke", ...)`."""
    prefix = "a" if request.param == "async" else ""

    async def call(target: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return await collect(getattr(target, prefix + method)(*args, **kwargs))

    return call


@pytest.fixture
def postgres() -> str:
    """The URL of a database in which nothing is stored."""
    psycopg = pytest.importorskip("psycopg", reason="pip install langgraph-checkpoint-postgres")
    pytest.importorskip("langgraph.checkpoint.postgres")
    try:
        url = database("sessions")
    except ImportError as error:
        pytest.skip(str(error))
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(EMPTY)
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> str | os.PathLike[str]:
    """What `open_sessions` opens: a folder, or a database in which nothing is stored."""
    fixture = "tmp_path" if request.param == "sqlite" else "postgres"
    found: Path | str = request.getfixturevalue(fixture)
    return found


@pytest.fixture
def sessions(place: str | os.PathLike[str]) -> Iterator[Sessions]:
    with open_sessions(place) as opened:
        yield opened
