"""Which checkpoints of a thread go, and which a fork of it needs: by their ids and parents alone.

A checkpoint holds the whole state, so what came before it is needed for going back only; and a
subgraph's checkpoint belongs to the checkpoint of the graph in which it was called. The exception
are `DeltaChannel`s, which LangGraph makes of all checkpoints since their last snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from langgraph.checkpoint.base.id import UUID as CheckpointId

_UUID_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)


class Node(NamedTuple):
    """A checkpoint without its state.

    Attributes:
        namespace: `""` for the graph itself, else the path to a subgraph.
        id: Sorts by time.
        parent: The id of the checkpoint that it came of.
        metadata: What LangGraph noted of it.
    """

    namespace: str
    id: str
    parent: str | None
    metadata: Mapping[str, Any]

    @property
    def root(self) -> str | None:
        """The graph's own checkpoint in which a subgraph was called."""
        root: str | None = (self.metadata.get("parents") or {}).get("")
        return root


class Copied(NamedTuple):
    """A checkpoint that a fork takes along.

    Attributes:
        node: The checkpoint.
        parent: The id of its parent, if the fork has that too.
        writes: Whether it takes what nodes wrote upon it.
    """

    node: Node
    parent: str | None
    writes: bool


def time_of(checkpoint_id: str) -> datetime | None:
    """Read the time from a checkpoint's id: a UUID of version 6 counts 100 ns since 1582."""
    try:
        parsed = CheckpointId(hex=checkpoint_id)
    except ValueError:
        return None
    if parsed.version != 6:
        return None
    return _UUID_EPOCH + timedelta(microseconds=parsed.time // 10)


def outdated(
    stored: Sequence[Node], *, keep_last: int, before: datetime | None = None
) -> list[Node]:
    """Return what can go of a thread without its being noticed by who goes on with it.

    Args:
        stored: All of the thread.
        keep_last: How many checkpoints of the graph itself stay at least.
        before: What is not older than this stays, too.
    """
    if _has_deltas(stored):  # such a thread grows by what is said, not by a state a step
        return []
    roots = _newest_first(node for node in stored if not node.namespace)
    kept = {
        node.id
        for place, node in enumerate(roots)
        if place < keep_last or not _is_older(node.id, before)
    }
    lasting = {
        max(node.id for node in stored if node.namespace == namespace)
        for namespace in {node.namespace for node in stored if _is_lasting(node)}
    }
    return [
        node
        for node in stored
        # A call under way may be stored before the checkpoint that it is in.
        if (root := node.root if node.namespace else node.id) is not None
        and root not in kept
        and roots
        and root <= roots[0].id
        and not (_is_lasting(node) and node.id in lasting)
    ]


def fork_copies(stored: Sequence[Node], checkpoint_id: str | None = None) -> list[Copied]:
    """Return what a fork from a checkpoint takes along; nothing if there is no such one.

    From the newest one, a fork goes on with what is pending there: an interrupt, or the results of
    those of several nodes that are done. From an earlier one the step is run again, so what came
    of it stays behind.
    """
    roots = _newest_first(node for node in stored if not node.namespace)
    wanted = (node for node in roots if checkpoint_id in (None, node.id))
    if (head := next(wanted, None)) is None:
        return []
    is_newest = head is roots[0]
    heads = [head, *_lasting_at(stored, head, is_newest=is_newest)]
    if is_newest:
        heads += [node for node in stored if _is_call(node) and node.root == head.id]
    needed = list(heads)
    if _has_deltas(stored):
        needed = [each for node in heads for each in _line(stored, node)]
    taken = {(node.namespace, node.id): node for node in needed}
    return [
        Copied(
            node,
            node.parent if (node.namespace, node.parent) in taken else None,
            writes=is_newest or node not in heads,
        )
        for node in taken.values()
    ]


def _lasting_at(stored: Sequence[Node], head: Node, *, is_newest: bool) -> list[Node]:
    """Return the states of lasting subgraphs as of a checkpoint, without what came of it."""
    line = {node.id for node in _line(stored, head)}
    pruned = {node.root for node in stored} - {node.id for node in stored}
    found: dict[str, Node] = {}
    for node in sorted(stored, key=lambda node: node.id):
        root = node.root if _is_lasting(node) else None
        if root is None or not (root in line or root in pruned):
            continue
        if root < head.id or (is_newest and root == head.id):
            found[node.namespace] = node
    return list(found.values())


def _line(stored: Sequence[Node], node: Node) -> list[Node]:
    """Return a checkpoint and all that it came of, newest first."""
    by_id = {each.id: each for each in stored if each.namespace == node.namespace}
    line = {node.id: node}
    while (parent := by_id.get(node.parent or "")) is not None and parent.id not in line:
        line[parent.id] = node = parent
    return list(line.values())


def _has_deltas(stored: Iterable[Node]) -> bool:
    return any("counters_since_delta_snapshot" in node.metadata for node in stored)


def _is_lasting(node: Node) -> bool:
    """Whether it is of a subgraph with `checkpointer=True`, whose state outlives a call.

    The namespace of a call has the id of its task, after a colon.
    """
    return bool(node.namespace) and ":" not in node.namespace


def _is_call(node: Node) -> bool:
    return ":" in node.namespace


def _newest_first(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: node.id, reverse=True)


def _is_older(checkpoint_id: str, before: datetime | None) -> bool:
    """Whether it is older than a moment; one that does not tell its time is not."""
    if before is None:
        return True
    time = time_of(checkpoint_id)
    return time is not None and time < before
