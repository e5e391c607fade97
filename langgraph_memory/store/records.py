"""Records to operations of a store, and a store's answers to records.

What lies in other namespaces than the one that was asked for is passed over: a store may take it
for a prefix of another, or a label for a pattern.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Literal, cast

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langgraph_memory.errors import ConfigurationError
from langgraph_memory.records import (
    RECORD_CLASSES,
    ROOT,
    Episode,
    Note,
    Owner,
    Record,
    RecordType,
    as_utc,
    flaw_in,
    owner_of,
    tell_once,
)
from langgraph_memory.redaction import Redact, redacted
from langgraph_memory.store.filters import check_filter
from langgraph_memory.store.operations import Namespace, NewestOp, StoredItem, encode_value, part_of

FIELDS = frozenset(f.name for cls in RECORD_CLASSES.values() for f in fields(cls))

CHUNK = 1_000
"""Records written or deleted in one call, where they need not land together."""

ALL = 1_000_000
"""More items than one namespace holds."""


_EDITS = "edits"  # the key of their latest one; no id of a record


def get_op(namespace: Namespace, id: str) -> GetOp:
    """Return the operation that reads an item, which does not live longer for it."""
    return GetOp(namespace, id, refresh_ttl=False)


def put_op(record: Record, ttl: float | None = None) -> PutOp:
    """Return the operation that writes a record, for good or for some minutes."""
    namespace, value = record.owner.namespace(record.type), record.to_value()
    unsearched = record.type in ("source", "extraction")
    index: Literal[False] | list[str] = False if unsearched else ["search_text"]
    if isinstance(record, Episode) and record.task != value["search_text"]:
        index = ["search_text", "task"]  # what was asked is found also where much was done
    if isinstance(record, Note) and record.aliases:
        index = ["search_text", "search_aliases"]
    return PutOp(namespace, record.id, value, index, ttl)


def forgotten_namespace(namespace: Namespace) -> Namespace:
    """Return where the ids of an owner's deleted messages are kept, and nothing else of them.

    Beside them lies a name for the latest edit of a message, if there was one.
    """
    return (*namespace, "forgotten")


def edits_read_op(owner: Owner) -> GetOp:
    """Return the operation that reads the name of the latest edit of an owner's messages."""
    return get_op(forgotten_namespace(owner.namespace("message")), _EDITS)


def edits_in(found: Any) -> str | None:
    """Return the name of the latest edit; `None` if there was none."""
    return None if found is None else str(found.value.get("name"))


def edit_op(owner: Owner, name: str) -> PutOp:
    """Return the operation that names an edit of an owner's messages, so that others notice it."""
    return PutOp(
        forgotten_namespace(owner.namespace("message")), _EDITS, {"name": name}, index=False
    )


def batches(ops: Sequence[PutOp]) -> Iterator[Sequence[PutOp]]:
    """Yield operations in batches of `CHUNK` at most."""
    yield from (ops[at : at + CHUNK] for at in range(0, len(ops), CHUNK))


def value_filter(filter: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter on records as one on their values.

    A key that some record has as a field is that field, also where a path leads into it
    ("metadata.project"); any other is one of a note's metadata.
    A moment is compared as it is stored: as text, in UTC.

    Raises:
        ConfigurationError: If a filter names metadata in both ways, or a moment without a zone.
    """
    filter = _stored(filter)
    own = {key: each for key, each in filter.items() if key.partition(".")[0] in FIELDS}
    metadata = {key: each for key, each in filter.items() if key not in own}
    if metadata and "metadata" in own:
        raise ConfigurationError(
            f"filter= names metadata twice: put {', '.join(map(repr, metadata))} into 'metadata'"
        )
    return {**own, "metadata": metadata} if metadata else own


def _stored(condition: Any) -> Any:
    if isinstance(condition, datetime):
        return as_utc(condition, "filter=").isoformat()
    if isinstance(condition, Mapping):
        return {key: _stored(inner) for key, inner in condition.items()}
    return condition


def every_item_op(namespace: Namespace, filter: dict[str, Any] | None = None) -> SearchOp:
    """Return the operation of LangGraph's that brings all items below a namespace, readable or not.

    Args:
        namespace: Where they lie; a store may bring others, too.
        filter: What they are equal to.
    """
    return SearchOp(namespace, filter, ALL, refresh_ttl=False)


def all_ops(namespaces: Sequence[Namespace]) -> list[NewestOp]:
    """Return the operations that bring all items of some namespaces."""
    return [NewestOp(namespace, limit=ALL) for namespace in namespaces]


def read_record(item: Any) -> Record | None:
    """Return the record that an item holds, or `None` if it is none of ours.

    What is there and cannot be read is told of once. A store's own item remembers its record: a
    recall reads a hundred, and mostly the same ones.
    """
    read = item.read if isinstance(item, StoredItem) else []
    if read:
        return cast(Record, read[0])
    owned = owner_of(tuple(item.namespace))
    if owned is None or not is_sound(item):
        return None
    owner, type = owned
    record = RECORD_CLASSES[type].from_value(owner, item.key, item.value)
    if not (item.value.get("metadata") or item.value.get("replaced")):  # which a caller may change
        read.append(record)
    return record


def is_sound(item: Any) -> bool:
    """Whether an item holds a readable record, if it lies where records do; it is told of else."""
    if isinstance(item, StoredItem):
        return True  # our own operations bring no others
    wrong = flaw_in(tuple(item.namespace), item.value)
    if wrong is not None:
        tell_once(part_of(item.namespace), item.key, wrong)
    return wrong is None


def sound_or_none(item: Any) -> Any:
    """Return what a store gave for an id, or `None` if that is nothing, or no readable record."""
    return item if item is not None and is_sound(item) else None


def lying_in(namespace: Namespace, items: Iterable[Any]) -> list[Any]:
    """Return the items that lie in exactly a namespace and hold a readable record."""
    return [item for item in items if tuple(item.namespace) == namespace and is_sound(item)]


def read_records(namespaces: Sequence[Namespace], results: Sequence[Any]) -> list[Record]:
    """Return the records among the items that lie in exactly the namespaces asked for."""
    return [
        record
        for namespace, items in zip(namespaces, results, strict=True)
        for item in items
        if tuple(item.namespace) == namespace and (record := read_record(item)) is not None
    ]


# -- notes --


def read_notes(namespaces: Sequence[Namespace], results: Sequence[Any]) -> list[Note]:
    """Return the notes among the items that lie in exactly the namespaces asked for."""
    records = read_records(namespaces, results)
    return [record for record in records if isinstance(record, Note)]


OWNERS = ListNamespacesOp((MatchCondition("prefix", (ROOT,)),), limit=ALL)
"""Brings the namespaces among which `owners_of` finds those of what is kept in order."""


def owners_of(listed: Any) -> list[Owner]:
    """Return who has notes or documents, of namespaces that a store listed; each once, in order."""
    found = [(owner_of(namespace), namespace) for namespace in map(tuple, listed)]
    own = {
        owner
        for owned, namespace in found
        if owned is not None
        for owner, type in [owned]
        if type in ("note", "document") and owner.namespace(type) == namespace
    }
    return sorted(own, key=lambda owner: (owner.kind, owner.id))


# -- everything of an owner --


def said_at(item: Any) -> tuple[str, datetime, int]:
    """Order what was said: by its time, then by when it was written, then by its place there."""
    value = item.value
    return str(value.get("created_at")), item.updated_at, value.get("position") or 0


def kept_metadata(given: object, redact: Redact) -> dict[str, Any]:
    """Return metadata as it is kept: a JSON object without secrets."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise ConfigurationError(f"metadata= is a dict with text keys, got {given!r}")
    try:
        kept: dict[str, Any] = json.loads(encode_value(given))
    except ConfigurationError as error:
        raise ConfigurationError(f"metadata=: {error}") from error
    return {redact(key): redacted(value, redact, key) for key, value in kept.items()}


def record_filter(
    given: Mapping[str, Any], types: Iterable[RecordType], zone: tzinfo
) -> Mapping[str, Any]:
    """Return a filter with moments for days; refuse one that names what none of the types has.

    Args:
        given: The filter; a `date` in it is that whole day.
        types: Of the records that are filtered.
        zone: Whose days are meant.
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"filter= is a dict, got {given!r}")
    given = {name: _moments(condition, zone) for name, condition in given.items()}
    check_filter(value_filter(given))
    names = {each.name for type in types for each in fields(RECORD_CLASSES[type])}
    names -= {"id", "owner"}  # not in what is stored
    unknown = set() if "metadata" in names else given.keys() - names
    if types and unknown:  # else they are keys of the metadata
        raise ConfigurationError(
            f"filter= names {', '.join(map(repr, sorted(unknown)))}; the fields of these types "
            f"({', '.join(types)}) are {', '.join(sorted(names))}"
        )
    return given


_DAYS = {"$gte": ("$gte", 0), "$gt": ("$gte", 1), "$lt": ("$lt", 0), "$lte": ("$lt", 1)}


def _moments(condition: Any, zone: tzinfo) -> Any:
    """Return a condition on days as one on moments."""
    if _is_day(condition):
        condition = {"$gte": condition, "$lte": condition}
    if not isinstance(condition, Mapping) or not any(map(_is_day, condition.values())):
        return condition
    moments: dict[str, Any] = {}
    for name, day in condition.items():
        if not _is_day(day):
            moments[name] = day
            continue
        if name not in _DAYS:
            raise ConfigurationError(
                f"filter= compares a day with {name!r}: use $gt, $gte, $lt, $lte or the day alone"
            )
        operator, later = _DAYS[name]
        moments[operator] = _midnight(day, later, zone)
    return moments


def _midnight(day: date, later: int, zone: tzinfo) -> datetime:
    """Return when a day begins, or one some days later; at either end of time, that end."""
    try:
        return datetime.combine(day + timedelta(days=later), time(), zone).astimezone(UTC)
    except OverflowError:
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        return first if day.year == 1 else last


def _is_day(value: object) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)
