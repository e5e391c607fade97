"""`langgraph-memory mcp`: a memory for clients of the Model Context Protocol."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.mcp import (
    CONNECTIONS,
    PATIENCE,
    SPARE_FILES,
    TOKENS,
    Bearers,
    Connections,
    TokensFile,
    open_files,
    read_tokens,
)

if TYPE_CHECKING:
    from langgraph_memory.memory import Memory

_ABOUT = """\
Serve a memory to clients of the Model Context Protocol: over standard input and output, to the
client that started the command, or over HTTP, to users with a bearer token."""
_MORE = """\
examples:
  langgraph-memory mcp --path ./memory --user c-2291
  langgraph-memory mcp --url http://127.0.0.1:8000 --port 8300 --tokens tokens.json"""
_FOR_HTTP = "tokens host allow_host requests_per_minute max_connections request_timeout".split()
_GRACE = 10  # seconds for the requests that are being answered when the server is ended


def add_to(commands: Any) -> None:
    """Add the sub-command to those of a parser."""
    parser = commands.add_parser(
        "mcp",
        help="serve a memory over MCP",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    memory = parser.add_argument_group("the memory")
    place = memory.add_mutually_exclusive_group(required=True)
    place.add_argument(
        "--path",
        metavar="FOLDER",
        type=_folder,
        help="its folder, made if it is not there; one process at a time can have it open",
    )
    place.add_argument(
        "--url", type=_url, help="the Chroma server that keeps it, for several processes at once"
    )
    memory.add_argument(
        "--embed",
        metavar="NAME",
        type=_text,
        help="the embedder it is written with, such as openai:text-embedding-3-small "
        "(default: the one that needs no key and no network)",
    )
    memory.add_argument(
        "--project", metavar="ID", type=_text, help="a project that is recalled beside the user"
    )
    memory.add_argument(
        "--agent", metavar="ID", type=_text, help="an agent that is recalled beside the user"
    )
    served = parser.add_argument_group("to whom it is served")
    whose = served.add_mutually_exclusive_group(required=True)
    whose.add_argument(
        "--user", metavar="ID", type=_text, help="the user, over standard input and output"
    )
    whose.add_argument(
        "--port", type=_port, help="over HTTP at http://HOST:PORT/mcp, to users with a token"
    )
    served.add_argument(
        "--tokens",
        metavar="FILE",
        type=Path,
        help='JSON with the user of each token, {"token": "user", ...}, or with its last day, '
        '{"token": {"user": "user", "until": "2027-01-31"}, ...}; read again when it changes '
        f"(default: what {TOKENS} has at the start)",
    )
    served.add_argument(
        "--host", type=_host, help="the address to listen on (default: 127.0.0.1, this machine)"
    )
    served.add_argument(
        "--allow-host",
        metavar="NAME",
        type=_host_name,
        action="append",
        help="a name by which clients reach it through a proxy; can be given several times",
    )
    served.add_argument(
        "--requests-per-minute",
        metavar="N",
        type=_count,
        help="of each token; more are told to wait, with 429 (default: 300)",
    )
    served.add_argument(
        "--max-connections",
        metavar="N",
        type=_count,
        help="open at once; where there are more, one that asks nothing is closed (default: 128); "
        "at most 128 less than the files that the process may have open (ulimit -n)",
    )
    served.add_argument(
        "--request-timeout",
        metavar="SECONDS",
        type=_count,
        help="in which a client has to send a request, and to read its answer (default: 20)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serve until the client hangs up, or the process is ended."""
    given = [f"--{name.replace('_', '-')}" for name in _FOR_HTTP if vars(options)[name] is not None]
    if options.port is None and given:
        raise ConfigurationError(f"{given[0]} is for HTTP and goes with --port, not with --user")
    tokens = None if options.port is None else _tokens(options.tokens)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    from langgraph_memory.chroma import ChromaStore
    from langgraph_memory.mcp import REQUESTS, Tokens, http_app, memory_server  # an extra
    from langgraph_memory.memory import Memory

    known = None if tokens is None else Tokens(tokens[0], changed=tokens[1])
    connections = None if known is None else _connections(options)
    with Memory(ChromaStore(options.path or options.url, embed=options.embed)) as memory:
        server = memory_server(memory, options.user, project=options.project, agent=options.agent)
        if known is None or connections is None:
            asyncio.run(_over_stdio(memory, server))
        else:
            host = options.host or "127.0.0.1"
            app = http_app(
                server,
                known,
                host=host,
                allow_hosts=options.allow_host or (),
                requests=options.requests_per_minute or REQUESTS,
            )
            _over_http(app, connections, host, options.port)


async def _over_stdio(memory: Memory, server: Any) -> None:
    """Serve until standard input ends, or a signal comes; then close the memory.

    Closing can take longer than the 2 s after which clients send SIGTERM to what they have hung up
    on; a signal that comes meanwhile changes nothing.
    """
    from langgraph_memory.mcp import serve_stdio

    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has no such signals
            asyncio.get_running_loop().add_signal_handler(number, told.set)
    serving = asyncio.ensure_future(serve_stdio(server))
    ending = asyncio.ensure_future(told.wait())
    await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
    await memory.aclose()
    if not serving.done():
        os._exit(0)  # the process would wait for the thread that reads standard input
    ending.cancel()
    await serving


def _tokens(file: Path | None) -> tuple[Bearers, Callable[[], Bearers | None] | None]:
    """Return the tokens, and what tells of other ones that take their place."""
    if file is None:
        return read_tokens(None, os.environ), None
    watched = TokensFile(file)
    return watched.bearers, watched.changed


def _connections(options: argparse.Namespace) -> Connections:
    """Return how connections are limited.

    Raises:
        ConfigurationError: If the process may not have as many files open.
    """
    most = options.max_connections or CONNECTIONS
    needed, allowed = most + SPARE_FILES, open_files()
    if needed > allowed:
        raise ConfigurationError(
            f"--max-connections {most} needs {needed} open files, and this process may have "
            f"{allowed}: raise that (ulimit -n {needed}), or allow fewer connections"
        )
    return Connections(most, options.request_timeout or PATIENCE)


def _over_http(app: Any, connections: Connections, host: str, port: int) -> None:
    import uvicorn

    from langgraph_memory.mcp import BACKLOG

    family, named = socket.AF_INET, host
    if ":" in host:
        family, named = socket.AF_INET6, f"[{host}]"
    with socket.create_server((host, port), family=family) as listening:
        # uvicorn lets the signal through when it is done; the memory is to be closed then.
        signal.signal(signal.SIGTERM, _leave)
        print(f"serving http://{named}:{listening.getsockname()[1]}/mcp", flush=True)
        settings = uvicorn.Config(
            app,
            http=connections.protocol(),
            ws="none",  # it would take connections over, and their limits off
            backlog=BACKLOG,
            access_log=False,
            log_level="error",  # below it, a line for each request that is no HTTP
            timeout_graceful_shutdown=_GRACE,
        )
        uvicorn.Server(settings).run(sockets=[listening])


def _leave(number: int, frame: Any) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one does not interrupt the closing
    sys.exit(0)


# -- one option: refused, or as it is kept --


def _text(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _folder(text: str) -> str:
    if "://" in text:
        raise argparse.ArgumentTypeError("it takes a folder; a Chroma server is given by --url")
    return _text(text)


def _url(text: str) -> str:
    if not text.lower().startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError("it takes a URL such as http://127.0.0.1:8000")
    return text


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65536):
        raise argparse.ArgumentTypeError("it takes a number up to 65535, such as 8300")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) > 0):
        raise argparse.ArgumentTypeError("it takes a whole number from 1 to 999999")
    return int(text)


def _host(text: str) -> str:
    try:
        _text(text).encode("idna")
    except UnicodeError:
        raise argparse.ArgumentTypeError(
            "it takes a name or an address of this machine, such as 127.0.0.1"
        ) from None
    return text


def _host_name(text: str) -> str:
    if not text or "/" in text or not text.isprintable() or " " in text:
        raise argparse.ArgumentTypeError("it takes a host's name such as memory.example.com")
    return text
