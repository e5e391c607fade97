from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from langgraph_memory import Memory, Sessions, open_sessions
from tests.graph.graphs import SURFACES, Shape, Way, nodes, opened, wrapped

SHAPES = {"nodes": nodes, "with_memory": wrapped}


WAYS = ["invoke", "ainvoke", "stream", "astream"]
DIAGONAL = [
    ("nodes", "invoke"),
    ("nodes", "astream"),
    ("with_memory", "stream"),
    ("with_memory", "ainvoke"),
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each shape a sync and an async way; all eight pairs would say little more."""
    if {"shape", "way"} <= set(metafunc.fixturenames):
        metafunc.parametrize("shape, way", DIAGONAL, indirect=True)
    elif "shape" in metafunc.fixturenames:
        metafunc.parametrize("shape", SHAPES, indirect=True)
    elif "way" in metafunc.fixturenames:
        metafunc.parametrize("way", WAYS, indirect=True)


@pytest.fixture(params=SURFACES)
def surface(request: pytest.FixtureRequest) -> Shape:
    """Each of the ways to put memory into a graph."""
    return SURFACES[request.param]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        yield memory


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    with open_sessions(tmp_path) as sessions:
        yield sessions


@pytest.fixture
def way(request: pytest.FixtureRequest) -> Way:
    return Way(request.param)


@pytest.fixture(params=["invoke", "ainvoke"])
def call(request: pytest.FixtureRequest) -> Way:
    """The two ways that differ most, where all of them would be the same test again."""
    return Way(request.param)


@pytest.fixture
def shape(request: pytest.FixtureRequest) -> Shape:
    return SHAPES[request.param]
