"""Reaching a Chroma server: its client, patience while it is away, and what its refusals mean.

Every call of ours can be repeated: the ids of rows follow from what they hold. What is secret in
the headers never leaves them: no error says it, whatever a server answers.
"""

from __future__ import annotations

import logging
import math
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from langgraph_memory.chroma.calls import chroma_errors, settings
from langgraph_memory.errors import ConfigurationError, StoreAwayError, StoreError

logger = logging.getLogger(__name__)
T = TypeVar("T")
E = TypeVar("E", bound=BaseException)

TIMEOUT_SECONDS = 60.0
"""How long a request waits for its answer; Chroma's client would wait for ever."""

PATIENCE_SECONDS = 10.0
"""How long a call is repeated while the server cannot be reached."""

_CONNECT_SECONDS = 5.0
_FIRST_DELAY_SECONDS, _LONGEST_DELAY_SECONDS = 0.05, 1.0
_AWAY = (502, 503, 504)  # what a proxy answers for a server that is not there
_REFUSED = (401, 403)
_SHORTEST_SECRET = 6
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class Server:
    """A Chroma server: how it is reached, and how long it is waited for."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    tenant: str = "default_tenant"
    database: str = "default_database"
    timeout: float = TIMEOUT_SECONDS
    """Seconds that a request waits for its answer."""
    patience: float = PATIENCE_SECONDS
    """Seconds for which a call is repeated while the server is away."""

    @classmethod
    def at(
        cls,
        url: str,
        headers: object = None,
        tenant: object = None,
        database: object = None,
        timeout: object = None,
        patience: object = None,
    ) -> Server:
        """Return the server at a URL.

        Raises:
            ConfigurationError: If it is not the URL of a server, or an argument is unusable.
        """
        _check_url(url)
        return cls(
            url.rstrip("/"),
            _checked_headers(headers),
            _name("tenant", tenant),
            _name("database", database),
            timeout=seconds("timeout", timeout, TIMEOUT_SECONDS),
            patience=seconds("patience", patience, PATIENCE_SECONDS, 0),
        )

    @classmethod
    def of(cls, client: Any, timeout: object = None, patience: object = None) -> Server:
        """Return the server of a caller's client, whose requests end in time from now on.

        Raises:
            ConfigurationError: If an argument is unusable.
        """
        headers = (client.get_settings().chroma_server_headers or {}).items()
        server = cls(
            url_of(client),
            tuple((name, value) for name, value in headers if name not in _CHROMAS_OWN),
            client.tenant,
            client.database,
            seconds("timeout", timeout, TIMEOUT_SECONDS),
            seconds("patience", patience, PATIENCE_SECONDS, 0),
        )
        _limit_sessions(client, server.timeout, only_endless=timeout is None)
        return server

    def connect(self) -> Any:
        """Return a client.

        Raises:
            StoreAwayError: If there is no server for as long as patience lasts.
            StoreError: If it refuses, or is no Chroma server.
        """
        return self.call(f"opening {self.url}, which should be a Chroma server", self._client)

    def call(self, doing: str, call: Callable[[], T]) -> T:
        """Call something of Chroma's, again and again for a while if the server is away.

        Raises:
            StoreAwayError: If it cannot be reached for as long as patience lasts.
            StoreError: If it refuses, or Chroma fails.
        """
        deadline = time.monotonic() + self.patience
        delay = _FIRST_DELAY_SECONDS
        while True:
            try:
                with chroma_errors(doing):
                    return call()
            except StoreError as error:
                failed = error
            # Not raised in the handler above, which would chain what may tell a secret.
            if not _is_away(failed):
                raise self._told(failed) from self._cause(failed)
            if time.monotonic() + delay > deadline:
                raise self._away(failed) from self._cause(failed)
            if delay == _FIRST_DELAY_SECONDS:
                logger.warning("cannot reach the Chroma server at %s; trying again", self.url)
            time.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY_SECONDS)

    # -- parts of the above --

    def _client(self) -> Any:
        client = _new_client(self)
        try:
            client.open()
        except BaseException:
            for session in client.sessions:  # which Chroma leaves open
                session.close()
            raise
        return client

    def _told(self, error: StoreError) -> StoreError:
        """Return an error that says what to do, where we know."""
        return StoreError(f"{self._advice(error)}{self._hidden(str(error))}")

    def _advice(self, error: StoreError) -> str:
        if untrusted := _first(error, ssl.SSLCertVerificationError):
            return (
                f"the certificate of {self.url} is not trusted ({untrusted.verify_message}): name "
                "the file with its authority's certificate in the environment variable "
                "SSL_CERT_FILE. "
            )
        if _status(error) in _REFUSED:
            return (
                f"the Chroma server at {self.url} refused the request ({_status(error)}): check "
                "the token, which goes into ChromaStore(url, headers={'Authorization': 'Bearer "
                "...'}), and what it is good for. "
            )
        if missing := self._missing(error):
            return (
                f"the Chroma server at {self.url} has {missing}: check the name, or create it once "
                "with chromadb.AdminClient, as docs/servers.md shows. "
            )
        return ""

    def _missing(self, error: StoreError) -> str:
        """Return what the server says that it does not have, if it is one of those two."""
        from chromadb.errors import NotFoundError

        said = str(_first(error, NotFoundError) or "").lower()
        if said.startswith("tenant"):
            return f"no tenant {self.tenant!r}"
        if said.startswith("database"):
            return f"no database {self.database!r} in the tenant {self.tenant!r}"
        return ""

    def _away(self, error: StoreError) -> StoreAwayError:
        return StoreAwayError(
            f"cannot reach the Chroma server at {self.url}, tried for {self.patience:g} s; start "
            "it with `chroma run --path ... --host ... --port ...`, or check the URL: "
            f"{self._hidden(str(error.__cause__))}"
        )

    def _cause(self, error: StoreError) -> BaseException | None:
        """Return what an error came from; nothing, if a traceback of that would tell a secret."""
        tells = any(self._hidden(str(each)) != str(each) for each in _chain(error))
        return None if tells else error.__cause__

    def _hidden(self, text: str) -> str:
        for secret in self._secrets():
            text = text.replace(secret, "...")
        return text

    def _secrets(self) -> list[str]:
        """Return what the headers hold, each value whole and by its words, the longest first."""
        values = [value for _, value in self.headers]
        words = {*values, *(word for value in values for word in value.split())}
        return sorted((w for w in words if len(w) >= _SHORTEST_SECRET), key=len, reverse=True)


_CHROMAS_OWN = ("Content-Type", "User-Agent")  # it adds them to the headers that it is given


# -- arguments --


def is_url(path: object) -> bool:
    """Whether a path names a server."""
    return isinstance(path, str) and path.lower().startswith(("http://", "https://"))


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.hostname and parts.port != 0 and not (parts.username or parts.password)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            "a Chroma server is named http://host:port or https://host:port; a token goes into "
            "headers=, and what chromadb.HttpClient takes beside it into client="
        )


def _checked_headers(given: object) -> tuple[tuple[str, str], ...]:
    """Return headers in order; what refuses one does not say its value, which is a secret."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise ConfigurationError("headers= is a dict of texts, {'Authorization': 'Bearer ...'}")
    for name, value in given.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise ConfigurationError("headers= has a name that no header can have")
        if not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            raise ConfigurationError(
                f"headers[{name!r}] is not a text that a header can hold: printable ASCII, "
                "without white space at either end. A token that was read from a file often ends "
                "in a line break: .strip() it"
            )
    return tuple(sorted(given.items()))


def _name(what: str, given: object) -> str:
    if given is None:
        return f"default_{what}"
    if not isinstance(given, str) or not given:
        raise ConfigurationError(f"{what}= is the name of a {what} on the server, got {given!r}")
    return given


def seconds(name: str, given: object, default: float, least: float | None = None) -> float:
    """Return a time in seconds, of which there is some unless `least` is 0.

    Raises:
        ConfigurationError: If it is none.
    """
    given = default if given is None else given
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not number or not (0 < given < math.inf or given == least):  # type: ignore[operator]
        raise ConfigurationError(f"{name}= is a time in seconds, got {given!r}")
    return float(given)  # type: ignore[arg-type]  # it is a number


# -- clients --


def disconnect(client: Any) -> None:
    """Close a client of ours, and its connections, which Chroma leaves open."""
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


def _new_client(server: Server) -> Any:
    """Return a client that has not opened anything yet.

    Chroma's asks its server while it is made, and would wait for ever: the limits are set between
    its own steps, of which these are the two that it calls.
    """
    from chromadb.api.client import Client

    class Limited(Client):
        def __init__(self) -> None:
            self.sessions: list[Any] = []

        def open(self) -> None:
            super().__init__(server.tenant, server.database, _settings_of(server))

        def get_user_identity(self) -> Any:
            self._limit(self._server)
            return super().get_user_identity()

        def _validate_tenant_database(self, tenant: str, database: str) -> None:
            self._limit(self._admin_client._server)  # type: ignore[attr-defined]  # it has one
            super()._validate_tenant_database(tenant, database)

        def _limit(self, api: Any) -> None:
            api._session.timeout = _limit_of(server.timeout)
            self.sessions.append(api._session)

    return Limited()


def _settings_of(server: Server) -> Any:
    configured = settings()
    configured.chroma_api_impl = "chromadb.api.fastapi.FastAPI"
    configured.chroma_server_host = server.url
    configured.chroma_server_ssl_enabled = server.url.lower().startswith("https")
    configured.chroma_server_http_port = 8000  # required, and not used beside a URL
    configured.chroma_server_headers = dict(server.headers)
    return configured


def _limit_sessions(client: Any, timeout: float, only_endless: bool) -> None:
    """Let a client's requests end after a time; a caller's own limit may be kept."""
    import httpx

    for session in _sessions(client):
        if not only_endless or session.timeout == httpx.Timeout(None):
            session.timeout = _limit_of(timeout)


def _limit_of(timeout: float) -> Any:
    import httpx

    return httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS))


def _sessions(client: Any) -> list[Any]:
    # There is no public way to them, and none to set a timeout.
    return [part._server._session for part in (client, client._admin_client)]


# -- what went wrong --


def _is_away(error: BaseException) -> bool:
    """Whether an error comes from a connection, however Chroma's client has wrapped it."""
    import httpx

    if _first(error, ssl.SSLCertVerificationError):
        return False  # it would be there the next time as well
    return _first(error, httpx.TransportError) is not None or _status(error) in _AWAY


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an error comes from, if it does."""
    import httpx
    from chromadb.errors import ChromaError

    if answered := _first(error, httpx.HTTPStatusError):
        return int(answered.response.status_code)
    refused = _first(error, ChromaError)  # type: ignore[type-abstract]  # its kinds are not
    return None if refused is None else int(refused.code())


def _first(error: BaseException, kind: type[E]) -> E | None:
    """Return what an error comes from that is of a kind."""
    return next((each for each in _chain(error) if isinstance(each, kind)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
