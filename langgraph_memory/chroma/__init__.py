"""`ChromaStore`: the only room that knows Chroma."""

from langgraph_memory.chroma.repair.maintenance import Report, compact, doctor, reembed
from langgraph_memory.chroma.store import ChromaStore, open_store
