"""Questions that a memory can answer, and that it cannot: what a floor has to tell apart."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.languages import read
from benchmarks.locomo_data import Conversation, renamed

ANSWERABLE = "answerable"
OTHERS = ("other people's", "everyday en", "everyday zh", "nonsense", "adversarial")

SAMPLE = 200
"""Questions about other people that each conversation is asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one user, and the names of what answers it."""

    user: str
    group: str
    text: str
    right: frozenset[str] = frozenset()


def unanswerable(conversations: Sequence[Conversation]) -> Iterator[Asked]:
    """Yield what each conversation is asked that it cannot answer."""
    for conversation in conversations:
        others = [
            renamed(question.text, other.speakers, conversation.speakers)
            for other in conversations
            if other is not conversation
            for question in other.questions
        ]
        chosen = random.Random(conversation.id).sample(others, min(SAMPLE, len(others)))
        groups = [*(("other people's", text) for text in chosen), *offtopic({"en", "zh", "zxx"})]
        groups += [("adversarial", text) for text in conversation.adversarial]
        yield from (Asked(conversation.id, group, text) for group, text in groups)


def offtopic(languages: Iterable[str]) -> list[tuple[str, str]]:
    """Return questions in some languages about what nobody told, each with its group."""
    return [
        ("nonsense" if row["kind"] == "nonsense" else f"everyday {row['language']}", row["text"])
        for row in read("offtopic.jsonl")
        if row["language"] in set(languages)
    ]
