"""What consolidation merges, against labelled memories whose notes are put into groups.

    python benchmarks/consolidation.py                  # both halves
    python benchmarks/consolidation.py --half a         # the half to choose rules with
    python benchmarks/consolidation.py --embed hashing  # or openai:text-embedding-3-small, ...
    python benchmarks/consolidation.py --tables         # the table of docs/consolidation.md

The memories are in `benchmarks/sets/groups.jsonl`. Each line on stdout is a JSON object about one
way to merge, in one half and language. `precision` is the share of right ones among the pairs of
notes that were put together, `recall` the share of the pairs to be put together that were; `best`
counts the groups in which the note that is left says what all say, of those where only one does.

- `rule`: what is merged without a model (`langgraph_memory/notes/consolidation.py`);
- `cosine .92`, ...: all pairs that are as alike as that, as other systems do;
- `guarded .85`, ...: ... if kinds, slots and numbers do not keep them apart;
- `asked`: what stands in one group of what a model is asked about; its recall is the most that the
  best model can have.

Where there is a `narrower.jsonl`, of pairs in which one note has a condition more than the other, a
line for each language has the share of them that stay `apart` without a model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import labelled
from benchmarks.reconcile import note
from langgraph_memory.models.embedder import Embedder, Vectors
from langgraph_memory.notes.consolidation import best_first, repeated
from langgraph_memory.notes.model_merge import alike, may_say_the_same
from langgraph_memory.notes.similarity import SimilarityThreshold, threshold_of
from langgraph_memory.records.records import Note

COSINES = (0.95, 0.92, 0.9, 0.85, 0.8)
"""Where systems merge that go by the cosine similarity; .92 was to be the value here."""

Line = dict[str, Any]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A memory, and which of its notes say the same."""

    id: str
    language: str
    half: str
    notes: Sequence[Note]
    vectors: Vectors
    groups: Sequence[Sequence[str]]
    """Ids of the notes that say the same."""
    best: Mapping[str, str]
    """For the notes of a group of which only one says everything, that one."""

    @property
    def pairs(self) -> set[Pair]:
        """The pairs that are to be put together."""
        return _pairs(self.groups)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines or the table that the command line asks for."""
    options = labelled.options(arguments, __doc__, "docs/consolidation.md")
    embedder = Embedder(labelled.embeddings_of(options))
    band = threshold_of(embedder.fingerprint.embedder)
    memories = labelled_memories(embedder)
    if options.tables:
        print(table([memory for memory in memories if memory.half == "b"], band))
        return
    for half in options.half:
        for line in measure([memory for memory in memories if memory.half == half], band):
            print(json.dumps({"half": half, **line}))
    if (labelled.SETS / "narrower.jsonl").exists():
        for line in kept_apart(labelled.read("narrower.jsonl")):
            print(json.dumps(line))


def labelled_memories(embedder: Embedder) -> list[Labelled]:
    """Return the labelled memories; their notes have ids by their place."""
    return [_labelled(record, embedder) for record in labelled.read("groups.jsonl")]


def _labelled(record: Mapping[str, Any], embedder: Embedder) -> Labelled:
    notes = [
        replace(
            note(each["text"], each["slot"]),
            id=f"{record['id']}-{place}",
            kind=each["kind"],
            importance=each["importance"],
        )
        for place, each in enumerate(record["notes"])
    ]
    groups = [[notes[place].id for place in group] for group in record["groups"]]
    best = {
        id: notes[place].id
        for group, place in zip(groups, record["best"], strict=True)
        if place is not None
        for id in group
    }
    vectors = embedder.embed([each.text for each in notes], [])[0]
    where = (record["id"], record["language"], record["half"])
    return Labelled(*where, notes, vectors, groups, best)


def measure(memories: Sequence[Labelled], band: SimilarityThreshold) -> Iterator[Line]:
    """Yield a line for each way to merge and each language."""
    for language in ("en", "zh", "mixed", "all"):
        chosen = [memory for memory in memories if language in (memory.language, "all")]
        for name, merged in ways(chosen, band).items():
            yield {"way": name, "language": language, **score(chosen, merged)}


def ways(
    memories: Sequence[Labelled], band: SimilarityThreshold
) -> dict[str, list[list[list[Note]]]]:
    """Return, for each way to merge, the groups in each memory, in each the best note first."""
    found = {"rule": [list(repeated(memory.notes)) for memory in memories]}
    for least in COSINES:
        near = [list(_near(memory, least)) for memory in memories]
        found[f"cosine {least:.2f}"] = near
        found[f"guarded {least:.2f}"] = [
            [pair for pair in pairs if may_say_the_same(*pair)] for pairs in near
        ]
    found["asked"] = [
        [best_first(group) for group in alike(memory.notes, memory.vectors, band.ask_from)]
        for memory in memories
    ]
    return found


def _near(memory: Labelled, least: float) -> Iterator[list[Note]]:
    cosines = memory.vectors @ memory.vectors.T
    for one, other in combinations(range(len(memory.notes)), 2):
        if cosines[one, other] >= least:
            yield best_first([memory.notes[one], memory.notes[other]])


def score(memories: Sequence[Labelled], merged: Sequence[Sequence[Sequence[Note]]]) -> Line:
    """Return how right the groups are that were put together."""
    together = right = to_find = best = of = 0
    for memory, groups in zip(memories, merged, strict=True):
        pairs = _pairs([[each.id for each in group] for group in groups])
        together += len(pairs)
        right += len(pairs & memory.pairs)
        to_find += len(memory.pairs)
        said = [group for group in groups if group[0].id in memory.best]
        of += len(said)
        best += sum(memory.best[group[0].id] == group[0].id for group in said)
    return {
        "together": together,
        "wrong": together - right,
        "precision": round(right / together, 3) if together else None,
        "recall": round(right / to_find, 3) if to_find else None,
        "best": f"{best} of {of}",
    }


def _pairs(groups: Iterable[Sequence[str]]) -> set[Pair]:
    return {pair for group in groups for pair in combinations(sorted(group), 2)}


def kept_apart(pairs: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield for each language how many pairs of a general and a narrower note stay two."""
    for language in (*dict.fromkeys(pair["language"] for pair in pairs), "all"):
        chosen = [pair for pair in pairs if language in (pair["language"], "all")]
        apart = sum(
            not any(repeated([note(pair["general"], None), note(pair["narrower"], None)]))
            for pair in chosen
        )
        share = round(apart / len(chosen), 3)
        yield {"way": "rule", "language": language, "narrower": len(chosen), "apart": share}


def table(memories: Sequence[Labelled], band: SimilarityThreshold) -> str:
    """Return the Markdown table about half "b" that stands in docs/consolidation.md."""
    names = {"rule": "the rule, without a model", "asked": "what a model is asked about"}
    rows = []
    for line in measure(memories, band):
        if line["language"] == "all" and not line["way"].startswith("guarded"):
            name = names.get(line["way"], f"{line['way'].replace('0.', '.')} and more")
            cells = [line[key] for key in ("together", "wrong", "precision", "recall")]
            rows.append([name, *("-" if cell is None else cell for cell in cells)])
    return labelled.table("merged|pairs|wrongly|precision|recall", rows)


if __name__ == "__main__":
    main()
