"""What reads: recalling owners whose records are in memory, and others, beside the peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from benchmarks.latency_bench import QUESTIONS, Bench, fill, reopen
from benchmarks.latency_timing import OURS, Call, Contender, Timing, never

READERS = 8
QUICK = 5  # calls in a row of what takes a millisecond


def measure_warm(bench: Bench) -> None:
    """Measure recalling owners of each size, and one with the time of the embedder."""
    if bench.langchain is None:
        missing = "not installed: pip install langchain-chroma"
        bench.report.line("recall.warm", "langchain-chroma", missing=missing)
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
    searches: list[tuple[str, str, Callable[[str], object]]] = [
        (OURS, "Memory.recall", lambda question: bench.memory.recall(question, user=user)),
        (
            "langgraph",
            "InMemoryStore.search",
            lambda question: bench.in_memory.search(("memory", user), query=question, limit=10),
        ),
        ("chromadb", "query, where user", lambda question: bench.peer.query(question, user)),
    ]
    if bench.langchain is not None:
        filter = {"user": user}
        searches.append(
            (
                "langchain-chroma",
                "similarity_search, filter user",
                lambda question: bench.langchain.similarity_search(question, k=10, filter=filter),
            )
        )
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
    opening = reopen(bench, cache_bytes=1)
    began = perf_counter()
    bench.warm(bench.owners.ordinary[-1:])
    first = perf_counter() - began
    for name, call, seconds in (
        ("open", "ChromaStore(path)", opening),
        ("recall.first", "Memory.recall, the first after opening", first),
    ):
        contender = Contender(OURS, call, never)
        bench.report.add(name, [contender], [Timing([seconds])], threads=1, embedding=False)
    for size, users in sorted(bench.owners.by_size.items()):
        for threads in (1, READERS):
            if threads <= len(users):
                measure_first_recalls(bench, users, size, threads)


def measure_first_recalls(bench: Bench, users: Sequence[str], size: int, threads: int) -> None:
    """Measure recalling owners whose records are not in memory."""

    def ours(number: int) -> Call:
        user, question = users[number % len(users)], QUESTIONS[number % len(QUESTIONS)]
        bench.memory.recall("", user="nobody")  # whoever was in the cache leaves it
        return lambda: bench.memory.recall(question, user=user)

    def get(number: int) -> Call:
        return lambda: bench.peer.get(users[number % len(users)])

    contenders = [
        Contender(OURS, "Memory.recall, owner not in memory", ours),
        Contender("chromadb", "get of the owner's rows", get),
    ]
    bench.measure("recall.cold", contenders, threads=threads, owner_records=size)
