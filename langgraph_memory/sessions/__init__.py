"""LangGraph's threads, for their users. Knows nothing of memory."""

from langgraph_memory.sessions.langgraph_server import open_checkpointer
from langgraph_memory.sessions.sessions import Sessions, Snapshot, open_sessions
from langgraph_memory.sessions.sqlite import FILE_NAME
from langgraph_memory.sessions.threads import Session
