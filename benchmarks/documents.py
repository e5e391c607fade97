"""What it costs to add a large document, and to replace it.

    python -m benchmarks.documents --chunks 10000

Prints a line of JSON for each: adding the document, adding its text again, replacing it, and, in
the same run, with the same embedder and the same chunks, `add_texts` of langchain-chroma.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from langchain_chroma import Chroma

from benchmarks.latency_data import sentence
from langgraph_memory import ChromaStore, Memory, UniversalSentenceEncoder

USER = "c-2291"


def text_of(chunks: int, seed: int) -> str:
    """Return a Markdown text of so many chunks, each a section of three sentences."""
    dice = random.Random(seed)
    sections = (
        f"# Section {n}\n\n" + " ".join(f"{sentence(dice)}." for _ in range(3))
        for n in range(chunks)
    )
    return "\n\n".join(sections)


def measure(chunks: int) -> None:
    """Measure all of it in a new directory."""
    encoder = UniversalSentenceEncoder()
    old, new = text_of(chunks, 0), text_of(chunks, 1)
    with tempfile.TemporaryDirectory() as directory:
        with Memory(ChromaStore(Path(directory, "ours"), embed=encoder)) as memory:
            memory.warm_up()
            for name, text in (("add", old), ("add again", old), ("replace", new)):
                _timed(name, partial(memory.add_document, text, source="a.md", user=USER))
            documents = memory.list(user=USER, types=("document",), limit=2 * chunks)
            assert len(documents) == chunks
            texts = [record.to_value()["search_text"] for record in documents]
        peer = Chroma("documents", encoder, str(Path(directory, "peer")))
        batches = [texts[start : start + 1_000] for start in range(0, chunks, 1_000)]
        _timed("langchain-chroma add_texts", lambda: [peer.add_texts(each) for each in batches])


def _timed(name: str, call: Callable[[], Any]) -> None:
    start = perf_counter()
    call()
    print(json.dumps({"what": name, "seconds": round(perf_counter() - start, 2)}), flush=True)


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    measure(parser.parse_args().chunks)


if __name__ == "__main__":
    main()
