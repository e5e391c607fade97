"""What is particular to Postgres; all else about sessions is tried on both databases."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_memory.errors import ConfigurationError, StoreError, ThreadOwnerError
from langgraph_memory.sessions.sessions import Sessions, open_sessions
from tests.postgres import database as url_of
from tests.sessions.graphs import Do, Graph, answer, chat, last_answer, reply, say, with_approval

psycopg = pytest.importorskip("psycopg", reason="pip install langgraph-checkpoint-postgres")
PostgresSaver = pytest.importorskip("langgraph.checkpoint.postgres").PostgresSaver

TABLES = ("checkpoints", "checkpoint_writes", "checkpoint_blobs", "threads")


@pytest.fixture
def sessions(postgres: str) -> Iterator[Sessions]:
    with open_sessions(postgres) as opened:
        yield opened


@pytest.fixture
def database(postgres: str) -> Iterator[Any]:
    """The database by itself, as another program sees it."""
    with psycopg.connect(postgres, autocommit=True) as conn:
        yield conn


@pytest.fixture
def without_tables(database: Any, postgres: str) -> str:
    database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return postgres


def rows(database: Any) -> dict[str, int]:
    return {
        table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES
    }


async def test_a_deleted_thread_leaves_no_row(sessions: Sessions, database: Any, do: Do) -> None:
    graph = with_approval(sessions, nested=True)
    graph.invoke(say("pay"), sessions.config(user="ana", thread_id="t"))
    assert 0 not in rows(database).values()
    await do(sessions, "delete", "ana", "t")
    assert set(rows(database).values()) == {0}


async def test_pruning_deletes_the_values_that_no_checkpoint_has_any_more(
    sessions: Sessions, database: Any, do: Do
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    graph.invoke(say("one"), config)
    await do(sessions, "prune", "ana")
    once = rows(database)
    for word in ("two", "three"):
        graph.invoke(say(word), config)
    await do(sessions, "prune", "ana")
    assert rows(database) == once
    assert last_answer(graph, sessions, "ana", "t") == "You said: one, two, three"


async def test_a_fork_has_values_of_its_own(sessions: Sessions, database: Any, do: Do) -> None:
    graph = chat(sessions)
    for word in ("one", "two"):
        graph.invoke(say(word), sessions.config(user="ana", thread_id="t"))
    await do(sessions, "fork", "ana", "t", to="fork")
    await do(sessions, "delete", "ana", "t")
    assert last_answer(graph, sessions, "ana", "fork") == "You said: one, two"
    assert rows(database)["checkpoints"] == 1


async def test_a_thread_of_a_plain_saver_is_nobodys_until_it_is_adopted(
    postgres: str, do: Do
) -> None:
    with PostgresSaver.from_conn_string(postgres) as saver:
        saver.setup()
        builder = StateGraph(MessagesState).add_node("reply", reply).add_edge(START, "reply")
        plain: Graph = builder.compile(checkpointer=saver)
        plain.invoke(say("hello"), {"configurable": {"thread_id": "old"}})
    with open_sessions(postgres) as sessions:
        graph, config = chat(sessions), sessions.config(user="ana", thread_id="old")
        for method, arguments in (("get_state", (config,)), ("invoke", (say("hi"), config))):
            with pytest.raises(ThreadOwnerError, match=r"sessions\.adopt"):
                await do(graph, method, *arguments)
        assert await do(sessions, "adopt", "ana", "old")
        assert answer(await do(graph, "invoke", say("again"), config)) == "You said: hello, again"


def test_the_tables_are_made_once_by_all_who_open_at_the_same_time(without_tables: str) -> None:
    start = threading.Barrier(6)

    def open_and_talk(number: int) -> str:
        with open_sessions(without_tables) as sessions:
            start.wait()
            config = sessions.config(user="ana", thread_id=number)
            return answer(chat(sessions).invoke(say("hi"), config))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(open_and_talk, range(6))) == ["You said: hi"] * 6


async def test_a_thread_that_somebody_holds_says_so(
    sessions: Sessions, postgres: str, database: Any, do: Do
) -> None:
    chat(sessions).invoke(say("one"), sessions.config(user="ana", thread_id="t"))
    with open_sessions(postgres, busy_timeout=0.1) as hasty:
        graph, config = chat(hasty), hasty.config(user="ana", thread_id="t")
        with database.transaction():
            database.execute("SELECT * FROM threads FOR UPDATE")
            assert (await do(graph, "get_state", config)).values["messages"]
            with pytest.raises(StoreError, match="another process keeps the thread locked"):
                await do(graph, "invoke", say("two"), config)
        assert answer(await do(graph, "invoke", say("three"), config)).endswith("three")


@pytest.mark.slow
async def test_a_server_that_cut_the_connections_is_connected_to_again(
    sessions: Sessions, database: Any, do: Do
) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    graph.invoke(say("one"), config)
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert answer(await do(graph, "invoke", say("two"), config)) == "You said: one, two"


@pytest.mark.slow
def test_a_server_that_was_long_away_is_connected_to_soon_after(database: Any) -> None:
    """Ten seconds without it; it would be six more, and twice that the next time."""
    away = url_of("away")
    with open_sessions(away, busy_timeout=1) as sessions:
        assert sessions.list("ana") == []
        database.execute("ALTER DATABASE away ALLOW_CONNECTIONS false")
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'away'"
        )
        for _ in range(10):
            with pytest.raises(StoreError):
                sessions.list("ana")
        database.execute("ALTER DATABASE away ALLOW_CONNECTIONS true")
        for _ in range(3):
            with suppress(StoreError):
                sessions.list("ana")
                break
        else:
            pytest.fail("there is no connection yet")


async def test_a_table_of_another_program_is_left_alone(without_tables: str, database: Any) -> None:
    database.execute("CREATE TABLE threads (id INT)")
    with pytest.raises(StoreError, match="give them a database or a schema of their own"):
        open_sessions(without_tables).list("ana")
    database.execute("DROP TABLE threads; CREATE SCHEMA agents")
    with open_sessions(f"{without_tables}&options=-csearch_path%3Dagents") as sessions:
        chat(sessions).invoke(say("hi"), sessions.config(user="ana", thread_id="t"))
    assert database.execute("SELECT thread_id FROM agents.threads").fetchall() == [("t",)]


def test_an_id_that_postgres_cannot_store_says_so(sessions: Sessions) -> None:
    with pytest.raises(StoreError, match="cannot contain NUL"):
        sessions.list("a\x00b")


def test_nothing_is_asked_of_a_server_before_the_first_use() -> None:
    open_sessions("postgresql://me:hunter2@127.0.0.1:1/db").close()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_server_that_is_not_there_says_so_without_the_password(scheme: str) -> None:
    sessions = open_sessions(f"{scheme}://me:hunter2@127.0.0.1:1/db?password=hunter2")
    with pytest.raises(StoreError, match=r"postgresql://127\.0\.0\.1:1/db: ") as caught:
        sessions.list("ana")
    assert isinstance(caught.value.__cause__, psycopg.OperationalError)
    assert "hunter2" not in f"{caught.value}{caught.value.__cause__}"
    sessions.close()


def test_a_url_that_cannot_be_read_says_so_without_the_password() -> None:
    with pytest.raises(ConfigurationError, match="written as % and its code") as caught:
        open_sessions("postgresql://me:hunter%2@h/db").list("ana")
    assert "hunter" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://me:hunter2@h:5433/db?sslmode=require", "postgresql://h:5433/db"),
        ("postgres:///db?host=/run/postgres", "postgresql:///db"),
        ("postgresql://h/db?user=me@corp&password=hunter2", "postgresql://..."),
        ("postgresql://me:hun/ter?2@h/db", "postgresql://..."),
        ("postgresql://me:hun/t@er2@h/db", "postgresql://h/db"),
    ],
)
def test_a_database_is_named_without_its_password(url: str, place: str) -> None:
    sessions = open_sessions(url)
    sessions.close()
    with pytest.raises(ConfigurationError, match=f"sessions in {re.escape(place)} are closed"):
        sessions.list("ana")


def test_a_message_with_a_nul_is_kept(sessions: Sessions) -> None:
    graph, config = chat(sessions), sessions.config(user="ana", thread_id="t")
    graph.invoke({"messages": [HumanMessage("a\x00b")]}, config)
    assert last_answer(graph, sessions, "ana", "t") == "You said: a\x00b"


class Noted(TypedDict):
    note: str


async def test_a_state_that_postgres_cannot_store_says_so_without_quoting_it(
    sessions: Sessions, do: Do
) -> None:
    builder = StateGraph(Noted).add_node("note", lambda _: {"note": "my-secret\x00"})
    graph: Graph = builder.add_edge(START, "note").compile(checkpointer=sessions.checkpointer)
    with pytest.raises(StoreError, match="unsupported Unicode") as caught:
        await do(graph, "invoke", {"note": ""}, sessions.config(user="ana", thread_id="t"))
    assert "my-secret" not in str(caught.value)
