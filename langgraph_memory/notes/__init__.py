"""What becomes a note and what becomes of notes: extraction, reconciliation, history."""

from langgraph_memory.notes.consolidation import (
    consolidation_batches,
    left,
    merge_writes,
    remaining,
)
from langgraph_memory.notes.extraction import (
    Accept,
    Candidate,
    Extracted,
    extraction_request,
    importance_of,
    read_items,
    slot_of,
    zone_of,
)
from langgraph_memory.notes.extraction_batch import (
    ExtractionBatch,
    ExtractionSettings,
    PairVerdicts,
    Processed,
    Settled,
    last_of_each,
)
from langgraph_memory.notes.extraction_queue import MessageBatch, Thread, queue, queue_ops
from langgraph_memory.notes.history import (
    Decision,
    approved,
    facts,
    history_of,
    rejected,
    restored,
    undone,
)
from langgraph_memory.notes.model_merge import (
    Comparison,
    Merge,
    MergeAnswer,
    MergeQuestion,
    alike,
    merge_request,
    merges,
)
from langgraph_memory.notes.pair_comparison import (
    NotePair,
    Reconciled,
    comparison_request,
    pair_verdicts,
)
from langgraph_memory.notes.proposal_filter import Refused, drawn_text, worth_keeping
from langgraph_memory.notes.reconciliation import edited, plan_batch, reconciled, signed
from langgraph_memory.notes.similarity import (
    ASK_NEVER,
    SimilarityThreshold,
    compared_words,
    same_words,
    threshold_of,
)
from langgraph_memory.notes.storage import (
    change_ops,
    edit_ops,
    edited_note,
    neighbour_ops,
    neighbours,
    refuse_duplicate,
)
