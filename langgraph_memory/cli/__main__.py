"""The command `langgraph-memory`: a module for each sub-command; an error is one sentence."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from langgraph_memory import __version__
from langgraph_memory.cli import mcp
from langgraph_memory.errors import ConfigurationError, LangGraphMemoryError


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong, and not all its options as well."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists the options\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 1 if it failed, 2 if it was called wrongly."""
    parser = _Parser("langgraph-memory", description="Long-term memory of agents")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    mcp.add_to(commands)
    options = parser.parse_args(argv)
    try:
        options.run(options)
    except ConfigurationError as error:
        return _told(error, 2)
    except (LangGraphMemoryError, ImportError, OSError) as error:
        return _told(error, 1)
    except KeyboardInterrupt:
        return 130
    return 0


def _told(error: Exception, code: int) -> int:
    print(f"langgraph-memory: {' '.join(str(error).split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
