"""A process that is killed in the middle of a run loses nothing that it had acknowledged."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_memory import open_sessions
from tests.faults.talker import USER, build, have_turn, text
from tests.surfaces.graphs import opened, said, tasks

ROOT = Path(__file__).parents[2]


def killed_at_some_moment(path: Path, shape: str, first: int, chance: random.Random) -> list[int]:
    """Let the agent talk, kill it at a random moment, and return the turns that it acknowledged."""
    command = [sys.executable, "-m", "tests.faults.talker", str(path), shape, str(first)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(chance.randint(1, 4))]
    with pytest.raises(subprocess.TimeoutExpired):  # some moment of one of the next turns
        process.wait(timeout=chance.uniform(0, 0.1))
    process.kill()
    rest, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    return acknowledged + [int(line) for line in rest.splitlines()]


@pytest.mark.parametrize(("shape", "kills"), [("nodes", 3), ("with_memory", 2)])
def test_a_killed_agent_is_reopened_as_it_was_and_its_last_turn_can_be_had_again(
    tmp_path: Path, shape: str, kills: int
) -> None:
    chance = random.Random(shape)
    turns: list[int] = []
    for _ in range(kills):
        turns += killed_at_some_moment(tmp_path, shape, len(turns), chance)
        with opened(tmp_path) as memory, open_sessions(tmp_path) as sessions:
            kept = said(memory, USER)
            for number in turns:
                assert kept.count(f"user: {text(number)}") == 1
                assert kept.count(f"assistant: Noted: N{number}.") == 1
            interrupted = len(turns)
            have_turn(build(memory, sessions, shape), sessions, interrupted)
            turns.append(interrupted)
            assert turns == list(range(len(turns)))
            expected = [(f"user: {text(n)}", f"assistant: Noted: N{n}.") for n in turns]
            assert sorted(said(memory, USER)) == sorted(line for pair in expected for line in pair)
            assert sorted(tasks(memory, USER)) == sorted(text(n) for n in turns)
            hits = memory.recall(text(interrupted), user=USER).hits
            assert hits[0].text == text(interrupted)
