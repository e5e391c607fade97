"""A client of the MCP server, as a desktop assistant is one.

    python -m examples.mcp_client

It starts `langgraph-memory mcp` for one user, calls the tools as a model would, and reads the
notes. A second process later still has them. Needs the extra: `pip install '.[mcp]'`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from examples.command_line import options

USER = "c-2291"
TALK = {
    "en": ("Drinks Colombia from a moka pot", "usual coffee", "Which coffee does she drink?"),
    "zh": ("用摩卡壶喝哥伦比亚咖啡", "平时喝的咖啡", "她平时喝什么咖啡？"),
}


def server(path: Path) -> StdioServerParameters:
    """Return how the server is started; in a client's settings it is `langgraph-memory mcp ...`."""
    command = ["-m", "langgraph_memory.cli", "mcp", "--path", str(path.resolve()), "--user", USER]
    return StdioServerParameters(command=sys.executable, args=command, cwd=Path.cwd())


async def call(client: Client, tool: str, **arguments: Any) -> None:
    """Call a tool, and print what a model would read."""
    result = await client.call_tool(tool, arguments)
    texts = [getattr(block, "text", "") for block in result.content]
    print(f"\n{tool}({arguments})")
    print("\n".join(texts))


async def talk(path: Path, language: str) -> None:
    """Save a note in one process, and look it up in another."""
    text, key, question = TALK[language]
    async with Client(server(path)) as client:
        await call(client, "remember", text=text, key=key)
    async with Client(server(path)) as client:
        await call(client, "recall", query=question)
        await call(client, "list_memories")
        print("\nResources:")
        for resource in (await client.list_resources()).resources:
            print(f"    {resource.name}")


def main() -> None:
    """Let a client remember, and another one recall."""
    given = options(__doc__, "mcp", languages=TALK, model=False)
    asyncio.run(talk(given.path, given.lang))


if __name__ == "__main__":
    main()
