"""A collection read straight from its folder, which another process may have open and write to.

Each read looks whether anything was written since the last one, and then at the versions of the
namespaces that it asks for: what changed is read anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langgraph_memory.chroma.collection import BatchReads, Collection
from langgraph_memory.chroma.index_search import ScopeName
from langgraph_memory.chroma.partition import Partition
from langgraph_memory.chroma.partition_cache import Limits
from langgraph_memory.chroma.read_only.rows import FolderRows
from langgraph_memory.store import Address, Namespace


class FolderCollection(Collection):
    """An open collection that is only read."""

    _rows: FolderRows

    def __init__(self, rows: FolderRows, limits: Limits) -> None:
        self._followed: object = None
        self._current: set[Namespace] = set()
        super().__init__(rows, limits, rows.close)

    def read(
        self,
        addresses: Sequence[Address],
        names: Sequence[ScopeName] = (),
        now: float | None = None,
        listing: Namespace | None = None,
    ) -> BatchReads:
        with self._lock:
            self.check_usable()
            with self._rows.moment() as seen:
                self._follow_writer(seen)
                scopes = [self._scope(name) for name in names]
                listed = () if listing is None else self.namespaces(listing)
                self._look_again(
                    {ns for ns, _ in addresses}.union(*(scope.namespaces for scope in scopes))
                )
                return self._loaded(addresses, scopes, now, listed)

    def living_namespaces(self, now: float, prefix: Namespace = ()) -> list[Namespace]:
        with self._lock, self._rows.moment() as seen:
            self._follow_writer(seen)
            return super().living_namespaces(now, prefix)

    # -- parts of what the base does --

    def _clean_up(self) -> None:
        """Leave tombstones to whoever writes."""

    def _follow_writer(self, seen: object) -> None:
        """Take nothing for right that was read before the latest write."""
        if seen != self._followed:
            self._followed = seen
            self._catalogue.forget()
            self._current.clear()
            self._large.clear()

    def _look_again(self, namespaces: Iterable[Namespace]) -> None:
        """Drop the partitions of namespaces that were written to."""
        asked = [ns for ns in namespaces if ns not in self._current]
        for namespace, version in self._rows.versions(asked).items() if asked else ():
            partition = self._cache.get(namespace)
            if partition is not None and partition.clock != version:
                self._cache.drop(namespace)
        self._current.update(asked)

    def _load(self, namespaces: Sequence[Namespace]) -> list[Partition]:
        versions = self._rows.versions(namespaces)
        partitions = super()._load(namespaces)
        for partition in partitions:
            partition.clock = versions[partition.namespace]
        return partitions
