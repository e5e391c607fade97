"""Memory: the verbs, on any LangGraph store.

Each verb prepares operations (pure), puts them to the store as one batch, and interprets the
answers (pure). So the async twin of a verb differs from it by `await` alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self

from langgraph.store.base import BaseStore, PutOp

from langgraph_memory import arguments, extraction, listing, rulings, versions
from langgraph_memory.background import DEBOUNCE, DRAIN_SECONDS, Key, Worker
from langgraph_memory.calling import Asker, ChatModel
from langgraph_memory.clock import Clock, utc_now
from langgraph_memory.drafts import Processed, Ruled, last_of_each
from langgraph_memory.embedding import name_of
from langgraph_memory.errors import ConfigurationError, ModelError
from langgraph_memory.extraction import Accept, Extracted
from langgraph_memory.locks import OWNER_LOCKS, THREAD_LOCKS
from langgraph_memory.operations import (
    Erasure,
    all_ops,
    batches,
    change_ops,
    edit_ops,
    edited_note,
    forget_ops,
    get_op,
    neighbour_ops,
    neighbours,
    put_op,
    read_notes,
    read_record,
    read_records,
    refuse_duplicate,
)
from langgraph_memory.pending import Batch, Thread, queue, queue_ops
from langgraph_memory.ranking import Ranking
from langgraph_memory.reconcile import edited, plan
from langgraph_memory.records import (
    Change,
    Episode,
    Kind,
    Message,
    Note,
    Outcome,
    Recalled,
    Receipt,
    Record,
)
from langgraph_memory.redaction import no_redaction, redact_secrets
from langgraph_memory.retention import (
    check_retention,
    check_store,
    expiry_of_now,
    message_ops,
    unexpired,
)
from langgraph_memory.rulings import Pair, Reconciled
from langgraph_memory.scope import Owner, RecordType, writer
from langgraph_memory.similarity import BLIND, Band, band_of
from langgraph_memory.store.rows import Namespace
from langgraph_memory.versions import Decision

logger = logging.getLogger(__name__)

Messages = list[Message]
Notes = list[Note]
Records = list[Record]  # in the class, `list` is a verb
Changes = list[Change]


class Memory:
    """Long-term memory of users, projects and agents.

    Args:
        store: A LangGraph store; `ChromaStore` for exact hybrid search. Without one, the nodes use
            the run's own store, as on a LangGraph server.
        model: The chat model that extracts notes from what was said, or a string for LangChain's
            `init_chat_model`, which is resolved at first use. Without one, notes come from
            `remember`.
        ranking: How hits are scored.
        redact: Takes secrets out of every text before it is embedded or stored; `None` keeps all.
        debounce: Seconds that work in the background waits for further turns of its thread.
        keep_messages: Whether messages stay once the model has made notes of them. If not, digests
            of their ids stay alone.
        message_ttl: For how many minutes messages are kept, from when they were said; reads do not
            prolong it. `None` keeps them for good. The store has to support it, and to be swept.
        clock: Gives the present moment, aware.
        every_n_turns: Notes are extracted when a thread has so many turns that were not looked
            through; 3 and more save calls of the model.
        retries: How often the model is asked again if its answer cannot be read.
        accept: Returns a candidate as it is to be kept, or `None` to refuse it.
        review: Whether extracted notes are `proposed` until a person approves them.
        min_importance: Candidates of less importance are left out, 0 to 1.
        time_zone: In which relative dates ("next Friday") are meant, an IANA name.

    Example:
        >>> from langgraph_memory.store.chroma import ChromaStore
        >>> with Memory(ChromaStore.in_memory()) as memory:
        ...     _ = memory.remember("Drinks decaf after noon", user="c-2291", kind="preference")
        ...     memory.recall("decaf coffee", user="c-2291").hits[0].text
        'Drinks decaf after noon'
    """

    def __init__(
        self,
        store: BaseStore | None = None,
        *,
        model: ChatModel | str | None = None,
        ranking: Ranking | None = None,
        redact: Callable[[str], str] | None = redact_secrets,
        debounce: float = DEBOUNCE,
        keep_messages: bool = True,
        message_ttl: float | None = None,
        clock: Clock = utc_now,
        every_n_turns: int = 1,
        retries: int = 2,
        accept: Accept | None = None,
        review: bool = False,
        min_importance: float = 0.0,
        time_zone: str = "UTC",
    ) -> None:
        if store is not None and not isinstance(store, BaseStore):
            raise ConfigurationError(
                f"store= takes a LangGraph store such as ChromaStore('./memory'), got {store!r}"
            )
        check_retention(keep_messages, message_ttl, model)
        check_store(store, message_ttl)
        self._store = store
        self.model = model
        self.keep_messages = keep_messages
        self.message_ttl = message_ttl
        self.ranking = ranking or Ranking()
        self.redact = redact or no_redaction
        self.clock = clock
        self._worker = Worker(debounce)
        self.extracting = arguments.extracting(
            every_n_turns=every_n_turns,
            retries=retries,
            accept=accept,
            review=review,
            min_importance=min_importance,
            time_zone=time_zone,
        )
        self._asker = None if model is None else Asker(arguments.chat_model(model))
        self._warm = False

    # -- the store --

    @property
    def store(self) -> BaseStore:
        """The store that this memory lies in.

        Raises:
            ConfigurationError: If there is none.
        """
        if self._store is None:
            raise ConfigurationError(
                "this Memory has no store: pass one, Memory(ChromaStore('./memory')), or compile "
                "the graph with one, builder.compile(store=...)"
            )
        return self._store

    def using(self, store: BaseStore | None) -> Self:
        """Return this memory if it has a store of its own, else one that uses `store`."""
        if self._store is not None or store is None:
            return self
        check_store(store, self.message_ttl)
        bound = copy(self)
        bound._store, bound._warm = store, False
        return bound

    def warm_up(self) -> None:
        """Load now what the first call would wait for, where the store has such a thing."""
        warm_up = getattr(self.store, "warm_up", None)
        if warm_up is not None and not self._warm:
            warm_up()
        self._warm = True

    async def awarm_up(self) -> None:
        """Async form of `warm_up`."""
        if not self._warm:
            await asyncio.to_thread(self.warm_up)

    def close(self) -> None:
        """Finish the work in the background, and close the store if it can be closed.

        What is not done within 30 seconds is logged, and left to the next turn of its thread.
        """
        try:
            self._worker.drain(DRAIN_SECONDS)
        finally:
            close = getattr(self._store, "close", None)
            if close is not None:
                close()

    async def aclose(self) -> None:
        """Async form of `close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def _hybrid(self) -> bool:
        return bool(getattr(self.store, "supports_hybrid", False))

    @property
    def _band(self) -> Band:
        """What the similarities of the store's embedder are worth."""
        embeddings = getattr(self.store, "embeddings", None)
        return BLIND if embeddings is None else band_of(name_of(embeddings))

    @property
    def _searches(self) -> bool:
        """Whether a store that is not ours searches by meaning, so that the best come first."""
        return bool(getattr(self.store, "index_config", True))

    @property
    def _expired(self) -> datetime | None:
        """Until when what was said has expired by now."""
        return expiry_of_now(self.message_ttl, self.clock())

    def _write(self, ops: Sequence[PutOp]) -> None:
        for batch in batches(ops, self._hybrid):
            self.store.batch(batch)

    async def _awrite(self, ops: Sequence[PutOp]) -> None:
        for batch in batches(ops, self._hybrid):
            await self.store.abatch(batch)

    def _records(self, namespaces: Sequence[Namespace]) -> Records:
        """Return all records of some namespaces that have not expired."""
        found = self.store.batch(all_ops(namespaces, self._hybrid))
        return read_records(namespaces, unexpired(found, self._expired))

    async def _arecords(self, namespaces: Sequence[Namespace]) -> Records:
        found = await self.store.abatch(all_ops(namespaces, self._hybrid))
        return read_records(namespaces, unexpired(found, self._expired))

    def _notes(self, owner: Owner) -> Notes:
        """Return all notes of an owner, whatever their status."""
        namespaces = [owner.namespace("note")]
        return read_notes(namespaces, self.store.batch(all_ops(namespaces, self._hybrid)))

    async def _anotes(self, owner: Owner) -> Notes:
        namespaces = [owner.namespace("note")]
        return read_notes(namespaces, await self.store.abatch(all_ops(namespaces, self._hybrid)))

    # -- what was said --

    def log_turn(
        self,
        messages: object,
        *,
        user: str,
        thread_id: str,
        at: datetime | None = None,
        episode: Episode | None = None,
    ) -> Messages:
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
            episode: The turn's episode, to be kept in the same write.

        Returns:
            The records that were written: of messages that were not kept before, or were edited.
        """
        log = arguments.log(messages, user=user, thread_id=thread_id, at=at)
        found = self.store.batch(log.read_ops())
        written = log.records(found, self.clock(), self.redact)
        self._write(self._turn_ops(written, episode))
        return unexpired([written], self._expired)[0]

    async def alog_turn(
        self,
        messages: object,
        *,
        user: str,
        thread_id: str,
        at: datetime | None = None,
        episode: Episode | None = None,
    ) -> Messages:
        """Async form of `log_turn`."""
        log = arguments.log(messages, user=user, thread_id=thread_id, at=at)
        found = await self.store.abatch(log.read_ops())
        written = log.records(found, self.clock(), self.redact)
        await self._awrite(self._turn_ops(written, episode))
        return unexpired([written], self._expired)[0]

    def _turn_ops(self, messages: Messages, episode: Episode | None) -> Sequence[PutOp]:
        ops = message_ops(messages, self._expired, self.clock())
        return ops if episode is None else [*ops, put_op(episode)]

    def log_episode(
        self,
        task: str,
        *,
        user: str,
        approach: str = "",
        outcome: Outcome = "completed",
        duration_ms: int | None = None,
        token_cost: int | None = None,
        quality_score: float | None = None,
        notes: str = "",
        error: str | None = None,
        thread_id: str | None = None,
        turn_id: str | None = None,
    ) -> Episode:
        """Keep the record of a finished task.

        Args:
            task: What was to be done.
            user: Whose memory it is.
            approach: How it was done.
            outcome: `completed` (no error, not judged), `success`, `partial`, `failure` or
                `cancelled`.
            duration_ms: How long it took.
            token_cost: What the models reported.
            quality_score: 0 to 1, if somebody judged it.
            notes: Anything else.
            error: What went wrong.
            thread_id: The session it belongs to.
            turn_id: The id of the user's message that began it; the same turn of the same thread
                has one episode, however often it is logged.
        """
        episode = arguments.episode(
            task,
            user=user,
            approach=approach,
            outcome=outcome,
            duration_ms=duration_ms,
            token_cost=token_cost,
            quality_score=quality_score,
            notes=notes,
            error=error,
            thread_id=thread_id,
            turn_id=turn_id,
            now=self.clock(),
            redact=self.redact,
        )
        self.store.batch([put_op(episode)])
        return episode

    async def alog_episode(
        self,
        task: str,
        *,
        user: str,
        approach: str = "",
        outcome: Outcome = "completed",
        duration_ms: int | None = None,
        token_cost: int | None = None,
        quality_score: float | None = None,
        notes: str = "",
        error: str | None = None,
        thread_id: str | None = None,
        turn_id: str | None = None,
    ) -> Episode:
        """Async form of `log_episode`."""
        episode = arguments.episode(
            task,
            user=user,
            approach=approach,
            outcome=outcome,
            duration_ms=duration_ms,
            token_cost=token_cost,
            quality_score=quality_score,
            notes=notes,
            error=error,
            thread_id=thread_id,
            turn_id=turn_id,
            now=self.clock(),
            redact=self.redact,
        )
        await self.store.abatch([put_op(episode)])
        return episode

    # -- notes out of what was said --

    def extract(self, *, user: str, thread_id: str | None = None) -> Changes:
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
        owner, thread = arguments.thread_of(user, thread_id)
        changes: Changes = []
        for waiting in self._threads(owner, thread):
            with THREAD_LOCKS.hold((owner, waiting.thread_id)):
                while (left := self._thread(owner, waiting.thread_id)) is not None:
                    changes += self._process(left.batch()).changes
        return changes

    async def aextract(self, *, user: str, thread_id: str | None = None) -> Changes:
        """Async form of `extract`."""
        _ = self._chat
        owner, thread = arguments.thread_of(user, thread_id)
        changes: Changes = []
        for waiting in await self._athreads(owner, thread):
            async with THREAD_LOCKS.ahold((owner, waiting.thread_id)):
                while (left := await self._athread(owner, waiting.thread_id)) is not None:
                    changes += (await self._aprocess(left.batch())).changes
        return changes

    def pending(self, *, user: str) -> dict[str, int]:
        """Return the turns of each thread from which notes are still to be extracted."""
        threads = self._threads(writer(user))
        return {thread.thread_id: thread.turns for thread in threads}

    async def apending(self, *, user: str) -> dict[str, int]:
        """Async form of `pending`."""
        threads = await self._athreads(writer(user))
        return {thread.thread_id: thread.turns for thread in threads}

    def process_turn(self, user: str, thread_id: str) -> Processed:
        """Extract notes if a thread has enough turns to do: what the nodes call after each turn.

        One batch at most, so that nobody waits long for what piled up. A model that fails is
        logged, and the messages wait for the next turn.
        """
        if self._asker is None:
            return Processed()
        owner = writer(user)
        with THREAD_LOCKS.hold((owner, thread_id)):
            thread = self._thread(owner, thread_id)
            if thread is None or thread.turns < self.extracting.every_n_turns:
                return Processed()
            try:
                return self._process(thread.batch())
            except ModelError as error:
                return _not_extracted(error)

    async def aprocess_turn(self, user: str, thread_id: str) -> Processed:
        """Async form of `process_turn`."""
        if self._asker is None:
            return Processed()
        owner = writer(user)
        async with THREAD_LOCKS.ahold((owner, thread_id)):
            thread = await self._athread(owner, thread_id)
            if thread is None or thread.turns < self.extracting.every_n_turns:
                return Processed()
            try:
                return await self._aprocess(thread.batch())
            except ModelError as error:
                return _not_extracted(error)

    def _threads(self, owner: Owner, thread_id: str | None = None) -> Sequence[Thread]:
        """Return the threads, or the one, in which there is something to do."""
        found = self.store.batch(queue_ops(owner, self._hybrid, thread_id))
        return queue(owner, unexpired(found, self._expired))

    async def _athreads(self, owner: Owner, thread_id: str | None = None) -> Sequence[Thread]:
        found = await self.store.abatch(queue_ops(owner, self._hybrid, thread_id))
        return queue(owner, unexpired(found, self._expired))

    def _thread(self, owner: Owner, thread_id: str) -> Thread | None:
        """Return a thread, if there is something to do in it."""
        return next(iter(self._threads(owner, thread_id)), None)

    async def _athread(self, owner: Owner, thread_id: str) -> Thread | None:
        return next(iter(await self._athreads(owner, thread_id)), None)

    def _process(self, batch: Batch) -> Processed:
        """Extract the notes of a batch and write them, with the record that it is done."""
        how, hybrid = self.extracting, self._hybrid
        asked = self._chat.ask(
            extraction.request(batch.messages, how.time_zone, batch.earlier),
            Extracted,
            partial(how.candidates, batch, redact=self.redact),
            how.retries,
        )
        draft = how.draft(batch, asked)
        found = self.store.batch(draft.ops(hybrid))
        ruled = self._rule(draft.pairs(found, hybrid, self._band))
        with OWNER_LOCKS.hold(batch.owner):  # not held while a model is asked
            ops = [*queue_ops(batch.owner, hybrid, batch.thread_id), *draft.ops(hybrid)]
            found = self.store.batch(ops)
            settled = draft.settle(found, hybrid, ruled, self.clock(), self.keep_messages)
            self._write(settled.ops)
        return settled.processed

    async def _aprocess(self, batch: Batch) -> Processed:
        """Async form of `_process`."""
        how, hybrid = self.extracting, self._hybrid
        asked = await self._chat.aask(
            extraction.request(batch.messages, how.time_zone, batch.earlier),
            Extracted,
            partial(how.candidates, batch, redact=self.redact),
            how.retries,
        )
        draft = how.draft(batch, asked)
        found = await self.store.abatch(draft.ops(hybrid))
        ruled = await self._arule(draft.pairs(found, hybrid, self._band))
        async with OWNER_LOCKS.ahold(batch.owner):  # not held while a model is asked
            ops = [*queue_ops(batch.owner, hybrid, batch.thread_id), *draft.ops(hybrid)]
            found = await self.store.abatch(ops)
            settled = draft.settle(found, hybrid, ruled, self.clock(), self.keep_messages)
            await self._awrite(settled.ops)
        return settled.processed

    def _rule(self, pairs: Sequence[Pair]) -> Ruled:
        """Ask the model about pairs of notes, once; if it fails, all of them stay apart."""
        if not pairs:
            return Ruled()
        read = partial(rulings.rulings, asked=pairs)
        try:
            return Ruled.of(self._chat.ask(rulings.request(pairs), Reconciled, read, retries=0))
        except ModelError as error:
            logger.warning("notes could not be compared; they are added as they are: %s", error)
            return Ruled.failed(error)

    async def _arule(self, pairs: Sequence[Pair]) -> Ruled:
        """Async form of `_rule`."""
        if not pairs:
            return Ruled()
        read = partial(rulings.rulings, asked=pairs)
        question = rulings.request(pairs)
        try:
            return Ruled.of(await self._chat.aask(question, Reconciled, read, retries=0))
        except ModelError as error:
            logger.warning("notes could not be compared; they are added as they are: %s", error)
            return Ruled.failed(error)

    @property
    def _chat(self) -> Asker:
        if self._asker is None:
            raise ConfigurationError(
                "this Memory has no model to extract notes with: pass one, "
                "Memory(store, model='openai:gpt-4o-mini')"
            )
        return self._asker

    def keep_proposed(
        self, texts: Sequence[str], *, user: str, sources: Sequence[str] = ()
    ) -> Changes:
        """Keep what a reply proposes to remember: what the nodes call with `from_reply=True`.

        As for extracted notes, `accept`, `min_importance` and `review` decide about them.

        Args:
            texts: The notes.
            user: Whose memory it is.
            sources: Ids of the messages that they come from.
        """
        hybrid, now = self._hybrid, self.clock()
        draft = self.extracting.proposals(texts, writer(user), sources, now)
        with OWNER_LOCKS.hold(writer(user)):
            changes = draft.changes(self.store.batch(draft.ops(hybrid)), hybrid)
            self._write(last_of_each(change_ops(changes)))
        return changes

    async def akeep_proposed(
        self, texts: Sequence[str], *, user: str, sources: Sequence[str] = ()
    ) -> Changes:
        """Async form of `keep_proposed`."""
        hybrid, now = self._hybrid, self.clock()
        draft = self.extracting.proposals(texts, writer(user), sources, now)
        async with OWNER_LOCKS.ahold(writer(user)):
            changes = draft.changes(await self.store.abatch(draft.ops(hybrid)), hybrid)
            await self._awrite(last_of_each(change_ops(changes)))
        return changes

    # -- in the background --

    def process_later(self, user: str, thread_id: str) -> None:
        """Let a thread be processed in the background; turns that come together share a call."""
        key = Key(user, thread_id, id(self.store))
        self._worker.submit(key, lambda: self._process_thread(user, thread_id))

    async def aprocess_later(self, user: str, thread_id: str) -> None:
        """Async form of `process_later`."""
        key = Key(user, thread_id, id(self.store))
        await self._worker.asubmit(key, lambda: self._process_thread(user, thread_id))

    def _process_thread(self, user: str, thread_id: str) -> None:
        """Process all that piled up in a thread, batch by batch, until no model is asked."""
        while (done := self.process_turn(user, thread_id)).usage and done.error is None:
            pass

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the work in the background that there is now has ended.

        Args:
            timeout: For how many seconds; `None` waits for ever.

        Returns:
            Whether it has ended. Work that failed has ended, and is in the log.
        """
        return self._worker.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109  # as `flush`
        """Async form of `flush`."""
        return await self._worker.aflush(timeout)

    # -- notes --

    def remember(
        self,
        text: str,
        *,
        user: str,
        kind: Kind = "fact",
        slot: str | None = None,
        importance: float = 0.5,
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
        sources: Sequence[str] = (),
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Keep a note.

        The same kind and text again reinforces the note that is there; a new text for a slot
        supersedes the old one, which stays as `id@1`.

        Args:
            text: One self-contained sentence.
            user: Whose memory it is; with `project` or `agent`, who contributes the note.
            kind: `preference`, `fact`, `instruction`, `decision` or `lesson`.
            slot: What the note says a value of, such as "home city".
            importance: 0 (trivial) to 1 (critical).
            pinned: Whether the note is in every prompt.
            metadata: JSON values of your own, to filter by.
            sources: Ids of the messages that it comes from.
            project: The project that the note belongs to, instead of the user.
            agent: The agent that the note belongs to, instead of the user.

        Returns:
            What was done: `add`, `reinforce` or `supersede`, and the note.
        """
        candidate = arguments.note(
            text,
            user=user,
            kind=kind,
            slot=slot,
            importance=importance,
            pinned=pinned,
            metadata=metadata,
            sources=sources,
            project=project,
            agent=agent,
            now=self.clock(),
            redact=self.redact,
        )
        with OWNER_LOCKS.hold(candidate.owner):
            found = self.store.batch(neighbour_ops(candidate, self._hybrid))
            changes = plan(candidate, *neighbours(candidate, found))
            self._write(change_ops(changes))
        return changes[0]

    async def aremember(
        self,
        text: str,
        *,
        user: str,
        kind: Kind = "fact",
        slot: str | None = None,
        importance: float = 0.5,
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
        sources: Sequence[str] = (),
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Async form of `remember`."""
        candidate = arguments.note(
            text,
            user=user,
            kind=kind,
            slot=slot,
            importance=importance,
            pinned=pinned,
            metadata=metadata,
            sources=sources,
            project=project,
            agent=agent,
            now=self.clock(),
            redact=self.redact,
        )
        async with OWNER_LOCKS.ahold(candidate.owner):
            found = await self.store.abatch(neighbour_ops(candidate, self._hybrid))
            changes = plan(candidate, *neighbours(candidate, found))
            await self._awrite(change_ops(changes))
        return changes[0]

    def edit(
        self,
        id: str,
        *,
        user: str,
        text: str | None = None,
        kind: Kind | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Change an active note; what is not given stays.

        A new text or kind is a new version: the old one stays as `id@1`. With `project` or `agent`
        it is one of theirs.

        Raises:
            RecordNotFoundError: If the user has no active note with this id.
        """
        owner = writer(user, project, agent)
        changes = arguments.edits(
            text=text,
            kind=kind,
            importance=importance,
            pinned=pinned,
            metadata=metadata,
            redact=self.redact,
        )
        with OWNER_LOCKS.hold(owner):
            found = self.store.batch(edit_ops(owner, id, changes, self._hybrid))
            change = edited(edited_note(id, found), changes, self.clock())
            refuse_duplicate(change, found)
            self._write(change_ops([change]))
        return change

    async def aedit(
        self,
        id: str,
        *,
        user: str,
        text: str | None = None,
        kind: Kind | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Async form of `edit`."""
        owner = writer(user, project, agent)
        changes = arguments.edits(
            text=text,
            kind=kind,
            importance=importance,
            pinned=pinned,
            metadata=metadata,
            redact=self.redact,
        )
        async with OWNER_LOCKS.ahold(owner):
            found = await self.store.abatch(edit_ops(owner, id, changes, self._hybrid))
            change = edited(edited_note(id, found), changes, self.clock())
            refuse_duplicate(change, found)
            await self._awrite(change_ops([change]))
        return change

    # -- what became of notes --

    def history(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Notes:
        """Return all versions of a note, oldest first; none if there is no such note.

        Each says from when until when it held, and for what reason it was made.
        """
        return versions.history(id, self._notes(writer(user, project, agent)))

    async def ahistory(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Notes:
        """Async form of `history`."""
        return versions.history(id, await self._anotes(writer(user, project, agent)))

    def facts(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, str]:
        """Return what is known for each slot, such as `{"home city": "Lives in Rosario"}`."""
        return versions.facts(self._notes(writer(user, project, agent)), self.clock())

    async def afacts(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, str]:
        """Async form of `facts`."""
        return versions.facts(await self._anotes(writer(user, project, agent)), self.clock())

    def restore(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Make a version active again: `a1b2@1`, or `a1b2` for a note that was put away.

        It becomes a new version of its note; what was active until now stays in the history.

        Raises:
            RecordNotFoundError: If the user has no such version.
            ConfigurationError: If it is active or proposed, or another note took its place.
        """
        return self._decide(writer(user, project, agent), partial(versions.restored, id))

    async def arestore(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Async form of `restore`."""
        return await self._adecide(writer(user, project, agent), partial(versions.restored, id))

    def undo(
        self, change_id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Take back what a change did.

        An added note is archived, a superseded text comes back as a new version, a mention is
        taken back, a retired or archived note is active again. Nothing is deleted, and most of
        what `undo` did can be undone in turn.

        Args:
            change_id: `Change.id` of what a verb returned.
            user: Whose note it is.
            project: The project whose note it is, instead of the user.
            agent: The agent whose note it is, instead of the user.

        Raises:
            RecordNotFoundError: If the user has no such note, or what would come back was
                forgotten.
            ConfigurationError: If the change was undone already, the note was changed since, or
                another note took the place of what would come back.
        """
        return self._decide(writer(user, project, agent), partial(versions.undone, change_id))

    async def aundo(
        self, change_id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Async form of `undo`."""
        return await self._adecide(
            writer(user, project, agent), partial(versions.undone, change_id)
        )

    def pin(
        self,
        id: str,
        *,
        user: str,
        pinned: bool = True,
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Put an active note into every prompt, or with `pinned=False` no longer.

        Raises:
            RecordNotFoundError: If the user has no active note with this id.
        """
        return self.edit(id, user=user, pinned=pinned, project=project, agent=agent)

    async def apin(
        self,
        id: str,
        *,
        user: str,
        pinned: bool = True,
        project: str | None = None,
        agent: str | None = None,
    ) -> Change:
        """Async form of `pin`."""
        return await self.aedit(id, user=user, pinned=pinned, project=project, agent=agent)

    def approve(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Let a proposed note count, as if it were remembered now.

        What was said before is reinforced, and a slot is taken over; the proposal is archived then.

        Raises:
            RecordNotFoundError: If the user has no proposed note with this id.
        """
        return self._decide(writer(user, project, agent), partial(versions.approved, id))

    async def aapprove(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Async form of `approve`."""
        return await self._adecide(writer(user, project, agent), partial(versions.approved, id))

    def reject(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Put a proposed note away; it is archived, and can be proposed again with `undo`.

        Raises:
            RecordNotFoundError: If the user has no proposed note with this id.
        """
        return self._decide(writer(user, project, agent), partial(versions.rejected, id))

    async def areject(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Change:
        """Async form of `reject`."""
        return await self._adecide(writer(user, project, agent), partial(versions.rejected, id))

    def _decide(self, owner: Owner, decision: Decision) -> Change:
        """Apply what is decided over all notes of an owner."""
        with OWNER_LOCKS.hold(owner):
            changes = decision(self._notes(owner), self.clock())
            self._write(change_ops(changes))
        return changes[0]

    async def _adecide(self, owner: Owner, decision: Decision) -> Change:
        async with OWNER_LOCKS.ahold(owner):
            changes = decision(await self._anotes(owner), self.clock())
            await self._awrite(change_ops(changes))
        return changes[0]

    # -- reading --

    def recall(
        self,
        query: str,
        *,
        user: str,
        project: str | None = None,
        agent: str | None = None,
        types: Sequence[RecordType] | None = None,
        kinds: Sequence[Kind] | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_relevance: float | None = None,
        as_of: datetime | None = None,
        thread_id: str | None = None,
        known: Collection[str] = (),
    ) -> Recalled:
        """Find what is known about a query.

        Args:
            query: What is asked, in any language.
            user: Whose memory is read.
            project: A project whose memory is read beside it.
            agent: An agent whose memory is read beside it.
            types: Types of the hits; by default notes and messages, with past tasks beside them in
                `episodes`.
            kinds: Only notes of these kinds.
            filter: A LangGraph filter on fields of the records (`thread_id`, `speaker`, ...) and
                on the metadata of notes.
            limit: How many hits at most.
            min_relevance: Replaces the floor of the ranking; 0 switches it off.
            as_of: What was known at this moment, aware, instead of now.
            thread_id: The session that is going on: `recent` is of another one, and so are past
                tasks.
            known: Ids of messages that the asker has before them; they are no hits.
        """
        question = arguments.question(
            query,
            user=user,
            project=project,
            agent=agent,
            types=types,
            kinds=kinds,
            filter=filter,
            limit=limit,
            min_relevance=min_relevance,
            as_of=as_of,
            thread_id=thread_id,
            known=known,
            now=self.clock(),
            expired=self._expired,
            redact=self.redact,
        )
        results = self.store.batch(question.ops(self.ranking, self._hybrid, self._searches))
        return question.answer(results, self.ranking, as_of or self.clock())

    async def arecall(
        self,
        query: str,
        *,
        user: str,
        project: str | None = None,
        agent: str | None = None,
        types: Sequence[RecordType] | None = None,
        kinds: Sequence[Kind] | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_relevance: float | None = None,
        as_of: datetime | None = None,
        thread_id: str | None = None,
        known: Collection[str] = (),
    ) -> Recalled:
        """Async form of `recall`."""
        question = arguments.question(
            query,
            user=user,
            project=project,
            agent=agent,
            types=types,
            kinds=kinds,
            filter=filter,
            limit=limit,
            min_relevance=min_relevance,
            as_of=as_of,
            thread_id=thread_id,
            known=known,
            now=self.clock(),
            expired=self._expired,
            redact=self.redact,
        )
        results = await self.store.abatch(question.ops(self.ranking, self._hybrid, self._searches))
        return question.answer(results, self.ranking, as_of or self.clock())

    def list(
        self,
        *,
        user: str,
        types: Sequence[RecordType] = ("note",),
        kinds: Sequence[Kind] | None = None,
        contains: str | None = None,
        filter: Mapping[str, Any] | None = None,
        status: str | None = "active",
        limit: int = 100,
        offset: int = 0,
        project: str | None = None,
        agent: str | None = None,
    ) -> Records:
        """Return records, newest first.

        Args:
            user: Whose records.
            types: Their types.
            kinds: Only notes of these kinds.
            contains: Only records with these words in their text; case is ignored.
            filter: As in `recall`.
            status: `active`, `superseded`, `proposed` or `archived` notes; `None` gives all.
            limit: How many at most.
            offset: How many to pass over.
            project: A project whose records, instead of the user's.
            agent: An agent whose records, instead of the user's.
        """
        choice = _choice(kinds, contains, filter, status, limit, offset)
        namespaces = arguments.namespaces(writer(user, project, agent), types)
        return choice.of(self._records(namespaces))[offset : offset + limit]

    async def alist(
        self,
        *,
        user: str,
        types: Sequence[RecordType] = ("note",),
        kinds: Sequence[Kind] | None = None,
        contains: str | None = None,
        filter: Mapping[str, Any] | None = None,
        status: str | None = "active",
        limit: int = 100,
        offset: int = 0,
        project: str | None = None,
        agent: str | None = None,
    ) -> Records:
        """Async form of `list`."""
        choice = _choice(kinds, contains, filter, status, limit, offset)
        namespaces = arguments.namespaces(writer(user, project, agent), types)
        return choice.of(await self._arecords(namespaces))[offset : offset + limit]

    def get(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Record | None:
        """Return one record of the user, or of a project or agent, or `None`."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        found = self.store.batch([get_op(ns, id) for ns in namespaces])
        return _first(*unexpired([found], self._expired))

    async def aget(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Record | None:
        """Async form of `get`."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        found = await self.store.abatch([get_op(ns, id) for ns in namespaces])
        return _first(*unexpired([found], self._expired))

    def count(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, int]:
        """Return how many records of each type there are; of notes, the active ones."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        return listing.counts(self._records(namespaces))

    async def acount(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, int]:
        """Async form of `count`."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        return listing.counts(await self._arecords(namespaces))

    # -- forgetting --

    def forget(
        self,
        id: str | None = None,
        *,
        user: str,
        text: str | None = None,
        everything: bool = False,
        project: str | None = None,
        agent: str | None = None,
    ) -> Receipt:
        """Delete records: one, those with a text, or all.

        A note goes with its older versions. Of a forgotten message a digest of its id stays, so
        that a session which still holds it does not log it again. Sessions are deleted apart, by
        `Sessions.delete`.

        Args:
            id: A record's id.
            user: Whose records.
            text: The whole text of notes, messages or tasks; case and white space are ignored.
            everything: All that the memory of the user, project or agent holds.
            project: A project whose records, instead of the user's.
            agent: An agent whose records, instead of the user's.

        Returns:
            What was deleted; empty if there was nothing.
        """
        text = arguments.forgotten(id, text, everything, self.redact)
        owner = writer(user, project, agent)
        with OWNER_LOCKS.hold(owner):
            if everything:
                return self._forget_everything(owner)
            namespaces = arguments.namespaces(owner)
            results = self.store.batch(all_ops(namespaces, self._hybrid))
            gone = listing.doomed(read_records(namespaces, results), id, text)
            self._write(forget_ops(gone))
        return listing.receipt(gone)

    async def aforget(
        self,
        id: str | None = None,
        *,
        user: str,
        text: str | None = None,
        everything: bool = False,
        project: str | None = None,
        agent: str | None = None,
    ) -> Receipt:
        """Async form of `forget`."""
        text = arguments.forgotten(id, text, everything, self.redact)
        owner = writer(user, project, agent)
        async with OWNER_LOCKS.ahold(owner):
            if everything:
                return await self._aforget_everything(owner)
            namespaces = arguments.namespaces(owner)
            results = await self.store.abatch(all_ops(namespaces, self._hybrid))
            gone = listing.doomed(read_records(namespaces, results), id, text)
            await self._awrite(forget_ops(gone))
        return listing.receipt(gone)

    def _forget_everything(self, owner: Owner) -> Receipt:
        erasure = Erasure(owner, self._hybrid)
        while True:
            listed = self.store.batch([erasure.list_op])[0]
            ops = erasure.delete_ops(self.store.batch(erasure.read_ops(listed)))
            if not ops:
                return erasure.receipt
            self._write(ops)

    async def _aforget_everything(self, owner: Owner) -> Receipt:
        erasure = Erasure(owner, self._hybrid)
        while True:
            listed = (await self.store.abatch([erasure.list_op]))[0]
            ops = erasure.delete_ops(await self.store.abatch(erasure.read_ops(listed)))
            if not ops:
                return erasure.receipt
            await self._awrite(ops)


def _not_extracted(error: ModelError) -> Processed:
    logger.warning("notes could not be extracted; the messages wait: %s", error)
    return Processed(usage=error.usage, error=error)


def _first(found: Sequence[Any]) -> Record | None:
    return next((read_record(item) for item in found if item is not None), None)


def _choice(
    kinds: Sequence[Kind] | None,
    contains: str | None,
    filter: Mapping[str, Any] | None,
    status: str | None,
    limit: int,
    offset: int,
) -> listing.Choice:
    arguments.check_contains(contains)
    arguments.check_kinds(kinds or ())
    arguments.checked_filter(filter or {})
    arguments.check_status(status)
    arguments.check_page(limit, offset)
    return listing.Choice(kinds, contains, filter, status)
