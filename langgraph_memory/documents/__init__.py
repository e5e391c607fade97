"""Texts that were given to know: chunks, editions."""

from langgraph_memory.documents.documents import (
    Replacement,
    chunks_of,
    decoded,
    holding,
    leftovers,
    sources_with_leftovers,
    stored_ops,
    with_sources,
)
from langgraph_memory.documents.splitting import language_of
