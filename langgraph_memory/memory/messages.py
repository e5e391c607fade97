"""Verbs on what was said: logged, and looked through for notes, at once or in the background."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from langgraph.store.base import GetOp, PutOp

from langgraph_memory.episodes import episode_read_op, with_kept
from langgraph_memory.errors import ModelError
from langgraph_memory.memory import arguments
from langgraph_memory.memory.background import Key
from langgraph_memory.memory.episodes import Episodes
from langgraph_memory.memory.locks import OWNER_LOCKS, THREAD_LOCKS
from langgraph_memory.memory.read_only import writes
from langgraph_memory.messages import (
    Log,
    Mark,
    Place,
    erased_ids,
    erased_read_ops,
    mark_read_ops,
    message_ids,
    message_ops,
    on_request,
    salt_of,
    salt_op,
    unexpired,
)
from langgraph_memory.notes import (
    Extracted,
    MessageBatch,
    Processed,
    Thread,
    change_ops,
    extraction_request,
    last_of_each,
    queue,
    queue_ops,
    signed,
)
from langgraph_memory.records import Change, Episode, Kind, Message, Owner, check_id, writer
from langgraph_memory.store import edit_op, put_op
from langgraph_memory.twins import Either, twins

logger = logging.getLogger(__name__)


class Turns(Episodes):
    """`log_turn`, `extract`, `pending`, and what the nodes call after each turn."""

    @writes
    async def _log_turn(
        self,
        messages: object,
        *,
        user: str,
        thread_id: str,
        at: datetime | None = None,
        episode: Episode | None = None,
    ) -> list[Message]:
        """Keep messages as they were said; those that are kept already are passed over.

        One that is kept with another text was edited: its record gets the new text, and keeps its
        place and its time. `docs/writing.md` tells what becomes of messages that are removed from a
        thread, or that a forked thread has from another.

        Args:
            messages: LangChain messages in any form. A message without an id gets one from the
                thread, its role, its text and its place among equal ones of this list: a client
                that sends its whole history again writes nothing twice; one that sends only what
                is new must give ids, or a second "ok" of a thread is taken for the first.
            user: Whose memory it is.
            thread_id: The session in which it was said.
            at: When it was said, aware. Else each message's `additional_kwargs["timestamp"]`
                (ISO 8601), else now.
            episode: The turn's episode, to be kept in the same write; merged with what is kept of
                it.

        Returns:
            The records that were written: of messages that were not kept before, or were edited.
        """
        log = arguments.log(
            messages,
            user=user,
            thread_id=thread_id,
            at=at,
            episode=episode,
            mark_of=self._mark_of,
        )
        if episode is None:
            return await self._log(log)
        async with OWNER_LOCKS.hold(episode.owner):  # what is kept of its turn may be judged now
            written = await self._log(log, episode)
        await self._after_episode(episode)
        return written

    log_turn, alog_turn = twins(_log_turn)

    async def _log(self, log: Log, episode: Episode | None = None) -> list[Message]:
        salt, *found = await self._batch([salt_op(), *log.read_ops(), *_episode_op(episode)])
        if log.is_stale(found):
            return await self._log(log.anew(), episode)
        erased = await self._erased(salt, log.owner, log.ids)
        written = log.records(found, self.clock(), self.redact, erased)
        edit = log.edit(written)
        await self._write(self._turn_ops(log.owner, written, edit, episode, found))
        self._marks.put(self._place(log.owner, log.thread_id), log.mark_after(edit, found))
        return unexpired([written], self._expired)[0]

    def _turn_ops(
        self,
        owner: Owner,
        messages: list[Message],
        edit: str | None,
        episode: Episode | None,
        found: Sequence[Any],
    ) -> Sequence[PutOp]:
        ops = message_ops(messages, self._expired, self.clock())
        ops += [] if edit is None else [edit_op(owner, edit)]
        return ops if episode is None else [*ops, put_op(with_kept(episode, found[-1]))]

    def _mark_of(self, owner: Owner, thread_id: str) -> Mark:
        """Return what is known to be kept of a thread."""
        return self._marks.get(self._place(owner, thread_id))

    def _place(self, owner: Owner, thread_id: str) -> Place:
        return Place(id(self.store), owner, thread_id)

    async def _is_forgotten(self, message_id: str, *, user: str, thread_id: str) -> bool:
        """Whether somebody has deleted a message, so that no episode is to say what it said."""
        owner, ids = writer(user), message_ids(thread_id, message_id)
        salt, *marks = await self._batch([salt_op(), *mark_read_ops(owner, ids)])
        return on_request(marks) or bool(await self._erased(salt, owner, ids))

    is_forgotten, ais_forgotten = twins(_is_forgotten)

    async def _erased(self, salted: Any, owner: Owner, ids: Sequence[str]) -> Collection[str]:
        """Return which messages were erased with their user, by the ids of their records.

        Args:
            salted: What `salt_op` found: nothing, as long as nobody was erased.
            owner: Whose messages.
            ids: Of their records.
        """
        if salted is None or not ids:
            return ()
        found = await self._batch(erased_read_ops(salt_of(salted), owner, ids))
        return erased_ids(ids, found)

    # -- notes out of what was said --

    @writes
    async def _extract(self, *, user: str, thread_id: str | None = None) -> list[Change]:
        """Extract notes from all that was said and not looked through yet.

        Whatever `every_n_turns` says; the nodes call the model by themselves.

        Args:
            user: Whose memory it is.
            thread_id: One session, instead of all.

        Returns:
            What was done to notes.

        Raises:
            ModelError: If the model failed; the messages wait for the next time, and what was
                extracted before stays.
            ConfigurationError: If there is no model, or none of its name.
        """
        _ = self._chat
        owner, thread = arguments.thread_arguments(user, thread_id)
        changes: list[Change] = []
        for waiting in await self._threads(owner, thread):
            async with THREAD_LOCKS.hold((owner, waiting.thread_id)):
                while (left := await self._thread(owner, waiting.thread_id)) is not None:
                    changes += (await self._process(left.batch())).changes
        return changes

    extract, aextract = twins(_extract)

    async def _pending(self, *, user: str) -> dict[str, int]:
        """Return the turns of each thread from which notes are still to be extracted."""
        threads = await self._threads(writer(user))
        return {thread.thread_id: thread.turns for thread in threads}

    pending, apending = twins(_pending)

    @writes
    async def _process_turn(self, user: str, thread_id: str) -> Processed:
        """Extract notes if a thread has enough turns to do: what the nodes call after each turn.

        One batch at most, so that nobody waits long for what piled up. A model that fails is
        logged, and the messages wait for the next turn.
        """
        if self._asker is None:
            return Processed()
        owner = writer(user)
        async with THREAD_LOCKS.hold((owner, thread_id)):
            thread = await self._thread(owner, thread_id)
            if thread is None or thread.turns < self.extracting.every_n_turns:
                return Processed()
            try:
                return await self._process(thread.batch())
            except ModelError as error:
                return self._not_extracted(error)

    process_turn, aprocess_turn = twins(_process_turn)

    def _not_extracted(self, error: ModelError) -> Processed:
        said = self.redact(str(error))
        logger.warning("notes could not be extracted; the messages wait: %s", said)
        return Processed(usage=error.usage, error=error)

    async def _threads(self, owner: Owner, thread_id: str | None = None) -> Sequence[Thread]:
        """Return the threads, or the one, in which there is something to do."""
        found = await self._ask(queue_ops(owner, thread_id))
        unexpired(list(found.values()), self._expired)
        return queue(owner, found)

    async def _thread(self, owner: Owner, thread_id: str) -> Thread | None:
        """Return a thread, if there is something to do in it."""
        return next(iter(await self._threads(owner, thread_id)), None)

    async def _process(self, batch: MessageBatch) -> Processed:
        """Extract the notes of a batch and write them, with the record that it is done."""
        how = self.extracting
        asked = await self._chat.ask(
            extraction_request(batch.messages, how.time_zone, batch.earlier),
            Extracted,
            partial(how.candidates, batch, redact=self.redact),
            how.retries,
        )
        draft = how.draft(batch, asked)
        found = await self._ask(draft.ops)
        ruled = await self._rule(draft.pairs(found, self._threshold))
        async with OWNER_LOCKS.hold(batch.owner):  # not held while a model is asked
            found = await self._ask(queue_ops(batch.owner, batch.thread_id) | draft.ops)
            settled = draft.settle(found, ruled, self.clock(), self.keep_messages)
            await self._write(settled.ops)
        return settled.processed

    @writes
    async def _keep_proposed(
        self,
        texts: Sequence[str],
        *,
        user: str,
        sources: Sequence[str] = (),
        kind: Kind = "fact",
        slot: str | None = None,
        project: str | None = None,
        agent: str | None = None,
    ) -> list[Change]:
        """Keep what an agent proposes to remember, in its reply or by a tool.

        As for extracted notes, `accept`, `min_importance` and `review` decide about them.

        Args:
            texts: The notes.
            user: Whose memory it is.
            sources: Ids of the messages that they come from.
            kind: Their kind.
            slot: What they say the one value of.
            project: The project that they belong to, instead of the user.
            agent: The agent that they belong to, instead of the user.

        Returns:
            What was done; nothing if the rules refuse all of them.
        """
        now = self.clock()
        owner, author = writer(user, project, agent), check_id("user", user)
        draft = self.extracting.proposals(
            texts, owner, sources, now, kind=kind, slot=slot, author=author
        )
        async with OWNER_LOCKS.hold(owner):
            changes = draft.changes(await self._ask(draft.ops))
            changes = signed(changes, author)
            await self._write(last_of_each(change_ops(changes)))
        return changes

    keep_proposed, akeep_proposed = twins(_keep_proposed)

    # -- in the background --

    @writes
    async def _process_later(self, user: str, thread_id: str) -> None:
        """Let a thread be processed in the background; turns that come together share a call."""
        key = Key(user, thread_id, id(self.store))
        work = partial(self._process_thread, user, thread_id)
        await Either(self._worker.submit, self._worker.asubmit, key, work)

    process_later, aprocess_later = twins(_process_later)

    def _process_thread(self, user: str, thread_id: str) -> None:
        """Process all that piled up in a thread, batch by batch, until no model is asked."""
        while (done := self.process_turn(user, thread_id)).usage and done.error is None:
            pass

    async def _flush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109  # as waited for
        """Wait until the work in the background that there is now has ended.

        Args:
            timeout: For how many seconds; `None` waits for ever.

        Returns:
            Whether it has ended. Work that failed has ended, and is in the log.
        """
        return await Either(self._worker.flush, self._worker.aflush, timeout)

    flush, aflush = twins(_flush)


def _episode_op(episode: Episode | None) -> list[GetOp]:
    return [] if episode is None else [episode_read_op(episode)]
