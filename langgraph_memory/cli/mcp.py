"""`langgraph-memory mcp`: a memory for clients of the Model Context Protocol."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.memory import Memory
from langgraph_memory.store.chroma import ChromaStore

TOKENS = "LANGGRAPH_MEMORY_TOKENS"
"""The environment variable with the tokens, where no file is named."""


def add_to(commands: Any) -> None:
    """Add the sub-command to those of a parser."""
    parser = commands.add_parser(
        "mcp", help="serve a memory over MCP", description=__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--path", required=True, help="a memory's folder, or the URL of a Chroma server"
    )
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--user", help="whose memory it is, over standard input and output")
    whose.add_argument(
        "--http",
        metavar="HOST:PORT",
        type=address,
        help="serve streamable HTTP at /mcp, to users with a bearer token",
    )
    parser.add_argument(
        "--tokens",
        metavar="FILE",
        type=Path,
        help=f'JSON, {{"token": "user", ...}}, for --http; without it, {TOKENS} has it',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serve until the client hangs up, or the process is ended."""
    from langgraph_memory import mcp_server

    if options.http is None:
        if options.tokens is not None:
            raise ConfigurationError("--tokens goes with --http; --user has no tokens")
        with Memory(ChromaStore(options.path)) as memory:
            asyncio.run(mcp_server.serve_stdio(mcp_server.memory_server(memory, options.user)))
            # Clients send it to what has not ended 2 s after they hung up; closing can take that.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return
    import uvicorn

    host, port = options.http
    tokens = mcp_server.Tokens(read_tokens(options.tokens, os.environ))
    # uvicorn lets the signal through when it is done; the memory is to be closed then.
    signal.signal(signal.SIGTERM, _leave)
    with Memory(ChromaStore(options.path)) as memory:
        app = mcp_server.http_app(mcp_server.memory_server(memory), tokens, host=host)
        uvicorn.run(app, host=host, port=port, log_level="warning")


def _leave(signal_number: int, frame: Any) -> None:
    sys.exit(0)


def address(text: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:8300` or `[::1]:8300`."""
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, such as 127.0.0.1:8300; got {text}")
    return host.strip("[]"), int(port)


def read_tokens(file: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the user by token; what is wrong is told without the tokens.

    Raises:
        ConfigurationError: If there are none, or they are no JSON object of texts.
    """
    where = TOKENS if file is None else str(file)
    text = environment.get(TOKENS) if file is None else file.read_text("utf-8")
    if text is None:
        raise ConfigurationError(
            f'--http needs the tokens of its users: --tokens FILE or {TOKENS}, {{"token": "user"}}'
        )
    try:
        users = json.loads(text)
    except ValueError:
        users = None
    if not isinstance(users, dict) or not all(isinstance(user, str) for user in users.values()):
        raise ConfigurationError(f'{where} has to hold JSON such as {{"token": "user", ...}}')
    return users
