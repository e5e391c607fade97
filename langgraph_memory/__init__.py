"""Long-term memory that drops into any LangGraph agent.

The names below are loaded when they are first used: importing this package imports neither
`chromadb` nor `langchain`, `langgraph` or the embedder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_memory.chroma import ChromaStore as ChromaStore
    from langgraph_memory.chroma import Report as Report
    from langgraph_memory.chroma import compact as compact
    from langgraph_memory.chroma import doctor as doctor
    from langgraph_memory.chroma import open_store as open_store
    from langgraph_memory.chroma import reembed as reembed
    from langgraph_memory.episodes import OpenEpisode as OpenEpisode
    from langgraph_memory.episodes import Rating as Rating
    from langgraph_memory.errors import ConfigurationError as ConfigurationError
    from langgraph_memory.errors import EmbedderMismatchError as EmbedderMismatchError
    from langgraph_memory.errors import LangGraphMemoryError as LangGraphMemoryError
    from langgraph_memory.errors import MissingUserError as MissingUserError
    from langgraph_memory.errors import ModelError as ModelError
    from langgraph_memory.errors import RecordNotFoundError as RecordNotFoundError
    from langgraph_memory.errors import StoreAwayError as StoreAwayError
    from langgraph_memory.errors import StoreError as StoreError
    from langgraph_memory.errors import StoreLockedError as StoreLockedError
    from langgraph_memory.errors import ThreadOwnerError as ThreadOwnerError
    from langgraph_memory.graph import TOOLS_PROMPT as TOOLS_PROMPT
    from langgraph_memory.graph import EpisodeRecorder as EpisodeRecorder
    from langgraph_memory.graph import MemoryEvent as MemoryEvent
    from langgraph_memory.graph import MemoryItem as MemoryItem
    from langgraph_memory.graph import MemoryMiddleware as MemoryMiddleware
    from langgraph_memory.graph import MemoryState as MemoryState
    from langgraph_memory.graph import SummaryState as SummaryState
    from langgraph_memory.graph import deliver_outbox as deliver_outbox
    from langgraph_memory.graph import memory_tools as memory_tools
    from langgraph_memory.graph import messages_with_memory as messages_with_memory
    from langgraph_memory.graph import messages_with_summary as messages_with_summary
    from langgraph_memory.graph import recall_node as recall_node
    from langgraph_memory.graph import remember_node as remember_node
    from langgraph_memory.graph import summary_node as summary_node
    from langgraph_memory.graph import with_memory as with_memory
    from langgraph_memory.memory import Backup as Backup
    from langgraph_memory.memory import Memory as Memory
    from langgraph_memory.memory import Outbox as Outbox
    from langgraph_memory.messages import ReplyStream as ReplyStream
    from langgraph_memory.messages import SavingReply as SavingReply
    from langgraph_memory.models import UniversalSentenceEncoder as UniversalSentenceEncoder
    from langgraph_memory.notes import Candidate as Candidate
    from langgraph_memory.records import Change as Change
    from langgraph_memory.records import Document as Document
    from langgraph_memory.records import Episode as Episode
    from langgraph_memory.records import Extraction as Extraction
    from langgraph_memory.records import Message as Message
    from langgraph_memory.records import Note as Note
    from langgraph_memory.records import Receipt as Receipt
    from langgraph_memory.records import Source as Source
    from langgraph_memory.retrieval import Floors as Floors
    from langgraph_memory.retrieval import Hit as Hit
    from langgraph_memory.retrieval import Quotas as Quotas
    from langgraph_memory.retrieval import Ranking as Ranking
    from langgraph_memory.retrieval import Recalled as Recalled
    from langgraph_memory.sessions import Session as Session
    from langgraph_memory.sessions import Sessions as Sessions
    from langgraph_memory.sessions import Snapshot as Snapshot
    from langgraph_memory.sessions import open_checkpointer as open_checkpointer
    from langgraph_memory.sessions import open_sessions as open_sessions
    from langgraph_memory.store import ExtendedFilter as ExtendedFilter

__version__ = "0.1.0"
"""The version of this package."""

_ROOM_OF = {
    name: room
    for room, names in {
        "chroma": "ChromaStore Report compact doctor open_store reembed",
        "episodes": "OpenEpisode Rating",
        "errors": (
            "ConfigurationError EmbedderMismatchError LangGraphMemoryError MissingUserError "
            "ModelError RecordNotFoundError StoreAwayError StoreError StoreLockedError "
            "ThreadOwnerError"
        ),
        "graph": (
            "EpisodeRecorder MemoryEvent MemoryItem MemoryMiddleware MemoryState "
            "SummaryState TOOLS_PROMPT deliver_outbox memory_tools messages_with_memory "
            "messages_with_summary recall_node remember_node summary_node with_memory"
        ),
        "memory": "Backup Memory Outbox",
        "messages": "ReplyStream SavingReply",
        "models": "UniversalSentenceEncoder",
        "notes": "Candidate",
        "records": "Change Document Episode Extraction Message Note Receipt Source",
        "retrieval": "Floors Hit Quotas Ranking Recalled",
        "sessions": "Session Sessions Snapshot open_checkpointer open_sessions",
        "store": "ExtendedFilter",
    }.items()
    for name in names.split()
}

__all__ = sorted([*_ROOM_OF, "__version__"])  # one table, kept in order


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
