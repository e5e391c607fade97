"""Directories whose index is on disk, and what the tests of repair and compaction do to them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp

from langgraph_memory.chroma.calls import COLLECTION, persistent_client
from langgraph_memory.chroma.local_calls import Room
from langgraph_memory.chroma.repair import rebuild
from langgraph_memory.chroma.repair.maintenance import reembed
from langgraph_memory.chroma.store import ChromaStore
from langgraph_memory.models.embedder import fingerprint_from_metadata
from langgraph_memory.testing import HashingEmbeddings
from tests.chroma.support import Child

Start = Callable[..., Child]
Contents = dict[str, Any]

ITEMS = 1_010
"""Chroma writes its index files when it has got 1,000 rows."""

HASHING = HashingEmbeddings(64)
OTHER = HashingEmbeddings(96)


def hashing(texts: Sequence[str]) -> list[list[float]]:
    """An embedder that is known by what it makes of a text."""
    return HASHING.embed_documents(list(texts))


def other(texts: Sequence[str]) -> list[list[float]]:
    """Another embedder, with other dimensions."""
    return OTHER.embed_documents(list(texts))


def open_filled(path: Path, **options: Any) -> ChromaStore:
    return ChromaStore(path, **{"embed": hashing, **options})


def fill(path: Path) -> None:
    """Write items with one text, with two, and with none."""
    puts = [
        PutOp(("user", str(i % 3)), f"k{i}", {"t": [f"moka pot {i}"], "n": i}, ["t[*]"])
        for i in range(ITEMS)
    ]
    puts.append(PutOp(("two",), "k", {"t": ["green tea", "blue cup"]}, ["t[*]"]))
    puts.append(PutOp(("none",), "k", {"t": ["unseen"]}, index=False))
    with open_filled(path) as store:
        store.batch(puts)


def contents(path: Path, **options: Any) -> Contents:
    """Open a directory and return all that it holds and finds."""
    with open_filled(path, **options) as store:
        found = store.search((), limit=10_000)
        hits = [
            (query, item.key, round(item.score or 0, 4))
            for query in ("moka pot 7", "moka pot 1009", "blue cup")
            for namespace in (("user", "1"), ("two",))
            for item in store.search(namespace, query=query, limit=5)
        ]
        return {
            "items": {
                (item.namespace, item.key): (item.value, item.created_at, item.updated_at)
                for item in found
            },
            "hits": hits,
            "namespaces": store.list_namespaces(),
        }


def index_directory(path: Path) -> Path:
    """Return the directory in which Chroma keeps our collection's index."""
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as connection:
        (segment,) = connection.execute(
            "SELECT segments.id FROM segments JOIN collections ON collections.id = collection "
            "WHERE name = ? AND scope = 'VECTOR'",
            (COLLECTION,),
        ).fetchone()
    return path / str(segment)


def collections(path: Path) -> list[str]:
    """Return the names of the collections of a directory that is not open."""
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM collections")]


def index_directories(path: Path) -> list[Path]:
    return [child for child in path.iterdir() if child.is_dir() and len(child.name) == 36]


def plain_search(pipe: Any, path: str, texts: list[str]) -> None:
    """Report which texts Chroma's own index finds a row with the vector of, and count its rows."""
    client = persistent_client(Path(path))
    rows = client.get_collection(COLLECTION, embedding_function=None)
    found = rows.query(hashing(texts), n_results=1, include=["distances"])["distances"]
    reached = [text for text, (distance,) in zip(texts, found, strict=True) if distance < 1e-4]
    count = rows.count()
    client.close()
    pipe.send((reached, count))


# -- processes that die ---------------------------------------------------------------------------


class Dying:
    """A Chroma client whose process ends before or after it deletes a collection."""

    def __init__(self, client: Any, after: bool) -> None:
        self._client = client
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def delete_collection(self, name: str) -> None:
        if self._after:
            self._client.delete_collection(name)
        os._exit(1)


def die_while_replacing(pipe: Any, path: str, step: str) -> None:
    """Rebuild a collection from its own vectors, and end at a step."""
    client = persistent_client(Path(path))
    rows = client.get_collection(COLLECTION, embedding_function=None)
    fingerprint = fingerprint_from_metadata(rows.metadata)
    assert fingerprint is not None

    def progress(done: int, total: int) -> None:
        if step == "half" or (step == "copied" and done == total):
            os._exit(1)

    dying = Dying(client, after=step == "deleted") if step in ("complete", "deleted") else client
    rebuild.rebuild(dying, fingerprint, rebuild.copied_vectors, progress, Room(Path(path)))
    os._exit(1)


def die_while_repairing(pipe: Any, path: str) -> None:
    """Open a directory whose index is broken, and end after a page of texts was embedded."""
    embedded = 0

    def embed(texts: Sequence[str]) -> list[list[float]]:
        nonlocal embedded
        embedded += len(texts)
        if embedded > 501:
            os._exit(1)
        return hashing(texts)

    open_filled(Path(path), embed=embed)


def reembed_slowly(pipe: Any, path: str) -> None:
    """Embed a directory anew, and report the progress."""
    reembed(path, other, on_progress=lambda done, _: pipe.send(done))


# -- small disks ----------------------------------------------------------------------------------


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Callable[[str], None]]:
    """Mount a file system in memory; yield what remounts it with other options.

    Skips the test where that is not allowed.
    """
    place.mkdir()

    def mount(options: str) -> subprocess.CompletedProcess[str]:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)

    def remount(options: str) -> None:
        for attempt in range(50):  # Chroma lets go of its files a little after it was closed
            done = mount(f"remount,{options}")
            if done.returncode == 0:
                return
            time.sleep(0.1 * (attempt < 49))
        raise AssertionError(done.stderr)

    if shutil.which("mount") is None or mount(f"size={megabytes}m").returncode:
        pytest.skip("a file system of a given size can be mounted by root on Linux only")
    try:
        yield remount
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True, timeout=20)
