"""Long-term memory that drops into any LangGraph agent.

The names below are loaded when they are first used: importing this package imports neither
`chromadb` nor `langchain`, `langgraph` or the embedder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_memory.backup import Backup as Backup
    from langgraph_memory.episodic import Rating as Rating
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
    from langgraph_memory.events import MemoryEvent as MemoryEvent
    from langgraph_memory.events import MemoryItem as MemoryItem
    from langgraph_memory.extraction import Candidate as Candidate
    from langgraph_memory.floors import Floors as Floors
    from langgraph_memory.memory import Memory as Memory
    from langgraph_memory.middleware import MemoryMiddleware as MemoryMiddleware
    from langgraph_memory.nodes import MemoryState as MemoryState
    from langgraph_memory.nodes import messages_with_memory as messages_with_memory
    from langgraph_memory.nodes import recall_node as recall_node
    from langgraph_memory.nodes import remember_node as remember_node
    from langgraph_memory.nodes import with_memory as with_memory
    from langgraph_memory.open_episode import OpenEpisode as OpenEpisode
    from langgraph_memory.outbox import Outbox as Outbox
    from langgraph_memory.ranking import Quotas as Quotas
    from langgraph_memory.ranking import Ranking as Ranking
    from langgraph_memory.recalled import Hit as Hit
    from langgraph_memory.recalled import Recalled as Recalled
    from langgraph_memory.recorder import EpisodeRecorder as EpisodeRecorder
    from langgraph_memory.records import Change as Change
    from langgraph_memory.records import Document as Document
    from langgraph_memory.records import Episode as Episode
    from langgraph_memory.records import Extraction as Extraction
    from langgraph_memory.records import Message as Message
    from langgraph_memory.records import Note as Note
    from langgraph_memory.records import Receipt as Receipt
    from langgraph_memory.records import Source as Source
    from langgraph_memory.replies import SavingReply as SavingReply
    from langgraph_memory.reply_stream import ReplyStream as ReplyStream
    from langgraph_memory.runs import deliver_outbox as deliver_outbox
    from langgraph_memory.server_sessions import open_checkpointer as open_checkpointer
    from langgraph_memory.sessions import Sessions as Sessions
    from langgraph_memory.sessions import Snapshot as Snapshot
    from langgraph_memory.sessions import open_sessions as open_sessions
    from langgraph_memory.store.chroma import ChromaStore as ChromaStore
    from langgraph_memory.store.chroma import open_store as open_store
    from langgraph_memory.store.filters import ExtendedFilter as ExtendedFilter
    from langgraph_memory.store.maintenance import Report as Report
    from langgraph_memory.store.maintenance import compact as compact
    from langgraph_memory.store.maintenance import doctor as doctor
    from langgraph_memory.store.maintenance import reembed as reembed
    from langgraph_memory.summary import SummaryState as SummaryState
    from langgraph_memory.summary import messages_with_summary as messages_with_summary
    from langgraph_memory.summary import summary_node as summary_node
    from langgraph_memory.threads import Session as Session
    from langgraph_memory.tools import TOOLS_PROMPT as TOOLS_PROMPT
    from langgraph_memory.tools import memory_tools as memory_tools
    from langgraph_memory.universal import UniversalSentenceEncoder as UniversalSentenceEncoder

__version__ = "0.1.0"
"""The version of this package."""

_MODULE_OF = {
    "Backup": "backup",
    "ChromaStore": "store.chroma",
    "Candidate": "extraction",
    "EpisodeRecorder": "recorder",
    "ExtendedFilter": "store.filters",
    "Memory": "memory",
    "MemoryMiddleware": "middleware",
    "OpenEpisode": "open_episode",
    "Outbox": "outbox",
    "Rating": "episodic",
    "UniversalSentenceEncoder": "universal",
    "deliver_outbox": "runs",
    "open_checkpointer": "server_sessions",
    "open_store": "store.chroma",
} | {
    name: module
    for module, names in {
        "errors": (
            "ConfigurationError",
            "EmbedderMismatchError",
            "LangGraphMemoryError",
            "MissingUserError",
            "ModelError",
            "RecordNotFoundError",
            "StoreAwayError",
            "StoreError",
            "StoreLockedError",
            "ThreadOwnerError",
        ),
        "nodes": (
            "MemoryState",
            "messages_with_memory",
            "recall_node",
            "remember_node",
            "with_memory",
        ),
        "events": ("MemoryEvent", "MemoryItem"),
        "floors": ("Floors",),
        "ranking": ("Quotas", "Ranking"),
        "records": (
            "Change",
            "Document",
            "Episode",
            "Extraction",
            "Message",
            "Note",
            "Receipt",
            "Source",
        ),
        "recalled": ("Hit", "Recalled"),
        "replies": ("SavingReply",),
        "reply_stream": ("ReplyStream",),
        "summary": ("SummaryState", "messages_with_summary", "summary_node"),
        "store.maintenance": ("Report", "compact", "doctor", "reembed"),
        "sessions": ("Sessions", "Snapshot", "open_sessions"),
        "threads": ("Session",),
        "tools": ("TOOLS_PROMPT", "memory_tools"),
    }.items()
    for name in names
}

__all__ = sorted([*_MODULE_OF, "__version__"])  # one table, kept in order


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
