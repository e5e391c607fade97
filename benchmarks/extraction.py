"""What a model's notes are worth, against labelled dialogues, with the prompts that are used.

    python benchmarks/extraction.py                              # checks itself, without a model
    python benchmarks/extraction.py --model openai:gpt-4o-mini   # any name of init_chat_model
    python benchmarks/extraction.py --model ollama:qwen3:4b --limit 10

Each dialogue of benchmarks/sets/dialogues.jsonl is said turn by turn to a new memory, which makes
notes after each turn. Each line on stdout is a JSON object: `dialogue`, with the texts behind each
count, and `summary`, by language. `extraction_scores.py` says what is counted, the README of the
set what the labels are worth.

Without a model, two scripts stand for one: `faithful` answers with the labels, so that all of them
have to be found and nothing else; `careless` answers also with what is to be left, and quotes what
nobody said, so that all of that has to be refused. It exits with 1 where they are not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.dialogues import Dialogue, careless, dialogues, faithful
from benchmarks.extraction_scores import Score, score
from langgraph_memory import ChromaStore, Memory, ModelError
from langgraph_memory.models.universal import UniversalSentenceEncoder
from langgraph_memory.records.records import Extraction, Note
from langgraph_memory.testing import ManualClock, ScriptedChatModel

Line = dict[str, Any]
Models = Callable[[Dialogue], BaseChatModel | str]
"""From a dialogue to the model that is to make notes of it."""

SCRIPTED = "scripted"

_CALLS = 200  # of a script for one dialogue; it never needs as many
_ALL = 1_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=SCRIPTED, help="a name of init_chat_model")
    parser.add_argument("--limit", type=int, help="how many dialogues")
    options = parser.parse_args(arguments)
    chosen = dialogues(options.limit)
    embed = UniversalSentenceEncoder()  # loaded once
    if options.model != SCRIPTED:
        model = options.model
        lines = _printed(measure(model, lambda dialogue: model, chosen, embed))
        print(_sentence(lines[-1]), file=sys.stderr)
        return
    summaries = [_printed(measure(name, make, chosen, embed))[-1] for name, make in SCRIPTS.items()]
    if faults := [fault for summary in summaries for fault in faults_of(summary)]:
        sys.exit("\n".join(faults))


def measure(
    name: str, models: Models, chosen: Sequence[Dialogue], embed: Embeddings
) -> Iterator[Line]:
    """Yield a line for each dialogue, one for each language, and at last one for all."""
    totals: dict[str, Counter[str]] = {}
    for dialogue in chosen:
        scored, costs = extracted(dialogue, models(dialogue), embed)
        texts = {what: getattr(scored, what) for what in scored.counts()}
        yield {"name": "dialogue", "model": name, "id": dialogue.id, **texts, **costs}
        for language in (dialogue.language, "all"):
            total = totals.setdefault(language, Counter())
            total.update({"dialogues": 1, **scored.counts(), **costs})
    for language in sorted(totals, key=lambda each: each == "all"):
        counts = dict(totals[language])
        labels = counts["kept"] + counts["missed"]
        recall = round(counts["kept"] / labels, 3) if labels else None
        line = {"name": "summary", "model": name, "language": language}
        yield {**line, **counts, "recall": recall}


def extracted(
    dialogue: Dialogue, model: BaseChatModel | str, embed: Embeddings
) -> tuple[Score, dict[str, int]]:
    """Return how good the notes of a dialogue are, and what they cost.

    The costs are `calls` of the model, its tokens, candidates that were `refused`, and `failed`
    turns in which it gave no usable answer.
    """
    clock = ManualClock(dialogue.began)
    failed = 0
    store = ChromaStore.in_memory(embed=embed, clock=clock)
    with Memory(store, model=model, clock=clock, time_zone=dialogue.time_zone) as memory:
        for turn in dialogue.turns:
            memory.log_turn(list(turn), user="ana", thread_id=dialogue.id, at=clock())
            clock.advance(minutes=1)
            try:
                memory.extract(user="ana")
            except ModelError:
                failed += 1  # the next turn tries it again
        notes = [note for note in memory.list(user="ana", limit=_ALL) if isinstance(note, Note)]
        done = memory.list(user="ana", types=("extraction",), status=None, limit=_ALL)
    costs: Counter[str] = Counter(calls=0, refused=0, failed=failed)
    for record in done:
        if isinstance(record, Extraction):
            costs.update(record.usage)
            costs["refused"] += sum(p.startswith("item ") for p in record.problems)
    return score(dialogue, notes), dict(costs)


# -- the scripts ---------------------------------------------------------------------------------


def _faithful(dialogue: Dialogue) -> BaseChatModel:
    return ScriptedChatModel([faithful(dialogue.keep)] * _CALLS)


def _careless(dialogue: Dialogue) -> BaseChatModel:
    return ScriptedChatModel([careless(dialogue.keep, dialogue.leave)] * _CALLS)


SCRIPTS: dict[str, Models] = {"faithful": _faithful, "careless": _careless}


def faults_of(summary: Line) -> list[str]:
    """Return what is wrong with the measure itself, by the summary of a script."""
    wrong = ("missed", "careless", "invented", "wrong_language", "secrets", "failed")
    found = [f"{summary['model']}: {summary[what]} {what}" for what in wrong if summary[what]]
    if (summary["refused"] > 0) != (summary["model"] == "careless"):
        found.append(f"{summary['model']}: {summary['refused']} refused")
    return found


# -- what is printed -----------------------------------------------------------------------------


def _printed(lines: Iterable[Line]) -> list[Line]:
    printed = []
    for line in lines:
        print(json.dumps(line, ensure_ascii=False), flush=True)
        printed.append(line)
    return printed


def _sentence(summary: Line) -> str:
    labels = summary["kept"] + summary["missed"]
    return (
        f"{summary['model']}: {summary['kept']} of {labels} labels found; "
        f"{summary['careless']} notes say what is to be left, {summary['invented']} match nothing, "
        f"{summary['wrong_language']} are in the wrong language, {summary['secrets']} have a secret"
    )


if __name__ == "__main__":
    main()
