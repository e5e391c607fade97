"""Texts that were given to know: chunks, editions."""

from langgraph_memory.documents.documents import Replacement, chunks_of, holding, with_sources
from langgraph_memory.documents.splitting import language_of
