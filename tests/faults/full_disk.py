"""What processes do on a disk that fills up, while a thread of theirs shows that none stands still.

They run in processes of their own: a thread that Chroma keeps Python's lock from cannot be ended.
"""

from __future__ import annotations

import os
import random
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp

from langgraph_memory import StoreError, open_sessions
from langgraph_memory.testing import ScriptedChatModel
from tests.chroma.children import Pipe
from tests.chroma.support import open_store
from tests.faults.agent import THREAD, USER, reply
from tests.graph.graphs import nodes, opened, say

BEAT = 0.02  # seconds


class Heartbeat:
    """A thread that notes how long it was ever kept from running."""

    def __init__(self) -> None:
        self.longest = 0.0
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while True:
            start = time.monotonic()
            time.sleep(BEAT)
            self.longest = max(self.longest, time.monotonic() - start - BEAT)


def text(number: int, size: int = 20_000) -> str:
    """Return a text of words that no other has."""
    chance = random.Random(number)
    return " ".join(f"{chance.getrandbits(48):x}" for _ in range(size // 13))[:size]


def free(place: Path) -> int:
    """Return the free bytes of a disk."""
    stat = os.statvfs(place)
    return stat.f_bavail * stat.f_frsize


def ballast(place: Path, leave: int) -> Path:
    """Fill a disk but for so many bytes; return the file that does it."""
    file = place / "ballast"
    with file.open("ab", buffering=0) as opened_file:
        left = free(place) - leave
        with suppress(OSError):
            while left > 0:
                left -= opened_file.write(bytes(min(left, 1 << 20)))
    return file


@contextmanager
def files_that_end_at(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size: a want of space that no figure shows."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def errors_of(call: Callable[[int], object], numbers: range) -> dict[int, str]:
    """Call something with each number; return what those that failed said."""
    failed = {}
    for number in numbers:
        try:
            call(number)
        except StoreError as error:
            failed[number] = str(error)
    return failed


def put_until_full(pipe: Pipe, place: Path, writes: int) -> None:
    """Put notes of 20 kB, more than fit; report which failed, what is there, the longest halt."""
    heart = Heartbeat()
    with open_store(place / "memory") as store:

        def put(number: int) -> None:
            store.put(("notes",), str(number), {"text": text(number)})

        failed = errors_of(put, range(writes))
        there = {item.key for item in store.search(("notes",), limit=writes)}
    pipe.send((failed, there, heart.longest))


def have_turns(pipe: Pipe, place: Path, turns: int) -> None:
    """Have turns with a graph until its disk is full, and on; end them when there is room."""
    heart = Heartbeat()
    filled = ballast(place, 6 << 20)
    with opened(place / "memory") as memory, open_sessions(":memory:") as sessions:
        model = ScriptedChatModel([reply] * turns)
        graph = nodes(memory, model).compile(checkpointer=sessions.checkpointer)
        configs = [sessions.config(user=USER, thread_id=f"{THREAD}{n}") for n in range(turns)]

        def turn(number: int) -> None:
            said = f"order N{number}, to Rosario: {text(number)}"
            graph.invoke(say(said, id=f"m{number}"), configs[number])

        failed = errors_of(turn, range(turns))
        before = memory.count(user=USER)["message"]
        filled.unlink()
        for number in failed:
            graph.invoke(None, configs[number])
        answers = [graph.get_state(config).values["messages"][-1].text for config in configs]
        after = memory.count(user=USER)["message"]
    pipe.send((failed, answers, before, after, heart.longest))


def fail_again_and_again(pipe: Pipe, place: Path, rounds: int) -> None:
    """Let writes fail where there is room by all figures; report what each came to."""
    heart = Heartbeat()
    told: list[dict[str, Any]] = []
    with open_store(place) as store:
        store.put(("a",), "old", {"text": "as it was"})

        def found() -> dict[str, str]:
            return {item.key: item.value["text"] for item in store.search(("a",), limit=1_000)}

        for number in range(rounds):
            before = found()
            with files_that_end_at(_size(place) + 60_000 * (number % 3)):
                failed = errors_of(lambda n: store.put(("a",), "old", {"text": text(n)}), range(3))
                during = found()
            store.put(("a",), f"after {number}", {"text": "there is room"})
            told.append({"failed": failed, "before": before, "during": during, "after": found()})
        with files_that_end_at(_size(place) + 60_000):
            failed = errors_of(
                lambda n: store.put(("a",), f"last {n}", {"text": text(n)}), range(2)
            )
    with open_store(place) as store:
        told.append({"failed": failed, "after": found()})
    pipe.send((told, heart.longest))


def fail_and_wait(pipe: Pipe, place: Path) -> None:
    """Let the replacement of one item and the first put of another fail; wait for the end."""
    with opened(place) as memory:
        memory.store.put(("a",), "old", {"text": "as it was"})
        with files_that_end_at(_size(place) + 60_000):
            try:
                memory.store.batch(
                    [
                        PutOp(("a",), "old", {"text": text(1)}),
                        PutOp(("a",), "new", {"text": text(2)}),
                    ]
                )
            except StoreError as error:
                pipe.send(str(error))
            time.sleep(60)


def _size(place: Path) -> int:
    return (place / "chroma.sqlite3").stat().st_size
