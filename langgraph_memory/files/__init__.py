"""Files that survive: written durably, locked, marked, read beside a writer, searched."""

from langgraph_memory.files.byte_search import SHORTEST, living_values, search_files, values_in
from langgraph_memory.files.directory_lock import DirectoryLock, resolved
from langgraph_memory.files.durable import (
    flush_folder,
    is_marked,
    leave_mark,
    mark_of,
    write_durably,
)
from langgraph_memory.files.sqlite_reader import SqliteReader
