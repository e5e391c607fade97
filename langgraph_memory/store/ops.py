"""Two operations that `BaseStore` has no word for; a store with `supports_hybrid` takes them.

They stand in a batch beside LangGraph's own, so that all that a recall reads comes with one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.store.rows import Namespace, StoredItem

Scores = NDArray[np.float32]
T = TypeVar("T")


class Found(list[T]):
    """What a search found; a list that says how it was found."""

    def __init__(self, items: Iterable[T] = (), *, exact: bool = True) -> None:
        super().__init__(items)
        self.exact = exact
        """Whether nothing that ranks higher can be missing. Not so where Chroma's index answered,
        in namespaces too large for memory: it misses about one neighbour in a hundred."""


class HybridOp(NamedTuple):
    """Search some namespaces by meaning and by words at once; the result is `Found[Match]`."""

    namespaces: tuple[Namespace, ...]
    """Whole namespaces, not prefixes."""
    query: str
    relevance: Callable[[Scores, Scores], Scores]
    """From each item's cosine similarity and BM25 score (shape `(items,)`) to what it is ranked
    by."""
    filter: dict[str, Any] | None = None
    limit: int = 10


class NewestOp(NamedTuple):
    """Read the items of one namespace, the newest first; the result is `Found[StoredItem]`."""

    namespace: Namespace
    """A whole namespace, not a prefix."""
    filter: dict[str, Any] | None = None
    limit: int = 10
    by: str | None = None
    """A field of the values by which they are ordered, an ISO 8601 time; else their last update."""


class Match(NamedTuple):
    """An item that a `HybridOp` found, with the parts of its relevance.

    The item is the store's own: it must not be changed.
    """

    item: StoredItem
    cosine: float
    """-1 to 1; 0 for an item that is not indexed."""
    bm25: float
    coverage: float
    """The share of the query's words, weighted by how rare they are, that the item has: 0 to 1."""
    relevance: float
    """What `HybridOp.relevance` made of it, among all items searched."""
