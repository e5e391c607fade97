"""The MCP server, over stdio and HTTP."""

from langgraph_memory.mcp.connections import BACKLOG, Connections
from langgraph_memory.mcp.server import serve_stdio
from langgraph_memory.mcp.tokens import TOKENS, Bearers, TokensFile, read_tokens
