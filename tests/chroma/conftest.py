"""Fixtures for the tests of the store."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_memory.chroma.store import ChromaStore
from tests.chroma import damaged
from tests.chroma.support import EMBED, Child, Do


@pytest.fixture
def store() -> Iterator[ChromaStore]:
    """A store in memory that compares words and indexes whole values."""
    with ChromaStore.in_memory(embed=EMBED) as store:
        yield store


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Do:
    """Call a method of a store, or its async twin: `await do(store, "put", ...)`."""
    is_async = request.param == "async"

    async def call(store: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if is_async:
            return await getattr(store, f"a{method}")(*args, **kwargs)
        return getattr(store, method)(*args, **kwargs)

    return call


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Start functions in processes of their own; all are gone at the end of the test."""
    started: list[Child] = []

    def start(target: Callable[..., None], *args: Any) -> Child:
        started.append(Child(target, *args))
        return started[-1]

    yield start
    for process in started:
        process.clean_up()


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Let threads take turns after every few instructions, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="session")
def _filled_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, damaged.Contents]:
    path = tmp_path_factory.mktemp("filled") / "memory"
    damaged.fill(path)
    assert (damaged.index_directory(path) / "index_metadata.pickle").exists()
    return path, damaged.contents(path)


@pytest.fixture
def filled(_filled_once: tuple[Path, damaged.Contents], tmp_path: Path) -> Path:
    """A directory of its own with `ITEMS` items and more, whose index is on disk."""
    return Path(shutil.copytree(_filled_once[0], tmp_path / "memory"))


@pytest.fixture
def before(_filled_once: tuple[Path, damaged.Contents]) -> damaged.Contents:
    """What `damaged.contents` says of `filled`."""
    return _filled_once[1]
