"""An MCP server over streamable HTTP, for users with bearer tokens; needs the extra `mcp`."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest
from typing import Any

from pydantic import AnyHttpUrl

from langgraph_memory.errors import ConfigurationError, missing_extra
from langgraph_memory.mcp.tokens import Bearer, Bearers
from langgraph_memory.records import check_count, check_id
from langgraph_memory.text import one_line

try:
    from mcp.server import Server
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken, TokenVerifier
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp_types import INVALID_REQUEST
    from starlette.applications import Starlette
    from starlette.datastructures import Headers
    from starlette.middleware import Middleware
    from starlette.responses import JSONResponse, Response
    from starlette.types import Message, Receive

    from langgraph_memory.mcp.connections import STATE
except ImportError as error:
    raise missing_extra("the MCP server", "mcp", error) from error

logger = logging.getLogger(__name__)

SHORTEST_TOKEN = 16
"""Characters: a shorter one can be guessed."""

REQUESTS = 300
"""Of each token in any minute. A client makes some five for a turn with two calls."""
LARGEST = 4 * 1024 * 1024
"""Bytes of a request: four times a text of 1 MB, so that its escapes have room."""
LARGEST_HEAD = 16 * 1024
"""Bytes of its first line and headers; what listens holds to it only if they come in pieces."""
PASSED_OVER = 16 * LARGEST
"""Bytes of a request that is too large which are read before it is refused: many clients read no
answer before they have sent all, and see a broken connection else."""

_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")
_MINUTE = 60.0  # seconds
_LINES = 60  # of refused requests in the log, in any minute
_MANY = 1_000  # tokens, of which those are forgotten that nobody uses
_MANY_DIGITS = 4_000  # that Python reads as a number
_ENDED = "The token has ended. Ask who runs the server for a new one."


class Tokens:
    """Bearer tokens, each of one user; only their digests are kept.

    Args:
        users: The user's id by token, or a `Bearer` with the moment until when it is good.
        changed: Asked before each look for a token: the tokens that take the place of all there
            are, or `None` where nothing has changed. What cannot be used is logged, and changes
            nothing.

    Raises:
        ConfigurationError: If there are none, a token is short or has spaces, or an id is empty.
    """

    def __init__(
        self, users: Bearers, *, changed: Callable[[], Bearers | None] | None = None
    ) -> None:
        if not users:
            raise ConfigurationError("there is no token, so nobody could use the server")
        self._bearers = _by_digest(users)
        self._changed = changed or (lambda: None)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is, or `None`: what the SDK asks of a verifier.

        One that is no longer good is returned, with its `expires_at`, which the SDK compares.
        """
        self._renew()
        given = _digest(token)
        # All are compared, whole: the time says nothing about which one is nearly right.
        found = [bearer for digest, bearer in self._bearers if compare_digest(digest, given)]
        if not found:
            return None
        user, until = found[0]
        ends = None if until is None else int(until.timestamp())
        return AccessToken(token=token, client_id=user, scopes=[], expires_at=ends)

    def _renew(self) -> None:
        try:
            users = self._changed()
            if users is not None:
                self._bearers = _by_digest(users)
                logger.warning("the tokens were read again; there are %d now", len(users))
        except ConfigurationError as error:
            logger.warning("the tokens stay as they were: %s", one_line(str(error)))


def _by_digest(users: Bearers) -> list[tuple[bytes, Bearer]]:
    found = []
    for token, entry in users.items():
        bearer = Bearer(entry) if isinstance(entry, str) else entry
        check_id("user", bearer.user)
        if len(token) < SHORTEST_TOKEN or not token.isascii() or not _is_word(token):
            raise ConfigurationError(
                f"the token of {bearer.user!r} has to be {SHORTEST_TOKEN} or more ASCII characters "
                "without spaces, such as secrets.token_urlsafe() gives"
            )
        found.append((_digest(token), bearer))
    return found


def http_app(
    server: Server[Any],
    tokens: TokenVerifier,
    *,
    host: str = "127.0.0.1",
    allow_hosts: Sequence[str] = (),
    requests: int = REQUESTS,
) -> Starlette:
    """Return an application that serves streamable HTTP at `/mcp`, to those with a token.

    Its connections are limited by what listens: see `Connections`.

    Args:
        server: Made by `memory_server` without a user.
        tokens: `Tokens`, or what knows those of an identity provider: `client_id` of the access
            token that its `verify_token` returns is the user.
        host: Where it will listen. On this machine alone, requests have to name it as their host.
        allow_hosts: Further names that requests may call their host, as a proxy passes them on;
            wherever it listens, they then have to name one of these, or this machine.
        requests: How many each token may make in any minute; more are answered with 429.
    """
    # No metadata of an authorization server is published: there is none, tokens are handed out.
    auth = AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None)
    # Each request stands by itself, so that a restart is nothing to a client.
    app = server.streamable_http_app(
        stateless_http=True,
        host=host,
        auth=auth,
        token_verifier=tokens,
        max_request_body_size=LARGEST,
        transport_security=_only([*_THIS_MACHINE, *allow_hosts]) if allow_hosts else None,
    )
    # The last one: it has to know what those of the SDK have found out about the token.
    app.user_middleware.append(Middleware(_Door, tokens, check_count("requests", requests, 1)))
    return app


def _only(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return what refuses requests to other hosts, with any port, and pages that come from them."""
    names = [name.lower() + port for name in hosts for port in ("", ":*")]
    return TransportSecuritySettings(
        allowed_hosts=names,
        allowed_origins=[f"{scheme}://{name}" for scheme in ("https", "http") for name in names],
    )


class PerMinute:
    """How often something may be done in any minute; pure, but for what it remembers.

    Args:
        most: How often.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: dict[bytes, deque[float]] = {}

    def wait(self, who: bytes, now: float) -> float:
        """Return after how many seconds somebody may do it again; 0 counts it as done now."""
        times = self._times.get(who)
        if times is None:
            self._forget(now)
            times = self._times[who] = deque()
        while times and times[0] <= now - _MINUTE:
            times.popleft()
        if len(times) >= self._most:
            return times[0] + _MINUTE - now
        times.append(now)
        return 0.0

    def _forget(self, now: float) -> None:
        """Forget those who have done nothing for a minute, when there are many."""
        if len(self._times) >= _MANY:
            busy = {who: times for who, times in self._times.items() if times[-1] > now - _MINUTE}
            self._times = busy


class _Door:
    """Lets requests with a good token in, so many a minute of each; says to the others why not.

    It stands behind what has looked at the token. Neither the log nor an answer says one.
    """

    def __init__(self, app: Any, tokens: TokenVerifier, requests: int) -> None:
        self._app = app
        self._tokens = tokens
        self._requests = PerMinute(requests)
        self._lines = PerMinute(_LINES)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = await self._refusal(scope)
        if answer is None:
            # Read here: what goes on would report a client that goes away as an error of its own.
            body = await _body(receive)
            if body is None:
                return
            answer = _TOO_LARGE if len(body) > LARGEST else None
            receive = _again(body, receive)
        await (self._app if answer is None else answer)(scope, receive, send)

    async def _refusal(self, scope: Any) -> Response | None:
        """Return the answer to a request that goes no further."""
        user, connection = scope.get("user"), scope.get("state", {}).get(STATE)
        known = isinstance(user, AuthenticatedUser)
        if connection is not None:
            connection.known = known
        if not isinstance(user, AuthenticatedUser):
            return await self._unknown(scope)
        wait = self._requests.wait(_digest(user.access_token.token), time.monotonic())
        if wait > 0:
            again = str(math.ceil(wait))
            said = f"Too many requests in a minute with this token. Try again in {again} s."
            return _refused(429, said, {"Retry-After": again})
        if _head_size(scope) > LARGEST_HEAD:
            return _HEAD_TOO_LARGE
        if _length(scope) > (LARGEST if _asks_first(scope) else PASSED_OVER):
            return _TOO_LARGE
        if scope["method"] != "POST":  # a stream of what the server tells by itself: nothing
            return _refused(405, "This server answers POST alone.", {"Allow": "POST"})
        return None

    async def _unknown(self, scope: Any) -> Response:
        token = _token(scope)
        reason, said = await self._why(token)
        if self._lines.wait(b"", time.monotonic()) == 0:
            address = one_line(str((scope.get("client") or ["an unknown address"])[0]))
            logger.warning("refused a request from %s: %s", address, reason)
        described = f'Bearer error="invalid_token", error_description="{said}"'
        return _refused(401, said, {"WWW-Authenticate": described})

    async def _why(self, token: str | None) -> tuple[str, str]:
        """Return why a token is not good, for the log, and what to do, for the client."""
        if token is None:
            return "it has no token", "This server needs a header Authorization: Bearer TOKEN."
        found = await self._tokens.verify_token(token)
        if found is not None and found.expires_at and found.expires_at < time.time():
            return f"the token of {found.client_id!r} has ended", _ENDED
        return "its token is nobody's", "The token is not known here. Ask who runs the server."


def _refused(status: int, said: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer that clients of MCP show as an error."""
    error = {"code": INVALID_REQUEST, "message": said}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers)


_TOO_LARGE = _refused(413, f"The request is too large: {LARGEST} bytes at most.")
_HEAD_TOO_LARGE = _refused(431, f"The headers are too large: {LARGEST_HEAD} bytes at most.")


async def _body(receive: Receive) -> bytes | None:
    """Return a request's body, or its beginning if it is too large; `None` if it breaks off."""
    body, read = bytearray(), 0
    while read <= PASSED_OVER:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        read += len(part)
        if len(body) <= LARGEST:
            body += part
        if not message.get("more_body", False):
            break
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read, and then what else comes."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return read.pop() if read else await receive()

    return next_message


def _token(scope: Any) -> str | None:
    """Return what a request has as its token, of any scheme."""
    found = Headers(scope=scope).get("authorization")
    return None if found is None else found.partition(" ")[2]


def _head_size(scope: Any) -> int:
    """Return how many bytes the first line and the headers of a request have, nearly."""
    target = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    return target + sum(len(name) + len(value) + 4 for name, value in scope["headers"])


def _asks_first(scope: Any) -> bool:
    """Whether a client waits for a word before it sends a body."""
    return Headers(scope=scope).get("expect", "").lower() == "100-continue"


def _length(scope: Any) -> int:
    """Return the length that a request says its body has, in bytes; 0 if it says none."""
    said = Headers(scope=scope).get("content-length", "")
    return int(said) if said.isdecimal() and len(said) < _MANY_DIGITS else 0


def _is_word(token: str) -> bool:
    return token.isprintable() and " " not in token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
