"""Two operations that `BaseStore` has no word for; `adapted` makes every store take them.

They stand in a batch beside LangGraph's own, so that all that a recall reads comes with one call.
Where records lie, they pass over unreadable ones (`sound`); LangGraph's own bring all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.models import Vectors
from langgraph_memory.store.items import Namespace, StoredItem
from langgraph_memory.text import LexicalIndex

Scores = NDArray[np.float32]
Flags = NDArray[np.bool_]
T = TypeVar("T")


class Found(list[T]):
    """What a search found; a list that says how it was found."""

    def __init__(
        self,
        items: Iterable[T] = (),
        *,
        exact: bool = True,
        highest: Callable[[str], float] | None = None,
        also: Sequence[Sequence[T]] = (),
    ) -> None:
        super().__init__(items)
        self.also = also
        """Of a `HybridOp`, the further lists that it asked for."""
        self.exact = exact
        """Whether nothing that ranks higher can be missing. Not so where Chroma's index answered,
        in namespaces too large for memory: it misses about one neighbour in a hundred."""
        self.highest = highest or (lambda name: -math.inf)
        """Of a `HybridOp`, the highest of a score by its name, of all that it could find; what is
        found is cut by one of them."""


class Columns(Protocol):
    """What a ranker wants to know of every item, worked out once: items do not change."""

    def __len__(self) -> int:
        """How many rows it has."""

    def append(self, items: Sequence[StoredItem], vectors: Vectors | None) -> None:
        """Append a row for each item.

        Args:
            items: Those of the next rows.
            vectors: The first vector of each, of shape `(items, dimensions)`; zeros where an item
                has none, and `None` where nobody has any.
        """

    def view(self, alive: Flags, lexical: LexicalIndex) -> Any:
        """Return what a ranker is given about the first rows; it is not changed by later ones.

        Args:
            alive: Whether each row is the newest of its item, shape `(rows,)`; there is a row.
            lexical: The words of the rows.
        """


class Searched(NamedTuple):
    """The items of a namespace as a ranker is given them: a row each, of shape `(rows,)`."""

    cosine: Scores
    """The similarity to the query, -1 to 1; 0 for an item that is not indexed."""
    lexical: LexicalIndex
    alive: Flags
    """Whether each row is the newest of its item, and has not expired; others count nowhere."""
    chosen: Flags
    """Whether it is alive and meets the filter: only those are found."""
    columns: Any = None
    """What the ranker's columns know of the rows."""
    query: NDArray[np.float32] | None = None
    """The query's vector, of shape `(dimensions,)`; a blank one has none."""


class Ranker(Protocol):
    """How items are ranked. The store knows nothing of what it is that it ranks."""

    @property
    def columns(self) -> Callable[[], Columns] | None:
        """Makes the columns: once for each namespace in memory, which appends to them as it grows.

        It is hashable, and equal to others that make the same.
        """

    def __call__(self, searched: Sequence[Searched]) -> Sequence[Mapping[str, Scores]]:
        """Return for each namespace the scores of its rows by their names, shape `(rows,)` each.

        One of them is `relevance`, by which the rows of all namespaces are ranked.
        """


class Best(NamedTuple):
    """A further list out of the same scores: the rows with the highest ones of a name."""

    by: str
    """The name of the score; rows where it is `-inf` are left out."""
    limit: int
    filter: dict[str, Any] | None = None


class HybridOp(NamedTuple):
    """Search some namespaces by meaning and by words at once; the result is `Found[Match]`."""

    namespaces: tuple[Namespace, ...]
    """Whole namespaces, not prefixes."""
    query: str
    """A blank one is like nothing: all similarities are 0."""
    ranker: Ranker
    filter: dict[str, Any] | None = None
    limit: int = 10
    also: tuple[Best, ...] = ()


class NewestOp(NamedTuple):
    """Read the items of one namespace, the newest first; the result is `Found[StoredItem]`."""

    namespace: Namespace
    """A whole namespace, not a prefix."""
    filter: dict[str, Any] | None = None
    limit: int = 10
    by: str | None = None
    """A field of the values by which they are ordered, an ISO 8601 time; else their last update."""


class Match(NamedTuple):
    """An item that a `HybridOp` found, with what the ranker made of it.

    The item is the store's own: it must not be changed.
    """

    item: StoredItem
    scores: dict[str, float]
    """The ranker's scores by their names."""


def top(scores: Scores, count: int) -> NDArray[np.intp]:
    """Return the rows with the highest scores, best first; `-inf` is none.

    Args:
        scores: Shape `(rows,)`.
        count: How many rows at most.
    """
    border = np.finfo(scores.dtype).min
    if 0 < count < len(scores):
        # Ties at the border go to the first row, as in a full sort.
        border = max(border, np.partition(scores, len(scores) - count)[len(scores) - count])
    rows = np.flatnonzero(scores >= border)
    return rows[np.argsort(-scores[rows], kind="stable")[:count]]
