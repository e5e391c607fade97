"""The command `langgraph-memory`: a module for each sub-command; an error is one sentence."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from langgraph_memory import __version__
from langgraph_memory.cli import mcp
from langgraph_memory.errors import LangGraphMemoryError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 1 if it failed, 2 if it was called wrongly."""
    parser = argparse.ArgumentParser("langgraph-memory", description="Long-term memory of agents")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    mcp.add_to(commands)
    options = parser.parse_args(argv)
    try:
        options.run(options)
    except (LangGraphMemoryError, ImportError, OSError) as error:
        print(f"langgraph-memory: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
