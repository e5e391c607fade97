"""What a recall returns: hits with their scores, from which the block for a prompt is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Generic

from typing_extensions import TypeVar

from langgraph_memory.records import Episode, Message, Note, Record
from langgraph_memory.text import CountTokens

Found_co = TypeVar("Found_co", bound=Record, default=Record, covariant=True)


@dataclass(frozen=True, slots=True)
class Hit(Generic[Found_co]):
    """A record that a query found."""

    record: Found_co
    """The note, message, episode, document that was found."""
    text: str
    """Its text."""
    score: float
    """What it is ranked by; higher is better."""
    parts: Mapping[str, float]
    """What the score is made of; `Ranking` says what each part weighs.

    Of every record: `cosine`, `bm25`, `coverage`, `evidence` (what the floor looks at),
    `relevance`, `recency`, `importance`. Of a note besides: `worth` (what the profile is chosen
    by) or, of a project or an agent, `shared`. Of a message: `likeness` (the cosine similarity of
    its window), `named`, `moment`, `day`,
    `answers`, `kind`, `form` (what it counts that it is a question, a request or small talk),
    `stated` (what the user's statements rank by), `times` (how often it was said in the same
    words). A reranker adds `rerank`, its own score, and puts the hits into its own order."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a memory knows about a query, in three degrees; iterating it gives its hits."""

    query: str
    profile: tuple[Note, ...] = ()
    """The notes that are worth most in every prompt: pinned, how to serve the user, critical, with
    a slot, preferences, then by importance, mentions, recency and nearness to the query. The
    user's own come before those of a project or an agent, and none of them in others' places."""
    stated: tuple[Hit[Message], ...] = ()
    """What the user stated about themselves, the most worthy first."""
    recent: tuple[Message | Episode, ...] = ()
    """The last messages of the user's latest other session, and its episode; oldest first."""
    hits: tuple[Hit, ...] = ()
    """What is known about the query, best first."""
    perhaps: tuple[Hit, ...] = ()
    """The best of what lies below, best first: it may be about the query, or not."""
    episodes: tuple[Hit[Episode], ...] = ()
    """Similar past tasks, best first."""
    lessons: tuple[Note, ...] = ()
    """What was learnt from those tasks."""
    nothing_known: bool = True
    """Whether no record was relevant enough; the rest may hold something still."""
    empty: bool = True
    """Whether the memory holds nothing at all, beside the session that is going on."""
    exact: bool = True
    """Whether all was searched; not so where a user has more than is kept in memory (some 50,000
    messages) and only what is near by meaning was compared by words."""
    zone: tzinfo = UTC
    """The time zone of the days in the block."""
    floors: Mapping[str, float] = field(default_factory=dict, compare=False)
    """From which evidence on something is known, by the type of the records."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def prompt(self, max_tokens: int = 1000, count_tokens: CountTokens | None = None) -> str:
        """Return the block that a model reads; empty only when the memory is empty.

        Args:
            max_tokens: How long it may be.
            count_tokens: Counts tokens: a function of a text, or the chat model that reads the
                block; by default four characters are one token, or one that is Chinese.
        """
        from langgraph_memory.retrieval.block import memory_block

        return memory_block(self, max_tokens, count_tokens).text

    def explain(self, max_tokens: int = 1000) -> str:
        """Return why, and why not: a line for each record, with its score and what that is made of.

        Args:
            max_tokens: The budget of the block; what it leaves out is said to be.
        """
        from langgraph_memory.retrieval.explaining import explanation

        return explanation(self, max_tokens)
