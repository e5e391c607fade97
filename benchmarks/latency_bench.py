"""A filled memory with the same records at the peers, in which one thing is measured by another."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.latency_data import (
    Owners,
    PreparedEmbeddings,
    embedded_text,
    questions,
    records_of,
)
from benchmarks.latency_mem0 import Mem0
from benchmarks.latency_peers import InMemory, LangChainChroma, Peer, RawChroma, open_chroma
from benchmarks.latency_timing import (
    OURS,
    Contender,
    Report,
    Timing,
    interleave,
    never,
    seconds_of,
)
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.chroma.calls import COLLECTION
from langgraph_memory.store.records import put_op

BATCH = 1_000
HOT_USERS = 8
QUESTIONS = questions(64)
MOST_IN_MEMORY = 200_000
"""LangGraph's own store takes some 16 KB a record: a million of them do not fit most machines."""


@dataclass
class Bench:
    """Our memory and the peers'."""

    folder: Path
    embeddings: PreparedEmbeddings
    owners: Owners
    repeat: int
    report: Report
    memory: Memory
    store: ChromaStore
    raw: RawChroma
    """The collection that our memory writes to: a write takes the longer, the more rows Chroma has
    not yet put into its index on disk, so writes are compared where they share them."""
    peers: list[Peer]
    """Those that keep the same records as their users would, each apart from ours."""
    written_peers: list[Peer]
    """Those that are written to: Chroma and langchain-chroma in `raw`, others in their own."""
    installed: list[str]
    """The peers that keep their records on disk and could be opened."""

    @property
    def hot(self) -> list[str]:
        """A few ordinary users who are written to."""
        return self.writers(min(self.owners.by_size))

    def writers(self, size: int) -> list[str]:
        """Return a few owners of a size who are written to."""
        names = self.owners.by_size[size]
        return (names[:-1] or names)[:HOT_USERS]

    def reader(self, size: int) -> str:
        """Return an owner of a size; written to only if they are the only one."""
        return self.owners.by_size[size][-1]

    @property
    def usual_size(self) -> int:
        """The largest size of an owner up to 1,000 records, else the smallest."""
        sizes = sorted(self.owners.by_size)
        return max((size for size in sizes if size <= 1_000), default=sizes[0])

    def measure(
        self,
        name: str,
        contenders: Sequence[Contender],
        *,
        block: int = 1,
        threads: int = 1,
        **facts: Any,
    ) -> list[Timing]:
        """Let contenders compete, and report it."""
        timings = interleave(contenders, rounds=self.repeat, block=block, threads=threads)
        live = self.embeddings.live
        self.report.add(name, contenders, timings, **facts, threads=threads, embedding=live)
        return timings

    def warm(self, users: Iterable[str]) -> None:
        """Bring the records of users into memory."""
        for user in users:
            self.memory.recall(QUESTIONS[0], user=user)


@contextmanager
def open_bench(
    embeddings: PreparedEmbeddings, owners: Owners, repeat: int, report: Report
) -> Iterator[Bench]:
    """Open everything in a temporary folder, empty."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        client = open_chroma(our_directory(folder))
        store = ChromaStore(client=client, embed=embeddings)
        bench = Bench(
            folder=folder,
            embeddings=embeddings,
            owners=owners,
            repeat=repeat,
            report=report,
            memory=Memory(store),
            store=store,
            raw=RawChroma(client, COLLECTION, embeddings),
            peers=[],
            written_peers=[],
            installed=[],
        )
        _add_peers(bench)
        try:
            yield bench
        finally:
            gc.unfreeze()
            bench.store.close()
            bench.raw.close()
            close_peers(bench)


def our_directory(folder: Path) -> Path:
    """Return where our memory lies."""
    return folder / "ours"


def openers(folder: Path, embeddings: PreparedEmbeddings) -> dict[str, Callable[[], Peer]]:
    """Return how each peer that keeps its records on disk is opened."""

    def chroma() -> RawChroma:
        return RawChroma(open_chroma(folder / "peer"), "peer", embeddings)

    return {
        RawChroma.library: chroma,
        LangChainChroma.library: lambda: LangChainChroma(chroma()),
        Mem0.library: lambda: Mem0(folder / "mem0", embeddings),
    }


def _add_peers(bench: Bench) -> None:
    for library, open_peer in openers(bench.folder, bench.embeddings).items():
        try:
            bench.peers.append(open_peer())
            bench.installed.append(library)
        except ImportError as error:
            missing = f"not installed, see the extra `bench`: {error}"
            bench.report.line("peer", library, missing=missing)
    if sum(size for _, size in bench.owners) <= MOST_IN_MEMORY:
        bench.peers.append(InMemory(bench.embeddings))
    for peer in bench.peers:
        match peer:
            case RawChroma():
                bench.written_peers.append(bench.raw)
            case LangChainChroma():
                bench.written_peers.append(LangChainChroma(bench.raw))
            case _:
                bench.written_peers.append(peer)


def close_peers(bench: Bench) -> None:
    """Close the peers' copies of the records."""
    while bench.peers:
        bench.peers.pop().close()


def reopen(bench: Bench, cache_bytes: int) -> float:
    """Open our memory anew, by its path; nothing can be measured in `raw` any more.

    Returns:
        How many seconds opening took.
    """
    bench.store.close()
    bench.raw.close()
    directory = our_directory(bench.folder)
    # `raw` wrote there as well, so that this opening examines the index; later ones need not.
    ChromaStore(directory, embed=bench.embeddings).close()
    began = perf_counter()
    bench.store = ChromaStore(directory, embed=bench.embeddings, cache_bytes=cache_bytes)
    seconds = perf_counter() - began
    bench.memory = Memory(bench.store)
    return seconds


def fill(bench: Bench, owners: Iterable[tuple[str, int]]) -> None:
    """Write records to all, a batch to each in turn.

    Args:
        bench: Where.
        owners: Users, with the number of their records.
    """
    records = (record for user, count in owners for record in records_of(user, count))
    ours, theirs = Timing(), {peer.library: Timing() for peer in bench.peers}
    written = 0
    while batch := list(islice(records, BATCH)):
        bench.embeddings.prepare([embedded_text(record) for record in batch])
        ops = [put_op(record) for record in batch]
        ours.seconds.append(seconds_of(partial(bench.store.batch, ops)))
        for peer in bench.peers:
            theirs[peer.library].seconds.append(seconds_of(partial(peer.fill, batch)))
        written += len(batch)
        bench.report.say(f"{written:,} records written")
    gc.collect()
    gc.freeze()  # the peers' records are none of our garbage collector's business
    total = bench.report.facts.get("records", 0) + written
    bench.report.facts = {"records": total, "users": bench.owners.count}
    filled = [peer for peer in bench.peers if "fill" in peer.calls]
    contenders = [Contender(OURS, "ChromaStore.batch", never)]
    contenders += [Contender(peer.library, peer.calls["fill"], never) for peer in filled]
    timings = [ours, *(theirs[peer.library] for peer in filled)]
    facts = {"batch": BATCH, "threads": 1, "embedding": False}
    bench.report.add("fill", contenders, timings, **facts)
