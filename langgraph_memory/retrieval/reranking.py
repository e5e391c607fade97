"""The best hits of a recall, put into the order of a reranker.

A reranker is a LangChain document compressor: a cross-encoder, a service, a model. It reads the
question and a text together, which is more exact than comparing two vectors, and slower. Hits that
it leaves out stay hits, and if it fails the order stays as it was.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real

from langchain_core.documents import BaseDocumentCompressor
from langchain_core.documents import Document as Shown
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.constants import TAG_NOSTREAM

from langgraph_memory.models import TAG_MEMORY
from langgraph_memory.retrieval.recalled import Hit, Recalled
from langgraph_memory.twins import Either

logger = logging.getLogger(__name__)

RERANKED = 30
"""So many of the best hits are shown to a reranker: twice what the nodes put into a block."""

_UNSTREAMED: RunnableConfig = {"tags": [TAG_NOSTREAM, TAG_MEMORY]}  # a model that reranks, too
_PLACE = "hit"  # in the metadata of a document: which hit it shows


async def rerank(reranker: BaseDocumentCompressor, recalled: Recalled) -> Recalled:
    """Return what was recalled, its hits in the order of a reranker; as it was if that fails.

    For both forms: see `twins`.
    """
    if len(recalled.hits) < 2:
        return recalled
    asking = _asking(reranker, recalled)
    try:
        ranked = await Either(asking.invoke, asking.ainvoke, _shown(recalled.hits), _UNSTREAMED)
        return replace(recalled, hits=_reordered(recalled.hits, ranked))
    except Exception as error:  # whatever a model or its service raises
        logger.warning("hits could not be reranked; their order stays", exc_info=error)
        return recalled


def _asking(
    reranker: BaseDocumentCompressor, recalled: Recalled
) -> Runnable[list[Shown], Sequence[Shown]]:
    """Return the reranker as a runnable, since its methods take no tags."""

    def ask(documents: list[Shown]) -> Sequence[Shown]:
        return reranker.compress_documents(documents, recalled.query)

    async def aask(documents: list[Shown]) -> Sequence[Shown]:
        return await reranker.acompress_documents(documents, recalled.query)

    return RunnableLambda(ask, aask, name="rerank")


def _shown(hits: Sequence[Hit]) -> list[Shown]:
    return [
        Shown(
            hit.text,
            metadata={_PLACE: place, "id": hit.record.id, "type": hit.record.type},
        )
        for place, hit in enumerate(hits[:RERANKED])
    ]


def _reordered(hits: Sequence[Hit], ranked: Sequence[Shown]) -> tuple[Hit, ...]:
    """Return hits in the order of the documents that show them.

    Raises:
        KeyError: If a document does not say which hit it shows.
    """
    left = dict(enumerate(hits))
    first = []
    for document in ranked:
        hit = left.pop(document.metadata[_PLACE], None)
        if hit is not None:
            score = document.metadata.get("relevance_score")
            known = {"rerank": float(score)} if isinstance(score, Real) else {}
            first.append(replace(hit, parts={**hit.parts, **known}))
    return (*first, *left.values())
