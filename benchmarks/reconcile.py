"""What notes are merged, asked about and kept apart, against labelled pairs of notes.

    python benchmarks/reconcile.py                  # both halves of benchmarks/sets/pairs.jsonl
    python benchmarks/reconcile.py --half a         # the half to choose thresholds with
    python benchmarks/reconcile.py --embed hashing  # or openai:text-embedding-3-small, ...
    python benchmarks/reconcile.py --tables         # the tables of docs/writing.md

Each line on stdout is a JSON object. It chooses nothing; what was chosen stands in
`langgraph_memory/notes/similarity.py`.

- `decisions`: what `judge` makes of the pairs of each relation, with and without their slots, and
  what follows from that;
- `cosine`: the same if all pairs from a similarity on are merged, as other systems do;
- `guarded`: ... if their numbers, negations and words have to agree as well;
- `ask_from`: what other lower ends of the band would do;
- `memory`: what is asked about, and wrongly merged, in memories whose notes all differ.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import labelled
from langgraph_memory.models.embedder import Embedder, Vectors
from langgraph_memory.notes.similarity import Judgement, SimilarityThreshold, judge, threshold_of
from langgraph_memory.records.owners import Owner
from langgraph_memory.records.records import Note, normalise
from langgraph_memory.text.bm25 import tokens

RELATIONS = ("same", "update", "contradiction", "additive", "unrelated")
TO_FIND = ("same", "update", "contradiction")
"""The relations in which the new note must not simply stand beside the old one."""
JUDGEMENTS: tuple[Judgement, ...] = ("same", "ask", "apart")
COSINES = (0.95, 0.9, 0.85)
"""Where systems merge that go by the cosine similarity alone."""
GUARDED = 0.75
"""From which similarity on pairs are merged for comparison if their words pass `Pair.guarded`."""

Line = dict[str, Any]
_NUMBER = re.compile("[0-9]+|[一二三四五六七八九十百千万]+")
_NEGATION = re.compile(r"\b(?:no|not|never|cannot|without|nothing|none)\b|n't|[不没無无非未别勿]")
_OWNER = Owner("user", "ana")
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two notes, how they are alike, and what they are to each other."""

    old: Note
    new: Note
    cosine: float
    relation: str
    language: str
    half: str

    def judged(self, band: SimilarityThreshold) -> Judgement:
        """Return what `judge` makes of the pair."""
        return judge(self.new, self.old, self.cosine, band)

    @property
    def share_slot(self) -> bool:
        """Whether a slot decides that the new note takes the old one's place."""
        return self.old.slot is not None and self.old.slot == self.new.slot

    @property
    def guarded(self) -> bool:
        """Whether numbers and negations agree, and no word stands in the place of another."""
        texts = [normalise(note.text) for note in (self.old, self.new)]
        numbers, negations = (
            [sorted(found.findall(text)) for text in texts] for found in (_NUMBER, _NEGATION)
        )
        old, new = (set(tokens(text)) for text in texts)
        return (
            numbers[0] == numbers[1]
            and len(negations[0]) == len(negations[1])
            and (old <= new or new <= old)
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines or tables that the command line asks for."""
    options = labelled.options(arguments, __doc__, "docs/writing.md")
    embedder = Embedder(labelled.embeddings_of(options))
    name = embedder.fingerprint.embedder
    band = threshold_of(name)
    if options.tables:
        print(*tables(embedder), sep="\n\n")
        return
    print(json.dumps({"name": "band", "embedder": name, "ask_from": band.ask_from}))
    for slots in (False, True):
        pairs = [p for p in labelled_pairs(embedder, slots) if p.half in options.half]
        for line in measure(pairs, band, slots):
            print(json.dumps(line))
    for line in measure_memories(embedder, band):
        print(json.dumps(line))


# -- what is measured ----------------------------------------------------------------------------


def labelled_pairs(embedder: Embedder, slots: bool) -> list[Pair]:
    """Return the labelled pairs, with their slots or without any."""
    records = labelled.read("pairs.jsonl")
    olds = [note(r["old"], r["slot_old"] if slots else None) for r in records]
    news = [note(r["new"], r["slot_new"] if slots else None) for r in records]
    cosines = (vectors(embedder, olds) * vectors(embedder, news)).sum(axis=1)
    return [
        Pair(old, new, float(cosine), r["relation"], r["language"], r["half"])
        for old, new, cosine, r in zip(olds, news, cosines, records, strict=True)
    ]


def note(text: str, slot: str | None = None) -> Note:
    """Return a note; all are of one owner and kind."""
    return Note(
        id="", owner=_OWNER, text=text, slot=slot, created_at=_NOW, updated_at=_NOW, valid_from=_NOW
    )


def vectors(embedder: Embedder, notes: Sequence[Note]) -> Vectors:
    """Return the unit vectors that a store would have for notes, of shape `(notes, dims)`."""
    return embedder.embed([note.to_value()["search_text"] for note in notes], [])[0]


def measure(pairs: Sequence[Pair], band: SimilarityThreshold, slots: bool) -> Iterator[Line]:
    """Yield the lines about labelled pairs, by half and language."""
    for half in sorted({pair.half for pair in pairs}):
        of_half = [pair for pair in pairs if pair.half == half]
        for language in ("en", "zh", "mixed", "all"):
            chosen = [pair for pair in of_half if language in (pair.language, "all")]
            where = {"half": half, "language": language, "slots": slots}
            yield {"name": "decisions", **where, **decisions(chosen, band)}
            for threshold in COSINES:
                merged = [pair for pair in chosen if pair.cosine >= threshold]
                yield {"name": "cosine", **where, "from": threshold, **merges(merged, chosen)}
            merged = [pair for pair in chosen if pair.cosine >= GUARDED and pair.guarded]
            yield {"name": "guarded", **where, "from": GUARDED, **merges(merged, chosen)}
        for ask_from in (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6):
            rates = asked(of_half, replace(band, ask_from=ask_from))
            yield {"name": "ask_from", "half": half, "slots": slots, "value": ask_from, **rates}


def decisions(pairs: Sequence[Pair], band: SimilarityThreshold) -> Line:
    """Return how the pairs of each relation are judged, and what follows from that."""
    judged = Counter((pair.relation, pair.judged(band)) for pair in pairs)
    return {
        "judged": {r: {j: judged[r, j] for j in JUDGEMENTS} for r in RELATIONS},
        **merges([pair for pair in pairs if pair.judged(band) == "same"], pairs),
        **asked(pairs, band),
        "without_model": without_model(pairs, band),
    }


def merges(merged: Sequence[Pair], pairs: Sequence[Pair]) -> Line:
    """Return how right the merges are, and which relations are merged though they must not be."""
    by_relation = Counter(pair.relation for pair in merged)
    right = by_relation.pop("same", 0)
    return {
        "same_precision": _share(right, len(merged)),
        "same_recall": _share(right, sum(pair.relation == "same" for pair in pairs)),
        "merged": len(merged),
        "wrongly_merged": dict(by_relation),
    }


def asked(pairs: Sequence[Pair], band: SimilarityThreshold) -> Line:
    """Return the share of what is to be found that is not apart, and what is asked in vain."""
    found = [pair.judged(band) != "apart" for pair in pairs if pair.relation in TO_FIND]
    in_vain = [pair.judged(band) == "ask" for pair in pairs if pair.relation not in TO_FIND]
    return {"found": _share(sum(found), len(found)), "in_vain": _share(sum(in_vain), len(in_vain))}


def without_model(pairs: Iterable[Pair], band: SimilarityThreshold) -> Mapping[str, int]:
    """Count what is wrong with a memory without a model: what would be asked is added then.

    Where both notes have the same slot, the new one takes the old one's place.
    """
    counts = Counter({"wrongly_merged": 0, "duplicates": 0, "outdated": 0})
    for pair in pairs:
        if pair.judged(band) == "same":
            counts["wrongly_merged"] += pair.relation != "same"
        elif pair.relation in TO_FIND and not pair.share_slot:
            counts["duplicates" if pair.relation == "same" else "outdated"] += 1
    return dict(counts)


def measure_memories(embedder: Embedder, band: SimilarityThreshold) -> Iterator[Line]:
    """Yield what is asked in memories whose notes all differ, as if each note were the new one."""
    for file in sorted(labelled.SETS.glob("recall_*.jsonl")):
        notes = [note(r["text"]) for r in labelled.read(file.name) if r["kind"] == "note"]
        made = vectors(embedder, notes)
        judged = [
            Counter(
                judge(new, old, float(cosine), band)
                for old, cosine in zip(notes, made @ vector, strict=True)
                if old is not new
            )
            for new, vector in zip(notes, made, strict=True)
        ]
        yield {
            "name": "memory",
            "file": file.name,
            "notes": len(notes),
            "wrongly_merged": sum(each["same"] for each in judged) // 2,
            "asked_about": round(float(np.mean([each["ask"] for each in judged])), 2),
            "any_asked": _share(sum(each["ask"] > 0 for each in judged), len(notes)),
        }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


# -- the tables of the page ----------------------------------------------------------------------


def tables(embedder: Embedder) -> list[str]:
    """Return the Markdown tables about half "b" that stand in docs/writing.md."""
    band = threshold_of(embedder.fingerprint.embedder)
    half = {
        slots: [pair for pair in labelled_pairs(embedder, slots) if pair.half == "b"]
        for slots in (False, True)
    }
    return [
        _merges_table(half[False], band),
        _judged_table(half, band),
        _outcome_table(half, band),
        _memory_table(measure_memories(embedder, band)),
    ]


def _judged_table(half: Mapping[bool, Sequence[Pair]], band: SimilarityThreshold) -> str:
    judged = [decisions(pairs, band)["judged"] for pairs in half.values()]
    rows = [
        [relation, *(each[relation][judgement] for each in judged for judgement in JUDGEMENTS)]
        for relation in RELATIONS
    ]
    return labelled.table("relation|same|ask|apart|with slots: same|ask|apart", rows)


def _merges_table(pairs: Sequence[Pair], band: SimilarityThreshold) -> str:
    ways = {"equal words, as here": [pair for pair in pairs if pair.judged(band) == "same"]}
    for threshold in COSINES:
        ways[f"cosine of {threshold} and more"] = [p for p in pairs if p.cosine >= threshold]
    guarded = [p for p in pairs if p.cosine >= GUARDED and p.guarded]
    ways[f"cosine of {GUARDED} and more, words agree"] = guarded
    rows: list[list[object]] = []
    for name, merged in ways.items():
        rows.append([name])
        for language in ("en", "zh", "all"):
            chosen = [pair for pair in merged if language in (pair.language, "all")]
            rows[-1] += [len(chosen), sum(pair.relation != "same" for pair in chosen)]
    return labelled.table("merged|English|wrongly|Chinese|wrongly|all|wrongly", rows)


def _outcome_table(half: Mapping[bool, Sequence[Pair]], band: SimilarityThreshold) -> str:
    rows = []
    for slots, pairs in half.items():
        line = decisions(pairs, band)
        name = "with slots" if slots else "without slots"
        rows.append([name, line["found"], line["in_vain"], *line["without_model"].values()])
    return labelled.table("|found|asked in vain|wrongly merged|duplicates|outdated", rows)


def _memory_table(lines: Iterable[Line]) -> str:
    rows = [
        [f"`{line['file']}`", line["notes"], round(line["asked_about"], 1), line["wrongly_merged"]]
        for line in lines
    ]
    return labelled.table("memory|notes|asked about, for each new note|wrongly merged", rows)


if __name__ == "__main__":
    main()
