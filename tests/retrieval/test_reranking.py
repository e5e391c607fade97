"""A reranker puts hits into its own order, and its failure costs nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import StateGraph

from langgraph_memory import ChromaStore, ConfigurationError, Memory, MemoryState, recall_node
from langgraph_memory.retrieval.block import RELEVANT, memory_block
from langgraph_memory.retrieval.ranking import Quotas
from langgraph_memory.retrieval.reranking import RERANKED
from langgraph_memory.testing import HashingEmbeddings, ManualClock
from tests.conftest import Verbs
from tests.retrieval.test_block import below


class ByLength(BaseDocumentCompressor):
    """Puts the longest text first, and says how long it is."""

    top_n: int | None = None
    scores: bool = True

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return copies, as the rerankers of services do."""
        longest = sorted(documents, key=lambda document: -len(document.page_content))
        return [
            Document(
                document.page_content,
                metadata=dict(document.metadata)
                | ({"relevance_score": len(document.page_content)} if self.scores else {}),
            )
            for document in longest[: self.top_n]
        ]


class Failing(BaseDocumentCompressor):
    """A reranker that cannot be reached, or loses what its documents say."""

    answer: Callable[[], Sequence[Document]]

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Fail, or forget the metadata."""
        return self.answer()


def unreachable() -> Sequence[Document]:
    raise ConnectionError("the reranker is down")


def without_metadata() -> Sequence[Document]:
    return [Document("tea")]


ASKED: dict[str, Any] = {"user": "ana", "min_relevance": 0}
"""All come, so that there is something to put into an order."""

TEXTS = ["tea", "tea with milk", "tea with milk and sugar", "tea please"]


@pytest.fixture
def fresh(clock: ManualClock) -> Iterator[Memory]:
    store = ChromaStore.in_memory(embed=HashingEmbeddings())
    with Memory(store, clock=clock) as memory:
        for text in TEXTS:
            memory.remember(text, user="ana")
        yield memory


async def test_hits_come_in_the_order_of_the_reranker_with_its_scores(
    fresh: Memory, prefix: str
) -> None:
    before = {hit.text: hit for hit in fresh.recall("tea", **ASKED)}
    fresh.reranker = ByLength()
    hits = (await Verbs(fresh, prefix).recall("tea", **ASKED)).hits
    assert [hit.text for hit in hits] == sorted(TEXTS, key=len, reverse=True)
    for hit in hits:
        assert hit.parts == {**before[hit.text].parts, "rerank": len(hit.text)}
        assert hit.score == before[hit.text].score
    assert "rerank 23.00" in fresh.recall("tea", **ASKED).explain()


async def test_what_a_reranker_leaves_out_comes_after_in_its_old_order(
    fresh: Memory, prefix: str
) -> None:
    before = [hit.text for hit in fresh.recall("tea", **ASKED)]
    fresh.reranker = ByLength(top_n=1, scores=False)
    hits = (await Verbs(fresh, prefix).recall("tea", **ASKED)).hits
    longest = max(TEXTS, key=len)
    assert [hit.text for hit in hits] == [longest, *(text for text in before if text != longest)]
    assert all("rerank" not in hit.parts for hit in hits)


@pytest.mark.parametrize("answer", [unreachable, without_metadata])
async def test_a_reranker_that_fails_leaves_the_order_and_is_logged(
    fresh: Memory, prefix: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    before = fresh.recall("tea", **ASKED)
    fresh.reranker = Failing(answer=answer)
    with caplog.at_level(logging.WARNING):
        assert await Verbs(fresh, prefix).recall("tea", **ASKED) == before
    assert caplog.messages == ["hits could not be reranked; their order stays"]


async def test_a_reranker_is_shown_the_best_hits_alone(fresh: Memory, prefix: str) -> None:
    for number in range(RERANKED + 5):
        fresh.remember(f"tea number {number}", user="ana")
    before = [hit.text for hit in fresh.recall("tea", **ASKED, limit=100)]
    fresh.reranker = ByLength()
    after = [hit.text for hit in (await Verbs(fresh, prefix).recall("tea", **ASKED, limit=100))]
    assert len(before) > RERANKED
    assert sorted(after[:RERANKED]) == sorted(before[:RERANKED])
    assert after[RERANKED:] == before[RERANKED:]


def test_the_best_of_a_reranker_are_the_first_that_a_block_gets(fresh: Memory) -> None:
    for number in range(25):
        fresh.remember(f"tea {number}", user="ana")
    fresh.reranker = ByLength()
    recalled = fresh.recall("tea", **ASKED, limit=30)
    quotas = Quotas(notes=1)
    assert below(memory_block(recalled, 65, quotas=quotas).text, RELEVANT) == [
        "fact: tea with milk and sugar"
    ]
    whole = below(memory_block(recalled, 1_000, quotas=quotas).text, RELEVANT)
    assert whole[0] == "fact: tea with milk and sugar"


class ByModel(BaseDocumentCompressor):
    """Asks a chat model, which says where to put the first document."""

    model: Any

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Ask, and put the first document last."""
        assert self.model.invoke(query).text == "last"
        return [*documents[1:], documents[0]]


@pytest.mark.parametrize("prefix", ["", "a"])
async def test_what_a_model_says_that_reranks_is_not_streamed_to_the_user(
    fresh: Memory, prefix: str
) -> None:
    before = [hit.text for hit in fresh.recall("tea", **ASKED)]
    fresh.reranker = ByModel(model=FakeListChatModel(responses=["last"]))
    assert [hit.text for hit in fresh.recall("tea", **ASKED)] == [*before[1:], before[0]]
    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(fresh))
    builder.set_entry_point("recall")
    graph: Any = builder.compile()
    given, how = {"messages": [("user", "tea")]}, {"configurable": {"user_id": "ana"}}
    if prefix:
        streamed = [chunk async for chunk in graph.astream(given, how, stream_mode="messages")]
    else:
        streamed = list(graph.stream(given, how, stream_mode="messages"))
    assert not streamed


@pytest.mark.parametrize("given", ["cohere", ByLength, len], ids=["name", "class", "function"])
def test_what_is_no_reranker_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="reranker= is a LangChain document compressor"):
        Memory(reranker=given)
