"""`Memory` and its verbs."""

from langgraph_memory.memory.arguments import episode_from
from langgraph_memory.memory.backup_files import Backup
from langgraph_memory.memory.delivery import Letter, place_of
from langgraph_memory.memory.memory import Memory
from langgraph_memory.memory.outbox import Content, Entry, Outbox
from langgraph_memory.memory.settings import task_reader
