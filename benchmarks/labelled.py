"""The labelled sets, and the command line of the benchmarks that score halves of one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from langgraph_memory import UniversalSentenceEncoder
from langgraph_memory.testing import HashingEmbeddings

SETS = Path(__file__).parent / "sets"


def read(name: str) -> list[dict[str, Any]]:
    """Return the lines of a set."""
    lines = (SETS / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def options(arguments: Sequence[str] | None, about: str | None, page: str) -> argparse.Namespace:
    """Return `half` (a list), `embed` and `tables`.

    Args:
        arguments: Of the command line; by default those of this process.
        about: The documentation of the benchmark's module.
        page: The page of which it makes the tables.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--half", nargs="+", choices=["a", "b"], default=["a", "b"], help="of the labelled set")
    add("--embed", help="'hashing', or a name for LangChain (default: the embedded default)")
    add("--tables", action="store_true", help=f"print the tables of {page} instead")
    return parser.parse_args(arguments)


def embeddings_of(options: argparse.Namespace) -> Embeddings | str:
    """Return what embeds, as `--embed` says."""
    if options.embed == "hashing":
        return HashingEmbeddings()
    return options.embed or UniversalSentenceEncoder()


def table(head: str, rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the columns of the head are put apart by `|`."""
    columns = head.split("|")
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
