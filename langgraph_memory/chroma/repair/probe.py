"""Does Chroma read its index? Tried in a process of its own, where it can crash or hang.

This file is also the program that the process runs; it needs nothing but Chroma.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

_UNREADABLE = 3
_PAGE = 1_000
_SPARE = 64 * 1024 * 1024


def find_fault(directory: Path, collection: str, rows: int) -> str | None:
    """Return what happens when Chroma reads all vectors and searches once; `None` if it works.

    Args:
        directory: A directory that no process has open.
        collection: The name of the collection.
        rows: How many rows are expected, for the time limit: a minute and a second per 1,000.
    """
    if getattr(sys, "frozen", False):
        return None  # the executable is an application, and not Python
    limit = 60 + rows / 1_000
    # -P: the modules beside this file would hide others of the same names.
    command = [sys.executable, "-P", __file__, str(directory), collection]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"Chroma did not read the index in {limit:.0f} seconds"
    except OSError as error:
        logger.warning("the index of %s was not tried out: %s", directory, error)
        return None
    if done.returncode == _UNREADABLE:
        return f"Chroma cannot read the index: {done.stdout.strip()}"
    if done.returncode < 0 or done.returncode > 255:  # a signal; an exception of Windows
        return f"Chroma crashed on the index ({done.returncode})"
    if done.returncode:
        logger.warning("the index of %s was not tried out: %s", directory, done.stderr.strip())
    return None


def _try(directory: str, collection: str) -> str | None:
    import chromadb
    from chromadb.config import Settings
    from chromadb.errors import ChromaError

    _limit_files(Path(directory))
    try:
        client: Any = chromadb.PersistentClient(
            directory, settings=Settings(anonymized_telemetry=False)
        )
        rows = client.get_collection(collection, embedding_function=None)
        ids = rows.get(include=[])["ids"]
        vector = None
        for start in range(0, len(ids), _PAGE):
            page = rows.get(ids=ids[start : start + _PAGE], include=["embeddings"])
            vector = page["embeddings"][0]
        if vector is not None and not rows.query([vector], n_results=1, include=[])["ids"][0]:
            return "a search finds nothing"
    except (ChromaError, RuntimeError, ValueError, IndexError) as error:
        return str(error)
    return None


def _limit_files(directory: Path) -> None:
    """Let no file grow far: opening a half-written index, Chroma has made terabytes of one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    largest = max(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = 2 * largest + _SPARE if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))


if __name__ == "__main__":
    fault = _try(*sys.argv[1:])
    sys.stdout.write(fault or "")
    sys.stdout.flush()
    sys.exit(_UNREADABLE if fault else 0)
