"""What finds messages again: this memory, its peers, and plain BM25."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from benchmarks.latency_timing import OURS
from benchmarks.locomo_data import Conversation
from benchmarks.locomo_peers import BM25, InMemory, LangChainChroma, LangMem, Mem0, SameEmbeddings
from benchmarks.retrieval_scores import LIMIT
from langgraph_memory import ChromaStore, Memory
from langgraph_memory.models.embedder import Embed
from langgraph_memory.records.records import Message
from langgraph_memory.retrieval.recalled import Hit
from langgraph_memory.testing import ManualClock

CONTENDERS = ("ours", "langgraph", "langgraph-dated", "langchain-chroma", "mem0", "langmem", "bm25")
"""Their names, in the order in which they are measured."""


class Contender(Protocol):
    """One way to keep conversations and to find in them."""

    library: ClassVar[str]
    call: str
    """What is called, in words."""

    def keep(self, conversation: Conversation) -> None:
        """Keep all messages."""

    def find(self, question: str, conversation: Conversation) -> list[str]:
        """Return the ids of the messages found, best first, at most `LIMIT`."""

    def close(self) -> None:
        """Close what is open."""


class Ours:
    """`Memory.recall`, asked the day after the last session."""

    library: ClassVar[str] = OURS

    def __init__(self, embed: Embed | None) -> None:
        self.call = "Memory.recall"
        self._clock = ManualClock()
        self.memory = Memory(ChromaStore.in_memory(embed=embed), clock=self._clock)

    def keep(self, conversation: Conversation) -> None:
        """Log each session as it was said."""
        for session in conversation.sessions:
            self.memory.log_turn(
                session.messages, user=conversation.id, thread_id=session.id, at=session.at
            )

    def find(self, question: str, conversation: Conversation) -> list[str]:
        """Recall without a floor: what it lets through is measured by `benchmarks.floor`."""
        return [message_id(hit) for hit in self.hits(question, conversation, LIMIT)]

    def hits(
        self,
        question: str,
        conversation: Conversation,
        limit: int,
        min_relevance: float | None = 0.0,
    ) -> Sequence[Hit]:
        """Recall messages, and nothing else."""
        recalled = self.at_the_end(conversation).recall(
            question,
            user=conversation.id,
            types=["message"],
            limit=limit,
            min_relevance=min_relevance,
        )
        return recalled.hits

    def at_the_end(self, conversation: Conversation) -> Memory:
        """Return the memory on the day on which a conversation is asked about."""
        self._clock.set(conversation.asked)
        return self.memory

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()


def message_id(hit: Hit) -> str:
    """Return the id that a message has in the data."""
    assert isinstance(hit.record, Message)
    return hit.record.message_id


def message_ids(ours: Ours, conversation: Conversation) -> dict[str, str]:
    """Return the ids that a conversation's messages have in the data, by those of their records."""
    kept = ours.at_the_end(conversation).list(
        user=conversation.id, types=["message"], limit=len(conversation.said)
    )
    return {record.id: record.message_id for record in kept if isinstance(record, Message)}


Opened = Callable[[], Contender]


def contenders(embed: Embed | None, directory: Path) -> dict[str, Opened]:
    """Return what makes each contender; it may raise ImportError."""
    same = SameEmbeddings(embed)
    opened: tuple[Opened, ...] = (
        lambda: Ours(embed),
        lambda: InMemory(same, same.dims),
        lambda: InMemory(same, same.dims, dated=True),
        lambda: LangChainChroma(directory / "langchain", same),
        lambda: Mem0(directory / "mem0", same),
        lambda: LangMem(same, same.dims),
        BM25,
    )
    return dict(zip(CONTENDERS, opened, strict=True))


@contextmanager
def kept(opened: Opened, conversations: Sequence[Conversation]) -> Iterator[Any]:
    """Open a contender that has kept all conversations."""
    with closing(opened()) as contender:
        for conversation in conversations:
            contender.keep(conversation)
        yield contender
