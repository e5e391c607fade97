"""What reads: recalling owners whose records are in memory, and others, beside the peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter

from benchmarks.latency_bench import (
    QUESTIONS,
    Bench,
    close_peers,
    fill,
    openers,
    reopen,
)
from benchmarks.latency_peers import HITS, RawChroma
from benchmarks.latency_timing import OURS, Call, Contender, Timing, never, seconds_of
from langgraph_memory.records.owners import Owner

READERS = 8
QUICK = 5  # calls in a row of what takes a millisecond


def measure_warm(bench: Bench) -> None:
    """Measure recalling owners of each size, and one with the time of the embedder."""
    for size in sorted(bench.owners.by_size):
        for threads in (1, READERS):
            measure_recall(bench, bench.reader(size), size, threads)
    size = bench.usual_size
    bench.embeddings.live = True
    measure_recall(bench, bench.reader(size), size)
    bench.embeddings.live = False


def measure_larger_owner(bench: Bench, size: int) -> None:
    """Add an owner for whom there was no room, and measure recalling them."""
    owner = f"owner-{size}"
    bench.owners.by_size[size] = [owner]
    fill(bench, [(owner, size)])
    for threads in (1, READERS):
        measure_recall(bench, owner, size, threads)


def measure_recall(bench: Bench, user: str, size: int, threads: int = 1) -> None:
    """Measure recalling one owner, and searching their records at the peers."""
    namespace = Owner("user", user).namespace("message")[:-1]
    searches: list[tuple[str, str, Callable[[str], object]]] = [
        (OURS, "Memory.recall", lambda question: bench.memory.recall(question, user=user)),
        (
            OURS,
            "ChromaStore.search",
            lambda question: bench.store.search(namespace, query=question, limit=HITS),
        ),
    ]
    for peer in bench.peers:
        search = partial(peer.search, user=user)
        searches.append((peer.library, peer.calls["search"], search))
    contenders = [Contender(library, call, _asking(search)) for library, call, search in searches]
    bench.measure("recall.warm", contenders, block=QUICK, threads=threads, owner_records=size)


def _asking(search: Callable[[str], object]) -> Callable[[int], Call]:
    def prepare(number: int) -> Call:
        question = QUESTIONS[number % len(QUESTIONS)]
        return lambda: search(question)

    return prepare


def measure_cold(bench: Bench) -> None:
    """Measure the first recall of owners, by a memory opened on what is there.

    Its cache holds next to nothing, so that each recall of another owner is a first one.
    """
    user = bench.owners.ordinary[-1]
    opening = reopen(bench, cache_bytes=1)
    first = seconds_of(lambda: bench.memory.recall(QUESTIONS[0], user=user))
    _add_single(bench, "open", OURS, "ChromaStore(path)", opening)
    _add_single(bench, "recall.first", OURS, "Memory.recall", first)
    for size, users in sorted(bench.owners.by_size.items()):
        for threads in (1, READERS):
            if threads <= len(users):
                measure_first_recalls(bench, users, size, threads)
    measure_first_searches(bench)


def measure_first_searches(bench: Bench) -> None:
    """Measure opening each peer that keeps its records on disk, and the first search in it."""
    user = bench.owners.ordinary[-1]
    close_peers(bench)
    for library in bench.installed:
        open_peer = openers(bench.folder, bench.embeddings)[library]
        began = perf_counter()
        peer = open_peer()
        opening = perf_counter() - began
        first = seconds_of(partial(peer.search, QUESTIONS[0], user))
        peer.close()
        _add_single(bench, "open", library, "its client", opening)
        _add_single(bench, "recall.first", library, peer.calls["search"], first)


def _add_single(bench: Bench, name: str, library: str, call: str, seconds: float) -> None:
    contender = Contender(library, call, never)
    bench.report.add(name, [contender], [Timing([seconds])], threads=1, embedding=False)


def measure_first_recalls(bench: Bench, users: Sequence[str], size: int, threads: int) -> None:
    """Measure recalling owners whose records are not in memory."""

    (chroma,) = [peer for peer in bench.peers if isinstance(peer, RawChroma)]

    def ours(number: int) -> Call:
        user, question = users[number % len(users)], QUESTIONS[number % len(QUESTIONS)]
        bench.memory.recall("", user="nobody")  # whoever was in the cache leaves it
        return lambda: bench.memory.recall(question, user=user)

    def get(number: int) -> Call:
        return lambda: chroma.get(users[number % len(users)])

    contenders = [
        Contender(OURS, "Memory.recall, owner not in memory", ours),
        Contender("chromadb", "get of the owner's rows", get),
    ]
    bench.measure("recall.cold", contenders, threads=threads, owner_records=size)
