"""What a person says to an agent in a month: benchmarks/sets/life, put into days and threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from benchmarks.labelled import read

LANGUAGES = ("en", "zh", "es", "ja")
TOLD, ASKED = "fact", "asked"
"""Kinds of turns; those of the crowd have kinds of their own."""

TELLING_DAYS = 3
DAYS = 30
A_DAY = 5
"""Questions."""

_START = datetime(2026, 3, 2, 8, tzinfo=UTC)
_THREAD = 3
"""Turns of the crowd that make a conversation."""
_ALL_RIGHT = {"en": "All right.", "zh": "好的。", "es": "Vale.", "ja": "わかりました。"}
_KINDS = {"preference", "instruction", "decision"}  # that a note has too; the others are facts
_FURTHER = {"en": ("en", "en_everyday"), "zh": ("zh", "zh_everyday"), "es": ("es",), "ja": ("ja",)}


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that the person says once, and is asked for later."""

    id: str
    kind: str
    """Of its note."""
    said: str
    note: str
    questions: Sequence[str]
    repeats: str
    """An answer that says it again."""
    vague: str
    """An answer that does not."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person, and what the agent answers."""

    kind: str
    text: str
    answer: str
    fact: Fact | None = None
    """That it tells or asks for."""
    day: int = 0
    """From 1; those of the questions follow on the `TELLING_DAYS`."""
    thread: str = ""
    at: datetime = _START


@dataclass(frozen=True, slots=True)
class Person:
    """All that one person says in a language."""

    language: str
    facts: Sequence[Fact]
    crowd: Sequence[Turn]
    """What they say beside the facts, by kinds."""
    notes: Sequence[str]
    """About other things, those of the person first."""
    offtopic: Sequence[str]


def person(language: str, half: str) -> Person:
    """Read a person with the facts of one half."""
    crowd = read(f"life/crowd_{language}.jsonl")
    return Person(
        language=language,
        facts=[_fact(row) for row in read(f"life/facts_{language}.jsonl") if row["half"] == half],
        crowd=[Turn(row["kind"], row["text"], row["answer"]) for row in crowd],
        notes=list(dict.fromkeys(_notes(language))),
        offtopic=[row["text"] for row in read(f"life/offtopic_{language}.jsonl")],
    )


def _fact(row: dict[str, Any]) -> Fact:
    kind = row["kind"] if row["kind"] in _KINDS else "fact"
    texts = row["questions"], row["answer_repeats"], row["answer_vague"]
    return Fact(row["id"], kind, row["fact"], row["note"], *texts)


def _notes(language: str) -> Iterator[str]:
    """Yield the person's own, and then those of other sets in the language."""
    for row in read(f"life/notes_{language}.jsonl"):
        yield row["text"]
    for name in _FURTHER[language]:
        yield from (row["text"] for row in read(f"recall_{name}.jsonl") if row["kind"] == "note")
    for row in read("followups.jsonl"):
        if row["language"] == language:
            yield from (note["text"] for note in row["notes"])
    for row in read("pairs.jsonl"):
        if row["language"] == language:
            yield row["old"]
            if row["relation"] in ("additive", "unrelated"):  # both are true
                yield row["new"]


def month(person: Person, crowd: int, told: bool = True) -> list[Turn]:
    """Return the turns of a month in the order in which they are said.

    Args:
        person: Who says them.
        crowd: How many of the turns beside the facts there are, spread over all days.
        told: Whether the facts are said, on the first days.
    """
    random = Random(f"{person.language} {crowd}")
    last = TELLING_DAYS + DAYS
    days: dict[int, list[list[Turn]]] = {day: [] for day in range(1, last + 1)}
    for number, fact in enumerate(person.facts if told else ()):
        turn = Turn(TOLD, fact.said, _ALL_RIGHT[person.language], fact)
        days[1 + number % TELLING_DAYS].append([turn])
    for number, turn in enumerate(_questions(person.facts, random)):
        days[TELLING_DAYS + 1 + number // A_DAY].append([turn])
    others = _spread(person.crowd, crowd)
    random.shuffle(others)
    threads = [others[i : i + _THREAD] for i in range(0, len(others), _THREAD)]
    for number, thread in enumerate(threads):
        days[1 + number * last // len(threads)].append(thread)
    return [turn for day, said in days.items() for turn in _timed(day, said, random)]


def _questions(facts: Sequence[Fact], random: Random) -> Iterator[Turn]:
    """Yield the questions of the month: all facts by turns, each time in the next wording.

    Half of the answers say the fact again.
    """
    order = list(enumerate(facts))
    for number in range(DAYS * A_DAY):
        time, place = divmod(number, len(order))
        if not place:
            random.shuffle(order)
        index, fact = order[place]
        question = fact.questions[time % len(fact.questions)]
        # By its index, so that no fact's first answer is always of one kind.
        answer = fact.repeats if (time + index) % 2 else fact.vague
        yield Turn(ASKED, question, answer, fact)


def _spread(turns: Sequence[Turn], count: int) -> list[Turn]:
    """Return some of the turns, of all kinds as all have them."""
    count = min(count, len(turns))
    return [turns[number * len(turns) // count] for number in range(count)]


def _timed(day: int, threads: list[list[Turn]], random: Random) -> Iterator[Turn]:
    random.shuffle(threads)
    at = _START + timedelta(days=day - 1)
    for number, thread in enumerate(threads):
        for turn in thread:
            at += timedelta(minutes=7)
            yield replace(turn, day=day, thread=f"{day}-{number}", at=at)
