"""A killed process loses nothing that it acknowledged: the short form of `tests.faults.kills`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.batches import fill
from tests.faults.children import SCENARIOS
from tests.faults.kills import kills


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds some, and will soon have its index written."""
    directory = tmp_path_factory.mktemp("stocked")
    fill(directory)
    return directory


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_killed_processes_acknowledged_is_there(
    tmp_path: Path, stocked: Path, name: str
) -> None:
    directory = shutil.copytree(stocked, tmp_path / "copy")
    for kill in kills(directory, name, seed=1, aims=(None, None)):
        assert not kill.lost
        assert not kill.half


@pytest.mark.xfail(strict=False, reason="an index that is half written is not repaired yet")
@pytest.mark.parametrize("aim", ["data_level0.bin", "index_metadata.pickle"])
def test_what_was_acknowledged_is_there_when_the_kill_came_while_the_index_was_written(
    tmp_path: Path, stocked: Path, aim: str
) -> None:
    directory = shutil.copytree(stocked, tmp_path / "copy")
    [kill] = kills(directory, "batches", seed=2, aims=(aim,))
    assert aim in kill.newer
    assert not kill.lost
    assert not kill.half
