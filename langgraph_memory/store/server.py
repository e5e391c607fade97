"""Reaching a Chroma server: its client, and patience while it is away.

Every call of ours can be repeated: the ids of rows follow from what they hold.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from langgraph_memory.errors import ConfigurationError, StoreError
from langgraph_memory.store.chroma_rows import chroma_errors
from langgraph_memory.store.client import settings

logger = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_SECONDS = 10.0
"""How long a call is repeated while the server cannot be reached."""

_FIRST_DELAY_SECONDS, _LONGEST_DELAY_SECONDS = 0.05, 1.0
_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 60.0  # Chroma's client would wait for ever
_AWAY = (502, 503, 504)  # what a proxy answers for a server that is not there


def is_url(path: object) -> bool:
    """Whether a path names a server."""
    return isinstance(path, str) and path.lower().startswith(("http://", "https://"))


def connect(url: str) -> Any:
    """Return a client of the Chroma server at a URL.

    Raises:
        ConfigurationError: If it is not the URL of a server.
        StoreError: If there is no Chroma server, now or at all.
    """
    import chromadb
    import httpx

    try:
        parts = urlsplit(url)
        usable = parts.hostname and parts.port != 0 and not (parts.username or parts.password)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            "a Chroma server is named http://host:port; for headers, a token, a tenant or a "
            "database pass client=chromadb.HttpClient(...)"
        )
    ssl = url.lower().startswith("https")
    with chroma_errors(f"opening {url}, which should be a Chroma server"):
        client = chromadb.HttpClient(url, ssl=ssl, settings=settings())
    for session in _sessions(client):
        session.timeout = httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
    return client


def disconnect(client: Any) -> None:
    """Close a client of `connect`, and its connections, which Chroma leaves open."""
    sessions = _sessions(client)
    client.close()
    for session in sessions:
        session.close()


def is_server(client: Any) -> bool:
    """Whether a Chroma client talks to a server, which others may use at the same time.

    Raises:
        ConfigurationError: If it is one for coroutines.
    """
    kind = str(client.get_settings().chroma_api_impl)
    if kind.endswith("AsyncFastAPI"):
        raise ConfigurationError(
            "client= takes a chromadb.HttpClient, not an AsyncHttpClient: ChromaStore has async "
            "methods all the same"
        )
    return kind.endswith("FastAPI")


def url_of(client: Any) -> str:
    """Return the URL of a client's server, for messages."""
    configured = client.get_settings()
    host = str(configured.chroma_server_host)
    if is_url(host):
        return host
    scheme = "https" if configured.chroma_server_ssl_enabled else "http"
    return f"{scheme}://{host}:{configured.chroma_server_http_port}"


def patiently(call: Callable[[], T], server: str) -> T:
    """Call something, again and again for a while if the server cannot be reached.

    Raises:
        StoreError: If it cannot be reached for `RETRY_SECONDS`.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    delay = _FIRST_DELAY_SECONDS
    while True:
        try:
            return call()
        except StoreError as error:
            if not _is_away(error):
                raise
            if time.monotonic() + delay > deadline:
                raise StoreError(
                    f"cannot reach the Chroma server at {server}, tried for {RETRY_SECONDS:g} s; "
                    "start it with `chroma run --path ... --host ... --port ...`, or check the "
                    f"URL: {error.__cause__}"
                ) from error
            if delay == _FIRST_DELAY_SECONDS:
                logger.warning("cannot reach the Chroma server at %s; trying again", server)
        time.sleep(delay)
        delay = min(2 * delay, _LONGEST_DELAY_SECONDS)


def _is_away(error: BaseException | None) -> bool:
    """Whether an error comes from a connection, however Chroma's client has wrapped it."""
    import httpx

    while error is not None:
        if isinstance(error, httpx.TransportError):
            return True
        if isinstance(error, httpx.HTTPStatusError) and error.response.status_code in _AWAY:
            return True
        error = error.__cause__ or error.__context__
    return False


def _sessions(client: Any) -> list[Any]:
    # There is no public way to them, and none to set a timeout.
    return [part._server._session for part in (client, client._admin_client)]
