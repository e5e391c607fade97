"""Kills processes that write to a directory, and reopens it to see what is there.

    python -m tests.faults.kills --times 200
    python -m tests.faults.kills --times 200 --keep DIR    keeps directories that lost something

A part of the kills waits until the process writes Chroma's index; the others come at any moment.
Prints a JSON line for each kill and one for all; exits with 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.chroma.support import Child
from tests.faults.batches import fill
from tests.faults.children import SCENARIOS, judge, work
from tests.faults.persist import FILES, Index
from tests.faults.scenario import Verdict

_PATIENCE = 60.0  # seconds for what takes two or three


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill, and what was there afterwards."""

    scenario: str
    seed: int
    aim: str | None
    """The index file that was being written when the kill was sent; `None` for any moment."""
    newer: Sequence[str]
    """The index files that the process had written."""
    in_persist: bool
    """Whether the index was left half written."""
    acknowledged: int
    """Steps that the process had acknowledged."""
    steps: int
    """The same with the steps of the processes before it in the directory."""
    in_flight: str
    """How much of the step after them is there."""
    half: bool
    """Whether it is there in part although it was one write."""
    lost: Sequence[str]
    reopened: bool
    repaired: bool
    """Whether a folder came or went when the directory was reopened."""
    seconds: float


def kills(
    directory: Path, name: str, seed: int, aims: Sequence[str | None], keep: Path | None = None
) -> Iterator[Kill]:
    """Kill one process after the other in a directory, until one leaves it in a wrong state.

    Args:
        directory: A directory that was filled by `fill`.
        name: What the processes do, one of `SCENARIOS`.
        seed: Decides what they write, and as far as the machine lets it when they are killed.
        aims: For each kill the index file whose writing it waits for, or `None`.
        keep: Where a directory in a wrong state is kept as the kill left it.
    """
    chance = random.Random(seed)
    steps = 0
    for aim in aims:
        start = time.monotonic()
        index = Index(directory)
        acknowledged, failed = _killed((name, directory, seed, steps), index, aim, chance)
        steps += acknowledged
        newer, in_persist, folders = index.newer(), index.is_half_written(), _folders(directory)
        kept = keep and shutil.copytree(directory, keep / f"{seed}-{name}-{aim or 'any'}")
        verdict = _reopened(name, directory, seed, steps)
        kill = Kill(
            scenario=name,
            seed=seed,
            aim=aim,
            newer=newer,
            in_persist=in_persist,
            acknowledged=acknowledged,
            steps=steps,
            in_flight=verdict.in_flight,
            half=verdict.half,
            lost=[*failed, *verdict.lost],
            reopened=verdict.usable,
            repaired=_folders(directory) != folders,
            seconds=round(time.monotonic() - start, 2),
        )
        wrong = kill.lost or kill.half
        if kept and not wrong:
            shutil.rmtree(kept)
        yield kill
        if wrong:
            return
        steps += 1  # the interrupted one, which was taken again


def _killed(
    task: tuple[str, Path, int, int], index: Index, aim: str | None, chance: random.Random
) -> tuple[int, list[str]]:
    """Let a process work and kill it.

    Returns:
        How many steps it acknowledged, and how it ended if it did so before.
    """
    child = Child(work, *task)
    acknowledged = 0
    try:
        if aim is None:
            with suppress(EOFError):
                for _ in range(chance.randint(0, 4)):
                    child.receive()
                    acknowledged += 1
            time.sleep(chance.uniform(0, 0.1))
        else:
            index.wait_for(aim, _PATIENCE)
            if aim not in FILES[-2:]:  # from there on it takes half a millisecond
                time.sleep(chance.uniform(0, 0.003))
        acknowledged += len(child.kill())
        if child.exitcode == -signal.SIGKILL:
            return acknowledged, []
        return acknowledged, [f"the next step: the process ended by {_ending(child)}"]
    finally:
        child.clean_up()


def _reopened(*task: Any) -> Verdict:
    """Let a new process open the directory, and return what it finds."""
    child = Child(judge, *task)
    try:
        if not child.pipe.poll(_PATIENCE):
            return Verdict.unusable(f"no answer after {_PATIENCE:.0f} seconds")
        verdict: Verdict = child.pipe.recv()
        child.end()
        return verdict
    except EOFError:
        child.end()
        return Verdict.unusable(f"the process ended by {_ending(child)}")
    finally:
        child.clean_up()


def _ending(child: Child) -> str:
    code = child.exitcode or 0
    return signal.Signals(-code).name if code < 0 else f"itself, with {code}"


def _folders(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.is_dir()}


# -- many of them ---------------------------------------------------------------------------------


def many(folder: Path, seed: int, keep: Path | None) -> Iterator[Kill]:
    """Kill for ever, in one copy after the other of a directory."""
    stocked, copy = folder / "stocked", folder / "copy"
    fill(stocked)
    for number in itertools.count(seed):
        shutil.copytree(stocked, copy)
        yield from kills(copy, *plan(number), keep=keep)
        shutil.rmtree(copy)


def plan(number: int) -> tuple[str, int, tuple[str | None, ...]]:
    """Return what is done in a copy, its seed, and the aims of its kills.

    Each scenario and each file have their turn; every other copy is killed at any moment alone.
    """
    turn = number // 2
    aims = (None,) if number % 2 else (FILES[turn % len(FILES)], None)
    return list(SCENARIOS)[turn % len(SCENARIOS)], number, aims


def summary(all_kills: Sequence[Kill]) -> dict[str, Any]:
    """Return the sums."""
    return {
        "kills": len(all_kills),
        "aimed": sum(kill.aim is not None for kill in all_kills),
        "in_persist": sum(kill.in_persist for kill in all_kills),
        "reopened": sum(kill.reopened for kill in all_kills),
        "acknowledged": sum(kill.acknowledged for kill in all_kills),
        "lost": sum(bool(kill.lost) for kill in all_kills),
        "half_batches": sum(kill.half for kill in all_kills),
        "repairs": sum(kill.repaired for kill in all_kills),
        "seconds": round(sum(kill.seconds for kill in all_kills)),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.kills")
    parser.add_argument("--times", type=int, default=200, help="how many kills (200)")
    parser.add_argument("--seed", type=int, default=0, help="of what is written (0)")
    parser.add_argument(
        "--keep", type=Path, help="a new folder for directories that lost something"
    )
    options = parser.parse_args(arguments)
    if options.keep is not None:
        options.keep.mkdir(parents=True)  # an empty one: what is kept is named by its seed
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for kill in itertools.islice(many(Path(folder), options.seed, options.keep), options.times):
            _say(asdict(kill))
            done.append(kill)
    total = summary(done)
    _say(total)
    return 1 if total["lost"] or total["half_batches"] else 0


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
