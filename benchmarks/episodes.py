"""Which past tasks an agent is reminded of, against labelled tasks.

    python benchmarks/episodes.py                  # both halves of benchmarks/sets/tasks.jsonl
    python benchmarks/episodes.py --half a         # the half to choose weights and floors with
    python benchmarks/episodes.py --embed hashing  # or openai:text-embedding-3-small, ...
    python benchmarks/episodes.py --tables         # the tables of docs/episodes.md

Eight agents have a log of 18 episodes each (benchmarks/sets/episodes.jsonl); each log is a user of
one memory. Each line on stdout is a JSON object:

- `recall_episodes`: as the verb answers. `hit@1` and `hit@3` are the shares of the new tasks for
  which a relevant episode is among the first or the first three; `refused` is how many of the new
  tasks to which no episode is relevant get none;
- `dense`: the same by the cosine similarity of one text alone, as a vector store answers: of the
  whole episode, or of its task. It has no floor;
- `lexical` and `floor`: what other values of the ranking's would do, and how many of the questions
  about other subjects (benchmarks/sets/offtopic.jsonl) get no episode then.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

# Run by its path, a script sees the modules of its own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import labelled
from langgraph_memory import ChromaStore, Episode, Hit, Memory, Ranking
from langgraph_memory.models.embedder import Embedder
from langgraph_memory.retrieval.ranking import Floors
from langgraph_memory.testing import ManualClock

LIMIT = 3
LANGUAGES = ("en", "zh", "mixed", "all")
WEIGHTS = (0.0, 0.025, 0.05, 0.1, 0.2, 0.4)
FLOORS = (0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8)

Line = dict[str, Any]
Answer = Callable[["Task"], list[str]]
"""From a new task to the ids of the episodes that are recalled, best first, three at most."""


@dataclass(frozen=True, slots=True)
class Task:
    """A new task, and the past ones that an experienced colleague would want to be reminded of."""

    world: str
    language: str
    task: str
    relevant: tuple[str, ...]
    half: str


class Logs:
    """The logs of all agents, in a memory and as vectors."""

    def __init__(self, embed: Embeddings | str) -> None:
        clock = ManualClock()
        self.memory = Memory(ChromaStore.in_memory(embed=embed), clock=clock)
        self._names: dict[str, str] = {}
        self._texts: dict[str, list[tuple[str, str, str]]] = {}
        for entry in labelled.read("episodes.jsonl"):
            name, user = entry.pop("id"), entry.pop("world")
            entry.pop("language")
            clock.advance(days=1)
            episode = self.memory.log_episode(entry.pop("task"), user=user, **entry)
            self._names[episode.id] = name
            self._texts.setdefault(user, []).append((name, episode.text, episode.task))
        self.users = tuple(self._texts)
        self._embedder = Embedder(embed)

    def recalled(self, task: Task) -> list[str]:
        """Return the names of the episodes that the verb recalls."""
        hits = self.memory.recall_episodes(task.task, user=task.world)
        return [self._names[hit.record.id] for hit in hits]

    def all_hits(self, user: str, text: str, ranking: Ranking) -> list[Hit[Episode]]:
        """Return all episodes of a log, best first, as if there was no floor."""
        self.memory.ranking = replace(ranking, floors=Floors(episode=-1.0))
        try:
            return self.memory.recall_episodes(text, user=user, limit=100)
        finally:
            self.memory.ranking = Ranking()

    def above(self, hits: Sequence[Hit], ranking: Ranking) -> list[str]:
        """Return the names of the first three hits, if one of all reaches a ranking's floor."""
        floor = ranking.floor("episode")
        evidence = [hit.parts["evidence"] for hit in hits]
        if max(evidence, default=-1.0) < floor:
            return []
        names = (
            self._names[hit.record.id]
            for hit, own in zip(hits, evidence, strict=True)
            if own >= floor / 2
        )
        return list(islice(names, LIMIT))

    def dense(self, text: str, tasks: Sequence[Task]) -> Answer:
        """Return how a vector store answers: by the similarity to the `whole` text, or the `task`.

        Args:
            text: Which one.
            tasks: What will be asked.
        """
        which = {"whole": 1, "task": 2}[text]
        vectors = {
            user: self._embedder.embed([told[which] for told in texts], [])[0]
            for user, texts in self._texts.items()
        }
        asked = self._embedder.embed([task.task for task in tasks], [])[0]
        queries = dict(zip(tasks, asked, strict=True))

        def answer(task: Task) -> list[str]:
            near = np.argsort(-(vectors[task.world] @ queries[task]), kind="stable")
            return [self._texts[task.world][i][0] for i in near[:LIMIT]]

        return answer


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines or tables that the command line asks for."""
    options = labelled.options(arguments, __doc__, "docs/episodes.md")
    logs = Logs(labelled.embeddings_of(options))
    with logs.memory:
        if options.tables:
            print(*tables(logs), sep="\n\n")
            return
        for half in options.half:
            for line in measure(logs, half):
                print(json.dumps(line))


def tasks_of(half: str) -> list[Task]:
    """Return the new tasks of one half of the set."""
    read = labelled.read("tasks.jsonl")
    tasks = (
        Task(t["world"], t["language"], t["task"], tuple(t["relevant"]), t["half"]) for t in read
    )
    return [task for task in tasks if task.half == half]


# -- what is measured ----------------------------------------------------------------------------


def measure(logs: Logs, half: str) -> Iterator[Line]:
    """Yield the lines about the tasks of one half."""
    tasks = tasks_of(half)
    for measured in (answers, lexical_weights, floors):
        yield from ({"half": half, **line} for line in measured(logs, tasks))


def answers(logs: Logs, tasks: Sequence[Task]) -> Iterator[Line]:
    """Yield what the verb finds, and what one text's cosine similarity alone finds."""
    ways: dict[tuple[str, str], Answer] = {("recall_episodes", ""): logs.recalled}
    ways |= {("dense", text): logs.dense(text, tasks) for text in ("whole", "task")}
    for (name, text), answer in ways.items():
        found = [(task, answer(task)) for task in tasks]
        for language in LANGUAGES:
            chosen = [each for each in found if language in (each[0].language, "all")]
            of = {"text": text} if text else {}
            yield {"name": name, **of, "language": language, **score(chosen)}


def lexical_weights(logs: Logs, tasks: Sequence[Task]) -> Iterator[Line]:
    """Yield what other weights of shared words would find, without a floor."""
    for weight in WEIGHTS:
        ranking = Ranking(lexical=weight, floors=Floors(episode=-1.0))
        hits = ((task, logs.all_hits(task.world, task.task, ranking)) for task in tasks)
        scored = score([(task, logs.above(found, ranking)) for task, found in hits])
        yield {"name": "lexical", "value": weight, **scored}


def floors(logs: Logs, tasks: Sequence[Task]) -> Iterator[Line]:
    """Yield what other floors would let through."""
    of_tasks = [(task, logs.all_hits(task.world, task.task, Ranking())) for task in tasks]
    others = [question["text"] for question in labelled.read("offtopic.jsonl")]
    of_others = [logs.all_hits(user, text, Ranking()) for user in logs.users for text in others]
    for floor in FLOORS:
        ranking = Ranking(floors=Floors(episode=floor))
        scored = score([(task, logs.above(hits, ranking)) for task, hits in of_tasks])
        refused = sum(not logs.above(hits, ranking) for hits in of_others) / len(of_others)
        others_refused = {"offtopic_refused": round(refused, 3)}
        yield {"name": "floor", "value": floor, **scored, **others_refused}


def score(answers: Sequence[tuple[Task, list[str]]]) -> Line:
    """Return how many tasks there are, the shares with a hit, and how many are rightly refused."""
    known = [(set(task.relevant), found) for task, found in answers if task.relevant]
    unknown = [found for task, found in answers if not task.relevant]
    first = [not relevant.isdisjoint(found[:1]) for relevant, found in known]
    hits = [not relevant.isdisjoint(found[:LIMIT]) for relevant, found in known]
    return {
        "tasks": len(known),
        "hit@1": round(sum(first) / len(known), 3) if known else None,
        "hit@3": round(sum(hits) / len(known), 3) if known else None,
        "refused": sum(not found for found in unknown),
        "of": len(unknown),
    }


# -- the tables of the page ----------------------------------------------------------------------


def tables(logs: Logs) -> list[str]:
    """Return the Markdown tables about half "b" that stand in docs/episodes.md."""
    tasks = tasks_of("b")
    return [answers_table(answers(logs, tasks)), floors_table(floors(logs, tasks))]


def answers_table(lines: Iterable[Line]) -> str:
    """Return the table of what is found."""
    titles = {
        "recall_episodes": "`recall_episodes`",
        "dense whole": "dense alone, of the whole episode",
        "dense task": "dense alone, of its task",
    }
    rows: dict[str, list[object]] = {name: [title] for name, title in titles.items()}
    for line in lines:
        row = rows[f"{line['name']} {line.get('text', '')}".strip()]
        row.append(line["hit@3"])
        if line["language"] == "all":
            row.append(_refused(line))
    return labelled.table(
        "hit@3|English|Chinese|mixed|all|none where none is relevant", rows.values()
    )


def floors_table(lines: Iterable[Line]) -> str:
    """Return the table of what floors let through."""
    rows = [
        [line["value"], line["hit@3"], _refused(line), line["offtopic_refused"]] for line in lines
    ]
    head = "`Floors.episode`|hit@3|none where none is relevant|none to other subjects"
    return labelled.table(head, rows)


def _refused(line: Line) -> str:
    return f"{line['refused']} of {line['of']}"


if __name__ == "__main__":
    main()
