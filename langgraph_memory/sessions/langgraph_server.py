"""Sessions on a LangGraph server: the checkpointer that `langgraph.json` names.

There the server says who may read and write a thread, by the rules in its `auth`, and only then
asks its checkpointer: for a run with the run's config, into which it wrote the user, for all else
with the thread and what a client adds to it. So the config of no run is trusted, whatever it names.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_memory.redaction import Redact
from langgraph_memory.sessions.guard import Admitted, thread_of, user_of
from langgraph_memory.sessions.sqlite import SqliteGuard, open_sqlite, place_of_file
from langgraph_memory.sessions.state_redaction import state_redactor
from langgraph_memory.sessions.threads import in_thread


class ServerGuard(SqliteGuard):
    """The guard, where a server has asked before whether a thread may be read or written.

    A run claims its thread for its user, and is refused in another user's.
    """

    @contextmanager
    def _admitted(self, config: RunnableConfig | None, *, write: bool) -> Iterator[Admitted]:
        own: RunnableConfig = config or {}
        configurable = own.get("configurable") or {}
        thread = thread_of(configurable.get("thread_id"))
        user = _user_of_run(configurable)
        with self.threads.transaction(write=write):
            if user:
                self.threads.enter(user_of(user), thread, claim=write)
            yield {**own, "configurable": {**configurable, "thread_id": thread}}, None, thread

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread, whosever it is: the server has asked whether that is allowed."""
        self.threads.remove(None, thread_of(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs: another run takes their place."""
        theirs = (
            "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE"
            " json_extract(CAST(metadata AS TEXT), '$.run_id') IN (SELECT value FROM json_each(?))"
        )
        place = "(thread_id, checkpoint_ns, checkpoint_id)"
        with self.threads.transaction(write=True) as conn:
            for table in ("writes", "checkpoints"):
                query = f"DELETE FROM {table} WHERE {place} IN ({theirs})"
                conn.execute(query, (json.dumps([*run_ids]),))

    adelete_thread: Any = in_thread(delete_thread)
    adelete_for_runs: Any = in_thread(delete_for_runs)

    # The server looks which of these a saver has, and has a way of its own to copy.
    copy_thread = BaseCheckpointSaver.copy_thread
    acopy_thread = BaseCheckpointSaver.acopy_thread
    prune = BaseCheckpointSaver.prune
    aprune = BaseCheckpointSaver.aprune


def _user_of_run(configurable: Mapping[str, Any]) -> Any:
    """Return the user that the server wrote into the config of a run; nothing if it is of no run.

    Runs alone have the user as an object, which no client can send as JSON; `user_id` is a client's
    word, and where a state is updated the name by which the server's `auth` shows the user.
    """
    if "langgraph_auth_user" not in configurable:
        return None
    identity = getattr(configurable["langgraph_auth_user"], "identity", None)
    return identity or configurable.get("user_id")  # without `auth`, whom a client names


@asynccontextmanager
async def open_checkpointer(
    path: str | os.PathLike[str], *, busy_timeout: float = 30.0, redact: bool | Redact = False
) -> AsyncIterator[BaseCheckpointSaver[str]]:
    """Open the sessions of a folder as the checkpointer of a LangGraph server, and close them.

    Name a function that returns it as `checkpointer.path` in `langgraph.json`. `open_sessions` on
    the same folder lists the threads, by user.

    Args:
        path: A folder (which then holds `sessions.sqlite`), a file with a suffix, or `:memory:`.
        busy_timeout: How many seconds to wait while another process writes.
        redact: Takes secrets out of what is kept, as for `open_sessions`.

    Raises:
        ConfigurationError: If `path` is a URL, or empty; if `redact` is something else.
        StoreError: If the database cannot be opened and written.

    Example:
        >>> async def main():
        ...     async with open_checkpointer("./memory") as saver:
        ...         return await saver.aget_tuple({"configurable": {"thread_id": "monday"}})
        >>> asyncio.run(main()) is None
        True
    """
    redacts = state_redactor(redact)
    file = await asyncio.to_thread(place_of_file, path)
    saver = await asyncio.to_thread(open_sqlite, ServerGuard, file, busy_timeout, redacts)
    try:
        yield saver
    finally:
        await asyncio.to_thread(saver.threads.close)
