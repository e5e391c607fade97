"""The stores that the conformance tests are run on, each with what has to be known about it.

For its search by meaning, SqliteStore may need what only `make conformance` installs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

from langgraph.store.base import BaseStore, IndexConfig, TTLConfig
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from langgraph_memory import ChromaStore
from langgraph_memory.records.clock import Clock
from langgraph_memory.testing import HashingEmbeddings
from langgraph_store_conformance import ModelStore, Skipped, store_test
from tests.postgres import database
from tests.servers import BINARY, shared_server


@store_test("ModelStore")
def model_store(
    index: IndexConfig | None, ttl: TTLConfig | None, clock: Clock
) -> Iterator[BaseStore]:
    yield ModelStore(index=index, ttl=ttl, clock=clock)


_ITEM = "items are given out as they are kept, and `put` copies the outermost dict only"
_FLOAT = "operands and values are made floats, which dates, text, None, lists and dicts are not"
_STALE = "a put overwrites the vectors of the fields that it has, and removes none"
_DEFAULTDICT = "namespaces come into being when they are looked at, and stay when they are empty"
_FILLED = "a page is filled up with items that have no vector"
_EQUAL_TEXTS = "equal texts of a batch are embedded once, then counted as if each had a vector"


@store_test(
    "InMemoryStore",
    known_deviations={
        "raw_operations_are_checked": "batch does not check namespaces",
        "a_label_with_a_period_is_not_two_labels": "batch does not check namespaces",
        "a_refused_batch_writes_nothing": "batch does not check namespaces",
        "changing_what_was_put_changes_nothing[nested]": _ITEM,
        "changing_what_was_got_changes_nothing": _ITEM,
        "changing_what_was_found_changes_nothing": _ITEM,
        "created_at_survives_an_update": "each put makes a new item with the present time",
        "order_compares_like_with_like[big-int]": _FLOAT,
        "order_compares_like_with_like[date]": _FLOAT,
        "order_compares_like_with_like[time]": _FLOAT,
        "order_compares_like_with_like[text]": _FLOAT,
        "order_compares_like_with_like[text-that-looks-like-a-number]": _FLOAT,
        "what_has_no_order_is_not_found": _FLOAT,
        "touching_a_namespace_does_not_make_it[get]": _DEFAULTDICT,
        "touching_a_namespace_does_not_make_it[delete]": _DEFAULTDICT,
        "a_namespace_goes_with_its_last_item": _DEFAULTDICT,
        "what_is_not_indexed_is_not_found_by_meaning": _FILLED,
        "an_item_without_the_field_is_not_found_by_meaning": _FILLED,
        "index_false_over_an_indexed_item_leaves_no_vector": _STALE,
        "a_removed_field_leaves_no_vector": _STALE,
        "a_batch_may_put_the_same_text_twice": _EQUAL_TEXTS,
        "a_removed_field_leaves_no_vector_beside_others": _STALE,
        "a_shrunk_list_leaves_no_vector": _STALE,
        "other_fields_of_a_put_replace_the_first": _STALE,
        "index_false_takes_all_vectors_away": _STALE,
        "random_filters": _FLOAT,
        "random_namespaces": _DEFAULTDICT,
        "random_searches_by_meaning": _FILLED,
    },
)
def in_memory_store(index: IndexConfig | None) -> Iterator[BaseStore]:
    yield InMemoryStore(index=index)


@store_test("ChromaStore")
def chroma_store(
    index: IndexConfig | None, ttl: TTLConfig | None, clock: Clock
) -> Iterator[BaseStore]:
    config = index if index is not None else IndexConfig(embed=HashingEmbeddings())
    with ChromaStore.in_memory(index=config, ttl=ttl, clock=clock) as store:
        yield store


@store_test("ChromaStore on a server")
def chroma_server_store(
    index: IndexConfig | None, ttl: TTLConfig | None, clock: Clock
) -> Iterator[BaseStore]:
    if not BINARY.exists():
        raise Skipped("the program `chroma`, which comes with chromadb, is not beside Python")
    server = shared_server()
    server.clear()
    config = index if index is not None else IndexConfig(embed=HashingEmbeddings())
    with ChromaStore(server.url, index=config, ttl=ttl, clock=clock) as store:
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


@store_test("AsyncSqliteStore", form="async", resolution=1.0)
async def async_sqlite_store(
    index: IndexConfig | None, ttl: TTLConfig | None
) -> AsyncIterator[BaseStore]:
    if index is not None and not hasattr(sqlite3.Connection, "enable_load_extension"):
        raise Skipped("this Python's sqlite3, which aiosqlite uses, cannot load extensions")
    config: Any = index and {**index, "text_fields": index.get("fields")}
    async with AsyncSqliteStore.from_conn_string(":memory:", index=config, ttl=ttl) as store:
        await store.setup()
        yield store


@store_test("PostgresStore", resolution=0.2)
def postgres_store(index: IndexConfig | None, ttl: TTLConfig | None) -> Iterator[BaseStore]:
    try:
        from langgraph.store.postgres import PostgresStore
    except ImportError:
        raise Skipped("pip install langgraph-checkpoint-postgres 'psycopg[binary]'") from None
    uri = _postgres(index)
    config: Any = index
    with PostgresStore.from_conn_string(uri, index=config, ttl=ttl) as store:
        store.setup()
        connection: Any = store.conn
        connection.execute("TRUNCATE TABLE store CASCADE")
        yield store


@store_test("AsyncPostgresStore", form="async", resolution=0.2)
async def async_postgres_store(
    index: IndexConfig | None, ttl: TTLConfig | None
) -> AsyncIterator[BaseStore]:
    try:
        from langgraph.store.postgres import AsyncPostgresStore
    except ImportError:
        raise Skipped("pip install langgraph-checkpoint-postgres 'psycopg[binary]'") from None
    uri = _postgres(index)
    config: Any = index
    async with AsyncPostgresStore.from_conn_string(uri, index=config, ttl=ttl) as store:
        await store.setup()
        connection: Any = store.conn
        await connection.execute("TRUNCATE TABLE store CASCADE")
        yield store


def _postgres(index: IndexConfig | None) -> str:
    try:
        return database("vectors" if index is not None else "plain")
    except ImportError as error:
        raise Skipped(str(error)) from None
