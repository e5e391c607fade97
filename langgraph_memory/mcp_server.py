"""A memory as an MCP server, for any client of the Model Context Protocol; needs the extra `mcp`.

The tools are those of `memory_tools`, with the same texts; the user's notes are resources too.
Whose memory it is comes from how the server was started, or from the bearer token of a request;
never from an argument.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.tools import ToolException
from pydantic import AnyHttpUrl, Field, ValidationError

from langgraph_memory import __version__, tool_texts, tool_verbs
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.escaping import one_line
from langgraph_memory.memory import Memory
from langgraph_memory.operations import ALL
from langgraph_memory.ranking import Quotas
from langgraph_memory.records import Note
from langgraph_memory.runs import check_memory
from langgraph_memory.scope import Owner, check_id
from langgraph_memory.tool_verbs import Call, Verb

try:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server import Server
    from mcp.server.auth.middleware.auth_context import get_access_token
    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.stdio import stdio_server
except ImportError as error:
    raise ImportError(
        f"the MCP server needs the extra mcp: pip install 'langgraph-memory-chroma[mcp]' ({error})"
    ) from error

logger = logging.getLogger(__name__)

NOTES = "memory://notes"
"""The resource with all notes; each is one too, below it, by its id."""

_SLOT = tool_texts.Remember.model_fields["slot"].description or ""


def _as_key(text: str) -> str:
    """Return a text about slots in the word that clients of other memories know."""
    return re.sub(r"\bslot\b", "key", text)


INSTRUCTIONS = _as_key(tool_texts.TOOLS_PROMPT)

SHORTEST_TOKEN = 16
"""Characters: a shorter one can be guessed."""

_PAGE = 100  # resources listed at once
_TITLE = 80


class _RememberByKey(tool_texts.Remember):
    __doc__ = tool_texts.Remember.__doc__

    slot: str | None = Field(default=None, alias="key", description=_as_key(_SLOT))


class _Remember(tool_verbs.Remember):
    asks = _RememberByKey


VERBS: dict[str, Verb[Any]] = {
    verb.name: verb
    for verb in (_Remember(), tool_verbs.Recall(), tool_verbs.Forget(), tool_verbs.List())
}


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
            if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
                raise ConfigurationError(
                    f"the token of {user!r} has to be {SHORTEST_TOKEN} or more ASCII characters, "
                    "such as secrets.token_urlsafe() gives"
                )
        self._users = {_digest(token): check_id("user", user) for token, user in users.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is, or `None`: what the SDK asks of a verifier."""
        user = self._users.get(_digest(token))
        return None if user is None else AccessToken(token=token, client_id=user, scopes=[])


def memory_server(
    memory: Memory, user: str | None = None, *, quotas: Quotas | None = None
) -> Server[Any]:
    """Return a server of the official SDK, to be run over any of its transports.

    Args:
        memory: The memory, with a store.
        user: Whose memory it is. Without one, that of the user whom a request's token names.
        quotas: How many hits of each type `recall` returns.

    Raises:
        ConfigurationError: If the memory has no store.
    """
    check_memory(memory)
    _ = memory.store  # raises without one, now and not at the first call
    desk = _Desk(memory, _always(user) if user is not None else _of_request, quotas or Quotas())
    return Server(
        "langgraph-memory",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output, until it hangs up."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def http_app(server: Server[Any], tokens: Tokens, *, host: str = "127.0.0.1") -> Any:
    """Return a Starlette application that serves streamable HTTP at `/mcp`, to those with a token.

    Args:
        server: Made by `memory_server` without a user.
        tokens: The tokens, and whose they are.
        host: Where it will listen. On this machine alone, requests have to name it as their host.
    """
    # No metadata of an authorization server is published: there is none, tokens are handed out.
    auth = AuthSettings(issuer_url=AnyHttpUrl("http://localhost"), resource_server_url=None)
    # Each request stands by itself, so that a restart is nothing to a client.
    return server.streamable_http_app(
        stateless_http=True, host=host, auth=auth, token_verifier=tokens
    )


class _Desk:
    """What answers the requests of clients."""

    def __init__(self, memory: Memory, user: Callable[[], str], quotas: Quotas) -> None:
        self._memory = memory
        self._user = user
        self._quotas = quotas

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(verb) for verb in VERBS.values()])

    async def call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        verb = VERBS.get(params.name)
        if verb is None:
            return _answer(f"There is no tool {one_line(params.name)!r}: {_NAMES}.", wrong=True)
        call = self._call()
        try:
            asked = verb.asks.model_validate(params.arguments or {})
            await self._memory.awarm_up()
            return _answer(await verb.acall(call, asked))
        except ValidationError as error:
            return _answer(tool_texts.wrong_arguments(error), wrong=True)
        except ToolException as error:
            return _answer(str(error), wrong=True)
        except Exception as error:  # whatever a store raises: the client is told, the log says what
            logger.warning("the tool %s failed", verb.name, exc_info=error)
            return _answer(verb.failed, wrong=True)

    async def list_resources(
        self, context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        begin = _offset(params.cursor if params else None)
        notes = await self._notes(_PAGE + 1, begin)
        shown = [_resource(note) for note in notes[:_PAGE]]
        more = str(begin + _PAGE) if len(notes) > _PAGE else None
        whole = [] if begin else [_ALL_NOTES]
        return types.ListResourcesResult(resources=[*whole, *shown], next_cursor=more)

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[_ONE_NOTE])

    async def read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        notes = await self._notes(ALL)
        if uri != NOTES:
            notes = [note for note in notes if uri == f"{NOTES}/{note.id}"]
            if not notes:
                raise _wrong(f"There is no note {one_line(uri)!r}; {NOTES} has all of them.")
        text = tool_texts.listed(notes, 1, max(len(notes), 1))
        content = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[content])

    async def _notes(self, limit: int, offset: int = 0) -> list[Note]:
        user = self._user()
        try:
            found = await self._memory.alist(user=user, limit=limit, offset=offset)
        except Exception as error:  # as of a tool
            logger.warning("the notes could not be read", exc_info=error)
            raise MCPError(types.INTERNAL_ERROR, "The memory cannot be reached.") from error
        return [record for record in found if isinstance(record, Note)]

    def _call(self) -> Call:
        user = self._user()
        return Call(self._memory, user, Owner("user", user), self._quotas)


def _always(user: str) -> Callable[[], str]:
    checked = check_id("user", user)
    return lambda: checked


def _of_request() -> str:
    token = get_access_token()
    if token is None:
        raise _wrong("This server knows its users by bearer tokens, and the request has none.")
    return str(token.client_id)


def _described(verb: Verb[Any]) -> types.Tool:
    schema = verb.asks.model_json_schema()
    return types.Tool(
        name=verb.name,
        description=verb.asks.description(),
        input_schema={key: schema[key] for key in schema if key not in ("title", "description")},
        annotations=types.ToolAnnotations(
            read_only_hint=verb.name in _READING,
            destructive_hint=verb.name == tool_verbs.Forget.name,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _resource(note: Note) -> types.Resource:
    name = one_line(note.text)
    return types.Resource(
        uri=f"{NOTES}/{note.id}",
        name=name if len(name) <= _TITLE else f"{name[: _TITLE - 1]}…",
        mime_type="text/plain",
    )


def _answer(text: str, *, wrong: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=wrong)


def _wrong(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise _wrong("The cursor is not one that this server gave.")
    return int(cursor)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


_NAMES = ", ".join(VERBS)
_READING = {tool_verbs.Recall.name, tool_verbs.List.name}
_ALL_NOTES = types.Resource(
    uri=NOTES,
    name="notes",
    description="All that is remembered as notes, newest first",
    mime_type="text/plain",
)
_ONE_NOTE = types.ResourceTemplate(
    uri_template=f"{NOTES}/{{id}}", name="note", description="One note", mime_type="text/plain"
)
