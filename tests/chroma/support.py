"""Small helpers that the tests of the store share."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.store.operations import Columns, Namespace, Scores, Searched, StoredItem
from langgraph_memory.testing import HashingEmbeddings
from langgraph_memory.text.bm25 import query_weights

Do = Callable[..., Awaitable[Any]]

EMBED = HashingEmbeddings(64)
START = datetime(2026, 1, 1, tzinfo=UTC)


def open_store(path: Path | str, **options: Any) -> ChromaStore:
    """Open a directory with an embedder that needs no model."""
    return ChromaStore(path, **{"embed": EMBED, **options})


def keys(items: Iterable[Any]) -> list[str]:
    return [item.key for item in items]


def cosine(a: str, b: str) -> float:
    """How near `EMBED` puts two texts to each other."""
    return float(np.dot(EMBED.embed_query(a), EMBED.embed_query(b)))


def stored_item(
    key: str,
    value: dict[str, Any] | None = None,
    *,
    texts: Iterable[str] = (),
    at: datetime = START,
    namespace: Namespace = ("a",),
) -> StoredItem:
    """Make an item as the store holds it in memory, with the vectors of its texts."""
    given = tuple(texts)
    vectors = np.array(EMBED.embed_documents(list(given)), np.float32).reshape(len(given), 64)
    size = len(str(value))
    return StoredItem(namespace, key, value or {}, at, at, given, vectors, size=size)


class Sum:
    """A ranker that adds cosine similarity and BM25.

    Args:
        query: Whose words are looked for.
    """

    columns: type[Columns] | None = None

    def __init__(self, query: str) -> None:
        self.query = query

    def __call__(self, searched: Sequence[Searched]) -> list[dict[str, Scores]]:
        weights = query_weights(self.query, [(each.lexical, each.alive) for each in searched])
        scores = []
        for each in searched:
            bm25, coverage = each.lexical.scores(weights, each.alive)
            parts = {"cosine": each.cosine, "bm25": bm25, "coverage": coverage}
            scores.append({**parts, "relevance": each.cosine + bm25})
        return scores


@contextmanager
def chroma_refuses(directory: Path, when: str = "1") -> Iterator[None]:
    """Make Chroma's own writes to a directory fail, as a full disk would.

    Args:
        directory: A directory that is open.
        when: Which rows of Chroma's write-ahead log are refused, as SQL.
    """
    trigger = (
        f"CREATE TRIGGER refuse BEFORE INSERT ON embeddings_queue WHEN {when} "
        "BEGIN SELECT RAISE(ABORT, 'no space left'); END"
    )
    _change_schema(directory, trigger)
    try:
        yield
    finally:
        _change_schema(directory, "DROP TRIGGER refuse")


@contextmanager
def rows_refused(directory: Path | str) -> Iterator[None]:
    """Make Chroma fail between its log, which takes a write, and its rows, which do not."""
    trigger = (
        "CREATE TRIGGER refuse BEFORE INSERT ON embedding_metadata "
        "BEGIN SELECT RAISE(ABORT, 'no space left'); END"
    )
    _change_schema(Path(directory), trigger)
    try:
        yield
    finally:
        _change_schema(Path(directory), "DROP TRIGGER refuse")


def _change_schema(directory: Path, sql: str) -> None:
    # In a process of its own: SQLite's locks do not hold between two of it in one process, and
    # Chroma brings its own.
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1], 30).execute(sys.argv[2])"
    file = directory / "chroma.sqlite3"
    subprocess.run([sys.executable, "-c", program, str(file), sql], check=True, timeout=60)


DELETIONS = "NEW.operation = 3"
"""For `chroma_refuses`: only what Chroma deletes."""


class Child:
    """A function that runs in a process of its own and is given a pipe to report through."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        # A server forks the children before it uses Chroma: they start in milliseconds.
        context.set_forkserver_preload(["chromadb", target.__module__])
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *args), daemon=True)
        self._process.start()
        theirs.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def receive(self) -> Any:
        """Wait for the child's next report."""
        assert self.pipe.poll(60), "the child says nothing"
        return self.pipe.recv()

    def kill(self) -> list[Any]:
        """End the child with SIGKILL; return the reports that were still in the pipe."""
        self._process.kill()
        self._process.join()
        left = []
        while True:
            try:
                left.append(self.pipe.recv())
            except (EOFError, ConnectionResetError):
                return left

    @property
    def exitcode(self) -> int | None:
        """How the child ended: the number of a signal is negative."""
        return self._process.exitcode

    def end(self) -> None:
        """Let the child go on to its end."""
        self.pipe.close()
        self._process.join()

    def clean_up(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._process.close()
        self.pipe.close()
