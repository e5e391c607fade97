"""The verb that deletes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from langgraph_memory import arguments, listing
from langgraph_memory.locks import OWNER_LOCKS
from langgraph_memory.operations import Erasure, all_ops, forget_ops, read_records
from langgraph_memory.read_only import writes
from langgraph_memory.records import Receipt
from langgraph_memory.scope import TYPES, Owner, writer
from langgraph_memory.verbs.base import Verbs


class Forgetting(Verbs):
    """`forget`."""

    @writes
    def forget(
        self,
        id: str | None = None,
        *,
        user: str,
        text: str | None = None,
        source: str | Path | None = None,
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
            everything: All that the memory of the user, project or agent holds, and what of the
                user waits in the outbox.
            project: A project whose records, instead of the user's.
            agent: An agent whose records, instead of the user's.

        Returns:
            What was deleted; empty if there was nothing.
        """
        text, source = arguments.forgotten(id, text, source, everything, self.redact)
        owner = writer(user, project, agent)
        if everything:
            self._forget_waiting(owner)
        with OWNER_LOCKS.hold(owner):
            if everything:
                return self._forget_everything(owner)
            namespaces = arguments.namespaces(owner, (*TYPES, "source"))
            results = self.store.batch(all_ops(namespaces, self._hybrid))
            gone = listing.doomed(read_records(namespaces, results), id, text, source)
            self._write(forget_ops(gone))
        return listing.receipt(gone)

    @writes
    async def aforget(
        self,
        id: str | None = None,
        *,
        user: str,
        text: str | None = None,
        source: str | Path | None = None,
        everything: bool = False,
        project: str | None = None,
        agent: str | None = None,
    ) -> Receipt:
        """Async form of `forget`."""
        text, source = arguments.forgotten(id, text, source, everything, self.redact)
        owner = writer(user, project, agent)
        if everything:
            await asyncio.to_thread(self._forget_waiting, owner)
        async with OWNER_LOCKS.ahold(owner):
            if everything:
                return await self._aforget_everything(owner)
            namespaces = arguments.namespaces(owner, (*TYPES, "source"))
            results = await self.store.abatch(all_ops(namespaces, self._hybrid))
            gone = listing.doomed(read_records(namespaces, results), id, text, source)
            await self._awrite(forget_ops(gone))
        return listing.receipt(gone)

    def _forget_waiting(self, owner: Owner) -> None:
        """Delete what waits for the server; not under the owner's lock, which a delivery takes."""
        if self.outbox is not None and owner.kind == "user":
            self.outbox.erase(owner.id)

    def _forget_everything(self, owner: Owner) -> Receipt:
        erasure = Erasure(owner)
        while True:
            listed = self.store.batch([erasure.list_op])[0]
            ops = erasure.delete_ops(self.store.batch(erasure.read_ops(listed)))
            if not ops:
                return erasure.receipt
            self._write(ops)

    async def _aforget_everything(self, owner: Owner) -> Receipt:
        erasure = Erasure(owner)
        while True:
            listed = (await self.store.abatch([erasure.list_op]))[0]
            ops = erasure.delete_ops(await self.store.abatch(erasure.read_ops(listed)))
            if not ops:
                return erasure.receipt
            await self._awrite(ops)
