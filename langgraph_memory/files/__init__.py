"""Files that survive: written durably, locked, marked, read beside a writer, searched."""

from langgraph_memory.files.byte_search import SHORTEST
from langgraph_memory.files.directory_lock import DirectoryLock, resolved
from langgraph_memory.files.durable import flush_folder, write_durably
from langgraph_memory.files.file_search import living_values, search_files, values_in
from langgraph_memory.files.sqlite_reader import SqliteReader
from langgraph_memory.files.written_mark import is_marked, leave_mark, mark_of
