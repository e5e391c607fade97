"""An MCP server over streamable HTTP, for users with bearer tokens; needs the extra `mcp`."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, MutableMapping, Sequence
from hmac import compare_digest
from typing import Any

from pydantic import AnyHttpUrl

from langgraph_memory.errors import ConfigurationError, missing_extra
from langgraph_memory.escaping import one_line
from langgraph_memory.scope import check_id

try:
    from mcp.server import Server
    from mcp.server.auth.provider import AccessToken, TokenVerifier
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.transport_security import TransportSecuritySettings
except ImportError as error:
    raise missing_extra("the MCP server", "mcp", error) from error

logger = logging.getLogger(__name__)

SHORTEST_TOKEN = 16
"""Characters: a shorter one can be guessed."""

_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")
_UNAUTHORIZED = 401


class Tokens:
    """Bearer tokens, each of one user; only their digests are kept.

    Args:
        users: The user's id by token.

    Raises:
        ConfigurationError: If there are none, a token is short or has spaces, or an id is empty.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        if not users:
            raise ConfigurationError("there is no token, so nobody could use the server")
        for token, user in users.items():
            check_id("user", user)
            if len(token) < SHORTEST_TOKEN or not token.isascii() or not _is_word(token):
                raise ConfigurationError(
                    f"the token of {user!r} has to be {SHORTEST_TOKEN} or more ASCII characters "
                    "without spaces, such as secrets.token_urlsafe() gives"
                )
        self._users = [(_digest(token), check_id("user", user)) for token, user in users.items()]

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is, or `None`: what the SDK asks of a verifier."""
        given = _digest(token)
        # All are compared, whole: the time says nothing about which one is nearly right.
        found = [user for digest, user in self._users if compare_digest(digest, given)]
        return AccessToken(token=token, client_id=found[0], scopes=[]) if found else None


def http_app(
    server: Server[Any],
    tokens: TokenVerifier,
    *,
    host: str = "127.0.0.1",
    allow_hosts: Sequence[str] = (),
) -> Any:
    """Return a Starlette application that serves streamable HTTP at `/mcp`, to those with a token.

    Args:
        server: Made by `memory_server` without a user.
        tokens: `Tokens`, or what knows those of an identity provider: `client_id` of the access
            token that its `verify_token` returns is the user.
        host: Where it will listen. On this machine alone, requests have to name it as their host.
        allow_hosts: Further names that requests may call their host, as a proxy passes them on;
            wherever it listens, they then have to name one of these, or this machine.
    """
    # No metadata of an authorization server is published: there is none, tokens are handed out.
    auth = AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None)
    # Each request stands by itself, so that a restart is nothing to a client.
    app = server.streamable_http_app(
        stateless_http=True,
        host=host,
        auth=auth,
        token_verifier=tokens,
        transport_security=_only([*_THIS_MACHINE, *allow_hosts]) if allow_hosts else None,
    )
    app.add_middleware(_RefusalsLogged)
    return app


def _only(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return what refuses requests to other hosts, with any port, and pages that come from them."""
    names = [name.lower() + port for name in hosts for port in ("", ":*")]
    return TransportSecuritySettings(
        allowed_hosts=names,
        allowed_origins=[f"{scheme}://{name}" for scheme in ("https", "http") for name in names],
    )


class _RefusalsLogged:
    """Says in the log from where a request without a known token came; the token is not said."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def told(message: MutableMapping[str, Any]) -> None:
            if message.get("status") == _UNAUTHORIZED:
                logger.warning(
                    "refused a request from %s: %s",
                    one_line(str((scope.get("client") or ["an unknown address"])[0])),
                    "its token is nobody's" if _has_token(scope) else "it has no token",
                )
            await send(message)

        await self._app(scope, receive, told)


def _has_token(scope: Any) -> bool:
    return any(name == b"authorization" for name, _ in scope["headers"])


def _is_word(token: str) -> bool:
    return token.isprintable() and " " not in token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
