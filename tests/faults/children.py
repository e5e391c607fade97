"""What the processes do that are killed, and those that reopen; each reports through a pipe."""

from __future__ import annotations

import itertools
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from langgraph_memory import Memory, Sessions, open_sessions
from tests.chroma.children import Pipe
from tests.faults.agent import Agent
from tests.faults.batches import Batches
from tests.faults.repetitions import Repetitions
from tests.faults.scenario import Scenario, Verdict, examine
from tests.faults.verbs import Verbs
from tests.graph.graphs import nodes, opened, wrapped

SCENARIOS: dict[str, Callable[[Memory, Sessions, int], Scenario]] = {
    "batches": lambda memory, _, seed: Batches(memory.store, seed),
    "verbs": lambda memory, _, seed: Verbs(memory, seed),
    "repetitions": lambda memory, *_: Repetitions(memory),
    "nodes": lambda memory, sessions, _: Agent(memory, sessions, nodes),
    "with_memory": lambda memory, sessions, _: Agent(memory, sessions, wrapped),
}


_LARGEST_FILE = 64 * 1024 * 1024  # bytes; what is written takes some three million


@contextmanager
def _scenario(name: str, directory: Path, seed: int) -> Iterator[Scenario]:
    # Chroma makes terabytes of some broken indexes when it opens them: that ends the process here.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    with opened(directory) as memory, open_sessions(directory) as sessions:
        yield SCENARIOS[name](memory, sessions, seed)


def work(pipe: Pipe, name: str, directory: Path, seed: int, first: int) -> None:
    """Take one step after the other, and report the number of each when it is acknowledged."""
    with _scenario(name, directory, seed) as scenario:
        for number in itertools.count(first):
            scenario.step(number)
            pipe.send(number)


def judge(pipe: Pipe, name: str, directory: Path, seed: int, steps: int) -> None:
    """Report the verdict on a directory in which so many steps were acknowledged."""
    try:
        with _scenario(name, directory, seed) as scenario:
            verdict = examine(scenario, steps)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is reported
        verdict = Verdict.unusable(f"{type(error).__name__}: {error}")
    pipe.send(verdict)
