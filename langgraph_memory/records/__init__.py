"""The records and whose they are: notes, messages, episodes, documents, owners, receipts."""

from langgraph_memory.records.aliases import proposed, united
from langgraph_memory.records.clock import Clock, as_utc, in_zone, parse_time, utc_now
from langgraph_memory.records.owners import (
    RECORD_TYPES,
    ROOT,
    TYPES,
    Owner,
    OwnerKind,
    RecordType,
    check_id,
    check_record_id,
    decode_label,
    encode_label,
    owner_of,
    readers,
    writer,
)
from langgraph_memory.records.records import (
    GLOBAL_ID,
    KINDS,
    OUTCOMES,
    RECORD_CLASSES,
    STATUSES,
    Also,
    Change,
    Document,
    Episode,
    Erased,
    Extraction,
    Kind,
    Message,
    Note,
    Outcome,
    Receipt,
    Record,
    Source,
    Speaker,
    Status,
    Tie,
    is_kept_anyway,
    long_date,
    normalise,
    record_id,
    slot_digest,
    text_digest,
)
from langgraph_memory.records.soundness import MAX_DEPTH, depth, flaw_in, tell_once
from langgraph_memory.records.validation import count
