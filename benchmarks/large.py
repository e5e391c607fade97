"""How near the searches of a namespace too large for memory come to brute force.

    python -m benchmarks.large --records 60000

Prints JSON lines: recall@10 of Chroma's index beside the exact search of the same directory, by
kind of search, and the median of each in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from langgraph.store.base import PutOp

from benchmarks.latency_data import DIMENSIONS, questions, sentence
from langgraph_memory import ChromaStore
from langgraph_memory.testing import HashingEmbeddings

NAMESPACE = ("notes",)
BATCH = 1_000
QUESTIONS = 50

Search = Callable[[ChromaStore, str], Any]
SEARCHES: dict[str, Search] = {
    "one namespace": lambda store, query: store.search(NAMESPACE, query=query),
    "the whole store": lambda store, query: store.search((), query=query),
    "limit 100": lambda store, query: store.search(NAMESPACE, query=query, limit=100),
    "a filter that 1 in 10 meets": lambda store, query: store.search(
        NAMESPACE, query=query, filter={"n": 3}
    ),
    "a filter that 1 in 1,000 meets": lambda store, query: store.search(
        NAMESPACE, query=query, filter={"rare": 7}
    ),
}


def main() -> None:
    """Fill a directory, search it in both ways, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument("--records", type=int, default=60_000, help="items of the namespace")
    records = parser.parse_args().records
    embed = HashingEmbeddings(DIMENSIONS)
    with tempfile.TemporaryDirectory() as directory:
        fill(Path(directory), embed, records)
        with ChromaStore(directory, embed=embed, partition_limit=10 * records) as store:
            exact = dict(answers(store))
        with ChromaStore(directory, embed=embed, partition_limit=records // 2) as store:
            near = dict(answers(store))
    for name, (found, milliseconds) in near.items():
        wanted, exact_ms = exact[name]
        print(
            json.dumps(
                {
                    "name": name,
                    "records": records,
                    "recall": round(recall(found, wanted), 4),
                    "exact": all(each.exact for each in found),
                    "median_ms": round(milliseconds, 2),
                    "brute_force_ms": round(exact_ms, 2),
                }
            ),
            flush=True,
        )


def fill(directory: Path, embed: HashingEmbeddings, records: int) -> None:
    """Write the items of one namespace."""
    dice = random.Random(3)
    with ChromaStore(directory, index={"embed": embed, "fields": ["text"]}) as store:
        for start in range(0, records, BATCH):
            values = (
                {"text": sentence(dice), "n": i % 10, "rare": i % 1_000}
                for i in range(start, min(start + BATCH, records))
            )
            store.batch(
                PutOp(NAMESPACE, str(start + number), value) for number, value in enumerate(values)
            )


def answers(store: ChromaStore) -> Iterator[tuple[str, tuple[list[Any], float]]]:
    """Yield each kind of search with its results and its median time in milliseconds."""
    for name, search in SEARCHES.items():
        search(store, "warm up")
        asked = questions(QUESTIONS if "1,000" not in name else 3)
        found, seconds = [], []
        for question in asked:
            began = perf_counter()
            found.append(search(store, question))
            seconds.append(perf_counter() - began)
        yield name, (found, 1000 * statistics.median(seconds))


def recall(found: list[Any], wanted: list[Any]) -> float:
    """Return the share of the nearest items that were found; of equals, any will do."""
    shares = []
    for near, best in zip(found, wanted, strict=True):
        lowest = min(item.score for item in best) - 1e-5
        shares.append(sum(item.score >= lowest for item in near) / len(best))
    return statistics.mean(shares)


if __name__ == "__main__":
    main()
