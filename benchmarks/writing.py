"""What keeping a turn costs: how long the user waits, calls of the model, records.

    python benchmarks/writing.py                    # 30 turns, each call of a model takes 50 ms
    python benchmarks/writing.py --turns 60 --model-ms 800

Turns of the labelled dialogues are said to one user's agent, in one thread. All libraries have the
same embedder, and the same model: a script that takes a fixed time and answers with the labels, in
the form that each asks for. They take turns, so that what else the machine does hits all alike; a
library that is not installed is left out, and said so.

Each line on stdout is a JSON object, and stderr has the table of docs/writing.md. `median_ms` and
`p95_ms` are what the user waits for, over all of the graph; `ratio` says how many times as long as
this one our `with_memory` takes in the foreground. `calls`, `records` and `notes` are means per
turn. Work that was put off is waited for before the next turn begins, and not counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from langchain_core.embeddings import Embeddings

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.dialogues import dialogues
from benchmarks.writing_peers import LangMem, Mem0, Ours, Script, Turn, Writer, say
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.testing import HashingEmbeddings

Line = dict[str, Any]
Opener = Callable[[Path, Embeddings, Script], Writer]

WRITERS: dict[str, Opener] = {
    "ours": Ours,
    "ours, later": partial(Ours, background=True),
    "langmem": LangMem,
    "langmem, later": partial(LangMem, background=True),
    "mem0": Mem0,
}

_HELLO = Turn("Hello!", "Hello!", ())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--model-ms", type=float, default=50.0, help="of each call of the model")
    parser.add_argument("--embed", choices=["default", "hashing"], default="default")
    options = parser.parse_args(arguments)
    hashing = options.embed == "hashing"
    embeddings = HashingEmbeddings(dims=512) if hashing else UniversalSentenceEncoder()
    lines = []
    for line in measure(conversation(options.turns), embeddings, options.model_ms / 1000):
        print(json.dumps(line), flush=True)
        lines.append(line)
    print(table(lines), file=sys.stderr)


def conversation(count: int) -> list[Turn]:
    """Return the first turns of the labelled dialogues, languages in turn."""
    turns = []
    for dialogue in dialogues():
        left = list(dialogue.keep)
        for messages in dialogue.turns:
            texts = {message.type: message.text for message in messages}
            said, answered = texts["human"], texts.get("ai", "OK.")
            rests = {"user": said, "assistant": answered}
            labels = tuple(label for label in left if label.quote in rests[label.role])
            left = [label for label in left if label not in labels]
            turns.append(Turn(said, answered, labels))
    return turns[:count]


def measure(turns: Sequence[Turn], embeddings: Embeddings, model_seconds: float) -> Iterator[Line]:
    """Yield a line for each way to keep these turns, and one for each that is not installed."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        writers: list[Writer] = []
        for number, (name, open_writer) in enumerate(WRITERS.items()):
            try:
                writer = open_writer(root / str(number), embeddings, Script(model_seconds))
            except ImportError as error:
                yield {"name": "skipped", "writer": name, "reason": str(error)}
                continue
            stack.callback(writer.close)
            writers.append(writer)
        yield from _lines(writers, turns, model_seconds)


def _lines(writers: Sequence[Writer], turns: Sequence[Turn], model_seconds: float) -> list[Line]:
    _times(writers, [_HELLO])  # loads what all others find
    before = [_counts(writer) for writer in writers]
    times = _times(writers, turns)
    ours = statistics.median(times[0])
    lines = []
    for writer, seconds, earlier in zip(writers, times, before, strict=True):
        after = _counts(writer)
        ordered = sorted(seconds)
        lines.append(
            {
                "name": "turn",
                "library": writer.library,
                "call": writer.call,
                "turns": len(turns),
                "model_ms": 1000 * model_seconds,
                "median_ms": round(1000 * statistics.median(ordered), 1),
                "p95_ms": round(1000 * ordered[math.ceil(0.95 * len(ordered)) - 1], 1),
                "ratio": round(ours / statistics.median(ordered), 3),
                **{what: round((after[what] - earlier[what]) / len(turns), 2) for what in after},
            }
        )
    return lines


def _counts(writer: Writer) -> dict[str, int]:
    return {"calls": writer.script.calls, **writer.counts()}


def _times(writers: Sequence[Writer], turns: Sequence[Turn]) -> list[list[float]]:
    """Return the seconds of each turn that the user waits for, by writer."""
    times: list[list[float]] = [[] for _ in writers]
    entered = list(zip(writers, times, strict=True))
    for number, turn in enumerate(turns):
        start = number % len(entered)
        for writer, taken in entered[start:] + entered[:start]:
            gc.collect()  # what one leaves behind costs no other any time
            began = perf_counter()
            say(writer, turn)
            taken.append(perf_counter() - began)
            writer.settle()
    return times


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a Markdown table."""
    columns = ("median_ms", "p95_ms", "ratio", "calls", "records", "notes")
    rows = [
        "| | median, ms | p95, ms | ratio | calls | records | notes |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for line in lines:
        if line["name"] == "turn":
            cells = [f"{line['library']}: `{line['call']}`", *(f"{line[c]:g}" for c in columns)]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
