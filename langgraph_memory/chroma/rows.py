"""How a LangGraph item lies in Chroma: the rows of one collection, to and fro.

An item is one row; each further indexed field of it is a row of its own. Every namespace has one
row besides, which the catalogue of namespaces is read from. A row's metadata:

| key | holds |
|---|---|
| `part` | the namespace, as a JSON list |
| `key` | the item's key |
| `value` | a JSON envelope: the item's value, its times, its number of vectors, its time to live |
| `expires` | when an item with a time to live ends, in seconds since 1970 |
| `state` | absent for an item; else `unindexed`, `vector`, `namespace`, `emptied`, `tombstone` |
| `w_...`, `emptied` | on a server: who wrote there, and when it was empty (`vector_clock`) |
| `user`, `project` or `agent` | our own records: the owner's id as it was given |
| `type` | our own records: note, episode, message, document |
| `outcome`, `quality_score`, `duration_ms`, `token_cost` | episodes |
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from langgraph_memory.models import seeded_vector
from langgraph_memory.records import MAX_DEPTH, depth, flaw_in, owner_of, tell_once
from langgraph_memory.store import Namespace, StoredItem, encode_value, part_of
from langgraph_memory.text import replace_surrogates

_ID_BYTES = 20

BESIDE_ITEMS = ("vector", "namespace", "emptied", "tombstone")
"""States of the rows that are no items."""

_EPISODE_FIELDS = ("outcome", "quality_score", "duration_ms", "token_cost")
_FIELDS = (*"part key value expires state user project agent type".split(), *_EPISODE_FIELDS)


@dataclass(frozen=True, slots=True)
class Row:
    """One row as Chroma's `upsert` takes it."""

    id: str
    metadata: dict[str, Any]
    document: str
    vector: NDArray[np.float32]


def row_id(namespace: Namespace, key: str | None = None, field: int = 0) -> str:
    """Return the id of an item's row, of one of its vector rows, or of a namespace's own row.

    A hash of the structure: no two of them collide, whatever their labels and keys contain.
    """
    address: list[Any] = [list(namespace)] if key is None else [list(namespace), key, field]
    return hashlib.blake2b(json.dumps(address).encode(), digest_size=_ID_BYTES).hexdigest()


def is_own(id: str) -> bool:
    """Whether a row has an id as this package makes them; others are of other code."""
    return len(id) == 2 * _ID_BYTES


def is_of_user(part: object, user: str) -> bool:
    """Whether a row that names a user is theirs, as its namespace says; so is one without any."""
    try:
        owned = owner_of(read_namespace({"part": part}))
    except Unreadable:
        return True
    return owned is None or owned[0].id == user


def item_rows(item: StoredItem, dims: int) -> list[Row]:
    """Return the rows of one item: its own, and one for each further indexed text."""
    metadata = _metadata(item.namespace, key=item.key, **_owner_fields(item.namespace, item.value))
    indexed = len(item.vectors)
    envelope = {
        "value": item.value,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
        "order": item.order,
        "vectors": indexed,
    }
    if item.ttl is not None:
        envelope["ttl"] = item.ttl
        metadata["expires"] = item.expires
    metadata["value"] = encode_value(envelope)
    first = row_id(item.namespace, item.key)
    if not indexed:
        metadata["state"] = "unindexed"
        return [Row(first, metadata, "", seeded_vector(first, dims))]
    rows = [Row(first, metadata, item.texts[0], item.vectors[0])]
    for field in range(1, indexed):
        rows.append(
            Row(
                row_id(item.namespace, item.key, field),
                _metadata(item.namespace, key=item.key, state="vector"),
                item.texts[field],
                item.vectors[field],
            )
        )
    return rows


def namespace_row(namespace: Namespace, dims: int) -> Row:
    """Return the row by which the catalogue knows a namespace."""
    id = row_id(namespace)
    return Row(id, _metadata(namespace, state="namespace"), "", seeded_vector(id, dims))


def tombstone(id: str, dims: int) -> Row:
    """Return what replaces a row that is deleted in the same call in which others are written."""
    metadata = {**dict.fromkeys(_FIELDS), "state": "tombstone"}
    return Row(id, metadata, "", seeded_vector(id, dims))


STATES = ("unindexed", "vector", "namespace", "emptied", "tombstone")
"""What `state` may say of a row that is not that of an indexed item."""


def is_item(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a row is that of an item, and not one beside it, or one of other code."""
    return metadata is not None and metadata.get("state") in (None, "unindexed")


class Unreadable(ValueError):
    """A row that this package did not write, or that was damaged since."""


def read_namespace(metadata: Mapping[str, Any] | None) -> Namespace:
    """Return the namespace that a row is of.

    Raises:
        Unreadable: If it names none.
    """
    try:
        labels = json.loads((metadata or {})["part"])
    except KeyError as error:
        raise Unreadable("it has no part") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise Unreadable("its part is no JSON") from error
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise Unreadable("its part is no list of labels")
    return tuple(labels)


def read_envelope(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an item row says of its item, with times as times.

    Raises:
        Unreadable: If it is no such row, or a damaged one.
    """
    text = metadata.get("value")
    if not isinstance(metadata.get("key"), str) or not isinstance(text, str):
        raise Unreadable("it has no key, or no value")
    try:
        envelope: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable("its value is no JSON") from error
    try:
        for name in ("created_at", "updated_at"):
            envelope[name] = datetime.fromisoformat(envelope[name])
        whole = (
            isinstance(envelope["value"], dict)
            and type(envelope["order"]) is type(envelope["vectors"]) is int
            and 0 <= envelope["order"] < 2**63
            and 0 <= envelope["vectors"] < 2**31
            and None not in (envelope["created_at"].tzinfo, envelope["updated_at"].tzinfo)
            and ("ttl" not in envelope or _lives(metadata, envelope))
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable("its envelope is not whole") from error
    if not whole:
        raise Unreadable("its envelope is not whole")
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(envelope["value"]) > MAX_DEPTH:
        raise Unreadable("its value is nested too deeply")
    return envelope


def _lives(metadata: Mapping[str, Any], envelope: Mapping[str, Any]) -> bool:
    times = (envelope["ttl"], metadata.get("expires"))
    return all(isinstance(each, (int, float)) for each in times)


def flaw_of_row(id: str, metadata: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a row, and where it is, in words; `None` if nothing is."""
    if not is_own(id):
        return "it was written by other code than this package"
    if metadata.get("state") not in (None, *STATES):
        return "it has a state that no row of this package has"
    if not is_item(metadata):
        return None
    try:
        namespace, envelope = read_namespace(metadata), read_envelope(metadata)
    except Unreadable as error:
        return str(error)
    wrong = flaw_in(namespace, envelope["value"])
    return wrong and f"{wrong}, in the value of {metadata['key']!r} in {namespace!r}"


def readable_items(
    metadatas: Iterable[Mapping[str, Any] | None],
) -> Iterator[tuple[int, Namespace, Mapping[str, Any], dict[str, Any]]]:
    """Yield the items among rows: the number of the row, its namespace, its metadata, its envelope.

    Rows beside items are passed over, and those that cannot be read, which is told of once.
    """
    namespaces: dict[str, Namespace] = {}
    for i, metadata in enumerate(metadatas):
        if metadata is None or not is_item(metadata):
            continue
        part = str(metadata.get("part"))
        try:
            if part not in namespaces:
                namespaces[part] = read_namespace(metadata)
            yield i, namespaces[part], metadata, read_envelope(metadata)
        except Unreadable as error:
            tell_once(part, metadata.get("key"), str(error))


def items_from_rows(
    metadatas: Sequence[Mapping[str, Any] | None], documents: Sequence[str | None], vectors: Any
) -> list[StoredItem]:
    """Return the items that rows of Chroma hold, first written first; other rows are passed over.

    Args:
        metadatas: A mapping for each row; `None` for one of other code without any.
        documents: A text for each row.
        vectors: An array of shape `(rows, dimensions)`.
    """
    matrix = np.asarray(vectors, np.float32)
    further: dict[tuple[str, str], list[int]] = {}
    for i, row in enumerate(metadatas):
        if row is not None and row.get("state") == "vector":
            further.setdefault((str(row.get("part")), str(row.get("key"))), []).append(i)
    items = []
    for i, namespace, metadata, envelope in readable_items(metadatas):
        address = (metadata["part"], metadata["key"])
        rows = [i, *further.get(address, ())] if envelope["vectors"] else []
        item = StoredItem(
            namespace=namespace,
            key=metadata["key"],
            value=envelope["value"],
            created_at=envelope["created_at"],
            updated_at=envelope["updated_at"],
            texts=tuple(documents[row] or "" for row in rows),
            vectors=matrix[i : i + 1] if rows == [i] else matrix[rows],  # a view costs less
            order=envelope["order"],
            size=len(metadata["value"]),
            ttl=envelope.get("ttl"),
            expires=metadata["expires"] if "ttl" in envelope else math.inf,
        )
        items.append(item)
    items.sort(key=lambda item: item.order)
    return items


def _metadata(namespace: Namespace, **fields: Any) -> dict[str, Any]:
    # Chroma merges metadata on upsert: a key that is not set to None would survive from before.
    return {**dict.fromkeys(_FIELDS), "part": part_of(namespace), **fields}


def _owner_fields(namespace: Namespace, value: Mapping[str, Any]) -> dict[str, Any]:
    owned = owner_of(namespace)
    if owned is None:
        return {}
    owner, type = owned
    fields: dict[str, Any] = {owner.kind: replace_surrogates(owner.id), "type": type}
    if type == "episode":
        fields |= {name: _column(value.get(name)) for name in _EPISODE_FIELDS}
    return fields


def _column(value: Any) -> Any:
    """Return a value as Chroma's metadata takes it; `None` for what it does not take."""
    if isinstance(value, str):
        return replace_surrogates(value)
    fits = isinstance(value, (int, float)) and abs(value) < 2**63
    return value if fits else None


@dataclass(frozen=True, slots=True)
class ReplacedItem:
    """What a write has to know of the item that it replaces."""

    created_at: datetime
    indexed: int
