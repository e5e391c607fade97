"""A filled memory with the same records at the peers, in which one thing is measured by another."""

from __future__ import annotations

import gc
import random
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from benchmarks.latency_data import (
    Owners,
    PreparedEmbeddings,
    embedded_text,
    questions,
    records_of,
    sentence,
)
from benchmarks.latency_peers import (
    RawChroma,
    in_memory_op,
    in_memory_store,
    langchain_chroma,
    open_chroma,
)
from benchmarks.latency_timing import OURS, Contender, Report, Timing, interleave, never
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.clock import utc_now
from langgraph_memory.operations import put_op
from langgraph_memory.records import Message
from langgraph_memory.scope import Owner
from langgraph_memory.store.collection import COLLECTION

BATCH = 1_000
HOT_USERS = 8
QUESTIONS = questions(64)

dice = random.Random(3)


@dataclass
class Bench:
    """Our memory and the peers'."""

    directory: Path
    """Where our memory lies."""
    embeddings: PreparedEmbeddings
    owners: Owners
    repeat: int
    report: Report
    memory: Memory
    store: ChromaStore
    raw: RawChroma
    """The collection that our memory writes to: a write takes the longer, the more rows Chroma has
    not yet put into its index on disk, so writes are compared where they share them."""
    peer: RawChroma
    """A collection with the same records as a user of Chroma alone would keep them."""
    langchain: Any
    """langchain-chroma on `peer`, or `None`."""
    in_memory: InMemoryStore

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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        directory = Path(folder, "ours")
        ours, beside = open_chroma(directory), open_chroma(Path(folder, "peer"))
        store = ChromaStore(client=ours, embed=embeddings)
        peer = RawChroma(beside, "peer", embeddings)
        bench = Bench(
            directory=directory,
            embeddings=embeddings,
            owners=owners,
            repeat=repeat,
            report=report,
            memory=Memory(store),
            store=store,
            raw=RawChroma(ours, COLLECTION, embeddings),
            peer=peer,
            langchain=langchain_chroma(peer, embeddings),
            in_memory=in_memory_store(embeddings),
        )
        try:
            yield bench
        finally:
            gc.unfreeze()
            bench.store.close()
            ours.close()
            beside.close()


def reopen(bench: Bench, cache_bytes: int) -> float:
    """Open our memory anew, by its path; nothing can be measured in `raw` any more.

    Returns:
        How many seconds opening took.
    """
    bench.store.close()
    bench.raw.client.close()
    began = perf_counter()
    bench.store = ChromaStore(bench.directory, embed=bench.embeddings, cache_bytes=cache_bytes)
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
    ours, peer = Timing(), Timing()
    written = 0
    while batch := list(islice(records, BATCH)):
        bench.embeddings.prepare([embedded_text(record) for record in batch])
        ops = [put_op(record) for record in batch]
        began = perf_counter()
        bench.store.batch(ops)
        between = perf_counter()
        bench.peer.upsert(batch)
        peer.seconds.append(perf_counter() - between)
        ours.seconds.append(between - began)
        bench.in_memory.batch([in_memory_op(record) for record in batch])
        written += len(batch)
        bench.report.say(f"{written:,} records written")
    gc.collect()
    gc.freeze()  # the peers' records are none of our garbage collector's business
    total = bench.report.facts.get("records", 0) + written
    bench.report.facts = {"records": total, "users": bench.owners.count}
    contenders = [
        Contender(OURS, f"ChromaStore.batch, up to {BATCH:,} puts", never),
        Contender("chromadb", f"upsert of up to {BATCH:,} rows", never),
    ]
    bench.report.add("fill", contenders, [ours, peer], threads=1, embedding=False)


def new_turn() -> list[HumanMessage | AIMessage]:
    """Return what a user says, and the answer."""
    said, answer = sentence(dice), sentence(dice)
    return [HumanMessage(said, id=uuid.uuid4().hex), AIMessage(answer, id=uuid.uuid4().hex)]


def new_messages(user: str) -> list[Message]:
    """Return the records of such a turn."""
    now = utc_now()
    return [
        Message(
            id=uuid.uuid4().hex,
            owner=Owner("user", user),
            created_at=now,
            text=message.text,
            speaker=message.type,
            role="user" if message.type == "human" else "assistant",
            thread_id=f"{user}/bench",
            message_id=str(message.id),
            position=position,
        )
        for position, message in enumerate(new_turn())
    ]
