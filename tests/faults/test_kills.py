"""A killed process loses nothing that it acknowledged: the short form of `tests.faults.kills`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.batches import Batches, batch, fill
from tests.faults.kills import kills
from tests.faults.scenario import examine
from tests.graph.graphs import opened


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds some items, and whose index will soon be written."""
    directory = tmp_path_factory.mktemp("stocked")
    fill(directory)
    return directory


@pytest.fixture
def copy(tmp_path: Path, stocked: Path) -> Path:
    return shutil.copytree(stocked, tmp_path / "copy")


@pytest.mark.parametrize(
    ("name", "aims"),
    [
        ("batches", ["index_metadata.pickle", None]),
        pytest.param("nodes", ["data_level0.bin"], marks=pytest.mark.slow),
        pytest.param("repetitions", [None, None], marks=pytest.mark.slow),
        ("verbs", [None]),
        pytest.param("with_memory", [None, None], marks=pytest.mark.slow),
    ],
    ids=["batches", "nodes", "repetitions", "verbs", "with_memory"],
)
def test_what_killed_processes_acknowledged_is_there_when_their_directory_is_reopened(
    copy: Path, name: str, aims: list[str | None]
) -> None:
    done = list(kills(copy, name, seed=1, aims=aims))
    assert [kill.lost for kill in done] == [[] for _ in aims]
    assert not any(kill.half for kill in done)
    assert all(kill.aim is None or kill.aim in kill.newer for kill in done)


def test_what_is_otherwise_than_acknowledged_is_told(copy: Path) -> None:
    ops = batch(3, 0)
    missing, changed, unindexed = [op for op in ops if op.value and op.value["texts"]][:3]
    deleted = next(op for op in ops if op.value is None and op.key.startswith("s"))
    value = {"name": "another", "texts": []}
    with opened(copy) as memory:
        scenario = Batches(memory.store, seed=3)
        scenario.step(0)
        memory.store.batch(
            [
                missing._replace(value=None),
                changed._replace(value=value, index=False),
                deleted._replace(value=value, index=False),
                unindexed._replace(index=False),
            ]
        )
        verdict = examine(scenario, 1)
    assert verdict.in_flight == "absent"
    for op, told in (
        (missing, "None instead of {"),
        (changed, "'another', 'texts': []} instead of {"),
        (deleted, "'another', 'texts': []} instead of None"),
        (unindexed, "not the first to be found by"),
    ):
        assert any(op.key in line and told in line for line in verdict.lost)


def test_half_of_a_batch_is_told(copy: Path) -> None:
    with opened(copy) as memory:
        memory.store.batch(batch(3, 0)[:4])
        verdict = examine(Batches(memory.store, seed=3), 0)
    assert (verdict.in_flight, verdict.half, verdict.lost) == ("part", True, ())
