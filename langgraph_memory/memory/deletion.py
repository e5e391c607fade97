"""The deletion of all that an owner has. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp

from langgraph_memory.errors import StoreError
from langgraph_memory.messages import forget_item_ops
from langgraph_memory.records import ROOT, Owner, Receipt, encode_label
from langgraph_memory.store import ALL, Namespace, every_item_op, forgotten_namespace

_MOST_DELETIONS = 5  # of one item: a document that is being added may write it again


class Deletion:
    """The deletion of all that an owner has, of whatever type.

    Args:
        owner: Whose records.
        whole: Whether the marks of what was forgotten go too, and none are made.
    """

    def __init__(self, owner: Owner, *, whole: bool = False) -> None:
        self._root = (ROOT, owner.kind, encode_label(owner.id))
        self._whole = whole
        self.namespaces: list[Namespace] = []
        """Those that were listed last."""
        self._deleted: Counter[tuple[Namespace, str]] = Counter()

    @property
    def list_op(self) -> ListNamespacesOp:
        """The operation that brings the owner's namespaces."""
        return ListNamespacesOp((MatchCondition("prefix", self._root),), limit=ALL)

    def read_ops(self, listed: Any) -> list[Any]:
        """Return the operations that bring all items of the namespaces that were listed."""
        # A store may take a label for a pattern, and list what is another owner's.
        own = [tuple(ns) for ns in listed if tuple(ns[: len(self._root)]) == self._root]
        self.namespaces = [ns for ns in own if self._whole or ns[-1] != forgotten_namespace(ns)[-1]]
        return [every_item_op(namespace) for namespace in self.namespaces]

    def items(self, results: Sequence[Any]) -> list[Any]:
        """Return the items among the store's answers that are the owner's."""
        return [
            item
            for namespace, items in zip(self.namespaces, results, strict=True)
            for item in items
            if tuple(item.namespace) == namespace
        ]

    def delete_ops(self, items: Sequence[Any]) -> list[PutOp]:
        """Return the operations that delete items; none when there is nothing left.

        Raises:
            StoreError: If the store still holds what it was told to delete.
        """
        addresses = [(tuple(item.namespace), item.key) for item in items]
        self._deleted.update(addresses)
        if any(self._deleted[address] > _MOST_DELETIONS for address in addresses):
            raise StoreError(
                "the store still holds what it was told to delete, or others keep writing it"
            )
        if self._whole:
            return [PutOp(namespace, key, None) for namespace, key in addresses]
        return [op for address in addresses for op in forget_item_ops(*address)]

    @property
    def receipt(self) -> Receipt:
        """What was deleted."""
        marks = [
            key for namespace, key in self._deleted if namespace[-1] == forgotten_namespace(())[-1]
        ]
        records = [
            address for address in self._deleted if address[0][-1] != forgotten_namespace(())[-1]
        ]
        counts = Counter(namespace[-1] for namespace, _ in records)
        if marks:
            counts["mark"] = len(marks)
        return Receipt(tuple(key for _, key in records), dict(counts))
