"""ChromaStore: LangGraph's `BaseStore` on one Chroma collection.

A batch is planned (pure), embedded (sync or async), and then read and written by the collection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    Op,
    PutOp,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from langgraph_memory.clock import Clock, utc_now
from langgraph_memory.embedding import PROBE, Embed, Embedder, Vectors, replace_surrogates
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.store.collection import Collection, Write
from langgraph_memory.store.filters import check_filter
from langgraph_memory.store.ops import HybridOp, NewestOp
from langgraph_memory.store.reading import Reader
from langgraph_memory.store.rows import Namespace, StoredItem, encode_value
from langgraph_memory.store.sharing import (
    open_client,
    open_directory,
    open_in_memory,
    release,
)

CACHE_BYTES = 256 * 1024 * 1024


@dataclass(slots=True)
class _Plan:
    """A batch sorted by what has to be done."""

    ops: list[Any]
    puts: dict[tuple[Namespace, str], PutOp] = field(default_factory=dict)
    documents: list[str] = field(default_factory=list)
    text_counts: list[int] = field(default_factory=list)
    """How many of `documents` each put has, in the order of `puts`."""
    queries: list[str] = field(default_factory=list)


class ChromaStore(BaseStore):
    """A LangGraph store that keeps everything in one Chroma collection, and searches it exactly.

    Args:
        path: A directory, made if it is not there. One process at a time can have it open.
        client: A Chroma client of your own, instead of a path. It stays yours to close, and must
            be the only writer of its collection.
        embed: LangChain `Embeddings`, a function from a list of texts to vectors, or a string such
            as `"openai:text-embedding-3-small"`. The default needs no key and no network.
        index: LangGraph's `IndexConfig`, instead of `embed`, to say which fields are indexed
            (default: the whole value as JSON).
        cache_bytes: How much memory the partitions kept for searching may take.
        clock: Gives the time of `created_at` and `updated_at`.

    Raises:
        StoreLockedError: If another process has the directory open.
        EmbedderMismatchError: If the directory was written with another embedder. (A plain
            function is compared at its first use.)
        StoreError: If the directory cannot be used, or Chroma fails.

    Example:
        >>> with ChromaStore.in_memory() as store:
        ...     store.put(("beans",), "1", {"text": "Colombia, ground for a moka pot"})
        ...     store.search(("beans",), query="moka")[0].value["text"]
        'Colombia, ground for a moka pot'
    """

    supports_hybrid = True
    """Whether `batch` takes `HybridOp` and `NewestOp`."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        client: Any = None,
        embed: Embed | None = None,
        index: IndexConfig | None = None,
        cache_bytes: int = CACHE_BYTES,
        clock: Clock = utc_now,
    ) -> None:
        if (path in (None, "")) == (client is None):
            raise ConfigurationError(
                "ChromaStore takes a path or client=; for a store that is gone at the end use "
                "ChromaStore.in_memory()"
            )
        if isinstance(path, str) and path.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"a Chroma server ({path}) is not supported yet; give a directory"
            )
        self._configure(embed, index, clock)
        if client is not None:
            self._use(open_client(client, cache_bytes))
        else:
            self._use(open_directory(Path(str(path)), cache_bytes, self._embedder))

    @classmethod
    def in_memory(
        cls,
        *,
        embed: Embed | None = None,
        index: IndexConfig | None = None,
        cache_bytes: int = CACHE_BYTES,
        clock: Clock = utc_now,
    ) -> Self:
        """Return a store that is gone when it is closed; nobody else sees it."""
        store = cls.__new__(cls)
        store._configure(embed, index, clock)
        store._use(open_in_memory(cache_bytes))
        return store

    def _configure(self, embed: Embed | None, index: IndexConfig | None, clock: Clock) -> None:
        if embed is not None and index is not None:
            raise ConfigurationError("pass embed= or index= (which has its own 'embed'), not both")
        if index is not None and not isinstance(index, Mapping):
            raise ConfigurationError(f"index= is LangGraph's IndexConfig, a dict; got {index!r}")
        if unknown := set(index or ()) - {"dims", "embed", "fields"}:
            raise ConfigurationError(f"index= takes dims, embed and fields; got {sorted(unknown)}")
        fields = (index or {}).get("fields")
        if isinstance(fields, str):
            raise ConfigurationError(f"index= has a list of fields, such as [{fields!r}]")
        config: IndexConfig = {**index} if index is not None else {"embed": embed}  # type: ignore[typeddict-item]  # None is our default
        self._embedder = Embedder(config.get("embed"), config.get("dims"))
        self._fields = list(config.get("fields") or ["$"])
        self._clock = clock
        self._confirmed = False
        self.embeddings = self._embedder.embeddings
        self.index_config = {**config, "embed": self.embeddings, "fields": self._fields}

    def _use(self, collection: Collection) -> None:
        self._collection: Collection | None = collection
        try:
            stored = collection.fingerprint
            if stored is not None:
                self._embedder.adopt(stored)
        except BaseException:
            self.close()
            raise

    # -- BaseStore --

    def batch(self, ops: Iterable[Op | HybridOp | NewestOp]) -> list[Any]:
        """Carry out operations: reads see the state before the batch, writes land all or none."""
        plan = self._plan(ops)
        documents, queries = self._with_probe(plan)
        return self._run(plan, *self._embedder.embed(documents, queries))

    async def abatch(self, ops: Iterable[Op | HybridOp | NewestOp]) -> list[Any]:
        """Async form of `batch`; Chroma is called in a worker thread."""
        plan = self._plan(ops)
        documents, queries = self._with_probe(plan)
        vectors = await self._embedder.aembed(documents, queries)
        if not plan.puts:
            return await asyncio.to_thread(self._run, plan, *vectors)
        # Writes take turns anyway: in a thread of their own they leave the others to the reads.
        loop = asyncio.get_running_loop()
        return await _landed(loop.run_in_executor(self._open.writer, self._run, plan, *vectors))

    # -- lifecycle --

    def warm_up(self) -> None:
        """Load now what the first search would otherwise wait for: the embedder's weights."""
        self._embedder.load()

    def close(self) -> None:
        """Close the store; the directory can then be opened elsewhere. Closing twice is fine."""
        collection, self._collection = self._collection, None
        if collection is not None:
            release(collection)

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
        await asyncio.to_thread(self.close)

    # -- planning: no I/O --

    def _plan(self, ops: Iterable[Op | HybridOp | NewestOp]) -> _Plan:
        plan = _Plan([_checked(op) for op in ops])
        for op in plan.ops:
            if isinstance(op, PutOp):
                plan.puts[op.namespace, op.key] = op
            elif isinstance(op, (SearchOp, HybridOp)) and op.query:
                plan.queries.append(op.query)
        plan.queries = list(dict.fromkeys(plan.queries))  # one text is embedded once
        for op in plan.puts.values():
            texts = [] if op.value is None else self._texts(op)
            plan.documents += texts
            plan.text_counts.append(len(texts))
        return plan

    def _texts(self, op: PutOp) -> list[str]:
        assert op.value is not None
        if op.index is False:
            return []
        fields = self._fields if op.index is None else op.index
        texts = [text for path in fields for text in get_text_at_path(op.value, path)]
        return [text for text in texts if text.strip()]

    def _with_probe(self, plan: _Plan) -> tuple[list[str], list[str]]:
        if self._confirmed or not (plan.puts or plan.queries):
            return plan.documents, plan.queries
        probe = [PROBE] if self._embedder.needs_probe else []
        return [*probe, *plan.documents], plan.queries

    # -- running --

    @property
    def _open(self) -> Collection:
        if self._collection is None:
            raise ConfigurationError("this store is closed")
        return self._collection

    def _run(self, plan: _Plan, documents: Vectors, queries: Vectors) -> list[Any]:
        collection = self._open
        if len(documents) > len(plan.documents):
            self._embedder.learn(documents[0])
            documents = documents[1:]
        if not self._confirmed and (plan.puts or plan.queries):
            collection.confirm(self._embedder.fingerprint)
            self._confirmed = True
        results = Reader(collection, plan.queries, queries).results(plan.ops)
        if plan.puts:
            dims = self._embedder.fingerprint.dims
            assert dims is not None
            collection.write(self._writes(plan, documents), dims)
        return results

    def _writes(self, plan: _Plan, vectors: Vectors) -> dict[Namespace, Write]:
        now = self._clock()
        writes: dict[Namespace, Write] = {}
        start = 0
        for op, count in zip(plan.puts.values(), plan.text_counts, strict=True):
            write = writes.setdefault(op.namespace, Write())
            if op.value is None:
                write.deleted.append(op.key)
                continue
            texts = tuple(plan.documents[start : start + count])
            own = vectors[start : start + count]
            start += count
            value = dict(op.value)
            item = StoredItem(
                op.namespace, op.key, value, now, now, texts, own, size=len(str(value))
            )
            write.put.append(item)
        return writes


async def _landed(write: asyncio.Future[list[Any]]) -> list[Any]:
    """Await a write to its end, also if the caller is cancelled meanwhile.

    Nothing stops its thread; whoever is cancelled, and then writes again, must come after it.
    """
    try:
        return await asyncio.shield(write)
    except asyncio.CancelledError:
        await asyncio.wait([write])
        raise


def _checked(op: Any) -> Any:
    """Return an operation as it is carried out.

    A value becomes what it will be when it is read back, and what cannot be stored in a key is
    replaced there.
    """
    namespace = getattr(op, "namespace", getattr(op, "namespace_prefix", ()))
    if isinstance(namespace, str):
        raise ConfigurationError(f"a namespace is a tuple, such as ({namespace!r},)")
    if isinstance(op, (HybridOp, NewestOp)):
        for namespace in op.namespaces if isinstance(op, HybridOp) else (op.namespace,):
            validate_op_namespace(GetOp(namespace, ""))
    elif isinstance(op, (GetOp, PutOp, SearchOp, ListNamespacesOp)):
        validate_op_namespace(op)
    else:
        raise ConfigurationError(f"not an operation of a store: {op!r}")
    if getattr(op, "limit", 0) < 0 or getattr(op, "offset", 0) < 0:
        raise ConfigurationError("limit and offset cannot be negative")
    if isinstance(op, (SearchOp, HybridOp, NewestOp)):
        check_filter(op.filter or {})
        return _cleaned(op._replace(filter=deepcopy(op.filter)))
    return _checked_put(_cleaned(op)) if isinstance(op, PutOp) else _cleaned(op)


def _cleaned(op: Any) -> Any:
    """Replace what cannot be stored in a namespace or key, in reads and writes alike."""
    if isinstance(op, (GetOp, PutOp)):
        return op._replace(namespace=_labels(op.namespace), key=replace_surrogates(str(op.key)))
    if isinstance(op, NewestOp):
        return op._replace(namespace=_labels(op.namespace))
    if isinstance(op, SearchOp):
        return op._replace(namespace_prefix=_labels(op.namespace_prefix))
    if isinstance(op, HybridOp):
        return op._replace(namespaces=tuple(map(_labels, op.namespaces)))
    return op


def _labels(namespace: Iterable[str]) -> Namespace:
    return tuple(replace_surrogates(label) for label in namespace)


def _checked_put(op: PutOp) -> PutOp:
    if not op.namespace:
        raise ConfigurationError("cannot put into the empty namespace")
    if op.ttl is not None:
        raise NotImplementedError("ChromaStore does not support ttl= yet")
    if op.value is None:
        return op
    if not isinstance(op.value, Mapping):
        raise ConfigurationError(f"a value is a dict, got {type(op.value).__name__}")
    return op._replace(value=json.loads(encode_value(dict(op.value))))
