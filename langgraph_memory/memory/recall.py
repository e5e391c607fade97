"""Verbs that find: recall, list, get, count."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from langgraph.store.base import GetOp

from langgraph_memory.memory import arguments
from langgraph_memory.memory.base import Verbs
from langgraph_memory.messages import unexpired
from langgraph_memory.records import (
    Document,
    Episode,
    Kind,
    Message,
    Note,
    Owner,
    Record,
    RecordType,
    Source,
    check_record_id,
    readers,
    writer,
)
from langgraph_memory.retrieval import (
    Recalled,
    RecallQuery,
    counts,
    lesson_ops,
    narrowed,
    recall_ops,
    recalled_from,
    rerank,
    with_found,
    with_lessons,
)
from langgraph_memory.store import get_op, read_record
from langgraph_memory.twins import twins


class ListOptions(TypedDict, total=False):
    """The further arguments of `Memory.list`."""

    kinds: Sequence[Kind] | None
    contains: str | None
    filter: Mapping[str, Any] | None
    status: str | None
    limit: int
    offset: int
    project: str | None
    agent: str | None


class Reading(Verbs):
    """`recall`, `list`, `get`, `count`."""

    async def _recall(
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
            types: Types of the hits; by default notes, messages and documents, with past tasks
                beside them in `episodes`.
            kinds: Only notes of these kinds.
            filter: A LangGraph filter on fields of the records (`thread_id`, `speaker`, ...) and
                on the metadata of notes and documents.
            limit: How many hits at most.
            min_relevance: Replaces the floors (`Floors`) of all types; 0 switches them off.
            as_of: What was known at this moment, aware, instead of now.
            thread_id: The session that is going on: `recent` is of another one, and so are past
                tasks.
            known: Ids of messages that the asker has before them; they are no hits.

        Returns:
            What is known and what perhaps is about the query, the profile, similar past tasks and
            what was said last; `nothing_known` if no hit is relevant enough.
        """
        asked = arguments.recall_query(
            RecallQuery(
                query,
                tuple(readers(user, project, agent)),
                types,
                kinds,
                filter,
                limit,
                min_relevance,
                as_of,
                thread_id,
                known,
                now=self.clock(),
                embedder=self._embedder,
                statements=self.statements,
                expired=self._expired,
            ),
            self.zone,
            self.redact,
        )
        ranking = self._ranking
        answers = await self._ask(recall_ops(asked, ranking))
        while (again := narrowed(asked, answers)) is not None:
            asked, answers = again, await self._ask(recall_ops(again, ranking))
        recalled = recalled_from(asked, answers, ranking, as_of or self.clock())
        if self.reranker is not None:
            recalled = await rerank(self.reranker, recalled)
        read: list[GetOp] = []
        while (ops := lesson_ops(recalled)) and ops != read:
            recalled, read = with_found(recalled, await self._batch(ops)), ops
        return with_lessons(recalled, as_of, self.clock())

    recall, arecall = twins(_recall)

    async def _list(
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
    ) -> Sequence[Record]:
        """Return records, newest first.

        Args:
            user: Whose records.
            types: Their types, by default notes; of a tuple of one, a type checker knows the
                records' class.
            kinds: Only notes of these kinds.
            contains: Only records with these words in their text; case is ignored.
            filter: As in `recall`.
            status: `active`, `superseded`, `proposed` or `archived` notes; `None` gives all.
            limit: How many at most.
            offset: How many to pass over.
            project: A project whose records, instead of the user's.
            agent: An agent whose records, instead of the user's.
        """
        choice = arguments.choice(types, kinds, contains, filter, status, limit, offset, self.zone)
        namespaces = arguments.namespaces(writer(user, project, agent), types)
        return choice.of(await self._records(namespaces))[offset : offset + limit]

    if TYPE_CHECKING:  # the class of the records depends on `types`

        @overload
        def list(
            self,
            *,
            user: str,
            types: Sequence[Literal["note"]] = ("note",),
            **options: Unpack[ListOptions],
        ) -> builtins.list[Note]: ...

        @overload
        def list(
            self, *, user: str, types: Sequence[Literal["message"]], **options: Unpack[ListOptions]
        ) -> builtins.list[Message]: ...

        @overload
        def list(
            self, *, user: str, types: Sequence[Literal["episode"]], **options: Unpack[ListOptions]
        ) -> builtins.list[Episode]: ...

        @overload
        def list(
            self, *, user: str, types: Sequence[Literal["document"]], **options: Unpack[ListOptions]
        ) -> builtins.list[Document]: ...

        @overload
        def list(
            self, *, user: str, types: Sequence[RecordType], **options: Unpack[ListOptions]
        ) -> builtins.list[Record]: ...

        def list(self, **asked: Any) -> Any:
            """Return records, newest first."""

        @overload
        async def alist(
            self,
            *,
            user: str,
            types: Sequence[Literal["note"]] = ("note",),
            **options: Unpack[ListOptions],
        ) -> builtins.list[Note]: ...

        @overload
        async def alist(
            self, *, user: str, types: Sequence[Literal["message"]], **options: Unpack[ListOptions]
        ) -> builtins.list[Message]: ...

        @overload
        async def alist(
            self, *, user: str, types: Sequence[Literal["episode"]], **options: Unpack[ListOptions]
        ) -> builtins.list[Episode]: ...

        @overload
        async def alist(
            self, *, user: str, types: Sequence[Literal["document"]], **options: Unpack[ListOptions]
        ) -> builtins.list[Document]: ...

        @overload
        async def alist(
            self, *, user: str, types: Sequence[RecordType], **options: Unpack[ListOptions]
        ) -> builtins.list[Record]: ...

        async def alist(self, **asked: Any) -> Any:
            """Async form of `list`."""

    else:
        list, alist = twins(_list)

    async def _get(
        self, id: str, *, user: str, project: str | None = None, agent: str | None = None
    ) -> Record | None:
        """Return one record of the user, or of a project or agent, or `None`."""
        found = await self._batch(_get_ops(writer(user, project, agent), id))
        return _got(id, unexpired([found], self._expired)[0])

    get, aget = twins(_get)

    async def _count(
        self, *, user: str, project: str | None = None, agent: str | None = None
    ) -> dict[str, int]:
        """Return how many records of each type there are; of notes, the active ones."""
        namespaces = arguments.namespaces(writer(user, project, agent))
        return counts(await self._records(namespaces))

    count, acount = twins(_count)


def _get_ops(owner: Owner, id: str) -> Sequence[GetOp]:
    """Return the operations that read a record, and the source of a document."""
    namespaces, id = arguments.namespaces(owner), check_record_id(id)
    ops = [get_op(namespace, id) for namespace in namespaces]
    return [*ops, get_op(owner.namespace("source"), id.partition("-")[0])]


def _got(id: str, found: Sequence[Any]) -> Record | None:
    """Return what `_get_ops` found; of a document only if it is of the edition that holds."""
    *records, source = [None if item is None else read_record(item) for item in found]
    record = next((each for each in records if each is not None), None)
    if isinstance(record, Document):
        holds = isinstance(source, Source) and source.edition == record.edition
        return record if holds else None
    return record or (source if source is not None and source.id == id else None)
