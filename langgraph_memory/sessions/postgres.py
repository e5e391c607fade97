"""Sessions in Postgres: its transactions and errors, and the official saver, guarded."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

from langgraph_memory.errors import ConfigurationError, StoreError, missing_extra
from langgraph_memory.sessions.guard import Guard
from langgraph_memory.sessions.state_redaction import StateRedactor
from langgraph_memory.sessions.threads import Connection, Threads

try:
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool
except ImportError as error:
    raise missing_extra("a database of Postgres", "postgres", error) from error

CONNECTIONS = 10
"""How many of a process work at once, at most; further callers wait."""

_SETUP_LOCK = 7_315_208_116  # a number that other programs will not take

_BLOBS = "SELECT 1 FROM checkpoints AS c WHERE c.thread_id = ? AND c.checkpoint_ns ="
_BLOBS += " b.checkpoint_ns AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version"


def database_of(url: str) -> str:
    """Return what names a database in errors: its URL without user, password and options."""
    rest = url.partition("://")[2]
    place, _, options = rest.partition("?")
    if "@" in options:  # the question mark may be one of the password
        return "postgresql://..."
    return f"postgresql://{place.rpartition('@')[2]}"


@contextmanager
def postgres_errors(place: str) -> Iterator[None]:
    try:
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise StoreError(
            f"sessions in {place}: another process keeps the thread locked; raise busy_timeout="
        ) from error
    except psycopg.errors.UndefinedColumn as error:
        raise StoreError(
            f"sessions in {place}: a table there is another program's ({_line(error)}); give them "
            "a database or a schema of their own"
        ) from error
    except psycopg.Error as error:
        raise StoreError(f"sessions in {place}: the database failed ({_line(error)})") from error


def _line(error: psycopg.Error) -> str:
    """Return what is wrong, without the server's details, which quote values."""
    return " ".join((error.diag.message_primary or str(error)).split())


class PostgresThreads(Threads):
    """Threads in a Postgres database, on a pool of connections."""

    MARK = "%s"
    WRITES = "checkpoint_writes"
    WRITTEN = "task_id, task_path, idx, channel, type, blob"
    TABLES = ("checkpoints", "checkpoint_writes", "checkpoint_blobs")
    SHARED = " FOR KEY SHARE"  # a title may be written meanwhile
    ALONE = " FOR UPDATE"
    ELSEWHERE = "a Postgres database"

    def __init__(self, url: str, busy_timeout: float) -> None:
        super().__init__(database_of(url))
        self._mine = threading.local()  # the connection on which a thread has a transaction
        self._busy_timeout = busy_timeout
        try:
            wait = conninfo_to_dict(url).get("connect_timeout") or max(2, ceil(busy_timeout))
        except psycopg.ProgrammingError:  # which may quote the password
            raise ConfigurationError(
                f"the URL of {self.place} cannot be read: it has an option that Postgres does not "
                "know, or a special character in its password that is not written as % and its code"
            ) from None
        self._conninfo = make_conninfo(url, connect_timeout=wait)
        self.pool: ConnectionPool[psycopg.Connection[Any]] = ConnectionPool(
            self._conninfo,
            kwargs={"autocommit": True, "prepare_threshold": 0},
            min_size=1,
            max_size=CONNECTIONS,
            timeout=busy_timeout,
            # Longer, and the pause between attempts would outgrow what a caller waits.
            reconnect_timeout=busy_timeout,
            configure=self._configure,
            check=ConnectionPool.check_connection,  # the server may have been restarted
            open=False,
        )

    def _configure(self, conn: psycopg.Connection[Any]) -> None:
        milliseconds = str(ceil(self._busy_timeout * 1000))
        conn.execute("SELECT set_config('lock_timeout', %s, false)", (milliseconds,))

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[psycopg.Connection[Any]]:
        self._check_process()
        if (joined := getattr(self._mine, "conn", None)) is not None:
            yield joined
            return
        self._check_open()
        with postgres_errors(self.place), self.pool.connection() as conn:
            # What is read under a claim is read as it was when the claim was.
            level = psycopg.IsolationLevel
            conn.isolation_level = level.READ_COMMITTED if write else level.REPEATABLE_READ
            conn.read_only = not write
            with conn.transaction():
                self._mine.conn = conn
                try:
                    yield conn
                finally:
                    del self._mine.conn

    def create(self) -> None:
        """Make the tables, one process at a time: half of the saver's statements would collide."""
        ask = "SELECT pg_try_advisory_lock(%s)"
        with (
            postgres_errors(self.place),
            psycopg.connect(self._conninfo, autocommit=True, row_factory=dict_row) as conn,
        ):
            # To wait within a statement would hold up an index that is made concurrently.
            while not next(iter(conn.execute(ask, (_SETUP_LOCK,))))["pg_try_advisory_lock"]:
                time.sleep(0.05)
            PostgresSaver(conn).setup()
            self.pool.open()
            super().create()

    def scour(self) -> None:
        """Nothing: Postgres overwrites with its own vacuum."""

    def shrink(self) -> None:
        """Nothing: Postgres does so when it is idle."""

    def _copied(self, conn: Connection, thread: str, to: str) -> None:
        self._run(
            conn,
            "INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)"
            " SELECT CAST(? AS TEXT), checkpoint_ns, channel, version, type, blob"
            f" FROM checkpoint_blobs AS b WHERE thread_id = ? AND EXISTS ({_BLOBS})",
            *(to, thread, to),
        )

    def _pruned(self, conn: Connection, thread: str) -> None:
        query = f"DELETE FROM checkpoint_blobs AS b WHERE thread_id = ? AND NOT EXISTS ({_BLOBS})"
        self._run(conn, query, thread, thread)

    def close(self) -> None:
        self._closed = True
        self.pool.close()


class PostgresGuard(Guard, PostgresSaver):
    """The official Postgres saver behind the guard, within the guard's transactions."""

    threads: PostgresThreads

    def __init__(self, threads: PostgresThreads, redacts: StateRedactor | None) -> None:
        PostgresSaver.__init__(self, threads.pool)
        self.threads, self.redacts = threads, redacts

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[Any]:
        with (
            self.threads.transaction(write=pipeline) as conn,
            conn.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            yield cursor


def open_postgres(url: str, busy_timeout: float, redacts: StateRedactor | None) -> PostgresGuard:
    """Open the saver of a database, and make its tables."""
    threads = PostgresThreads(url, busy_timeout)
    try:
        threads.create()
    except BaseException:
        threads.close()
        raise
    return PostgresGuard(threads, redacts)
