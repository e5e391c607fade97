"""The verb that deletes."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from langgraph_memory.memory import arguments, retelling
from langgraph_memory.memory.base import Verbs
from langgraph_memory.memory.deletion import Deletion
from langgraph_memory.memory.locks import OWNER_LOCKS
from langgraph_memory.memory.read_only import writes
from langgraph_memory.messages import forget_ops
from langgraph_memory.records import TYPES, Owner, Receipt, writer
from langgraph_memory.retrieval import receipt
from langgraph_memory.store import Namespace, all_ops, read_records
from langgraph_memory.twins import blocking, twins


class Forgetting(Verbs):
    """`forget`."""

    @writes
    async def _forget(
        self,
        id: str | None = None,
        *,
        user: str,
        text: str | None = None,
        source: str | Path | None = None,
        sources: bool = False,
        everything: bool = False,
        project: str | None = None,
        agent: str | None = None,
    ) -> Receipt:
        """Delete records: one, those with a text, those of a source, or all.

        A note goes with its older versions, and with the notes that were merged into it; a source
        with its documents. Of a forgotten message a digest of its id stays, so that a session which
        still holds it does not log it again. Sessions are deleted apart, by `Sessions.delete`.

        Args:
            id: A record's id.
            user: Whose records.
            text: The whole text of notes, messages, tasks or chunks of documents; case and white
                space are ignored.
            source: The name of a source, or its path: all of its documents.
            sources: Whether a note takes along what else says it (`Receipt.also` names that else):
                the messages that it comes from, the answers to them, the episodes of their turns,
                lessons that rest on nothing else, what says the same in the same words. A record of
                another type takes along what says the same, and notes that rest on it alone.
            everything: All that the memory of the user, project or agent holds, and what of the
                user waits in the outbox.
            project: A project whose records, instead of the user's.
            agent: An agent whose records, instead of the user's.

        Returns:
            What was deleted; empty if there was nothing. `also` names what still says it.
        """
        text, source = arguments.forget_arguments(
            id, text, source, everything, sources, self.redact
        )
        owner = writer(user, project, agent)
        if everything:
            await blocking(self._forget_waiting, owner)
        async with AsyncExitStack() as held:
            for each in _touched(owner, user, sources):
                await held.enter_async_context(OWNER_LOCKS.hold(each))
            if everything:
                return await self._forget_everything(owner)
            namespaces = _looked_through(owner, user)
            results = await self._batch(all_ops(namespaces))
            records = read_records(namespaces, results)
            gone, also = retelling.with_retellings(owner, records, (id, text, source), sources)
            await self._write(forget_ops(gone))
        return receipt(gone, also)

    forget, aforget = twins(_forget)

    async def _forget_everything(self, owner: Owner) -> Receipt:
        deletion = Deletion(owner)
        while True:
            listed = (await self._batch([deletion.list_op]))[0]
            ops = deletion.delete_ops(deletion.items(await self._batch(deletion.read_ops(listed))))
            if not ops:
                return deletion.receipt
            await self._write(ops)


def _looked_through(owner: Owner, user: str) -> list[Namespace]:
    """Return where a record may be, and what else says it: also what its user said themselves."""
    owners = dict.fromkeys([owner, writer(user)])
    return [ns for each in owners for ns in arguments.namespaces(each, (*TYPES, "source"))]


def _touched(owner: Owner, user: str, sources: bool) -> list[Owner]:
    """Return whose records may be deleted, the user first: all wait for them in one order."""
    return list(dict.fromkeys([writer(user), owner])) if sources else [owner]
