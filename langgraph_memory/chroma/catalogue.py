"""Which namespaces hold an item, as far as somebody asked: under a prefix, or all of them.

A store has one for each user, and mostly one user's are asked for: what is under a prefix is read
when it is first needed, kept, and follows the writes.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence

from langgraph_memory.store import Namespace

_KEPT = 4_096  # prefixes; the least recently used leave


class Catalogue:
    """The namespaces that hold an item, sorted, by the prefixes under which they are known."""

    def __init__(self) -> None:
        self._known: OrderedDict[Namespace, Sequence[Namespace]] = OrderedDict()
        self._lock = threading.Lock()

    def under(self, prefix: Namespace) -> Sequence[Namespace] | None:
        """Return what is under a prefix; `None` if that was not read yet."""
        with self._lock:
            for length in range(len(prefix) + 1):
                known = self._known.get(prefix[:length])
                if known is not None:
                    self._known.move_to_end(prefix[:length])
                    return known if length == len(prefix) else under(known, prefix)
        return None

    def learn(self, prefix: Namespace, namespaces: Sequence[Namespace]) -> None:
        """Keep all that is under a prefix, sorted."""
        with self._lock:
            if not prefix:
                self._known.clear()  # it says it all
            self._known[prefix] = namespaces
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def follow(self, namespace: Namespace, *, there: bool) -> None:
        """Take in that a namespace has got its first item, or has lost its last one."""
        with self._lock:
            for length in range(len(namespace) + 1):
                known = self._known.get(namespace[:length])
                if known is None:
                    continue
                place = bisect_left(known, namespace)
                after = place + (tuple(known[place : place + 1]) == (namespace,))
                here = (namespace,) if there else ()
                # Replaced, never changed: somebody may be reading it.
                self._known[namespace[:length]] = (*known[:place], *here, *known[after:])

    def forget(self) -> None:
        """Let all be read anew."""
        with self._lock:
            self._known.clear()


def under(known: Sequence[Namespace], prefix: Namespace) -> list[Namespace]:
    """Return those of the sorted namespaces that begin with a prefix."""
    found = []
    for place in range(bisect_left(known, prefix), len(known)):
        if known[place][: len(prefix)] != prefix:
            break
        found.append(known[place])
    return found
