"""Chat models and embedders: asked, and their broken answers read."""

from langgraph_memory.models.chat import TAG_MEMORY, ChatCaller, ChatModel, ModelAnswer
from langgraph_memory.models.embedder import (
    MAX_CHARACTERS,
    PROBE,
    Embed,
    Embedder,
    Fingerprint,
    Vectors,
    fingerprint_from_metadata,
    fingerprint_to_metadata,
    name_of,
    seeded_vector,
)
from langgraph_memory.models.json_answers import (
    DECODER,
    UnreadableAnswer,
    items_of,
    repaired,
    without_thoughts,
)
from langgraph_memory.models.prompts import (
    EXTRACTION,
    MERGING,
    RECONCILING,
    REFLECTION,
    REWRITING,
    escaped,
)
from langgraph_memory.models.universal import SHARE, UniversalSentenceEncoder, headed
