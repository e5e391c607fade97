"""Whether a fact is in the block that a model reads, and what the block says where nothing is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.life_month import DAYS, TELLING_DAYS, Fact
from benchmarks.retrieval_scores import Line, mean
from langgraph_memory.retrieval import block as prompts
from langgraph_memory.text.escaping import one_line
from langgraph_memory.text.length import approximate_tokens

PERHAPS: str | None = getattr(prompts, "PERHAPS", None)
"""The heading of what may be relevant, and may not."""
NOTHING = [text for name, text in vars(prompts).items() if name.startswith("NOTHING_")]

_SPAN = DAYS // 3


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a fact, and what the model was given with it."""

    day: int
    """From 1, of those with questions."""
    fact: Fact
    question: str
    block: str
    place: int | None
    """Which of the block's lines has the fact as it was said or noted, from 1."""
    told: bool
    """Whether the block has it, or an answer that said it again."""
    perhaps: bool
    """Whether the fact stands among what is uncertain."""


def asked(day: int, fact: Fact, question: str, block: str) -> Asked:
    """Look for a fact in a block."""
    lines = list(lines_of(block))
    places = [i for i, (_, line) in enumerate(lines) if _has(line, fact.said, fact.note)]
    told = bool(places) or any(_has(line, fact.repeats) for _, line in lines)
    perhaps = bool(places) and is_perhaps(lines[places[0]][0])
    place = places[0] + 1 if places else None
    return Asked(day - TELLING_DAYS, fact, question, block, place, told, perhaps)


def _has(line: str, *texts: str) -> bool:
    return any(one_line(text) in line for text in texts)


def lines_of(block: str) -> Iterator[tuple[str, str]]:
    """Yield what is remembered, a line each with the heading under which it stands."""
    heading = ""
    for line in block.splitlines():
        if line.startswith("- "):
            yield heading, line
        else:
            heading = line


def is_perhaps(heading: str) -> bool:
    """Whether a heading is that of what is uncertain."""
    return PERHAPS is not None and heading == PERHAPS


def says_nothing(block: str) -> bool:
    """Whether a block says that nothing is known about the question; an empty one does as well."""
    return not block or any(text in block for text in NOTHING)


def spans(answers: Sequence[Asked]) -> Iterator[Line]:
    """Yield the figures of the whole month, and of ten days each."""
    yield {"days": "all", **_figures(answers)}
    for begin in range(1, DAYS + 1, _SPAN):
        of_them = [each for each in answers if begin <= each.day < begin + _SPAN]
        if of_them:
            yield {"days": f"{begin}-{begin + _SPAN - 1}", **_figures(of_them)}


def _figures(answers: Sequence[Asked]) -> Line:
    return {
        "questions": len(answers),
        "held": mean(each.place is not None for each in answers),
        "told": mean(each.told for each in answers),
        "place": middle(each.place for each in answers if each.place is not None),
        "perhaps": mean(each.perhaps for each in answers),
        "refused": mean(says_nothing(each.block) for each in answers),
        "tokens": middle(approximate_tokens(each.block) for each in answers),
    }


def middle(numbers: Iterator[int]) -> float | None:
    """Return a median; `None` of nothing."""
    found = list(numbers)
    return median(found) if found else None


def other_figures(offtopic: Sequence[str], crowd: Sequence[tuple[str, str]]) -> Line:
    """Return what blocks say to questions about other subjects, and how long blocks are.

    Args:
        offtopic: Blocks of everyday questions that nothing answers.
        crowd: Kinds of other turns, each with its block.
    """

    def tokens(*kinds: str) -> float | None:
        return middle(approximate_tokens(block) for kind, block in crowd if kind in kinds)

    return {
        "offtopic": len(offtopic),
        "nothing": mean(map(says_nothing, offtopic)),
        "offtopic_tokens": middle(map(approximate_tokens, offtopic)),
        "greeting_tokens": tokens("small talk"),
        "other_tokens": tokens("statement", "order", "question"),
    }
