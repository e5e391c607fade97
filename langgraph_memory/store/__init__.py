"""The contract with a LangGraph store: operations, filters, items, records in them."""

from langgraph_memory.store.adapter import adapted
from langgraph_memory.store.erasing import ErasingStore, Overwritten, Sought, forms_of
from langgraph_memory.store.filters import ExtendedFilter, check_filter, matches
from langgraph_memory.store.items import (
    Address,
    Namespace,
    StoredItem,
    copy_json,
    encode_value,
    part_of,
)
from langgraph_memory.store.operations import (
    Best,
    Columns,
    Flags,
    Found,
    HybridOp,
    Match,
    NewestOp,
    Ranker,
    Scores,
    Searched,
    top,
)
from langgraph_memory.store.records import (
    ALL,
    OWNERS,
    all_ops,
    batches,
    edit_op,
    edits_in,
    edits_read_op,
    every_item_op,
    forgotten,
    get_op,
    kept_metadata,
    lying_in,
    owners_of,
    put_op,
    read_notes,
    read_record,
    read_records,
    record_filter,
    said_at,
    sound_or_none,
    value_filter,
)
from langgraph_memory.store.traces import pieces_of_text, pieces_of_vectors, texts_of
from langgraph_memory.store.ttl import check_ttl
