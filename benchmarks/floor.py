"""From which evidence on a memory knows something about a question: the floor of an embedder.

    python benchmarks/floor.py                                   # notes, in a minute
    python benchmarks/floor.py --data locomo10.json              # messages too, in a few minutes
    python benchmarks/floor.py --data locomo10.json --embed openai:text-embedding-3-small

A floor refuses questions that the memory cannot answer, and loses some that it can. What it judges
is the best `evidence` among all messages, or notes, of a user (`retrieval/thresholds.py`). Each
line on stdout is a JSON object about one type of records in one set; tables follow on stderr.

- `floor.threshold`: the floor at which 3 % of the answerable questions lose their evidence, and
  which shares of the others it refuses; `left_out` has the same with floors that were chosen on all
  other users;
- `floor.default`: what `recall` refuses as it is, with the floor that it has for this embedder.

`recall` is the share of the evidence among the first ten messages (five notes) with that floor,
`recall_without` without any.

The answerable questions are those whose evidence is among the first ten messages (five notes)
without a floor. The others are

- `other people's`: what is asked of LoCoMo's other conversations, with the names replaced, so that
  they give nothing away;
- `everyday en`, `everyday zh`, `nonsense`: benchmarks/sets/offtopic.jsonl;
- `adversarial`: LoCoMo's questions about the right people that nothing answers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.floor_questions import ANSWERABLE, OTHERS, Asked, offtopic, unanswerable
from benchmarks.languages import LANGUAGES, NoteMemory, note_set
from benchmarks.locomo import embedder_of
from benchmarks.locomo_contenders import Ours, message_id
from benchmarks.locomo_data import Conversation, read
from benchmarks.retrieval_scores import Line, mean
from benchmarks.retrieval_tables import floor_table
from langgraph_memory.models.embedder import Embed
from langgraph_memory.retrieval.recalled import Hit

LOST = 0.03
"""The share of the answerable questions that may lose their evidence."""
DEPTH = {"message": 10, "note": 5}
EVERYTHING = 1_000_000
"""Hits among which the best evidence is looked for: a recall looks at all as well."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came back."""

    asked: Asked
    evidence: float
    """The best there was; minus infinity if nothing came back."""
    found: float
    """The share of what is right among the first hits, without a floor."""
    kept: float
    """The same with the floor that `recall` has."""
    refused: bool
    """Whether nothing came back, with that floor."""


Recall = Callable[[Asked, int, float | None], Sequence[tuple[str, Hit]]]
"""From a question, a limit and `min_relevance` to the hits, each with its name in the data."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines and tables that the command line asks for."""
    options = _options(arguments)
    conversations = read(options.data) if options.data else []
    lines = []
    for line in measure(embedder_of(options.embed), conversations):
        lines.append({**line, "embedder": options.embed or "default"})
        print(json.dumps(lines[-1]), flush=True)
    print(floor_table(lines), file=sys.stderr)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/floor.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, help="a JSON file in LoCoMo's format (default: notes alone)")
    add("--embed", help="'hashing', or a name for LangChain (default: the embedded default)")
    options = parser.parse_args(arguments)
    if options.data and not options.data.is_file():
        parser.error(f"--data: there is no file {options.data}")
    return options


def measure(embed: Embed | None, conversations: Sequence[Conversation]) -> Iterator[Line]:
    """Yield all lines."""
    for type, name, judged in _sets(embed, conversations):
        yield from lines_of(judged, {"type": type, "set": name})


def _sets(
    embed: Embed | None, conversations: Sequence[Conversation]
) -> Iterator[tuple[str, str, list[Judged]]]:
    if conversations:
        yield "message", "LoCoMo", messages_judged(embed, conversations)
        yield "note", "LoCoMo's observations", observations_judged(embed, conversations)
    yield "note", "the sets of eight languages", sets_judged(embed)


# -- what is asked of whom -----------------------------------------------------------------------


def messages_judged(embed: Embed | None, conversations: Sequence[Conversation]) -> list[Judged]:
    """Ask conversations about their messages."""
    ours = Ours(embed)
    by_id = {conversation.id: conversation for conversation in conversations}

    def recall(asked: Asked, limit: int, floor: float | None) -> Sequence[tuple[str, Hit]]:
        hits = ours.hits(asked.text, by_id[asked.user], limit, floor)
        return [(message_id(hit), hit) for hit in hits]

    with ours.memory:
        for conversation in conversations:
            ours.keep(conversation)
        asked = [
            *(
                Asked(c.id, ANSWERABLE, question.text, question.evidence)
                for c in conversations
                for question in c.questions
            ),
            *unanswerable(conversations),
        ]
        return [judge(each, recall, DEPTH["message"]) for each in asked]


def observations_judged(embed: Embed | None, conversations: Sequence[Conversation]) -> list[Judged]:
    """Ask what annotators noted of conversations, as notes."""
    noted = NoteMemory(embed)
    asked: list[Asked] = []
    for conversation in conversations:
        names = {f"{conversation.id}/{i}": o for i, o in enumerate(conversation.observations)}
        noted.keep(conversation.id, {name: text for name, (text, _) in names.items()})
        for question in conversation.questions:
            right = frozenset(n for n, (_, ids) in names.items() if ids & question.evidence)
            if right:
                asked.append(Asked(conversation.id, ANSWERABLE, question.text, right))
    with noted.memory:
        everything = [*asked, *unanswerable(conversations)]
        return [judge(each, _of_notes(noted), DEPTH["note"]) for each in everything]


def sets_judged(embed: Embed | None) -> list[Judged]:
    """Ask the sets of all languages; everyday questions only of those in their language."""
    noted = NoteMemory(embed)
    asked: list[Asked] = []
    for language in LANGUAGES:
        notes = note_set(language)
        noted.keep(language, notes.notes)
        asked += [Asked(language, ANSWERABLE, text, right) for text, right in notes.questions]
        of_it = {language, "zxx"} if language != "mixed" else {"en", "zh", "zxx"}
        asked += [Asked(language, group, text) for group, text in offtopic(of_it)]
    with noted.memory:
        return [judge(each, _of_notes(noted), DEPTH["note"]) for each in asked]


def _of_notes(noted: NoteMemory) -> Recall:
    def recall(asked: Asked, limit: int, floor: float | None) -> Sequence[tuple[str, Hit]]:
        recalled = noted.recall(asked.text, asked.user, limit, floor)
        return list(zip(noted.names(recalled.hits), recalled.hits, strict=True))

    return recall


# -- what becomes of it --------------------------------------------------------------------------


def judge(asked: Asked, recall: Recall, depth: int) -> Judged:
    """Ask a question without a floor, and with the one that `recall` has."""
    everything = recall(asked, EVERYTHING, 0.0)
    first = [name for name, _ in everything[:depth]]
    kept = [name for name, _ in recall(asked, depth, None)]
    return Judged(
        asked,
        max((hit.parts["evidence"] for _, hit in everything), default=-np.inf),
        _found(asked.right, first),
        _found(asked.right, kept),
        not kept,
    )


def _found(right: frozenset[str], names: Sequence[str]) -> float:
    return len(right.intersection(names)) / len(right) if right else 0.0


def lines_of(judged: Sequence[Judged], facts: Line) -> Iterator[Line]:
    """Yield the lines about one set."""
    floor = threshold(judged)
    others = {
        user: threshold(each for each in judged if each.asked.user != user)
        for user in _users(judged)
    }
    left_out = at_floor(judged, others)
    chosen = {"floor": round(floor, 3), **at_floor(judged, floor)}
    yield {"name": "floor.threshold", **facts, **chosen, "left_out": left_out}
    yield {"name": "floor.default", **facts, **as_it_is(judged)}


def _users(judged: Iterable[Judged]) -> list[str]:
    return list(dict.fromkeys(each.asked.user for each in judged))


def threshold(judged: Iterable[Judged]) -> float:
    """Return the floor at which `LOST` of the answerable lose their evidence."""
    found = [each.evidence for each in judged if each.found]
    return float(np.quantile(found, LOST)) if found else 0.0


def at_floor(judged: Sequence[Judged], floor: float | Mapping[str, float]) -> Line:
    """Return what a floor, or each user's own, loses, refuses and finds."""
    floors = floor if isinstance(floor, Mapping) else dict.fromkeys(_users(judged), floor)
    below = [each.evidence < floors[each.asked.user] for each in judged]
    pairs = list(zip(judged, below, strict=True))
    kept = [(each, 0.0 if refused else each.found) for each, refused in pairs]
    return _line(kept, [each for each, refused in pairs if refused])


def as_it_is(judged: Sequence[Judged]) -> Line:
    """Return what `recall` loses, refuses and finds with the floor that it has."""
    return _line([(each, each.kept) for each in judged], [e for e in judged if e.refused])


def _line(kept: Sequence[tuple[Judged, float]], refused: Sequence[Judged]) -> Line:
    answerable = [(e, share) for e, share in kept if e.asked.group == ANSWERABLE]
    asked = Counter(each.asked.group for each, _ in kept)
    without = Counter(each.asked.group for each in refused)
    return {
        "questions": len(answerable),
        "recall": mean(share for _, share in answerable),
        "recall_without": mean(each.found for each, _ in answerable),
        "lost": mean(not share for each, share in answerable if each.found),
        "refused": {g: round(without[g] / asked[g], 4) for g in OTHERS if g in asked},
    }


if __name__ == "__main__":
    main()
