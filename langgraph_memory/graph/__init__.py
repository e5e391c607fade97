"""What drops into a graph: nodes, middleware, tools, callbacks, summaries."""

from langgraph_memory.graph.episode_recorder import EpisodeRecorder
from langgraph_memory.graph.events import MemoryEvent, MemoryItem
from langgraph_memory.graph.middleware import MemoryMiddleware
from langgraph_memory.graph.nodes import (
    MemoryState,
    messages_with_memory,
    recall_node,
    remember_node,
    with_memory,
)
from langgraph_memory.graph.run import CANDIDATES, check_memory, deliver_outbox
from langgraph_memory.graph.summary import SummaryState, messages_with_summary, summary_node
from langgraph_memory.graph.tool_actions import (
    Call,
    EditAction,
    ForgetAction,
    ListAction,
    ProfileAction,
    RecallAction,
    RememberAction,
    Verb,
)
from langgraph_memory.graph.tool_texts import (
    FURTHER_TOOLS_PROMPT,
    RecallOrProfile,
    Remember,
    listed_text,
    wrong_arguments,
)
from langgraph_memory.graph.tools import TOOLS_PROMPT, memory_tools
