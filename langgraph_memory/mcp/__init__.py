"""The MCP server, over stdio and HTTP; the server itself needs the extra `mcp`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langgraph_memory.mcp.connections import (
    BACKLOG,
    CONNECTIONS,
    PATIENCE,
    SPARE_FILES,
    Connections,
    open_files,
)
from langgraph_memory.mcp.tokens import TOKENS, Bearer, Bearers, TokensFile, read_tokens

if TYPE_CHECKING:
    from langgraph_memory.mcp.http import REQUESTS, Tokens, http_app
    from langgraph_memory.mcp.server import memory_server, serve_stdio

_WITH_EXTRA = {
    "REQUESTS": "http",
    "Tokens": "http",
    "http_app": "http",
    "memory_server": "server",
    "serve_stdio": "server",
}


def __getattr__(name: str) -> Any:
    if name not in _WITH_EXTRA:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WITH_EXTRA[name]}"), name)
