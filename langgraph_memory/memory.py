"""Memory: the verbs, on any LangGraph store.

Each verb prepares operations (pure), puts them to the store as one batch, and interprets the
answers (pure). So the async twin of a verb differs from it by `await` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore, GetOp

from langgraph_memory import arguments, listing
from langgraph_memory.clock import Clock, utc_now
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.locks import OWNER_LOCKS
from langgraph_memory.operations import (
    Erasure,
    all_ops,
    batches,
    change_ops,
    edit_ops,
    edited_note,
    forget_ops,
    log_ops,
    neighbour_ops,
    neighbours,
    put_op,
    read_record,
    read_records,
    refuse_duplicate,
    unlogged,
)
from langgraph_memory.ranking import Ranking
from langgraph_memory.reconcile import edited, plan
from langgraph_memory.records import (
    Change,
    Episode,
    Kind,
    Message,
    Outcome,
    Recalled,
    Receipt,
    Record,
)
from langgraph_memory.redaction import no_redaction, redact_secrets
from langgraph_memory.scope import Owner, RecordType, writer

Messages = list[Message]
Records = list[Record]  # in the class, `list` is a verb


class Memory:
    """Long-term memory of users, projects and agents.

    Args:
        store: A LangGraph store; `ChromaStore` for exact hybrid search. Without one, the nodes use
            the run's own store, as on a LangGraph server.
        model: The chat model that will extract notes, or a string for LangChain's
            `init_chat_model`. It is kept for later versions; this one never calls it.
        ranking: How hits are scored.
        redact: Takes secrets out of every text before it is embedded or stored; `None` keeps all.
        clock: Gives the present moment, aware.

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
        model: BaseChatModel | str | None = None,
        ranking: Ranking | None = None,
        redact: Callable[[str], str] | None = redact_secrets,
        clock: Clock = utc_now,
    ) -> None:
        if store is not None and not isinstance(store, BaseStore):
            raise ConfigurationError(
                f"store= takes a LangGraph store such as ChromaStore('./memory'), got {store!r}"
            )
        self._store = store
        self.model = model
        self.ranking = ranking or Ranking()
        self.redact = redact or no_redaction
        self.clock = clock
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
        """Close the store, if it can be closed."""
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
    def _searches(self) -> bool:
        """Whether a store that is not ours searches by meaning, so that the best come first."""
        return bool(getattr(self.store, "index_config", True))

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
            The records of the messages that were not kept before.
        """
        log = arguments.log(messages, user=user, thread_id=thread_id, at=at)
        found = self.store.batch(log_ops(log))
        new = log.records(unlogged(log, found), self.clock(), self.redact)
        for chunk in batches([put_op(r) for r in (*new, episode) if r], self._hybrid):
            self.store.batch(chunk)
        return new

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
        found = await self.store.abatch(log_ops(log))
        new = log.records(unlogged(log, found), self.clock(), self.redact)
        for chunk in batches([put_op(r) for r in (*new, episode) if r], self._hybrid):
            await self.store.abatch(chunk)
        return new

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
            for ops in batches(change_ops(changes), self._hybrid):
                self.store.batch(ops)
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
            for ops in batches(change_ops(changes), self._hybrid):
                await self.store.abatch(ops)
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
            for ops in batches(change_ops([change]), self._hybrid):
                self.store.batch(ops)
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
            for ops in batches(change_ops([change]), self._hybrid):
                await self.store.abatch(ops)
        return change

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
            status: `active` or `superseded` notes; `None` gives both.
            limit: How many at most.
            offset: How many to pass over.
            project: A project whose records, instead of the user's.
            agent: An agent whose records, instead of the user's.
        """
        choice = _choice(kinds, contains, filter, status, limit, offset)
        namespaces = arguments.namespaces(writer(user, project, agent), types)
        results = self.store.batch(all_ops(namespaces, self._hybrid))
        return choice.of(read_records(namespaces, results))[offset : offset + limit]

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
        results = await self.store.abatch(all_ops(namespaces, self._hybrid))
        return choice.of(read_records(namespaces, results))[offset : offset + limit]

    def get(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Record | None:
        """Return one record of the user, or of a project or agent, or `None`."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        return _first(self.store.batch([GetOp(ns, id) for ns in namespaces]))

    async def aget(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Record | None:
        """Async form of `get`."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        return _first(await self.store.abatch([GetOp(ns, id) for ns in namespaces]))

    def count(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, int]:
        """Return how many records of each type there are; of notes, the active ones."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        results = self.store.batch(all_ops(namespaces, self._hybrid))
        return listing.counts(read_records(namespaces, results))

    async def acount(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, int]:
        """Async form of `count`."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        results = await self.store.abatch(all_ops(namespaces, self._hybrid))
        return listing.counts(read_records(namespaces, results))

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
            for chunk in batches(forget_ops(gone), self._hybrid):
                self.store.batch(chunk)
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
            for chunk in batches(forget_ops(gone), self._hybrid):
                await self.store.abatch(chunk)
        return listing.receipt(gone)

    def _forget_everything(self, owner: Owner) -> Receipt:
        erasure = Erasure(owner, self._hybrid)
        while True:
            listed = self.store.batch([erasure.list_op])[0]
            ops = erasure.delete_ops(self.store.batch(erasure.read_ops(listed)))
            if not ops:
                return erasure.receipt
            for chunk in batches(ops, self._hybrid):
                self.store.batch(chunk)

    async def _aforget_everything(self, owner: Owner) -> Receipt:
        erasure = Erasure(owner, self._hybrid)
        while True:
            listed = (await self.store.abatch([erasure.list_op]))[0]
            ops = erasure.delete_ops(await self.store.abatch(erasure.read_ops(listed)))
            if not ops:
                return erasure.receipt
            for chunk in batches(ops, self._hybrid):
                await self.store.abatch(chunk)


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
