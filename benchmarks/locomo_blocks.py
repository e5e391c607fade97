"""What of LoCoMo's evidence stands in the block that a node gives a model by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.life_agent import Asking
from benchmarks.life_scores import lines_of, middle, says_nothing
from benchmarks.locomo_contenders import Ours, message_ids
from benchmarks.locomo_data import CATEGORIES, Conversation
from benchmarks.retrieval_scores import Line, mean
from langgraph_memory.text.bm25 import query_tokens
from langgraph_memory.text.length import approximate_tokens


@dataclass(frozen=True, slots=True)
class Read:
    """What a model reads with a question."""

    category: int
    evidence: float
    """The share of it that stands in the block."""
    words: float | None
    """The share of the answer's content terms that do; `None` if it has none."""
    block: str


def read_in_blocks(ours: Ours, conversations: Sequence[Conversation]) -> Iterator[Line]:
    """Yield a line about all questions, and one about each category.

    Args:
        ours: Has kept the conversations.
        conversations: What is asked.
    """
    reads = [each for conversation in conversations for each in _reads(ours, conversation)]
    yield {"name": "locomo.block", "category": "all", **_figures(reads)}
    for number, category in CATEGORIES.items():
        chosen = [each for each in reads if each.category == number]
        yield {"name": "locomo.block", "category": category, **_figures(chosen)}


def _reads(ours: Ours, conversation: Conversation) -> Iterator[Read]:
    ids = message_ids(ours, conversation)
    asking = Asking(ours.at_the_end(conversation))
    for question in conversation.questions:
        given = asking(question.text, conversation.id)
        found = question.evidence.intersection(ids.get(id, "") for id in given.ids)
        share = len(found) / len(question.evidence)
        words = words_in(question.answer, given.block)
        yield Read(question.category, share, words, given.block)


def words_in(answer: str, block: str) -> float | None:
    """Return the share of an answer's content terms that stand in a block's lines.

    Example:
        >>> words_in("The rye bread", "<memory>\\n- [2024-06-20] Oda: rye again\\n</memory>")
        0.5
    """
    terms = set(query_tokens(answer))
    shown = {term for _, line in lines_of(block) for term in query_tokens(line)}
    return len(terms & shown) / len(terms) if terms else None


def _figures(reads: Sequence[Read]) -> Line:
    return {
        "questions": len(reads),
        "evidence": mean(each.evidence for each in reads),
        "answer_words": mean(each.words for each in reads if each.words is not None),
        "nothing": mean(says_nothing(each.block) for each in reads),
        "tokens": middle(approximate_tokens(each.block) for each in reads),
    }
