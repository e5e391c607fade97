"""What all verbs stand on: the store, the model, the worker, and reads and writes in one piece.

Each verb prepares operations (pure), puts them to the store as one batch, and interprets the
answers (pure). It is written once, as `_remember`, and `twins` makes `remember` and `aremember`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import datetime, tzinfo
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from langchain_core.documents import BaseDocumentCompressor
from langgraph.store.base import BaseStore, PutOp

from langgraph_memory.documents import holding, with_sources
from langgraph_memory.episodes import Evaluator, IsTask
from langgraph_memory.errors import ConfigurationError, ModelError
from langgraph_memory.memory.background import DRAIN_SECONDS, Worker
from langgraph_memory.memory.delivery import Delivery, place_of
from langgraph_memory.memory.locks import OWNER_LOCKS
from langgraph_memory.memory.outbox import Outbox
from langgraph_memory.messages import Marks, check_store, expiry_of_now, unexpired
from langgraph_memory.models import ChatCaller, ChatModel, name_of
from langgraph_memory.notes import (
    ASK_NEVER,
    Decision,
    ExtractionSettings,
    NotePair,
    PairVerdicts,
    Reconciled,
    SimilarityThreshold,
    change_ops,
    comparison_request,
    pair_verdicts,
    threshold_of,
)
from langgraph_memory.records import Change, Clock, Note, Owner, Record
from langgraph_memory.retrieval import Ranking, Rewriter
from langgraph_memory.store import (
    Namespace,
    adapted,
    all_ops,
    batches,
    read_notes,
    read_records,
)
from langgraph_memory.twins import Either, blocking, to_its_end, twins

logger = logging.getLogger(__name__)

K = TypeVar("K")

Progress = Callable[[int, int], None]
"""Is told how much is done, and how much there is to do."""


class Verbs:
    """A store with what reads and writes it; `Memory` adds the verbs."""

    _store: BaseStore | None
    _worker: Worker
    _asker: ChatCaller | None
    _warm: bool
    delivery: Delivery | None
    """What keeps, and delivers later, what cannot be saved while the store's server is away."""
    _read_only: bool
    _marks: Marks
    model: ChatModel | str | None
    keep_messages: bool
    message_ttl: float | None
    ranking: Ranking
    reranker: BaseDocumentCompressor | None
    rewriter: Rewriter | None
    redact: Callable[[str], str]
    clock: Clock
    zone: tzinfo
    statements: bool
    extracting: ExtractionSettings
    reflect_every: int | None
    is_task: IsTask
    evaluator: Evaluator | None

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

    @property
    def has_store(self) -> bool:
        """Whether it has a store of its own, or is bound to one."""
        return self._store is not None

    @property
    def read_only(self) -> bool:
        """Whether all verbs that write are refused."""
        return self._read_only or bool(getattr(self._store, "read_only", False))

    def using(self, store: BaseStore | None) -> Self:
        """Return this memory if it has a store of its own, else one that uses `store`."""
        if self._store is not None or store is None:
            return self
        check_store(store, self.message_ttl)
        bound = copy(self)
        bound._store, bound._warm = store, False
        if self.delivery is not None:
            place_of(store)
        return bound

    @property
    def outbox(self) -> Outbox | None:
        """The file of what waits for the store's server, if there is one."""
        return None if self.delivery is None else self.delivery.outbox

    async def _warm_up(self) -> None:
        """Load now what the first call would wait for, where the store has such a thing."""
        warm_up = getattr(self.store, "warm_up", None)
        if warm_up is not None and not self._warm:
            await blocking(warm_up)
        self._warm = True

    warm_up, awarm_up = twins(_warm_up)

    async def _close(self) -> None:
        """Finish the work in the background, and close the store if it can be closed.

        What is not done within 30 seconds is logged, and left to the next turn of its thread. What
        waits in the outbox stays there.
        """
        await to_its_end(self._finish)

    close, aclose = twins(_close)

    def _finish(self) -> None:
        try:
            self._worker.drain(DRAIN_SECONDS)
        finally:
            if self.delivery is not None:
                self.delivery.close()
            close = getattr(self._store, "close", None)
            if close is not None:
                close()

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
    def _embedder(self) -> str:
        """The name of the store's embedder; empty if there is none."""
        embeddings = getattr(self.store, "embeddings", None)
        return "" if embeddings is None else name_of(embeddings)

    @property
    def _threshold(self) -> SimilarityThreshold:
        """What the similarities of the store's embedder are worth."""
        embeddings = getattr(self.store, "embeddings", None)
        return ASK_NEVER if embeddings is None else threshold_of(name_of(embeddings))

    @property
    def _ranking(self) -> Ranking:
        """The ranking, with floors for the store's embedder."""
        return self.ranking.with_floors_of(self._embedder)

    @property
    def _expired(self) -> datetime | None:
        """Until when what was said has expired by now."""
        return expiry_of_now(self.message_ttl, self.clock())

    def _forget_waiting(self, owner: Owner) -> None:
        """Delete what waits for the server; not under the owner's lock, which a delivery takes."""
        if self.outbox is not None and owner.kind == "user":
            self.outbox.erase(owner.id)

    @property
    def _adapted(self) -> Any:
        """The store, as one that takes our own operations, too."""
        return adapted(self.store)

    def _batch(self, ops: Sequence[Any]) -> Either[list[Any]]:
        """Put operations to the store in one batch."""
        store = self._adapted
        return Either(store.batch, store.abatch, ops)

    async def _ask(self, named: Mapping[K, Any]) -> dict[K, Any]:
        """Put operations to the store in one batch; return the answers by the same names."""
        return dict(zip(named, await self._batch(list(named.values())), strict=True))

    async def _write(self, ops: Sequence[PutOp]) -> None:
        for batch in batches(ops):
            await self._batch(batch)

    async def _records(self, namespaces: Sequence[Namespace]) -> list[Record]:
        """Return all records of some namespaces that have not expired, and of documents hold."""
        asked = with_sources(namespaces)
        found = await self._batch(all_ops(asked))
        return holding(read_records(asked, unexpired(found, self._expired)), namespaces)

    async def _notes(self, owner: Owner) -> list[Note]:
        """Return all notes of an owner, whatever their status."""
        namespaces = [owner.namespace("note")]
        return read_notes(namespaces, await self._batch(all_ops(namespaces)))

    async def _decide(self, owner: Owner, decision: Decision) -> Change:
        """Apply what is decided over all notes of an owner."""
        async with OWNER_LOCKS.hold(owner):
            changes = decision(await self._notes(owner), self.clock())
            await self._write(change_ops(changes))
        return changes[0]

    # -- the model --

    async def _rule(self, pairs: Sequence[NotePair]) -> PairVerdicts:
        """Ask the model about pairs of notes, once; if it fails, all of them stay apart."""
        if not pairs:
            return PairVerdicts()
        read = partial(pair_verdicts, asked=pairs)
        question = comparison_request(pairs)
        try:
            return PairVerdicts.of(await self._chat.ask(question, Reconciled, read, retries=0))
        except ModelError as error:
            logger.warning(
                "notes could not be compared; they are added as they are: %s",
                self.redact(str(error)),
            )
            return PairVerdicts.failed(error)

    @property
    def _chat(self) -> ChatCaller:
        if self._asker is None:
            raise ConfigurationError(
                "this Memory has no model to make notes and lessons with: pass one, "
                "Memory(store, model='openai:gpt-4o-mini')"
            )
        return self._asker
