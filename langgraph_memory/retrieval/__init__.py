"""A question, ranked hits, the block that a model reads."""

from langgraph_memory.retrieval.block import (
    INTRODUCTION,
    LAST_TIME,
    NOTHING_ELSE,
    NOTHING_KNOWN,
    PERHAPS,
    TASKS,
    Block,
    Quotas,
    fill,
    line_of,
    memory_block,
)
from langgraph_memory.retrieval.conversation_query import Rewrite, Rewriter, in_turn, queries_of
from langgraph_memory.retrieval.listing import Choice, counts, doomed, receipt
from langgraph_memory.retrieval.query import RecallQuery
from langgraph_memory.retrieval.ranking import Floors, Ranking, recency
from langgraph_memory.retrieval.recalled import Hit, Recalled
from langgraph_memory.retrieval.reranking import rerank
from langgraph_memory.retrieval.results import (
    lesson_ops,
    narrowed,
    recall_ops,
    recalled_from,
    with_found,
    with_lessons,
)
