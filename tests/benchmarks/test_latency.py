"""The latency benchmark, too small to say how long anything takes: that it runs, and tells all."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks import latency, latency_timing
from benchmarks.latency_data import Owners, records_of
from benchmarks.latency_timing import Contender, interleave

NAMES = """run machine import fill log_turn remember put put_100 delete graph_turn graph_turn.added
recall.warm open recall.first recall.cold memory.reader memory.peak""".split()
PEERS = {"langgraph", "chromadb", "langchain-chroma"} | ({"mem0"} if find_spec("mem0") else set())

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines() -> Lines:
    printed = io.StringIO()
    with redirect_stdout(printed):
        latency.main("--records 80 --owner-sizes 4 10 30 --repeat 1".split())
    return [json.loads(line) for line in printed.getvalue().splitlines()]


def of(lines: Lines, name: str) -> Lines:
    return [line for line in lines if line["name"] == name]


@pytest.mark.slow
def test_every_measure_is_printed_as_a_line_of_json(lines: Lines) -> None:
    names = [line["name"] for line in lines if "missing" not in line]
    assert list(dict.fromkeys(names)) == NAMES


@pytest.mark.slow
def test_a_line_says_what_was_measured_and_how_often(lines: Lines) -> None:
    for line in lines:
        if "n" not in line:
            continue
        assert line["n"] >= 1
        assert 0 < line["median_ms"] <= line["p95_ms"]
        assert isinstance(line["embedding"], bool)
        assert line["call"]
        assert line["name"] == "import" or line["records"] >= 80


@pytest.mark.slow
def test_peers_are_measured_beside_recall_with_one_thread_and_with_many(lines: Lines) -> None:
    for threads in (1, 8):
        peers = {line["library"] for line in of(lines, "recall.warm") if line["threads"] == threads}
        assert peers == {"langgraph_memory"} | PEERS
    assert all("ratio" in line for line in of(lines, "log_turn") if line["library"] == "chromadb")
    assert not any("ratio" in line for line in lines if line["library"] == "langgraph_memory")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["put", "put_100", "delete"])
def test_peers_are_measured_beside_each_way_of_writing(lines: Lines, name: str) -> None:
    assert {line["library"] for line in of(lines, name)} == {"langgraph_memory"} | PEERS
    assert all("ratio" in line for line in of(lines, name) if line["library"] in PEERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["open", "recall.first", "memory.reader"])
def test_what_keeps_records_on_disk_is_opened_anew(lines: Lines, name: str) -> None:
    assert {line["library"] for line in of(lines, name)} == {"langgraph_memory"} | PEERS - {
        "langgraph"
    }


@pytest.mark.slow
def test_a_peer_that_is_not_installed_is_named_and_passed_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "langchain_chroma", None)
    monkeypatch.setitem(sys.modules, "mem0", None)
    latency.main("--records 20 --owner-sizes 4 5 --repeat 1 --measure writes".split())
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    missing = [line for line in found if "missing" in line]
    assert [line["library"] for line in missing] == ["langchain-chroma", "mem0"]
    assert all("bench" in line["missing"] for line in missing)
    assert {line["library"] for line in of(found, "put")} == {
        "langgraph_memory",
        "langgraph",
        "chromadb",
    }


@pytest.mark.slow
def test_it_also_runs_by_its_path(tmp_path: Path) -> None:
    command = [sys.executable, str(Path(latency.__file__)), "--help"]
    done = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert "--users" in done.stdout


@pytest.mark.slow
def test_importing_the_package_loads_nothing_heavy(lines: Lines) -> None:
    first = of(lines, "import")[0]
    assert (first["call"], first["loads"]) == ("import langgraph_memory", [])


@pytest.mark.slow
def test_an_owner_for_whom_there_was_no_room_is_added_at_the_end(lines: Lines) -> None:
    sizes = {line["owner_records"]: line["records"] for line in of(lines, "recall.warm")}
    assert sizes == {4: 80, 10: 80, 30: 110}


def test_owners_share_all_records() -> None:
    owners = Owners.of(1_000, None, [10, 50])
    assert sum(size for _, size in owners) == 1_000
    assert len(owners.by_size[50]) == 5
    assert owners.count == len({name for name, _ in owners}) == 80
    assert Owners.of(100, 7, [10]).by_size.keys() == {14, 15}


def test_records_of_a_user_are_the_same_each_time_and_of_every_type() -> None:
    records = list(records_of("ana", 20))
    assert records == list(records_of("ana", 20))
    assert {record.type for record in records} == {"note", "message", "episode"}
    assert len({record.id for record in records}) == 20


def test_contenders_take_turns_each_is_the_first_in_some_round() -> None:
    called: list[tuple[str, int]] = []

    def contender(name: str) -> Contender:
        return Contender(name, "", lambda number: lambda: called.append((name, number)))

    timings = interleave([contender("a"), contender("b")], rounds=2, block=2)
    turns = [("a", [0]), ("b", [0]), ("a", [2, 3]), ("b", [2, 3]), ("b", [4, 5]), ("a", [4, 5])]
    assert called == [(name, number) for name, numbers in turns for number in numbers]
    assert [len(timing.seconds) for timing in timings] == [4, 4]


def test_what_takes_long_is_called_once_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency_timing, "_SLOW", 0.0)
    contender = Contender("a", "", lambda number: lambda: None)
    (timing,) = interleave([contender], rounds=2, block=5)
    assert len(timing.seconds) == 2


def test_threads_call_at_once_and_never_with_the_same_number() -> None:
    numbers: list[int] = []
    contender = Contender("a", "", lambda number: lambda: numbers.append(number))
    (timing,) = interleave([contender], rounds=1, block=2, threads=3)
    assert sorted(numbers) == [0, *range(6, 12)]
    assert len(timing.seconds) == 6
