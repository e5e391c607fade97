"""A memory as an MCP server, for any client of the Model Context Protocol; needs the extra `mcp`.

The tools are those of `memory_tools`, with the same texts, and two more; the user's notes are
resources too.
Whose memory it is comes from how the server was started, or from the bearer token of a request;
never from an argument. `http` serves it over HTTP.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from langchain_core.tools import ToolException
from pydantic import Field, ValidationError

from langgraph_memory import __version__
from langgraph_memory.errors import missing_extra
from langgraph_memory.graph import (
    CANDIDATES,
    FURTHER_TOOLS_PROMPT,
    TOOLS_PROMPT,
    Call,
    EditAction,
    ForgetAction,
    ListAction,
    ProfileAction,
    RecallAction,
    RecallOrProfile,
    Remember,
    RememberAction,
    Verb,
    check_memory,
    listed_text,
    wrong_arguments,
)
from langgraph_memory.memory import Memory
from langgraph_memory.records import Note, Owner, check_id
from langgraph_memory.retrieval import Quotas
from langgraph_memory.store import ALL
from langgraph_memory.text import one_line

try:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server import Server
    from mcp.server.auth.middleware.auth_context import get_access_token
    from mcp.server.stdio import stdio_server
except ImportError as error:
    raise missing_extra("the MCP server", "mcp", error) from error

logger = logging.getLogger(__name__)
T = TypeVar("T")

NOTES = "memory://notes"
"""The resource with all notes; each is one too, below it, by its id."""

_SLOT = Remember.model_fields["slot"].description or ""


def _as_key(text: str) -> str:
    """Return a text about slots in the word that clients of other memories know."""
    return re.sub(r"\bslot\b", "key", text)


INSTRUCTIONS = _as_key(TOOLS_PROMPT) + FURTHER_TOOLS_PROMPT

_PAGE = 100  # resources listed at once
_TITLE = 80


class _RememberByKey(Remember):
    __doc__ = Remember.__doc__

    slot: str | None = Field(default=None, alias="key", description=_as_key(_SLOT))


class _Remember(RememberAction):
    asks = _RememberByKey


class _Recall(RecallAction):
    asks = RecallOrProfile


VERBS: dict[str, Verb[Any]] = {
    verb.name: verb
    for verb in (
        _Remember(),
        _Recall(),
        ProfileAction(),
        EditAction(),
        ForgetAction(),
        ListAction(),
    )
}


def memory_server(
    memory: Memory,
    user: str | None = None,
    *,
    project: str | None = None,
    agent: str | None = None,
    quotas: Quotas | None = None,
) -> Server[Any]:
    """Return a server of the official SDK, to be run over any of its transports.

    Args:
        memory: The memory, with a store.
        user: Whose memory it is. Without one, that of the user whom a request's token names.
        project: A project that `recall` reads beside the user's memory, whoever that is.
        agent: An agent that it reads beside it, in the same way.
        quotas: How many hits of each type have their place in what `recall` shows.

    Raises:
        ConfigurationError: If the memory has no store, or an id is empty.
    """
    check_memory(memory)
    _ = memory.store  # raises without one, now and not at the first call
    beside = {
        "project": None if project is None else check_id("project", project),
        "agent": None if agent is None else check_id("agent", agent),
    }
    whose = _of_request if user is None else _always(user)
    handlers = _Handlers(memory, whose, beside, quotas or Quotas())
    return Server(
        "langgraph-memory",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output, until it hangs up."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


@dataclass(frozen=True, slots=True)
class _Handlers:
    """What answers the requests of clients."""

    memory: Memory
    user: Callable[[], str]
    beside: Mapping[str, str | None]
    quotas: Quotas

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        there = [v for v in VERBS.values() if not (self.memory.read_only and v.writes)]
        return types.ListToolsResult(tools=[_described(verb) for verb in there])

    async def call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        verb = VERBS.get(params.name)
        if verb is None:
            return _answer(f"There is no tool {one_line(params.name)!r}: {_NAMES}.", wrong=True)
        call = self._call()
        try:
            asked = verb.asks.model_validate(params.arguments or {})
            await self.memory.awarm_up()
            return _answer(await verb.acall(call, asked))
        except ValidationError as error:
            return _answer(wrong_arguments(error), wrong=True)
        except ToolException as error:
            return _answer(str(error), wrong=True)
        except Exception as error:  # whatever a store raises: the client is told, the log says what
            logger.warning("the tool %s failed", verb.name, exc_info=error)
            return _answer(verb.failed, wrong=True)

    async def list_resources(
        self, context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        after = _place_of(params.cursor if params else None)
        notes = sorted(await self._notes(), key=_place, reverse=True)
        rest = notes if after is None else [note for note in notes if _place(note) < after]
        shown = rest[:_PAGE]
        return types.ListResourcesResult(
            resources=[*([_ALL_NOTES] if after is None else []), *map(_resource, shown)],
            next_cursor=_cursor(shown[-1]) if len(rest) > _PAGE else None,
        )

    async def list_templates(self, context: Any, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[_ONE_NOTE])

    async def read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        notes = await self._notes() if uri == NOTES else [await self._note(uri)]
        text = listed_text(notes, 1, max(len(notes), 1), self.memory.zone)
        content = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[content])

    async def _notes(self) -> list[Note]:
        return await _reading(self.memory.alist(user=self.user(), limit=ALL))

    async def _note(self, uri: str) -> Note:
        """Return the user's note at an address, and no older version of one."""
        user, (_, _, id) = self.user(), uri.partition(f"{NOTES}/")
        found = await _reading(self.memory.aget(id, user=user))
        if not isinstance(found, Note) or uri != _address(found) or found.status != "active":
            raise _wrong(f"There is no note {one_line(uri)!r}; {NOTES} has all of them.")
        return found

    def _call(self) -> Call:
        user = self.user()
        asked = {"user": user, "limit": CANDIDATES, **self.beside}
        return Call(self.memory, user, Owner("user", user), self.quotas, asked)


def _always(user: str) -> Callable[[], str]:
    checked = check_id("user", user)

    def whose() -> str:
        token = get_access_token()
        if token is not None and token.client_id != checked:
            raise _wrong("This server has the memory of another user.")
        return checked

    return whose


def _of_request() -> str:
    token = get_access_token()
    if token is None:
        raise _wrong("This server knows its users by bearer tokens, and the request has none.")
    return str(token.client_id)


async def _reading(asked: Awaitable[T]) -> T:
    try:
        return await asked
    except Exception as error:  # as of a tool
        logger.warning("the notes could not be read", exc_info=error)
        raise MCPError(types.INTERNAL_ERROR, "The memory cannot be reached.") from error


def _described(verb: Verb[Any]) -> types.Tool:
    schema = verb.asks.model_json_schema()
    return types.Tool(
        name=verb.name,
        description=verb.asks.description(),
        input_schema={key: schema[key] for key in schema if key not in ("title", "description")},
        annotations=types.ToolAnnotations(
            read_only_hint=verb.name in _READING,
            destructive_hint=verb.name == ForgetAction.name,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _address(note: Note) -> str:
    return f"{NOTES}/{note.id}"


def _resource(note: Note) -> types.Resource:
    name = one_line(note.text)
    return types.Resource(
        uri=_address(note),
        name=name if len(name) <= _TITLE else f"{name[: _TITLE - 1]}…",
        mime_type="text/plain",
    )


def _answer(text: str, *, wrong: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=wrong)


def _wrong(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message)


# -- the places of notes in the list: one stays where it was while others come and go --


def _place(note: Note) -> tuple[datetime, str]:
    return note.updated_at, note.id


def _cursor(note: Note) -> str:
    return f"{note.updated_at.isoformat()} {note.id}"


def _place_of(cursor: str | None) -> tuple[datetime, str] | None:
    if cursor is None:
        return None
    moment, _, id = cursor.partition(" ")
    try:
        place = datetime.fromisoformat(moment), id
    except ValueError:
        raise _wrong(_NO_CURSOR) from None
    if not id or place[0].tzinfo is None:
        raise _wrong(_NO_CURSOR)
    return place


_NAMES = ", ".join(VERBS)
_NO_CURSOR = "The cursor is not one that this server gave: list the resources from the beginning."
_READING = {RecallAction.name, ProfileAction.name, ListAction.name}
_ALL_NOTES = types.Resource(
    uri=NOTES,
    name="notes",
    description="All that is remembered as notes, newest first",
    mime_type="text/plain",
)
_ONE_NOTE = types.ResourceTemplate(
    uri_template=f"{NOTES}/{{id}}", name="note", description="One note", mime_type="text/plain"
)
