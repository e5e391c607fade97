"""The blocks of memory of the runs that are going on, each under a random name."""

from __future__ import annotations

import threading
import uuid

_MAX_BLOCKS = 1024  # some 4 kB each

Purpose = tuple[str, str | None, str | None, str | None]
"""What a block was recalled for: a user, a project, an agent, and the turn's first message."""


class OpenBlocks:
    """What was recalled in the runs that are going on; of those that stopped, the latest few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[str, tuple[Purpose, str]] = {}  # oldest first

    def add(self, purpose: Purpose, block: str) -> str:
        """Keep a block, and return by what it is found."""
        key = str(uuid.uuid4())
        with self._lock:
            if len(self._blocks) >= _MAX_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[key] = purpose, block
        return key

    def get(self, key: str | None, purpose: Purpose) -> str | None:
        """Return a block, if it was recalled for that."""
        with self._lock:
            found = self._blocks.get(key or "")
        return found[1] if found is not None and found[0] == purpose else None

    def drop(self, key: str | None) -> None:
        """Keep a block no longer."""
        with self._lock:
            self._blocks.pop(key or "", None)
