"""How records are ranked that a store brought up which does not take our own operations. Pure.

Such a store finds by meaning alone; words, and all else that a ranker looks at, are compared here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from langgraph_memory.store.filters import matches
from langgraph_memory.store.operations import Best, Flags, Found, Match, Ranker, Searched, top
from langgraph_memory.text import LexicalIndex, tokens


def ranked(
    items: Sequence[Any],
    similarities: Sequence[float | None],
    ranker: Ranker,
    filter: Mapping[str, Any],
    also: Sequence[Best],
) -> Found[Match]:
    """Return items as our own store would.

    Args:
        items: What the store brought up of one type, at least one.
        similarities: The cosine similarity of each; `None` for one that no search found.
        ranker: How they are ranked.
        filter: What is looked for.
        also: The further lists.
    """
    index = LexicalIndex()
    index.extend([tokens(_searched_text(item.value)) for item in items])
    alive = np.ones(len(items), np.bool_)
    cosine = np.array([each or 0.0 for each in similarities], np.float32)
    chosen = _meeting(filter, items) & np.array([each is not None for each in similarities])
    view = None
    if ranker.columns is not None:
        columns = ranker.columns()
        columns.append(items, None)
        view = columns.view(alive, index)
    [scores] = ranker([Searched(cosine, index, alive, chosen, view)])

    def best(of: Best, flags: Flags) -> list[Match]:
        rows = top(np.where(flags, scores[of.by], np.float32(-np.inf)), of.limit).tolist()
        return [
            Match(items[row], {name: float(own[row]) for name, own in scores.items()})
            for row in rows
        ]

    return Found(
        best(Best("relevance", len(items)), chosen),
        highest=lambda name: float(scores[name][chosen].max(initial=-np.inf)),
        also=[best(of, _meeting(of.filter or {}, items)) for of in also],
    )


def _meeting(filter: Mapping[str, Any], items: Sequence[Any]) -> Flags:
    return np.array([matches(item.value, filter) for item in items], np.bool_)


def _searched_text(value: Mapping[str, Any]) -> str:
    return str(value.get("search_aliases") or value.get("search_text", ""))
