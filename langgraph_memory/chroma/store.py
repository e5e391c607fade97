"""ChromaStore: LangGraph's `BaseStore` on one Chroma collection.

A batch is planned (pure), embedded (sync or async), and then read and written by the collection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from langgraph.store.base import (
    BaseStore,
    IndexConfig,
    Op,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from langgraph_memory.chroma.collection import Collection
from langgraph_memory.chroma.directory_collection import DirectoryCollection
from langgraph_memory.chroma.erasing import add_pending, overwrite
from langgraph_memory.chroma.expiry import SWEEP_EVERY, Sweeper, check_ttl_config
from langgraph_memory.chroma.opening import (
    open_client,
    open_directory,
    open_in_memory,
    open_read_only,
    open_server,
    release,
)
from langgraph_memory.chroma.partition import CACHE_BYTES, PARTITION_ROWS, Limits
from langgraph_memory.chroma.planning import Plan, labels, plan, writes_of
from langgraph_memory.chroma.reading import Reader
from langgraph_memory.chroma.repair.maintenance import checked, copied_directory
from langgraph_memory.chroma.server import Server, is_url
from langgraph_memory.chroma.server_collection import ServerRows
from langgraph_memory.errors import ConfigurationError
from langgraph_memory.files import resolved, search_files
from langgraph_memory.models import PROBE, Embed, Embedder, Vectors
from langgraph_memory.records import Clock, utc_now
from langgraph_memory.store import HybridOp, Namespace, NewestOp, Overwritten, Sought, check_ttl

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

T = TypeVar("T")


class ChromaStore(BaseStore):
    """A LangGraph store that keeps everything in one Chroma collection, and searches it exactly.

    Args:
        path: A directory, made if it is not there; one process at a time can have it open. Or the
            URL of a Chroma server, which any number of processes can share.
        client: A Chroma client of your own, instead of a path; it stays yours to close. If it is
            a `chromadb.HttpClient`, other processes may use the same server; else it must be the
            only writer of its collection.
        headers: Sent with every request to the server at a URL, such as a token. No error, log or
            `repr` says them.
        tenant: Of that server; else Chroma's default. It has to be there.
        database: Of that tenant, likewise.
        timeout: How many seconds a request to a server waits for its answer; by default 60, or what
            the client of your own has.
        patience: For how many seconds a call is repeated while the server cannot be reached; by
            default 10.
        embed: LangChain `Embeddings`, a function from a list of texts to vectors, or a string such
            as `"openai:text-embedding-3-small"`. The default needs no key and no network.
        index: LangGraph's `IndexConfig`, instead of `embed`, to say which fields are indexed
            (default: the whole value as JSON).
        ttl: LangGraph's `TTLConfig`: how long items live that are put without one, whether reads
            prolong that (unless told otherwise, they do), whether what has expired is left out of
            reads before it is swept. Times are in minutes.
        cache_bytes: How many bytes of memory the partitions kept for searching may take.
        partition_limit: How many rows a namespace, or all that a search looks through, may have to
            be kept in memory and searched exactly. Above it Chroma's index answers, which is
            approximate; the result of `search` says so: `found.exact`.
        clock: Gives the time of `created_at` and `updated_at`.
        read_only: Reads a folder without a write of any kind, also while another process has it
            open and writes to it: each read sees what was acknowledged by then. What would write
            is refused, and reads prolong no lives.

    Raises:
        StoreLockedError: If another process has the directory open.
        EmbedderMismatchError: If the directory was written with another embedder. (A plain
            function is compared at its first use.)
        StoreAwayError: If the server cannot be reached for as long as `patience` says; so do all
            calls.
        StoreError: If the directory cannot be used, the server refuses the headers or has no such
            tenant or database, or Chroma fails.

    Example:
        >>> with ChromaStore.in_memory() as store:
        ...     store.put(("beans",), "1", {"text": "Colombia, ground for a moka pot"})
        ...     store.search(("beans",), query="moka")[0].value["text"]
        'Colombia, ground for a moka pot'
    """

    supports_hybrid = True
    """Whether `batch` takes `HybridOp` and `NewestOp`."""

    supports_ttl = True

    _directory: Path | None = None

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        client: ClientAPI | None = None,
        headers: Mapping[str, str] | None = None,
        tenant: str | None = None,
        database: str | None = None,
        timeout: float | None = None,
        patience: float | None = None,
        embed: Embed | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        cache_bytes: int = CACHE_BYTES,
        partition_limit: int = PARTITION_ROWS,
        clock: Clock = utc_now,
        read_only: bool = False,
    ) -> None:
        if (path in (None, "")) == (client is None):
            raise ConfigurationError(
                "ChromaStore takes a path or client=; for a store that is gone at the end use "
                "ChromaStore.in_memory()"
            )
        if not isinstance(read_only, bool):
            raise ConfigurationError(f"read_only= is True or False, got {read_only!r}")
        if read_only and (client is not None or is_url(path)):
            raise ConfigurationError(
                "read_only= is for a folder; what a server lets one do is up to the server"
            )
        self._configure(embed, index, ttl, clock)
        self._read_only = read_only
        limits = Limits(cache_bytes, partition_limit)
        place: dict[str, Any] = {"headers": headers, "tenant": tenant, "database": database}
        waiting: dict[str, Any] = {"timeout": timeout, "patience": patience}
        if client is None and not is_url(path):
            _refuse(place | waiting, "they are for the URL of a Chroma server")
            self._directory = resolved(str(path))
        if read_only:
            self._use(open_read_only(Path(str(path)), limits, self._embedder))
        elif client is not None:
            _refuse(place, "a client has them: chromadb.HttpClient(headers=..., tenant=...)")
            self._use(open_client(client, limits, **waiting))
        elif is_url(path):
            self._use(open_server(Server.at(str(path), **place, **waiting), limits))
        else:
            self._use(open_directory(Path(str(path)), limits, self._embedder))

    @classmethod
    def in_memory(
        cls,
        *,
        embed: Embed | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        cache_bytes: int = CACHE_BYTES,
        partition_limit: int = PARTITION_ROWS,
        clock: Clock = utc_now,
    ) -> Self:
        """Return a store that is gone when it is closed; nobody else sees it.

        Args:
            embed: As for `ChromaStore`.
            index: As for `ChromaStore`.
            ttl: As for `ChromaStore`.
            cache_bytes: As for `ChromaStore`.
            partition_limit: As for `ChromaStore`.
            clock: As for `ChromaStore`.
        """
        store = cls.__new__(cls)
        store._configure(embed, index, ttl, clock)
        store._use(open_in_memory(Limits(cache_bytes, partition_limit)))
        return store

    def _configure(
        self,
        embed: Embed | None,
        index: IndexConfig | None,
        ttl: TTLConfig | None,
        clock: Clock,
    ) -> None:
        check_ttl_config(ttl)
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
        self._read_only = False
        self._sweeper = Sweeper(self.sweep_ttl)
        self.ttl_config = ttl
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
        planned = self._planned(ops)
        try:
            vectors = self._embedder.embed(*self._with_probe(planned))
        except Exception as error:  # noqa: BLE001 - each embedder raises what it likes
            vectors = self._stored_vectors(planned, error)
        return self._run(planned, *vectors)

    async def abatch(self, ops: Iterable[Op | HybridOp | NewestOp]) -> list[Any]:
        """Async form of `batch`; Chroma is called in a worker thread."""
        self._open.check_usable()  # no thread outlives a fork
        planned = self._planned(ops)
        try:
            vectors = await self._aembed(*self._with_probe(planned))
        except Exception as error:  # noqa: BLE001 - each embedder raises what it likes
            vectors = await self._in_pool(self._open.readers, self._stored_vectors, planned, error)
        if not planned.puts:
            return await self._in_pool(self._open.readers, self._run, planned, *vectors)
        return await self._in_writer(self._run, planned, *vectors)

    @property
    def place(self) -> str | None:
        """The server that keeps this store, by its URL, tenant and database; `None` if none."""
        rows = self._open._rows
        return rows.place if isinstance(rows, ServerRows) else None

    # -- expiring, and deleting much --

    def sweep_ttl(self) -> int:
        """Delete the items that have expired; return how many.

        Raises:
            StoreError: If Chroma fails. What is deleted by then stays so.
        """
        self._check_writable()
        return self._open.sweep(self._clock().timestamp())

    async def asweep_ttl(self) -> int:
        """Async form of `sweep_ttl`."""
        return await self._in_writer(self.sweep_ttl)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep again and again in a thread, until `stop_ttl_sweeper` or `close`.

        Args:
            sweep_interval_minutes: Minutes between two sweeps; else as `ttl=` says, else 5.

        Returns:
            A future that is done when the thread ends; to cancel it stops the thread.
        """
        minutes = sweep_interval_minutes
        if minutes is None:
            minutes = (self.ttl_config or {}).get("sweep_interval_minutes") or SWEEP_EVERY
        check_ttl(minutes)
        self._check_writable()
        return self._sweeper.start(minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread that sweeps; return whether it ended within `timeout` seconds."""
        return self._sweeper.stop(timeout)

    def purge(self, namespace_prefix: tuple[str, ...]) -> int:
        """Delete all items of a namespace and of those below it; return how many.

        It is not one batch: if it fails half way, what is deleted stays so, and calling it again
        goes on. `()` means the whole store.

        Raises:
            StoreError: If Chroma fails.
        """
        validate_op_namespace(SearchOp(namespace_prefix))
        self._check_writable()
        return self._open.purge(labels(namespace_prefix))

    async def apurge(self, namespace_prefix: tuple[str, ...]) -> int:
        """Async form of `purge`."""
        return await self._in_writer(self.purge, namespace_prefix)

    # -- erasing users: what `Memory.erase` asks of a store --

    supports_erasing = True
    """Whether it has the methods below."""

    def vectors(self, namespaces: Sequence[Namespace]) -> Iterable[Vectors]:
        """Yield the vectors of some namespaces, in arrays of shape `(rows, dimensions)`."""
        return self._open.vectors(namespaces)

    def count_beside(self, namespaces: Sequence[Namespace]) -> int:
        """Return how many items lie elsewhere than in some namespaces."""
        return self._open.count_beside(namespaces)

    def wipe(self, namespaces: Sequence[Namespace], user: str) -> None:
        """Delete the rows that are left of a user whose items are deleted: broken ones, and names.

        Raises:
            StoreError: If Chroma fails.
        """
        self._open.wipe(namespaces, user)

    def overwrite(
        self, users: Sequence[str], sought: Sought, files: Sequence[Path], *, later: bool
    ) -> Overwritten:
        """Overwrite what the directory's files hold of users whose items are gone; search for it.

        Nothing is read or written by others meanwhile.

        Args:
            users: Their ids.
            sought: What is searched for.
            files: Others to search, too.
            later: Whether this is left to the next opening.

        Raises:
            StoreError: If it fails. It is tried again at the next opening.
        """
        collection = self._open
        if not isinstance(collection, DirectoryCollection):
            found = search_files(files, sought.own, sought.shared)
            return Overwritten(found, elsewhere=collection.elsewhere)
        if later:
            add_pending(collection.directory, users)
            return Overwritten(search_files(files, sought.own, sought.shared), pending=True)
        began = perf_counter()
        found = collection.aside(lambda lock: overwrite(lock, users, sought, files))
        return Overwritten(found, perf_counter() - began)

    # -- copying --

    def copy_to(self, place: Path) -> int:
        """Copy the folder, as it is at one moment, into an empty one; return how many rows it has.

        Raises:
            ConfigurationError: If it has no folder.
            StoreError: If it cannot be copied, or the copy is not whole.
        """
        if self.directory is None:
            raise ConfigurationError(
                "backup copies the folder of a memory, and this one is in memory or on a server: "
                "use the server's own backup, or stop it and copy the folder that it was started "
                "with"
            )
        with self._open.resting():
            rows = copied_directory(self.directory, place)
        checked(place, rows)
        return rows

    # -- lifecycle --

    def warm_up(self) -> None:
        """Load now what the first search would otherwise wait for: the embedder's weights."""
        self._embedder.load()

    def close(self) -> None:
        """Close the store; the directory can then be opened elsewhere. Closing twice is fine."""
        self._sweeper.stop()
        collection, self._collection = self._collection, None
        if collection is not None:
            release(collection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.shield(asyncio.to_thread(self.close))  # a cancelled caller closes it too

    # -- running --

    @property
    def directory(self) -> Path | None:
        """The folder that it lies in; `None` if it is in memory, or on a server."""
        return self._directory

    @property
    def read_only(self) -> bool:
        """Whether it was opened with `read_only=True`: what would write is refused."""
        return self._read_only

    def _check_writable(self) -> None:
        if self._read_only:
            raise ConfigurationError(
                "this store was opened with read_only=True: nothing can be written, forgotten or "
                "swept through it"
            )

    def _planned(self, ops: Iterable[Op | HybridOp | NewestOp]) -> Plan:
        planned = plan(ops, self._fields)
        if planned.puts:
            self._check_writable()
        return planned

    def _with_probe(self, plan: Plan) -> tuple[list[str], list[str]]:
        if self._confirmed or not (plan.puts or plan.queries):
            return plan.documents, plan.queries
        probe = [PROBE] if self._embedder.needs_probe else []
        return [*probe, *plan.documents], plan.queries

    @property
    def _open(self) -> Collection:
        if self._collection is None:
            raise ConfigurationError("this store is closed; keep it open as long as it is used")
        return self._collection

    async def _aembed(self, documents: list[str], queries: list[str]) -> tuple[Vectors, Vectors]:
        if self._embedder.has_async or not (documents or queries):
            return await self._embedder.aembed(documents, queries)
        return await self._in_pool(self._open.readers, self._embedder.embed, documents, queries)

    def _stored_vectors(self, plan: Plan, error: Exception) -> tuple[Vectors, Vectors]:
        """Return the vectors of a batch whose texts were all embedded before.

        Without an embedder, what is no text of a record can still be changed.

        Raises:
            Exception: What the embedder raised, where a text is new.
        """
        known = self._open.first_vectors(plan.puts)
        unconfirmed = self._embedder.needs_probe and not self._confirmed
        if plan.queries or unconfirmed or not known.keys() >= set(plan.documents):
            raise error
        return np.stack([known[text] for text in plan.documents]), np.zeros((0, 0), np.float32)

    def _in_pool(
        self, pool: ThreadPoolExecutor, call: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        in_context = partial(copy_context().run, call, *args)
        return asyncio.get_running_loop().run_in_executor(pool, in_context)

    async def _in_writer(self, write: Callable[..., T], *args: Any) -> T:
        # Writes take turns anyway: in a thread of their own they leave the others to the reads.
        return await _landed(self._in_pool(self._open.writer, write, *args))

    def _run(self, plan: Plan, documents: Vectors, queries: Vectors) -> list[Any]:
        collection = self._open
        if len(documents) > len(plan.documents):
            self._embedder.learn(documents[0])
            documents = documents[1:]
        fresh = self._read_only and collection.fingerprint is None  # nothing there to compare
        if not self._confirmed and not fresh and (plan.puts or plan.queries):
            collection.confirm(self._embedder.fingerprint)
            self._confirmed = True
        now = self._clock().timestamp()
        omit_after = now if (self.ttl_config or {}).get("omit_expired") else None
        sought = dict(zip(plan.queries, queries, strict=True))
        reader = Reader(collection, sought, now, omit_after, not self._read_only)
        results = reader.results(plan.ops)
        if plan.puts:
            collection.write(writes_of(plan, documents, self._clock()))
        return results


@asynccontextmanager
async def open_store(path: str | Path, **options: Any) -> AsyncIterator[ChromaStore]:
    """Open a `ChromaStore` in an event loop without blocking it; close it at the end.

    What a LangGraph server needs: name a function that returns it as `store.path` in
    `langgraph.json`. Expired items are swept if `ttl=` has a `sweep_interval_minutes`.

    Args:
        path: As `ChromaStore` takes it.
        **options: Likewise.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     async with open_store("./memory") as store:
        ...         await store.aput(("beans",), "1", {"text": "Colombia"})
        ...         return (await store.aget(("beans",), "1")).value["text"]
        >>> asyncio.run(main())
        'Colombia'
    """
    thread = ThreadPoolExecutor(1, "langgraph-memory-opening")
    opening = thread.submit(partial(ChromaStore, path, **options))
    thread.shutdown(wait=False)
    try:
        opened = await asyncio.wrap_future(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_unused)
        raise
    async with opened as store:
        if (store.ttl_config or {}).get("sweep_interval_minutes"):
            store.start_ttl_sweeper()
        yield store


def _refuse(given: Mapping[str, object], reason: str) -> None:
    """Refuse arguments that would mean nothing; some of them are secret, and not shown."""
    if names := [f"{name}=" for name, value in given.items() if value is not None]:
        raise ConfigurationError(f"ChromaStore was given {' and '.join(names)}: {reason}")


def _close_unused(opening: Future[ChromaStore]) -> None:
    """Close what its caller did not wait for: the directory would stay taken."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


async def _landed(write: asyncio.Future[T]) -> T:
    """Await a write to its end, also if the caller is cancelled meanwhile.

    Nothing stops its thread; whoever is cancelled, and then writes again, must come after it.
    """
    try:
        return await asyncio.shield(write)
    except asyncio.CancelledError:
        await asyncio.wait([write])
        raise
