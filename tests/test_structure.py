"""The package does not grow more scattered: what a reader pays for has an upper bound each.

A bound is what was reached; lower it when a change makes it lower.
"""

from __future__ import annotations

import pytest

from tests import structure

BOUNDS = {
    "files in the root": 4,
    "modules": 210,
    "modules of a warm recall": 36,
    "functions of a warm recall": 309,
    "modules of a graph turn": 69,
    "functions of a graph turn": 641,
    "names defined twice": 2,
    "written twice": 48,
    "lines of code": 24_129,
}


@pytest.fixture(scope="module")
def counted() -> dict[str, int]:
    return structure.counted()


@pytest.mark.parametrize("name", BOUNDS)
def test_the_structure_stays_within_its_bounds(name: str, counted: dict[str, int]) -> None:
    assert counted[name] <= BOUNDS[name]
