"""Which notes a question brings back, in eight languages; and what a follow-up brings back.

    python benchmarks/languages.py                  # half a minute
    python benchmarks/languages.py --embed hashing  # or e5, openai:text-embedding-3-small, ...

Each set of `benchmarks/sets` (README_recall.md says how they were written) is the memory of one
user; each of its questions is put to `Memory.recall` without a floor. Most avoid the words of their
notes; those of `*_everyday` are asked as people ask. Beside it stands the cosine similarity of the
embedder alone, and, where a set has an `aliases_*.jsonl`, the same with these. Each line on stdout
is a JSON object; tables follow on stderr. `hit@3` is the share of the questions for which a right
note is among the first three. Where a set has halves, `a` is to choose with and `b` to report on.

Follow-ups ("and the other one?") are asked in three ways: the last message alone; with the answer
that it follows; and as the nodes of a graph ask: both, by turns, what is known before what perhaps
is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from langchain_core.messages import convert_to_messages

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.locomo import embedder_of
from benchmarks.retrieval_scores import Line, mean
from benchmarks.retrieval_tables import followups_table, languages_table
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.models.embedder import Embed, Embedder
from langgraph_memory.retrieval.conversation_query import in_turn, queries_of
from langgraph_memory.retrieval.recalled import Hit, Recalled

SETS = Path(__file__).parent / "sets"
LANGUAGES = ("zh", "en", "ja", "ko", "ru", "ar", "es", "mixed")
NOTE_SETS = (*LANGUAGES, "en_everyday", "zh_everyday")
LIMIT = 3

Found = Sequence[tuple[frozenset[str], Sequence[str]]]
"""For each question the ids of the right notes, and of those that came back, best first."""


@dataclass(frozen=True, slots=True)
class NoteSet:
    """The notes of one user, and questions with the ids of the notes that answer them."""

    language: str
    """Or the name of a further set in a language."""
    notes: Mapping[str, str]
    questions: Sequence[tuple[str, frozenset[str]]]
    halves: Sequence[str] = ()
    """Of the questions: "a" is to choose with, "b" to report."""


class NoteMemory:
    """A memory that answers with the ids that notes have in their set."""

    def __init__(self, embed: Embed | None) -> None:
        self.memory = Memory(ChromaStore.in_memory(embed=embed))
        self._names: dict[str, str] = {}

    def keep(
        self,
        user: str,
        notes: Mapping[str, str],
        aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Remember the notes of one user."""
        for name, text in notes.items():
            change = self.memory.remember(text, user=user, aliases=aliases.get(name, ()))
            self._names[change.record.id] = name

    def recall(
        self, query: str, user: str, limit: int = LIMIT, min_relevance: float | None = 0.0
    ) -> Recalled:
        """Recall notes alone."""
        asked: Any = {"types": ["note"], "limit": limit, "min_relevance": min_relevance}
        return self.memory.recall(query, user=user, **asked)

    def names(self, hits: Iterable[Hit]) -> list[str]:
        """Return the names of the notes among some hits, each once."""
        return list(dict.fromkeys(self._names[hit.record.id] for hit in hits))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines and tables that the command line asks for."""
    options = _options(arguments)
    embed = embedder_of(options.embed)
    lines = []
    for line in measure(embed):
        lines.append({**line, "embedder": options.embed or "default"})
        print(json.dumps(lines[-1]), flush=True)
    print(languages_table(lines), followups_table(lines), sep="\n\n", file=sys.stderr)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/languages.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    help = "'hashing', or a name for LangChain (default: the embedded default)"
    parser.add_argument("--embed", help=help)
    return parser.parse_args(arguments)


def measure(embed: Embed | None) -> Iterator[Line]:
    """Yield all lines."""
    noted = NoteMemory(embed)
    with noted.memory:
        for language in NOTE_SETS:
            notes = note_set(language)
            noted.keep(language, notes.notes)
            ways = {"cosine alone": _dense(embed), "Memory.recall": _recalled}
            if (SETS / f"aliases_{language}.jsonl").exists():
                ways["with aliases"] = _with_aliases
            for call, way in ways.items():
                yield from by_halves(call, notes, way(noted, notes))
        yield from followups(noted)


def by_halves(call: str, notes: NoteSet, found: Found) -> Iterator[Line]:
    """Yield a line about all questions of a set, and one about each half that it has."""
    yield {"name": "language", "call": call, "half": None, **_line(notes.language, found)}
    for half in sorted(set(notes.halves) - {""}):
        of_half = [each for each, of in zip(found, notes.halves, strict=True) if of == half]
        yield {"name": "language", "call": call, "half": half, **_line(notes.language, of_half)}


def note_set(language: str) -> NoteSet:
    """Read the set of one language, or another by its name."""
    rows = read(f"recall_{language}.jsonl")
    notes = {row["id"]: row["text"] for row in rows if row["kind"] == "note"}
    asked = [row for row in rows if row["kind"] == "question"]
    questions = [(row["text"], frozenset(row["answers"])) for row in asked]
    return NoteSet(language, notes, questions, [row.get("half", "") for row in asked])


def read(name: str) -> list[dict[str, Any]]:
    """Read a file of `benchmarks/sets`."""
    return [json.loads(line) for line in (SETS / name).read_text(encoding="utf-8").splitlines()]


def _recalled(noted: NoteMemory, notes: NoteSet) -> Found:
    return [
        (right, noted.names(noted.recall(text, notes.language).hits))
        for text, right in notes.questions
    ]


def _with_aliases(noted: NoteMemory, notes: NoteSet) -> Found:
    rows = read(f"aliases_{notes.language}.jsonl")
    user = f"{notes.language}, with aliases"
    noted.keep(user, notes.notes, {row["id"]: row["aliases"] for row in rows})
    return _recalled(noted, replace(notes, language=user))


def _dense(embed: Embed | None) -> Callable[[NoteMemory, NoteSet], Found]:
    def found(noted: NoteMemory, notes: NoteSet) -> Found:
        asked = [text for text, _ in notes.questions]
        stored, queries = Embedder(embed).embed(list(notes.notes.values()), asked)
        names = list(notes.notes)
        nearest = np.argsort(-(queries @ stored.T), axis=1, kind="stable")[:, :LIMIT]
        pairs = zip(notes.questions, nearest, strict=True)
        return [(right, [names[row] for row in rows]) for (_, right), rows in pairs]

    return found


def followups(noted: NoteMemory) -> Iterator[Line]:
    """Yield what the follow-ups bring back."""
    rows = read("followups.jsonl")
    for row in rows:
        noted.keep(row["id"], {note["id"]: note["text"] for note in row["notes"]})
    ways = {
        "the last message": _last,
        "with the answer before it": _with_answer,
        "as the nodes ask": _as_nodes,
    }
    for name, way in ways.items():
        found = [(row["language"], frozenset(row["answers"]), way(noted, row)) for row in rows]
        for language in (*dict.fromkeys(language for language, _, _ in found), "all"):
            chosen = [(right, ids) for of, right, ids in found if language in (of, "all")]
            yield {"name": "followup", "query": name, **_line(language, chosen)}


def _last(noted: NoteMemory, row: Mapping[str, Any]) -> list[str]:
    return noted.names(noted.recall(_queries(row)[0], row["id"]).hits)


def _with_answer(noted: NoteMemory, row: Mapping[str, Any]) -> list[str]:
    said = "\n".join(message["text"] for message in row["messages"][-2:])
    return noted.names(noted.recall(said, row["id"]).hits)


def _as_nodes(noted: NoteMemory, row: Mapping[str, Any]) -> list[str]:
    recalls = [noted.recall(query, row["id"], min_relevance=None) for query in _queries(row)]
    found = in_turn(recalls)
    return noted.names((*found.hits, *found.perhaps))


def _queries(row: Mapping[str, Any]) -> list[str]:
    said = [(message["role"], message["text"]) for message in row["messages"]]
    return queries_of(convert_to_messages(said))


def _line(language: str, found: Found) -> Line:
    hits = {
        f"hit@{k}": mean(not right.isdisjoint(ids[:k]) for right, ids in found) for k in (1, LIMIT)
    }
    return {"language": language, "questions": len(found), **hits}


if __name__ == "__main__":
    main()
